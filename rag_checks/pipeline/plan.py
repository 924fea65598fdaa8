"""Planning a night: which conversations, which golden items, in which shards."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Literal

from rag_checks import __version__
from rag_checks.errors import ConfigError
from rag_checks.intake import Collected, collect, night_window, resolve_night
from rag_checks.intake.redact import Redactor
from rag_checks.judge.canaries import load_canaries
from rag_checks.metrics.catalogue import wanted as wanted_metrics
from rag_checks.monitor import Monitor, OpenAIJudge
from rag_checks.pipeline.items import read_items
from rag_checks.pipeline.runs import main_release, nightly_run_id
from rag_checks.records import Case, EvalItem, EvalRun, GoldenSet, Response, SampledTurn
from rag_checks.settings import Settings
from rag_checks.store import Store
from rag_checks.text import language_of


@dataclass(frozen=True)
class Plan:
    """What a night will grade: ids and counts only, as they cross XCom."""

    eval_run_id: str
    shards: list[int]
    counts: dict[str, int]


def plan_night(
    monitor: Monitor,
    settings: Settings,
    night: date,
    *,
    backfill: bool = False,
    ask_bot: bool = True,
    now: datetime | None = None,
) -> Plan:
    """Read the night's conversations, sample them, add the golden set and write the plan.

    Planning a night again keeps every answer and score; only questions that the bot failed to answer are
    asked once more.

    Args:
        monitor: the bot under watch.
        settings: places.
        night: the local day to grade.
        backfill: never alerts.
        ask_bot: whether the golden set is asked live; when not, live answers an earlier run got are kept.
        now: the present, for tests.
    """
    now = now or datetime.now(UTC)
    window = night_window(night, monitor.zone)
    collected = collect_night(monitor, night, now)
    with Store.open(settings.store_url) as store:
        golden = load_golden(monitor, store, now)
        eval_run_id = nightly_run_id(monitor.monitor, night)
        earlier = store.run(eval_run_id)
        cases = production_cases(collected, monitor.shards)
        live = ask_bot and monitor.bot is not None
        if live and golden is not None:
            cases += golden_cases(golden.items, monitor.shards)
        else:
            asked = [case for case in store.cases(eval_run_id) if case.source == "golden"]
            cases += [_not_asked(case) if case.response is None else case for case in asked]
        cases += canary_cases(monitor)
        early = window.end + timedelta(hours=_lateness(monitor)) - now
        counts = {
            **collected.counts,
            "golden": sum(case.source == "golden" for case in cases),
            "canaries": sum(case.source == "canary" for case in cases),
            "asked_live": int(live),
            "minutes_early": max(0, round(early.total_seconds() / 60)),
        }
        run = EvalRun(
            eval_run_id=eval_run_id,
            monitor=monitor.monitor,
            kind="nightly",
            night=night,
            window_start=window.start,
            window_end=window.end,
            backfill=backfill,
            release=main_release(cases),
            golden_version=golden.version if golden else None,
            metric_versions={metric.name: metric.version for metric in wanted_metrics(monitor)},
            config_hash=monitor.config_hash,
            code_version=__version__,
            counts=counts,
            created_at=earlier.created_at if earlier else now,
        )
        store.save_run(run)
        store.plan_cases(eval_run_id, cases)
        store.save_quarantine(eval_run_id, collected.quarantine)
    return Plan(eval_run_id, sorted({case.shard for case in cases}) or [0], counts)


def plan_for_dag_run(
    monitor: Monitor,
    settings: Settings,
    *,
    run_type: str,
    logical_date: datetime | None,
    run_after: datetime,
    night: str | None,
    ask_bot: Literal["auto", "yes", "no"],
    now: datetime | None = None,
) -> Plan:
    """`plan_night` with the night and the kind of run that an Airflow DAG run stands for."""
    now = now or datetime.now(UTC)
    day = night_of_dag_run(monitor, logical_date=logical_date, run_after=run_after, night=night)
    backfill = run_type == "backfill"
    live = asks_live(monitor, day, backfill=backfill, now=now)
    ask = {"yes": True, "no": False, "auto": live}[ask_bot]
    return plan_night(monitor, settings, day, backfill=backfill, ask_bot=ask, now=now)


def asks_live(monitor: Monitor, night: date, *, backfill: bool, now: datetime | None = None) -> bool:
    """Whether the golden set is asked when nobody says so: for last night only.

    What the bot answers today says nothing about an older day, and a backfill is about older days.
    """
    now = now or datetime.now(UTC)
    return not backfill and night >= now.astimezone(monitor.zone).date() - timedelta(days=1)


def night_of_dag_run(
    monitor: Monitor, *, logical_date: datetime | None, run_after: datetime, night: str | None
) -> date:
    """The local day that an Airflow DAG run grades. Raises ConfigError when `night` is no day."""
    try:
        explicit = date.fromisoformat(night) if night else None
    except ValueError as error:
        raise ConfigError(f"{night!r} is not a day; write YYYY-MM-DD", key="night") from error
    return resolve_night(logical_date=logical_date, explicit_night=explicit, zone=monitor.zone, now=run_after)


def load_golden(monitor: Monitor, store: Store, now: datetime) -> GoldenSet | None:
    """The golden set: its file, when the monitor names one, becomes a new version if it changed.

    It is stored masked (P7); `masked.MaskedBot` asks the questions as the file has them.
    """
    if monitor.golden.path is None:
        return store.golden(monitor.golden_name)
    return store.save_golden(monitor.golden_name, golden_items(monitor.directory / monitor.golden.path), now)


def golden_items(path: Path) -> list[EvalItem]:
    """The approved items of a golden file, masked. Raises ConfigError, SourceError."""
    redactor = Redactor()
    items = [redactor.mask_item(item)[0] for item in read_items(path) if item.status == "approved"]
    if not items:
        raise ConfigError("holds no approved items", file=str(path), key="golden.path")
    return items


def _lateness(monitor: Monitor) -> float:
    """Hours after a day's end until which its lines may still be written."""
    return monitor.conversations.lateness_hours if monitor.conversations else 0


