"""One text as the offline judge sees it: content words, quantities, polarity. Analysed once, cached.

Word lists are in `offline_lexicon.toml`.
"""

import re
from functools import cached_property, lru_cache
from itertools import pairwise

from rag_checks.judge import offline_lexicon as lexicon
from rag_checks.judge.offline_numbers import Quantity, keys, rivals, take_quantities, wanted_keys
from rag_checks.judge.offline_words import ENGLISH_FUNCTION, SYNONYMS, alike, cut, english_word, fold, stem

_ZH_FUNCTION = lexicon.words("chinese_function")
_GENERIC = lexicon.words("generic")
_COMMON_FORMS = frozenset(SYNONYMS.values())

_WORD = re.compile(r"[㐀-䶿一-鿿豈-﫿]+|[a-z0-9]+(?:[.'-][a-z0-9]+)*")
_LATIN_WORD = re.compile(r"[a-z0-9]+(?:[.'][a-z0-9]+)*")
_HAN = re.compile(r"[㐀-䶿一-鿿豈-﫿]")
_FIRST_HAN = "㐀"

_ZH_NEGATION = lexicon.pattern("polarity", "chinese_negation")
_EN_NEGATION = lexicon.pattern("polarity", "english_negation")
_ATTRIBUTE = lexicon.pattern("polarity", "attribute")
_AFFIRMATION = lexicon.pattern("polarity", "affirmation")
_ASKING = lexicon.pattern("polarity", "asking")
_OPPOSITES = tuple(
    (re.compile(one), re.compile(other)) for one, other in lexicon.rows("polarity", "opposites")
)
_ANY_OPPOSITE = re.compile("|".join(side for pair in lexicon.rows("polarity", "opposites") for side in pair))
_EXCLUSIVE = tuple(tuple(map(re.compile, group)) for group in lexicon.rows("polarity", "exclusive"))
_ANY_EXCLUSIVE = re.compile("|".join(one for group in lexicon.rows("polarity", "exclusive") for one in group))
_REPLY = f"(?:{lexicon.alternatives('polarity', 'reply')})"
# Bounded, as two unbounded runs side by side cost quadratic time on a page of dashes.
_OPENING = re.compile(rf"^\W{{0,9}}(?:抱歉|对不起|sorry)?\W{{0,9}}{_REPLY}[，,。.!！;；]\s*(?=\w)")
_SHORT_REPLY = re.compile(rf"^\W*{_REPLY}(?:\W+{_REPLY})*\W*$")

# A capital at the start of a sentence or a quotation says nothing.
_EN_NAME = re.compile(r"(?<![.!?。！？:\"“] )(?<!^)\b[A-Z][a-zA-Z'-]+")
_GLUED = re.compile(r"\b[A-Za-z]*[a-z](?:[A-Z][a-z]|\d)[A-Za-z0-9]*")
_GLUED_PARTS = re.compile(r"[A-Z]?[a-z]+")
_PERSON_TAGS = frozenset({"nr", "nrfg"})
_UNIT_ENDINGS = frozenset("部组处科")
_UNIT_WORDS = _UNIT_ENDINGS | {"中心"}
_NAME_TAGS = frozenset({"nr", "nrt", "nrfg", "ns", "nt", "nz"})


