"""Items to grade from files people have: golden sets and tables of questions with answers."""

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from pydantic import ValidationError

from rag_checks.errors import ConfigError, SourceError
from rag_checks.intake.formats import recognise
from rag_checks.intake.reader import RowReader, object_of
from rag_checks.intake.row import BadRow, pack, turn_of
from rag_checks.intake.streams import DamagedInput, open_stream
from rag_checks.records import EvalItem, Response, content_hash
from rag_checks.text import clean

# The names older tools use, for fields an item or its response has.
ALIASES = {
    "question": "user_input",
    "query": "user_input",
    "input": "user_input",
    "answer": "response",
    "actual_output": "response",
    "output": "response",
    "ground_truth": "reference",
    "expected_output": "reference",
    "contexts": "retrieved_contexts",
    "retrieval_context": "retrieved_contexts",
    "context": "reference_contexts",
    "id": "item_id",
}
HEAD_BYTES = 4096
# What the bot said and what it was asked: spelled in as many ways as in logs, so read by the logs' reader.
_LOGGED = (
    "user_input",
    "response",
    "retrieved_contexts",
    "retrieved_context_ids",
    "history",
    "intent",
    "rewritten_query",
    "tool_calls",
    "release",
    "tags",
)
_GOLD = ("reference", "reference_contexts", "reference_context_ids", "expected_intent", "answerable")
_LISTS = frozenset(
    {"retrieved_contexts", "retrieved_context_ids", "reference_contexts", "reference_context_ids"}
)
FIELDS = ("item_id", *_LOGGED, *_GOLD)


def read_items(path: Path) -> list[EvalItem]:
    """The items of a golden file. Raises SourceError naming every line that is not an item."""
    items: list[EvalItem] = []
    problems: list[str] = []
    for line, row in rows_of(path):
        if isinstance(row, str):
            problems.append(f"{path}:{line}: {row}")
            continue
        try:
            fields = {name: value for name, value in _renamed(row, {}).items() if value is not None}
            items.append(EvalItem.model_validate(fields))
        except ValidationError as error:
            problems.append(f"{path}:{line}: {_no_item(error)}")
        except BadRow as error:
            problems.append(f"{path}:{line}: {error}")
    seen: set[str] = set()
    for item in items:
        if item.item_id in seen:
            problems.append(f"{path}: item_id {item.item_id!r} is given twice; ids must be unique")
        seen.add(item.item_id)
    if problems:
        raise SourceError("\n".join(problems))
    return items


def read_answered(
    path: Path, mapping: Mapping[str, str]
) -> Iterator[tuple[int, tuple[EvalItem, Response, dict[str, Any]] | str]]:
    """Rows of questions with answers: (line, (item, response, the row)) or (line, what is wrong).

    Args:
        path: JSONL, a JSON array, CSV or Parquet; of an array, line is the element's number from 1.
        mapping: our field → the file's column, laid over the aliases; a column named here is read as nothing
            else.

    Raises:
        ConfigError: a field of the mapping is none of ours.
        SourceError: no such file, or none of these formats.
    """
    check_mapping(mapping, key="--map")
    reader = RowReader(None)
    for line, row in rows_of(path):
        if isinstance(row, str):
            yield line, row
            continue
        try:
            fields = _renamed(row, mapping)
            _require(fields, ("user_input", "response"), "--map {}=COLUMN names another")
            item, answer = _case_of(fields, f"row-{line}", reader)
        except ValidationError as error:
            yield line, _first(error)
        except BadRow as error:
            yield line, str(error)
        else:
            yield line, (item, answer, row)


def read_row(
    row: Mapping[str, Any], mapping: Mapping[str, str], *, answered: bool
) -> tuple[EvalItem, Response]:
    """One row that a program holds, as `read_answered` reads one of a file.

    Args:
        row: JSON-like values under our names or older tools' names.
        mapping: our field → the row's, already checked.
        answered: whether the row must hold an answer; without one the response says there is none.

    Returns:
        The item, its `item_id` a hash of question and history where the row names none, and the response.

    Raises:
        ValueError: what is wrong with the row: the field and the fix, without quoting the row.
    """
    fields = _renamed(row, mapping)
    needed = ("user_input", "response") if answered else ("user_input",)
    _require(fields, needed, "mapping={{'{}': …}} names another")
    own = content_hash([fields["user_input"], fields.get("history")])[:10]
    try:
        return _case_of({"response": None} | fields, f"q-{own}", RowReader(None))
    except ValidationError as error:
        raise BadRow(_first(error)) from error


def _require(fields: Mapping[str, Any], names: Iterable[str], hint: str) -> None:
    for name in names:
        if name not in fields:
            others = ", ".join(old for old, new in ALIASES.items() if new == name)
            raise BadRow(f"{name}: missing (other names: {others}); {hint.format(name)}")


def _case_of(fields: dict[str, Any], own_id: str, reader: RowReader) -> tuple[EvalItem, Response]:
    item_id = clean(str(fields.get("item_id", ""))).strip() or own_id
    logged = {name: fields[name] for name in _LOGGED if name in fields}
    row, _, _ = reader.read(
        {**logged, "response": fields["response"] or "", "turn_id": item_id, "asked_at": 0}
    )
    turn, _ = turn_of(pack(row))
    item = EvalItem(
        item_id=item_id,
        user_input=turn.user_input,
        history=turn.history,
        tags=turn.tags,
        **{name: fields[name] for name in _GOLD if name in fields},
    )
    no_answer = fields["response"] is None
    answer = Response(
        response=None if no_answer else turn.response,
        retrieved_contexts=turn.retrieved_contexts,
        retrieved_context_ids=turn.retrieved_context_ids,
        intent=turn.intent,
        rewritten_query=turn.rewritten_query,
        tool_calls=turn.tool_calls,
        release=turn.release,
        error="the row holds no answer" if no_answer else None,
        error_kind="no_answer" if no_answer else None,
    )
    return item, answer


