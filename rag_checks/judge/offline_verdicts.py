"""The offline judge's verdicts on claims: what an answer and a reference state of each other.

A fitted model weighs string features of the whole answer; contradictions and left-out parts overrule it.
"""

import json
import math
import re
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib import resources
from typing import NamedTuple

from rag_checks.judge.offline_claims import clauses
from rag_checks.judge.offline_contradiction import contradiction, is_polar, say
from rag_checks.judge.offline_features import FEATURES, aliases, closest_alias, core, features, recall
from rag_checks.judge.offline_questions import asks_number
from rag_checks.judge.offline_text import Text, analyse
from rag_checks.records import Language

Finding = tuple[bool, str]

# Shares of words, set by reading examples, not fitted.
_ABOUT = 0.34  # a third of its words: a text touches a matter
_WITHIN = 0.6  # of its words: a claim is taken from a text
_REPEATS = 0.7  # of its words in the question: a reference adds nothing but yes or no
_HALF = 0.5  # of the reference: an answer that leaves out so much is wrong, not partly right
_LIST_ZH = re.compile(r"、|(?:以及|和|及|与|并且|并)(?=[㐀-鿿a-z0-9])")
# A list in English has an "and": Munich, Bavaria is one place, said twice. In a bare name it is part of the
# name (Gary Lewis & the Playboys).
_AND = re.compile(r",?\s+(?:and|&|plus)\s+")
_NAME_WORDS = 6
_COMMA = re.compile(r",\s+|,?\s+(?:and|&|plus)\s+")


class Model(NamedTuple):
    """The shipped logistic model."""

    version: str
    weights: tuple[float, ...]
    bias: float
    threshold: float

    def probability(self, values: Sequence[float]) -> float:
        """That people would call the answer right, 0..1."""
        total = self.bias + sum(weight * value for weight, value in zip(self.weights, values, strict=True))
        return 1 / (1 + math.exp(-total))


@cache
def model() -> Model:
    """The model of `offline_model.json`, its weights in the order of FEATURES."""
    stored = json.loads(resources.files("rag_checks.judge").joinpath("offline_model.json").read_text("utf-8"))
    weights = tuple(float(stored["weights"][name]) for name in FEATURES)
    return Model(stored["version"], weights, float(stored["bias"]), float(stored["threshold"]))


def nearest(reference: str, candidates: Sequence[str], question: str) -> str:
    """The candidate that shares most with a reference: words first, then numbers."""
    if len(candidates) == 1:
        return candidates[0]
    wanted, asked = analyse(reference), analyse(question)
    kernel = core(wanted, asked)

    def fit(candidate: str) -> tuple[float, float]:
        said = analyse(candidate)
        words = recall(wanted.content, (), said) + recall(kernel, (), said)
        return words, recall((), wanted.quantities, said)

    return max(candidates, key=fit)


class Statement(NamedTuple):
    """Is a reference claim stated, why, by which answer claim ("" for none)?

    `rejects`: that answer claim is wrong with it, as it speaks against the reference or is too small a part.
    """

    holds: bool
    reason: str
    claim: str
    rejects: bool = False


class Sides(NamedTuple):
    """An answer and a reference to one question: their texts and their claims."""

    question: str
    answer: str
    answer_claims: tuple[str, ...]
    reference: str
    reference_claims: tuple[str, ...]
    language: Language


def stated(sides: Sides, claim: str) -> Finding:
    """Is a claim of the reference stated by the answer?"""
    statement = _statement(sides, claim)
    return statement.holds, statement.reason


@lru_cache(maxsize=1024)
def _statement(sides: Sides, reference: str) -> Statement:
    question, answer, claims, language = sides.question, sides.answer, sides.answer_claims, sides.language
    if not claims:
        return Statement(False, say(language, "the answer states nothing", "回答没有陈述任何事实"), "")
    form = closest_alias(reference, question, answer)
    best = nearest(form, claims, question)
    against = _against(sides, form)
    if against:
        return Statement(False, against, best, rejects=True)
    agreed = _agreed(sides, form, best)
    if agreed:
        return Statement(True, agreed, best)
    missing, share = _left_out(form, answer, question)
    if missing:
        left = say(language, f"leaves out: {missing}", f"遗漏：{missing}")
        return Statement(False, left, best, rejects=share >= _HALF)
    chance = model().probability(features(question, form, answer))
    holds = chance >= model().threshold
    return Statement(holds, say(language, f"string match {chance:.2f}", f"字面匹配度 {chance:.2f}"), best)


def _against(sides: Sides, reference: str) -> str | None:
    """Why the answer cannot be right: a clause contradicts the reference, or the number is not there."""
    said = [clause for claim in sides.answer_claims for clause in clauses(claim)]
    parts = clauses(reference)
    for part in parts:
        closest = nearest(part, said, sides.question)
        against = contradiction(
            part, closest, sides.answer, sides.question, sides.language, alone=len(parts) == 1
        )
        if against:
            return against
    wanted, whole = analyse(reference).quantities, analyse(sides.answer)
    if wanted and asks_number(sides.question) and not any(map(whole.has_quantity, wanted)):
        return say(sides.language, "gives no such number", "没有给出相应的数字")
    return None


