"""An experiment as the HTML report that nights have."""

from pathlib import Path
from typing import TYPE_CHECKING

from rag_checks.errors import ConfigError
from rag_checks.judge.agreement import agreement_note
from rag_checks.monitor import MetricTarget, Monitor
from rag_checks.pipeline.writing import write_whole
from rag_checks.records import EvalRun, Language, RunSummary, Usage, score_rows
from rag_checks.verdicts.drift import decide, worst_level

if TYPE_CHECKING:
    from rag_checks.library.experiment import Experiment


def write_report(experiment: "Experiment", path: Path) -> Path:
    """Write the report; it appears whole or not at all. Raises ConfigError, OSError."""
    try:
        from rag_checks.reports.html import render_html  # noqa: PLC0415 - not part of the light install
    except ModuleNotFoundError as error:
        raise ConfigError(f"the report needs {error.name}; run: pip install 'rag-checks[monitor]'") from error
    write_whole(path, render_html(_summary(experiment), experiment.graded).encode("utf-8"))
    return path


def _summary(experiment: "Experiment") -> RunSummary:
    """What the report tells: verdicts of the one function that decides (P2), without targets or a past."""
    chinese = sum(one.case.language == "zh" for one in experiment.graded)
    language: Language = "zh" if chinese * 2 > len(experiment) else "en"
    names = [row.metric for row in experiment.summary() if row.n_na < row.n_total]
    told = [score for score in experiment.scores if score.metric in names]
    # Nobody set a target: a mean of few items, or of half of them, is shown with its counts, not withheld.
    targets = [
        MetricTarget(metric=name, allowed_drop=None, minimum_n=1, minimum_coverage=None) for name in names
    ]
    monitor = Monitor(monitor="experiment", language=language, metrics=names, targets=targets)
    night = experiment.created_at.date()
    cases = {one.case.case_id: one.case for one in experiment.graded}
    verdicts = decide(score_rows(cases, told, night), monitor, night)
    run = EvalRun(
        eval_run_id=experiment.eval_run_id,
        monitor=monitor.monitor,
        kind="file",
        night=night,
        window_start=experiment.created_at,
        window_end=experiment.created_at,
        judge=experiment.judge,
        metric_versions=dict(experiment.metrics),
        status="evaluated",
        counts={"planned": len(experiment)},
        problem=experiment.problem,
        created_at=experiment.created_at,
    )
    offline = experiment.judge is not None and experiment.judge.kind == "offline"
    return RunSummary(
        title=experiment.name,
        language=language,
        run=run,
        level=worst_level(verdicts, monitor),
        verdicts=tuple(verdicts),
        usage=sum((score.usage for score in experiment.scores), start=Usage()),
        judge_note=agreement_note(language) if offline else None,
    )
