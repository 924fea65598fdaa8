"""Whatever is stored comes back as it was."""

import math
from datetime import date, datetime, timedelta, timezone

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import IntegrityError, StatementError
from store_fixtures import (
    DATABASES,
    NIGHT,
    NOW,
    fresh_database,
    make_case,
    make_judge,
    make_response,
    make_run,
    make_score,
    make_verdict,
)

from rag_checks.errors import StoreError
from rag_checks.records import (
    EvalItem,
    ExpectationResult,
    Feedback,
    Finding,
    GradedCase,
    Message,
    Quarantined,
    ScoreRow,
    ToolCall,
)
from rag_checks.store import Store
from rag_checks.store.engine import parse_url


@pytest.fixture(params=DATABASES)
def store_url(request, tmp_path):
    """A database with tables and without data."""
    with fresh_database(request, tmp_path) as url:
        yield url


@pytest.fixture
def store(store_url):
    """An open, empty store."""
    with Store.open(store_url) as opened:
        yield opened


def test_a_run_comes_back_whole(store):
    """A run with its judge is read back equal, also by another opening of the store."""
    run = make_run(finished_at=NOW + timedelta(minutes=7), release="r2", golden_version=3)
    store.save_run(run)
    assert store.run(run.eval_run_id) == run
    assert store.run("another") is None


def test_saving_a_run_again_updates_it_and_keeps_when_it_was_made(store):
    """The second save wins in everything but created_at."""
    store.save_run(make_run())
    store.save_run(make_run(status="done", judge=None, created_at=NOW + timedelta(days=1)))
    assert store.run("shop-2026-03-01") == make_run(status="done", judge=None)


def test_runs_are_listed_newest_first_and_filtered(store):
    """Runs of one monitor, by kind, up to a night, at most so many."""
    for day in (1, 3, 2):
        store.save_run(make_run(f"n{day}", night=date(2026, 3, day)))
    store.save_run(make_run("again", night=date(2026, 3, 3), created_at=NOW + timedelta(hours=1)))
    store.save_run(make_run("rel", night=date(2026, 3, 2), kind="release"))
    store.save_run(make_run("other", monitor="bank"))
    found = {
        "nightly": store.runs("shop", kind="nightly"),
        "until": store.runs("shop", until=date(2026, 3, 2)),
        "limit": store.runs("shop", limit=2),
    }
    assert {key: [run.eval_run_id for run in runs] for key, runs in found.items()} == {
        "nightly": ["again", "n3", "n2", "n1"],
        "until": ["rel", "n2", "n1"],
        "limit": ["again", "n3"],
    }
    assert store.monitors() == ["bank", "shop"]


def test_times_come_back_aware_and_in_utc(store):
    """A time given in Shanghai's zone is the same moment in UTC afterwards."""
    shanghai = timezone(timedelta(hours=8))
    store.save_run(make_run(created_at=datetime(2026, 3, 2, 10, 30, 0, 123456, tzinfo=shanghai)))
    created = store.run("shop-2026-03-01").created_at
    assert created.isoformat() == "2026-03-02T02:30:00.123456+00:00"


def test_a_time_without_a_zone_is_refused(store):
    """A naive time is an error, not a guess."""
    with pytest.raises(StatementError, match="has no zone"):
        store.purge_replies(datetime(2026, 3, 1))  # noqa: DTZ001 - the very thing that is refused


def test_cases_come_back_in_the_order_of_the_plan(store):
    """Every field of item and response survives, None apart from empty; shards can be read alone."""
    item = EvalItem(
        item_id="q9",
        user_input="And how long does it take?",
        reference_contexts=(),
        answerable=True,
        history=(Message(role="user", content="退款"),),
        tags=("web",),
        status="candidate",
        origin="bad_case",
    )
    response = make_response(
        retrieved_contexts=(),
        tool_calls=(ToolCall(name="lookup", arguments={"员工": "张伟", "n": [1, None]}),),
        answered_at=NOW,
        feedback=Feedback(rating="dislike", comment="不对"),
    )
    planned = [
        make_case(9, item=item, response=response, weight=2.5, conversation_id="c1", stratum="bad"),
        make_case(2),
        make_case(1, shard=1),
    ]
    store.save_run(make_run())
    store.plan_cases("shop-2026-03-01", planned)
    assert store.cases("shop-2026-03-01") == planned
    assert store.cases("shop-2026-03-01", shard=1) == planned[2:]


