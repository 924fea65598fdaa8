"""A whole night in one process: what `rag-checks run` and the demo's history call."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Literal

from rag_checks.errors import (
    DeliveryUncertain,
    JudgeFatal,
    JudgeUnavailable,
    PermanentError,
    SlackRejected,
    SlackUnavailable,
    TransientError,
)
from rag_checks.monitor import Monitor
from rag_checks.pipeline.decide import check
from rag_checks.pipeline.deliver import ReportFiles, alert, alert_failed_night, report
from rag_checks.pipeline.grade import evaluate_shard, reconcile
from rag_checks.pipeline.plan import plan_night
from rag_checks.records import EvalRun, OutboxMessage
from rag_checks.settings import Settings


@dataclass(frozen=True)
class NightResult:
    """What one night produced; `outage` is why the judge did not get through it."""

    run: EvalRun
    report: ReportFiles | None
    message: OutboxMessage | None
    outage: JudgeFatal | JudgeUnavailable | None = None


def run_night(
    monitor: Monitor,
    settings: Settings,
    night: date,
    *,
    backfill: bool = False,
    ask_bot: bool = True,
    with_report: bool = True,
    use_cache: bool = True,
    wanted_alert: Literal["auto", "yes", "no"] = "auto",
    now: datetime | None = None,
    step: Callable[[str], None] = lambda _text: None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> NightResult:
    """Plan, grade, check, report and tell, in order; the same steps the DAG runs as tasks.

    A judge outage does not end the night: what was not graded is recorded as such and people are told. They
    are told too when the report cannot be written, and when the night ended early: the monitor is broken.

    Raises:
        OSError: the report could not be written (disk full, no permission); everything else is done.
        SlackUnavailable, SlackRejected, DeliveryUncertain: nobody could be told; everything else is done.
        SourceError, StoreUnavailable and other errors of ours: the night ended there.
    """
    now = now or datetime.now(UTC)
    options = _Options(backfill, ask_bot, with_report, use_cache, wanted_alert, now)
    try:
        return _night(monitor, settings, night, options, step, progress)
    except (SlackUnavailable, SlackRejected, DeliveryUncertain):
        raise
    except (PermanentError, TransientError, OSError) as error:
        try:
            alert_failed_night(monitor, settings, night, error, backfill=backfill, wanted=wanted_alert)
        except (PermanentError, TransientError) as untold:
            error.add_note(f"nobody could be told: {untold}")
        raise


@dataclass(frozen=True)
class _Options:
    """How a night is run; as in `run_night`."""

    backfill: bool
    ask_bot: bool
    with_report: bool
    use_cache: bool
    wanted_alert: Literal["auto", "yes", "no"]
    now: datetime


def _night(
    monitor: Monitor,
    settings: Settings,
    night: date,
    options: _Options,
    step: Callable[[str], None],
    progress: Callable[[int, int], None],
) -> NightResult:
    now = options.now
    step(f"reading conversations of {night}")
    plan = plan_night(monitor, settings, night, backfill=options.backfill, ask_bot=options.ask_bot, now=now)
    step(f"grading {plan.counts.get('sampled', 0)} logged turns and {plan.counts['golden']} golden items")
    outage: JudgeFatal | JudgeUnavailable | None = None
    try:
        evaluate_shard(monitor, settings, plan.eval_run_id, use_cache=options.use_cache, progress=progress)
    except (JudgeFatal, JudgeUnavailable) as error:
        # It is noted on the run too; reconcile records every case it left ungraded.
        outage = error
    reconcile(monitor, settings, plan.eval_run_id)
    step("deciding")
    run = check(monitor, settings, plan.eval_run_id)
    files: ReportFiles | None = None
    unwritten: OSError | None = None
    if options.with_report:
        step("writing the report")
        try:
            files = report(monitor, settings, plan.eval_run_id)
        except OSError as error:
            unwritten = error
    step("telling people")
    message = alert(monitor, settings, plan.eval_run_id, wanted=options.wanted_alert, now=now)
    if unwritten is not None:
        raise unwritten
    return NightResult(run, files, message, outage)
