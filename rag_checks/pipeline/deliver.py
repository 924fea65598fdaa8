"""Telling people: the report file and the one message of a run."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Literal

from rag_checks import reports
from rag_checks.alerts.messages import broken, digest
from rag_checks.alerts.outbox import deliver, post
from rag_checks.alerts.slack import sender_from_env
from rag_checks.errors import (
    ConfigError,
    DeliveryUncertain,
    RunIncomplete,
    SlackRejected,
    SlackUnavailable,
    StoreError,
    StoreUnavailable,
)
from rag_checks.monitor import Monitor
from rag_checks.pipeline.plan import night_of_dag_run
from rag_checks.pipeline.runs import stored_run
from rag_checks.pipeline.summary import report_name, summarise
from rag_checks.pipeline.writing import write_whole
from rag_checks.protocols import Outbox
from rag_checks.records import Level, OutboxMessage, RunSummary
from rag_checks.settings import Settings
from rag_checks.store import Store


@dataclass(frozen=True)
class ReportFiles:
    """Where the files of one report are."""

    html: Path
    trend: Path


def report(monitor: Monitor, settings: Settings, eval_run_id: str) -> ReportFiles:
    """Write the self-contained HTML report and the trend picture of a checked run.

    Files appear whole or not at all. Raises StoreError, OSError (disk full, no permission).
    """
    summary, graded = summarise(monitor, settings, eval_run_id)
    files = report_files(settings, monitor, eval_run_id)
    files.html.parent.mkdir(parents=True, exist_ok=True)
    picture = reports.trend_png(summary)
    if picture is not None:
        write_whole(files.trend, picture)
    write_whole(files.html, reports.render_html(summary, graded).encode("utf-8"))
    return files


def report_files(settings: Settings, monitor: Monitor, eval_run_id: str) -> ReportFiles:
    """Where the files of a run's report are, written or not."""
    folder = settings.reports / monitor.monitor
    return ReportFiles(folder / report_name(eval_run_id), folder / f"{eval_run_id}.png")


def alert(
    monitor: Monitor,
    settings: Settings,
    eval_run_id: str,
    *,
    wanted: Literal["auto", "yes", "no"] = "auto",
    now: datetime | None = None,
) -> OutboxMessage | None:
    """Tell the owning team, once per run; None when nobody is told.

    `auto` tells nobody about a backfill, nor when all is well and the monitor only tells problems.

    Raises RunIncomplete before the run is checked, and what `alerts.outbox.post` raises when nobody was told.
    """
    now = now or datetime.now(UTC)
    with Store.open(settings.store_url) as store:
        run = stored_run(store, eval_run_id)
        if run.status not in {"checked", "done"}:
            raise RunIncomplete(f"{eval_run_id} has no verdicts yet: nothing can be told")
        message = None
        if wanted == "yes" or (wanted == "auto" and not run.backfill):
            _send_waiting(store, monitor, settings, now, but=f"{eval_run_id}:digest")
            summary, _ = summarise(monitor, settings, eval_run_id, with_trends=False)
            if wanted == "yes" or monitor.alerts.when == "always" or summary.level is not Level.OK:
                message = _post(
                    store.outbox(), monitor, settings, _message(monitor, settings, summary, now), now
                )
        store.save_run(run.model_copy(update={"status": "done", "finished_at": now}))
        return message


def alert_broken(
    monitor: Monitor, settings: Settings, night: date, *, what: str, error: str, next_step: str
) -> OutboxMessage:
    """Tell the team that the monitor itself is broken; once per monitor and night.

    When it is the store that is broken nobody can know what was told before: told then at each call, because
    twice is better than never.
    """
    now = datetime.now(UTC)
    payload = broken(monitor.title or monitor.monitor, monitor.language, night, what, error, next_step)
    message = OutboxMessage(
        message_id=f"{monitor.monitor}-{night:%Y-%m-%d}:broken",
        eval_run_id=None,
        kind="broken",
        channel=monitor.alerts.channel,
        payload=payload,
        created_at=now,
    )
    try:
        with Store.open(settings.store_url) as store:
            _send_waiting(store, monitor, settings, now, but=message.message_id)
            return _post(store.outbox(), monitor, settings, message, now)
    except (ConfigError, StoreError, StoreUnavailable):
        return _post(_Unstored(), monitor, settings, message, now)