def test_planning_again_keeps_the_answer_of_an_unchanged_item(store):
    """The stored response and the scores stay, whatever the new plan says about the rest."""
    run = "shop-2026-03-01"
    store.save_run(make_run())
    store.plan_cases(run, [make_case(1), make_case(2)])
    store.save_response(run, "golden:q1", make_response())
    store.save_scores([make_score(1)])
    logged = make_response("另一个回答")
    store.plan_cases(
        run, [make_case(2, response=logged), make_case(1, shard=3, intent="pay", response=logged)]
    )
    assert store.cases(run) == [
        make_case(2, response=logged),
        make_case(1, shard=3, intent="pay", response=make_response()),
    ]
    assert store.scores(run) == [make_score(1)]


def test_planning_again_starts_a_changed_item_anew(store):
    """A case whose question changed has neither the old answer nor the old scores; the others keep theirs."""
    run = "shop-2026-03-01"
    store.save_run(make_run())
    store.plan_cases(run, [make_case(1, response=make_response()), make_case(2)])
    store.save_scores([make_score(1), make_score(2)])
    store.plan_cases(run, [make_case(1, question="退货多久到账？"), make_case(2)])
    assert store.cases(run)[0].response is None
    assert store.scores(run) == [make_score(2)]


def test_cases_no_longer_planned_go_with_their_scores(store):
    """An empty plan leaves nothing of the run's cases, and nothing of another run's is touched."""
    for run in ("shop-2026-03-01", "b"):
        store.save_run(make_run(run))
        store.plan_cases(run, [make_case(number) for number in range(1200)])
        store.save_scores([make_score(1, run=run)])
    store.plan_cases("shop-2026-03-01", [])
    assert store.cases("shop-2026-03-01") == []
    assert store.scores("shop-2026-03-01") == []
    assert len(store.cases("b")) == 1200
    assert store.scores("b") == [make_score(1, run="b")]


def test_a_case_planned_twice_is_refused_and_changes_nothing(store):
    """Two cases of one id in a plan are an error; the earlier plan stays."""
    store.save_run(make_run())
    store.plan_cases("shop-2026-03-01", [make_case(1)])
    with pytest.raises(StoreError, match="names a case twice"):
        store.plan_cases("shop-2026-03-01", [make_case(2), make_case(2)])
    assert store.cases("shop-2026-03-01") == [make_case(1)]


def test_what_belongs_to_no_run_is_refused(store):
    """The error names the run that is missing, or the case."""
    with pytest.raises(StoreError, match="no run 'nobody'"):
        store.plan_cases("nobody", [make_case(1)])
    with pytest.raises(StoreError, match="no run 'nobody'"):
        store.save_verdicts("nobody", [make_verdict()])
    with pytest.raises(StoreError, match="no case 'golden:q1'"):
        store.save_response("nobody", "golden:q1", make_response())


def test_scores_come_back_whole_and_overwrite_by_metric(store):
    """Judge, usage, evidence and a missing value survive; the same case and metric is one score."""
    run = "shop-2026-03-01"
    store.save_run(make_run(judge=None))
    store.plan_cases(run, [make_case(2), make_case(1)])
    other = make_judge(returned_model=None, parameters={"温度": [0.5, None, {"a": True}]})
    lost = make_score(2, "answer_relevancy", value=None, judge=other, evidence={})
    store.save_scores([make_score(1, value=0.25), make_score(1, "hit_rate", judge=None, value=1.0), lost])
    store.save_scores([make_score(1, value=1 / 3)])
    assert store.scores(run) == [
        lost,
        make_score(1, value=1 / 3),
        make_score(1, "hit_rate", judge=None, value=1.0),
    ]
    assert store.graded(run) == [
        GradedCase(case=make_case(2), scores=(lost,)),
        GradedCase(
            case=make_case(1),
            scores=(make_score(1, value=1 / 3), make_score(1, "hit_rate", judge=None, value=1.0)),
        ),
    ]


