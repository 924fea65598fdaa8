"""One DAG a monitor file: plan → evaluate (mapped over shards) → reconcile → check → report → alert."""

from datetime import datetime
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, CronDataIntervalTimetable, Param, get_current_context, task
from rag_checks_support import DEFAULTS, POOL, for_each_monitor, run_of, step, tell_broken

from rag_checks.monitor import Monitor

DOC = """**{title}** – owner {owner}.

Every night: sample the day's conversations, ask the golden questions, grade, decide, report, tell the team.
`night` names the day to grade. For past days `airflow backfill create --dag-id {dag_id} --from-date …
--to-date …` grades logged turns only, tells nobody, and gives the same rows when repeated."""
CHOICE = ["auto", "yes", "no"]


@task(on_failure_callback=tell_broken)
def plan(params: Any = None) -> list[dict[str, Any]]:
    """Which conversations, which golden items; one entry a shard."""
    context = get_current_context()
    planned = step(
        "plan_for_dag_run",
        params,
        run_type=str(context["dag_run"].run_type),
        logical_date=context.get("logical_date"),
        run_after=context["dag_run"].run_after,
        night=params["night"],
        ask_bot=params["ask_bot"],
    )
    return [{"eval_run_id": planned.eval_run_id, "shard": shard} for shard in planned.shards]


@task(pool=POOL)
def evaluate(eval_run_id: str, shard: int, params: Any = None) -> dict[str, int]:
    """Ask the bot and grade; what is graded already is left alone."""
    outcome = step("evaluate_shard", params, eval_run_id, shard)
    return {"graded": outcome.graded, "skipped": outcome.skipped, "judge_errors": outcome.judge_errors}


@task(trigger_rule="all_done", on_failure_callback=tell_broken)
def reconcile(planned: Any, params: Any = None) -> dict[str, int]:
    """Planned against graded: a failed shard hides nothing others found, what is missing is recorded."""
    return dict(step("reconcile", params, run_of(planned)).counts)


@task(on_failure_callback=tell_broken)
def check(planned: Any, params: Any = None) -> str:
    """Verdicts, causes, expectations."""
    return str(step("check", params, run_of(planned)).status)


@task
def report(planned: Any, params: Any = None) -> str:
    """The HTML report and the trend picture."""
    return str(step("report", params, run_of(planned)).html)


@task(trigger_rule="all_done", retries=5, on_failure_callback=tell_broken)
def alert(planned: Any, params: Any = None) -> str | None:
    """One message a run; told also when the report could not be written (disk full)."""
    message = step("alert", params, run_of(planned), wanted=params["alert"])
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
        graded = evaluate.expand_kwargs(planned)
        graded >> reconcile(planned) >> check(planned) >> report(planned) >> alert(planned)
    return dag


globals().update(for_each_monitor(nightly))
