"""What the DAG files share: Airflow's connections and errors translated for rag_checks."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowFailException, AirflowNotFoundException

MONITORS = Path(os.environ.get("RAG_CHECKS_MONITORS") or Path(__file__).parent / "monitors")
# A pool that does not exist would leave tasks waiting for ever, so only a pool that was made is named.
POOL = os.environ.get("RAG_CHECKS_POOL") or "default_pool"


def settings() -> Any:
    """Settings of this installation, secrets filled in from Airflow connections where there are any."""
    from rag_checks.pipeline.settings import Settings

    os.environ.update(_from_connections())
    os.environ.setdefault("RAG_CHECKS_MONITORS", str(MONITORS))
    return Settings.from_env(os.environ)


@contextmanager
def kinds_of_failure() -> Iterator[None]:
    """Permanent errors fail the task at once; transient ones are left to Airflow's retries."""
    from rag_checks.errors import PermanentError

    try:
        yield
    except PermanentError as error:
        raise AirflowFailException(str(error)) from error


def tell_broken(context: Any) -> None:
    """Task failure callback: the monitor itself is broken, its people are told once a night."""
    from datetime import UTC, datetime

    from rag_checks import pipeline

    places = settings()
    monitor = places.monitor(context["dag"].params["monitor"])
    moment = context.get("logical_date") or datetime.now(UTC)
    pipeline.alert_broken(
        monitor,
        places,
        moment.astimezone(monitor.zone).date(),
        what=f"{context['dag'].dag_id}.{context['ti'].task_id}",
        error=str(context.get("exception") or "see the task's log"),
        next_step=f"airflow tasks states-for-dag-run {context['dag'].dag_id} '{context['run_id']}'",
    )


def _from_connections() -> dict[str, str]:
    """Environment names and values found in the connections rag_checks_store|judge|bot|slack|s3."""
    found: dict[str, str] = {}
    for conn_id, names in {
        "rag_checks_judge": {"password": "OPENAI_API_KEY", "host": "OPENAI_BASE_URL"},
        "rag_checks_bot": {"password": "RAG_CHECKS_BOT_API_KEY", "host": "RAG_CHECKS_BOT_BASE_URL"},
        "rag_checks_slack": {"password": "SLACK_BOT_TOKEN", "host": "SLACK_WEBHOOK_URL"},
        "rag_checks_s3": {"login": "AWS_ACCESS_KEY_ID", "password": "AWS_SECRET_ACCESS_KEY"},
    }.items():
        connection = _connection(conn_id)
        for field, name in names.items():
            if connection is not None and getattr(connection, field):
                found[name] = str(getattr(connection, field))
        if connection is not None:
            found |= {key: str(value) for key, value in connection.extra_dejson.items() if key.isupper()}
    store = _connection("rag_checks_store")
    if store is not None:
        found["RAG_CHECKS_STORE"] = store.extra_dejson.get("url") or store.get_uri().replace(
            "postgres://", "postgresql://"
        )
    return found


def _connection(conn_id: str) -> Any:
    try:
        return BaseHook.get_connection(conn_id)
    except AirflowNotFoundException:
        return None
