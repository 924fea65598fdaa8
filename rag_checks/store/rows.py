"""Writing rows: upserts by primary key, and lists that replace a run's earlier list."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Executable, Table, delete, insert, select
from sqlalchemy.dialects import sqlite

from rag_checks.errors import StoreError
from rag_checks.records import Record
from rag_checks.store.tables import runs

if TYPE_CHECKING:
    from sqlalchemy.dialects.postgresql import Insert as PostgresInsert
    from sqlalchemy.dialects.sqlite import Insert as SqliteInsert

Row = Mapping[str, Any]


def upsert(connection: Connection, table: Table, rows: Sequence[Row], *, keep: tuple[str, ...] = ()) -> None:
    """Insert rows; where the primary key is there already, update the row instead.

    Rows go in the order of their keys, so that two processes never wait for each other in a circle.

    Args:
        connection: Inside a write transaction.
        table: Where to.
        rows: One mapping a row, all columns in each. Of two with the same key the last one wins.
        keep: Columns an update leaves as they are.
    """
    if rows:
        keys = [column.name for column in table.primary_key]
        statement = _upsert_statement(connection.dialect.name, table, keep)
        connection.execute(statement, sorted(rows, key=lambda row: [row[key] for key in keys]))


def insert_missing(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    """Insert rows whose primary key is not there yet; leave the others."""
    if rows:
        connection.execute(_insert_missing_statement(connection.dialect.name, table), rows)


# Built once for each table: building a statement costs more than running it.


@cache
def _upsert_statement(dialect: str, table: Table, keep: tuple[str, ...]) -> Executable:
    statement = _insert(dialect, table)
    changes = {
        column.name: statement.excluded[column.name]
        for column in table.columns
        if not column.primary_key and column.name not in keep
    }
    keys = [column.name for column in table.primary_key]
    return statement.on_conflict_do_update(index_elements=keys, set_=changes)


@cache
def _insert_missing_statement(dialect: str, table: Table) -> Executable:
    return _insert(dialect, table).on_conflict_do_nothing()


def _insert(dialect: str, table: Table) -> "PostgresInsert | SqliteInsert":
    # An INSERT that knows ON CONFLICT: both databases have it, plain SQL has not.
    if dialect == "postgresql":
        from sqlalchemy.dialects.postgresql import insert as postgres_insert  # noqa: PLC0415 - 0.05 s of import

        return postgres_insert(table)
    return sqlite.insert(table)


def replace_list(connection: Connection, table: Table, eval_run_id: str, records: Sequence[Record]) -> None:
    """Make `records` the whole list of a run, in their order; columns are named as the records' fields.

    Raises:
        StoreError: There is no such run.
    """
    require_run(connection, eval_run_id)
    connection.execute(delete(table).where(table.c.eval_run_id == eval_run_id))
    if records:
        rows = [
            {"eval_run_id": eval_run_id, "position": position, **dict(record)}
            for position, record in enumerate(records)
        ]
        connection.execute(insert(table), rows)


def list_of(
    connection: Connection, table: Table, eval_run_id: str, limit: int | None = None
) -> list[dict[str, Any]]:
    """A run's list as it was saved, each row as the fields of its record."""
    fields = [column for column in table.columns if column.name not in ("eval_run_id", "position")]
    query = select(*fields).where(table.c.eval_run_id == eval_run_id).order_by(table.c.position).limit(limit)
    return [dict(row) for row in connection.execute(query).mappings()]


def require_run(connection: Connection, eval_run_id: str) -> None:
    """Check that a run is stored, and hold it: writers of its lists take turns until they commit.

    Raises:
        StoreError: There is no such run.
    """
    query = (
        select(runs.c.eval_run_id).where(runs.c.eval_run_id == eval_run_id).with_for_update(key_share=True)
    )
    if connection.execute(query).first() is None:
        raise StoreError(f"the store has no run {eval_run_id!r}: save the run before what belongs to it")
