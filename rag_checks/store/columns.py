"""Column types: what every value goes through on its way in and out of the database."""

import re
from datetime import UTC, datetime
from typing import Any

import msgspec
from sqlalchemy import DateTime, Dialect, Text
from sqlalchemy.types import TypeDecorator, TypeEngine

from rag_checks.records import is_aware
from rag_checks.text import clean

# What JSON writers make of control characters: \u0000, \b, \f. An escaped backslash matches too: that only
# costs time.
_ESCAPED_CONTROL = re.compile(r"\\[ubf]")


def dump_json(value: Any) -> str:
    """Compact JSON text of `value`, with Chinese as it is and every string in it through `clean`.

    NaN and infinities become null: neither JSON nor the databases' JSON functions know them.

    Args:
        value: JSON values, and inside them records, times, enums and tuples.

    Raises:
        TypeError: `value` holds something that has no JSON form.
    """
    try:
        text = _encode(value)
    except UnicodeEncodeError:  # a lone surrogate
        return _encode(_cleaned(value))
    if _ESCAPED_CONTROL.search(text) or clean(text) != text:
        return _encode(_cleaned(value))
    return text


def _encode(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {_cleaned(key): _cleaned(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(item) for item in value]
    return value


class CleanText(TypeDecorator[str]):
    """Text without what PostgreSQL refuses (NUL, lone surrogates); enums are stored by value."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Clean what is stored or compared."""
        return None if value is None else clean(str(value))


class Json(TypeDecorator[Any]):
    """JSON as readable text, the same on both databases (in PostgreSQL: `column::json`); None is NULL."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's signature
        """JSON text of what is stored."""
        return None if value is None else dump_json(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:  # noqa: ARG002 - SQLAlchemy's signature
        """JSON values of what was stored."""
        return None if value is None else msgspec.json.decode(value)


class Utc(TypeDecorator[datetime]):
    """A moment: aware on both sides, UTC inside. SQLite has no zones, so UTC is written without one there."""

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """PostgreSQL keeps the zone (timestamptz)."""
        return dialect.type_descriptor(DateTime(timezone=dialect.name == "postgresql"))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """UTC of an aware time. Raises ValueError, which SQLAlchemy wraps, for a naive one."""
        if value is None:
            return None
        if not is_aware(value):
            raise ValueError(f"the time {value.isoformat()} has no zone; give one, e.g. datetime.now(UTC)")
        moment = value.astimezone(UTC)
        return moment if dialect.name == "postgresql" else moment.replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """The same moment, aware, in UTC."""
        if value is None:
            return None
        return value.astimezone(UTC) if dialect.name == "postgresql" else value.replace(tzinfo=UTC)