def test_one_bad_score_keeps_all_of_its_batch_out(store):
    """A score of a case that is not planned is an error, and the good one beside it is not stored."""
    store.save_run(make_run())
    store.plan_cases("shop-2026-03-01", [make_case(1)])
    with pytest.raises(IntegrityError):
        store.save_scores([make_score(1), make_score(7)])
    assert store.scores("shop-2026-03-01") == []
    store.save_scores([make_score(1)])
    assert store.scores("shop-2026-03-01") == [make_score(1)]


def test_history_has_one_row_a_score_over_the_nights(store):
    """Case columns come with each score; the release is the response's or else the run's; bounds count in."""
    for day in (1, 2, 3):
        run = f"n{day}"
        store.save_run(make_run(run, night=date(2026, 3, day), release="run-release"))
        logged = make_case(1, response=make_response(release="r2"), weight=2.5, conversation_id="c1")
        store.plan_cases(run, [logged, make_case(2, intent="unknown")])
        store.save_scores([make_score(1, run=run), make_score(2, run=run, value=None, judge=None)])
    store.save_run(make_run("rel", kind="release"))
    store.plan_cases("rel", [make_case(1)])
    store.save_scores([make_score(1, run="rel")])
    rows = store.history("shop", since=date(2026, 3, 2), until=date(2026, 3, 3))
    first = ScoreRow(
        night=date(2026, 3, 2),
        source="golden",
        metric="faithfulness",
        metric_version="1",
        judge=make_judge().series,
        intent="refund",
        value=0.5,
        status="ok",
        item_id="q1",
        conversation_id="c1",
        weight=2.5,
        release="r2",
    )
    second = first._replace(
        judge=None,
        intent="unknown",
        value=None,
        status="judge_error",
        item_id="q2",
        conversation_id=None,
        weight=1.0,
        release="run-release",
    )
    later = date(2026, 3, 3)
    assert rows == [first, second, first._replace(night=later), second._replace(night=later)]
    assert len(store.history("shop", kinds=("nightly", "release"), since=None, until=later)) == 7
    assert store.history("bank", since=None, until=later) == []


def test_verdicts_replace_those_of_the_run(store):
    """The last list is the list, in its order; every number survives."""
    run = "shop-2026-03-01"
    store.save_run(make_run())
    full = make_verdict(
        "hit_rate",
        "fail",
        slice="intent:退款",
        value=0.61,
        low=0.5,
        high=0.7,
        coverage=0.9,
        minimum=0.8,
        warning=0.85,
        baseline=0.9,
        baseline_nights=14,
        z=-3.5,
        window=3,
        since=NIGHT,
    )
    store.save_verdicts(run, [make_verdict(), make_verdict("recall")])
    store.save_verdicts(run, [full, make_verdict()])
    assert store.verdicts(run) == [full, make_verdict()]
    store.save_verdicts(run, [])
    assert store.verdicts(run) == []


def test_verdict_history_is_the_nightly_ones_oldest_first(store):
    """Release runs and later nights are left out."""
    for day, level in ((2, "fail"), (1, "ok"), (3, "watch")):
        store.save_run(make_run(f"n{day}", night=date(2026, 3, day)))
        store.save_verdicts(f"n{day}", [make_verdict(level=level)])
    store.save_run(make_run("rel", kind="release"))
    store.save_verdicts("rel", [make_verdict(level="no_data")])
    assert store.verdict_history("shop", date(2026, 3, 2)) == [
        (date(2026, 3, 1), make_verdict(level="ok")),
        (date(2026, 3, 2), make_verdict(level="fail")),
    ]


