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
    """StoreUnavailable with the address; then only what was not stored is paid, and one message is sent."""
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
        assert here.slack.messages == []
        first = len(judge.asked["test"])
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            night()
        assert len(judge.asked["test"]) == first
        server.start()
        stored = here.replies()
        night()
        assert len(here.slack.messages) == 1
        with Store.open(server.url) as store:
            [run] = store.runs("toy")
            assert (run.status, run.problem) == ("done", None)
            assert run.counts["ungraded"] == run.counts["scores_failed"] == 0
        assert len(judge.asked["test"]) - first == len(set(judge.asked["test"])) - stored
        rows = here.rows()
        night()
        assert here.rows() == rows
