"""Intents as they are met: a number for each, its stratum and its traffic."""

from collections import Counter
from collections.abc import Callable

from rag_checks.intake.sampling import BAD_CASE
from rag_checks.text import clean

UNKNOWN = "unknown"
OTHER = "other"
# More intents than this are no categories but free text: they become one, so that memory stays bounded.
MAX_INTENTS = 200
# A longer one is a sentence and no label, and may be anybody's words.
_MAX_LENGTH = 64
_MAX_SPELLINGS = 4096


class Intents:
    """Numbers intents from 0, below `MAX_INTENTS`.

    Args:
        on_unite: called once, when there are too many; from then on all numbers mean `other`.
    """

    def __init__(self, on_unite: Callable[[], None]) -> None:
        self._on_unite = on_unite
        self._united = False
        self._names: list[str] = []
        self._traffic: list[int] = []
        self._numbers: dict[str | int | None, int] = {}  # by spelling in the logs

    def number(self, intent: str | int | None) -> int:
        """Number of an intent as it was logged; None and empty are `unknown`."""
        known = self._numbers.get(intent)
        if known is not None:
            return known
        number = self._number_of_name(_name(intent))
        if len(self._numbers) < _MAX_SPELLINGS:
            self._numbers[intent] = number
        return number

    def stratum(self, number: int) -> str:
        """Stratum of the intent's turns that are no bad cases."""
        name = self._names[number]
        return name if name != BAD_CASE else f"intent:{name}"

    def count(self, number: int, turns: int) -> None:
        """Add to an intent's traffic."""
        self._traffic[number] += turns

    def traffic(self) -> dict[str, int]:
        """Turns by name of intent; names without turns are left out."""
        turns: Counter[str] = Counter()
        for name, count in zip(self._names, self._traffic, strict=True):
            turns[name] += count
        return {name: turns[name] for name in sorted(turns) if turns[name]}

    def _number_of_name(self, name: str) -> int:
        if self._united:
            return 0
        if name in self._names:
            return self._names.index(name)
        if len(self._names) == MAX_INTENTS:
            self._united = True
            self._names = [OTHER] * MAX_INTENTS  # numbers given before stay good
            self._on_unite()
            return 0
        self._names.append(name)
        self._traffic.append(0)
        return len(self._names) - 1


def _name(intent: str | int | None) -> str:
    name = "" if intent is None else clean(str(intent)).strip()
    return name if 0 < len(name) <= _MAX_LENGTH else UNKNOWN
