"""The watchdog: whether every monitor's last due night was delivered, looked at from outside the run (P10).

A run that never started cannot say so. What is looked at is the store: the run of the night that the schedule
made due last must be `done`, which it is when its people were told.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from croniter import croniter

from rag_checks.errors import RagChecksError
from rag_checks.monitor import Monitor
from rag_checks.monitor_files import find_monitor_files
from rag_checks.pipeline.deliver import alert_broken
from rag_checks.pipeline.runs import nightly_run_id
from rag_checks.records import EvalRun, Language, OutboxMessage
from rag_checks.settings import Settings
from rag_checks.store import Store

# Beside the run's own deadline: Airflow's queue, retries, a slow bot.
_GRACE = timedelta(hours=2)


@dataclass(frozen=True)
class Overdue:
    """A night that should have been told and was not."""

    night: date
    due: datetime
    status: str | None
    """How far its run got; None when there is none."""

    message: OutboxMessage
    """What the team was told about it, once a night."""


def watch(monitor: Monitor, settings: Settings, *, now: datetime | None = None) -> Overdue | None:
    """Tell the team when the last due night is not delivered; None when all is well.

    A monitor that has never run is not watched yet, nor one without a schedule, nor nights after its
    `last_night`. A night that was told as broken already is not told again.

    Raises:
        SlackUnavailable, SlackRejected, DeliveryUncertain: nobody could be told.
        StoreUnavailable, StoreError: the store does not answer.
    """
    now = now or datetime.now(UTC)
    due = last_due(monitor, now)
    if due is None:
        return None
    night = due.astimezone(monitor.zone).date() - timedelta(days=1)
    with Store.open(settings.store_url) as store:
        begun = store.runs(monitor.monitor, kind="nightly")
        run = store.run(nightly_run_id(monitor.monitor, night))
    if not begun or night < begun[-1].night or (run is not None and run.status == "done"):
        return None
    what, next_step = _WORDS[monitor.language]
    message = alert_broken(
        monitor,
        settings,
        night,
        what=what.format(due=f"{due.astimezone(monitor.zone):%Y-%m-%d %H:%M}"),
        error=_how_far(run, monitor.language),
        next_step=next_step.format(
            monitor=monitor.monitor, command=f"rag-checks run {monitor.monitor} --night {night}"
        ),
    )
    return Overdue(night, due, run.status if run else None, message)


@dataclass(frozen=True)
class Watched:
    """What was found for one monitor file."""

    monitor: str
    overdue: Overdue | None
    problem: str | None

    @property
    def bad(self) -> bool:
        """Whether somebody has to act."""
        return self.overdue is not None or self.problem is not None

    def as_line(self) -> str:
        """For the terminal."""
        if self.problem is not None:
            return f"{self.monitor}: {self.problem}"
        if self.overdue is None:
            return f"{self.monitor}: delivered"
        told = {"sent": "the team was told", "printed": "printed and saved"}.get(
            self.overdue.message.state, f"message {self.overdue.message.state}"
        )
        return f"{self.monitor}: night {self.overdue.night} is overdue since {self.overdue.due}; {told}"

    def as_json(self) -> dict[str, str | None]:
        """For other programs."""
        late = self.overdue
        return {
            "monitor": self.monitor,
            "overdue": late.night.isoformat() if late else None,
            "status": late.status if late else None,
            "message": late.message.state if late else None,
            "problem": self.problem,
        }


def watch_all(settings: Settings, name: str | None = None, *, now: datetime | None = None) -> list[Watched]:
    """`watch` for one monitor, or for every file; a broken file, or a Slack that is down, hides no other."""
    found = []
    for file in [name] if name else [str(path) for path in find_monitor_files(settings.monitors)]:
        called = Path(file).stem
        try:
            monitor = settings.monitor(file)
            called = monitor.monitor
            found.append(Watched(called, watch(monitor, settings, now=now), None))
        except RagChecksError as error:
            found.append(Watched(called, None, str(error)))
    return found


def last_due(monitor: Monitor, now: datetime) -> datetime | None:
    """When the last night fell due whose result should be there by `now`; None when nothing is due."""
    if monitor.schedule is None:
        return None
    patience = timedelta(minutes=monitor.run_deadline_minutes) + _GRACE
    cron = croniter(monitor.schedule, (now - patience).astimezone(monitor.zone))
    due: datetime = cron.get_prev(datetime)
    if monitor.last_night is None or due.date() - timedelta(days=1) <= monitor.last_night:
        return due
    return None


def _how_far(run: EvalRun | None, language: Language) -> str:
    if run is None:
        return {"en": "There is no run of this night.", "zh": "没有这一晚的运行记录。"}[language]
    told = {"en": "The run stands at {status!r}.", "zh": "该次运行停在 {status!r}。"}[language]
    return " ".join(filter(None, [told.format(status=run.status), run.problem]))


_WORDS = {
    "en": (
        "The night due at {due} has no delivered result.",
        "see whether Airflow's scheduler runs and rag_nightly_{monitor} is not paused, then: {command}",
    ),
    "zh": (
        "应于 {due} 开始的一晚没有送达结果。",
        "检查 Airflow 调度器是否在运行、rag_nightly_{monitor} 是否被暂停；然后补跑：{command}",
    ),
}
