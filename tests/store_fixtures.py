"""Databases and records for the tests of the store."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import psycopg
import pytest

from rag_checks.records import (
    Case,
    EvalItem,
    EvalRun,
    JudgeIdentity,
    OutboxMessage,
    Response,
    Score,
    ScoreStatus,
    Usage,
    Verdict,
)
from rag_checks.store import upgrade

DATABASES = ("sqlite", pytest.param("postgres", marks=pytest.mark.postgres))
NIGHT = date(2026, 3, 1)
NOW = datetime(2026, 3, 2, 2, 30, tzinfo=UTC)


@contextmanager
def fresh_database(request: pytest.FixtureRequest, folder: Path, *, migrated: bool = True) -> Iterator[str]:
    """The URL of a database of the kind that `request.param` names, without data; `migrated`: with tables."""
    if request.param == "sqlite":
        if migrated:
            (folder / "store.db").write_bytes(_migrated_file())
        yield f"sqlite:///{folder / 'store.db'}"
    else:
        with fresh_postgres(request.getfixturevalue("postgres_url"), migrated=migrated) as url:
            yield url


@contextmanager
def fresh_postgres(server: str, *, migrated: bool = True) -> Iterator[str]:
    """The URL of a database on a server, without data; `migrated`: with tables."""
    name = f"test_{uuid4().hex}"
    template = _migrated_database(server) if migrated else "template1"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        yield _url(server, name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@cache
def _migrated_file() -> bytes:
    with TemporaryDirectory() as folder:
        upgrade(f"sqlite:///{folder}/store.db")
        return Path(folder, "store.db").read_bytes()


@cache
def _migrated_database(server: str) -> str:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE DATABASE migrated")
    upgrade(_url(server, "migrated"))
    return "migrated"


def _url(server: str, name: str) -> str:
    return f"{server.rpartition('/')[0]}/{name}"


def make_judge(**changes) -> JudgeIdentity:
    """An online judge."""
    fields = {
        "kind": "openai",
        "endpoint": "https://judge.example/v1",
        "requested_model": "judge-latest",
        "returned_model": "judge-2026-02",
        "prompt_hash": "c0ffee",
        "parameters": {"temperature": 0, "stop": ["。"]},
    }
    return JudgeIdentity(**{**fields, **changes})


def make_run(eval_run_id="shop-2026-03-01", **changes) -> EvalRun:
    """A nightly run of the monitor `shop`."""
    fields = {
        "monitor": "shop",
        "kind": "nightly",
        "night": NIGHT,
        "window_start": datetime(2026, 3, 1, tzinfo=UTC),
        "window_end": datetime(2026, 3, 2, tzinfo=UTC),
        "judge": make_judge(),
        "metric_versions": {"faithfulness": "1"},
        "counts": {"read": 812, "sampled": 100},
        "created_at": NOW,
    }
    return EvalRun(eval_run_id=eval_run_id, **{**fields, **changes})


def make_case(number=1, *, question="退款多久到账？", **changes) -> Case:
    """A golden case that was not asked yet."""
    fields = {
        "source": "golden",
        "item": EvalItem(item_id=f"q{number}", user_input=question, reference="七个工作日。"),
        "language": "zh",
        "intent": "refund",
    }
    return Case(case_id=f"golden:q{number}", **{**fields, **changes})


def make_response(text="七个工作日。", **changes) -> Response:
    """An answer with what was retrieved for it."""
    fields = {
        "retrieved_contexts": ("退款七个工作日到账。", "联系客服。"),
        "release": "r2",
        "latency_ms": 812.5,
    }
    return Response(response=text, **{**fields, **changes})


def make_score(number=1, metric="faithfulness", *, run="shop-2026-03-01", value=0.5, **changes) -> Score:
    """An ok score of the case with this number; without one when `value` is None."""
    fields = {
        "metric_version": "1",
        "status": ScoreStatus.OK if value is not None else ScoreStatus.JUDGE_ERROR,
        "reason": "两条陈述，一条有依据。",
        "evidence": {"claims": [{"claim": "七个工作日", "supported": True}]},
        "judge": make_judge(),
        "usage": Usage(calls=2, cached=1, prompt_tokens=900, completion_tokens=80),
    }
    return Score(
        eval_run_id=run, case_id=f"golden:q{number}", metric=metric, value=value, **{**fields, **changes}
    )


def make_verdict(metric="faithfulness", level="ok", **changes) -> Verdict:
    """A verdict on all golden cases."""
    fields = {"source": "golden", "n_ok": 9, "n_failed": 1, "n_not_applicable": 0, "n_total": 10}
    return Verdict(metric=metric, level=level, rule="0.91 ≥ 0.80", **{**fields, **changes})


def make_message(message_id="shop-2026-03-01:digest", **changes) -> OutboxMessage:
    """A digest waiting to be sent."""
    fields = {
        "eval_run_id": "shop-2026-03-01",
        "kind": "digest",
        "channel": "#shop-bot",
        "payload": {"text": "忠实度下降", "blocks": [{"type": "divider"}]},
        "created_at": NOW,
    }
    return OutboxMessage(message_id=message_id, **{**fields, **changes})
