"""Finding the fields of a turn behind the names they go by, and counting which are there."""

import json
import re
from collections import Counter
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from rag_checks import text
from rag_checks.intake.learned import MAX_NAMES, Batch, Learned, learn
from rag_checks.intake.names import ALIASES, KNOWN_NAMES
from rag_checks.intake.row import EPOCH, MICROSECOND, BadRow, Row, content_number
from rag_checks.intake.spelling import respell

_REQUIRED = ("turn_id", "asked_at", "user_input")
_EPOCH_TEXT = re.compile(r"-?\d{9,13}(\.\d+)?")
# 1e11 seconds is the year 5138, 1e11 milliseconds is 1973.
_MILLISECONDS_FROM = 1e11
_MAX_SHAPES = 4096
_NAME = re.compile(r"[A-Za-z_][\w.\-]{0,63}", re.ASCII)
_PATH = re.compile(r" - at `\$\.?([^`]*)`")
_KINDS = {list: "a list", str: "a text", bool: "a boolean", int: "a number", float: "a number"}

_decode = msgspec.json.Decoder().decode


class _Plan(NamedTuple):
    """What one set of field names means."""

    keys: dict[str, str]  # field -> name in the row
    unknown: tuple[str, ...]
    no_response: bool


class RowReader:
    """Reads rows and counts the fields it recognised and those it did not.

    Args:
        naive_zone: zone of times without one; None makes them errors. A local time that the clocks skip or
            repeat is read with fold=0: with the offset before the change.
    """

    def __init__(self, naive_zone: ZoneInfo | None) -> None:
        self._naive_zone = naive_zone
        self._learned: Learned | None = None
        self._names: frozenset[str] = frozenset()  # of the rows of this file
        self._plans: dict[tuple[str, ...], _Plan] = {}
        self._shapes: Counter[tuple[str, ...]] = Counter()
        self._shape: tuple[str, ...] = ()  # names with a value in the row read last
        self._fields: Counter[str] = Counter()
        self._unknown: Counter[str] = Counter()

    def start_file(self) -> None:
        """Forget the names of the file before."""
        self._names = frozenset()
        self._learned = None

    def read_batch(self, lines: list[bytes]) -> tuple[Batch, list[datetime]] | None:
        """Rows of many lines with their times, by the short way; None when they have to be read one by one.

        The rows are checked but not respelled yet: `finish` does it.
        """
        batch = self._learned and self._learned.read(lines)
        if not batch:
            return None
        written = batch.column("asked_at")
        try:
            moments = list(map(datetime.fromisoformat, written))
            if not all(moment.tzinfo for moment in moments):
                moments = list(map(self._moment, written))
        except (TypeError, ValueError):
            try:
                moments = list(map(self._moment, written))
            except (BadRow, ValueError, OverflowError):
                return None
        return batch, moments

    def count_batch(self, batch: Batch) -> None:
        """Count the fields of rows of the batch read last."""
        if self._learned is None or not batch.rows:
            return
        names = [*Row.__struct_fields__, *map(_shown, self._learned.unknown)]
        for place, (name, column) in enumerate(zip(names, batch.columns, strict=True)):
            if found := len(column) - column.count(None):
                counter = self._fields if place < len(Row.__struct_fields__) else self._unknown
                counter[name] += found

    def finish(self, row: Row, moment: datetime) -> Row:
        """Bring a row of the batch read last into one spelling."""
        return _finish(row, moment, {} if self._learned is None else self._learned.keys)

    def read(self, given: dict[str, Any] | bytes) -> tuple[Row, int, datetime]:
        """A row from its fields or a line of JSON, in one spelling, with `content_number` and time.

        Raises:
            BadRow: with a reason that names the field.
        """
        fields = given if isinstance(given, dict) else object_of(given)
        self._shape = tuple([name for name, value in fields.items() if value is not None])
        plan = self._plans.get(self._shape) or self._new_plan(self._shape)
        if plan.no_response:
            _check_no_response(fields)
        known = {field: fields[name] for field, name in plan.keys.items()}
        try:
            row = msgspec.convert(known, Row)
        except msgspec.ValidationError as error:
            raise BadRow(_in_our_words(str(error), plan.keys)) from None
        content = content_number(row)
        try:
            moment = self._moment(row.asked_at)
        except (ValueError, OverflowError) as error:
            reason = str(error) if isinstance(error, BadRow) else "neither ISO 8601 nor seconds since 1970"
            raise BadRow(f"{plan.keys['asked_at']}: {reason}") from None
        row = _finish(row, moment, plan.keys)
        if type(given) is not dict and not self._names.issuperset(fields) and len(self._names) <= MAX_NAMES:
            self._names = self._names.union(fields)
            self._learned = learn(self._names)
        return row, content, moment

    def count(self) -> None:
        """Count the fields of the row read last by `read`."""
        self._shapes[self._shape] += 1
        if len(self._shapes) > _MAX_SHAPES:
            self._fold()

    def fields(self) -> dict[str, int]:
        """How often each field of a turn had a value in the counted rows; all fields are there."""
        self._fold()
        return {field: self._fields[field] for field in ALIASES}

    def unknown(self) -> dict[str, int]:
        """The same for names that mean nothing here, most frequent first, at most 50."""
        self._fold()
        return dict(self._unknown.most_common(50))

    def _new_plan(self, shape: tuple[str, ...]) -> _Plan:
        present = set(shape)
        keys = {
            field: name
            for field, names in ALIASES.items()
            if (name := next((name for name in names if name in present), None)) is not None
        }
        for field in _REQUIRED:
            if field not in keys:
                raise BadRow(f"{field}: missing (other names: {', '.join(ALIASES[field][1:])})")
        unknown = tuple(name for name in shape if name not in KNOWN_NAMES)
        plan = _Plan(keys, unknown, "response" not in keys)
        if len(self._plans) >= _MAX_SHAPES:
            self._plans.clear()
        self._plans[shape] = plan
        return plan

    def _fold(self) -> None:
        """Turn counted shapes into counted fields."""
        for shape, count in self._shapes.items():
            plan = self._plans.get(shape) or self._new_plan(shape)
            for field in plan.keys:
                self._fields[field] += count
            for name in plan.unknown:
                self._unknown[_shown(name)] += count
        self._shapes.clear()
        if len(self._unknown) > _MAX_SHAPES:
            self._unknown = Counter(dict(self._unknown.most_common(_MAX_SHAPES // 2)))

    def _moment(self, value: str | float) -> datetime:
        """The time, aware. Raises ValueError or OverflowError, or BadRow for a time without a zone."""
        if isinstance(value, str):
            value = value.strip()
            try:
                moment = datetime.fromisoformat(value)
            except ValueError:
                if not _EPOCH_TEXT.fullmatch(value):
                    raise
            else:
                if moment.tzinfo is None and self._naive_zone is None:
                    raise BadRow("no time zone; set conversations.naive_time_zone")
                return moment if moment.tzinfo else moment.replace(tzinfo=self._naive_zone)
        seconds = float(value)
        if abs(seconds) >= _MILLISECONDS_FROM:
            seconds /= 1000
        return EPOCH + timedelta(seconds=seconds)


def _finish(row: Row, moment: datetime, keys: dict[str, str]) -> Row:
    row.turn_id = text.clean(str(row.turn_id)).strip()
    if not row.turn_id:
        raise BadRow(f"{keys['turn_id']}: empty")
    row.asked_at = (moment - EPOCH) // MICROSECOND
    respell(row, keys)
    return row


def _shown(name: str) -> str:
    return name if _NAME.fullmatch(name) else "(not a name)"


def object_of(line: bytes) -> dict[str, Any]:
    """The object in a line of JSON.

    What strict JSON refuses, the standard library may read: lone surrogates (cleaned later), and NaN and
    Infinity, which Python programs write and which count as not recorded.
    """
    try:
        value = _decode(line)
    except (msgspec.MsgspecError, RecursionError):
        try:
            value = json.loads(line.decode("utf-8"), parse_constant=lambda _: None)
        except UnicodeDecodeError as error:
            raise BadRow(f"not UTF-8 at byte {error.start + 1} of the line") from None
        except json.JSONDecodeError as error:
            raise BadRow(f"not JSON: {error.msg} at column {error.colno}") from None
        except RecursionError:
            raise BadRow("not JSON: nested too deeply") from None
        except ValueError:  # an integer of more than 4,300 digits
            raise BadRow("not JSON: a number is too long") from None
    if type(value) is not dict:
        raise BadRow(f"not a JSON object but {_KINDS.get(type(value), 'null')}")
    return value


def _check_no_response(fields: dict[str, Any]) -> None:
    """A response that is null, or lost to an error, is an empty answer; without one a row is bad."""
    if not fields.get("error") and not any(name in fields for name in ALIASES["response"]):
        raise BadRow(f"response: missing (other names: {', '.join(ALIASES['response'][1:])})")


def _in_our_words(message: str, keys: dict[str, str]) -> str:
    """Msgspec names types and the path, never values; the path gets the name the field has in the file."""
    path = _PATH.search(message)
    if path is None:
        return "of the wrong type"
    field = re.match(r"\w+", path[1])
    name = path[1] if field is None else keys.get(field[0], field[0]) + path[1][field.end() :]
    what = message[: path.start()]
    # The one message that quotes its input is about a text that is none of a set.
    return f"{name}: not one of those known" if "enum" in what else f"{name}: {what}"
