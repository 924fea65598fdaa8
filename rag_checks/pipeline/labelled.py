"""Files of questions with answers, as cases to grade, with the labels people gave them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rag_checks.errors import ConfigError, SourceError
from rag_checks.intake.redact import Redactor
from rag_checks.pipeline.items import read_answered
from rag_checks.records import Case, EvalItem, Response
from rag_checks.text import language_of

MAX_PROBLEMS_SHOWN = 10
_YES = frozenset({"true", "1", "1.0", "yes", "good", "correct", "pass", "是", "对", "正确", "有效回答"})
_NO = frozenset(
    {"false", "0", "0.0", "no", "bad", "incorrect", "wrong", "fail", "否", "错", "错误", "无效回答"}
)


@dataclass(frozen=True)
class Table:
    """The rows of a file: cases in the order of the file, their labels, and what could not be read."""

    cases: list[Case] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)
    labels: dict[str, bool] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    unreadable: list[int] = field(default_factory=list)


def read_table(path: Path, mapping: Mapping[str, str], label_field: str | None, limit: int | None) -> Table:
    """Read a file of questions with answers; personal data in them is masked (P7).

    Args:
        path: as in `items.read_answered`.
        mapping: our field → column of the file.
        label_field: column with people's labels.
        limit: only the first rows that can be read.

    Raises:
        ConfigError: a column that no row has, an unknown field, labels that are none.
        SourceError: no such file, or not one row could be read.
    """
    table = Table()
    redactor = Redactor()
    columns: dict[str, None] = {}
    strange: dict[str, None] = {}
    for line, row in read_answered(path, mapping):
        if limit is not None and len(table.cases) >= limit:
            break
        if isinstance(row, str):
            table.problems.append(f"{path}:{line}: {row}" if line else f"{path}: {row}")
            table.unreadable.append(line)
            continue
        item, response, raw = row
        item, response, _ = redactor.mask_case(item, response)
        columns.update(dict.fromkeys(raw))
        case = _case(item, response, line)
        table.cases.append(case)
        table.lines[case.case_id] = line
        given = None if label_field is None else raw.get(label_field)
        label = as_label(given)
        if label is not None:
            table.labels[case.case_id] = label
        elif given is not None:
            strange[str(given)[:40]] = None
            table.problems.append(f"{path}:{line}: {label_field}: {str(given)[:40]!r} is not true/false")
    if not table.cases:
        raise SourceError("\n".join([f"{path}: no row could be graded", *shortened(table.problems)]))
    _check_columns(path, columns, [("--map", name) for name in mapping.values()])
    if label_field is not None:
        _check_columns(path, columns, [("--labels", label_field)])
        if not table.labels:
            values = ", ".join(map(repr, list(strange)[:3])) or "only empty cells"
            raise ConfigError(
                f"column {label_field!r} holds no true/false label ({values}); write true/false or 1/0",
                file=str(path),
                key="--labels",
            )
    return table


def _check_columns(path: Path, columns: Collection[str], wanted: Sequence[tuple[str, str]]) -> None:
    for key, name in wanted:
        if name not in columns:
            raise ConfigError(
                f"no row has the column {name!r}; the columns are {', '.join(list(columns)[:30])}",
                file=str(path),
                key=key,
            )


def shortened(problems: Sequence[str]) -> list[str]:
    """The first problems, and how many more there are."""
    more = len(problems) - MAX_PROBLEMS_SHOWN
    return [*problems[:MAX_PROBLEMS_SHOWN], *([f"… and {more} more"] if more > 0 else [])]


def as_label(value: Any) -> bool | None:
    """A person's label as a bool; None when it is neither yes nor no."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().casefold()
    if word in _YES:
        return True
    return False if word in _NO else None


def _case(item: EvalItem, response: Response, line: int) -> Case:
    return Case(
        case_id=f"golden:{item.item_id}#{line}",
        source="golden",
        item=item,
        response=response,
        language=language_of(item.user_input),
        intent=item.expected_intent or "unknown",
    )
