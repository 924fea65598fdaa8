"""Airflow connections translated into the environment variables that rag_checks and its libraries read."""

import os
from typing import Any

from airflow.sdk import BaseHook, Variable
from airflow.sdk.exceptions import AirflowNotFoundException


def environment() -> dict[str, str]:
    """The process environment with the secrets of Airflow variables and `rag_checks_*` connections.

    They are put into the process's own environment as well: openai, boto3 and slack-sdk look there. A
    connection wins over a variable, a variable over the environment.
    """
    for name in VARIABLES:
        if value := Variable.get(name, default=None):
            os.environ[name] = value
    for conn_id, translate in TRANSLATIONS.items():
        try:
            connection = BaseHook.get_connection(conn_id)
        except AirflowNotFoundException:
            continue
        # Upper-case keys of the extra field are taken as they are.
        named = {key: value for key, value in connection.extra_dejson.items() if key.isupper()}
        found = {**translate(connection), **named}
        os.environ.update({name: str(value) for name, value in found.items() if value})
    return dict(os.environ)


def _judge(connection: Any) -> dict[str, str | None]:
    return {"OPENAI_API_KEY": connection.password, "OPENAI_BASE_URL": _address(connection)}


def _bot(connection: Any) -> dict[str, str | None]:
    return {"RAG_CHECKS_BOT_API_KEY": connection.password, "RAG_CHECKS_BOT_BASE_URL": _address(connection)}


def _slack(connection: Any) -> dict[str, str | None]:
    """A bot token, or a webhook as Airflow's `slackwebhook` connections hold it: host, secret path."""
    if connection.conn_type != "slackwebhook":
        return {"SLACK_BOT_TOKEN": connection.password, "SLACK_WEBHOOK_URL": _address(connection)}
    token = connection.password or ""
    base = _address(connection) or "https://hooks.slack.com/services"
    return {"SLACK_WEBHOOK_URL": token if "://" in token else f"{base.rstrip('/')}/{token}"}


def _s3(connection: Any) -> dict[str, str | None]:
    return {
        "AWS_ACCESS_KEY_ID": connection.login,
        "AWS_SECRET_ACCESS_KEY": connection.password,
        "AWS_ENDPOINT_URL": _address(connection),
    }


def _store(connection: Any) -> dict[str, str | None]:
    if connection.conn_type == "sqlite":  # get_uri() would write the slashes of the path as %2F
        return {"RAG_CHECKS_STORE": f"sqlite:///{connection.host or connection.schema}"}
    return {"RAG_CHECKS_STORE": connection.get_uri().replace("postgres://", "postgresql://", 1)}


def _address(connection: Any) -> str | None:
    """The connection's URL: the host as a whole URL, or host, port and path as Airflow takes a URI apart.

    In Airflow's HTTP connections the field `schema` is the protocol when it names one, else the path.
    """
    host, path = connection.host, connection.schema or ""
    if not host or "://" in host:
        return host or None
    protocol = connection.conn_type if connection.conn_type in {"http", "https"} else "https"
    if path in {"http", "https"}:
        protocol, path = path, ""
    port = f":{connection.port}" if connection.port else ""
    return f"{protocol}://{host}{port}/{path}".rstrip("/")


VARIABLES = (
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "RAG_CHECKS_BOT_API_KEY",
    "RAG_CHECKS_BOT_BASE_URL",
    "SLACK_BOT_TOKEN",
    "SLACK_WEBHOOK_URL",
)
TRANSLATIONS = {
    "rag_checks_judge": _judge,
    "rag_checks_bot": _bot,
    "rag_checks_slack": _slack,
    "rag_checks_s3": _s3,
    "rag_checks_store": _store,
}
