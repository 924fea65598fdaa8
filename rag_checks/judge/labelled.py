"""Sets of answers that people labelled, and how any judge, and plain string matching, agree with them."""

import asyncio
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rag_checks import text as texts
from rag_checks.errors import SourceError
from rag_checks.judge.agreement import agreement
from rag_checks.judge.offline_features import aliases, contains
from rag_checks.judge.offline_text import analyse
from rag_checks.metrics import get
from rag_checks.metrics.grading import grade_case
from rag_checks.protocols import Judge
from rag_checks.records import Case, EvalItem, Response

SHORT = 6
"""An answer up to so many tokens is short: a name, a number, a date."""

Row = dict[str, Any]
Methods = dict[str, list[float | None]]
Line = dict[str, Any]


def read_rows(path: Path) -> list[Row]:
    """Rows of a labelled JSONL file with `label` as bool and `reference` filled from `gold`.

    A row has question, answer, label (true/false or "good"/"bad") and reference, gold or context; with a
    context it says whether the answer is faithful to it.

    Raises:
        SourceError: no such file, no rows, or a line is no JSON object or lacks question, answer or label.
    """
    if not path.is_file():
        raise SourceError(f"{path}: no such file; give a JSONL file with question, gold, answer and label")
    rows = []
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            label = {"good": True, "bad": False}.get(row["label"], row["label"])
            rows.append(
                row | {"label": bool(label), "reference": row.get("reference") or row.get("gold", "")}
            )
            row["question"], row["answer"]
        except (ValueError, KeyError, TypeError) as error:
            raise SourceError(f"{path}:{number}: needs question, answer and label ({error!r})") from error
    if not rows:
        raise SourceError(f"{path}: no rows; give a JSONL file with question, gold, answer and label")
    return rows


def gold_string(row: Row) -> float:
    """1 when an accepted form of the reference stands word for word in the answer, else 0."""
    return float(any(contains(analyse(row["answer"]), analyse(form)) for form in aliases(row["reference"])))


def token_recall(row: Row) -> float:
    """Share of the content words and numbers of the closest form of the reference that the answer has."""
    return max(_share_in(form, row["answer"]) for form in aliases(row["reference"]))


def token_precision(row: Row) -> float:
    """Share of the answer's content words and numbers that the context has."""
    return _share_in(row["answer"], row["context"])


def _share_in(inner: str, outer: str) -> float:
    wanted, given = analyse(inner), analyse(outer)
    hits = sum(word in given.content_set for word in wanted.content)
    hits += sum(map(given.has_quantity, wanted.quantities))
    return hits / max(len(wanted.content) + len(wanted.quantities), 1)


def plain_methods(rows: Sequence[Row]) -> Methods:
    """Scores of the methods everybody tries first."""
    if "context" in rows[0]:
        return {"token precision": [token_precision(row) for row in rows]}
    return {
        "gold string": [gold_string(row) for row in rows],
        "token recall": [token_recall(row) for row in rows],
    }


def slices(rows: Sequence[Row]) -> Iterator[tuple[str, list[int]]]:
    """Named parts of a set: all, short and long answers, languages, halves and kinds of a contrast set."""
    yield "all", list(range(len(rows)))
    sizes = [len(texts.tokens(row["answer"])) for row in rows]
    yield f"answer up to {SHORT} tokens", [at for at, size in enumerate(sizes) if size <= SHORT]
    yield f"answer over {SHORT} tokens", [at for at, size in enumerate(sizes) if size > SHORT]
    languages = [texts.language_of(row["question"]) for row in rows]
    if len(set(languages)) > 1:
        for language in sorted(set(languages)):
            yield f"language {language}", [at for at, own in enumerate(languages) if own == language]
    for key in ("half", "kind"):
        for value in sorted({row[key] for row in rows if key in row}):
            yield f"{key} {value}", [at for at, row in enumerate(rows) if row.get(key) == value]


def lines(name: str, metric: str, rows: Sequence[Row], methods: Methods) -> Iterator[Line]:
    """Agreement of each method with the labels of a set, by slice; answers to one question depend."""
    for part, chosen in slices(rows):
        for method, scores in methods.items():
            figures = agreement(
                [(scores[at], rows[at]["label"]) for at in chosen],
                groups=[rows[at]["question"] for at in chosen],
            ).model_dump()
            yield {
                "set": name,
                "metric": metric,
                "language": texts.language_of(rows[0]["question"]),
                "slice": part,
                "method": method,
                **{
                    key: round(value, 4) if isinstance(value, float) else value
                    for key, value in figures.items()
                },
            }


async def judged(judge: Judge, rows: Sequence[Row], *, concurrency: int = 1) -> Methods:
    """Scores of a judge as the product gives them; None where a judgement failed or does not apply.

    Rows with a context are graded by faithfulness, all others by answer_correctness, whose similarity is
    listed apart.

    Raises:
        JudgeFatal: no call can work.
    """
    grounded = "context" in rows[0]
    metric = get("faithfulness" if grounded else "answer_correctness")
    gate = asyncio.Semaphore(concurrency)

    async def grade(at: int, row: Row) -> tuple[float | None, float | None]:
        async with gate:
            (score,) = await grade_case("agreement", _case(at, row), [metric], judge)
        return score.value, score.evidence.get("similarity")

    graded = await asyncio.gather(*(grade(at, row) for at, row in enumerate(rows)))
    values = [value for value, _ in graded]
    if grounded:
        # People labelled whole answers: one unsupported claim makes an answer unfaithful.
        whole: list[float | None] = [None if value is None else float(value == 1) for value in values]
        return {"judge": values, "judge, all claims": whole}
    return {"judge": values, "judge, similarity": [similarity for _, similarity in graded]}


def _case(at: int, row: Row) -> Case:
    context = row.get("context")
    return Case(
        case_id=f"production:{at}",
        source="production",
        item=EvalItem(item_id=str(at), user_input=row["question"], reference=row["reference"] or None),
        response=Response(response=row["answer"], retrieved_contexts=(context,) if context else None),
        language=texts.language_of(row["question"] + row["answer"]),
    )


def measure(name: str, rows: Sequence[Row], scores: Methods) -> list[Line]:
    """Agreement of a judge's scores (see `judged`) and of plain methods on one set, by slice."""
    metric = "faithfulness" if "context" in rows[0] else "answer_correctness"
    return list(lines(name, metric, rows, scores | plain_methods(rows)))


def pooled(sets: Iterable[tuple[Sequence[Row], Methods]]) -> tuple[list[Row], Methods]:
    """Several sets as one, each answer once; contrast sets lose their halves and kinds."""
    rows: dict[tuple[str, str, str], Row] = {}
    kept: dict[str, list[float | None]] = {}
    for some, methods in sets:
        for at, row in enumerate(some):
            key = row["question"], row["reference"], row["answer"]
            if key not in rows:
                rows[key] = {field: row[field] for field in ("question", "reference", "answer", "label")}
                for method, scores in methods.items():
                    kept.setdefault(method, []).append(scores[at])
    return list(rows.values()), kept
