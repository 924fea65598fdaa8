"""The offline judge on contexts: do they support a claim, is one of them useful for the answer?

A signal, never a verdict: support by words is not support by meaning. Shares are set by reading
examples, not fitted.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from rag_checks import text as texts
from rag_checks.judge.offline_contradiction import say
from rag_checks.judge.offline_features import aliases, core, negation_differs, opposite, recall
from rag_checks.judge.offline_numbers import Quantity
from rag_checks.judge.offline_text import Text, analyse
from rag_checks.records import Language

Finding = tuple[bool, str]

_SUPPORT = 0.7  # share of a claim's words in one passage: of three words none may miss, of four one may
_USEFUL = 0.5
_NAME_FOUND = 0.7
_PASSAGE = 400  # characters
_FORMS = 5
_PARTS = re.compile(r"[，,；;]\s*")


def supported_by(claim: str, contexts: Sequence[str], language: Language) -> Finding:
    """Do the contexts support a claim? One passage must hold its words, names and numbers, undenied.

    Each context is looked at alone, so one request with all of them and several with some give the same
    verdict. The reason is that of the first supporting context, else of the one that came closest.
    """
    said = analyse(claim)
    closest, why = 0.0, say(language, "no passage has enough of its words", "没有段落包含足够的相关内容")
    for context in contexts:
        if _share(said, analyse(context)) < _SUPPORT:
            continue
        for window in windows(context):
            passage = analyse(window)
            share = _share(said, passage)
            if share < _SUPPORT:
                continue
            holds, reason = _checked(said, passage, share, language)
            if holds:
                return True, reason
            if share > closest:
                closest, why = share, reason
    return False, why


def parts(sentence: str) -> list[str]:
    """The parts of a sentence between commas and semicolons."""
    return [part for part in _PARTS.split(sentence) if part.strip()]


def _checked(said: Text, passage: Text, share: float, language: Language) -> Finding:
    missing = [name for name in said.names if passage.has(name) < _NAME_FOUND and name not in passage.folded]
    if missing:
        return False, say(
            language, f"the passage does not name {missing[0]}", f"段落中没有提到“{missing[0]}”"
        )
    if any(not passage.has_quantity(one) for one in said.quantities):
        return False, say(language, "a number of the claim is not in the passage", "段落中没有这一数字")
    if _may_deny(said, passage):
        best = max(texts.sentences(passage.raw), key=lambda one: _share(said, analyse(one)))
        # Only the parts of that sentence that speak of the claim can deny it.
        closest = analyse(", ".join(part for part in _PARTS.split(best) if _share(said, analyse(part)) > 0))
        if negation_differs(said, closest) or opposite(said, closest):
            return False, say(language, "the passage says the opposite", "段落的意思相反")
    return True, say(
        language, f"{share:.0%} of its words are in one passage", f"{share:.0%} 的词语出现在同一段落中"
    )


def _share(said: Text, given: Text) -> float:
    return recall(said.telling, said.quantities, given)


def _may_deny(said: Text, passage: Text) -> bool:
    return bool(said.negations or passage.negations or any(said.sides) or any(said.frames))


def windows(context: str) -> list[str]:
    """Passages of a context: three consecutive sentences at a time; a short context whole."""
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
    """Does a context hold what one of the targets adds to the question, and its subject?"""
    given = analyse(context)
    for need in wanted:
        adds = need.added or need.quantities
        if adds and recall(need.added, need.quantities, given) < _USEFUL:
            continue
        about = recall(need.subject, (), given)
        if about >= _SUPPORT or (adds and about > 0):
            return True, say(language, "has what the answer needs", "包含得出答案所需的内容")
    return False, say(language, "has too little of what the answer needs", "缺少得出答案所需的内容")
