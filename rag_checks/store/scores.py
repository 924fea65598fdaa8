"""Scores: written a case at a time, read by run or as the long rows of a monitor's history."""

from collections.abc import Sequence
from datetime import date
from typing import Any

from sqlalchemy import Connection, RowMapping, func, select

from rag_checks.records import GradedCase, JudgeIdentity, Score, ScoreRow, Usage
from rag_checks.store import cases as case_rows
from rag_checks.store import judges
from rag_checks.store.rows import upsert
from rag_checks.store.tables import cases, runs, scores

_SAME_NAME = ("eval_run_id", "case_id", "metric", "metric_version", "value", "status", "reason", "evidence")


def save(connection: Connection, given: Sequence[Score], known_judges: set[str]) -> set[str]:
    """Insert or overwrite scores by run, case and metric.

    Args:
        connection: Inside a write transaction.
        given: Scores of planned cases.
        known_judges: Fingerprints that are stored for certain, to spare writing them each time.

    Returns:
        Fingerprints that are stored once the transaction is committed.
    """
    prints = judges.Fingerprints()
    rows = [_row(score, prints.of(score.judge)) for score in given]
    identities = prints.identities()
    judges.save(connection, {key: judge for key, judge in identities.items() if key not in known_judges})
    upsert(connection, scores, rows)
    return set(identities)


def load(connection: Connection, eval_run_id: str) -> list[Score]:
    """All scores of a run, in the order of the plan, of a case by metric."""
    query = (
        select(scores)
        .join(cases, (cases.c.eval_run_id == scores.c.eval_run_id) & (cases.c.case_id == scores.c.case_id))
        .where(scores.c.eval_run_id == eval_run_id)
        .order_by(cases.c.position, scores.c.metric)
    )
    rows = connection.execute(query).mappings().all()
    known = judges.load(connection, {row["judge"] for row in rows})
    return [_record(row, known[row["judge"]]) for row in rows]


def graded(connection: Connection, eval_run_id: str) -> list[GradedCase]:
    """All cases of a run with their scores, in the order of the plan."""
    by_case: dict[str, list[Score]] = {}
    for score in load(connection, eval_run_id):
        by_case.setdefault(score.case_id, []).append(score)
    return [
        GradedCase(case=planned, scores=tuple(by_case.get(planned.case_id, ())))
        for planned in case_rows.load(connection, eval_run_id)
    ]


def history(
    connection: Connection, monitor: str, kinds: Sequence[str], since: date | None, until: date
) -> list[ScoreRow]:
    """One row a score of a monitor's runs, oldest night first, then by run, case and metric."""
    query = (
        select(
            runs.c.night,
            cases.c.source,
            scores.c.metric,
            scores.c.metric_version,
            scores.c.judge,
            cases.c.intent,
            scores.c.value,
            scores.c.status,
            cases.c.item_id,
            cases.c.conversation_id,
            cases.c.weight,
            func.coalesce(cases.c.release, runs.c.release),
        )
        .select_from(runs)
        .join(cases, cases.c.eval_run_id == runs.c.eval_run_id)
        .join(scores, (scores.c.eval_run_id == cases.c.eval_run_id) & (scores.c.case_id == cases.c.case_id))
        .where(runs.c.monitor == monitor, runs.c.kind.in_(list(kinds)), runs.c.night <= until)
        .order_by(runs.c.night, runs.c.eval_run_id, cases.c.case_id, scores.c.metric)
    )
    if since is not None:
        query = query.where(runs.c.night >= since)
    rows = [ScoreRow._make(row) for row in connection.execute(query)]
    known = judges.load(connection, {row.judge for row in rows})
    series = {fingerprint: judge.series if judge else None for fingerprint, judge in known.items()}
    return [row if row.judge == series[row.judge] else row._replace(judge=series[row.judge]) for row in rows]


def _row(score: Score, fingerprint: str | None) -> dict[str, Any]:
    row = {name: getattr(score, name) for name in _SAME_NAME}
    return {**row, **dict(score.usage), "judge": fingerprint}


def _record(row: RowMapping, judge: JudgeIdentity | None) -> Score:
    usage = Usage.model_validate({name: row[name] for name in Usage.model_fields})
    fields = {name: row[name] for name in _SAME_NAME}
    return Score.model_validate({**fields, "judge": judge, "usage": usage})
