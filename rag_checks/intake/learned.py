"""A decoder made for the names one file uses: it reads and checks a line of JSON in one go.

It takes a line only when that gives exactly what the long way (`RowReader`) gives: every name is one it was
made for, every field goes by one name, the types fit. It refuses all others.
"""

from collections import Counter
from collections.abc import Callable
from itertools import compress
from operator import attrgetter
from typing import Any

import msgspec

from rag_checks.intake.names import ALIASES, KNOWN_NAMES
from rag_checks.intake.row import Row

# Beyond this a file's names are data, and a decoder would be made for every line.
MAX_NAMES = 64
_NEEDED = ("turn_id", "asked_at", "user_input", "response")
_FIELDS = [
    (field.name, field.type) if field.required else (field.name, field.type, field.default)
    for field in msgspec.structs.fields(Row)
]


class Learned:
    """The decoder, and counts of which names had a value.

    Attributes:
        keys: what each field is called in the file.
        decode: a line to a row, of which nothing is respelled yet.

    Args:
        names: all names of the file's rows.
        keys: what each field there is called.
    """

    def __init__(self, names: frozenset[str], keys: dict[str, str]) -> None:
        unknown = {name: f"unknown_{place}" for place, name in enumerate(sorted(names - KNOWN_NAMES))}
        # Fields the file does not have get a name that no log has.
        rename = {field: keys.get(field, f"(absent {field})") for field in Row.__struct_fields__}
        row = msgspec.defstruct(
            "LearnedRow",
            # `Any` and not `Raw`: even what is ignored must be right JSON in UTF-8, as on the long way.
            [*_FIELDS, *((place, Any, None) for place in unknown.values())],
            bases=(Row,),
            rename=rename | {place: name for name, place in unknown.items()},
            forbid_unknown_fields=True,
            gc=False,
        )
        self.keys = keys
        self.decode: Callable[[bytes], Row] = msgspec.json.Decoder(row).decode  # type: ignore[assignment]  # a subclass
        attributes = {name: field for field, name in keys.items()} | unknown
        self._names = tuple(attributes)
        self._values = attrgetter(*attributes.values())
        self._counts: Counter[tuple[bool, ...]] = Counter()
        self._full = 0

    def count(self, row: Row) -> None:
        """Count the names with a value in a row that came from `decode`."""
        values = self._values(row)
        if None in values:
            self._counts[tuple([value is not None for value in values])] += 1
        else:
            self._full += 1

    def take_counts(self) -> Counter[tuple[str, ...]]:
        """How often each set of names had values; counting starts again."""
        taken: Counter[tuple[str, ...]] = Counter({self._names: self._full} if self._full else {})
        for present, count in self._counts.items():
            taken[tuple(compress(self._names, present))] += count
        self._counts.clear()
        self._full = 0
        return taken


def learn(names: frozenset[str]) -> Learned | None:
    """A decoder for rows with these names and no others.

    None when a required field or the response has no name, a field has two, or there are more than 64.
    """
    keys: dict[str, str] = {}
    for field, aliases in ALIASES.items():
        present = [name for name in aliases if name in names]
        if len(present) > 1 or (field in _NEEDED and not present):
            return None
        if present:
            keys[field] = present[0]
    return Learned(names, keys) if len(names) <= MAX_NAMES else None
