"""Every hour: was each monitor's last due night delivered? Runs that never began cannot say so themselves."""

from datetime import UTC, datetime, timedelta

from airflow.sdk import DAG, task
from rag_checks_support import DEFAULTS, MONITORS, step

from rag_checks.monitor_files import find_monitor_files

DOC = """
Looks at the store, not at Airflow: the run of the night that a monitor's schedule made due last must have
told its people. If it has not, two hours after its deadline, the team is told once, by the way its alerts
go. A monitor that has never run is not watched yet. It cannot tell that Airflow's scheduler itself is dead:
run `rag-checks watch` from another machine's cron for that.
"""


@task(map_index_template="{{ task.op_kwargs['file'] }}")
def watch(file: str) -> str:
    """Tell the team when a night is overdue."""
    overdue = step("watch", file)
    return f"{overdue.night} is overdue: {overdue.message.state}" if overdue else "all is delivered"


with DAG(
    "rag_watchdog",
    schedule=timedelta(hours=1),
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    tags=["rag_checks"],
    doc_md=DOC,
    default_args={**DEFAULTS, "execution_timeout": timedelta(minutes=10)},
):
    watch.expand(file=[str(path) for path in find_monitor_files(MONITORS)])
