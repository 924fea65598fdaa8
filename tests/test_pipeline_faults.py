"""What happens when judge, bot, database, Slack or disk fail: each ends in a clear state."""

import gzip
import json
import os
import re
import socket
import sqlite3
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from fake_openai import FakeOpenAI, always
from fake_slack import FakeSlack, http, refusal
from workspace import NIGHT, ZONE, Workspace, make_workspace

from rag_checks.errors import MissingSecret, SlackRejected, SlackUnavailable, StoreUnavailable
from rag_checks.pipeline import use_cases as pipeline
from rag_checks.pipeline.run import NightResult
from rag_checks.pipeline.runs import nightly_run_id
from rag_checks.records import Level, ScoreStatus
from rag_checks.store import Store

NOW = datetime(2026, 3, 11, 2, 30, tzinfo=ZONE)
RUN = nightly_run_id("toy", NIGHT)


def judge_config(url: str, **changes) -> dict:
    """A judge section that gives up quickly."""
    return {
        "judge": {
            "kind": "openai",
            "model": "judge-1",
            "base_url": url,
            "retries": 1,
            "timeout_s": 0.5,
            "deadline_s": 2,
            "concurrency": 8,
            **changes,
        }
    }


def refused_url() -> str:
    """An address on loopback at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenAI]:
    """A judge endpoint whose faults the test sets."""
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    with FakeOpenAI() as fake:
        yield fake


def night(space: Workspace) -> NightResult:
    """The night as `rag-checks run` runs it."""
    return pipeline.run_night(space.monitor, space.settings, NIGHT, now=NOW)


def assert_nothing_was_graded(space: Workspace, *words: str) -> None:
    """No score, every failure counted, no_data for every target, and the reason told."""
    with Store.open(space.settings.store_url) as store:
        record, scores, verdicts = store.run(RUN), store.scores(RUN), store.verdicts(RUN)
        messages = store.messages(RUN)
    judged = [score for score in scores if score.metric == "answer_correctness"]
    assert {score.status for score in judged} <= {ScoreStatus.JUDGE_ERROR, ScoreStatus.NOT_APPLICABLE}
    assert record is not None
    assert record.problem is not None
    for word in words:
        assert word in record.problem
    targeted = [
        v for v in verdicts if v.metric in {"answer_correctness", "faithfulness"} and v.slice == "all"
    ]
    assert {v.level for v in targeted} == {Level.NO_DATA}
    assert all(v.value is None for v in targeted)
    assert len(messages) == 1


@pytest.mark.parametrize("mode", ["500", "503", "429"])
def test_a_judge_that_only_fails_ends_in_no_data_with_the_reason(
    tmp_path: Path, judge: FakeOpenAI, mode: str
) -> None:
    """An outage is never a score and never silence."""
    judge.state.faults = always(mode)
    space = make_workspace(tmp_path, changes=judge_config(judge.url))
    night(space)
    assert_nothing_was_graded(space, "down")


def test_a_judge_nobody_listens_at_ends_in_no_data(tmp_path: Path, judge: FakeOpenAI) -> None:
    """Refused connections are an outage too."""
    del judge
    space = make_workspace(tmp_path, changes=judge_config(f"{refused_url()}/v1"))
    night(space)
    assert_nothing_was_graded(space)


def test_a_judge_that_never_answers_in_time_ends_in_no_data(tmp_path: Path, judge: FakeOpenAI) -> None:
    """Timeouts are an outage: the night ends within its own patience, not the endpoint's."""
    judge.state.latency_s = 30
    space = make_workspace(tmp_path, changes=judge_config(judge.url, retries=0))
    night(space)
    assert_nothing_was_graded(space, "down")


def test_a_wrong_key_stops_the_run_at_once_with_one_clear_message(tmp_path: Path, judge: FakeOpenAI) -> None:
    """401 is fatal: a handful of calls in flight, not one for each of all cases, and the fix is named."""
    judge.state.faults = always("401")
    space = make_workspace(tmp_path, changes=judge_config(judge.url))
    night(space)
    assert_nothing_was_graded(space, "OPENAI_API_KEY")
    assert judge.state.calls <= 16


def test_after_the_outage_the_same_night_is_graded(tmp_path: Path, judge: FakeOpenAI) -> None:
    """Running the night again fills in what failed, and the problem is gone."""
    judge.state.faults = always("500")
    space = make_workspace(tmp_path, changes=judge_config(judge.url))
    night(space)
    judge.reset()
    result = night(space)
    assert result.run.problem is None
    with Store.open(space.settings.store_url) as store:
        assert all(score.status is not ScoreStatus.JUDGE_ERROR for score in store.scores(RUN))


