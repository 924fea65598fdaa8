"""What people are told about a run: the one view, read from the store, that all renderers share (P2)."""

from rag_checks.costs import costs
from rag_checks.judge.agreement import agreement_note
from rag_checks.monitor import Monitor
from rag_checks.pipeline.runs import stored_run
from rag_checks.records import GradedCase, RunSummary, Trend, Usage
from rag_checks.settings import Settings
from rag_checks.store import Store
from rag_checks.verdicts.drift import trends, worst_level

WORST_ITEMS = 10
# The metrics that say most about a case, for ranking the worst: right answer first, then usable answer.
_RANK = ("answer_correctness", "refusal_correctness", "answer_relevancy", "faithfulness", "context_recall")


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
    summary = RunSummary(
        title=monitor.title or monitor.monitor,
        language=monitor.language,
        owner=monitor.owner,
        run=run,
        level=worst_level(decided, monitor),
        verdicts=tuple(decided),
        findings=tuple(findings),
        expectations=tuple(expectations),
        trends=tuple(charted),
        worst=tuple(_worst(graded, explained)),
        usage=sum((score.usage for case in graded for score in case.scores), start=Usage()),
        costs=tuple(costs((score for case in graded for score in case.scores), monitor.prices)),
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


def _worst(graded: list[GradedCase], explained: set[str]) -> list[GradedCase]:
    """The failing cases, those behind a finding first, then lowest scores first."""

    def rank(case: GradedCase) -> tuple[bool, float, str]:
        values = {score.metric: score.value for score in case.scores if score.value is not None}
        first = next((values[name] for name in _RANK if name in values), 1.0)
        return (case.case.case_id not in explained, first, case.case.case_id)

    failing = [case for case in graded if rank(case)[1] < 0.5]  # noqa: PLR2004 - a coin's worth of right
    return sorted(failing, key=rank)[:WORST_ITEMS]
