"""The check-up: is everything a night needs there, and if not, what to do."""

import asyncio
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from rag_checks.alerts.slack import sender_from_env
from rag_checks.errors import ConfigError, RagChecksError
from rag_checks.intake.sources import find_files
from rag_checks.judge import check as check_judge
from rag_checks.judge import open_judge
from rag_checks.monitor import Monitor
from rag_checks.monitor_files import (
    find_monitor_files,
    load_monitor,
    missing_secrets,
    monitor_file,
    same_names,
)
from rag_checks.pipeline.extras import MONITOR_EXTRA, lacking
from rag_checks.pipeline.masked import open_masked_bot
from rag_checks.pipeline.plan import load_golden
from rag_checks.records import EvalItem
from rag_checks.settings import Settings
from rag_checks.store import Store, shown_address

if TYPE_CHECKING:
    from pathlib import Path

STALE_AFTER = timedelta(hours=36)
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Check:
    """One thing looked at."""

    subject: str
    state: Literal["ok", "note", "bad"]
    detail: str
    fix: str | None = None

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)


def doctor(settings: Settings, name: str | None = None, *, now: datetime | None = None) -> list[Check]:
    """Look at the store, then at every monitor (or one): its file, secrets, sources, judge, bot and Slack."""
    now = now or datetime.now(UTC)
    checks = [_store(settings)]
    try:
        paths = [monitor_file(settings.monitors, name)] if name else find_monitor_files(settings.monitors)
    except ConfigError as error:
        return [*checks, Check("monitors", "bad", str(error))]
    missing = lacking()
    if not paths:
        checks.append(
            Check(
                "monitors",
                "note",
                f"no monitor files in {settings.monitors}",
                "set RAG_CHECKS_MONITORS or write one; `rag-checks config schema` describes it",
            )
        )
    elif missing:
        detail = f"light install, without {', '.join(missing)}: it grades files, nights cannot be run"
        checks.append(Check("installation", "bad", detail, MONITOR_EXTRA))
    names: dict[Path, str] = {}
    for path in paths:
        try:
            monitor = load_monitor(path, settings.environ)
        except ConfigError as error:
            checks.append(Check(str(path), "bad", "cannot be used", str(error)))
            continue
        names[path] = monitor.monitor
        checks.append(Check(monitor.monitor, "ok", f"{path} is valid"))
        checks.extend(_monitor(monitor, settings, now))
    return [*checks, *(Check("monitors", "bad", problem) for problem in same_names(names))]


def _store(settings: Settings) -> Check:
    place = shown_address(settings.store_url)
    try:
        with Store.open(settings.store_url) as store:
            return Check("store", "ok", f"{place} is reachable, {len(store.monitors())} monitors have runs")
    except RagChecksError as error:
        return Check(
            "store", "bad", f"{place}: {error}", "check RAG_CHECKS_STORE, or run `rag-checks db upgrade`"
        )


def _monitor(monitor: Monitor, settings: Settings, now: datetime) -> list[Check]:
    name = monitor.monitor
    checks = [
        Check(f"{name}: secrets", "bad", str(secret)) for secret in missing_secrets(monitor, settings.environ)
    ]
    checks.append(_conversations(monitor, now))
    golden_check, item = _golden(monitor, settings, now)
    checks.append(golden_check)
    checks += asyncio.run(_judge_and_bot(monitor, item))
    checks.append(_slack(monitor, settings))
    return checks


def _slack(monitor: Monitor, settings: Settings) -> Check:
    subject = f"{monitor.monitor}: Slack"
    try:
        sender = sender_from_env(monitor.alerts, settings.environ)
        if sender is None:
            return Check(
                subject,
                "note",
                "no SLACK_BOT_TOKEN or SLACK_WEBHOOK_URL: messages are printed and saved",
                "set one of them, or the Airflow connection rag_checks_slack",
            )
        if find_spec("slack_sdk") is None:
            return Check(subject, "bad", "the package slack_sdk is missing", MONITOR_EXTRA)
        return Check(subject, "ok", sender.check(monitor.alerts.channel))
    except RagChecksError as error:
        return Check(subject, "bad", str(error))


def _conversations(monitor: Monitor, now: datetime) -> Check:
    subject = f"{monitor.monitor}: conversations"
    spec = monitor.conversations
    if spec is None:
        return Check(subject, "note", "none configured: only the golden set is graded")
    try:
        files = find_files(spec.path, monitor.directory, since=_LONG_AGO).paths
        newest = max(datetime.fromtimestamp(file.stat().st_mtime, UTC) for file in files)
    except (RagChecksError, OSError) as error:
        return Check(subject, "bad", str(error), "correct conversations.path")
    detail = f"{len(files)} files, newest written {newest:%Y-%m-%d %H:%M} UTC"
    if now - newest > STALE_AFTER:
        return Check(subject, "note", detail, "nothing new for over 36 hours: is the export still running?")
    return Check(subject, "ok", detail)


def _golden(monitor: Monitor, settings: Settings, now: datetime) -> tuple[Check, EvalItem | None]:
    subject = f"{monitor.monitor}: golden set"
    try:
        with Store.open(settings.store_url) as store:
            golden = load_golden(monitor, store, now)
    except RagChecksError as error:
        return Check(subject, "bad", str(error)), None
    if golden is None:
        return Check(subject, "note", "none: set golden.path to a JSONL file of questions with answers"), None
    return Check(subject, "ok", f"version {golden.version}, {len(golden.items)} items"), golden.items[0]


async def _judge_and_bot(monitor: Monitor, item: EvalItem | None) -> list[Check]:
    checks = []
    subject = f"{monitor.monitor}: judge"
    try:
        judge = open_judge(monitor.judge, directory=monitor.directory)
        try:
            checks += [Check(subject, "ok", line) for line in await check_judge(judge)]
        finally:
            await judge.close()
    except RagChecksError as error:
        checks.append(Check(subject, "bad", str(error)))
    subject = f"{monitor.monitor}: bot"
    question = item or EvalItem(item_id="doctor", user_input="hello")
    try:
        bot = open_masked_bot(monitor)
        if bot is None:
            return [*checks, Check(subject, "note", "none configured: the golden set is not asked live")]
        try:
            answer = await bot.ask(question)
            passages = answer.retrieved_contexts
            detail = f"answered {len(answer.response or '')} characters"
            detail += ", logs no passages" if passages is None else f" from {len(passages)} passages"
            checks.append(Check(subject, "ok", detail))
        finally:
            await bot.close()
    except RagChecksError as error:
        checks.append(Check(subject, "bad", str(error)))
    return checks
