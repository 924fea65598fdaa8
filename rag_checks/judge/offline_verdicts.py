"""The offline judge's verdicts on claims: stated by an answer, supported by contexts, contexts useful.

Each verdict is a pair (holds, reason). A fitted model weighs string features; rules about numbers, negation and
opposites overrule it, because no weight of word overlap makes 3 days equal to 3 hours.
"""

import json
import math
import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import cache
from importlib import resources
from typing import NamedTuple

from rag_checks import text as texts
from rag_checks.judge import offline_lexicon as lexicon
from rag_checks.judge.offline_claims import clauses
from rag_checks.judge.offline_features import (
    FEATURES,
    aliases,
    closest_alias,
    core,
    features,
    negation_differs,
    opposite,
    recall,
)
from rag_checks.judge.offline_numbers import Quantity
from rag_checks.judge.offline_text import Text, analyse, stem
from rag_checks.records import Language

Finding = tuple[bool, str]

# Shares of words from which texts are taken to speak of one matter, or one to support the other. Set by reading
# examples, not fitted: a claim of three content words may miss none, one of four may miss one.
_SAME_MATTER = 0.5
_WITHIN = 0.6
_SUPPORT = 0.7
_USEFUL = 0.5
_ABOUT = 0.34
_PASSAGE = 400  # characters
_FORMS = 5
_REACH = 12  # how many characters before a name a negation can stand and still deny it
_NAME_FOUND = 0.7
_LIST = re.compile(r"[、和及与或]|以及|或者")
_POLAR = lexicon.pattern("polarity", "polar_question")


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


def say(language: Language, english: str, chinese: str) -> str:
    """The reason in the item's language."""
    return chinese if language == "zh" else english


def contradiction(reference: str, claim: str, answer: str, question: str, language: Language) -> str | None:
    """Why a clause of the answer speaks against a clause of the reference, or None.

    A number counts as missing only when the whole answer lacks it, or when the clause gives another one in its place.
    """
    wanted, said, whole, asked = analyse(reference), analyse(claim), analyse(answer), analyse(question)
    near = recall(wanted.content, (), said) >= _SAME_MATTER or is_polar(question) or not wanted.words
    if _other_number(wanted, said, whole, near=near):
        return say(language, "gives another number than the reference", "数字或单位与参考答案不一致")
    if near and _denies(wanted, said, asked):
        return say(language, "denies what the reference affirms, or the reverse", "肯定与否定和参考答案相反")
    if near and opposite(wanted, said):
        return say(
            language,
            "says the opposite of the reference (before/after, free/charged, …)",
            "与参考答案意思相反",
        )
    if _other_person(wanted, said, asked) or _other_name(wanted, said, asked):
        return say(language, "names something or somebody else", "说的是另一个人或事物")
    swapped = _swapped_noun(wanted, said, asked) if near else None
    if swapped:
        return say(
            language,
            "says {1} where the reference says {0}".format(*swapped),
            "把“{}”说成了“{}”".format(*swapped),
        )
    return None


def _other_person(wanted: Text, said: Text, asked: Text) -> bool:
    known = asked.people | wanted.people
    return (
        bool(said.people and known)
        and not said.people & known
        and not any(name in said.squeezed for name in known)
    )


def _other_name(wanted: Text, said: Text, asked: Text) -> bool:
    """In one and the same sentence frame, the reference has one capitalised name and the clause has another."""
    expected = [name for name in wanted.capitalised if name not in asked.folded]
    given = [name for name in said.capitalised if name not in asked.folded]
    shared = [word for word in wanted.content if word not in map(stem, expected) and word in said.content_set]
    if not expected or not given or not shared:
        return False
    return all(said.has(stem(name)) < _NAME_FOUND for name in expected) and all(
        wanted.has(stem(name)) < _NAME_FOUND for name in given
    )


def _swapped_noun(wanted: Text, said: Text, asked: Text) -> tuple[str, str] | None:
    """A Chinese noun that stands where the reference has another one, neither sharing a character nor asked about."""
    if not wanted.nouns or not said.nouns:
        return None
    matcher = SequenceMatcher(None, wanted.words, said.words, autojunk=False)
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        if tag != "replace":
            continue
        gone = [word for word in wanted.words[start:end] if word in wanted.nouns and said.has(word) == 0]
        come = [
            word for word in said.words[other_start:other_end] if word in said.nouns and wanted.has(word) == 0
        ]
        come = [word for word in come if word not in asked.squeezed]
        if gone and come and not set("".join(gone)) & set("".join(come)):
            return gone[-1], come[-1]
    return None