def test_findings_expectations_and_quarantine_are_lists_of_the_run(store):
    """Each is read back as saved last."""
    run = "shop-2026-03-01"
    finding = Finding(
        cause="retrieval_missed",
        stage="retrieval",
        intent="staff",
        since=NIGHT,
        n_cases=4,
        n_failing=5,
        case_ids=("golden:q1", "production:张伟"),
        summary="检索没有找到",
        next_step="检查分块",
    )
    expectation = ExpectationResult(
        expectation="expect_column_mean_to_be_between", purpose="target", success=None, exception="KeyError"
    )
    lost = [
        Quarantined(file="a.jsonl.gz", line=line, offset=5_000_000_000, reason="非法 JSON") for line in (0, 7)
    ]
    store.save_run(make_run())
    for _ in range(2):
        store.save_findings(run, [finding, finding])
        store.save_expectations(run, [expectation])
        store.save_quarantine(run, lost)
    assert store.findings(run) == [finding, finding]
    assert store.expectations(run) == [expectation]
    assert store.quarantine(run) == lost
    assert store.quarantine(run, limit=1) == lost[:1]


def test_a_golden_set_gets_a_new_version_only_when_it_says_something_else(store):
    """The same items in another order are the same version; an edit is the next; old versions stay."""
    items = [make_case(number).item for number in (2, 1)]
    first = store.save_golden("shop", items, NOW)
    again = store.save_golden("shop", items[::-1], NOW + timedelta(days=1))
    edited = [items[0], items[1].model_copy(update={"reference": "三天"})]
    second = store.save_golden("shop", edited, NOW + timedelta(days=2))
    back = store.save_golden("shop", items, NOW + timedelta(days=3))
    assert (first.version, again, second.version, back.version) == (1, first, 2, 3)
    assert first.items == tuple(items)
    assert store.golden("shop") == back
    assert store.golden("shop", 2) == second
    assert store.golden("shop", 4) is None
    assert store.golden("bank") is None
    assert store.save_golden("empty", [], NOW) == store.golden("empty")


def test_a_golden_set_with_an_item_twice_is_refused(store):
    """Item ids are unique in a set."""
    with pytest.raises(StoreError, match="item twice"):
        store.save_golden("shop", [make_case(1).item, make_case(1).item], NOW)


def test_text_that_databases_refuse_is_cleaned_everywhere(store):
    """NUL and lone surrogates, in columns and deep inside JSON, neither fail nor come back."""
    run = "shop-2026-03-01"
    dirty = "退\x00款\ud83d"
    item = EvalItem.model_construct(**{**dict(make_case(1).item), "user_input": dirty, "tags": (dirty,)})
    case = make_case(1).model_copy(update={"item": item})
    score = make_score(1).model_copy(
        update={"reason": dirty, "evidence": {dirty: [{"claim": dirty}], "p": "C:\\fee"}}
    )
    store.save_run(make_run())
    store.plan_cases(run, [case])
    store.save_scores([score])
    clean = "退款\ufffd"
    assert store.cases(run)[0].item.user_input == clean
    assert store.cases(run)[0].item.tags == (clean,)
    assert store.scores(run)[0].reason == clean
    assert store.scores(run)[0].evidence == {clean: [{"claim": clean}], "p": "C:\\fee"}
    store.plan_cases(run, [case])
    assert len(store.scores(run)) == 1


def test_json_columns_keep_chinese_readable(store, store_url):
    """Whoever looks into the database with its own tools can read what is there."""
    store.save_run(make_run())
    store.plan_cases("shop-2026-03-01", [make_case(1, response=make_response())])
    with create_engine(parse_url(store_url)).connect() as connection:
        item, response = connection.execute(text("SELECT item, response FROM cases")).one()
    assert "退款多久到账？" in item
    assert "七个工作日" in response


def test_numbers_that_json_does_not_know_become_null(store):
    """NaN and infinities inside evidence do not make a row that nobody can read."""
    store.save_run(make_run())
    store.plan_cases("shop-2026-03-01", [make_case(1)])
    store.save_scores([make_score(1, evidence={"mean": math.nan, "top": math.inf, "big": 2**70})])
    assert store.scores("shop-2026-03-01")[0].evidence == {"mean": None, "top": None, "big": 2**70}
