"""CSV with a header line: one turn a record; lists are JSON texts, empty cells are not recorded."""

import csv
from collections import deque
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from rag_checks.intake.formats import Entry
from rag_checks.intake.names import KNOWN_NAMES
from rag_checks.intake.streams import MAX_LINE, read_lines

NAME = "csv"
SUFFIXES = (".csv",)


class _Line(NamedTuple):
    number: int
    offset: int
    text: str
    wrong: str | None = None


class _Record(NamedTuple):
    line: int
    offset: int
    cells: list[str]
    wrong: str | None = None


def recognises(head: bytes) -> bool:
    """Whether the first line is a header with at least one field of a turn."""
    first = head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0].decode("utf-8", "replace")
    return "," in first and any(name.strip(' "\r') in KNOWN_NAMES for name in first.split(","))


def read(stream: BinaryIO) -> Iterator[Entry]:
    """Turns of a stream. A broken record costs its first line only: reading goes on with the next one."""
    header: list[str] | None = None
    for record in _Records(stream):
        if record.wrong is not None:
            yield record.line, record.offset, record.wrong
        elif header is None:
            header = [name.strip() for name in record.cells]
        elif len(record.cells) != len(header):
            reason = f"{len(record.cells)} columns where the header has {len(header)}"
            yield record.line, record.offset, reason
        else:
            cells = zip(header, record.cells, strict=True)
            yield record.line, record.offset, {name: cell for name, cell in cells if cell}


class _Records:
    """CSV records of a stream with the place each starts at."""

    def __init__(self, stream: BinaryIO) -> None:
        # The limit belongs to the process; ours only ever raises it.
        csv.field_size_limit(max(MAX_LINE, csv.field_size_limit()))
        self._lines = (_decoded(*line) for line in read_lines(stream))
        self._again: deque[_Line] = deque()
        self._taken: list[_Line] = []  # lines of the record being read

    def __iter__(self) -> Iterator[_Record]:
        width = 0
        reader = csv.reader(self._feed(), strict=True)
        while True:
            self._taken.clear()
            error = None
            try:
                cells = next(reader)
                if width and len(self._taken) > 1 and len(cells) != width:
                    error = "a quote is not closed"
            except StopIteration:
                return
            except csv.Error as broken:
                error = str(broken)
            first = self._taken[0]
            if error is not None:
                yield _Record(first.number, first.offset, [], first.wrong or f"not CSV: {error}")
                self._again.extendleft(reversed(self._taken[1:]))
                reader = csv.reader(self._feed(), strict=True)
                continue
            wrong = next((line.wrong for line in self._taken if line.wrong), None)
            if cells or wrong:
                width = width or len(cells)
                yield _Record(first.number, first.offset, cells, wrong)

    def _feed(self) -> Iterator[str]:
        size = 0
        while True:
            line = self._again.popleft() if self._again else next(self._lines, None)
            if line is None:
                return
            size = len(line.text) + (size if self._taken else 0)
            self._taken.append(line)
            if size > MAX_LINE:
                raise csv.Error(f"a record is longer than {MAX_LINE:,} characters")
            yield line.text + "\n"


def _decoded(number: int, offset: int, line: bytes | str) -> _Line:
    if isinstance(line, str):
        return _Line(number, offset, "", line)
    try:
        return _Line(number, offset, line.decode("utf-8"))
    except UnicodeDecodeError as error:
        wrong = f"not UTF-8 at byte {error.start + 1} of the line; save the file as UTF-8"
        return _Line(number, offset, line.decode("utf-8", "replace"), wrong)
