"""What an answer states, and whether it states anything: sentences, refusals, hedges, offers of help.

A refusal says that the answer is not known or was not found. "不能报销" (cannot be reimbursed) is a
policy, not a refusal; an answer with facts that ends "please contact HR" is not one either.
"""

import re
from functools import lru_cache

from rag_checks import text as texts
from rag_checks.judge import offline_lexicon as lexicon

_CONDITION = lexicon.pattern("claims", "condition")
_REFUSAL = lexicon.pattern("claims", "refusal")
_SORRY = lexicon.pattern("claims", "sorry")
_APOLOGY = lexicon.pattern("claims", "apology")
_OFFER = lexicon.pattern("claims", "offer")
_GREETING = re.compile(rf"^\W*(?:{lexicon.alternatives('claims', 'greeting')})\W*$")
_ASKS_CONTACT = lexicon.pattern("claims", "asks_contact")
_LEAD_IN = lexicon.pattern("claims", "lead_in")
_ABBREVIATION = lexicon.pattern("claims", "abbreviation")
_CONJUNCTION = lexicon.pattern("claims", "conjunction", re.IGNORECASE)

_TURN = re.compile(r"[，,;；]\s*(?=但|不过|然而|只)|,?\s+(?=\b(?:but|however)\b)")
_CLAUSE = re.compile(r"[，；;](?=.)|,\s+(?=(?:and|but|while|whereas)\b)|;\s+")
_LIST_MARK = re.compile(r"^\s*(?:[-*•·]|\(?\d{1,2}[.)、）]|[（(]?[一二三四五六七八九十][、）)])\s*")
_CITATION = re.compile(r"\s*\[(?:ID:)?\s*\^?\d+(?:\s*[,，]\s*\d+)*\^?\]|【\d+】")
_SHORT_CLAUSE_ZH, _SHORT_CLAUSE_WORDS = 4, 4


def sentences(text: str) -> list[str]:
    """`text.sentences`, joined again after abbreviations and initials (R. H. Thomson, the U.S. Army)."""
    joined: list[str] = []
    for part in texts.sentences(text):
        if joined and (_ABBREVIATION.search(joined[-1]) or (joined[-1].endswith("!") and part[:1].islower())):
            joined[-1] = f"{joined[-1]} {part}"
        else:
            joined.append(part)
    return joined


def _states(part: str, question: str) -> bool:
    """The sentence or clause says something about the world (no refusal, offer, greeting or question)."""
    whole = texts.normalise(part)
    folded = _APOLOGY.sub("", whole)
    if not any(char.isalnum() for char in folded) or _GREETING.match(folded):
        return False
    if _is_refusal(whole):
        return False
    if folded.endswith(("?", "吗", "呢")):
        return False
    if _OFFER.search(folded):
        return bool(_ASKS_CONTACT.search(texts.normalise(question)))
    return True


def is_refusal_sentence(part: str) -> bool:
    """The sentence says that the answer is not known or was not found."""
    return _is_refusal(texts.normalise(part))


def refuses(text: str) -> bool:
    """`noncommittal` without knowing the question; quick for texts that hold no such words at all."""
    folded = texts.normalise(text).replace("’", "'")
    told = _REFUSAL.search(folded) or _OFFER.search(folded) or _SORRY.search(folded)
    return bool(told) and noncommittal("", text)


def _is_refusal(folded: str) -> bool:
    folded = folded.replace("’", "'")
    return not _CONDITION.match(folded) and bool(_REFUSAL.search(folded))


@lru_cache(maxsize=4096)
def factual_sentences(question: str, answer: str) -> tuple[str, ...]:
    """Sentences of an answer that state something; list marks and citation marks removed."""
    found: list[str] = []
    for sentence in sentences(_CITATION.sub("", texts.clean(answer))):
        for part in _TURN.split(sentence):
            plain = _LIST_MARK.sub("", part).strip()
            if _states(plain, question):
                found.append(plain)
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=4096)
def noncommittal(question: str, answer: str) -> bool:
    """The answer refuses, evades or only points elsewhere, and states no fact of its own."""
    if factual_sentences(question, answer):
        return False
    folded = texts.normalise(answer).replace("’", "'")
    parts = [part for sentence in sentences(texts.clean(answer)) for part in _TURN.split(sentence)]
    return any(is_refusal_sentence(part) for part in parts) or bool(
        _OFFER.search(folded) or _SORRY.search(folded)
    )


def claims(question: str, text: str) -> list[str]:
    """Factual statements of a text: its factual sentences without closing stops and opening conjunctions."""
    plain = (
        _CONJUNCTION.sub("", part.rstrip("。.;； ")) or part for part in factual_sentences(question, text)
    )
    return list(dict.fromkeys(plain))


@lru_cache(maxsize=4096)
def clauses(claim: str) -> tuple[str, ...]:
    """Clauses of a claim that can stand alone; one that only sets the scene stays with the next."""
    merged: list[str] = []
    for part in (piece.strip() for piece in _CLAUSE.split(claim)):
        if merged and (_too_short(part) or _needs_more(merged[-1])):
            merged[-1] = (
                f"{merged[-1]}，{part}" if texts.language_of(part) == "zh" else f"{merged[-1]}, {part}"
            )
        else:
            merged.append(part)
    return tuple(merged)


def _needs_more(part: str) -> bool:
    return _too_short(part) or bool(_CONDITION.match(part.casefold()) or _LEAD_IN.search(part.casefold()))


def _too_short(part: str) -> bool:
    if texts.language_of(part) == "zh":
        return sum(char.isalnum() for char in part) < _SHORT_CLAUSE_ZH
    return len(part.split()) < _SHORT_CLAUSE_WORDS
