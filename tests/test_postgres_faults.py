"""PostgreSQL goes away in the middle of a night: a clear error, and the night ends once it is back."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from kill_fixtures import AskedJudge, place
from postgres_server import PostgresServer
from workspace import NIGHT, ZONE

from rag_checks.errors import StoreUnavailable
from rag_checks.pipeline import use_cases as pipeline
from rag_checks.pipeline.run import NightResult
from rag_checks.store import Store

pytestmark = pytest.mark.postgres

NOW = datetime(2026, 3, 12, 2, 30, tzinfo=ZONE)


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A server of this test's own, which it may stop."""
    running = PostgresServer(tmp_path_factory.mktemp("stoppable"))
    yield running
    running.remove()


@pytest.mark.parametrize("after", [2, 5])
def test_a_server_stopped_in_the_middle_of_a_night_is_named_and_the_night_ends_later(
    tmp_path: Path, server: PostgresServer, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    """StoreUnavailable with the address, told each time; then only what was not stored is paid, told once."""
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-test")
    with AskedJudge() as judge, place(tmp_path, judge, None, store_url=server.url) as here:
        monkeypatch.setenv("OPENAI_BASE_URL", judge.url)
        here.space.set_environ(SLACK_BOT_TOKEN="xoxb-test", OPENAI_BASE_URL=judge.url, OPENAI_API_KEY="test")

        def progress(done: int, _total: int) -> None:
            if done == after:
                server.stop()

        def night(**more) -> NightResult:
            return pipeline.run_night(
                here.space.monitor, here.space.settings, NIGHT, now=NOW, with_report=False, **more
            )

        with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1.*cannot be reached"):
            night(progress=progress)
        told = [message["text"] for message in here.slack.messages]
        assert len(told) == 1
        assert "监控本身出了故障" in told[0]  # without a store nobody can know that it was told before
        first = len(judge.asked["test"])
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            night()
        assert len(judge.asked["test"]) == first
        server.start()
        stored = here.replies()
        night()
        [digest] = here.slack.messages[2:]
        assert "监控本身" not in digest["text"]
        with Store.open(server.url) as store:
            [run] = store.runs("toy")
            assert (run.status, run.problem) == ("done", None)
            assert run.counts["ungraded"] == run.counts["scores_failed"] == 0
        assert len(judge.asked["test"]) - first == len(set(judge.asked["test"])) - stored
        rows = here.space.rows()
        night()
        assert here.space.rows() == rows
        assert len(here.slack.messages) == 3