def _agreed(sides: Sides, reference: str, claim: str) -> str | None:
    """Why the answer must be right: the same yes or no, or just the numbers that were asked for."""
    if _settled_by_polarity(sides.question, reference, claim):
        return say(sides.language, "same yes or no as the reference", "是非判断与参考答案一致")
    if _settled_by_numbers(sides.question, reference, sides.answer):
        return say(sides.language, "same numbers as the reference", "数字与参考答案一致")
    return None


def _settled_by_polarity(question: str, reference: str, claim: str) -> bool:
    """A yes-or-no question, a reference of one clause, and an answer that agrees and says nothing else.

    Either it is a mere yes or no, or the reference adds nothing to the question and the answer repeats it.
    """
    if not is_polar(question) or len(clauses(reference)) > 1:
        return False
    asked, wanted, said = analyse(question), analyse(reference), analyse(claim)
    if said.is_short_reply and not wanted.quantities:
        return True
    adds = recall(wanted.content, wanted.quantities, asked) < _REPEATS and not wanted.is_short_reply
    return not adds and (said.is_short_reply or recall(wanted.content, (), said) >= _WITHIN)


def _settled_by_numbers(question: str, reference: str, answer: str) -> bool:
    """A question for a number, and the answer has just the numbers of the reference, with their units."""
    wanted, said = analyse(reference), analyse(answer)
    if not asks_number(question) or not wanted.quantities or len(clauses(reference)) > 1:
        return False
    return all(map(said.has_quantity, wanted.quantities)) and all(map(wanted.has_quantity, said.quantities))


def _left_out(reference: str, answer: str, question: str) -> tuple[str | None, float]:
    """The first part of the reference that the answer does not touch, and the share of all parts, 0..1.

    Parts are clauses and the items of lists (A、B和C; A, B and C). What holds nothing but words of the
    question cannot be missed.
    """
    whole, asked = analyse(answer), analyse(question)
    first, missing, total = None, 0.0, 0
    parts = clauses(reference)
    for part in parts:
        items = [item for item in _items(analyse(part)) if _adds(item, asked)]
        told = [_named(item, whole, asked, at, len(items)) for at, item in enumerate(items)]
        if len(items) < 2:  # noqa: PLR2004 - no list
            items = [part] if len(parts) > 1 and _adds(part, asked) else []
            told = [_touched(part, whole, asked)] if items else []
        if not items:
            continue
        total += 1
        missing += told.count(False) / len(told)
        if first is None and not all(told):
            first = items[told.index(False)]
    return first, missing / total if total else 0.0


def _items(part: Text) -> list[str]:
    if not _AND.search(part.folded):
        return _LIST_ZH.split(part.folded)
    return _COMMA.split(part.folded) if len(part.words) > _NAME_WORDS else [part.folded]


def _adds(part: str, asked: Text) -> bool:
    wanted = analyse(part)
    return bool(wanted.quantities) or any(word not in asked.content_set for word in wanted.content)


def _named(item: str, answer: Text, asked: Text, place: int, count: int) -> bool:
    """The answer names an item of a list: what stands before the first and after the last is the sentence."""
    wanted = analyse(item)
    new = [word for word in core(wanted, asked) if word not in asked.content_set]
    if count > 1 and place in (0, count - 1):
        new = new[-1:] if place == 0 else _head(new, wanted)
    return recall(new, wanted.quantities, answer) >= _ABOUT


def _head(words: list[str], item: Text) -> list[str]:
    """The word that an item begins with; after a verb its object (加盖公章: 公章)."""
    if len(words) > 1 and words[0] not in item.any_nouns and words[1] in item.any_nouns:
        return words[1:2]
    return words[:1]


def _touched(part: str, answer: Text, asked: Text) -> bool:
    """The answer touches a clause: it has a third of its words and numbers, or all of its numbers."""
    wanted = analyse(part)
    new = [word for word in core(wanted, asked) if word not in asked.content_set]
    if wanted.quantities and all(map(answer.has_quantity, wanted.quantities)):
        return True
    return recall(new, wanted.quantities, answer) >= _ABOUT


def supported(sides: Sides, claim: str) -> Finding:
    """Does the reference support a claim of the answer?

    A claim that only adds detail counts as supported when the answer states the whole reference and the
    claim does not contradict it: people call such answers right, and no string tells whether the detail
    is true.
    """
    statements = [_statement(sides, one) for one in sides.reference_claims]
    resting = [one for one in statements if one.claim == claim]
    if any(one.holds for one in resting):
        return True, say(sides.language, "says what the reference says", "与参考答案一致")
    if statements and all(one.holds for one in statements):
        reason = "adds detail, does not contradict the reference", "补充细节，与参考答案不矛盾"
        return True, say(sides.language, *reason)
    against = next((one.reason for one in resting if one.rejects), None)
    if against:
        return False, against
    return _within(sides.question, claim, sides.reference, sides.language)


def _within(question: str, claim: str, reference: str, language: Language) -> Finding:
    said, asked = analyse(claim), analyse(question)
    new = [word for word in said.content if word not in asked.content_set]
    form = closest_alias(reference, question, claim)
    if not new and not said.quantities:
        return False, say(language, "repeats the question", "只重复了问题")
    against = contradiction(form, claim, claim, question, language)
    if against:
        return False, against
    if recall(new, said.quantities, analyse(form)) >= _WITHIN and len(aliases(reference)) == 1:
        return True, say(language, "its words are in the reference", "内容包含在参考答案中")
    return False, say(language, "not found in the reference", "参考答案中没有这一内容")
