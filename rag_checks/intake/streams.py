"""From a path to bytes and from bytes to lines, in bounded memory, whatever is inside.

Decompression goes through decompressor objects and not through file objects: those throw away the last good
data when they meet the end of a cut file.
"""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from rag_checks.errors import SourceError, SourceUnavailable

MAX_LINE = 16 * 1024 * 1024
BLOCK = 256 * 1024
# One compressed byte can become 1,032 (gzip) or more than 30,000 (zstd): small reads bound what comes out.
_GZIP_READ = 64 * 1024
_ZSTD_READ = 1024

_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


class DamagedInput(Exception):
    """The rest of a file cannot be read; what came before is good.

    `line` (1-based, 0 for the whole file) and `offset` (bytes, decompressed) say from where on.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = 0
        self.offset = 0


@contextmanager
def open_stream(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading, decompressed when it starts like gzip or zstd; its suffix does not matter.

    Reading raises DamagedInput where the compressed data is cut, after all that came before it, or broken,
    after all but the last few hundred kB before it: with broken data nobody knows from where on.

    Raises:
        SourceError: no permission, or the library for zstd is not installed.
        SourceUnavailable: the file has vanished or the disk fails just now.
    """
    try:
        with path.open("rb", buffering=0) as file:
            magic = file.read(4)
            file.seek(0)
            if magic.startswith(_GZIP_MAGIC):
                yield cast("BinaryIO", _Decompressed(_gzip_blocks(file)))
            elif magic == _ZSTD_MAGIC:
                yield cast("BinaryIO", _Decompressed(_zstd_blocks(file)))
            else:
                yield cast("BinaryIO", file)
    except PermissionError as error:
        raise SourceError(f"{path.name}: no permission to read it; check its owner and mode") from error
    except OSError as error:
        raise SourceUnavailable(f"{path.name}: cannot be read just now ({error.strerror})") from error


class _Decompressed(io.RawIOBase):
    """Blocks as a binary stream; unbuffered, because a buffer loses what it holds when reading fails."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._rest = memoryview(block)
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


def _gzip_blocks(file: BinaryIO | io.FileIO) -> Iterator[bytes]:
    new, broken = _inflater()
    inflater = new()
    data = b""
    fresh = False  # between members: the end of the file, or padding of zeros, is fine here
    while chunk := data or file.read(_GZIP_READ):
        if fresh and not (chunk := chunk.lstrip(b"\0")):
            data = b""
            continue
        fresh = False
        try:
            block = inflater.decompress(chunk, BLOCK)
        except broken as error:
            raise DamagedInput("the gzip data is broken from here on") from error
        if block:
            yield block
        if inflater.eof:
            data, inflater, fresh = inflater.unused_data, new(), True
        else:
            data = inflater.unconsumed_tail
    if not fresh:
        raise DamagedInput("the file is cut: the gzip data ends too early")


def _inflater() -> tuple[Callable[[], Any], type[Exception]]:
    try:
        from isal import isal_zlib  # noqa: PLC0415 - 3 times as fast; only in the monitor install
    except ImportError:
        import zlib  # noqa: PLC0415 - stands in for isal

        return lambda: zlib.decompressobj(wbits=31), zlib.error
    return lambda: isal_zlib.decompressobj(wbits=31), cast("type[Exception]", isal_zlib.error)


def _zstd_blocks(file: BinaryIO | io.FileIO) -> Iterator[bytes]:
    try:
        import zstandard  # noqa: PLC0415 - only in the monitor install
    except ImportError as error:
        raise SourceError("reading .zst needs zstandard: pip install 'rag-checks[monitor]'") from error
    new = zstandard.ZstdDecompressor().decompressobj
    frame = new()
    data = b""
    fresh = False
    while chunk := data or file.read(_ZSTD_READ):
        data, fresh = b"", False
        try:
            block = frame.decompress(chunk)
        except zstandard.ZstdError as error:
            raise DamagedInput("the zstd data is broken from here on") from error
        if block:
            yield block
        if frame.eof:
            data, frame, fresh = frame.unused_data, new(), True
    if not fresh:
        raise DamagedInput("the file is cut: the zstd data ends too early")


def read_blocks(stream: BinaryIO) -> Iterator[tuple[int, int, list[bytes] | str]]:
    """Runs of whole lines of a stream as (1-based number and byte offset of the first one, the lines).

    Lines come without their newlines; a byte-order mark is removed. In place of a line longer than 16 MB
    comes a text, the reason why it is not there; it is never held in memory.

    Raises:
        DamagedInput: with the line and the offset from which on nothing can be read.
    """
    number, offset, tail, length = 1, 0, b"", 0  # of the line whose end has not been seen
    try:
        while block := stream.read(BLOCK):
            if offset == length == 0:
                offset = _mark(block)
                block = block[offset:]
            lines = block.split(b"\n")
            rest = lines.pop()
            if lines and length + len(lines[0]) > MAX_LINE:
                length += len(lines.pop(0))
                yield number, offset, _too_long(length)
                number, offset, tail, length = number + 1, offset + length + 1, b"", 0
            if lines:
                lines[0] = tail + lines[0]
                yield number, offset, lines
                number, offset = number + len(lines), offset + sum(map(len, lines)) + len(lines)
                tail, length = b"", 0
            length += len(rest)
            tail = tail + rest if length <= MAX_LINE else b""
    except DamagedInput as damage:
        damage.line, damage.offset = number, offset
        raise
    if length:
        yield number, offset, [tail] if length <= MAX_LINE else _too_long(length)


def read_lines(stream: BinaryIO) -> Iterator[tuple[int, int, bytes | str]]:
    """Like `read_blocks`, line by line."""
    for number, offset, lines in read_blocks(stream):
        if isinstance(lines, str):
            yield number, offset, lines
            continue
        start = offset
        for place, line in enumerate(lines):
            yield number + place, start, line
            start += len(line) + 1


def _mark(start: bytes) -> int:
    """Length of the byte-order mark a file starts with."""
    if start.startswith(_UTF16_BOMS):
        raise DamagedInput("encoded as UTF-16; save the file as UTF-8")
    return len(_BOM) if start.startswith(_BOM) else 0


def _too_long(length: int) -> str:
    return f"line of {length:,} bytes; lines may be at most {MAX_LINE:,}"