def _other_number(wanted: Text, said: Text, whole: Text, *, near: bool) -> bool:
    met = any(whole.has_quantity(one) for one in wanted.quantities)
    for quantity in wanted.quantities:
        if (
            not quantity.unit and met
        ):  # 1979-80 against 1979-1980: half of a pair of plain numbers proves nothing
            continue
        if (
            said.rivals_of(quantity)
            and not said.has_quantity(quantity)
            and (near or not whole.has_quantity(quantity))
        ):
            return True
    return False


def _denies(wanted: Text, said: Text, asked: Text) -> bool:
    """One denies the other; negations that the question itself holds are only repeated ("who wrote I can't …")."""
    if is_polar(asked.raw):
        return negation_differs(wanted, said)
    own, other = max(0, said.negations - asked.negations), max(0, wanted.negations - asked.negations)
    bare = own and not other and recall(wanted.content, (), asked) == 0
    if bare:  # the reference is a name or a phrase: only a negation in front of it denies it
        found = [at for at in (said.folded.find(word) for word in wanted.content) if at >= 0]
        return bool(found) and analyse(said.folded[: min(found)][-_REACH:]).negations > 0
    return own % 2 != other % 2


def is_polar(question: str) -> bool:
    """The question asks for yes or no."""
    return bool(_POLAR.search(texts.normalise(question)))


def nearest(reference: str, candidates: Sequence[str], question: str) -> str:
    """The candidate that shares most with a reference: words first, then numbers."""
    wanted, asked = analyse(reference), analyse(question)
    kernel = core(wanted, asked)

    def fit(candidate: str) -> tuple[float, float]:
        said = analyse(candidate)
        return recall(wanted.content, (), said) + recall(kernel, (), said), recall(
            (), wanted.quantities, said
        )

    return max(candidates, key=fit)


class Statement(NamedTuple):
    """Whether and why a reference claim is stated, by which answer claim ("" for none), or spoken against by it."""

    holds: bool
    reason: str
    claim: str
    contradicted: bool = False


def stated(
    question: str, reference: str, answer: str, claims: Sequence[str], language: Language
) -> Statement:
    """Is a reference claim stated by an answer?"""
    if not claims:
        return Statement(False, say(language, "the answer states nothing", "回答没有陈述任何事实"), "")
    form = closest_alias(reference, question, answer)
    best = nearest(form, claims, question)
    said = [clause for claim in claims for clause in clauses(claim)]
    for part in clauses(form):
        against = contradiction(part, nearest(part, said, question), answer, question, language)
        if against:
            return Statement(False, against, best, contradicted=True)
    if _settled_by_polarity(question, form, best):
        return Statement(
            True, say(language, "same yes or no as the reference", "是非判断与参考答案一致"), best
        )
    missing = _left_out(form, answer, question)
    if missing:
        return Statement(False, say(language, f"leaves out: {missing}", f"遗漏：{missing}"), best)
    chance = model().probability(features(question, form, answer))
    holds = chance >= model().threshold
    return Statement(holds, say(language, f"string match {chance:.2f}", f"字面匹配度 {chance:.2f}"), best)


def _settled_by_polarity(question: str, reference: str, claim: str) -> bool:
    """A yes-or-no question whose reference adds nothing to it: agreeing on yes or no is agreeing."""
    if not is_polar(question):
        return False
    asked, wanted, said = analyse(question), analyse(reference), analyse(claim)
    adds = recall(wanted.content, wanted.quantities, asked) < _SUPPORT and not wanted.is_short_reply
    return not adds and (said.is_short_reply or recall(wanted.content, (), said) >= _ABOUT)


def _left_out(reference: str, answer: str, question: str) -> str | None:
    """The first clause, or item of a list (A、B和C), that the answer does not touch."""
    whole, asked = analyse(answer), analyse(question)
    parts = clauses(reference)
    for part in parts if len(parts) > 1 else ():
        wanted = analyse(part)
        if recall(core(wanted, asked), wanted.quantities, whole) < _ABOUT:
            return part
    for part in parts:
        items = [item for item in _LIST.split(part) if item]
        for item in items if len(items) > 1 and "、" in part else ():
            wanted = analyse(item)
            if recall(core(wanted, asked)[-1:], wanted.quantities, whole) < _ABOUT:
                return item
    return None


