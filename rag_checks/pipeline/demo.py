"""The demo's history: the bot's earlier nights, really run and really graded."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from rag_checks.demo import timeline
from rag_checks.errors import ConfigError
from rag_checks.monitor import Monitor
from rag_checks.pipeline.deliver import ReportFiles, report_files
from rag_checks.pipeline.run import run_night
from rag_checks.pipeline.runs import nightly_run_id
from rag_checks.pipeline.summary import summarise
from rag_checks.records import OutboxMessage, RunSummary
from rag_checks.settings import Settings
from rag_checks.store import Store


@dataclass(frozen=True)
class DemoHistory:
    """The demo as prepared: all nights before `shown` are in the store."""

    monitor: Monitor
    nights_run: int
    nights_kept: int


def load_history(
    settings: Settings, *, defect: bool = True, progress: Callable[[str], None] = lambda _text: None
) -> DemoHistory:
    """Write the demo's logs, then run every earlier night with the release of that day deployed.

    Nights that are done are kept; an interrupted history is taken up where it ended. Raises ConfigError when
    the store holds the other demo, with or without the defect.
    """
    nights = [timeline.FIRST_NIGHT + timedelta(days=day) for day in range(timeline.NIGHTS - 1)]
    done = _done(settings, nights, defect=defect)
    home = settings.home / "demo"
    if len(done) < len(nights) or not home.is_dir():
        progress("the demo bot is answering three weeks of questions")
        timeline.prepare(home, defect=defect)
    monitor = _monitor(settings)
    # All logs are there already: graded on the demo's last morning, no line of them is in the future.
    present = datetime.combine(timeline.SHOWN_NIGHT + timedelta(days=1), time(2), tzinfo=monitor.zone)
    for night in nights:
        if night in done:
            continue
        progress(f"grading night {night} ({nights.index(night) + 1} of {len(nights)})")
        timeline.deploy(home, night, defect=defect)
        run_night(monitor, settings, night, with_report=False, wanted_alert="no", now=present)
    timeline.deploy(home, timeline.SHOWN_NIGHT, defect=defect)
    return DemoHistory(monitor, len(nights) - len(done), len(done))


def shown_night(settings: Settings) -> tuple[RunSummary, ReportFiles, OutboxMessage | None]:
    """What the shown night's run left behind: verdicts, report files, the message. Raises StoreError."""
    monitor = _monitor(settings)
    eval_run_id = nightly_run_id(monitor.monitor, timeline.SHOWN_NIGHT)
    summary, _ = summarise(monitor, settings, eval_run_id)
    with Store.open(settings.store_url) as store:
        messages = store.messages(eval_run_id)
    return summary, report_files(settings, monitor, eval_run_id), messages[-1] if messages else None


def _done(settings: Settings, nights: Sequence[date], *, defect: bool) -> set[date]:
    """The nights that need no grading. Raises ConfigError."""
    with Store.open(settings.store_url) as store:
        runs = [run for night in nights if (run := store.run(nightly_run_id(timeline.MONITOR, night)))]
    if any(run.release not in (None, timeline.deployed_on(run.night, defect=defect)) for run in runs):
        raise ConfigError(
            f"the store holds the demo {'without' if defect else 'with'} the defect, and nights that are done"
            f" are kept; set RAG_CHECKS_HOME to another folder, or remove {settings.home}"
        )
    return {run.night for run in runs if run.status == "done"}


def _monitor(settings: Settings) -> Monitor:
    """The demo's monitor: the one in the monitors folder, or the copy beside its data."""
    own = settings.monitors / f"{timeline.MONITOR}.yaml"
    copy = settings.home / "demo" / own.name
    if not own.is_file() and not copy.is_file():
        raise ConfigError("the demo has no history yet; start it with `rag-checks demo history`")
    return settings.monitor(str(own if own.is_file() else copy))
