"""Grading any file of questions and answers, and comparing the scores with people's labels."""

import asyncio
import errno
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_checks import metrics as metric_registry
from rag_checks.errors import PermanentError, TransientError
from rag_checks.evaluation import cases_at_once, evaluate, not_graded
from rag_checks.judge import open_judge
from rag_checks.judge.agreement import Agreement, agreement, agreement_note
from rag_checks.metrics.catalogue import known_metrics
from rag_checks.monitor import OfflineJudge, OpenAIJudge
from rag_checks.pipeline.labelled import Table, read_table, shortened
from rag_checks.pipeline.writing import write_whole
from rag_checks.records import Case, JudgeIdentity, Response, Score, ScoreStatus, Usage, score_rows
from rag_checks.verdicts.estimates import estimate

if TYPE_CHECKING:
    from rag_checks.store import Store


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
    """A graded file.

    Attributes:
        cases: rows that were graded.
        unreadable: rows that could not be read.
        metrics: one row a metric.
        judge_line: who graded and what it cost.
        label_field: column with people's labels.
        labelled: rows with a label.
        agreements: metric → agreement of its scores with the labels.
        problems: metrics asked for by name that apply to no row, and rows that could not be read.
        error: why the judge did not get through the file; what it left is counted as failed.
    """

    cases: int
    unreadable: int
    metrics: list[MetricRow]
    judge_line: str
    label_field: str | None = None
    labelled: int = 0
    agreements: dict[str, Agreement] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    error: PermanentError | TransientError | None = None

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            **asdict(replace(self, error=None)),
            "agreements": {name: found.model_dump() for name, found in self.agreements.items()},
            "error": None if self.error is None else str(self.error),
        }


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
    rubric_files: Sequence[Path] = (),
    mapping: Mapping[str, str] | None = None,
    label_field: str | None = None,
    judge_name: str = "offline",
    limit: int | None = None,
    output: Path | None = None,
    use_cache: bool = True,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> FileResult:
    """Grade every row that can be read; rows that cannot are named in `problems`.

    Args:
        path: JSONL, a JSON array, CSV or Parquet, plain or compressed.
        metric_names: what to grade; without names and rubric files, the default ones that apply.
        rubric_files: rubrics of one's own to grade too.
        mapping: our field → column of the file.
        label_field: column with people's labels (true/false, 1/0, good/bad); a row without one is graded all
            the same.
        judge_name: `offline`, or a model at OPENAI_BASE_URL (its replies are cached in the store).
        limit: only the first rows that can be read.
        output: JSONL file for the scores, one a line, with line, item_id and label of its row.
        use_cache: False asks for every judgement anew and keeps none.
        progress: told (done, total).

    Returns:
        The result, also when the judge went down on the way: then `error` says so.

    Raises:
        ConfigError: an unknown metric or field, a rubric that cannot be used, a column that no row has,
            labels that are none.
        SourceError: no such file, or not one row could be read.
        JudgeFatal, JudgeUnavailable: the judge graded nothing at all.
        OSError: the output cannot be written; it is tried before anything is graded.
    """
    wanted = wanted_in_file(metric_names, rubric_files)
    named = bool(metric_names or rubric_files)
    table = read_table(path, mapping or {}, label_field, limit)
    if output is not None:
        _check_writable(output)
    memory = _Memory()
    config = OfflineJudge() if judge_name == "offline" else OpenAIJudge(kind="openai", model=judge_name)
    judge, error = asyncio.run(_grade(path, table.cases, wanted, config, memory, use_cache, progress))
    if error is not None:
        if not any(score.status is ScoreStatus.OK and score.judge for score in memory.scores):
            raise error
        memory.scores += _left(path, table.cases, wanted, memory.scores, str(error))
    if output is not None:
        write_whole(output, _lines(table, memory.scores).encode())
    by_metric: dict[str, list[Score]] = {metric.name: [] for metric in wanted}
    for score in memory.scores:
        by_metric[score.metric].append(score)
    by_id = {case.case_id: case for case in table.cases}
    rows = [_row(name, by_id, scores) for name, scores in by_metric.items()]
    return FileResult(
        cases=len(table.cases),
        unreadable=len(table.unreadable),
        metrics=[row for row in rows if row.n_not_applicable < row.n_total or named],
        judge_line=_judge_line(judge, config, memory.scores),
        label_field=label_field,
        labelled=len(table.labels),
        agreements=_agreements(wanted, by_metric, table.labels, explicit=named),
        problems=[*(_without_any(by_metric) if named else ()), *shortened(table.problems)],
        error=error,
    )


def wanted_in_file(names: Sequence[str], rubric_files: Sequence[Path]) -> list[metric_registry.Metric]:
    """The metrics named and the rubrics given, or the default ones. Raises ConfigError."""
    if not (names or rubric_files):
        return metric_registry.defaults()
    known = known_metrics(rubric_files)
    own = [name for name in known if name not in known_metrics()]
    return [metric_registry.get(name, known) for name in dict.fromkeys([*names, *own])]


