"""What the demo bot makes of a question before it searches: an intent guess and a rewritten query."""

import re
from collections.abc import Sequence

from rag_checks import text
from rag_checks.demo.handbook import people
from rag_checks.demo.retrieval import topic
from rag_checks.demo.vocabulary import vocabulary
from rag_checks.records import Message

SMALL_TALK = "small_talk"
EMPLOYEE_LOOKUP = "employee_lookup"

_GREETING = re.compile(
    r"(你好|您好|在吗|谢谢|好的谢谢|早上好|再见|你是谁|你能做什么|hello|hi( there)?|thanks|thank you|bye|"
    r"good morning|who are you)[\s!！。.?？~]*"
)
_POLITE = re.compile(
    r"请问(一下)?|麻烦(帮我)?(查|问)?一下|帮我查一下|想问一下|谢谢|你好|您好|"
    r"please|could you tell me|hi,|hello,|, help$",
    re.IGNORECASE,
)
_FOLLOW_UP = re.compile(
    r"^(那|还是|然后|and\b|what if\b|what about\b)|(?<!其)他|[她它]|呢[？?]?$|"
    r"\b(his|her|(?-i:it)|that person)\b",
    re.IGNORECASE,
)
# "那病假呢", "And sick leave?": the question before, about something else.
_WHAT_ABOUT = re.compile(
    r"那(?P<zh>[^谁几多哪]+)呢[？?]?|"
    r"(?:and|what about) (?!.*\b(?:how|when|where|who|what|which)\b)(?P<en>[^?]+)\??",
    re.IGNORECASE,
)
_FIELD_ALONE = 6  # words of a question that asks for a column and leaves out whose


def guess_intent(question: str) -> str:
    """The intent with most keywords in the question; `other` without any, `small_talk` for a greeting."""
    asked = text.normalise(question)
    if _GREETING.fullmatch(asked):
        return SMALL_TALK
    counts = {
        intent: sum((1 + (" " in keyword)) * _holds(asked, keyword) for keyword in keywords)
        for intent, keywords in vocabulary().intents.items()
    }
    counts[EMPLOYEE_LOOKUP] += 2 * bool(people_in(question))
    best = max(counts, key=lambda intent: counts[intent])
    return best if counts[best] else "other"


def rewrite(question: str, history: Sequence[Message] = ()) -> str:
    """The query to search for: without politeness, complete without the history, in the handbook's words."""
    asked = " ".join(_POLITE.sub(" ", question).split()).strip("，, ") or question
    if history and _leans_on_history(asked):
        asked = _complete(asked, history)
    lowered, synonyms = asked.casefold(), vocabulary().synonyms
    language = text.language_of(asked)
    added = [
        own for said, own in synonyms.items() if _holds(lowered, said) and text.language_of(own) == language
    ]
    for person in people_in(asked):
        added += [person[key] for key in ("name", "pinyin") if person[key].casefold() not in lowered]
    return " ".join([asked, *added])


def people_in(value: str) -> list[dict[str, str]]:
    """The people of the staff table whose name or pinyin a text holds, in the order of the text."""
    plain = text.normalise(value)
    places = ((_place(person, plain), person) for person in people())
    return [person for _, person in sorted((p for p in places if p[0] >= 0), key=lambda p: p[0])]


def asked_field(query: str) -> str | None:
    """The column of the staff table a query asks for; None when it asks for none of them."""
    fields = vocabulary().fields.items()
    return next((name for name, field in fields if re.search(field.asked, query, re.IGNORECASE)), None)


def _place(person: dict[str, str], plain: str) -> int:
    if person["name"] in plain:
        return plain.index(person["name"])
    found = re.search(rf"\b{person['pinyin'].casefold()}\b", plain)
    return found.start() if found else -1


def _holds(asked: str, keyword: str) -> bool:
    if keyword.isascii():
        return re.search(rf"(?<![a-z]){re.escape(keyword)}", asked) is not None
    return keyword in asked


def _leans_on_history(asked: str) -> bool:
    if people_in(asked):
        return _WHAT_ABOUT.fullmatch(asked) is not None
    if _FOLLOW_UP.search(asked) or guess_intent(asked) == "other":
        return True
    is_short = len(text.tokens(asked)) <= _FIELD_ALONE
    return is_short and asked_field(asked) is not None and not re.search("谁|who", asked, re.IGNORECASE)


def _complete(asked: str, history: Sequence[Message]) -> str:
    """A follow-up question with the person or topic it leaves out, from the latest message that has one.

    What users said counts before what the bot said: its answers name managers and colleagues too.
    """
    users = [message.content for message in reversed(history) if message.role == "user"]
    previous = users[0] if users else ""
    before = people_in(previous)
    what_about = _WHAT_ABOUT.fullmatch(asked)
    if before and (named := people_in(asked)):
        swapped = previous.replace(before[0]["name"], named[0]["name"])
        return re.sub(before[0]["pinyin"], named[0]["pinyin"], swapped, flags=re.IGNORECASE)
    if what_about and not before and asked_field(asked) is None:
        rest = previous
        for word in topic(previous):
            rest = re.sub(re.escape(word), "", rest, flags=re.IGNORECASE)
        return f"{what_about['zh'] or what_about['en']} {' '.join(rest.split())}"
    for said in [*users, *(message.content for message in reversed(history))]:
        if found := people_in(said):
            return f"{found[0]['name' if text.language_of(asked) == 'zh' else 'pinyin']} {asked}"
    return f"{previous} {asked}"
