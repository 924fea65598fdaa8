"""Reading many lines of JSON at once with a decoder made for the names their file uses.

A night has a million lines, and Python costs more than JSON: so decoding, checking types, hashing and
counting run over whole columns. The short way only takes lines of which the long way (`RowReader.read`)
would make exactly the same: every name is one the decoder was made for, every field goes by one name, every
type is one that needs no second look. It refuses the others, and the long way decides.
"""

from itertools import compress
from typing import Annotated, Any, NamedTuple

import msgspec

from rag_checks.intake.names import ALIASES, KNOWN_NAMES
from rag_checks.intake.row import FeedbackObject, HistoryMessage, Passage, Row

# Beyond this a file's names are data, and a decoder would be made for every line.
MAX_NAMES = 64
_NEEDED = ("turn_id", "asked_at", "user_input", "response")
_FIELDS = Row.__struct_fields__
_WIDTH = len(_FIELDS)
# The types of `Row` without those that are JSON in a text, or objects without a hash.
_TYPES: dict[str, Any] = {
    "turn_id": str,
    "asked_at": str | int | float,
    "user_input": str,
    "response": str,
    "conversation_id": str | int | None,
    "retrieved_contexts": tuple[str | Passage, ...] | None,
    "retrieved_context_ids": tuple[str | int, ...] | None,
    "history": tuple[HistoryMessage, ...] | None,
    "intent": str | int | None,
    "rewritten_query": str | None,
    "tool_calls": None,
    "feedback": FeedbackObject | str | int | float | bool | None,
    "rating": str | int | float | bool | None,
    "comment": str | None,
    "release": str | int | float | None,
    "latency_ms": Annotated[float, msgspec.Meta(ge=0)] | None,
    "tags": tuple[str | int, ...] | None,
    "error": str | None,
}


class Batch(NamedTuple):
    """Rows and the same by column: the fields of `Row` in order, then the names that mean nothing."""

    rows: list[Row]
    columns: list[tuple[Any, ...]]
    contents: list[int]  # `row.content_number`

    def column(self, field: str) -> tuple[Any, ...]:
        """All values of a field."""
        return self.columns[_FIELDS.index(field)]

    def only(self, wanted: list[bool]) -> "Batch":
        """The rows for which `wanted` is true."""
        return Batch(
            list(compress(self.rows, wanted)),
            [tuple(compress(column, wanted)) for column in self.columns],
            list(compress(self.contents, wanted)),
        )


class Learned:
    """A decoder for rows with certain names.

    Args:
        names: all names of the file's rows.
        keys: what each field there is called.
    """

    def __init__(self, names: frozenset[str], keys: dict[str, str]) -> None:
        self.keys = keys
        self.unknown = sorted(names - KNOWN_NAMES)
        places = [f"unknown_{place}" for place in range(len(self.unknown))]
        row = msgspec.defstruct(
            "LearnedRow",
            [
                *((f, _TYPES[f]) if f in _NEEDED else (f, _TYPES[f], None) for f in _FIELDS),
                # `Any` and not `Raw`: even what is ignored must be right JSON in UTF-8, as on the long way.
                *((place, Any, None) for place in places),
            ],
            bases=(Row,),
            # Fields the file does not have get a name that no log has.
            rename={f: keys.get(f, f"(absent {f})") for f in _FIELDS}
            | dict(zip(places, self.unknown, strict=True)),
            forbid_unknown_fields=True,
            gc=False,
        )
        self._decode = msgspec.json.Decoder(row).decode

    def read(self, lines: list[bytes]) -> Batch | None:
        """The rows of the lines, empty ones left out; None when the long way has to read them."""
        try:
            rows: list[Any] = list(map(self._decode, filter(None, lines)))
        except (msgspec.MsgspecError, RecursionError):
            return None
        values = list(map(msgspec.structs.astuple, rows))
        columns = list(zip(*values, strict=True))
        contents = list(map(hash, [row[:_WIDTH] for row in values] if self.unknown else values))
        return Batch(rows, columns, contents) if _are_plain(columns) else None


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


def _are_plain(columns: list[tuple[Any, ...]]) -> bool:
    """Whether there are rows, and turn ids need no cleaning: printable ASCII without spaces, not empty."""
    if not columns:
        return False
    ids = "".join(columns[0])
    return ids.isascii() and ids.isprintable() and " " not in ids and "" not in columns[0]
