"""JSON Lines: one turn a line. The lines go out as they are: the reader knows what it needs of them."""

from collections.abc import Iterator
from typing import BinaryIO

from rag_checks.intake.formats import Entry
from rag_checks.intake.streams import read_lines

NAME = "jsonl"
SUFFIXES = (".jsonl", ".ndjson")


def recognises(head: bytes) -> bool:
    """Whether the first thing in the file is an object."""
    return head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")


def read(stream: BinaryIO) -> Iterator[Entry]:
    """Turns of a stream; blank lines are left out."""
    for entry in read_lines(stream):
        line = entry[2]
        if line and not line.isspace():
            yield entry
