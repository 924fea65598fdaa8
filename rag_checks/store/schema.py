"""The schema's revision: reading it, checking it, moving it to head with Alembic."""

import threading
from pathlib import Path

from sqlalchemy import Connection, inspect, text

from rag_checks.errors import StoreError
from rag_checks.store.engine import Database, lock, parse_url, sqlite_file
from rag_checks.store.tables import metadata

# A name of its own: the database may be Airflow's too, and `alembic_version` is Airflow's there.
VERSION_TABLE = "rag_checks_schema"
MIGRATIONS = Path(__file__).parent / "migrations"

# Alembic keeps the running migration in module globals, so one at a time in a process.
_one_at_a_time = threading.Lock()


def revisions() -> list[str]:
    """All revisions this code knows, oldest first: the numbers its migration files begin with."""
    return sorted(path.name.split("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*_*.py"))


def head_revision() -> str:
    """The revision this code reads and writes."""
    return revisions()[-1]


def schema_revision(url: str) -> str | None:
    """The revision of a database; None when it is empty or its SQLite file does not exist (and is not made).

    Raises:
        StoreUnavailable: The database cannot be reached.
    """
    file = sqlite_file(parse_url(url))
    if file is not None and not file.exists():
        return None
    database = Database(url, migrating=True)
    try:
        with database.read() as connection:
            return current(connection)
    finally:
        database.close()


def upgrade(url: str, to: str | None = None) -> tuple[str | None, str]:
    """Move a database to a newer revision, in one transaction: all steps or none.

    Args:
        url: As in `engine.parse_url`.
        to: A revision this code knows; default: `head_revision()`.

    Returns:
        The revision before (None: it was empty) and after.

    Raises:
        StoreError: The database is newer than this code, or holds tables of something else.
        StoreUnavailable: The database cannot be reached, or is locked.
    """
    target = to or head_revision()
    database = Database(url, migrating=True)
    try:
        with database.write() as connection:
            lock(connection, "schema")
            before = current(connection)
            _refuse_newer(before, database.name)
            if before is None:
                _refuse_foreign(connection, database.name)
            if before != target:  # of several processes that came here together the first did the work
                _run_alembic(connection, target)
            return before, str(current(connection))
    finally:
        database.close()


def ensure(database: Database, url: str) -> None:
    """Check that the database fits this code; an empty one is brought to head at once.

    Raises:
        StoreError: Its schema is older (the message names the command) or newer.
    """
    with database.read() as connection:
        found = current(connection)
    if found is None:
        found = upgrade(url)[1]
    _refuse_newer(found, database.name)
    if found != head_revision():
        raise StoreError(
            f"the store {database.name} has schema {found}, this version of rag-checks needs "
            f"{head_revision()}: stop all runs, then run: rag-checks db upgrade"
        )


def current(connection: Connection) -> str | None:
    """The revision the database says it has; None when it has none."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()  # noqa: S608 - our own constant


def _refuse_newer(found: str | None, name: str) -> None:
    if found is not None and found not in revisions():
        raise StoreError(
            f"the store {name} has schema {found}, newer than the {head_revision()} of this version of "
            "rag-checks: install the version that wrote it"
        )


def _refuse_foreign(connection: Connection, name: str) -> None:
    ours = sorted(set(inspect(connection).get_table_names()) & set(metadata.tables))
    if ours:
        raise StoreError(
            f"the store {name} holds tables that rag-checks did not make ({', '.join(ours)}): give the store "
            "a database of its own"
        )


def _run_alembic(connection: Connection, to: str) -> None:
    from alembic import command  # noqa: PLC0415 - a slow import that only a migration needs
    from alembic.config import Config  # noqa: PLC0415 - as above

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    with _one_at_a_time:
        command.upgrade(config, to)
