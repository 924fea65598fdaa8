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
from store_fixtures import fresh_postgres
from workspace import NIGHT, Workspace, make_workspace

HERE = Path(__file__).parent
CONCURRENCY = 4
CHANGES = {
    "judge": {"kind": "openai", "model": "judge-1", "concurrency": CONCURRENCY, "embedding_model": None},
    "sample": {"size": 8, "floor_per_intent": 1, "bad_cases": 2},
}
# Every table a night writes to: a sweep that misses one has gone blind.
WRITTEN = {
    "judges", "runs", "cases", "scores", "verdicts", "findings", "expectations", "golden_sets",
    "golden_items", "replies", "outbox",
}  # fmt: skip


class Nights:
    """Nights in forks of one process that has imported everything; see `night_process`."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "night_process.py")],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parent), str(HERE)])},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(
        self, space: Workspace, environ: dict[str, str], *, later: bool = False, **death: str | int
    ) -> dict:
        """A night, to its end or its death; `later`: when a message left half sent may be taken again."""
        spec = {
            "monitor": str(space.monitor_file),
            "environ": environ,
            "night": NIGHT.isoformat(),
            "now": f"2026-03-11T02:{40 if later else 30}:00+08:00",
            **death,
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(spec) + "\n")
        self._process.stdin.flush()
        ended = json.loads(self._process.stdout.readline())
        assert ended["code"] == (-signal.SIGKILL if death else 0), ended["said"]
        return ended

    def close(self) -> None:
        """End the process."""
        self._process.communicate(timeout=30)


@pytest.fixture(scope="module")
def nights() -> Iterator[Nights]:
    """The process whose forks run nights."""
    serving = Nights()
    yield serving
    serving.close()


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


def paid(judge: FakeOpenAI) -> list[str]:
    """The judgements the endpoint was asked for, one text each."""
    return [json.dumps(request["messages"], ensure_ascii=False) for request in judge.state.requests]


def prepared(folder: Path, slack: FakeSlack, store_url: str | None = None) -> Workspace:
    """A workspace whose messages go to the fake Slack."""
    alerts = {"channel": "#rag-alerts", "slack_base_url": slack.url}
    return make_workspace(folder, changes={**CHANGES, "alerts": alerts}, store_url=store_url)


@pytest.fixture(scope="module")
def judge() -> Iterator[FakeOpenAI]:
    """One endpoint for all nights: its address is part of who graded."""
    with FakeOpenAI() as fake:
        yield fake


@pytest.fixture(scope="module")
def undisturbed(
    nights: Nights, judge: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict, int, list[str]]:
    """Rows, number of judge calls and tables written of the same night without any accident."""
    judge.reset()
    with FakeSlack() as slack:
        space = prepared(tmp_path_factory.mktemp("undisturbed"), slack)
        # The store's own set-up is a migration's matter: nights are killed, not installations.
        ended = nights.run(space, environ_of(space, judge, slack))
        assert len(slack.messages) == 1
        assert len(paid(judge)) == len(set(paid(judge)))
        return comparable(space), len(paid(judge)), ended["writes"]


def comparable(space: Workspace) -> dict:
    """All rows but those that hold the message's own addresses or the folder of this test."""
    rows = space.rows()
    rows.pop("outbox", None)
    rows["runs"] = [tuple(value for value in row if str(space.folder) not in value) for row in rows["runs"]]
    return rows


def stored_replies(space: Workspace) -> int:
    """Judgements that are paid and kept."""
    url = space.settings.store_url
    if url.startswith("sqlite:///") and not Path(url.removeprefix("sqlite:///")).exists():
        return 0
    return len(space.rows().get("replies", []))


def survive(
    nights: Nights, space: Workspace, judge: FakeOpenAI, slack: FakeSlack, **death: str | int
) -> dict:
    """Kill a night, run it again; what came out. No kept judgement is paid again, there is one message."""
    judge.reset()
    environ = environ_of(space, judge, slack)
    nights.run(space, environ, **death)
    kept, before = stored_replies(space), len(paid(judge))
    nights.run(space, environ, later=True)
    again = len(paid(judge)) - before
    assert again == stored_replies(space) - kept
    # Only a call whose answer was on its way when the process died is paid twice: nobody can know it.
    assert before <= kept + CONCURRENCY
    assert len(slack.messages) == 1
    return comparable(space)


