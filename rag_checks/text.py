"""Text in Chinese and English: normalising, languages, sentences, tokens.

Chinese words come from jieba's dictionary (the rjieba package); English words are lower-cased runs of letters
and digits with a light plural stem left to callers. Both languages are equals here (P9).
"""

import re
import unicodedata
from functools import lru_cache
from typing import Literal

_HAN = re.compile(r"[㐀-䶿一-鿿豈-﫿]")
_LATIN_WORD = re.compile(r"[A-Za-z]+")
_WORD = re.compile(r"[㐀-䶿一-鿿豈-﫿]+|[a-z0-9]+(?:[.,:'/-][a-z0-9]+)*")
# A full stop ends a sentence only before white space or the end, so 3.5 and e.g. host.name stay whole.
_SENTENCE_END = re.compile(r"(?<=[。！？；!?\n])|(?<=[.;])(?=\s)")
_UNWANTED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff\u200b-\u200f\u202a-\u202e\u2060]")


def clean(text: str) -> str:
    """Text that every store and renderer takes: no NUL or control characters, no lone surrogates."""
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _UNWANTED.sub("", text)


def normalise(text: str) -> str:
    """Text for comparing: NFKC (full-width forms folded), case-folded, white space collapsed."""
    return " ".join(unicodedata.normalize("NFKC", clean(text)).casefold().split())


def squeeze(text: str) -> str:
    """`normalise` without any white space or punctuation: for containment across layouts."""
    return "".join(char for char in normalise(text) if char.isalnum())


def language_of(text: str) -> Literal["zh", "en"]:
    """The language of a text: zh when Han characters outnumber half the Latin words."""
    return "zh" if len(_HAN.findall(text)) * 2 > len(_LATIN_WORD.findall(text)) else "en"


def sentences(text: str) -> list[str]:
    """Sentences of Chinese or English text, stripped, without empty ones."""
    return [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]


def tokens(text: str) -> list[str]:
    """Words of a text in order: normalised; Chinese cut by dictionary, numbers and codes kept whole."""
    words: list[str] = []
    for run in _WORD.findall(normalise(text)):
        if _HAN.match(run):
            words.extend(_cut(run))
        else:
            words.append(run)
    return words


@lru_cache(maxsize=65536)
def _cut(run: str) -> tuple[str, ...]:
    import rjieba  # noqa: PLC0415 - loads a 5 MB dictionary on first use; imports must stay light

    return tuple(rjieba.cut(run))
