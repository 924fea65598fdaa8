"""Connections: settings, transactions, and the one place where a driver's errors become ours."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import NullPool

from rag_checks.errors import ConfigError, RagChecksError, StoreError, StoreUnavailable

LOCK_TIMEOUT_S = 30.0
_CONNECT_TIMEOUT_S = 10

# `postgres` is how Airflow spells the scheme of a connection's URI.
_DRIVERS = {
    "sqlite": "sqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}

# How each statement becomes a transaction of its own. The SQLite driver does that by itself (see `_prepare`)
# unless we begin one; SQLAlchemy's own option would set the driver back to its other mode afterwards.
_AUTOCOMMIT: dict[str, dict[str, Any]] = {
    "sqlite": {"rag_checks_begin": None},
    "postgresql": {"isolation_level": "AUTOCOMMIT"},
}

_PRIMARY = 0xFF  # the upper bits of a SQLite result code only refine it
_WAL_RETRY_S = 0.02

# Primary result codes of SQLite (https://sqlite.org/rescode.html) by what to do about them.
_WAIT = {
    sqlite3.SQLITE_BUSY: "another process holds its lock",
    sqlite3.SQLITE_LOCKED: "another connection holds its lock",
    sqlite3.SQLITE_PROTOCOL: "its locks could not be taken in time",
    sqlite3.SQLITE_NOMEM: "out of memory",
    sqlite3.SQLITE_IOERR: "the disk did not take or give the data",
    sqlite3.SQLITE_FULL: "the disk is full",
}
_ACT = {
    sqlite3.SQLITE_READONLY: "it may not be written: check the permissions of the file and its folder",
    sqlite3.SQLITE_PERM: "it may not be opened: check its permissions",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened: check the path and the permissions of its folder",
    sqlite3.SQLITE_NOTADB: "the file is not a SQLite database: name another one",
    sqlite3.SQLITE_CORRUPT: "the file is damaged: restore it from a backup",
}


def shown(url: URL) -> str:
    """The address without secrets: neither the password nor the query, where one may be given too."""
    return url.set(query={}).render_as_string(hide_password=True)


def shown_address(url: str) -> str:
    """`shown` for a URL as people write it; an unreadable one is not repeated."""
    try:
        return shown(parse_url(url))
    except ConfigError:
        return "the store's URL"


def parse_url(url: str) -> URL:
    """The database's URL with our driver in it.

    Args:
        url: `sqlite:///relative/path.db`, `sqlite:////absolute/path.db` or `postgresql://user@host/name`.

    Raises:
        ConfigError: another scheme, no URL at all, or SQLite without a file.
    """
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise ConfigError("the store's URL cannot be read; write sqlite:///PATH or postgresql://…") from error
    driver = _DRIVERS.get(parsed.drivername)
    if driver is None:
        raise ConfigError(
            f"the store cannot be kept in {parsed.drivername!r}; write sqlite:///PATH or postgresql://…"
        )
    if driver == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise ConfigError("the store's URL names no file; write sqlite:///PATH")
    return parsed.set(drivername=driver)


def sqlite_file(url: URL) -> Path | None:
    """The file of a SQLite store; None for PostgreSQL."""
    return Path(str(url.database)) if url.get_backend_name() == "sqlite" else None


class Database:
    """An open database: `read()` and `write()` give a connection inside a transaction.

    Args:
        url: As in `parse_url`.
        lock_timeout_s: Seconds to wait for a lock before `StoreUnavailable`.
        migrating: Foreign keys off (SQLite rebuilds a table by dropping it, which would empty the tables that
            refer to it) and no pool.
    """

    def __init__(self, url: str, *, lock_timeout_s: float = LOCK_TIMEOUT_S, migrating: bool = False) -> None:
        self.url = parse_url(url)
        file = sqlite_file(self.url)
        self.name = shown(self.url) if file is None else str(file)
        if file is not None:
            _make_folder(file)
            self._engine = _sqlite_engine(self.url, lock_timeout_s, foreign_keys=not migrating)
        else:
            self._engine = _postgres_engine(self.url, lock_timeout_s, pooled=not migrating)
        self._writing = self._engine.execution_options(rag_checks_begin="BEGIN IMMEDIATE")
        self._single = self._engine.execution_options(**_AUTOCOMMIT[self.url.get_backend_name()])
        event.listen(self._engine, "handle_error", self._translate, retval=True)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection for reading; on SQLite all its statements see the same moment."""
        with self._engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A connection whose changes are committed at the end, all or none."""
        with self._writing.begin() as connection:
            yield connection

    @contextmanager
    def single(self) -> Iterator[Connection]:
        """A connection on which each statement is a transaction of its own: the cheapest for a single one."""
        with self._single.connect() as connection:
            yield connection

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def _translate(self, context: ExceptionContext) -> BaseException | None:
        """Our error for what the database did; None leaves programming and integrity errors as they are."""
        original = context.original_exception
        if (
            context.is_pre_ping
        ):  # the pool asks whether its connection still lives, and makes a new one if not
            return None
        if isinstance(original, sqlite3.Error):
            return self._translate_sqlite(original)
        if context.is_disconnect or _is_operational(original):
            return StoreUnavailable(
                f"the store {self.name} cannot be reached or is busy: {_one_line(original)}"
            )
        return None

    def _translate_sqlite(self, error: sqlite3.Error) -> RagChecksError | None:
        code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY
        if code in _WAIT:
            return StoreUnavailable(f"the store {self.name} is not available: {_WAIT[code]} ({error})")
        if code in _ACT:
            return StoreError(f"the store {self.name}: {_ACT[code]} ({error})")
        return None


def lock(connection: Connection, name: str) -> None:
    """Hold `name` against other writers until the transaction ends.

    SQLite needs nothing: a write transaction is the only one.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(
            text("SELECT pg_advisory_xact_lock(hashtext(:name))"), {"name": f"rag_checks:{name}"}
        )


