"""Cases: what a run grades, planned once and planned again without losing an answer."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, RowMapping, delete, select, update

from rag_checks.errors import StoreError
from rag_checks.records import Case, Response
from rag_checks.store.rows import require_run, upsert
from rag_checks.store.tables import cases

_RESPONSE_COLUMNS = ("response", "release")
_DELETED_AT_ONCE = 500  # SQLite before 3.32 takes no more than 999 parameters in a statement


def plan(connection: Connection, eval_run_id: str, planned: Sequence[Case]) -> None:
    """Make `planned` the cases of a run, in this order.

    A case whose item is unchanged keeps its scores and, when it has one, its response. A case whose item
    changed, or which is planned to be asked and got no answer before, starts anew, without scores. Cases no
    longer planned go, with their scores.

    Raises:
        StoreError: There is no such run, or two cases have one id.
    """
    require_run(connection, eval_run_id)
    rows = {
        planned_case.case_id: _row(eval_run_id, n, planned_case) for n, planned_case in enumerate(planned)
    }
    if len(rows) < len(planned):
        raise StoreError(f"the plan of run {eval_run_id!r} names a case twice; case ids are unique in a run")
    answered, outdated = _stored(connection, eval_run_id, rows)
    _delete(connection, eval_run_id, outdated)
    upsert(connection, cases, [row for case_id, row in rows.items() if case_id not in answered])
    upsert(connection, cases, [rows[case_id] for case_id in answered], keep=_RESPONSE_COLUMNS)


def load(connection: Connection, eval_run_id: str, shard: int | None = None) -> list[Case]:
    """The cases of a run, or of one shard of it, in the order of the plan."""
    query = select(cases).where(cases.c.eval_run_id == eval_run_id).order_by(cases.c.position)
    if shard is not None:
        query = query.where(cases.c.shard == shard)
    return [_record(row) for row in connection.execute(query).mappings()]


def save_response(connection: Connection, eval_run_id: str, case_id: str, response: Response) -> None:
    """Set what the bot said to a case.

    Raises:
        StoreError: The case is not planned.
    """
    statement = (
        update(cases)
        .where(cases.c.eval_run_id == eval_run_id, cases.c.case_id == case_id)
        .values(_response_columns(response))
    )
    if connection.execute(statement).rowcount == 0:
        raise StoreError(f"run {eval_run_id!r} has no case {case_id!r}: plan it before its response is saved")


def _stored(
    connection: Connection, eval_run_id: str, rows: dict[str, dict[str, Any]]
) -> tuple[list[str], list[str]]:
    """Ids of stored cases: those with a response that stays, and those that are no longer right.

    A response without an answer does not stay when the plan asks anew: the bot may be up again.
    """
    query = (
        select(cases.c.case_id, cases.c.revision, cases.c.response)
        .where(cases.c.eval_run_id == eval_run_id)
        .order_by(cases.c.case_id)
        .with_for_update()  # no response may arrive between this look and the writing
    )
    answered, outdated = [], []
    for case_id, revision, response in connection.execute(query):
        planned = rows.get(case_id)
        asked_in_vain = response is not None and response["response"] is None
        if (
            planned is None
            or planned["revision"] != revision
            or (asked_in_vain and planned["response"] is None)
        ):
            outdated.append(case_id)
        elif response is not None:
            answered.append(case_id)
    return answered, outdated


def _delete(connection: Connection, eval_run_id: str, case_ids: list[str]) -> None:
    for start in range(0, len(case_ids), _DELETED_AT_ONCE):
        some = case_ids[start : start + _DELETED_AT_ONCE]
        connection.execute(delete(cases).where(cases.c.eval_run_id == eval_run_id, cases.c.case_id.in_(some)))


def _row(eval_run_id: str, position: int, planned: Case) -> dict[str, Any]:
    return {
        **dict(planned),
        "eval_run_id": eval_run_id,
        "position": position,
        "item_id": planned.item.item_id,
        "revision": planned.item.revision,
        "item": planned.item.model_dump(),
        **_response_columns(planned.response),
    }


def _response_columns(response: Response | None) -> dict[str, Any]:
    if response is None:
        return {"response": None, "release": None}
    return {"response": response.model_dump(), "release": response.release}


def _record(row: RowMapping) -> Case:
    return Case.model_validate({name: row[name] for name in Case.model_fields})
