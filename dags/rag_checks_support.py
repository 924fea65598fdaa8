"""What the DAG files share: calling a use case from a task, telling of failures, one DAG a monitor file."""

import os
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, task
from airflow.sdk.exceptions import AirflowFailException
from rag_checks_connections import environment

from rag_checks.errors import ConfigError, PermanentError
from rag_checks.monitor import Monitor
from rag_checks.monitor_files import find_monitor_files
from rag_checks.settings import Settings

MONITORS = Path(os.environ.get("RAG_CHECKS_MONITORS") or Path(__file__).parent / "monitors")
# A pool that does not exist would leave tasks waiting for ever, so only a pool that was made is named.
POOL = os.environ.get("RAG_CHECKS_POOL") or "default_pool"
DEFAULTS = {"retries": 2, "retry_delay": timedelta(seconds=30), "retry_exponential_backoff": True}


def step(name: str, file: str, *args: Any, **options: Any) -> Any:
    """Call one use case for a monitor file; permanent errors fail the task at once, others are retried."""
    from rag_checks.pipeline import use_cases

    try:
        settings = Settings.from_env(environment())
        return getattr(use_cases, name)(settings.monitor(file), settings, *args, **options)
    except PermanentError as error:
        raise AirflowFailException(str(error)) from error


def dag_run_facts(context: Any) -> dict[str, Any]:
    """What decides which night a DAG run stands for."""
    return {
        "run_type": context["dag_run"].run_type.value,
        "logical_date": context.get("logical_date"),
        "run_after": context["dag_run"].run_after,
        "night": context["params"]["night"],
    }


def tell_broken(context: Any) -> None:
    """Task failure callback, after the last try: the monitor itself is broken; told once a night."""
    step(
        "alert_failed_task",
        context["task"].op_kwargs["file"],
        **dag_run_facts(context),
        wanted=context["params"]["alert"],
        task=f"{context['dag'].dag_id}.{context['ti'].task_id}",
        error=str(context.get("exception") or ""),
        log=context["ti"].log_url,
    )


def for_each_monitor(build: Callable[[Path, Monitor], DAG]) -> dict[str, DAG]:
    """The DAG of every monitor file by id; a broken file gets one that says so and hides no other."""
    found: dict[str, DAG] = {}
    for path in find_monitor_files(MONITORS):
        try:
            dag = build(path, Settings.from_env().monitor(str(path)))
        except (ConfigError, OSError) as error:
            dag = broken_dag(path, str(error))
        if dag.dag_id in found:
            dag = broken_dag(
                path, f"{path}: monitor: another file has this name; give each its own", suffix="_twice"
            )
        found[dag.dag_id] = dag
    return found


def broken_dag(path: Path, problem: str, suffix: str = "") -> DAG:
    """A DAG that says what is wrong with its monitor file: seen in the list, failing every day."""

    @task(retries=0)
    def monitor_file_is_broken() -> None:
        raise AirflowFailException(problem)

    with DAG(
        f"rag_nightly_{re.sub(r'[^A-Za-z0-9_.-]+', '_', path.stem)}{suffix}",
        schedule="@daily",
        start_date=datetime(2026, 1, 1, tzinfo=UTC),
        catchup=False,
        tags=["broken"],
        doc_md=f"The monitor file is broken; nothing is graded until it is mended.\n\n```\n{problem}\n```",
    ) as dag:
        monitor_file_is_broken()
    return dag