def collect_night(monitor: Monitor, night: date, now: datetime) -> Collected:
    """The night's conversations, masked and sampled. Raises SourceError, SourceUnavailable."""
    if monitor.conversations is None:
        return Collected([], {}, {}, {}, [], {}, {})
    window = night_window(night, monitor.zone)
    return collect(monitor.conversations, monitor.directory, window, monitor.sample, now=now)


def _production_case(sampled: SampledTurn, shards: int) -> Case:
    turn = sampled.turn
    case_id = f"production:{turn.turn_id}"
    return Case(
        case_id=case_id,
        source="production",
        item=EvalItem(
            item_id=turn.turn_id,
            user_input=turn.user_input,
            history=turn.history,
            tags=turn.tags,
            origin="sampled",
            status="candidate",
        ),
        response=Response(
            response=None if turn.error and not turn.response.strip() else turn.response,
            retrieved_contexts=turn.retrieved_contexts,
            retrieved_context_ids=turn.retrieved_context_ids,
            intent=turn.intent,
            rewritten_query=turn.rewritten_query,
            tool_calls=turn.tool_calls,
            release=turn.release,
            latency_ms=turn.latency_ms,
            answered_at=turn.asked_at,
            feedback=turn.feedback,
            error=turn.error,
            error_kind="reported" if turn.error else None,
        ),
        language=language_of(turn.user_input),
        intent=turn.intent or "unknown",
        stratum=sampled.stratum,
        weight=sampled.weight,
        conversation_id=turn.conversation_id,
        shard=_shard(case_id, shards),
    )


def _golden_case(item: EvalItem, shards: int) -> Case:
    case_id = f"golden:{item.item_id}"
    return Case(
        case_id=case_id,
        source="golden",
        item=item,
        language=language_of(item.user_input),
        intent=item.expected_intent or "unknown",
        shard=_shard(case_id, shards),
    )


def production_cases(collected: Collected, shards: int) -> list[Case]:
    """The sampled turns as cases, answered as logged."""
    return [_production_case(sampled, shards) for sampled in collected.turns]


def golden_cases(items: Sequence[EvalItem], shards: int) -> list[Case]:
    """Golden items as cases that nobody has asked yet."""
    return [_golden_case(item, shards) for item in items]


def canary_cases(monitor: Monitor) -> list[Case]:
    """The frozen answers a model judge grades; none for the offline judge. Raises ConfigError."""
    if not (isinstance(monitor.judge, OpenAIJudge) and monitor.canaries.enabled):
        return []
    return [
        case.model_copy(update={"shard": _shard(case.case_id, monitor.shards)})
        for case in load_canaries(monitor)
    ]


def _not_asked(case: Case) -> Case:
    """A golden case of an interrupted night: what the bot would say today says nothing about that night."""
    error = "not asked: the night was interrupted and is graded without asking the bot"
    return case.model_copy(update={"response": Response(response=None, error=error, error_kind="not_asked")})


def _shard(case_id: str, shards: int) -> int:
    return zlib.crc32(case_id.encode()) % shards