def test_a_few_failed_judgements_are_counted_and_change_no_other_score(
    tmp_path: Path, judge: FakeOpenAI
) -> None:
    """Content filters hit three calls: those are judge errors, the means are over the rest (P1)."""
    judge.state.faults = lambda number, _body: "filter_400" if number in {3, 9, 20} else None
    space = make_workspace(tmp_path, changes=judge_config(judge.url))
    night(space)
    with Store.open(space.settings.store_url) as store:
        scores = store.scores(RUN)
    failed = [score for score in scores if score.status is ScoreStatus.JUDGE_ERROR]
    assert failed
    assert all(score.value is None for score in failed)
    assert {score.evidence["error_kind"] for score in failed} == {"content_filter"}


def test_a_bot_that_is_down_is_a_bot_error_and_production_is_still_graded(tmp_path: Path) -> None:
    """The golden half has no answers, which counts; the logged half is graded as ever."""
    bot = {"kind": "http", "url": f"{refused_url()}/ask", "retries": 0, "timeout_s": 1}
    space = make_workspace(tmp_path, changes={"bot": bot})
    night(space)
    with Store.open(space.settings.store_url) as store:
        golden = [c for c in store.cases(RUN) if c.source == "golden"]
        verdicts = {(v.metric, v.source): v for v in store.verdicts(RUN) if v.slice == "all"}
    assert all(case.response is not None and case.response.error_kind for case in golden)
    correctness = verdicts["answer_correctness", "golden"]
    assert (correctness.level, correctness.value) == (Level.NO_DATA, None)
    assert correctness.n_failed > 0
    assert verdicts["faithfulness", "production"].level is Level.OK


def test_a_bot_that_is_up_again_is_asked_again_when_the_night_is_repeated(tmp_path: Path) -> None:
    """Only what it failed to answer: the outage is healed, good answers stay as they were."""
    space = make_workspace(tmp_path)
    answers = space.folder / "answers.json"
    whole = answers.read_text(encoding="utf-8")
    answers.write_text("{}", encoding="utf-8")
    bot = next(space.folder.glob("toy_bot_*.py"))
    bot.write_text(
        bot.read_text(encoding="utf-8").replace(
            "    answer, passage",
            '    if not ANSWERS:\n        raise ConnectionError("down")\n    answer, passage',
        ),
        encoding="utf-8",
    )
    night(space)
    with Store.open(space.settings.store_url) as store:
        golden = [case for case in store.cases(RUN) if case.source == "golden"]
        assert {case.response.error_kind for case in golden if case.response} == {"raised"}
    answers.write_text(whole, encoding="utf-8")
    sys.modules[bot.stem].ANSWERS = json.loads(whole)
    night(space)
    with Store.open(space.settings.store_url) as store:
        golden = [case for case in store.cases(RUN) if case.source == "golden"]
        verdicts = {(v.metric, v.source): v for v in store.verdicts(RUN) if v.slice == "all"}
    assert all(case.response is not None and case.response.response for case in golden)
    assert verdicts["answer_correctness", "golden"].level is Level.OK


def test_a_night_without_conversations_is_no_data_although_golden_items_are_fine(tmp_path: Path) -> None:
    """The export died, the bot lives: the production target says so (P10)."""
    space = make_workspace(tmp_path)
    night(space)
    later = NIGHT + timedelta(days=1)
    result = pipeline.run_night(space.monitor, space.settings, later, now=NOW + timedelta(days=1))
    summary, _ = pipeline.summarise(space.monitor, space.settings, result.run.eval_run_id)
    absent = next(v for v in summary.verdicts if (v.metric, v.source) == ("faithfulness", "production"))
    assert (absent.level, absent.n_total) == (Level.NO_DATA, 0)
    assert summary.level is Level.NO_DATA
    assert result.run.problem is not None
    assert "no conversations of this day" in result.run.problem


def test_a_night_read_too_early_says_that_lines_are_still_due(tmp_path: Path) -> None:
    """Half an hour after midnight, two hours of lateness: the numbers are not final."""
    space = make_workspace(tmp_path)
    early = datetime(2026, 3, 11, 0, 30, tzinfo=ZONE)
    result = pipeline.run_night(space.monitor, space.settings, NIGHT, now=early)
    assert result.run.problem is not None
    assert "90 minutes before the day's last lines are due" in result.run.problem


