"""An experiment as a table, CSV, Parquet and JUnit XML."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from rag_checks.errors import ConfigError
from rag_checks.pipeline.writing import write_whole
from rag_checks.records import GradedCase, Score, ScoreStatus
from rag_checks.text import clean

if TYPE_CHECKING:
    import pandas as pd

FIELDS = (
    "item_id",
    "user_input",
    "response",
    "reference",
    "retrieved_contexts",
    "retrieved_context_ids",
    "reference_contexts",
    "reference_context_ids",
    "intent",
    "expected_intent",
    "answerable",
    "rewritten_query",
    "release",
    "latency_ms",
    "tags",
    "error",
)
_ALWAYS = frozenset({"item_id", "user_input", "response"})
# A spreadsheet takes a cell that begins so for a formula (OWASP, CSV injection).
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def records(graded: Sequence[GradedCase], metrics: Sequence[str]) -> list[dict[str, Any]]:
    """One dict an item: fields that any item has, then a value and a status for each metric."""
    rows = [_fields(one) for one in graded]
    used = [name for name in FIELDS if name in _ALWAYS or any(row[name] not in (None, []) for row in rows)]
    return [
        {name: row[name] for name in used} | _scores(one, metrics)
        for row, one in zip(rows, graded, strict=True)
    ]


def _fields(graded: GradedCase) -> dict[str, Any]:
    known = {name: getattr(graded.case.response, name, None) for name in FIELDS}
    known |= {name: getattr(graded.case.item, name) for name in FIELDS if hasattr(graded.case.item, name)}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in known.items()}


def _scores(graded: GradedCase, metrics: Sequence[str]) -> dict[str, Any]:
    by_name = {score.metric: score for score in graded.scores}
    values = {name: by_name[name].value for name in metrics}
    return values | {f"{name}_status": by_name[name].status.value for name in metrics}


def to_pandas(graded: Sequence[GradedCase], metrics: Sequence[str]) -> "pd.DataFrame":
    """The records as a DataFrame; a missing score is NaN."""
    try:
        import pandas as pd  # noqa: PLC0415 - not part of the light install
    except ModuleNotFoundError as error:
        raise ConfigError("to_pandas needs pandas; run: pip install pandas") from error
    frame = pd.DataFrame(records(graded, metrics))
    for name in metrics:
        frame[name] = frame[name].astype("float64")
    return frame


def to_csv(path: Path, graded: Sequence[GradedCase], metrics: Sequence[str]) -> None:
    """Write the records as CSV: lists as JSON, missing scores empty, formulas made text (P6)."""
    rows = records(graded, metrics)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(_cell, rows[0]))
    writer.writerows([_cell(value) for value in row.values()] for row in rows)
    write_whole(path, out.getvalue().encode())


def _cell(value: Any) -> Any:
    if isinstance(value, list):
        value = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    return value


def to_parquet(path: Path, graded: Sequence[GradedCase], metrics: Sequence[str]) -> None:
    """Write the records as Parquet; needs pandas and pyarrow."""
    frame = to_pandas(graded, metrics)
    out = io.BytesIO()
    try:
        frame.to_parquet(out, index=False)
    except ImportError as error:
        raise ConfigError("to_parquet needs pyarrow; run: pip install pyarrow") from error
    write_whole(path, out.getvalue())


def to_junit(
    path: Path, name: str, graded: Sequence[GradedCase], metrics: Sequence[str], minimum: Mapping[str, float]
) -> None:
    """Write JUnit XML: one case an item and metric.

    Below the metric's minimum is a failure, a status that is no score an error, not applicable is skipped.
    """
    unknown = sorted(minimum.keys() - set(metrics))
    if unknown:
        raise ConfigError(f"{unknown[0]!r} was not graded; graded are {', '.join(metrics)}", key="minimum")
    root = ET.Element("testsuites", name=name)
    for metric in metrics:
        suite = ET.SubElement(root, "testsuite", name=metric)
        counts = dict.fromkeys(("failure", "error", "skipped"), 0)
        for one in graded:
            score = next(score for score in one.scores if score.metric == metric)
            case = ET.SubElement(suite, "testcase", classname=metric, name=_xml(one.case.item.item_id))
            kind, message = _judged(score, minimum.get(metric))
            if kind is not None:
                counts[kind] += 1
                ET.SubElement(case, kind, message=_xml(message))
        suite.attrib |= {"tests": str(len(graded)), "failures": str(counts["failure"])}
        suite.attrib |= {"errors": str(counts["error"]), "skipped": str(counts["skipped"])}
    write_whole(path, ET.tostring(root, encoding="utf-8", xml_declaration=True))


def _judged(score: Score, minimum: float | None) -> tuple[str | None, str]:
    if score.status is ScoreStatus.NOT_APPLICABLE:
        return "skipped", score.reason
    if score.value is None:
        return "error", f"{score.status.value}: {score.reason}"
    if minimum is not None and score.value < minimum:
        return "failure", f"{score.value:.3f} is below {minimum:g}: {score.reason}"
    return None, ""


def _xml(text: str) -> str:
    """Text without the characters that XML 1.0 cannot hold."""
    return clean(text).translate({0xFFFE: None, 0xFFFF: None})