class _Unstored:
    """An outbox of one message for when there is no store."""

    def enqueue(self, message: OutboxMessage) -> OutboxMessage:
        self._message = message
        return message

    def claim(self, _message_id: str, _now: datetime) -> OutboxMessage | None:
        return self._message

    def update(self, message: OutboxMessage) -> None:
        self._message = message


def alert_failed_task(
    monitor: Monitor,
    settings: Settings,
    *,
    run_type: str,
    logical_date: datetime | None,
    run_after: datetime,
    night: str | None,
    wanted: Literal["auto", "yes", "no"],
    task: str,
    error: str,
    log: str,
) -> OutboxMessage | None:
    """`alert_broken` for an Airflow task that failed for good; None when nobody is told.

    As with `alert`, `auto` tells nobody about a backfill: whoever started it is looking at it.
    """
    if wanted == "no" or (wanted == "auto" and run_type == "backfill"):
        return None
    day = night_of_dag_run(monitor, logical_date=logical_date, run_after=run_after, night=night)
    what, next_step = _FAILED_TASK[monitor.language]
    return alert_broken(
        monitor, settings, day, what=what.format(task=task), error=error, next_step=next_step.format(log=log)
    )


_FAILED_TASK = {
    "en": (
        "The Airflow task {task} failed for good.",
        "read its log, mend the cause, then clear the task in Airflow: {log}",
    ),
    "zh": (
        "Airflow 任务 {task} 最终失败。",
        "查看日志，排除原因，然后在 Airflow 中清除（Clear）该任务：{log}",
    ),
}


def alert_failed_night(
    monitor: Monitor,
    settings: Settings,
    night: date,
    error: Exception,
    *,
    backfill: bool,
    wanted: Literal["auto", "yes", "no"],
) -> OutboxMessage | None:
    """`alert_broken` for a night of `rag-checks run` that ended early; None when nobody is told."""
    if wanted == "no" or (wanted == "auto" and backfill):
        return None
    what, next_step = _FAILED_NIGHT[monitor.language]
    return alert_broken(monitor, settings, night, what=what, error=str(error), next_step=next_step)


_FAILED_NIGHT = {
    "en": (
        "rag-checks run ended before the night was done.",
        "mend the cause, then run the night again; what is done already is kept.",
    ),
    "zh": (
        "rag-checks run 未能完成本晚检查。",
        "排除原因后重新运行这一晚；已完成的部分会保留。",
    ),
}


def _send_waiting(store: Store, monitor: Monitor, settings: Settings, now: datetime, *, but: str) -> None:
    """Send what an outage of Slack kept from this monitor's people on earlier nights.

    The outbox sees to it that each is sent once. What cannot be sent now keeps its state: tonight's own
    message meets the same outage and says so.
    """
    sender = sender_from_env(monitor.alerts, settings.environ)
    for message in store.messages():
        own = message.message_id.startswith(f"{monitor.monitor}-") and message.message_id != but
        if own and message.state in {"pending", "sending"}:
            try:
                deliver(store.outbox(), message.message_id, sender, now=now, save_dir=settings.unsent)
            except (SlackUnavailable, SlackRejected, DeliveryUncertain):
                return


def _post(
    outbox: Outbox, monitor: Monitor, settings: Settings, message: OutboxMessage, now: datetime
) -> OutboxMessage:
    sender = sender_from_env(monitor.alerts, settings.environ)
    return post(outbox, message, sender, now=now, save_dir=settings.unsent)


def _message(monitor: Monitor, settings: Settings, summary: RunSummary, now: datetime) -> OutboxMessage:
    trend = report_files(settings, monitor, summary.run.eval_run_id).trend
    return OutboxMessage(
        message_id=f"{summary.run.eval_run_id}:digest",
        eval_run_id=summary.run.eval_run_id,
        kind="digest",
        channel=monitor.alerts.channel,
        payload=digest(summary, mention=monitor.alerts.mention),
        attachment=str(trend) if trend.exists() else None,
        created_at=now,
    )
