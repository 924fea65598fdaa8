"""Parquet: one turn a row. Rows are numbered from 1; they have no byte offset, so it is 0."""

import shutil
import tempfile
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any, BinaryIO

from rag_checks.errors import SourceError
from rag_checks.intake.formats import Entry
from rag_checks.intake.streams import DamagedInput

NAME = "parquet"
SUFFIXES = (".parquet", ".pq")
_BATCH = 1024


def recognises(head: bytes) -> bool:
    """Whether the file starts with Parquet's magic."""
    return head.startswith(b"PAR1")


def read(stream: BinaryIO) -> Iterator[Entry]:
    """Turns of a stream. Compressed files are unpacked to a temporary file: Parquet is read from its end."""
    try:
        import pyarrow as pa  # noqa: PLC0415 - heavy, and only in the monitor install
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError as error:
        raise SourceError("reading Parquet needs pyarrow: pip install 'rag-checks[monitor]'") from error
    with tempfile.TemporaryFile() as unpacked:
        if not stream.seekable():
            shutil.copyfileobj(stream, unpacked)
            stream = unpacked
        number = 0
        try:
            file = pq.ParquetFile(stream)
            schema = pa.schema([_readable(field, pa) for field in file.schema_arrow])
            for batch in file.iter_batches(batch_size=_BATCH):
                for row in pa.Table.from_batches([batch]).cast(schema, safe=False).to_pylist():
                    number += 1
                    yield number, 0, {name: _plain(value) for name, value in row.items()}
        except (pa.ArrowException, OSError) as error:
            damage = DamagedInput(f"not readable as Parquet ({type(error).__name__})")
            damage.line = number
            raise damage from error


def _readable(field: Any, pa: Any) -> Any:
    """The field, with nanoseconds cut to microseconds: Python's own times have no more."""
    if pa.types.is_timestamp(field.type) and field.type.unit == "ns":
        return field.with_type(pa.timestamp("us", field.type.tz))
    return field


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, (datetime, date)) else value
