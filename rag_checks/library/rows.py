"""What people hand over as data – lists, tables, files – as cases to grade."""

import difflib
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from rag_checks.errors import ConfigError, SourceError
from rag_checks.intake.redact import Redactor
from rag_checks.pipeline.items import ALIASES, FIELDS, check_mapping, read_row, rows_of
from rag_checks.pipeline.labelled import shortened
from rag_checks.records import Case, EvalItem, Response
from rag_checks.text import language_of

# A name this close to one of ours is a typo sooner than a column of its own.
_LIKE = 0.84


@dataclass(frozen=True)
class Row:
    """One row: how messages call it, the item as given, what is graded of it (masked)."""

    place: str
    original: EvalItem
    case: Case


def read_data(data: Any, mapping: Mapping[str, str], *, live: bool) -> list[Row]:
    """Rows of anything that holds rows, personal data masked (P7).

    Args:
        data: list of dicts, EvalItems, pydantic models or (when asked live) questions; a dict of columns; a
            DataFrame (pandas, polars) or a dataset with `to_list()`; the path of a file.
        mapping: our field → column of the data.
        live: answers will be asked for; those in the data are not read.

    Raises:
        ConfigError: no rows, an unknown field in the mapping, a column that no row has, an id given twice.
        SourceError: rows that cannot be read, all of them named, with field and fix.
    """
    check_mapping(mapping, key="mapping")
    redactor = Redactor()
    rows: list[Row] = []
    problems: list[str] = []
    columns: dict[str, str] = {}
    for place, given in _places(data):
        try:
            item, response = _read(given, mapping, live=live)
        except ValueError as error:
            problems.append(f"{place}: {error}{_nearest(given, str(error))}")
            continue
        if isinstance(given, Mapping):
            for name in given:
                columns.setdefault(str(name), place)
        rows.append(_row(place, item, response, redactor, live=live))
    if problems:
        raise SourceError("\n".join(shortened(problems)))
    if not rows:
        raise ConfigError("holds no rows; give at least one question", key="data")
    if columns:
        _check_columns(columns, mapping)
    return _numbered(rows)


def _read(given: Any, mapping: Mapping[str, str], *, live: bool) -> tuple[EvalItem, Response | None]:
    if isinstance(given, EvalItem):
        if not live:
            raise ValueError("an EvalItem holds no answer; pass target=, or rows with a response")
        return given, None
    if isinstance(given, str) and live:
        given = {"user_input": given}
    if not isinstance(given, Mapping):
        hint = "pass target= to have questions answered, or write" if isinstance(given, str) else "write"
        raise ValueError(f"a {type(given).__name__}, not a dict; {hint} {{'user_input': …, 'response': …}}")  # noqa: TRY004 - told with the row
    if live:
        answers = {"response", *(old for old, new in ALIASES.items() if new == "response")}
        given = {name: value for name, value in given.items() if name not in answers}
    item, response = read_row(given, mapping, answered=not live)
    return item, None if live else response


def _row(place: str, item: EvalItem, response: Response | None, redactor: Redactor, *, live: bool) -> Row:
    if live or response is None:
        masked, _ = redactor.mask_item(item)
    else:
        masked, response, _ = redactor.mask_case(item, response)
    case = Case(
        case_id=f"golden:{item.item_id}",
        source="golden",
        item=masked,
        response=response,
        language=language_of(item.user_input),
        intent=item.expected_intent or "unknown",
    )
    return Row(place, item, case)


def _numbered(rows: Sequence[Row]) -> list[Row]:
    """Rows with unique ids: those people gave must be, ours for equal questions get a number."""
    by_id: dict[str, list[Row]] = {}
    for row in rows:
        by_id.setdefault(row.original.item_id, []).append(row)
    twice = [
        f"item_id: {', '.join(row.place for row in same)} share one id; make ids unique, or leave them out"
        for item_id, same in by_id.items()
        if len(same) > 1 and not item_id.startswith("q-")
    ]
    if twice:
        raise ConfigError("\n".join(shortened(twice)), key="data")
    seen: dict[str, int] = {}
    numbered = []
    for row in rows:
        item_id = row.original.item_id
        seen[item_id] = seen.get(item_id, 0) + 1
        numbered.append(row if seen[item_id] == 1 else _renamed(row, f"{item_id}-{seen[item_id]}"))
    return numbered


