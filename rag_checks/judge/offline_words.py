"""Words as the offline judge compares them: folded, stemmed, synonyms unified.

Word lists are in `offline_lexicon.toml`.
"""

import re
import unicodedata
from functools import lru_cache

from rag_checks import text as texts
from rag_checks.judge import offline_lexicon as lexicon
from rag_checks.judge.offline_numbers import arabic

ENGLISH_FUNCTION = lexicon.words("english_function")
SYNONYMS = {word: line.split()[0] for line in lexicon.rows("words", "synonyms") for word in line.split()}
_SAME_PHRASES = [(re.compile(one), other) for one, other in lexicon.rows("words", "same_phrase")]
_SAME_PHRASE = re.compile("|".join(one for one, _ in lexicon.rows("words", "same_phrase")))
_PHONE = re.compile(r"(?<![\d-])\d{3,4}([- ])\d{3,4}\1\d{3,4}(?![\d-])")
_HAN = re.compile(r"[㐀-䶿一-鿿豈-﫿]")


@lru_cache(maxsize=65536)
def cut(run: str) -> tuple[str, ...]:
    """Words of a run of Chinese characters."""
    return tuple(texts.tokens(run))


@lru_cache(maxsize=65536)
def english_word(word: str) -> str:
    """A word as it is compared: a synonym's common form, or without dots, apostrophes and endings."""
    word = word.removesuffix("'s")
    plain = SYNONYMS.get(word) or word.replace(".", "").replace("'", "")
    return plain if plain in ENGLISH_FUNCTION else stem(plain)


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """A light English stem: plural, -ing, -ed and -ly endings cut, so that inflections meet."""
    if len(word) > 4 and word.endswith("ies"):  # noqa: PLR2004 - shorter words are other words
        return word[:-3] + "y"
    for ending, shortest in (("ing", 6), ("ed", 5), ("ly", 6), ("es", 5), ("s", 4)):
        if word.endswith(ending) and len(word) >= shortest and not word.endswith(("ss", "us", "is")):
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > 4 and word.endswith("e") else word  # noqa: PLR2004


def fold(text: str) -> str:
    """Normalised text with digits for number words and Latin letters without accents."""
    text = texts.normalise(text)
    if not text.isascii() and not _HAN.search(text):
        text = "".join(
            char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char)
        )
    if _SAME_PHRASE.search(text):
        for phrase, common in _SAME_PHRASES:
            text = phrase.sub(common, text)
    return arabic(_PHONE.sub(lambda match: match.group().replace("-", "").replace(" ", ""), text))


@lru_cache(maxsize=65536)
def alike(first: str, second: str) -> float:
    """Spelling likeness of two words by letter pairs (Dice), 0 below 0.7."""
    if abs(len(first) - len(second)) > 2:  # noqa: PLR2004 - another word, not another spelling
        return 0.0
    ones = {first[at : at + 2] for at in range(len(first) - 1)}
    twos = {second[at : at + 2] for at in range(len(second) - 1)}
    dice = 2 * len(ones & twos) / (len(ones) + len(twos)) if ones and twos else 0.0
    return dice if dice >= 0.7 else 0.0  # noqa: PLR2004
