"""Nights in processes of their own that can be made to die: a SPEC_JSON a line in, how it ended a line out.

Every night is a fork of this process, which has imported the slow libraries once. SPEC: monitor (path),
environ, night, now; optionally where to die: `die_at` (start of a step's text) or `die_on`
(`["before" | "after", N]`: just before or after the store's Nth commit); `journal` (path) takes the tables
written by each commit; `with_report`: false leaves the report out. Dying is SIGKILL: no handler, no clean-up,
as when a machine goes.
"""

import importlib
import json
import os
import re
import signal
import sys
import traceback
from datetime import date, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, event
from sqlalchemy.pool import Pool

from rag_checks.pipeline import use_cases as pipeline

SLOW = (
    "great_expectations",
    "matplotlib.figure",
    "openai",
    "slack_sdk",
    "psycopg",
    "rjieba",
    "alembic.command",
)
WRITE = re.compile(r'\s*(?:INSERT INTO|UPDATE|DELETE FROM|CREATE TABLE|DROP TABLE|ALTER TABLE)\s+"?(\w+)')


class Commits:
    """Counts the commits of all stores of this process, and dies at one of them."""

    def __init__(self, die_on: tuple[str, int] | None) -> None:
        self.kinds: list[str] = []
        self._die_on = die_on
        self._written: set[str] = set()
        self._committing = False
        event.listen(Engine, "before_cursor_execute", self._execute)
        event.listen(Engine, "after_cursor_execute", self._executed)
        event.listen(Engine, "commit", self._commit)
        event.listen(Engine, "rollback", self._rollback)
        event.listen(Pool, "checkin", self._returned)

    def _execute(self, connection: Connection, _cursor: Any, statement: str, *_rest: Any) -> None:
        if written := WRITE.match(statement):
            self._written.add(written[1])
            if alone(connection):
                self._commit(connection)

    def _executed(self, connection: Connection, *_rest: Any) -> None:
        if alone(connection):
            self._returned()

    def _commit(self, _connection: Connection) -> None:
        if self._written:
            self.kinds.append("+".join(sorted(self._written)))
            self._written.clear()
            self._committing = True
            self._die("before")

    def _rollback(self, _connection: Connection) -> None:
        self._written.clear()

    def _returned(self, *_connection: Any) -> None:
        # SQLAlchemy has no event after a commit; the next thing is that the connection goes back to its pool.
        if self._committing:
            self._committing = False
            self._die("after")

    def _die(self, when: str) -> None:
        if self._die_on == (when, len(self.kinds)):
            os.kill(os.getpid(), signal.SIGKILL)


def alone(connection: Connection) -> bool:
    """Whether each statement on this connection is a transaction of its own."""
    options = connection.get_execution_options()
    return options.get("isolation_level") == "AUTOCOMMIT" or options.get("rag_checks_begin", "") is None


def run(spec: dict[str, Any]) -> None:
    """Run the night as told."""
    os.environ.update(spec["environ"])
    settings = pipeline.Settings.from_env()
    monitor = settings.monitor(spec["monitor"])
    die_on = spec.get("die_on")
    commits = Commits((die_on[0], die_on[1]) if die_on else None)

    def step(text: str) -> None:
        if spec.get("die_at") and text.startswith(spec["die_at"]):
            os.kill(os.getpid(), signal.SIGKILL)

    now = datetime.fromisoformat(spec["now"])
    night = date.fromisoformat(spec["night"])
    pipeline.run_night(
        monitor,
        settings,
        night,
        with_report=spec.get("with_report", True),
        now=now,
        step=step,
    )
    if "journal" in spec:
        Path(spec["journal"]).write_text(json.dumps(commits.kinds), encoding="utf-8")


def main() -> None:
    """Fork a night a line until the input ends; answer each with its exit code (−9: killed)."""
    for name in SLOW:
        importlib.import_module(name)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                run(json.loads(line))
                code = 0
            except BaseException:  # noqa: BLE001 - a fork must never go on with its parent's loop
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
