"""One DAG a monitor file: plan → evaluate (mapped over shards) → reconcile → check → report → alert."""

from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, CronDataIntervalTimetable, Param, get_current_context, task
from rag_checks_support import DEFAULTS, POOL, dag_run_facts, for_each_monitor, step, tell_broken

from rag_checks.monitor import Monitor

DOC = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
CHOICE = ["auto", "yes", "no"]
# As long as something came of the step before: what one shard found is decided although another failed.
ANYWAY = "all_done_min_one_success"


@task(on_failure_callback=tell_broken)
def plan(file: str, params: Any = None) -> list[dict[str, Any]]:
    """Which conversations, which golden items; one entry a shard."""
    facts = dag_run_facts(get_current_context())
    planned = step("plan_for_dag_run", file, **facts, ask_bot=params["ask_bot"])
    return [{"eval_run_id": planned.eval_run_id, "shard": shard} for shard in planned.shards]


@task(pool=POOL, map_index_template="{{ task.op_kwargs['eval_run_id'] }} {{ task.op_kwargs['shard'] }}")
def evaluate(file: str, eval_run_id: str, shard: int) -> dict[str, int]:
    """Ask the bot and grade; what is graded already is left alone."""
    outcome = step("evaluate_shard", file, eval_run_id, shard)
    return {"graded": outcome.graded, "skipped": outcome.skipped, "judge_errors": outcome.judge_errors}


@task(trigger_rule=ANYWAY, on_failure_callback=tell_broken)
def reconcile(file: str, planned: Any) -> str:
    """Planned against graded: a failed shard hides nothing others found, what is missing is recorded."""
    return str(step("reconcile", file, planned[0]["eval_run_id"]).eval_run_id)


@task(on_failure_callback=tell_broken)
def check(file: str, eval_run_id: str) -> str:
    """Verdicts, causes, expectations."""
    return str(step("check", file, eval_run_id).eval_run_id)


@task(on_failure_callback=tell_broken)
def report(file: str, eval_run_id: str) -> str:
    """The HTML report and the trend picture."""
    return str(step("report", file, eval_run_id).html)


@task(trigger_rule=ANYWAY, retries=5, on_failure_callback=tell_broken)
def alert(file: str, eval_run_id: str, params: Any = None) -> str | None:
    """One message a run; told also when the report could not be written (disk full)."""
    message = step("alert", file, eval_run_id, wanted=params["alert"])
    return message.state if message else None


def nightly(path: Path, monitor: Monitor) -> DAG:
    """The DAG of one monitor."""
    dag_id, file, zone = f"rag_nightly_{monitor.monitor}", str(path), monitor.zone
    title, owner = monitor.title or monitor.monitor, monitor.owner or "not named"
    last, limit = monitor.last_night, timedelta(minutes=monitor.run_deadline_minutes + 30)
    offset = datetime.now(zone).isoformat()[-6:]
    doc = DOC.format(title=title, owner=owner, dag_id=dag_id, zone=zone, offset=offset)
    with DAG(
        dag_id,
        schedule=monitor.schedule and CronDataIntervalTimetable(monitor.schedule, timezone=str(zone)),
        start_date=datetime(2026, 1, 1, tzinfo=zone),
        end_date=last and datetime.combine(last, time.max, zone),
        catchup=False,
        auto_register=False,  # for_each_monitor decides: another file may have its name
        max_active_runs=1,
        tags=["rag_checks", "nightly"],
        doc_md=doc,
        default_args={**DEFAULTS, "owner": owner, "execution_timeout": limit},
        params={
            "night": Param(
                None, type=["null", "string"], format="date", description="Day to grade (empty: last night)."
            ),
            "ask_bot": Param(
                "auto", enum=CHOICE, description="Ask the golden set (auto: only last night's)."
            ),
            "alert": Param("auto", enum=CHOICE, description="Tell the team (auto: not about backfills)."),
        },
    ) as dag:
        planned = plan(file=file)
        graded = evaluate.partial(file=file).expand_kwargs(planned)
        reconciled = reconcile(file=file, planned=planned)
        checked = check(file=file, eval_run_id=reconciled)
        graded >> reconciled
        report(file=file, eval_run_id=checked) >> alert(file=file, eval_run_id=checked)
    return dag


globals().update(for_each_monitor(nightly))
