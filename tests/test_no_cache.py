"""Judging anew, and forgetting old replies: what the cache does when people tell it to."""

import re
from pathlib import Path

import pytest
from fake_openai import FakeOpenAI
from typer.testing import CliRunner
from workspace import NIGHT, Workspace, make_workspace, write_jsonl

from rag_checks.cli import app

SAMPLE = {"size": 2, "bad_cases": 0}


@pytest.fixture
def judge():
    """A loopback judge."""
    with FakeOpenAI() as fake:
        yield fake


def prepared(folder: Path, judge: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A workspace with a model judge, its environment set for the command."""
    config = {"kind": "openai", "model": "judge-1", "base_url": judge.url}
    space = make_workspace(folder, changes={"judge": config, "targets": [], "sample": SAMPLE})
    for name, value in space.settings.environ.items():
        monkeypatch.setenv(name, value)
    return space


def command(*arguments: str) -> str:
    """What the command prints; it must not fail for a reason of ours."""
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code in {0, 1}, result.output
    return result.output


def test_a_file_is_judged_anew_and_nothing_is_kept(
    tmp_path: Path, judge: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice without the cache is paid for twice; afterwards the cache is as empty as before."""
    prepared(tmp_path, judge, monkeypatch)
    monkeypatch.setenv("OPENAI_BASE_URL", judge.url)
    write_jsonl(
        tmp_path / "rows.jsonl", [{"question": "q?", "answer": "It is 5.", "ground_truth": "It is 5."}]
    )
    grade = ("evaluate", str(tmp_path / "rows.jsonl"), "--judge", "judge-1")
    calls = []
    for more in (["--no-cache"], ["--no-cache"], [], []):
        before = judge.state.calls
        command(*grade, *more)
        calls.append(judge.state.calls - before)
    assert calls[0] == calls[1] == calls[2] > 0
    assert calls[3] == 0


def test_a_night_without_the_cache_keeps_its_scores_and_no_reply(
    tmp_path: Path, judge: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The results are the night's own; only the replies are not kept."""
    space = prepared(tmp_path, judge, monkeypatch)
    command("run", str(space.monitor_file), "--night", str(NIGHT), "--no-cache", "--no-alert")
    rows = space.rows()
    assert rows["scores"]
    assert not rows["replies"]


def test_old_replies_are_deleted_and_young_ones_stay(
    tmp_path: Path, judge: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The retention rule is one command for cron."""
    space = prepared(tmp_path, judge, monkeypatch)
    command("run", str(space.monitor_file), "--night", str(NIGHT), "--no-alert")
    assert command("db", "purge-replies", "--older-than-days", "1").startswith("0 ")
    gone = re.match(r"(\d+) replies deleted", command("db", "purge-replies", "--older-than-days", "0"))
    assert gone is not None
    assert int(gone[1]) > 0
    assert space.rows()["scores"]
