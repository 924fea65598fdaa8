"""BM25 over words and Chinese character pairs."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise

from rag_checks import text
from rag_checks.demo.chunking import Passage

TOP_K = 4
_K1 = 1.4  # saturation of repeated terms; Robertson and Zaragoza recommend 1.2 to 2
_B = 0.75  # how much long passages are held back; their usual value
_UNKNOWN = 0.6
_HAN_RUN = re.compile(r"[㐀-䶿一-鿿]+")
_STOP = frozenset(
    [
        "的",
        "了",
        "吗",
        "呢",
        "啊",
        "呀",
        "吧",
        "是",
        "在",
        "有",
        "我",
        "你",
        "他",
        "她",
        "它",
        "们",
        "我们",
        "这",
        "那",
        "哪",
        "哪个",
        "什么",
        "怎么",
        "怎样",
        "如何",
        "多少",
        "几",
        "个",
        "和",
        "或",
        "与",
        "要",
        "能",
        "可以",
        "会",
        "被",
        "把",
        "就",
        "也",
        "都",
        "还",
        "到",
        "去",
        "给",
        "一下",
        "哪里",
        "哪儿",
        "谁",
        "请",
        "请问",
        "想",
        "啥",
        "a",
        "an",
        "the",
        "of",
        "to",
        "in",
        "on",
        "at",
        "for",
        "and",
        "or",
        "is",
        "are",
        "be",
        "am",
        "do",
        "does",
        "did",
        "i",
        "my",
        "me",
        "we",
        "our",
        "you",
        "your",
        "it",
        "its",
        "what",
        "which",
        "who",
        "whom",
        "how",
        "when",
        "where",
        "can",
        "could",
        "will",
        "would",
        "should",
        "must",
        "may",
        "if",
        "that",
        "this",
        "there",
        "with",
        "by",
        "from",
        "as",
        "s",
    ]
)

# Words that say what kind of thing is asked, or of which everything in a handbook is full: they are searched for,
# but a passage without them may well hold the answer.
_ASKING = frozenset(
    [
        "多久",
        "多长",
        "多少钱",
        "几天",
        "几个",
        "几点",
        "几号",
        "几次",
        "几年",
        "几月",
        "哪天",
        "时间",
        "时候",
        "什么时候",
        "怎么办",
        "公司",
        "员工",
        "一天",
        "一年",
        "每年",
        "每天",
        "一个月",
        "每月",
        "每个",
        "多大",
        "天年",
        "年年",
        "满一年",
        "要用",
        "能用",
        "能休",
        "填",
        "咋整",
        "哪个部门",
        "网址",
        "地址",
        "链接",
        "告诉",
        "上限",
        "标准",
        "需要",
        "最多",
        "最晚",
        "必须",
        "超过",
        "哪些",
        "没有",
        "今天",
        "现在",
        "名字",
        "知道",
        "问题",
        "钱",
        "办理",
        "办",
        "day",
        "year",
        "month",
        "many",
        "much",
        "long",
        "often",
        "far",
        "get",
        "need",
        "have",
        "use",
        "take",
        "allowed",
        "thing",
        "company",
        "number",
    ]
)


def words(value: str) -> list[str]:
    """Content words: tokens without function words, English plurals folded."""
    return [_stem(token) for token in text.tokens(value) if token not in _STOP]


def topic(value: str) -> set[str]:
    """The words a passage must hold to be about a question: no single characters, no words of asking."""
    found = words(value)
    return {word for word in found if word not in _ASKING and (len(word) > 1 or word.isdigit())} or set(found)


def terms(value: str) -> list[str]:
    """What is indexed: content words, and character pairs the dictionary's cut does not give.

    Names are often unknown to the dictionary (欧阳明月 is cut 欧阳明 + 月); their character pairs survive any cut.
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
        """Share of a query's topic words, by weight, that a passage holds, 0..1; a long Chinese word counts in part.

        Words no passage holds weigh little more than half of a rare one: people say things their own way.
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
    is_plural = len(token) > 3 and token.endswith("s") and not token.endswith("ss") and token.isascii()  # noqa: PLR2004 - short words such as "gas" are no plurals
    return token[:-1] if is_plural else token
