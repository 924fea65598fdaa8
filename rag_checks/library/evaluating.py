"""`evaluate` and its async twin: rows and metrics in, an experiment out."""

import difflib
import re
import sys
import uuid
import warnings
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from rag_checks.errors import ConfigError
from rag_checks.evaluation import evaluate as grade
from rag_checks.evaluation import not_graded
from rag_checks.judge import open_judge
from rag_checks.library.experiment import Experiment
from rag_checks.library.rows import Row, read_data
from rag_checks.library.running import run
from rag_checks.library.storing import StoreLike, opened_store
from rag_checks.library.target import Target
from rag_checks.metrics import REGISTRY, Metric, defaults, get
from rag_checks.monitor import OfflineJudge, OpenAIJudge
from rag_checks.protocols import Judge
from rag_checks.records import GradedCase, Response, Score, ScoreStatus

MetricLike = str | Metric | Path | Callable[..., Any]
JudgeLike = str | Mapping[str, Any] | OfflineJudge | OpenAIJudge | Judge
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,62}")
_DAY_S = 24 * 3600
_TYPO = 0.8


def evaluate(
    data: Any,
    target: Callable[..., Any] | None = None,
    metrics: Sequence[MetricLike] | MetricLike | None = None,
    judge: JudgeLike = "offline",
    *,
    name: str = "experiment",
    mapping: Mapping[str, str] | None = None,
    concurrency: int = 8,
    timeout_s: float = 60,
    store: StoreLike = None,
    progress: bool | None = None,
) -> Experiment:
    """Grade every row of the data; the failure of a row is a status of its scores, never an exception.

    Works inside a running event loop too (Jupyter). An interrupt ends it at once; paid replies are cached.

    Args:
        data: list of dicts or EvalItems, a dict of columns, a DataFrame, or the path of a file (JSONL, JSON,
            CSV, Parquet). Fields and their other names: `user_input`/`question`, `response`/`answer`,
            `retrieved_contexts`/`contexts`, `reference`/`ground_truth` …
        target: the bot: a sync or async function of the question (or, when its parameter is called `item`, of
            the item) that returns the answer, a dict of `response`, `retrieved_contexts` …, or a Response.
            None: the data holds the answers.
        metrics: names, the Path of a rubric file, Metric objects or functions with the `metric` decorator;
            None: all default ones.
        judge: `offline`, a model at OPENAI_BASE_URL, a dict like a monitor's `judge` section, or a Judge (it
            is left open).
        name: what the experiment is called when it is saved.
        mapping: our field → column of the data, where its name is none of ours.
        concurrency: rows under way at once; a judge's own limit is its section's `concurrency`.
        timeout_s: seconds the target may take for one answer.
        store: where a paid judge's replies are cached: a Store, its URL or a SQLite file; None: the one of
            RAG_CHECKS_STORE.
        progress: show a bar on stderr; None: when that is a terminal.

    Raises:
        ConfigError: a wrong argument, an unknown metric, two rows with one id; nothing was asked yet.
        SourceError: rows that cannot be read, each named with its field; nothing was asked yet.
        JudgeFatal, JudgeUnavailable: the judge graded nothing at all. When it went down on the way, what it
            left is counted as failed, `Experiment.problem` says so and a warning is given.
    """
    return run(
        lambda: aevaluate(
            data,
            target,
            metrics,
            judge,
            name=name,
            mapping=mapping,
            concurrency=concurrency,
            timeout_s=timeout_s,
            store=store,
            progress=progress,
        )
    )


async def aevaluate(
    data: Any,
    target: Callable[..., Any] | None = None,
    metrics: Sequence[MetricLike] | MetricLike | None = None,
    judge: JudgeLike = "offline",
    *,
    name: str = "experiment",
    mapping: Mapping[str, str] | None = None,
    concurrency: int = 8,
    timeout_s: float = 60,
    store: StoreLike = None,
    progress: bool | None = None,
) -> Experiment:
    """As `evaluate`, awaited."""
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{name!r}: write letters, digits, '.', '_' and '-', at most 63", key="name")
    if concurrency < 1:
        raise ConfigError(f"{concurrency} is below 1", key="concurrency")
    wanted = _metrics(metrics)
    config = _judge_config(judge)
    rows = read_data(data, mapping or {}, live=target is not None)
    bot = None
    if target is not None:
        bot = Target(target, rows, timeout_s=timeout_s, concurrency=concurrency)
    run_id = f"{name}-{uuid.uuid4().hex[:12]}"
    started = datetime.now(UTC)
    memory = _Memory()
    async with _opened_judge(judge, config, store) as grader:
        with _bar(len(rows), shown=progress) as told:
            outcome = await grade(
                run_id,
                [row.case for row in rows],
                metrics=wanted,
                judge=grader,
                bot=bot,
                sink=memory,
                scored={},
                concurrency=max(concurrency, getattr(config, "concurrency", 1)),
                deadline_s=_DAY_S,
                progress=told,
            )
    if outcome.error is not None:
        if not any(score.status is ScoreStatus.OK and score.judge for score in memory.scores.values()):
            raise outcome.error
        warnings.warn(f"{outcome.error}; what was left is counted as failed", stacklevel=2)
    return Experiment(
        name=name,
        eval_run_id=run_id,
        metrics={metric.name: metric.version for metric in wanted},
        graded=_graded(run_id, rows, wanted, memory, outcome.problem),
        created_at=started,
        problem=outcome.problem,
    )