class Text:
    """One text, taken apart lazily. Build it with `analyse`, which caches."""

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self.folded = fold(raw)
        self._found: dict[str, float] = {}

    @cached_property
    def quantities(self) -> list[Quantity]:
        """Numbers with their units, in order, each once."""
        return list(dict.fromkeys(self._parts[0]))

    @cached_property
    def _quantity_keys(self) -> frozenset[tuple[str, str]]:
        return frozenset(key for own in self.quantities for key in keys(own))

    @cached_property
    def _parts(self) -> tuple[list[Quantity], str]:
        return take_quantities(self.folded)

    @cached_property
    def squeezed(self) -> str:
        """Letters and digits only: for containment across layouts."""
        return "".join(filter(str.isalnum, self.folded))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All words in order, without quantities; English stemmed, a few synonyms unified."""
        wordy = self._parts[1]
        if wordy.isascii():
            return tuple(english_word(word) for word in _LATIN_WORD.findall(wordy))
        found: list[str] = []
        for run in _WORD.findall(wordy):
            if _HAN.match(run):
                found.extend(SYNONYMS.get(word, word) for word in cut(run))
            else:
                found.extend(english_word(part) for part in run.split("-") if part)
        return tuple(found)

    @cached_property
    def content(self) -> tuple[str, ...]:
        """Different content words in order; all words when nothing but function words is there."""
        kept = tuple(
            dict.fromkeys(
                word for word in self.words if word not in ENGLISH_FUNCTION and word not in _ZH_FUNCTION
            )
        )
        return kept or tuple(dict.fromkeys(self.words))

    @cached_property
    def content_set(self) -> frozenset[str]:
        """`content` for look-ups."""
        return frozenset(self.content)

    @cached_property
    def telling(self) -> tuple[str, ...]:
        """`content` without words that only name a kind (department, member), if anything is left."""
        return tuple(word for word in self.content if not is_generic(word)) or self.content

    @cached_property
    def _word_set(self) -> frozenset[str]:
        return frozenset(self.words)

    @cached_property
    def _glued(self) -> frozenset[str]:
        """Parts of words that ran together when marks and blanks were lost: "set inNew York12"."""
        return frozenset(
            english_word(part.casefold())
            for glued in _GLUED.findall(self.raw)
            for part in _GLUED_PARTS.findall(glued)
        )

    @cached_property
    def _by_initial(self) -> dict[str, list[str]]:
        index: dict[str, list[str]] = {}
        for word in self.content:
            index.setdefault(word[0], []).append(word)
        return index

    @cached_property
    def grams(self) -> frozenset[str]:
        """Character n-grams: pairs of Han characters, triples of letters inside words."""
        found: set[str] = set()
        for run in _WORD.findall(self.folded):
            size = 2 if _HAN.match(run) else 3
            padded = run if size == 2 else f"_{run}_"  # noqa: PLR2004
            found.update(padded[at : at + size] for at in range(max(len(padded) - size + 1, 1)))
        return frozenset(found)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Words that point at one person, place, product or code; normalised."""
        found = list(self.capitalised)
        found += self.codes
        found += [word.casefold() for word, tag in self._tagged if tag in _NAME_TAGS and len(word) > 1]
        return tuple(dict.fromkeys(found))

    @cached_property
    def codes(self) -> tuple[str, ...]:
        """Words of letters and digits: A1024, 15w, 3rd."""
        return tuple(word for word in self.words if not word.isalpha() and word[0] < _FIRST_HAN)

    @cached_property
    def capitalised(self) -> tuple[str, ...]:
        """English words with a capital inside a sentence, case-folded; not those of a unified phrase."""
        found = (word.removesuffix("'s").casefold() for word in _EN_NAME.findall(self.raw))
        known = (part for word in found if word in self.folded for part in word.split("-"))
        return tuple(dict.fromkeys(filter(None, (part.replace("'", "") for part in known))))

    @cached_property
    def people(self) -> frozenset[str]:
        """Chinese personal names, as the dictionary's tagger sees them."""
        return frozenset(word for word, tag in self._tagged if tag in _PERSON_TAGS and len(word) > 1)

    @cached_property
    def units(self) -> frozenset[str]:
        """Chinese names of departments and teams: 法务部, 运维组."""
        found = set()
        for before, word in pairwise(("", *self.words)):
            if word in _UNIT_WORDS and len(before) > 1 and before[0] >= _FIRST_HAN:
                found.add(before + word)
            elif len(word) > 2 and word[-1] in _UNIT_ENDINGS and word[0] >= _FIRST_HAN:  # noqa: PLR2004
                found.add(word)
        return frozenset(found)

    @cached_property
    def nouns(self) -> frozenset[str]:
        """`any_nouns` without those that only name a kind (department, member)."""
        return self.any_nouns - _GENERIC

    @cached_property
    def any_nouns(self) -> frozenset[str]:
        """Chinese content nouns, as the dictionary's tagger sees them."""
        return frozenset(
            SYNONYMS.get(word, word)
            for word, tag in self._tagged
            if tag.startswith("n") and len(word) > 1 and word not in _ZH_FUNCTION
        )

    @cached_property
    def _tagged(self) -> list[tuple[str, str]]:
        if not _HAN.search(self.raw):
            return []
        import rjieba  # noqa: PLC0415 - loads a dictionary on first use; imports must stay light

        return [(word, tag) for word, tag in rjieba.tag(self.folded) if _HAN.match(word)]

    @cached_property
    def negations(self) -> int:
        """How many negating words there are; questions such as 是不是 and an opening "No," do not count."""
        plain = _ATTRIBUTE.sub("", _ASKING.sub("", self.folded))
        if not self.is_short_reply:
            plain = _OPENING.sub("", plain)
        return len(_ZH_NEGATION.findall(plain)) + len(_EN_NEGATION.findall(plain))

    @cached_property
    def affirms(self) -> bool:
        """It says that something can be done, and denies nothing."""
        return not self.negations and bool(_AFFIRMATION.search(self.folded))

    @cached_property
    def is_short_reply(self) -> bool:
        """Nothing but yes, no, 可以, 不能 and the like."""
        return bool(_SHORT_REPLY.match(self.folded))

    @cached_property
    def sides(self) -> tuple[int, ...]:
        """For each pair of opposites (before/after, free/charged …) the side that is said, see `side`."""
        if not _ANY_OPPOSITE.search(self.folded):
            return (0,) * len(_OPPOSITES)
        return tuple(self.side(at) for at in range(len(_OPPOSITES)))

    def side(self, pair: int) -> int:
        """1 or -1 for the side of a pair of opposites that is said, 0 for none or both."""
        first, second = _OPPOSITES[pair]
        return bool(first.search(self.folded)) - bool(second.search(self.folded))

    @cached_property
    def frames(self) -> tuple[frozenset[int], ...]:
        """For each group of exclusive words (each day, each month …): which of them are said."""
        if not _ANY_EXCLUSIVE.search(self.folded):
            return (frozenset(),) * len(_EXCLUSIVE)
        return tuple(
            frozenset(at for at, option in enumerate(group) if option.search(self.folded))
            for group in _EXCLUSIVE
        )

    def has(self, word: str) -> float:
        """How far a content word is in this text, 0..1: 1 when it is there, else by the closest spelling."""
        share = self._found.get(word)
        if share is None:
            share = self._found[word] = self._look_up(word)
        return share

    def _look_up(self, word: str) -> float:
        if word[0] >= _FIRST_HAN:
            # The letters come first: a long text need not be cut into words for this.
            if word in self.squeezed or (word in _COMMON_FORMS and word in self._word_set):
                return 1.0
            pairs = [word[at : at + 2] for at in range(len(word) - 1)]
            share = sum(pair in self.squeezed for pair in pairs) / len(pairs) * 0.8 if len(pairs) > 1 else 0.0
            # 生鲜 for 生鲜食品: a compound is shortened to one of its halves.
            halves = len(word) > 3 and (word[:2] in self.squeezed or word[-2:] in self.squeezed)  # noqa: PLR2004
            return max(share, 0.5) if halves else share
        if word in self._word_set or (len(word) >= 3 and word in self._glued):  # noqa: PLR2004
            return 1.0
        if len(word) < 4:  # noqa: PLR2004 - short words are too alike
            return 0.0
        if word.isalpha() and len(word) >= 5 and word in self.squeezed:  # noqa: PLR2004
            return 0.9
        return max((alike(word, other) for other in self._by_initial.get(word[0], ())), default=0.0)

    def has_quantity(self, quantity: Quantity) -> bool:
        """An equal quantity is in this text."""
        return not self._quantity_keys.isdisjoint(wanted_keys(quantity))

    def rivals_of(self, quantity: Quantity) -> bool:
        """Another value stands where this quantity was expected."""
        return any(rivals(quantity, own) for own in self.quantities)


def is_generic(word: str) -> bool:
    """The word names a kind of thing (department, member) and identifies nothing by itself."""
    return word in _GENERIC or stem(word) in _GENERIC


def analyse(raw: str) -> Text:
    """The analysed text, without closing stops, so that a sentence and its claim are analysed once."""
    return _analysed(raw.rstrip(" \n。.；;"))


@lru_cache(maxsize=2048)  # an item's tasks share texts; long ones take memory
def _analysed(raw: str) -> Text:
    return Text(raw)
