"""Grading any file of questions and answers, and comparing the scores with people's labels."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_checks import metrics as metric_registry
from rag_checks.errors import ConfigError, SourceError
from rag_checks.evaluation import evaluate
from rag_checks.judge import open_judge
from rag_checks.judge.agreement import Agreement, agreement, agreement_note
from rag_checks.monitor import OfflineJudge, OpenAIJudge
from rag_checks.pipeline.items import read_answered
from rag_checks.records import Case, EvalItem, Response, Score, score_rows
from rag_checks.text import language_of
from rag_checks.verdicts.estimates import estimate

if TYPE_CHECKING:
    from rag_checks.store import Store

MAX_PROBLEMS_SHOWN = 10


@dataclass(frozen=True)
class MetricRow:
    """One metric over the file."""

    metric: str
    mean: float | None
    low: float | None
    high: float | None
    n_ok: int
    n_failed: int
    n_not_applicable: int
    n_total: int


@dataclass(frozen=True)
class FileResult:
    """A graded file."""

    cases: int
    metrics: list[MetricRow]
    judge_line: str
    label_field: str | None = None
    agreements: dict[str, Agreement] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)


class _Memory:
    """Keeps results in this process; a file's grading is not part of a monitor's history."""

    def __init__(self) -> None:
        self.scores: list[Score] = []

    def save_response(self, _eval_run_id: str, _case_id: str, _response: Response) -> None:
        """Nothing is asked live for a file."""

    def save_scores(self, scores: Sequence[Score]) -> None:
        self.scores.extend(scores)


def evaluate_file(
    path: Path,
    *,
    metric_names: Sequence[str] = (),
    mapping: Mapping[str, str] | None = None,
    label_field: str | None = None,
    judge_name: str = "offline",
    limit: int | None = None,
    output: Path | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> FileResult:
    """Grade every row that can be read; rows that cannot are named in `problems`.

    Args:
        path: JSONL, CSV or Parquet, plain or compressed.
        metric_names: what to grade; all that apply when empty.
        mapping: our field → column of the file.
        label_field: column with people's labels (true/false, 1/0, good/bad).
        judge_name: `offline`, or a model at OPENAI_BASE_URL (its replies are cached in the store).
        limit: only the first rows.
        output: JSONL file for the scores.
        progress: told (done, total).

    Raises:
        ConfigError: an unknown metric, a mapped column that no row has.
        SourceError: no such file, or not one row could be read.
    """
    wanted = [metric_registry.get(name) for name in (metric_names or metric_registry.names())]
    cases, labels, problems = _read(path, mapping or {}, label_field, limit)
    memory = _Memory()
    config = OfflineJudge() if judge_name == "offline" else OpenAIJudge(kind="openai", model=judge_name)
    judge_line = asyncio.run(_grade(path, cases, wanted, config, memory, progress))
    by_metric: dict[str, list[Score]] = {metric.name: [] for metric in wanted}
    for score in memory.scores:
        by_metric[score.metric].append(score)
    if output is not None:
        _write(output, memory.scores)
    by_id = {case.case_id: case for case in cases}
    rows = [_row(name, by_id, scores) for name, scores in by_metric.items()]
    shown = [row for row in rows if row.n_not_applicable < row.n_total or metric_names]
    agreements = {}
    if label_field is not None:
        agreements = {
            row.metric: agreement([(score.value, labels[score.case_id]) for score in by_metric[row.metric]])
            for row in shown
        }
    return FileResult(len(cases), shown, judge_line, label_field, agreements, problems)


async def _grade(
    path: Path,
    cases: list[Case],
    wanted: Sequence[metric_registry.Metric],
    config: OfflineJudge | OpenAIJudge,
    memory: _Memory,
    progress: Callable[[int, int], None],
) -> str:
    store = _open_store() if isinstance(config, OpenAIJudge) else None
    judge = open_judge(config, cache=store.reply_cache() if store else None)
    try:
        outcome = await evaluate(
            f"file-{path.name}",
            cases,
            metrics=wanted,
            judge=judge,
            bot=None,
            sink=memory,
            scored={},
            concurrency=config.concurrency if isinstance(config, OpenAIJudge) else 1,
            deadline_s=24 * 3600,
            progress=progress,
        )
        if outcome.error is not None:
            raise outcome.error
        note = agreement_note("en") if isinstance(config, OfflineJudge) else None
        return f"{judge.identity.requested_model}" + (f" – {note}" if note else "")
    finally:
        await judge.close()
        if store is not None:
            store.close()


def _open_store() -> "Store":
    from rag_checks.settings import Settings  # noqa: PLC0415 - see below
    from rag_checks.store import Store  # noqa: PLC0415 - SQLAlchemy is slow to import; grading offline needs none

    return Store.open(Settings.from_env().store_url)


def _read(
    path: Path, mapping: Mapping[str, str], label_field: str | None, limit: int | None
) -> tuple[list[Case], dict[str, bool], list[str]]:
    cases: list[Case] = []
    labels: dict[str, bool] = {}
    problems: list[str] = []
    unseen = set(mapping.values()) | ({label_field} if label_field else set())
    for line, row in read_answered(path, mapping):
        if limit is not None and len(cases) >= limit:
            break
        if isinstance(row, str):
            problems.append(f"{path}:{line}: {row}")
            continue
        item, response, raw = row
        unseen -= raw.keys()
        case = _case(item, response, line)
        if label_field is not None:
            label = as_label(raw.get(label_field))
            if label is None:
                problems.append(f"{path}:{line}: {label_field}: {raw.get(label_field)!r} is not true/false")
                continue
            labels[case.case_id] = label
        cases.append(case)
    if cases and unseen:
        raise ConfigError(
            f"no row has the column {', '.join(sorted(unseen))}", file=str(path), key="--map/--labels"
        )
    if not cases:
        raise SourceError("\n".join([f"{path}: no row could be graded", *problems[:MAX_PROBLEMS_SHOWN]]))
    if len(problems) > MAX_PROBLEMS_SHOWN:
        problems = [*problems[:MAX_PROBLEMS_SHOWN], f"… and {len(problems) - MAX_PROBLEMS_SHOWN} more lines"]
    return cases, labels, problems


def as_label(value: Any) -> bool | None:
    """A person's label as a bool; None when it is neither yes nor no."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().casefold()
    if word in {"true", "1", "1.0", "yes", "good", "correct", "是", "对", "正确", "有效回答"}:
        return True
    if word in {"false", "0", "0.0", "no", "bad", "incorrect", "wrong", "否", "错", "错误", "无效回答"}:
        return False
    return None


def _case(item: EvalItem, response: Response, line: int) -> Case:
    return Case(
        case_id=f"golden:{item.item_id}#{line}",
        source="golden",
        item=item,
        response=response,
        language=language_of(item.user_input),
        intent=item.expected_intent or "unknown",
    )


def _row(name: str, cases: Mapping[str, Case], scores: Sequence[Score]) -> MetricRow:
    found = estimate(score_rows(cases, scores))
    counts = (found.n_ok, found.n_failed, found.n_not_applicable, found.n_total)
    return MetricRow(name, found.mean, found.low, found.high, *counts)


def _write(output: Path, scores: Sequence[Score]) -> None:
    with output.open("w", encoding="utf-8") as stream:
        for score in sorted(scores, key=lambda score: (score.case_id, score.metric)):
            stream.write(score.model_dump_json() + "\n")
