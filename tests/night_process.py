"""Nights in processes of their own that can be made to die: one spec a line in, one answer a line out.

SPEC: monitor (path), environ, night, now, and optionally where to die: `before_write` or `after_write` (the
number, from 1, of a statement that changes the store; after it means before its commit), `die_at` (start of
a step's text), or `die_after` (cases graded). Dying is SIGKILL: no handler, no clean-up, as when a machine
goes. Each night is a fork of this process, which has imported everything already. The answer: `code` (the
exit code, negative for a signal), `writes` (tables written to, in order) and `said` (standard error).
"""

import importlib
import json
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event

from rag_checks.pipeline import use_cases as pipeline

# What a night imports on its way; the forks find it there.
_SLOW = (
    "great_expectations",
    "great_expectations.expectations",
    "matplotlib.figure",
    "openai",
    "aiohttp",
    "pandas",
    "slack_sdk",
    "rag_checks.reports.html",
    "rag_checks.judge.client",
    "alembic.command",
)
_CHANGES = {"INSERT": 2, "UPDATE": 1, "DELETE": 2}  # where the table's name stands


class Writes:
    """Counts the statements that change the store; dies at one of them."""

    def __init__(self, file: Path, spec: dict[str, Any]) -> None:
        self._file, self._spec, self._count = file, spec, 0
        event.listen(Engine, "before_cursor_execute", self._before)
        event.listen(Engine, "after_cursor_execute", self._after)

    def _before(self, _connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        words = statement.split(None, 3)
        place = _CHANGES.get(words[0])
        if place is None:
            return
        self._count += 1
        with self._file.open("a") as file:
            file.write(f"{words[place]}\n")
        self._die("before_write")

    def _after(self, _connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.split(None, 1)[0] in _CHANGES:
            self._die("after_write")

    def _die(self, point: str) -> None:
        if self._spec.get(point) == self._count:
            os.kill(os.getpid(), signal.SIGKILL)


def run(spec: dict[str, Any], writes: Path) -> None:
    """Run the night as told."""
    os.environ.update(spec["environ"])
    settings = pipeline.Settings.from_env()
    monitor = settings.monitor(spec["monitor"])
    Writes(writes, spec)

    def step(text: str) -> None:
        if spec.get("die_at") and text.startswith(spec["die_at"]):
            os.kill(os.getpid(), signal.SIGKILL)

    def progress(done: int, _total: int) -> None:
        if done == spec.get("die_after"):
            os.kill(os.getpid(), signal.SIGKILL)

    now = datetime.fromisoformat(spec["now"])
    pipeline.run_night(
        monitor, settings, date.fromisoformat(spec["night"]), now=now, step=step, progress=progress
    )


def night(spec: dict[str, Any]) -> dict[str, Any]:
    """One night in a fork."""
    with tempfile.TemporaryDirectory() as folder:
        writes, said = Path(folder, "writes"), Path(folder, "said")
        writes.touch()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                with _errors_into(said):
                    run(spec, writes)
                code = 0
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        return {
            "code": os.waitstatus_to_exitcode(status),
            "writes": writes.read_text().split(),
            "said": said.read_text() if said.exists() else "",
        }


@contextmanager
def _errors_into(file: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        file.write_text(traceback.format_exc())
        raise


def main() -> None:
    """Serve until standard input ends."""
    for name in _SLOW:
        importlib.import_module(name)
    for line in sys.stdin:
        sys.stdout.write(json.dumps(night(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
