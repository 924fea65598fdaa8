"""What the DAG files share: Airflow's connections and errors translated for rag_checks."""

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, BaseHook, task
from airflow.sdk.exceptions import AirflowFailException, AirflowNotFoundException

from rag_checks.errors import ConfigError
from rag_checks.monitor import Monitor
from rag_checks.monitor_files import find_monitor_files
from rag_checks.settings import Settings

MONITORS = Path(os.environ.get("RAG_CHECKS_MONITORS") or Path(__file__).parent / "monitors")
# A pool that does not exist would leave tasks waiting for ever, so only a pool that was made is named.
POOL = os.environ.get("RAG_CHECKS_POOL") or "default_pool"

DEFAULTS = {"retries": 2, "retry_delay": timedelta(seconds=30), "retry_exponential_backoff": True}
# Connection id → where its parts go; upper-case keys of its extra field are taken as they are.
CONNECTIONS = {
    "rag_checks_judge": {"password": "OPENAI_API_KEY", "host": "OPENAI_BASE_URL"},
    "rag_checks_bot": {"password": "RAG_CHECKS_BOT_API_KEY", "host": "RAG_CHECKS_BOT_BASE_URL"},
    "rag_checks_slack": {"password": "SLACK_BOT_TOKEN", "host": "SLACK_WEBHOOK_URL"},
    "rag_checks_s3": {"login": "AWS_ACCESS_KEY_ID", "password": "AWS_SECRET_ACCESS_KEY"},
    "rag_checks_store": {},
}


def step(name: str, params: Any, *args: Any, **options: Any) -> Any:
    """Call one use case; permanent errors fail the task at once, transient ones are left to its retries."""
    from rag_checks.errors import PermanentError
    from rag_checks.pipeline import use_cases

    try:
        settings = Settings.from_env(environment())
        return getattr(use_cases, name)(settings.monitor(params["monitor"]), settings, *args, **options)
    except PermanentError as error:
        raise AirflowFailException(str(error)) from error


def run_of(planned: Any) -> str:
    """The run that `plan` named; it is the same in every shard's entry."""
    return str(planned[0]["eval_run_id"])


def tell_broken(context: Any) -> None:
    """Task failure callback: the monitor itself is broken; its people are told once a night."""
    dag_id, moment = context["dag"].dag_id, context.get("logical_date") or datetime.now(UTC)
    step(
        "alert_broken",
        context["params"],
        moment.date(),
        what=f"{dag_id}.{context['ti'].task_id}",
        error=str(context.get("exception") or "see the task's log"),
        next_step=f"airflow tasks states-for-dag-run {dag_id} '{context['run_id']}'",
    )


def environment() -> dict[str, str]:
    """The process environment, secrets filled in from connections: libraries look for their names there."""
    for conn_id, names in CONNECTIONS.items():
        try:
            connection = BaseHook.get_connection(conn_id)
        except AirflowNotFoundException:
            continue
        found = {name: getattr(connection, field) for field, name in names.items()}
        found |= {key: value for key, value in connection.extra_dejson.items() if key.isupper()}
        if conn_id == "rag_checks_store":
            found["RAG_CHECKS_STORE"] = connection.get_uri().replace("postgres://", "postgresql://", 1)
        os.environ.update({name: str(value) for name, value in found.items() if value})
    return dict(os.environ)


def for_each_monitor(build: Callable[[Path, Monitor], DAG]) -> dict[str, DAG]:
    """The DAG of every monitor file by id; a broken file gets one that says so and hides no other."""
    found = {}
    for path in find_monitor_files(MONITORS):
        try:
            dag = build(path, Settings.from_env().monitor(str(path)))
        except ConfigError as error:
            dag = broken_dag(path, str(error))
        found[dag.dag_id] = dag
    return found


def broken_dag(path: Path, problem: str) -> DAG:
    """A DAG that says what is wrong with its monitor file: seen in the list, failing every day."""

    @task(retries=0)
    def monitor_file_is_broken() -> None:
        raise AirflowFailException(problem)

    doc = f"The monitor file is broken; nothing is graded until it is mended.\n\n```\n{problem}\n```"
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    with DAG(
        f"rag_nightly_{path.stem}",
        schedule="@daily",
        start_date=begin,
        catchup=False,
        tags=["broken"],
        doc_md=doc,
    ) as dag:
        monitor_file_is_broken()
    return dag
