"""String features that tell whether an answer states what a reference says.

The features are made for Chinese and English alike; the weights that combine them are fitted by
`offline_train`.
"""

import math
import re
from collections.abc import Sequence
from functools import lru_cache

from rag_checks.judge.offline_claims import factual_sentences, noncommittal
from rag_checks.judge.offline_numbers import Quantity
from rag_checks.judge.offline_text import Text, analyse, is_generic
from rag_checks.judge.offline_words import stem
from rag_checks.text import language_of

FEATURES = (
    "contained",  # the reference stands word for word in the answer
    "contained_in_first",  # … in the first factual sentence
    "contained_times_length",  # … in a long answer it may be there by chance
    "recall",  # share of the reference's content words in the answer
    "recall_squared",
    "core_recall",  # the same over words the question does not hold already
    "core_all",  # every core word is there
    "last_core_word",  # often the surname or the head noun
    "best_sentence_recall",
    "gram_recall",  # share of the reference's character n-grams in the answer
    "squeezed",  # the reference stands in the answer when blanks and punctuation are ignored
    "precision",  # share of the answer's new words that the reference has
    "reverse_contained",  # the answer stands in the reference (a shorter form)
    "quantities_met",  # share of the reference's numbers in the answer
    "quantities_rival",  # another value stands where a number was expected
    "only_number",  # the reference is a number, a date or an amount
    "negation_differs",
    "opposite",
    "refuses",
    "sentence_recall",  # recall and core recall again, for references that repeat the question: sentences
    "sentence_core_recall",
    "in_question",  # the reference's words are in the question: containment says little
    "new_words",  # log of the number of new words of the answer
    "reference_words",  # log of the number of content words of the reference
    "short_and_other",  # a short answer without any core word
    "new_names",  # names in the answer that neither the question nor the reference has
    "core_recall_times_reference",  # of a long reference the same share is worth less
    "core_recall_by_length",  # core recall with words weighed by their letters: long words are rare ones
    "name_recall",  # share of the reference's capitalised words in the answer; core recall without any
)
_NAME = re.compile(r"(?<![.!?。！？:\"“] )(?<!^)\b[A-Z][a-zA-Z'-]+")
_SENTENCES = re.compile(r"[a-z]{3,}[.!?]\s+[A-Z]\w+ \w+ \w+")
_IN_BRACKETS = re.compile(
    r"\s*\([^()]*\)\s*$"
)  # the kind of thing, as encyclopedias name pages: Turner (painter)
_MAX_ALIASES = 200
_LONG_WORD = 8  # letters


@lru_cache(maxsize=4096)
def aliases(reference: str) -> tuple[str, ...]:
    """Accepted forms of a reference: itself, or its parts when it is a list `A/B/C` of aliases.

    Only Latin texts without sentences are split: 24/7, links and Chinese menu paths (设置/账户) are not
    lists. A Latin list may hold names in other scripts (Tokyo/東京).
    """
    plain = _IN_BRACKETS.sub("", reference).strip() or reference
    if "/" not in plain or "://" in plain or language_of(plain) == "zh" or _SENTENCES.search(plain):
        return (plain,)
    parts = [_IN_BRACKETS.sub("", part).strip() or part for part in reference.split("/")]
    if all(part.isdigit() and len(part) <= 2 for part in parts):  # noqa: PLR2004 - 24/7 and 1/2
        return (plain,)
    kept = [part for part in parts if sum(char.isalnum() for char in part) > 1] or [plain]
    return tuple(dict.fromkeys(kept))[:_MAX_ALIASES]


def core(reference: Text, question: Text) -> tuple[str, ...]:
    """Content words of the reference that the question does not hold and that identify something."""
    new = [word for word in reference.content if word not in question.content_set and not is_generic(word)]
    return (
        tuple(new)
        or tuple(word for word in reference.content if word not in question.content_set)
        or reference.content
    )


def _met(quantities: Sequence[Quantity], answer: Text) -> float:
    return sum(answer.has_quantity(one) for one in quantities) / len(quantities) if quantities else 1.0


def recall(words: Sequence[str], quantities: Sequence[Quantity], answer: Text) -> float:
    """Share of words and quantities that the answer has, 0..1; 0 when there are none."""
    total = len(words) + len(quantities)
    if not total:
        return 0.0
    return (
        sum(answer.has(word) for word in words) + sum(answer.has_quantity(one) for one in quantities)
    ) / total