def _renamed(row: Row, item_id: str) -> Row:
    original = row.original.model_copy(update={"item_id": item_id})
    masked = row.case.item.model_copy(update={"item_id": item_id})
    case = row.case.model_copy(update={"item": masked, "case_id": f"golden:{item_id}"})
    return Row(row.place, original, case)


# Finding the rows


def _places(data: Any) -> Iterator[tuple[str, Any]]:
    """Each row and how to call it. Raises SourceError for what holds none."""
    if isinstance(data, str | PathLike):
        path = Path(data)
        if not path.exists():
            raise SourceError(
                f"{path}: no such file; a text is the path of a file, a question goes into a list"
            )
        for line, row in rows_of(path):
            place = f"{path}:{line}" if line else str(path)
            if isinstance(row, str):
                raise SourceError(f"{place}: {row}")
            yield place, row
        return
    for number, row in enumerate(_elements(data), start=1):
        yield f"row {number}", _plain(row)


def _elements(data: Any) -> Iterable[Any]:
    if hasattr(data, "columns") and hasattr(data, "to_dict"):
        rows: Iterable[Any] = data.to_dict("records") if hasattr(data, "iloc") else data.to_dicts()
        return rows
    if isinstance(data, Mapping):
        return _transposed(data)
    if hasattr(data, "to_list") and not isinstance(data, list):
        listed: Iterable[Any] = data.to_list()
        return listed
    if isinstance(data, Iterable) and not isinstance(data, bytes):
        return data
    raise ConfigError(
        f"a {type(data).__name__} holds no rows; give a list of dicts, a DataFrame or the path of a file",
        key="data",
    )


def _transposed(data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Rows of a dict of columns, which older tutorials write; a single row is told from it."""
    columns = {name: list(column) for name, column in data.items() if not isinstance(column, str)}
    if len(columns) < len(data):
        raise ConfigError("is a single row; put it into a list: [{…}]", key="data")
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ConfigError(f"columns of different lengths: {lengths}", key="data")
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def _plain(value: Any) -> Any:
    """Values as JSON has them: arrays and tuples are lists, NaN and NA are None, numpy's numbers Python's."""
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(inner) for inner in value]
    if type(value).__name__ in {"NAType", "NaTType"} or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, EvalItem):
        return value
    for method in ("model_dump", "tolist"):
        if hasattr(value, method):
            return _plain(getattr(value, method)())
    return value


# Hints


def _nearest(given: Any, message: str) -> str:
    """The column that a missing field may be misspelt as."""
    name, _, rest = message.partition(": ")
    if not rest.startswith("missing") or not isinstance(given, Mapping):
        return ""
    wanted = [name, *(old for old, new in ALIASES.items() if new == name)]
    if any(one in given for one in wanted):
        return f"; it is empty: every row needs a {name}"
    near = next(
        (found for one in wanted if (found := difflib.get_close_matches(one, map(str, given), 1, 0.75))), None
    )
    columns = ", ".join(map(str, given)) or "none"
    return f"; is it {near[0]!r}?" if near else f"; the row has {columns}"


def _check_columns(columns: Mapping[str, str], mapping: Mapping[str, str]) -> None:
    """Refuse mapped columns that nobody has; warn of columns that look like a misspelt field."""
    for field, column in mapping.items():
        if column not in columns:
            raise ConfigError(
                f"no row has the column {column!r}; the columns are {', '.join(list(columns)[:30])}",
                key=f"mapping[{field!r}]",
            )
    named = {ALIASES.get(name, name) for name in columns} | set(mapping)
    for name, place in columns.items():
        if name in FIELDS or name in ALIASES or name in mapping.values():
            continue
        near = difflib.get_close_matches(name, [*FIELDS, *ALIASES], n=1, cutoff=_LIKE)
        if near and ALIASES.get(near[0], near[0]) not in named:
            warnings.warn(
                f"{place}: {name!r} is no field and is not read; did you mean {near[0]!r}? Rename it, or pass"
                f" mapping={{{ALIASES.get(near[0], near[0])!r}: {name!r}}}",
                stacklevel=2,
            )
