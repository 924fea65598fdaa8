"""Items to grade from files people have: golden sets and tables of questions with answers."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rag_checks.errors import SourceError
from rag_checks.intake.formats import recognise
from rag_checks.intake.reader import object_of
from rag_checks.intake.row import BadRow
from rag_checks.intake.streams import DamagedInput, open_stream
from rag_checks.records import EvalItem, Response

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
_RESPONSE_FIELDS = frozenset(
    {
        "response",
        "retrieved_contexts",
        "retrieved_context_ids",
        "intent",
        "rewritten_query",
        "tool_calls",
        "release",
    }
)


def read_items(path: Path) -> list[EvalItem]:
    """The items of a golden file. Raises SourceError naming every line that is not an item."""
    items: list[EvalItem] = []
    problems: list[str] = []
    for line, row in _rows(path):
        if isinstance(row, str):
            problems.append(f"{path}:{line}: {row}")
            continue
        try:
            items.append(EvalItem.model_validate(_renamed(row, {})))
        except ValidationError as error:
            problems.append(f"{path}:{line}: {_first(error)}")
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
        path: JSONL, CSV or Parquet.
        mapping: our field → the file's column, laid over the aliases.
    """
    for line, row in _rows(path):
        if isinstance(row, str):
            yield line, row
            continue
        fields = _renamed(row, mapping)
        fields.setdefault("item_id", f"row-{line}")
        try:
            answer = Response.model_validate(
                {name: fields[name] for name in _RESPONSE_FIELDS & fields.keys()}
                | {"response": fields.get("response")}
            )
            known = EvalItem.model_fields.keys() & fields.keys()
            item = EvalItem.model_validate(
                {name: fields[name] for name in known} | {"item_id": str(fields["item_id"])}
            )
        except ValidationError as error:
            yield line, _first(error)
            continue
        if answer.response is None:
            yield line, "no answer: expected a field `response` (or `answer`); use --map response=COLUMN"
            continue
        yield line, (item, answer, row)


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Line and row, or line and what is wrong with it."""
    if not path.is_file():
        raise SourceError(f"{path}: no such file")
    with open_stream(path) as stream:
        head = stream.read(HEAD_BYTES)
    found = recognise(path, head)
    if found is None:
        raise SourceError(f"{path}: neither JSONL, CSV nor Parquet")
    try:
        with open_stream(path) as stream:
            for line, _offset, entry in found.read(stream):
                if isinstance(entry, list):
                    yield from _objects(line, entry)
                else:
                    yield line, entry
    except DamagedInput as error:
        yield 0, str(error)


def _objects(first: int, lines: list[bytes]) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """The objects of a block of JSON lines, with their line numbers."""
    for line, text in enumerate(lines, start=first):
        if not text.strip():
            continue
        try:
            yield line, object_of(text)
        except BadRow as error:
            yield line, str(error)


def _renamed(row: Mapping[str, Any], mapping: Mapping[str, str]) -> dict[str, Any]:
    fields = {ALIASES.get(name, name): value for name, value in row.items() if name not in ALIASES}
    for old, new in ALIASES.items():
        if old in row:
            fields.setdefault(new, row[old])
    for field, column in mapping.items():
        if column in row:
            fields[field] = row[column]
    return {name: value for name, value in fields.items() if value is not None}


def _first(error: ValidationError) -> str:
    problem = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in problem["loc"])
    return f"{place}: {problem['msg']}"
