"""Questions to the demo bot with what is known to be right: templates times facts.

The truth comes from the handbook (`facts.yaml` and the staff table), never from a bot.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal

import yaml

from rag_checks import text
from rag_checks.demo.answering import is_refusal
from rag_checks.demo.handbook import people
from rag_checks.demo.understanding import EMPLOYEE_LOOKUP, SMALL_TALK
from rag_checks.records import Language

Kind = Literal["policy", "staff", "who_does", "unanswerable", "small_talk"]

_LANGUAGES: tuple[Language, ...] = ("zh", "en")
_ZH_SHARE = 0.65
# What people come for, by share of first questions.
_KINDS: dict[Kind, float] = {
    "policy": 0.58,
    "staff": 0.27,
    "who_does": 0.05,
    "unanswerable": 0.06,
    "small_talk": 0.04,
}
# What people want to know of a colleague, by share.
_FIELDS = {
    "department": 30,
    "extension": 24,
    "seat": 14,
    "manager": 10,
    "email": 9,
    "title": 5,
    "duties": 5,
    "pinyin": 3,
}
_TYPO_SHARE = 0.05


@dataclass(frozen=True)
class Question:
    """A question, its intent and the fragments a right answer holds (none: see `is_right`)."""

    text: str
    language: Language
    intent: str
    kind: Kind
    must: tuple[str, ...] = ()
    fact: str = ""
    person: str | None = None


def is_right(question: Question, answer: str) -> bool:
    """Whether an answer is right: it holds all fragments, or refuses what the handbook does not know."""
    if question.kind == "unanswerable":
        return is_refusal(answer)
    squeezed = text.squeeze(answer)
    return not is_refusal(answer) and all(text.squeeze(fragment) in squeezed for fragment in question.must)


@lru_cache(maxsize=1)
def facts() -> dict[str, Any]:
    """The content of `facts.yaml`."""
    data: dict[str, Any] = yaml.safe_load(
        (files("rag_checks.demo") / "facts.yaml").read_text(encoding="utf-8")
    )
    return data


@lru_cache(maxsize=1)
def all_questions() -> tuple[Question, ...]:
    """Every first question there is, without typos, each once."""
    found = [*_policies(), *_staff(), *_who_does(), *_others()]
    return tuple({question.text: question for question in found}.values())


def conversation(rng: random.Random) -> list[Question]:
    """One to three questions as one person asks them in a row."""
    language: Language = "zh" if rng.random() < _ZH_SHARE else "en"
    kind = rng.choices(list(_KINDS), list(_KINDS.values()))[0]
    asked = [_pick(rng, kind, language)]
    follow_up = _follow_up(rng, asked[0])
    if follow_up is not None:
        asked.append(follow_up)
    elif kind == "small_talk" or rng.random() < 0.2:  # noqa: PLR2004 - one in five has a second, unrelated question
        asked.append(_pick(rng, "policy", language))
    if kind != "small_talk" and rng.random() < 0.07:  # noqa: PLR2004 - few people thank a bot
        thanks = rng.choice(facts()["closing"][language])
        asked.append(Question(thanks, language, SMALL_TALK, "small_talk"))
    return [_mistype(rng, question) for question in asked]


def _pick(rng: random.Random, kind: Kind, language: Language) -> Question:
    pool = _pools()[kind, language]
    if kind != "staff":
        return rng.choice(pool)
    field = rng.choices(list(_FIELDS), list(_FIELDS.values()))[0]
    return rng.choice([question for question in pool if question.fact == field] or pool)


@lru_cache(maxsize=1)
def _pools() -> dict[tuple[Kind, Language], list[Question]]:
    pools: dict[tuple[Kind, Language], list[Question]] = {
        (kind, lang): [] for kind in _KINDS for lang in _LANGUAGES
    }
    for question in all_questions():
        pools[question.kind, question.language].append(question)
    return pools


def _policies() -> Iterator[Question]:
    for fact in facts()["policies"]:
        for language in _LANGUAGES:
            said = fact.get(language, {"ask": []})
            for ask in said["ask"]:
                yield Question(ask, language, fact["intent"], "policy", tuple(said["must"]), fact["key"])


def _staff() -> Iterator[Question]:
    for person in people():
        for field, said in facts()["staff"].items():
            for language in _LANGUAGES:
                for ask in said[language]:
                    yield _about(person, field, ask.format(**person), language)


def _about(person: dict[str, str], field: str, ask: str, language: Language) -> Question:
    zh, _, en = person[field].partition(" / ")
    right = en if en and language == "en" else zh
    return Question(ask, language, EMPLOYEE_LOOKUP, "staff", (right,), field, person["name"])


def _who_does() -> Iterator[Question]:
    for fact in facts()["who_does"]:
        for language in _LANGUAGES:
            for ask in fact[language]:
                yield Question(
                    ask, language, EMPLOYEE_LOOKUP, "who_does", (fact["name"],), person=fact["name"]
                )


def _others() -> Iterator[Question]:
    for language in _LANGUAGES:
        for group in facts()["unanswerable"][language]:
            for ask in group["ask"]:
                # A few people only: what the handbook says of nobody should not crowd out the rest.
                for person in people()[:5] if "{" in ask else people()[:1]:
                    yield Question(ask.format(**person), language, group["intent"], "unanswerable")
        for ask in facts()["small_talk"][language]:
            yield Question(ask, language, SMALL_TALK, "small_talk")


def _follow_up(rng: random.Random, first: Question) -> Question | None:
    language = first.language
    if first.kind == "staff" and rng.random() < 0.4:  # noqa: PLR2004 - who looks up people often needs two things
        person = next(row for row in people() if row["name"] == first.person)
        if rng.random() < 0.3:  # noqa: PLR2004 - the same about a colleague
            other = rng.choice([row for row in people() if row is not person])
            return _about(other, first.fact, _THE_OTHER[language].format(**other), language)
        fields = [f for f in _FIELDS if f != first.fact and facts()["staff"][f][f"{language}_then"]]
        field = rng.choices(fields, [_FIELDS[f] for f in fields])[0]
        return _about(person, field, rng.choice(facts()["staff"][field][f"{language}_then"]), language)
    fitting = [f for f in facts()["follow_ups"] if first.fact and f["after"] == first.fact and language in f]
    if not fitting or rng.random() < 0.3:  # noqa: PLR2004 - not everybody goes on
        return None
    fact = rng.choice(fitting)
    return Question(fact[language]["ask"], language, fact["intent"], "policy", tuple(fact[language]["must"]))


_THE_OTHER = {"zh": "那{name}呢", "en": "And {pinyin}?"}


def _mistype(rng: random.Random, question: Question) -> Question:
    if rng.random() >= _TYPO_SHARE:
        return question
    slips = [slip for slip in facts()["typos"][question.language] if slip[0] in question.text]
    return replace(question, text=question.text.replace(*rng.choice(slips))) if slips else question
