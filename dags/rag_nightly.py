"""One DAG a monitor file: intake → grade (mapped over shards) → reconcile → check → report → alert."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, CronDataIntervalTimetable, Param, get_current_context, task
from airflow.sdk.exceptions import AirflowFailException
from rag_checks_support import MONITORS, POOL, kinds_of_failure, settings, tell_broken

from rag_checks.errors import ConfigError
from rag_checks.monitor import Monitor
from rag_checks.monitor_files import find_monitor_files, load_monitor

DOC = """**{title}** – owner {owner}.

Every night: sample the day's conversations, ask the golden questions, grade, decide, report and tell.
A day can be graded again (`night`), and past days with `airflow backfill create --dag-id {dag_id}
--from-date … --to-date …`: backfilled days grade logged turns only and alert nobody."""
CHOICE = ["auto", "yes", "no"]


def nightly(path: Path, monitor: Monitor) -> DAG:
    """The DAG of one monitor."""
    dag_id = f"rag_nightly_{monitor.monitor}"
    with DAG(
        dag_id,
        schedule=CronDataIntervalTimetable(monitor.schedule, timezone=monitor.time_zone)
        if monitor.schedule
        else None,
        start_date=datetime(2026, 1, 1, tzinfo=monitor.zone),
        catchup=False,
        max_active_runs=1,
        tags=["rag_checks", "nightly", *([monitor.owner] if monitor.owner else [])],
        doc_md=DOC.format(
            title=monitor.title or monitor.monitor, owner=monitor.owner or "not named", dag_id=dag_id
        ),
        default_args={
            "owner": monitor.owner or "rag_checks",
            "retries": 2,
            "retry_delay": timedelta(seconds=30),
            "retry_exponential_backoff": True,
        },
        params={
            "monitor": Param(str(path), type="string", description="The monitor file.", const=str(path)),
            "night": Param(
                None,
                type=["null", "string"],
                format="date",
                description="Day to grade; empty: the run's own.",
            ),
            "ask_bot": Param(
                "auto", enum=CHOICE, description="Ask the golden questions live (auto: not in backfills)."
            ),
            "alert": Param("auto", enum=CHOICE, description="Tell the team (auto: not in backfills)."),
        },
    ) as dag:
        _tasks()
    return dag


def _tasks() -> None:
    @task(on_failure_callback=tell_broken)
    def plan(params: Any = None) -> dict[str, Any]:
        from rag_checks import pipeline

        context = get_current_context()
        with kinds_of_failure():
            places = settings()
            monitor = places.monitor(params["monitor"])
            planned = pipeline.plan_for_dag_run(
                monitor,
                places,
                run_type=str(context["dag_run"].run_type),
                logical_date=context.get("logical_date"),
                data_interval_start=context.get("data_interval_start"),
                night=params["night"],
                ask_bot=params["ask_bot"],
            )
        return {"eval_run_id": planned.eval_run_id, "shards": planned.shards, "counts": planned.counts}

    @task(pool=POOL, map_index_template="shard {{ task.op_kwargs['shard'] }}")
    def evaluate(eval_run_id: str, shard: int, params: Any = None) -> dict[str, int]:
        from rag_checks import pipeline

        with kinds_of_failure():
            places = settings()
            outcome = pipeline.evaluate_shard(places.monitor(params["monitor"]), places, eval_run_id, shard)
        return {"graded": outcome.graded, "skipped": outcome.skipped, "judge_errors": outcome.judge_errors}

    # all_done: a failed shard must not hide what the others found; what is missing is recorded as missing.
    @task(trigger_rule="all_done", on_failure_callback=tell_broken)
    def reconcile(eval_run_id: str, params: Any = None) -> dict[str, int]:
        return _step("reconcile", params, eval_run_id).counts

    @task(on_failure_callback=tell_broken)
    def check(eval_run_id: str, params: Any = None) -> str:
        return _step("check", params, eval_run_id).status

    @task
    def report(eval_run_id: str, params: Any = None) -> str:
        return str(_step("report", params, eval_run_id).html)

    # all_done: a report that cannot be written (disk full) must not keep people from being told.
    @task(trigger_rule="all_done", retries=5, on_failure_callback=tell_broken)
    def alert(eval_run_id: str, params: Any = None) -> str | None:
        message = _step("alert", params, eval_run_id, wanted=params["alert"])
        return message.state if message else None

    planned = plan()
    eval_run_id = planned["eval_run_id"]
    graded = evaluate.partial(eval_run_id=eval_run_id).expand(shard=planned["shards"])
    graded >> reconcile(eval_run_id) >> check(eval_run_id) >> report(eval_run_id) >> alert(eval_run_id)


def _step(name: str, params: Any, eval_run_id: str, **options: Any) -> Any:
    from rag_checks import pipeline

    with kinds_of_failure():
        places = settings()
        return getattr(pipeline, name)(places.monitor(params["monitor"]), places, eval_run_id, **options)


def broken(path: Path, error: ConfigError) -> DAG:
    """A DAG that says what is wrong with its monitor file: seen in the list, failing every day."""

    @task(retries=0)
    def monitor_file_is_broken() -> None:
        raise AirflowFailException(str(error))

    with DAG(
        f"rag_nightly_{path.stem}",
        schedule="@daily",
        start_date=datetime(2026, 1, 1),  # noqa: DTZ001 - Airflow reads it as UTC
        catchup=False,
        tags=["rag_checks", "broken"],
        doc_md=f"The monitor file is broken; nothing is graded until it is mended.\n\n```\n{error}\n```",
    ) as dag:
        monitor_file_is_broken()
    return dag


for _path in find_monitor_files(MONITORS):
    try:
        _dag = nightly(_path, load_monitor(_path))
    except ConfigError as _error:
        _dag = broken(_path, _error)
    globals()[_dag.dag_id] = _dag
