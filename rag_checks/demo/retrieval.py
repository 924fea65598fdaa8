"""BM25 over words and Chinese character pairs."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise

from rag_checks import text
from rag_checks.demo.chunking import Passage
from rag_checks.demo.vocabulary import vocabulary

TOP_K = 4
_K1 = 1.4  # saturation of repeated terms; Robertson and Zaragoza recommend 1.2 to 2
_B = 0.75  # how much long passages are held back; their usual value
_UNKNOWN = 0.6  # weight of a word no passage holds, as a share of a rare word's
_HAN_RUN = re.compile(r"[㐀-䶿一-鿿]+")
_PLURAL = 4  # letters at least: short words such as gas are no plurals


def words(value: str) -> list[str]:
    """Content words: tokens without function words, English plurals folded."""
    return [_stem(token) for token in text.tokens(value) if token not in vocabulary().stop]


def topic(value: str) -> set[str]:
    """The words a passage must hold to be about a question: no single characters, no words of asking."""
    found = words(value)
    asking = vocabulary().asking
    return {w for w in found if w not in asking and (len(w) > 1 or w.isdigit())} or set(found)


def terms(value: str) -> list[str]:
    """What is indexed: content words, and character pairs the dictionary's cut does not give.

    Names are often unknown to the dictionary (欧阳明月 is cut 欧阳明 + 月); their pairs survive any cut.
    """
    known = words(value)
    seen = set(known)
    pairs = ("".join(pair) for run in _HAN_RUN.findall(text.normalise(value)) for pair in pairwise(run))
    return known + [pair for pair in pairs if pair not in seen]


class Bm25:
    """Okapi BM25 over passages.

    Source: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009, section 3.
    """

    def __init__(self, passages: Iterable[Passage]) -> None:
        self.passages = tuple(passages)
        self._postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
        lengths = []
        for index, passage in enumerate(self.passages):
            counts = Counter(terms(passage.text))
            lengths.append(counts.total())
            for term, count in counts.items():
                self._postings[term].append((index, count))
        mean = sum(lengths) / len(lengths)
        self._norms = [_K1 * (1 - _B + _B * length / mean) for length in lengths]

    def idf(self, term: str) -> float:
        """Inverse document frequency, never negative."""
        hits = len(self._postings.get(term, ()))
        return math.log(1 + (len(self.passages) - hits + 0.5) / (hits + 0.5))

    def coverage(self, query: str, passage: str) -> float:
        """Share of a query's topic words, by weight, that a passage holds, 0..1.

        A Chinese word counts in part when only some of its character pairs are there. A word no passage
        holds weighs little more than half of a rare one: people say things their own way.
        """
        asked, held = topic(query), set(terms(passage))
        weights = {word: self.idf(word) * (1 if word in self._postings else _UNKNOWN) for word in asked}
        total = sum(weights.values())
        return (
            sum(weight * _share_held(word, held) for word, weight in weights.items()) / total
            if total
            else 0.0
        )

    def search(self, query: str, k: int = TOP_K) -> list[tuple[Passage, float]]:
        """The k passages that fit best with their scores, best first; fewer when fewer share a term."""
        scores: dict[int, float] = defaultdict(float)
        for term in dict.fromkeys(terms(query)):
            for index, count in self._postings.get(term, ()):
                scores[index] += self.idf(term) * count * (_K1 + 1) / (count + self._norms[index])
        best = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:k]
        return [(self.passages[index], score) for index, score in best]


def _share_held(word: str, held: set[str]) -> float:
    if word in held:
        return 1.0
    pairs = ["".join(pair) for pair in pairwise(word)] if _HAN_RUN.fullmatch(word) else []
    return sum(pair in held for pair in pairs) / len(pairs) if pairs else 0.0


def _stem(token: str) -> str:
    is_plural = len(token) >= _PLURAL and token.endswith("s") and not token.endswith("ss") and token.isascii()
    return token[:-1] if is_plural else token