def test_a_locked_database_is_a_transient_error_and_the_night_can_be_repeated(tmp_path: Path) -> None:
    """Somebody holds the write lock: StoreUnavailable, nothing half written, then the night runs."""
    space = make_workspace(tmp_path)
    with Store.open(space.settings.store_url):
        pass
    path = space.settings.store_url.removeprefix("sqlite:///")
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with Store.open(space.settings.store_url, lock_timeout_s=0.2) as store, pytest.raises(StoreUnavailable):
        store.save_golden("toy", [], NOW)
    holder.execute("ROLLBACK")
    holder.close()
    assert night(space).run.status == "checked"


def test_slack_down_keeps_the_message_and_sends_it_once_later(tmp_path: Path) -> None:
    """500 from Slack: the step fails as transient; repeated, the one message arrives."""
    with FakeSlack() as slack:
        slack.fault("chat.postMessage", *[http(500)] * 6)
        space = make_workspace(
            tmp_path, changes={"alerts": {"channel": "#rag-alerts", "slack_base_url": slack.url}}
        )
        space.set_environ(SLACK_BOT_TOKEN=slack.token)
        with pytest.raises(SlackUnavailable):
            night(space)
        assert slack.messages == []
        for _ in range(3):
            slack.forget_faults()
            later = datetime(2026, 3, 11, 4, 0, tzinfo=ZONE)
            message = pipeline.alert(space.monitor, space.settings, RUN, now=later)
        assert message is not None
        assert message.state == "sent"
        assert len(slack.messages) == 1


def test_a_channel_that_does_not_exist_fails_for_good_with_the_fix(tmp_path: Path) -> None:
    """A person must act: the error names the channel setting."""
    with FakeSlack() as slack:
        slack.fault("chat.postMessage", refusal("channel_not_found"))
        space = make_workspace(
            tmp_path, changes={"alerts": {"channel": "C0NONE", "slack_base_url": slack.url}}
        )
        space.set_environ(SLACK_BOT_TOKEN=slack.token)
        with pytest.raises(SlackRejected, match="channel"):
            night(space)


def test_a_full_disk_fails_the_report_only_and_leaves_no_half_file(tmp_path: Path) -> None:
    """Writing to a full device raises; the old report stays, verdicts stay, people can still be told."""
    space = make_workspace(tmp_path)
    first = night(space)
    assert first.report is not None
    before = first.report.html.read_bytes()
    partial = first.report.html.with_name(f".{first.report.html.name}.{os.getpid()}.part")
    partial.symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        pipeline.report(space.monitor, space.settings, RUN)
    assert first.report.html.read_bytes() == before
    assert not partial.is_symlink()
    assert pipeline.alert(space.monitor, space.settings, RUN, now=NOW) is not None


def test_too_many_unreadable_lines_are_told_with_the_first_one(tmp_path: Path) -> None:
    """Good lines are graded, the share of bad ones is a problem people hear of."""
    space = make_workspace(tmp_path)
    day = space.folder / "logs" / f"{NIGHT}.jsonl"
    day.write_text(day.read_text(encoding="utf-8") + "not json\n" * 4, encoding="utf-8")
    result = night(space)
    assert result.run.problem is not None
    assert "4 of 28 lines could not be read" in result.run.problem
    assert f"{NIGHT}.jsonl:25: " in result.run.problem
    assert result.run.counts["sampled"] == 12
    assert result.message is not None
    assert "4 of 28 lines" in str(result.message.payload)


def test_a_cut_file_is_told_however_few_lines_it_is(tmp_path: Path) -> None:
    """A truncated gzip is one unreadable place, but the rest of the file is lost: people hear of it."""
    space = make_workspace(tmp_path, changes={"conversations": {"kind": "files", "path": "logs/*"}})
    day = space.folder / "logs" / f"{NIGHT}.jsonl"
    packed = gzip.compress(day.read_bytes().replace(str(NIGHT).encode() + b"-", b"packed-"))
    (space.folder / "logs" / "cut.jsonl.gz").write_bytes(packed[:-20])
    result = night(space)
    assert result.run.problem is not None
    assert "1 of 2 files are cut or broken" in result.run.problem


def test_a_night_without_its_secret_names_the_file_and_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reads the task's log, or the run's problem, knows where to look."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    space = make_workspace(tmp_path, changes={"judge": {"kind": "openai", "model": "judge-1"}})
    lines = space.monitor_file.read_text(encoding="utf-8").splitlines()
    place = f"{space.monitor_file}:{lines.index('judge:') + 1}: judge: "
    with pytest.raises(MissingSecret, match=re.escape(place)):
        night(space)
    with Store.open(space.settings.store_url) as store:
        run = store.run(RUN)
    assert run is not None
    assert (run.problem or "").startswith(place)
