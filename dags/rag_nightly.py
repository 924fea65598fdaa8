"""One DAG a monitor file: plan → evaluate (mapped over shards) → reconcile → check → report → alert."""

from datetime import datetime
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, CronDataIntervalTimetable, Param, get_current_context, task
from rag_checks_support import DEFAULTS, MONITORS, POOL, broken_dag, step, tell_broken

from rag_checks.errors import ConfigError
from rag_checks.monitor import Monitor
from rag_checks.monitor_files import find_monitor_files
from rag_checks.settings import Settings

DOC = """**{title}** – owner {owner}.

Every night: sample the day's conversations, ask the golden questions, grade, decide, report, tell the team.
`night` names the day to grade. Past days: `airflow backfill create --dag-id {dag_id} --from-date … --to-date …`
grades logged turns only, tells nobody, and gives the same rows when repeated."""
CHOICE = ["auto", "yes", "no"]


@task(on_failure_callback=tell_broken)
def plan(params: Any = None) -> dict[str, Any]:
    """Which conversations, which golden items, in which shards."""
    context = get_current_context()
    planned = step(
        "plan_for_dag_run",
        params,
        run_type=str(context["dag_run"].run_type),
        logical_date=context.get("logical_date"),
        data_interval_start=context.get("data_interval_start"),
        night=params["night"],
        ask_bot=params["ask_bot"],
    )
    return {"eval_run_id": planned.eval_run_id, "shards": planned.shards, "counts": planned.counts}


@task(pool=POOL, map_index_template="shard {{ task.op_kwargs['shard'] }}")
def evaluate(eval_run_id: str, shard: int, params: Any = None) -> dict[str, int]:
    """Ask the bot and grade; what is graded already is left alone."""
    outcome = step("evaluate_shard", params, eval_run_id, shard)
    return {"graded": outcome.graded, "skipped": outcome.skipped, "judge_errors": outcome.judge_errors}


# all_done: a failed shard must not hide what the others found; what is missing is recorded as missing.
@task(trigger_rule="all_done", on_failure_callback=tell_broken)
def reconcile(eval_run_id: str, params: Any = None) -> dict[str, int]:
    """Planned against graded."""
    return dict(step("reconcile", params, eval_run_id).counts)


@task(on_failure_callback=tell_broken)
def check(eval_run_id: str, params: Any = None) -> str:
    """Verdicts, causes, expectations."""
    return str(step("check", params, eval_run_id).status)


@task
def report(eval_run_id: str, params: Any = None) -> str:
    """The HTML report and the trend picture."""
    return str(step("report", params, eval_run_id).html)


# all_done: a report that cannot be written (disk full) must not keep people from being told.
@task(trigger_rule="all_done", retries=5, on_failure_callback=tell_broken)
def alert(eval_run_id: str, params: Any = None) -> str | None:
    """One message a run."""
    message = step("alert", params, eval_run_id, wanted=params["alert"])
    return message.state if message else None


def nightly(path: Path, monitor: Monitor) -> DAG:
    """The DAG of one monitor."""
    dag_id = f"rag_nightly_{monitor.monitor}"
    owner = monitor.owner or "not named"
    cron = monitor.schedule and CronDataIntervalTimetable(monitor.schedule, timezone=monitor.time_zone)
    with DAG(
        dag_id,
        schedule=cron,
        start_date=datetime(2026, 1, 1, tzinfo=monitor.zone),
        catchup=False,
        max_active_runs=1,
        tags=["rag_checks", "nightly"],
        doc_md=DOC.format(title=monitor.title or monitor.monitor, owner=owner, dag_id=dag_id),
        default_args={**DEFAULTS, "owner": owner},
        params={
            "monitor": Param(str(path), type="string", const=str(path), description="The monitor file."),
            "night": Param(None, type=["null", "string"], format="date", description="Day to grade."),
            "ask_bot": Param(
                "auto", enum=CHOICE, description="Ask the golden questions (auto: only last night's)."
            ),
            "alert": Param("auto", enum=CHOICE, description="Tell the team (auto: not about backfills)."),
        },
    ) as dag:
        planned = plan()
        run = planned["eval_run_id"]
        graded = evaluate.partial(eval_run_id=run).expand(shard=planned["shards"])
        graded >> reconcile(run) >> check(run) >> report(run) >> alert(run)
    return dag


for _path in find_monitor_files(MONITORS):
    try:
        _dag = nightly(_path, Settings.from_env().monitor(str(_path)))
    except ConfigError as _error:
        _dag = broken_dag(_path, str(_error))
    globals()[_dag.dag_id] = _dag