def test_the_sweep_sees_every_table_a_night_writes(undisturbed: tuple[dict, int, list[str]]) -> None:
    """Nothing is written past the statements at which the next tests kill the night."""
    assert set(undisturbed[2]) - {"alembic_version"} >= WRITTEN


def points(writes: list[str], *, most: int) -> list[tuple[str, int]]:
    """Where to die: around the first, the middle and the last write to each table, and spread between."""
    numbers: set[int] = set()
    for table in dict.fromkeys(writes):
        places = [number for number, name in enumerate(writes, start=1) if name == table]
        numbers |= {places[0], places[len(places) // 2], places[-1]}
    spread = [number for number in range(1, len(writes) + 1) if number not in numbers]
    room = max(0, most - len(numbers))
    numbers |= set(spread[:: max(1, len(spread) // room)] if room else [])
    return [
        (("before_write", "after_write")[place % 2], number) for place, number in enumerate(sorted(numbers))
    ]


def test_a_night_killed_around_any_write_ends_as_if_nothing_had_happened(
    tmp_path: Path, nights: Nights, judge: FakeOpenAI, undisturbed: tuple[dict, int, list[str]]
) -> None:
    """Second run: same rows as an undisturbed night, no kept judgement paid again, one message."""
    rows, _, writes = undisturbed
    for point, number in points(writes, most=26):
        with FakeSlack() as slack:
            space = prepared(tmp_path / f"{point}-{number}", slack)
            found = survive(nights, space, judge, slack, **{point: number})
        assert found == rows, f"killed at {point} {number}, {writes[number - 1]}"


@pytest.mark.postgres
def test_a_night_killed_around_writes_to_postgresql_ends_as_if_nothing_had_happened(
    tmp_path: Path,
    nights: Nights,
    judge: FakeOpenAI,
    undisturbed: tuple[dict, int, list[str]],
    postgres_url: str,
) -> None:
    """The same on PostgreSQL, where the connection of a killed process is cleaned up by the server."""
    with FakeSlack() as slack, fresh_postgres(postgres_url) as url:
        space = prepared(tmp_path / "undisturbed", slack, url)
        judge.reset()
        writes = nights.run(space, environ_of(space, judge, slack))["writes"]
        rows = comparable(space)
    for point, number in points(writes, most=0)[::5]:
        with FakeSlack() as slack, fresh_postgres(postgres_url) as url:
            space = prepared(tmp_path / f"{point}-{number}", slack, url)
            found = survive(nights, space, judge, slack, **{point: number})
        assert found == rows, f"killed at {point} {number}, {writes[number - 1]}"


@pytest.mark.parametrize(
    "death",
    [
        {"die_at": "reading"},
        {"die_at": "grading"},
        {"die_after": 7},
        {"die_at": "deciding"},
        {"die_at": "writing"},
        {"die_at": "telling"},
    ],
    ids=lambda death: "-".join(map(str, *death.items())),
)
def test_a_night_killed_between_steps_ends_as_if_nothing_had_happened(
    tmp_path: Path, nights: Nights, judge: FakeOpenAI, death: dict, undisturbed: tuple[dict, int, list[str]]
) -> None:
    """The same where nothing is being written: before each step, and after a case."""
    with FakeSlack() as slack:
        space = prepared(tmp_path, slack)
        assert survive(nights, space, judge, slack, **death) == undisturbed[0]


def test_a_finished_night_run_again_pays_nothing_and_tells_nobody(
    tmp_path: Path, nights: Nights, judge: FakeOpenAI, undisturbed: tuple[dict, int, list[str]]
) -> None:
    """The second run of a night is free."""
    rows, calls, _ = undisturbed
    judge.reset()
    with FakeSlack() as slack:
        space = prepared(tmp_path, slack)
        environ = environ_of(space, judge, slack)
        for _ in range(2):
            nights.run(space, environ)
        assert comparable(space) == rows
        assert len(paid(judge)) == calls
        assert len(slack.messages) == 1