async def _grade(
    path: Path,
    cases: list[Case],
    wanted: Sequence[metric_registry.Metric],
    config: OfflineJudge | OpenAIJudge,
    memory: _Memory,
    use_cache: bool,
    progress: Callable[[int, int], None],
) -> tuple[JudgeIdentity, PermanentError | TransientError | None]:
    """Grade into `memory`; who graded, and why grading ended early if it did."""
    store = _open_store() if use_cache and isinstance(config, OpenAIJudge) else None
    try:
        judge = open_judge(config, cache=store.reply_cache() if store else None)
        try:
            outcome = await evaluate(
                _run_id(path),
                cases,
                metrics=wanted,
                judge=judge,
                bot=None,
                sink=memory,
                scored={},
                concurrency=cases_at_once(config.concurrency) if isinstance(config, OpenAIJudge) else 1,
                deadline_s=24 * 3600,
                progress=progress,
            )
        finally:
            await judge.close()
    finally:
        if store is not None:
            store.close()
    return judge.identity, outcome.error


def _open_store() -> "Store":
    from rag_checks.settings import Settings  # noqa: PLC0415 - see below
    from rag_checks.store import Store  # noqa: PLC0415 - SQLAlchemy is slow to import; grading offline needs none

    return Store.open(Settings.from_env().store_url)


def _run_id(path: Path) -> str:
    return f"file-{path.name}"


def _left(
    path: Path,
    cases: Sequence[Case],
    wanted: Sequence[metric_registry.Metric],
    scores: Sequence[Score],
    problem: str,
) -> list[Score]:
    """A failed score for all that was not reached, so that it stays in the counts (P1)."""
    have = {(score.case_id, score.metric) for score in scores}
    return [
        not_graded(_run_id(path), case, metric, problem)
        for case in cases
        for metric in wanted
        if (case.case_id, metric.name) not in have
    ]


def _agreements(
    wanted: Sequence[metric_registry.Metric],
    scores: Mapping[str, Sequence[Score]],
    labels: Mapping[str, bool],
    *,
    explicit: bool,
) -> dict[str, Agreement]:
    """Agreement with the labels for metrics that judge the answer itself, which is what people labelled.

    Ranks of passages or the bot's intent may be compared too, but only when they were asked for by name.
    """
    found = {}
    for metric in wanted:
        if metric.stage == "generation" or explicit:
            pairs = [(s.value, labels[s.case_id]) for s in scores[metric.name] if s.case_id in labels]
            if any(value is not None for value, _ in pairs):
                found[metric.name] = agreement(pairs)
    return found


def _without_any(scores: Mapping[str, Sequence[Score]]) -> list[str]:
    """Why metrics apply to no row at all; a dash in a table explains nothing."""
    reasons = {
        name: Counter(score.reason for score in found).most_common(1)[0][0]
        for name, found in scores.items()
        if found and all(score.status is ScoreStatus.NOT_APPLICABLE for score in found)
    }
    return [f"{name}: applies to no row: {reason}" for name, reason in reasons.items()]


def _judge_line(judge: JudgeIdentity, config: OfflineJudge | OpenAIJudge, scores: Sequence[Score]) -> str:
    if isinstance(config, OfflineJudge):
        return f"{judge.requested_model} – {agreement_note('en')}"
    usage = sum((score.usage for score in scores), start=Usage())
    tokens = usage.prompt_tokens + usage.completion_tokens
    return (
        f"{judge.requested_model} at {judge.endpoint}: {usage.calls} calls, {usage.cached} from the cache,"
        f" {tokens} tokens"
    )


def _row(name: str, cases: Mapping[str, Case], scores: Sequence[Score]) -> MetricRow:
    found = estimate(score_rows(cases, scores))
    counts = (found.n_ok, found.n_failed, found.n_not_applicable, found.n_total)
    return MetricRow(name, found.mean, found.low, found.high, *counts)


def _lines(table: Table, scores: Sequence[Score]) -> str:
    """The scores as JSON lines, in the order of the file."""
    items = {case.case_id: case.item.item_id for case in table.cases}
    rows = []
    for score in sorted(scores, key=lambda score: (table.lines[score.case_id], score.metric)):
        place = {"line": table.lines[score.case_id], "item_id": items[score.case_id]}
        label = {"label": table.labels[score.case_id]} if score.case_id in table.labels else {}
        rows.append(
            json.dumps({**place, **label, **score.model_dump(mode="json")}, ensure_ascii=False) + "\n"
        )
    return "".join(rows)


def _check_writable(output: Path) -> None:
    """Raise OSError now rather than after a judge was paid."""
    if output.is_dir():
        raise IsADirectoryError(errno.EISDIR, "a folder; name a file", str(output))
    try:
        with tempfile.TemporaryFile(dir=output.parent):
            pass
    except OSError as error:
        raise OSError(error.errno, f"cannot be written: {error.strerror}", str(output)) from error