def negation_differs(first: Text, second: Text) -> bool:
    """One text denies what the other affirms, as far as counting negations can tell."""
    return first.negations % 2 != second.negations % 2


def opposite(first: Text, second: Text) -> bool:
    """The texts stand on two sides of a pair such as before/after or free/charged."""
    if any(side and second.side(pair) == -side for pair, side in enumerate(first.sides)):
        return True
    return any(
        one and other and not one & other for one, other in zip(first.frames, second.frames, strict=True)
    )


def contains(answer: Text, reference: Text) -> bool:
    """The reference's words stand in the answer, in order and next to each other."""
    inner, outer = _line(reference), _line(answer)
    return bool(inner.strip()) and inner in outer


def _line(text: Text) -> str:
    return f" {' '.join(re.findall(r'[a-z0-9.]+|[㐀-鿿]', text.folded.replace(chr(39), '')))} ".replace(
        ". ", " "
    )


def closest_alias(reference: str, question: str, answer: str) -> str:
    """The accepted form of the reference that the answer meets best."""
    forms = aliases(reference)
    if len(forms) == 1:
        return forms[0]
    asked, said = analyse(question), analyse(answer)

    def fit(form: str) -> tuple[bool, float, int]:
        text = analyse(form)
        return contains(said, text), recall(core(text, asked), text.quantities, said), len(text.content)

    return max(forms, key=fit)


def features(question: str, reference: str, answer: str) -> list[float]:
    """Values of FEATURES, about 0..1 each, for one accepted form of a reference."""
    asked, wanted, said = analyse(question), analyse(reference), analyse(answer)
    sentences = factual_sentences(question, answer) or (answer,)
    first = analyse(sentences[0])
    kernel = core(wanted, asked)
    present = [said.has(word) for word in kernel]
    new = [word for word in said.content if word not in asked.content_set]
    inside = contains(said, wanted)
    whole = recall(wanted.content, wanted.quantities, said)
    kernel_recall = recall(
        () if wanted.quantities and kernel == wanted.content and not wanted.words else kernel,
        wanted.quantities,
        said,
    )
    repeats = recall(wanted.content, wanted.quantities, asked)
    best = max((recall(kernel, wanted.quantities, analyse(one)) for one in sentences[:8]), default=0.0)
    names = {word for one in sentences[:4] for word in _NAME.findall(one)}
    strange = [
        word for word in names if word.casefold() not in wanted.folded and word.casefold() not in asked.folded
    ]
    length = math.log1p(len(new) + len(said.quantities)) / 3
    reference_words = math.log1p(len(wanted.content)) / 2
    given_names = [said.has(stem(name)) for name in wanted.capitalised if name not in asked.folded]
    met = _met(wanted.quantities, said)
    rival = any(said.rivals_of(one) and not said.has_quantity(one) for one in wanted.quantities)
    return [
        inside,
        contains(first, wanted),
        inside * length,
        whole,
        whole**2,
        kernel_recall,
        kernel_recall > 0.99,  # noqa: PLR2004 - all, but for rounding
        present[-1] if present else met,
        best,
        len(wanted.grams & said.grams) / len(wanted.grams) if wanted.grams else 0.0,
        bool(wanted.squeezed) and wanted.squeezed in said.squeezed,
        sum(wanted.has(word) for word in new) / len(new) if new else 0.0,
        len(new) + len(said.quantities) > 0 and contains(wanted, said),
        met,
        rival,
        bool(wanted.quantities) and not wanted.words,
        negation_differs(wanted, said),
        opposite(wanted, said),
        noncommittal(question, answer),
        whole * repeats,
        kernel_recall * repeats,
        repeats,
        length,
        reference_words,
        len(new) <= 4 and kernel_recall < 0.01,  # noqa: PLR2004 - four words hold a name or a title
        min(len(strange), 5) / 5,
        kernel_recall * reference_words,
        _by_length(kernel, said) if kernel else kernel_recall,
        sum(given_names) / len(given_names) if given_names else kernel_recall,
    ]


def _by_length(words: Sequence[str], answer: Text) -> float:
    weights = [min(len(word), _LONG_WORD) for word in words]
    return sum(weight * answer.has(word) for weight, word in zip(weights, words, strict=True)) / sum(weights)