@asynccontextmanager
async def _opened_judge(
    given: JudgeLike, config: OfflineJudge | OpenAIJudge | None, store: StoreLike
) -> AsyncIterator[Judge]:
    """The judge, with a cache when it is paid; one that was handed over open stays open."""
    if config is None:
        yield cast("Judge", given)
        return
    with opened_store(store, needed=isinstance(config, OpenAIJudge)) as cache:
        judge = open_judge(config, cache=cache.reply_cache() if cache else None)
        try:
            yield judge
        finally:
            await judge.close()


class _Memory:
    """Keeps results in this process until the experiment is saved."""

    def __init__(self) -> None:
        self.responses: dict[str, Response] = {}
        self.scores: dict[tuple[str, str], Score] = {}

    def save_response(self, _eval_run_id: str, case_id: str, response: Response) -> None:
        self.responses[case_id] = response

    def save_scores(self, scores: Sequence[Score]) -> None:
        self.scores |= {(score.case_id, score.metric): score for score in scores}


def _graded(
    run_id: str, rows: Sequence[Row], metrics: Sequence[Metric], memory: _Memory, problem: str | None
) -> tuple[GradedCase, ...]:
    """Every row with one score a metric; what nobody reached is a failure, so that it stays counted (P1)."""
    graded = []
    for row in rows:
        case = row.case
        if case.case_id in memory.responses:
            case = case.model_copy(update={"response": memory.responses[case.case_id]})
        scores = tuple(
            memory.scores.get((case.case_id, metric.name)) or not_graded(run_id, case, metric, problem)
            for metric in metrics
        )
        graded.append(GradedCase(case=case, scores=scores))
    return tuple(graded)


def _metrics(given: Sequence[MetricLike] | MetricLike | None) -> list[Metric]:
    if given is None:
        return defaults()
    listed = [given] if isinstance(given, str | Metric | Path) or callable(given) else list(given)
    if not listed:
        raise ConfigError("an empty list grades nothing; leave it out for all default metrics", key="metrics")
    found = [_metric(one) for one in listed]
    by_name: dict[str, Metric] = {}
    for metric in found:
        if by_name.setdefault(metric.name, metric).version != metric.version:
            raise ConfigError(f"two different metrics are called {metric.name!r}", key="metrics")
    return list(by_name.values())


def _metric(given: MetricLike) -> Metric:
    if isinstance(given, Metric):
        return given
    if isinstance(given, str):
        return get(given)
    if isinstance(given, Path):
        # Brings YAML, which the metrics of the registry never need.
        from rag_checks.metrics.rubrics import as_metric, read_rubric  # noqa: PLC0415

        return as_metric(read_rubric(given))
    found = next((metric for metric in REGISTRY.values() if metric.grade is given), None)
    if found is None:
        called = getattr(given, "__name__", repr(given))
        raise ConfigError(
            f"{called} is no metric; put @rag_checks.metric(…) above an async function of an Exam",
            key="metrics",
        )
    return found


def _judge_config(given: JudgeLike) -> OfflineJudge | OpenAIJudge | None:
    """The judge's section; None for a Judge that is open already."""
    if isinstance(given, OfflineJudge | OpenAIJudge):
        return given
    if isinstance(given, str):
        if difflib.get_close_matches(given.lower(), ["offline"], cutoff=_TYPO) and given != "offline":
            raise ConfigError(f"{given!r}: did you mean 'offline'?", key="judge")
        return OfflineJudge() if given == "offline" else OpenAIJudge(kind="openai", model=given)
    if isinstance(given, Mapping):
        section = {"kind": "openai"} | dict(given) if "model" in given else dict(given)
        adapter: TypeAdapter[OfflineJudge | OpenAIJudge] = TypeAdapter(OfflineJudge | OpenAIJudge)
        try:
            if section.get("kind") == "openai":
                return OpenAIJudge.model_validate(section)
            return adapter.validate_python(section)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            key = ".".join(["judge", *(str(part) for part in first["loc"])])
            raise ConfigError(f"{first['msg']}; as the judge section of a monitor file", key=key) from None
    if hasattr(given, "ask") and hasattr(given, "similarity"):
        return None
    raise ConfigError(
        f"a {type(given).__name__} is no judge; write 'offline', a model's name or a judge section",
        key="judge",
    )


@contextmanager
def _bar(total: int, *, shown: bool | None) -> Iterator[Callable[[int, int], None]]:
    if not (sys.stderr.isatty() if shown is None else shown):
        yield lambda _done, _total: None
        return
    # rich's own way into notebooks needs ipywidgets; a line that overwrites itself does not.
    console = Console(file=sys.stderr, force_jupyter=False, force_terminal=True)
    columns = (TextColumn("grading"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda done, _total: progress.update(task, completed=done)
