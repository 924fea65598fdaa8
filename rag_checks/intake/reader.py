"""Finding the fields of a turn behind the names they go by, and counting which are there."""

import json
import re
from collections import Counter
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from rag_checks import text
from rag_checks.intake.learned import MAX_NAMES, Learned, learn
from rag_checks.intake.names import ALIASES, KNOWN_NAMES
from rag_checks.intake.row import EPOCH, MICROSECOND, BadRow, Row, cleaned
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
    renamed: bool
    unknown: tuple[str, ...]
    no_response: bool


class RowReader:
    """Reads rows and counts the fields it recognised and those it did not.

    A row is a dict or a line of JSON. Lines take a short cut: a decoder made for the names this file uses reads
    and checks them in one go; whatever it does not take is read the long way, which decides.

    Args:
        naive_zone: zone of times without one; None makes them errors. A local time that the clocks skip or
            repeat is read with fold=0: with the offset before the change.

    Attributes:
        was_cleaned: whether NUL or lone surrogates were removed from the row read last.
    """

    def __init__(self, naive_zone: ZoneInfo | None) -> None:
        self.was_cleaned = False
        self._naive_zone = naive_zone
        self._learned: Learned | None = None
        self._names: frozenset[str] = frozenset()
        self._plans: dict[tuple[str, ...], _Plan] = {}
        self._shapes: Counter[tuple[str, ...]] = Counter()
        self._shape: tuple[str, ...] | None = None  # of the row read last; None when by short cut
        self._fields: Counter[str] = Counter()
        self._unknown: Counter[str] = Counter()

    def start_file(self) -> None:
        """Forget the names of the file before."""
        self._names = frozenset()
        self._relearn(frozenset())

    def read(self, given: dict[str, Any] | bytes) -> Row:
        """Check everything there is to check about a row.

        Raises:
            BadRow: with a reason that names the field.
        """
        if type(given) is dict:
            return self._read_fields(given)
        # NUL is written as an escape in JSON; such a row takes the long way, where it is cleaned.
        if self._learned is not None and not (b"\\" in given and b"\\u0000" in given):
            try:
                row = self._learned.decode(given)
            except (msgspec.MsgspecError, RecursionError):
                pass  # the long way decides
            else:
                if row.response is not None:  # without one, it matters whether the field is there
                    self._finish(row, self._learned.keys)
                    self._shape = None
                    self.was_cleaned = False
                    return row
        fields = object_of(given)
        row = self._read_fields(fields)
        if not self._names.issuperset(fields) and len(self._names) <= MAX_NAMES:
            self._relearn(self._names.union(fields))
        return row

    def count(self, row: Row) -> None:
        """Count the fields of the row, which must be the one read last."""
        if self._shape is None and self._learned is not None:
            self._learned.count(row)
            return
        self._shapes[self._shape or ()] += 1
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

    def _read_fields(self, fields: dict[str, Any]) -> Row:
        shape = tuple([name for name, value in fields.items() if value is not None])
        plan = self._plans.get(shape) or self._new_plan(shape)
        self._shape = shape
        if plan.no_response:
            _check_no_response(fields)
        if plan.renamed:
            fields = {field: fields[name] for field, name in plan.keys.items()}
        try:
            row = msgspec.convert(fields, Row)
            self.was_cleaned = _needs_cleaning(row)
            if self.was_cleaned:
                row = msgspec.convert(cleaned(msgspec.to_builtins(row)), Row)
        except msgspec.ValidationError as error:
            raise BadRow(_in_our_words(str(error), plan.keys)) from None
        except RecursionError:
            raise BadRow("nested too deeply") from None
        self._finish(row, plan.keys)
        return row

    def _finish(self, row: Row, keys: dict[str, str]) -> None:
        turn_id = row.turn_id
        if type(turn_id) is not str or not (turn_id.isascii() and turn_id.isprintable()):
            turn_id = text.clean(str(turn_id))
        row.turn_id = turn_id = turn_id.strip()
        if not turn_id:
            raise BadRow(f"{keys['turn_id']}: empty")
        row.asked_at = self._microseconds(row.asked_at, keys)
        respell(row, keys)

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
        plan = _Plan(keys, any(k != v for k, v in keys.items()), unknown, "response" not in keys)
        if len(self._plans) >= _MAX_SHAPES:
            self._plans.clear()
        self._plans[shape] = plan
        return plan

    def _relearn(self, names: frozenset[str]) -> None:
        self._fold()
        self._names = names
        self._learned = learn(names)

    def _fold(self) -> None:
        """Turn counted shapes into counted fields."""
        if self._learned is not None:
            self._shapes.update(self._learned.take_counts())
        for shape, count in self._shapes.items():
            plan = self._plans.get(shape) or self._new_plan(shape)
            for field in plan.keys:
                self._fields[field] += count
            for name in plan.unknown:
                self._unknown[name if _NAME.fullmatch(name) else "(not a name)"] += count
        self._shapes.clear()
        if len(self._unknown) > _MAX_SHAPES:
            self._unknown = Counter(dict(self._unknown.most_common(_MAX_SHAPES // 2)))

    def _microseconds(self, value: str | float, keys: dict[str, str]) -> int:
        try:
            if type(value) is str and not _EPOCH_TEXT.fullmatch(value):
                moment = datetime.fromisoformat(value.strip())
                if moment.tzinfo is None:
                    moment = moment.replace(tzinfo=self._naive_zone)
                return (moment - EPOCH) // MICROSECOND
            seconds = float(value)
            if abs(seconds) >= _MILLISECONDS_FROM:
                seconds /= 1000
            return (EPOCH + timedelta(seconds=seconds) - EPOCH) // MICROSECOND
        except TypeError:  # naive minus aware
            raise BadRow(f"{keys['asked_at']}: no time zone; set conversations.naive_time_zone") from None
        except (ValueError, OverflowError):
            raise BadRow(f"{keys['asked_at']}: neither ISO 8601 nor seconds since 1970") from None


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


def _needs_cleaning(row: Row) -> bool:
    """Whether a text holds NUL or a lone surrogate."""
    try:
        packed = msgspec.json.encode(row)
    except UnicodeEncodeError:
        return True
    # An escaped backslash before u0000 is harmless text.
    return b"\\u0000" in packed.replace(b"\\\\", b"")


def _check_no_response(fields: dict[str, Any]) -> None:
    """A response that is null, or lost to an error, is an empty answer; one that is not there is a bad row."""
    if not fields.get("error") and not any(name in fields for name in ALIASES["response"]):
        raise BadRow(f"response: missing (other names: {', '.join(ALIASES['response'][1:])})")


def _in_our_words(message: str, keys: dict[str, str]) -> str:
    """Msgspec names types and the path, never values; the path gets the name the field has in the file."""
    path = _PATH.search(message)
    if path is None:
        return message
    field = re.match(r"\w+", path[1])
    name = path[1] if field is None else keys.get(field[0], field[0]) + path[1][field.end() :]
    return f"{name}: {message[: path.start()]}"