def _is_operational(error: BaseException) -> bool:
    # By name along the class tree: psycopg is not part of the light install.
    return any(kind.__name__ == "OperationalError" for kind in type(error).__mro__)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())


def _make_folder(file: Path) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"the store's folder {file.parent} cannot be made: {error.strerror}") from error


def _sqlite_engine(url: URL, lock_timeout_s: float, *, foreign_keys: bool) -> Engine:
    engine = create_engine(
        url,
        connect_args={"timeout": lock_timeout_s},
        hide_parameters=True,  # an error message must not carry people's questions into a log (P6)
        poolclass=None if foreign_keys else NullPool,
    )

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # the driver begins nothing by itself: `_begin` does
        _use_wal(connection, lock_timeout_s)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA foreign_keys = {'ON' if foreign_keys else 'OFF'}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # A transaction that reads first and writes later fails at once, without waiting, when another one
        # wrote in between (https://sqlite.org/lang_transaction.html): writers take the lock when they begin.
        statement = connection.get_execution_options().get("rag_checks_begin", "BEGIN")
        if statement is not None:
            connection.exec_driver_sql(statement)

    return engine


def _use_wal(connection: sqlite3.Connection, timeout_s: float) -> None:
    # Writing goes on beside reading. The file remembers it, but of several processes that open a new file all
    # but one are told "locked" at once: SQLite does not wait by itself for this change.
    end = time.monotonic() + timeout_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & _PRIMARY != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(_WAL_RETRY_S)
        else:
            return


def _postgres_engine(url: URL, lock_timeout_s: float, *, pooled: bool) -> Engine:
    try:
        engine = create_engine(
            url,
            connect_args={"connect_timeout": _CONNECT_TIMEOUT_S, "application_name": "rag-checks"},
            hide_parameters=True,
            pool_pre_ping=pooled,
            poolclass=None if pooled else NullPool,
        )
    except ModuleNotFoundError as error:
        raise ConfigError(
            "a PostgreSQL store needs psycopg; run: pip install 'rag-checks[monitor]'"
        ) from error

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"SET lock_timeout = {int(lock_timeout_s * 1000)}")
        connection.commit()

    return engine
