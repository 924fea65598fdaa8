"""Kill -9 at any point of a night, run it again: identical rows, nothing paid twice, one message (P3)."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_openai import FakeOpenAI
from fake_slack import FakeSlack
from workspace import NIGHT, Workspace, make_workspace

HERE = Path(__file__).parent
CONCURRENCY = 4
CHANGES = {
    "judge": {"kind": "openai", "model": "judge-1", "concurrency": CONCURRENCY, "embedding_model": None},
    "sample": {"size": 8, "floor_per_intent": 1, "bad_cases": 2},
    # Great Expectations takes seconds to import in each of the many processes; other tests run it.
    "targets": [],
}


def environ_of(space: Workspace, judge: FakeOpenAI, slack: FakeSlack) -> dict[str, str]:
    """The environment of a night that pays a judge and writes to Slack."""
    return {
        "RAG_CHECKS_HOME": str(space.settings.home),
        "RAG_CHECKS_MONITORS": str(space.folder),
        "RAG_CHECKS_STORE": space.settings.store_url,
        "OPENAI_BASE_URL": judge.url,
        "OPENAI_API_KEY": "test",
        "SLACK_BOT_TOKEN": slack.token,
    }


def start(space: Workspace, environ: dict[str, str], **death: str | int) -> subprocess.Popen[bytes]:
    """Begin the night in a process of its own."""
    spec = {
        "monitor": str(space.monitor_file),
        "environ": environ,
        "night": NIGHT.isoformat(),
        "now": "2026-03-11T02:30:00+08:00",
        **death,
    }
    return subprocess.Popen(
        [sys.executable, str(HERE / "night_process.py"), json.dumps(spec)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parent), str(HERE)])},
        stderr=subprocess.PIPE,
    )


def finish(process: subprocess.Popen[bytes]) -> int:
    """Wait for the end; the exit code, with what it said when that is not a kill."""
    _, said = process.communicate(timeout=120)
    assert process.returncode in {0, -signal.SIGKILL}, said.decode()
    return process.returncode


def paid(judge: FakeOpenAI) -> list[str]:
    """The judgements the endpoint was asked for, one text each."""
    return [json.dumps(request["messages"], ensure_ascii=False) for request in judge.state.requests]


def prepared(folder: Path, slack: FakeSlack) -> Workspace:
    """A workspace whose messages go to the fake Slack."""
    alerts = {"channel": "#rag-alerts", "slack_base_url": slack.url}
    return make_workspace(folder, changes={**CHANGES, "alerts": alerts})


@pytest.fixture(scope="module")
def judge() -> Iterator[FakeOpenAI]:
    """One endpoint for all nights: its address is part of who graded."""
    with FakeOpenAI() as fake:
        yield fake


@pytest.fixture(scope="module")
def undisturbed(judge: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict, int]:
    """Rows and number of judge calls of the same night without any accident."""
    judge.reset()
    with FakeSlack() as slack:
        space = prepared(tmp_path_factory.mktemp("undisturbed"), slack)
        assert finish(start(space, environ_of(space, judge, slack))) == 0
        assert len(slack.messages) == 1
        assert len(paid(judge)) == len(set(paid(judge)))
        return comparable(space), len(paid(judge))


def comparable(space: Workspace) -> dict:
    """All rows but those that hold the message's own addresses or the folder of this test."""
    rows = space.rows()
    rows.pop("outbox", None)
    runs = space.rows().pop("runs")
    rows["runs"] = [tuple(value for value in row if str(space.folder) not in value) for row in runs]
    return rows


@pytest.mark.parametrize(
    "death",
    [
        {"die_at": "reading"},
        {"die_at": "grading"},
        {"die_after": 1},
        {"die_after": 7},
        {"die_after": 15},
        {"die_at": "deciding"},
        {"die_at": "writing"},
        {"die_at": "telling"},
    ],
    ids=lambda death: "-".join(map(str, *death.items())),
)
def test_a_night_killed_anywhere_ends_as_if_nothing_had_happened(
    tmp_path: Path, judge: FakeOpenAI, death: dict, undisturbed: tuple[dict, int]
) -> None:
    """Second run: same rows as an undisturbed night, at most the calls in flight paid again, one message."""
    rows, calls = undisturbed
    judge.reset()
    with FakeSlack() as slack:
        space = prepared(tmp_path, slack)
        environ = environ_of(space, judge, slack)
        assert finish(start(space, environ, **death)) == -signal.SIGKILL
        before = len(paid(judge))
        assert finish(start(space, environ)) == 0
        assert comparable(space) == rows
        assert len(slack.messages) == 1
        # A call whose answer was on its way when the process died cannot be known to be paid.
        in_flight = 0 if "die_at" in death else CONCURRENCY * 2
        assert calls <= len(paid(judge)) <= calls + in_flight
        assert before <= calls + in_flight


def test_a_finished_night_run_again_pays_nothing_and_tells_nobody(
    tmp_path: Path, judge: FakeOpenAI, undisturbed: tuple[dict, int]
) -> None:
    """The third run of a night is free."""
    rows, calls = undisturbed
    judge.reset()
    with FakeSlack() as slack:
        space = prepared(tmp_path, slack)
        environ = environ_of(space, judge, slack)
        for _ in range(2):
            assert finish(start(space, environ)) == 0
        assert comparable(space) == rows
        assert len(paid(judge)) == calls
        assert len(slack.messages) == 1
