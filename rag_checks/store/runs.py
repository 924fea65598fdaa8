"""Runs: one row each, found by id or by monitor and night."""

from datetime import date
from typing import Any

from sqlalchemy import Connection, Select, select

from rag_checks.records import EvalRun
from rag_checks.store import judges
from rag_checks.store.rows import upsert
from rag_checks.store.tables import runs


def save(connection: Connection, run: EvalRun) -> None:
    """Insert a run or overwrite what may change; `created_at` stays that of the first time."""
    prints = judges.Fingerprints()
    row = {**dict(run), "judge": prints.of(run.judge)}
    judges.save(connection, prints.identities())
    upsert(connection, runs, [row], keep=("created_at",))


def load(connection: Connection, eval_run_id: str) -> EvalRun | None:
    """A run by its id."""
    found = _records(connection, select(runs).where(runs.c.eval_run_id == eval_run_id))
    return found[0] if found else None


def newest(
    connection: Connection, monitor: str, *, kind: str | None, until: date | None, limit: int | None
) -> list[EvalRun]:
    """Runs of a monitor, newest night first, of one night the last begun first."""
    query = select(runs).where(runs.c.monitor == monitor)
    if kind is not None:
        query = query.where(runs.c.kind == kind)
    if until is not None:
        query = query.where(runs.c.night <= until)
    order = (runs.c.night.desc(), runs.c.created_at.desc(), runs.c.eval_run_id.desc())
    return _records(connection, query.order_by(*order).limit(limit))


def monitors(connection: Connection) -> list[str]:
    """Names of all monitors that have runs, sorted."""
    return list(connection.execute(select(runs.c.monitor).distinct().order_by(runs.c.monitor)).scalars())


def _records(connection: Connection, query: Select[Any]) -> list[EvalRun]:
    rows = connection.execute(query).mappings().all()
    known = judges.load(connection, [row["judge"] for row in rows])
    return [EvalRun.model_validate({**row, "judge": known[row["judge"]]}) for row in rows]
