"""Calling `rag-checks` as people do, in this process."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from workspace import Workspace

from rag_checks.cli import main

# What cli.py promises; a traceback would end the test before this is looked at.
EXIT_CODES = {0, 1, 2, 3}


def without_progress(text: str) -> str:
    """What was said on stderr but for the steps a log shows, lines that end in an ellipsis."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.rstrip().endswith(" …"))


@dataclass
class Said:
    """What a command printed and how it ended."""

    code: Any
    out: str
    err: str


@dataclass
class CommandLine:
    """Calls commands with an environment of its own."""

    capsys: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch

    def __call__(self, *args: str | Path, code: int | None = None) -> Said:
        """One command; `code` is what it must end with."""
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(arg) for arg in args])
        out, err = self.capsys.readouterr()
        said = Said(ended.value.code, out, without_progress(err))
        assert said.code in EXIT_CODES
        if code is not None:
            assert said.code == code, said.err or said.out[:2000]
        return said

    def use(self, **names: str | Path) -> None:
        """Set environment variables."""
        for name, value in names.items():
            self.monkeypatch.setenv(name, str(value))

    def live_in(self, space: Workspace) -> None:
        """Use a workspace's folders, as `export RAG_CHECKS_…` does."""
        self.use(RAG_CHECKS_HOME=space.settings.home, RAG_CHECKS_MONITORS=space.folder)


def command_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, folder: Path
) -> CommandLine:
    """A command line with empty folders and without anybody's keys."""
    secrets = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "SLACK_BOT_TOKEN", "SLACK_WEBHOOK_URL")
    for name in (*secrets, "RAG_CHECKS_STORE"):
        monkeypatch.delenv(name, raising=False)
    cli = CommandLine(capsys, monkeypatch)
    cli.use(RAG_CHECKS_HOME=folder / "home", RAG_CHECKS_MONITORS=folder / "monitors")
    return cli
