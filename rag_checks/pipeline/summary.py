"""What people are told about a run: the one view, read from the store, that all renderers share (P2)."""

from collections.abc import Collection, Sequence

from rag_checks.costs import costs
from rag_checks.judge.agreement import agreement_note
from rag_checks.metrics.catalogue import rubric_titles
from rag_checks.monitor import Monitor
from rag_checks.pipeline.runs import stored_run
from rag_checks.records import GradedCase, Level, RunSummary, Trend, Usage, Verdict
from rag_checks.settings import Settings
from rag_checks.store import Store
from rag_checks.verdicts.drift import trends, worst_level

WORST_ITEMS = 10


def summarise(
    monitor: Monitor, settings: Settings, eval_run_id: str, *, with_trends: bool = True
) -> tuple[RunSummary, list[GradedCase]]:
    """The summary of a checked run, and all its graded cases for drill-down. Raises StoreError.

    Trends read all earlier nights; leave them out where no chart is drawn.
    """
    with Store.open(settings.store_url) as store:
        run = stored_run(store, eval_run_id)
        decided = store.verdicts(eval_run_id)
        findings = store.findings(eval_run_id)
        graded = store.graded(eval_run_id)
        expectations = store.expectations(eval_run_id)
        charted: list[Trend] = []
        if with_trends:
            history = store.history(monitor.monitor, since=None, until=run.night)
            told = store.verdict_history(monitor.monitor, until=run.night)
            charted = trends(history, monitor, run.night, told)
    explained = {case_id for finding in findings for case_id in finding.case_ids}
    spent = [score for case in graded for score in case.scores]
    graded = [case for case in graded if case.case.source != "canary"]
    summary = RunSummary(
        title=monitor.title or monitor.monitor,
        language=monitor.language,
        owner=monitor.owner,
        run=run,
        level=worst_level(decided, monitor),
        verdicts=tuple(decided),
        metric_titles=rubric_titles(monitor),
        findings=tuple(findings),
        expectations=tuple(expectations),
        trends=tuple(charted),
        worst=tuple(_worst(graded, decided, explained)),
        usage=sum((score.usage for score in spent), start=Usage()),
        costs=tuple(costs(spent, monitor.prices)),
        judge_note=agreement_note(monitor.language) if run.judge and run.judge.kind == "offline" else None,
        report_url=_report_url(monitor, eval_run_id),
    )
    return summary, graded


def report_name(eval_run_id: str) -> str:
    """File name of a run's report."""
    return f"{eval_run_id}.html"


def _report_url(monitor: Monitor, eval_run_id: str) -> str | None:
    base = monitor.alerts.report_base_url
    return f"{base.rstrip('/')}/{monitor.monitor}/{report_name(eval_run_id)}" if base else None


def _worst(
    graded: Sequence[GradedCase], decided: Sequence[Verdict], explained: Collection[str]
) -> list[GradedCase]:
    """The cases lowest on what fails, or on what needs watching when nothing fails; none when all is well.

    Of equal ones those behind a finding come first.
    """
    for level in (Level.FAIL, Level.WATCH):
        troubled = {(v.metric, v.source, v.slice) for v in decided if v.level is level}
        found = [(low, case) for case in graded if (low := _lowest(case, troubled)) is not None]
        if found:
            found.sort(key=lambda one: (one[0], one[1].case.case_id not in explained, one[1].case.case_id))
            return [case for _, case in found[:WORST_ITEMS]]
    return []


def _lowest(graded: GradedCase, troubled: Collection[tuple[str, str, str]]) -> float | None:
    """The lowest value of a case on the troubled metrics of its series and intent; None without any."""
    case = graded.case
    values = [
        score.value
        for score in graded.scores
        if score.value is not None
        and any((score.metric, case.source, part) in troubled for part in ("all", f"intent:{case.intent}"))
    ]
    return min((value for value in values if value < 1), default=None)
