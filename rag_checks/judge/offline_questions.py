"""Which question does an answer answer? A reconstruction without a model, for answer_relevancy.

Method: the user's own question without the content words that the answer does not take up. Words that
ask (几天, when) are taken up by a number, words for a kind of thing (department) by any answer. A bare
name or number leaves the subject out as people do, so it takes up all of the question when its kind
fits what is asked. An answer that takes up nothing becomes a question about itself, so that the
similarity to the user's question is low. It is a signal: an answer on the matter in other words is
scored too low.
"""

from collections.abc import Sequence

from rag_checks import text as texts
from rag_checks.judge import offline_lexicon as lexicon
from rag_checks.judge.offline_text import Text, analyse, is_generic

_ASKS_NUMBER = lexicon.pattern("questions", "asks_number")
_NAME_WORDS = 4  # a name or a number with what it counts; more words are a statement
_TAKEN_UP = 0.7


def reconstruct(question: str, claims: Sequence[str]) -> list[str]:
    """The question the claims would answer, in the user's own words; [] without claims, never blank."""
    if not claims:
        return []
    kept = _kept_of(texts.clean(question), claims)
    return [kept if kept.strip() else _about(claims[0])]


def _kept_of(question: str, claims: Sequence[str]) -> str:
    """What the claims take up of the question; "" when that is nothing."""
    asked, said = analyse(question), analyse("\n".join(claims))
    missing = [word for word in asked.content if not _taken_up(word, said)]
    telling = [word for word in asked.content if not is_generic(word) and not _ASKS_NUMBER.search(word)]
    if not missing or _elliptical(question, said):
        return question
    if all(word in missing for word in telling):
        return ""
    if texts.language_of(question) == "zh":
        return "".join(word for word in asked.words if word not in missing) + "？"
    return " ".join(word for word in question.split() if not set(analyse(word).words) & set(missing))


def _about(claim: str) -> str:
    return claim.rstrip("。.!！") + ("吗？" if texts.language_of(claim) == "zh" else "?")


def _taken_up(word: str, said: Text) -> bool:
    if _ASKS_NUMBER.search(word):
        return bool(said.quantities)
    return is_generic(word) or said.has(word) >= _TAKEN_UP


def asks_number(question: str) -> bool:
    """The question asks for a number, a time or an amount."""
    return bool(_ASKS_NUMBER.search(texts.normalise(question)))


def _elliptical(question: str, said: Text) -> bool:
    if said.is_short_reply:
        return True
    bare = len(said.content) == len(said.words) <= _NAME_WORDS
    return bare and bool(said.quantities) == bool(_ASKS_NUMBER.search(texts.normalise(question)))
