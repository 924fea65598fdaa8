"""Deciding a graded night: verdicts, where it broke, expectations."""

from collections import Counter

from rag_checks.errors import RunIncomplete
from rag_checks.monitor import Monitor
from rag_checks.pipeline.runs import stored_run
from rag_checks.records import EvalRun, Source
from rag_checks.settings import Settings
from rag_checks.store import Store
from rag_checks.verdicts.diagnosis import diagnose, failing_share
from rag_checks.verdicts.drift import decide
from rag_checks.verdicts.expectations import check as check_expectations


def check(monitor: Monitor, settings: Settings, eval_run_id: str) -> EvalRun:
    """Decide: verdicts, where it broke, expectations; all stored. The only place that decides (P2)."""
    with Store.open(settings.store_url) as store:
        run = stored_run(store, eval_run_id)
        if run.status == "planned":
            raise RunIncomplete(f"{eval_run_id} has not been evaluated yet")
        history = store.history(monitor.monitor, since=None, until=run.night)
        decided = decide(history, monitor, run.night, expected=_expected(monitor, run))
        graded = [case for case in store.graded(eval_run_id) if case.case.source != "canary"]
        failing_before = failing_share(history, monitor, run.night)
        findings = diagnose(graded, failing_before, decided, monitor, history)
        tonight = [row for row in history if row.night == run.night and row.source != "canary"]
        cases = Counter(case.case.source for case in graded)
        planned: dict[tuple[str, str], int] = {
            (metric, source): n for metric in run.metric_versions for source, n in cases.items()
        }
        expectations = check_expectations(tonight, decided, monitor, planned)
        store.save_verdicts(eval_run_id, decided)
        store.save_findings(eval_run_id, findings)
        store.save_expectations(eval_run_id, expectations)
        run = run.model_copy(update={"status": "checked"})
        store.save_run(run)
        return run


def _expected(monitor: Monitor, run: EvalRun) -> list[Source]:
    """The sources that should have brought cases: silence of one of them is told, not overlooked (P10)."""
    expected: list[Source] = ["production"] if monitor.conversations is not None else []
    return [*expected, "golden"] if run.counts.get("asked_live") else expected
