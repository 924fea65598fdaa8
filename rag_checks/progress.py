"""Showing on stderr what a command is doing: a spinner on a terminal, plain lines in a log."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.status import Status


class Progress:
    """Told what is being done; call it with a step's text, or `count` items within the step."""

    def __init__(self, console: Console, status: Status | None) -> None:
        self._console = console
        self._status = status
        self._step = ""

    def __call__(self, text: str) -> None:
        """A new step."""
        self._step = text
        if self._status is not None:
            self._status.update(text)
        else:
            self._console.print(f"{text} …", markup=False)

    def count(self, done: int, total: int) -> None:
        """How far the step is; only terminals see it."""
        if self._status is not None:
            self._status.update(f"{self._step} ({done}/{total})")


@contextmanager
def showing_progress(console: Console) -> Iterator[Progress]:
    """Progress for the length of a block."""
    if console.is_terminal:
        with console.status("") as status:
            yield Progress(console, status)
    else:
        yield Progress(console, None)
