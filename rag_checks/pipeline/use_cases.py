"""Every use case under one roof, for callers that name them at run time (DAGs) or need many of them."""

from rag_checks.pipeline.decide import check
from rag_checks.pipeline.deliver import alert, alert_broken, alert_failed_task, report
from rag_checks.pipeline.files import evaluate_file
from rag_checks.pipeline.grade import evaluate_shard, reconcile
from rag_checks.pipeline.health import doctor
from rag_checks.pipeline.plan import asks_live, plan_for_dag_run, plan_night
from rag_checks.pipeline.run import run_night
from rag_checks.pipeline.runs import find_run
from rag_checks.pipeline.summary import summarise
from rag_checks.pipeline.watch import watch
from rag_checks.settings import Settings

__all__ = [
    "Settings",
    "alert",
    "alert_broken",
    "alert_failed_task",
    "asks_live",
    "check",
    "doctor",
    "evaluate_file",
    "evaluate_shard",
    "find_run",
    "plan_for_dag_run",
    "plan_night",
    "reconcile",
    "report",
    "run_night",
    "summarise",
    "watch",
]