def compare(
    question: str,
    answer: str,
    answer_claims: Sequence[str],
    reference: str,
    reference_claims: Sequence[str],
    language: Language,
) -> tuple[list[Finding], list[Finding]]:
    """Verdicts on the answer's claims (supported by the reference) and on the reference's (stated by the answer).

    A claim that only adds detail counts as supported when the answer states the whole reference and the claim does
    not contradict it: people call such answers right, and no string tells whether the detail is true.
    """
    statements = [stated(question, one, answer, answer_claims, language) for one in reference_claims]
    complete = bool(statements) and all(one.holds for one in statements)
    supported: list[Finding] = []
    for claim in answer_claims:
        resting = [one for one in statements if one.claim == claim]
        against = next((one.reason for one in resting if one.contradicted), None)
        if any(one.holds for one in resting):
            supported.append((True, say(language, "says what the reference says", "与参考答案一致")))
        elif complete:
            supported.append(
                (
                    True,
                    say(
                        language,
                        "adds detail, does not contradict the reference",
                        "补充细节，与参考答案不矛盾",
                    ),
                )
            )
        elif against:
            supported.append((False, against))
        else:
            supported.append(_within(question, claim, reference, language))
    return supported, [(one.holds, one.reason) for one in statements]


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


def supported_by(claim: str, contexts: Sequence[str], language: Language) -> Finding:
    """Do the contexts support a claim? Its words, names and numbers must stand in one passage, not denied there."""
    said = analyse(claim)
    best, passage = 0.0, ""
    for context in contexts:
        if recall(said.telling, said.quantities, analyse(context)) < _SUPPORT:
            continue
        for window in windows(context):
            share = recall(said.telling, said.quantities, analyse(window))
            if share > best:
                best, passage = share, window
    if best < _SUPPORT:
        return False, say(language, "no passage has enough of its words", "没有段落包含足够的相关内容")
    return _checked(said, analyse(passage), best, language)


def _checked(said: Text, passage: Text, share: float, language: Language) -> Finding:
    missing = [name for name in said.names if passage.has(name) < _NAME_FOUND and name not in passage.folded]
    if missing:
        return False, say(
            language, f"the passage does not name {missing[0]}", f"段落中没有提到“{missing[0]}”"
        )
    if any(not passage.has_quantity(one) for one in said.quantities):
        return False, say(language, "a number of the claim is not in the passage", "段落中没有这一数字")
    if _may_deny(said, passage):
        closest = analyse(
            max(
                texts.sentences(passage.raw),
                key=lambda one: recall(said.telling, said.quantities, analyse(one)),
            )
        )
        if negation_differs(said, closest) or opposite(said, closest):
            return False, say(language, "the passage says the opposite", "段落的意思相反")
    return True, say(
        language, f"{share:.0%} of its words are in one passage", f"{share:.0%} 的词语出现在同一段落中"
    )


def _may_deny(said: Text, passage: Text) -> bool:
    return bool(said.negations or passage.negations or any(said.sides) or any(said.frames))


def windows(context: str) -> list[str]:
    """Passages of a context: three consecutive sentences at a time; a context of a paragraph's length whole."""
    if len(context) <= _PASSAGE:
        return [context]
    parts = texts.sentences(context)
    return ["\n".join(parts[at : at + 3]) for at in range(max(len(parts) - 2, 1))]


class Need(NamedTuple):
    """What a context must hold to be useful: what a target adds to the question, and what it is about."""

    added: tuple[str, ...]
    quantities: list[Quantity]
    subject: tuple[str, ...]


def needs(question: str, targets: Sequence[str]) -> list[Need]:
    """What the targets (claims of the reference, else of the answer) need from a context."""
    asked = analyse(question)
    found = []
    for wanted in (analyse(form) for target in targets for form in aliases(target)[:_FORMS]):
        added = tuple(word for word in core(wanted, asked) if word not in asked.content_set)
        subject = tuple(word for word in wanted.telling if word in asked.content_set) or asked.telling
        found.append(Need(added, wanted.quantities, subject))
    return found


def useful(wanted: Sequence[Need], context: str, language: Language) -> Finding:
    """Does a context hold the words or numbers that one of the targets adds to the question, and its subject?"""
    given = analyse(context)
    for need in wanted:
        adds = need.added or need.quantities
        if adds and recall(need.added, need.quantities, given) < _USEFUL:
            continue
        about = recall(need.subject, (), given)
        if about >= _SUPPORT or (adds and about > 0):
            return True, say(language, "has what the answer needs", "包含得出答案所需的内容")
    return False, say(language, "has too little of what the answer needs", "缺少得出答案所需的内容")