def check_mapping(mapping: Mapping[str, str], *, key: str) -> None:
    """Raise ConfigError, naming `key`, for a field that is none of ours."""
    for field in mapping:
        if field not in FIELDS:
            near = difflib.get_close_matches(field, FIELDS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(FIELDS)}"
            raise ConfigError(f"unknown field {field!r}; {hint}", key=key)


def rows_of(path: Path) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Line and row of a file in any format, or line and what is wrong with it. Raises SourceError."""
    if not path.is_file():
        raise SourceError(f"{path}: " + ("a folder; name a file" if path.is_dir() else "no such file"))
    with open_stream(path) as stream:
        head = stream.read(HEAD_BYTES)
    if not head:
        raise SourceError(f"{path}: the file is empty")
    found = recognise(path, head)
    if found is None:
        if head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"["):
            yield from _elements(path)
            return
        raise SourceError(f"{path}: neither JSON Lines, a JSON array, CSV with a header nor Parquet")
    try:
        with open_stream(path) as stream:
            for line, _offset, entry in found.read(stream):
                if isinstance(entry, list):
                    yield from _objects(line, entry)
                else:
                    yield line, entry
    except DamagedInput as error:
        yield error.line, error.reason


def _objects(first: int, lines: list[bytes]) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """The objects of a block of JSON lines, with their line numbers."""
    for line, text in enumerate(lines, start=first):
        if not text.strip():
            continue
        try:
            yield line, object_of(text)
        except BadRow as error:
            yield line, str(error)


def _elements(path: Path) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """The objects of a JSON array, with their numbers from 1."""
    try:
        with open_stream(path) as stream:
            elements = json.loads(stream.read().decode("utf-8-sig"), parse_constant=lambda _: None)
    except DamagedInput as error:
        raise SourceError(f"{path}: {error.reason}") from error
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}: not UTF-8 at byte {error.start + 1}; save the file as UTF-8") from error
    except json.JSONDecodeError as error:
        raise SourceError(f"{path}:{error.lineno}: not JSON: {error.msg} at column {error.colno}") from error
    except (RecursionError, ValueError) as error:
        raise SourceError(f"{path}: not JSON: nested too deeply, or a number is too long") from error
    for number, element in enumerate(elements, start=1):
        yield number, element if isinstance(element, dict) else "not a JSON object"


def _renamed(row: Mapping[str, Any], mapping: Mapping[str, str]) -> dict[str, Any]:
    """The row under our names: mapped columns first, then our own names, then the aliases in their order.

    What is null is not recorded, but for the answer: a row that has the column and no answer in it is one
    the bot did not answer.
    """
    taken = set(mapping.values())
    names = [(column, field) for field, column in mapping.items()]
    names += [(name, name) for name in row if name not in ALIASES and name not in taken]
    names += [(old, new) for old, new in ALIASES.items() if old not in taken]
    fields: dict[str, Any] = {}
    for name, field in names:
        value = row.get(name)
        if value is not None and fields.get(field) is None and not _is_no_list(field, value):
            fields[field] = _spelled(field, value)
        elif field == "response" and name in row:
            fields.setdefault(field, None)
    return fields


def _is_no_list(name: str, value: Any) -> bool:
    """Whether a field of lists holds a blank text: that says nothing, where an empty list says none."""
    return name in _LISTS and isinstance(value, str) and not value.strip()


def _spelled(name: str, value: Any) -> Any:
    """A value as its field wants it: numbers as text, a single passage as a list, lists out of JSON."""
    if isinstance(value, str):
        value = clean(value)
    if name in _LISTS:
        return _list(name, value)
    if name in FIELDS and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return value


def _list(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        if name.startswith("reference") and isinstance(value, list):
            return [clean(str(one)) if isinstance(one, str | int) else one for one in value]
        return value
    if not value.lstrip().startswith("[") or not value.rstrip().endswith("]"):
        return [value]
    try:
        return msgspec.json.decode(value, type=list[Any])
    except (msgspec.MsgspecError, RecursionError):
        raise BadRow(
            f'{name}: looks like a list, but is not a JSON list of texts such as ["a", "b"]'
        ) from None


def _no_item(error: ValidationError) -> str:
    """What keeps a row from being a golden item, and the fix."""
    problem = error.errors(include_url=False)[0]
    name = str(problem["loc"][0])
    if problem["type"] == "missing":
        others = ", ".join(old for old, new in ALIASES.items() if new == name)
        return f"{name}: missing (other names: {others})"
    if problem["type"] != "extra_forbidden":
        return _first(error)
    if name in _LOGGED:
        return f"{name}: is what a bot said, no part of a golden item; leave it out, or call it reference"
    known = [*EvalItem.model_fields, *ALIASES]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(EvalItem.model_fields)}"
    return f"{name}: unknown field; {hint}"


def _first(error: ValidationError) -> str:
    problem = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in problem["loc"])
    return f"{place}: {problem['msg']}"
