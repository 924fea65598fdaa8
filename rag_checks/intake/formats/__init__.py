"""File formats: one module each, found by being here.

A format module has::

    NAME: str                      the word for `conversations.format`
    SUFFIXES: tuple[str, ...]      lower-case file suffixes, without .gz and .zst
    def recognises(head: bytes) -> bool               whether a file that starts like this is one
    def read(stream: BinaryIO) -> Iterator[Entry]     its turns, one after the other

An entry is (1-based line or row, byte offset in the decompressed stream, turn or reason). A turn is a dict
with field names of `records.Turn` or their aliases (`names.ALIASES`). In its place may come a list of lines,
each the JSON of such an object, the first of them at the place given. A reason is a text that names what is
wrong and quotes nothing. `streams.DamagedInput` ends a file early.
"""

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from pathlib import PurePath
from typing import Any, BinaryIO, Protocol

from rag_checks.errors import SourceError

Entry = tuple[int, int, dict[str, Any] | list[bytes] | str]


class Format(Protocol):
    """What a format module offers."""

    NAME: str
    SUFFIXES: tuple[str, ...]

    def recognises(self, head: bytes) -> bool:
        """Whether a file that starts with these bytes (a few hundred) is of this format."""

    def read(self, stream: BinaryIO) -> Iterator[Entry]:
        """Turns of a stream, in order."""


@cache
def known_formats() -> dict[str, Format]:
    """All formats by name."""
    modules = [
        importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)
    ]
    return {module.NAME: module for module in modules}


def format_named(name: str) -> Format:
    """The format of that name.

    Raises:
        SourceError: there is none; the message names those there are.
    """
    formats = known_formats()
    if name not in formats:
        raise SourceError(
            f"conversations.format: unknown format {name!r}; known: auto, {', '.join(sorted(formats))}"
        )
    return formats[name]


def recognise(path: PurePath, head: bytes) -> Format | None:
    """The format of a file, by what it starts with, then by suffix; None when neither tells.

    Args:
        path: its name; .gz and .zst at the end are not looked at.
        head: its first bytes, decompressed.
    """
    formats = known_formats().values()
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in (".gz", ".zst")]
    fitting = [form for form in formats if suffixes and suffixes[-1] in form.SUFFIXES]
    recognised = [form for form in formats if form.recognises(head)]
    # Both together decide first: a CSV may start with a brace, and a .json may hold lines.
    return next(iter([form for form in fitting if form in recognised] or recognised or fitting), None)
