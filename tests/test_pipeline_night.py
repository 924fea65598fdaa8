"""One night through the pipeline: real bot, real files, real store, offline judge."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from store_fixtures import DATABASES, fresh_database
from workspace import FACTS, NIGHT, ZONE, Workspace, make_workspace, write_day, write_jsonl

from rag_checks.errors import RunIncomplete, SourceError, StoreError
from rag_checks.pipeline import use_cases as pipeline
from rag_checks.pipeline.run import NightResult
from rag_checks.pipeline.runs import nightly_run_id
from rag_checks.records import Level, ScoreStatus
from rag_checks.store import Store

NOW = datetime(2026, 3, 11, 2, 30, tzinfo=ZONE)
RUN = nightly_run_id("toy", NIGHT)


@pytest.fixture(params=DATABASES)
def space(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Workspace]:
    """A workspace whose store is SQLite, then PostgreSQL."""
    with fresh_database(request, tmp_path) as url:
        yield make_workspace(tmp_path / "monitor", store_url=url)


def run(space: Workspace, **options) -> NightResult:
    return pipeline.run_night(space.monitor, space.settings, NIGHT, now=NOW, **options)


def test_a_healthy_night_is_graded_checked_reported_and_told(space: Workspace) -> None:
    """Every planned case has a score for every metric, verdicts are stored, files and message exist."""
    result = run(space)
    with Store.open(space.settings.store_url) as store:
        cases, scores = store.cases(RUN), store.scores(RUN)
        verdicts = store.verdicts(RUN)
        stored = store.run(RUN)
    assert len(scores) == len(cases) * len(result.run.metric_versions)
    assert {case.source for case in cases} == {"production", "golden"}
    assert stored is not None
    assert (stored.status, stored.release, stored.golden_version) == ("done", "r1", 1)
    correctness = next(v for v in verdicts if (v.metric, v.source) == ("answer_correctness", "golden"))
    assert correctness.level is Level.OK
    assert correctness.value is not None
    assert correctness.value > 0.9
    assert result.report is not None
    assert result.report.html.read_text(encoding="utf-8").count("data:image/svg+xml") >= 2
    assert result.message is not None
    assert result.message.state == "printed"
    assert any(space.settings.unsent.iterdir())


def test_the_same_night_again_changes_no_row_and_tells_nobody_again(space: Workspace) -> None:
    """Natural keys and upserts: repeating is free (P3)."""
    run(space)
    before = space.rows()
    again = run(space)
    assert space.rows() == before
    assert again.message is not None
    with Store.open(space.settings.store_url) as store:
        assert len(store.messages(RUN)) == 1


def test_a_backfill_grades_logged_turns_only_and_tells_nobody(space: Workspace) -> None:
    """No live question, no message; its rows are the same when repeated."""
    plan = pipeline.plan_for_dag_run(
        space.monitor,
        space.settings,
        run_type="backfill",
        logical_date=datetime(2026, 3, 10, tzinfo=ZONE),
        run_after=NOW + timedelta(days=30),
        night=None,
        ask_bot="auto",
        now=NOW + timedelta(days=30),
    )
    assert plan.eval_run_id == RUN
    pipeline.evaluate_shard(space.monitor, space.settings, RUN)
    pipeline.reconcile(space.monitor, space.settings, RUN)
    pipeline.check(space.monitor, space.settings, RUN)
    assert pipeline.alert(space.monitor, space.settings, RUN) is None
    with Store.open(space.settings.store_url) as store:
        assert {case.source for case in store.cases(RUN)} == {"production"}
        assert store.messages() == []


def test_a_backfill_over_a_night_that_was_live_keeps_the_live_answers(space: Workspace) -> None:
    """What the bot said that night cannot be had again, so it is never thrown away."""
    run(space)
    with Store.open(space.settings.store_url) as store:
        live = [case for case in store.cases(RUN) if case.source == "golden"]
    run(space, backfill=True, ask_bot=False)
    with Store.open(space.settings.store_url) as store:
        assert [case for case in store.cases(RUN) if case.source == "golden"] == live


def test_shards_together_grade_what_one_process_grades(tmp_path: Path) -> None:
    """Mapping over shards changes nothing but who does the work."""
    whole, sharded = (
        make_workspace(tmp_path / "whole"),
        make_workspace(tmp_path / "sharded", changes={"shards": 3}),
    )
    run(whole)
    plan = pipeline.plan_night(sharded.monitor, sharded.settings, NIGHT, now=NOW)
    assert len(plan.shards) == 3
    for shard in plan.shards:
        pipeline.evaluate_shard(sharded.monitor, sharded.settings, RUN, shard)
    pipeline.reconcile(sharded.monitor, sharded.settings, RUN)
    assert sharded.rows()["scores"] == whole.rows()["scores"]


def test_a_shard_nobody_graded_is_counted_as_failed_never_dropped(space: Workspace) -> None:
    """Missing is neither zero nor gone: the verdict says no_data and names the denominator (P1)."""
    pipeline.plan_night(space.monitor, space.settings, NIGHT, now=NOW)
    pipeline.evaluate_shard(space.monitor, space.settings, RUN, 0)
    run_record = pipeline.reconcile(space.monitor, space.settings, RUN)
    assert run_record.counts["ungraded"] > 0
    pipeline.check(space.monitor, space.settings, RUN)
    with Store.open(space.settings.store_url) as store:
        missing = [score for score in store.scores(RUN) if score.evidence.get("error_kind") == "not_graded"]
        verdicts = {(v.metric, v.source): v for v in store.verdicts(RUN) if v.slice == "all"}
    assert {score.status for score in missing} == {ScoreStatus.JUDGE_ERROR}
    golden = verdicts["answer_correctness", "golden"]
    assert golden.n_total == len(FACTS) + 1
    assert golden.n_failed > 0
    assert golden.level is Level.NO_DATA


def test_a_night_without_any_conversation_and_question_is_no_data_with_the_reason(tmp_path: Path) -> None:
    """A run that graded nothing says so (P10)."""
    space = make_workspace(tmp_path, changes={"bot": None})
    result = pipeline.run_night(
        space.monitor, space.settings, NIGHT + timedelta(days=1), now=NOW + timedelta(days=1)
    )
    assert result.run.problem is not None
    assert "没有对话，也没有可提问的条目；" in result.run.problem
    summary, _ = pipeline.summarise(space.monitor, space.settings, result.run.eval_run_id)
    assert summary.level is Level.NO_DATA
    assert result.message is not None
    assert "没有对话" in json.dumps(result.message.payload, ensure_ascii=False)


def test_late_lines_keep_most_of_the_sample_and_their_scores(space: Workspace) -> None:
    """Hash sampling: a repeated night with late rows grades only what is new."""
    write_day(space.folder, NIGHT, per_question=40)
    run(space)
    with Store.open(space.settings.store_url) as store:
        first = {case.case_id for case in store.cases(RUN)}
    day = space.folder / "logs" / f"{NIGHT}.jsonl"
    lines = day.read_text(encoding="utf-8").splitlines()
    late = [json.loads(line) | {"turn_id": f"late-{n}"} for n, line in enumerate(lines[:6])]
    write_jsonl(space.folder / "logs" / "late.jsonl", late)
    run(space)
    with Store.open(space.settings.store_url) as store:
        second = {case.case_id for case in store.cases(RUN)}
    assert len(first & second) >= len(first) - 2


def test_a_step_out_of_order_says_what_is_missing(space: Workspace) -> None:
    """Checking before grading, or telling before checking, is an error and not an empty success."""
    pipeline.plan_night(space.monitor, space.settings, NIGHT, now=NOW)
    with pytest.raises(RunIncomplete, match="not been evaluated"):
        pipeline.check(space.monitor, space.settings, RUN)
    with pytest.raises(RunIncomplete, match="no verdicts"):
        pipeline.alert(space.monitor, space.settings, RUN, now=datetime.now(UTC))
    with pytest.raises(StoreError, match="nobody-nightly"):
        pipeline.report(space.monitor, space.settings, "nobody-nightly-2026-03-10")


def test_a_changed_golden_file_becomes_a_new_version(space: Workspace) -> None:
    """Versions are immutable; the run names the one it asked."""
    run(space)
    path = space.folder / "golden.jsonl"
    items = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    write_jsonl(path, items[:-1])
    result = run(space)
    assert result.run.golden_version == 2
    with Store.open(space.settings.store_url) as store:
        first = store.golden("toy", 1)
    assert first is not None
    assert len(first.items) == len(items)


def test_a_golden_file_with_mistakes_names_every_line(space: Workspace) -> None:
    """Nothing of a broken golden file is used, and everything wrong is told at once."""
    path = space.folder / "golden.jsonl"
    text = path.read_text(encoding="utf-8")
    path.write_text(text + '{"item_id": "x"}\nnot json\n', encoding="utf-8")
    with pytest.raises(SourceError) as caught:
        run(space)
    count = len(text.splitlines())
    assert f"golden.jsonl:{count + 1}: user_input" in str(caught.value)
    assert f"golden.jsonl:{count + 2}: " in str(caught.value)
