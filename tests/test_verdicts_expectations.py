"""Great Expectations says what the verdict says, and never passes what was not there."""

import math
from collections import Counter
from datetime import timedelta

import pytest
from verdict_worlds import START, monitor, row, rows

from rag_checks.records import Level
from rag_checks.verdicts.drift import decide
from rag_checks.verdicts.expectations import build_suite, check, run_suite, score_frame

pytest.importorskip("great_expectations")

MONITOR = monitor(targets=[{"metric": "faithfulness", "source": "production", "minimum": 0.7}])


def results(scores, planned=None, settings=MONITOR, verdicts=None):
    """Success by purpose; range fails when either of its two parts does."""
    decided = decide(scores, settings, START) if verdicts is None else verdicts
    plan = Counter((s.metric, s.source) for s in scores) if planned is None else planned
    found = check(scores, decided, settings, plan)
    by_purpose = {}
    for result in found:
        by_purpose.setdefault(result.purpose, []).append(result.success)
    return {purpose: all(seen) for purpose, seen in by_purpose.items()}


def test_a_good_night_passes():
    """All planned, all scored, in range, target met: four purposes, all passed."""
    found = results(rows(0, [0.9] * 60))
    assert found == {"completeness": True, "range": True, "coverage": True, "target": True}


def test_target_repeats_the_stored_verdict():
    """The target expectation fails when the verdict fails, with the verdict's rule as its detail."""
    scores = rows(0, [0.1] * 60)
    decided = decide(scores, MONITOR, START)
    target = check(scores, decided, MONITOR, {("faithfulness", "production"): 60})[-1]
    assert (target.expectation, target.purpose, target.success) == ("expect_verdict_to_hold", "target", False)
    assert target.detail == decided[0].rule
    kinder = [decided[0].model_copy(update={"level": Level.WATCH})]
    assert results(scores, verdicts=kinder)["target"] is True


def test_one_good_score_and_nine_missing_do_not_pass():
    """A mean over one 1.0 and nine failed judgements fails coverage and target."""
    scores = [*rows(0, [1.0]), *[row(0, None, status="judge_error", item_id=f"f{n}") for n in range(9)]]
    found = results(scores)
    assert (found["coverage"], found["target"], found["completeness"]) == (False, False, True)


def test_missing_rows_fail_completeness():
    """Fewer rows than were planned are seen although each of them is good."""
    assert results(rows(0, [0.9] * 60), {("faithfulness", "production"): 80})["completeness"] is False


def test_an_empty_frame_passes_nothing():
    """No rows: every expectation fails, none is vacuously true."""
    assert set(results([], {("faithfulness", "production"): 60}).values()) == {False}
    assert set(results([], {}).values()) == {False}


def test_an_all_nan_column_passes_no_range():
    """Sixty failed judgements fail range, coverage and target."""
    found = results([row(0, None, status="judge_error", item_id=f"f{n}") for n in range(60)])
    assert found == {"completeness": True, "range": False, "coverage": False, "target": False}


@pytest.mark.parametrize("value", [math.inf, -math.inf, 9.0, -0.1])
def test_a_value_out_of_range_fails_range(value):
    """Infinite and out-of-scale scores are found by the range check."""
    assert results([*rows(0, [0.9] * 59), row(0, value, item_id="x")])["range"] is False


def test_a_missing_column_is_a_broken_check_not_a_drop():
    """When an expectation cannot run, success is None and the exception is kept."""
    scores = rows(0, [0.9] * 60)
    frame = score_frame(scores, decide(scores, MONITOR, START), MONITOR).drop(columns=["value"])
    found = run_suite(build_suite(MONITOR), frame, {"planned_0": 60})
    broken = [result for result in found if result.purpose == "range"]
    assert [result.success for result in broken] == [None, None]
    assert all("value" in (result.exception or "") for result in broken)
    assert [r.success for r in found if r.purpose != "range"] == [True, True, True]


def test_gx_sees_numbers_only():
    """No text of a case reaches the frame or a result, not even the intent."""
    secret = "call +1 555 0100 <script>"
    scores = [*rows(0, [0.9] * 59, intent=secret), row(0, math.inf, item_id=secret)]
    frame = score_frame(scores, decide(scores, MONITOR, START), MONITOR)
    assert {str(kind) for kind in frame.dtypes} == {"float64"}
    found = check(scores, decide(scores, MONITOR, START), MONITOR, {("faithfulness", "production"): 60})
    assert secret not in repr(found)


def test_the_suite_is_one_per_monitor_and_readable():
    """Five expectations for each targeted series, named after the monitor, the same every night."""
    settings = monitor(targets=[{"metric": "faithfulness"}, {"metric": "hit_rate", "source": "golden"}])
    suite = build_suite(settings)
    assert suite.name == "helpdesk"
    told = [(e.meta["metric"], e.meta["source"], e.meta["purpose"]) for e in suite.expectations]
    assert len(told) == 15
    assert Counter(purpose for *_, purpose in told) == {
        "completeness": 3,
        "range": 6,
        "coverage": 3,
        "target": 3,
    }
    assert build_suite(settings).to_json_dict() == suite.to_json_dict()


def test_a_source_a_metric_does_not_apply_to_is_not_checked():
    """A target for both sources is not failed by logged turns the metric does not apply to."""
    scores = rows(0, [0.9] * 60, source="golden")
    scores += [row(0, None, status="not_applicable", item_id=f"p{n}") for n in range(60)]
    settings = monitor()
    plan = Counter((s.metric, s.source) for s in scores)
    found = check(scores, decide(scores, settings, START), settings, plan)
    assert {result.source for result in found} == {"golden"}
    assert all(result.success for result in found)


def test_not_applicable_cases_are_planned_but_not_uncovered():
    """Half the cases not applicable: complete, and fully covered among the rest."""
    scores = rows(0, [0.9] * 30)
    scores += [row(0, None, status="not_applicable", item_id=f"n{n}") for n in range(30)]
    assert set(results(scores).values()) == {True}


def test_a_failing_intent_fails_the_target():
    """The worst slice speaks for the series, as it does for the run."""
    limits = {"lookup": {"minimum": 0.9}}
    settings = monitor(
        targets=[{"metric": "faithfulness", "source": "production", "minimum": 0.2, "intents": limits}]
    )
    scores = rows(0, [0.9] * 60) + [
        s._replace(item_id=f"l{s.item_id}") for s in rows(0, [0.0] * 20, intent="lookup")
    ]
    assert results(scores, settings=settings)["target"] is False


def test_no_targets_no_checks():
    """A monitor that expects nothing has nothing to check."""
    assert check(rows(0, [0.9]), [], monitor(targets=[]), {}) == []


def test_nothing_is_printed_and_nothing_is_left_behind(tmp_path, monkeypatch, capfd):
    """No progress bars, no files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    history = [s for number in range(3) for s in rows(number, [0.9] * 60)]
    tonight = [s for s in history if s.night == START + timedelta(days=2)]
    check(tonight, decide(history, MONITOR, tonight[0].night), MONITOR, {("faithfulness", "production"): 60})
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")
    assert list(tmp_path.iterdir()) == []
