"""JSON Lines: one turn a line. They go out undecoded: the reader decodes many of them at once."""

from collections.abc import Iterator
from typing import BinaryIO

from rag_checks.intake.formats import Entry
from rag_checks.intake.streams import read_blocks

NAME = "jsonl"
SUFFIXES = (".jsonl", ".ndjson")


def recognises(head: bytes) -> bool:
    """Whether the first thing in the file is an object."""
    return head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")


def read(stream: BinaryIO) -> Iterator[Entry]:
    """Turns of a stream, many lines at a time."""
    return read_blocks(stream)
