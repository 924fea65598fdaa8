"""The decision: what is said about a night, and what is not made of it."""

import math
import random
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from verdict_worlds import INTENTS, START, monitor, row, rows

from rag_checks.records import Level, Verdict
from rag_checks.verdicts.drift import decide, trends, worst_level

OPEN = {"metric": "faithfulness", "minimum_n": 1}


def night(number):
    """The date of a night."""
    return START + timedelta(days=number)


def ones(good, bad):
    """Binary scores."""
    return [1.0] * good + [0.0] * bad


def only(history, number, **changes) -> Verdict:
    """The verdict of all production cases of faithfulness."""
    found = decide(history, monitor(**changes), night(number))
    return next(v for v in found if v.slice == "all" and v.source == "production")


def steady(nights, good=54, bad=6, **changes):
    """Nights that are all the same."""
    return [score for number in range(nights) for score in rows(number, ones(good, bad), **changes)]


def test_the_same_night_over_and_over_is_ok():
    """Nothing moved: ok, with the numbers in the rule."""
    verdict = only(steady(20), 19)
    assert verdict.level is Level.OK
    assert verdict.rule.startswith("faithfulness 0.90 [0.80, 0.95], target 0.70, allowed drop 0.05; ")
    assert "against baseline 0.90" in verdict.rule
    assert verdict.since is None


def test_noise_around_the_target_is_no_alarm():
    """0.79, 0.81, 0.79, 0.81 against 0.80 on four nights never fails."""
    history = []
    for number in range(4):
        history += rows(number, [0.79 if number % 2 == 0 else 0.81] * 60)
        verdict = only(history, number, targets=[OPEN | {"minimum": 0.8}])
        assert verdict.level is (Level.WATCH if number % 2 == 0 else Level.OK)
    binary = rows(0, ones(47, 13))
    verdict = only(binary, 0, targets=[OPEN | {"minimum": 0.8}])
    assert verdict.level is Level.WATCH
    assert "below the target within noise" in verdict.rule


def test_far_below_the_target_fails_on_the_first_night():
    """Half of 60 wrong against 0.80 is no accident."""
    verdict = only(rows(0, ones(30, 30)), 0, targets=[OPEN | {"minimum": 0.8}])
    assert verdict.level is Level.FAIL
    assert verdict.z < -3.5
    assert verdict.since == night(0)
    assert "against target 0.80" in verdict.rule
    assert "no baseline yet: 0 of at least 3 nights" in verdict.rule


def test_a_little_below_the_target_fails_when_it_lasts():
    """Five points under the minimum every night is found by a long window, not by one night."""
    history = [score for number in range(14) for score in rows(number, ones(70, 30))]
    target = [OPEN | {"minimum": 0.77}]
    assert only(history, 0, targets=target).level is Level.WATCH
    assert only(history, 13, targets=target).level is Level.FAIL


def test_below_warning_beyond_noise_is_watch():
    """Clearly under `warning` but over `minimum` is watch."""
    target = [OPEN | {"minimum": 0.5, "warning": 0.9}]
    verdict = only(rows(0, ones(70, 30)), 0, targets=target)
    assert verdict.level is Level.WATCH
    assert "against warning level 0.90" in verdict.rule


def test_a_clear_drop_fails_and_says_since_when():
    """A drop of 0.25 on night 18 fails that night and keeps its first night afterwards."""
    history = steady(18) + [score for number in (18, 19, 20) for score in rows(number, ones(39, 21))]
    for number in (18, 19, 20):
        verdict = only(history, number)
        assert verdict.level is Level.FAIL
        assert verdict.since == night(18)
        assert verdict.baseline == pytest.approx(0.9, abs=0.01)
        assert verdict.baseline_nights == 14


def test_later_rows_do_not_change_a_verdict():
    """The verdict of a night is the same with and without the nights after it, and in any order of rows."""
    past = steady(18) + rows(18, ones(39, 21))
    future = [*past, *rows(19, ones(60, 0))]
    random.Random(3).shuffle(future)
    assert decide(future, monitor(), night(18)) == decide(past, monitor(), night(18))


def test_a_tolerated_drop_is_watch():
    """A drop beyond noise but within `allowed_drop` is told, not failed."""
    history = [score for number in range(14) for score in rows(number, ones(900, 100))]
    history += [score for number in range(14, 21) for score in rows(number, ones(850, 150))]
    tolerant = only(history, 20, targets=[OPEN | {"allowed_drop": 0.1}])
    assert tolerant.level is Level.WATCH
    assert "within the allowed drop" in tolerant.rule
    assert only(history, 20, targets=[OPEN | {"allowed_drop": 0.02}]).level is Level.FAIL
    assert only(history, 20, targets=[OPEN | {"allowed_drop": None}]).level is Level.WATCH


def test_a_tiny_drop_in_fifty_thousand_is_ok():
    """0.002 lower over 50,000 items is significant and worth nothing: ok."""
    history = [score for number in range(3) for score in rows(number, ones(1800, 200))]
    history += rows(3, ones(44900, 5100))
    verdict = only(history, 3, baseline_nights=3, targets=[OPEN | {"allowed_drop": 0.0}])
    assert verdict.level is Level.OK
    assert verdict.value == pytest.approx(0.898)


def test_one_and_eight_scores_do_not_break_anything():
    """One or eight scores: no_data under `minimum_n`, an honest interval without it."""
    for size in (1, 8):
        history = rows(0, [1.0] * size)
        refused = only(history, 0)
        assert refused.level is Level.NO_DATA
        assert f"{size} scored, at least 20 wanted" in refused.rule
        accepted = only(history, 0, targets=[OPEN | {"minimum": 0.9}])
        assert accepted.level is Level.OK
        assert accepted.high - accepted.low > 0.2


def test_zero_variance_baseline_is_not_proof_of_perfection():
    """After 14 flawless nights one bad answer is ok and half bad is a failure."""
    history = steady(14, 60, 0)
    assert only(history + rows(14, ones(59, 1)), 14).level is Level.OK
    assert only(history + rows(14, ones(30, 30)), 14).level is Level.FAIL


def test_all_failed_is_no_data():
    """A dead judge is no_data that counts what failed, never a bad bot."""
    dead = [row(19, None, status="judge_error", item_id=f"i{n}") for n in range(58)]
    dead += [row(19, None, status="bot_error", item_id="b")] * 2
    verdict = only(steady(19) + dead, 19)
    assert verdict.level is Level.NO_DATA
    assert (verdict.value, verdict.n_ok, verdict.n_failed, verdict.coverage) == (None, 0, 60, 0.0)
    assert "nothing scored: 60 of 60 judgements failed (bot_error 2, judge_error 58)" in verdict.rule


def test_low_coverage_is_no_data_and_names_the_denominator():
    """Judging failed on the bad items: the mean of the rest is no verdict."""
    scores = rows(0, [1.0] * 37) + [row(0, None, status="judge_error", item_id=f"f{n}") for n in range(23)]
    verdict = only(scores, 0)
    assert verdict.level is Level.NO_DATA
    assert "coverage 0.62 < 0.90: 23 of 60 judgements failed" in verdict.rule
    assert verdict.value == 1


def test_intents_are_not_judged_on_a_night_without_data():
    """When judging failed for too many, no intent is called worse on what is left."""
    tonight = rows(15, ones(10, 27)) + [
        row(15, None, status="judge_error", item_id=f"f{n}") for n in range(23)
    ]
    found = decide(steady(15) + tonight, monitor(), night(15))
    assert [(v.slice, v.level) for v in found] == [("all", Level.NO_DATA)]


def test_infinite_and_nan_scores_are_failures():
    """+inf and NaN are counted as failed, named, and enter no mean."""
    scores = rows(0, [0.9] * 58 + [math.inf, math.nan])
    verdict = only(scores, 0)
    assert verdict.value == pytest.approx(0.9)
    assert verdict.n_failed == 2
    strict = only(scores, 0, targets=[OPEN | {"minimum_coverage": 0.99}])
    assert "2 of 60 judgements failed (invalid 2)" in strict.rule


def test_baseline_leaves_out_nights_without_coverage():
    """A night on which judging failed for the bad items teaches the baseline nothing."""
    blind = rows(3, [1.0] * 30) + [row(3, None, status="judge_error", item_id=f"f{n}") for n in range(30)]
    history = [s for s in steady(8) if s.night != night(3)] + blind
    assert only(history, 7).baseline_nights == 6


def test_nights_without_traffic_are_no_nights():
    """Holidays leave a gap: no verdict for them, and the nights around it are compared as neighbours."""
    history = [s for s in steady(30) if not 15 <= (s.night - START).days < 22]
    assert decide(history, monitor(), night(18)) == []
    assert only(history, 29).level is Level.OK
    history += rows(30, ones(36, 24)) + rows(31, ones(36, 24))
    assert only(history, 31).level is Level.FAIL


def test_a_small_weekend_is_no_data_only_below_minimum_n():
    """Week-ends with 25 instead of 100 cases are judged by their own noise."""
    history = []
    for number in range(28):
        weekend = night(number).weekday() >= 5
        history += rows(number, ones(22, 3) if weekend else ones(88, 12))
    assert {only(history, number).level for number in range(28)} == {Level.OK}


def test_another_mix_of_traffic_is_no_drop():
    """Easy and hard intents swap their shares: the mean falls, no verdict does."""

    def mixed(number, easy):
        return rows(number, ones(easy - easy // 50, easy // 50), intent="easy") + [
            score._replace(item_id=f"h{score.item_id}")
            for score in rows(number, ones((100 - easy) * 7 // 10, (100 - easy) * 3 // 10), intent="hard")
        ]

    history = [s for number in range(14) for s in mixed(number, 80)]
    history += [s for number in range(14, 21) for s in mixed(number, 20)]
    verdict = only(history, 20)
    assert verdict.value < 0.8 < verdict.baseline
    assert verdict.level is Level.OK


def test_a_bad_intent_has_its_own_verdict():
    """One intent collapses: it is named, in its own verdict and in that of all cases."""

    def mixed(number, lookup):
        return rows(number, ones(76, 4), intent="expenses") + [
            score._replace(item_id=f"l{score.item_id}")
            for score in rows(number, ones(lookup, 20 - lookup), intent="lookup")
        ]

    history = [s for number in range(16) for s in mixed(number, 18)] + mixed(16, 6)
    found = decide(history, monitor(), night(16))
    assert [v.slice for v in found] == ["all", "intent:lookup"]
    assert found[1].level is Level.FAIL
    assert found[1].n_total == 20
    assert found[0].rule.endswith("; intent lookup")
    assert found[1].rule.startswith("faithfulness, intent lookup 0.30 [")


def test_golden_items_are_compared_with_themselves():
    """The same items failing as ever is ok; new failures on top are not."""
    history = [s for number in range(15) for s in rows(number, ones(50, 10), source="golden")]
    worse = rows(15, ones(41, 19), source="golden")
    target = [OPEN | {"source": "golden"}]

    def level(history):
        return decide(history, monitor(targets=target), night(15))[0].level

    assert level(history + rows(15, ones(50, 10), source="golden")) is Level.OK
    assert level(history + worse) is Level.FAIL


def test_a_flawless_intent_that_collapses_is_named_at_once():
    """A bot that always gave the same answers loses its lookups: the first night names the intent."""

    def asked(number, right):
        kept = rows(number, ones(44, 4), source="golden", intent="policy")
        return kept + [
            s._replace(item_id=f"l{s.item_id}")
            for s in rows(number, ones(right, 12 - right), source="golden", intent="lookup")
        ]

    history = [s for number in range(10) for s in asked(number, 12)] + asked(10, 4)
    found = {v.slice: v for v in decide(history, monitor(baseline_nights=7), night(10))}
    assert {name: v.level for name, v in found.items()} == {"all": Level.FAIL, "intent:lookup": Level.FAIL}
    assert found["intent:lookup"].since == night(10)
    one_off = [s for number in range(10) for s in asked(number, 12)] + asked(10, 11)
    assert [v.level for v in decide(one_off, monitor(baseline_nights=7), night(10))] == [Level.OK]


def test_new_golden_items_do_not_move_the_comparison():
    """Items the baseline never saw are in tonight's mean, not in the comparison."""
    history = [s for number in range(15) for s in rows(number, ones(57, 3), source="golden")]
    added = [s._replace(item_id=f"n{s.item_id}") for s in rows(15, [0.0] * 20, source="golden")]
    target = [OPEN | {"source": "golden"}]
    history += rows(15, ones(57, 3), source="golden") + added
    found = decide(history, monitor(targets=target), night(15))[0]
    assert found.value == pytest.approx(57 / 80)
    assert found.level is Level.OK


def test_another_judge_is_another_series():
    """A judge that returns lower scores from one night on is judge_changed, never a worse bot."""
    history = steady(15) + [s for number in (15, 16, 17) for s in rows(number, ones(40, 20), judge="judge-b")]
    target = [OPEN | {"minimum": 0.9}]
    first, second, third = (only(history, number, targets=target) for number in (15, 16, 17))
    assert first.level is second.level is Level.JUDGE_CHANGED
    assert first.since == second.since == night(15)
    assert (first.baseline, first.baseline_nights) == (None, 0)
    assert f"judge changed on {night(15)}, scores before are another series" in first.rule
    assert "no baseline yet" in first.rule
    assert third.level is Level.FAIL  # two nights of grace, then the target counts again
    assert "against target" in third.rule
    assert only(history, 17, targets=[OPEN]).level is Level.OK


def test_another_metric_version_is_another_series():
    """A new version of a metric is not compared with the old one, and only the target applies."""
    history = steady(15) + rows(15, ones(45, 15), metric_version="2")
    verdict = only(history, 15)
    assert verdict.level is Level.OK
    assert "metric version changed" in verdict.rule


def test_failed_judgements_do_not_make_a_new_judge():
    """Rows that failed name no judge; the series goes on."""
    tonight = rows(15, ones(52, 5)) + [
        row(15, None, status="judge_error", judge=None, item_id=f"f{n}") for n in range(3)
    ]
    verdict = only(steady(15) + tonight, 15)
    assert verdict.level is Level.OK
    assert verdict.baseline_nights == 14


def test_scores_by_a_second_judge_are_not_compared():
    """When two judges graded one night, the smaller part stays out of the comparison and is mentioned."""
    tonight = rows(15, ones(54, 6)) + [row(15, 0.0, judge="judge-b", item_id=f"b{n}") for n in range(20)]
    verdict = only(steady(15) + tonight, 15)
    assert "20 scores by another judge" in verdict.rule
    assert verdict.z > -2


def test_a_repaired_problem_is_forgotten():
    """Ten bad nights, then good ones: watch while it recovers, ok within five nights, and ok it stays."""
    history = steady(16) + [s for n in range(16, 26) for s in rows(n, ones(40, 20))]
    history += [s for n in range(26, 40) for s in rows(n, ones(54, 6))]
    levels = [only(history, number).level for number in range(16, 40)]
    assert set(levels[:10]) == {Level.FAIL}
    assert Level.OK not in levels[10:12]
    assert set(levels[15:]) == {Level.OK}
    assert "recovering" in only(history, 27).rule


def test_metric_without_target_is_at_most_watch():
    """Nobody asked for it, so it never pages; it is still watched."""
    history = steady(15) + rows(15, ones(30, 30))
    nobody = {"targets": []}
    verdict = only(history, 15, **nobody)
    assert verdict.level is Level.WATCH
    assert "no target, so watched only" in verdict.rule
    assert worst_level([verdict], monitor(**nobody)) is Level.WATCH


def test_not_applicable_is_no_data_only_when_asked_for():
    """A metric that applies to nothing is missing when a target names the series, else unmentioned."""
    nothing = [row(0, None, status="not_applicable", item_id=f"i{n}") for n in range(60)]
    asked = monitor(targets=[{"metric": "faithfulness", "source": "production"}])
    found = decide(nothing, asked, night(0))[0]
    assert found.level is Level.NO_DATA
    assert "not applicable to all 60 cases" in found.rule
    assert decide(nothing, monitor(targets=[]), night(0)) == []


def test_a_target_for_both_sources_is_met_by_the_one_it_applies_to():
    """answer_correctness of logged turns without references is not missing when golden items have it."""
    history = [row(0, None, status="not_applicable", item_id=f"i{n}") for n in range(60)]
    history += rows(0, ones(60, 0), source="golden")
    assert [v.source for v in decide(history, monitor(), night(0))] == ["golden"]


def test_intent_limits_hold_for_their_intent_only():
    """An intent's own minimum, n and coverage are its own; the metric's do not fall on small intents."""
    scores = rows(0, ones(60, 0), intent="expenses") + [
        s._replace(item_id=f"l{s.item_id}") for s in rows(0, ones(2, 10), intent="lookup")
    ]
    limits = {"lookup": {"minimum": 0.8}, "travel": {"minimum_n": 5}, "expenses": {"minimum": 0.5}}
    found = {v.slice: v for v in decide(scores, monitor(targets=[OPEN | {"intents": limits}]), night(0))}
    assert found["intent:lookup"].level is Level.FAIL
    assert found["intent:lookup"].minimum == 0.8
    assert found["intent:expenses"].level is Level.OK
    assert found["intent:travel"].level is Level.NO_DATA
    assert "no cases tonight" in found["intent:travel"].rule


def test_rules_are_one_line_and_in_the_monitors_language():
    """A Chinese monitor gets Chinese rules; an intent full of line breaks stays on one line."""
    history = steady(15, intent="查人\n<!channel>") + rows(15, ones(30, 30), intent="查人\n<!channel>")
    found = decide(history, monitor(language="zh"), night(15))
    assert [v.level for v in found] == [Level.FAIL, Level.FAIL]
    assert all("\n" not in v.rule for v in found)
    assert found[0].rule.startswith(
        "faithfulness 0.50 [0.38, 0.62]，目标 0.70，允许下降 0.05；下降，1 晚，较基线 0.90 变化 −0.40，z −"
    )


def test_baseline_starts_where_the_monitor_says():
    """Nights before `baseline_from` are not in the baseline."""
    history = steady(5, 30, 30) + [s for n in range(5, 15) for s in rows(n, ones(54, 6))]
    start = night(5).isoformat()
    assert only(history, 14, baseline_from=start).baseline == pytest.approx(0.9, abs=0.01)


def test_a_source_that_brings_nothing_is_no_data_and_never_silence():
    """The logs stop, the golden set goes on: every target of the logs says that it has no cases."""
    history = steady(5) + [s for n in range(6) for s in rows(n, ones(54, 6), source="golden")]
    quiet = decide(history, monitor(), night(5))
    assert {v.source for v in quiet} == {"golden"}
    told = decide(history, monitor(), night(5), expected=("production", "golden"))
    absent = next(v for v in told if v.source == "production")
    assert (absent.level, absent.n_total, absent.value) == (Level.NO_DATA, 0, None)
    assert "no cases tonight" in absent.rule
    assert worst_level(told, monitor()) is Level.NO_DATA


def test_bad_cases_that_are_oversampled_do_not_alarm():
    """Disliked turns are sampled more from one night on; their small weights keep the mean where it was."""
    history = steady(15, 90, 10)
    tonight = rows(15, [1.0] * 60, weight=1.5) + [
        row(15, 0.0, weight=0.25, item_id=f"d{n}") for n in range(40)
    ]
    assert only(history + tonight, 15).level is Level.OK


def test_other_sources_are_left_alone():
    """Canary rows (to come) are not judged as the bot's."""
    history = steady(2) + rows(1, [0.0] * 60, source="canary")
    assert {v.source for v in decide(history, monitor(), night(1))} == {"production"}


any_row = st.builds(
    row,
    st.integers(0, 6),
    st.none() | st.sampled_from([0.0, 0.5, 1.0, math.inf, math.nan, -1.0, 5e-324]) | st.floats(0, 1),
    source=st.sampled_from(["production", "golden"]),
    status=st.sampled_from(["ok", "ok", "ok", "judge_error", "bot_error", "not_applicable"]),
    judge=st.sampled_from(["judge-a", "judge-a", "judge-b", None]),
    intent=st.sampled_from(["a", "b", ""]),
    item_id=st.sampled_from("uvwxyz"),
    conversation_id=st.sampled_from([None, "c", "d"]),
    weight=st.sampled_from([1.0, 1e-300, 1e300, 0.0, math.nan, math.inf, 3.0]),
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(any_row, min_size=1, max_size=60))
def test_any_rows_give_sound_verdicts(history):
    """Whatever the rows: no crash, counts that add up, finite numbers, one line, levels that exist."""
    limits = {
        "metric": "faithfulness",
        "minimum": 0.5,
        "warning": 0.6,
        "minimum_n": 1,
        "minimum_coverage": 0.1,
    }
    last = max(score.night for score in history)
    found = decide(history, monitor(targets=[limits], baseline_nights=3), last)
    for verdict in found:
        assert verdict.n_total == verdict.n_ok + verdict.n_failed + verdict.n_not_applicable
        assert verdict.z is None or math.isfinite(verdict.z)
        assert verdict.value is None or 0 <= verdict.low <= verdict.value <= verdict.high <= 1
        assert "\n" not in verdict.rule
    assert decide(list(reversed(history)), monitor(targets=[limits], baseline_nights=3), last) == found


def test_vanishing_weights_do_not_divide_by_zero():
    """An intent that holds only scores of weight 1e-300 beside 1e300 is still decided on."""
    history = [
        s
        for number in range(6)
        for s in (
            *rows(number, [1.0, 0.0] * 10, weight=1e300),
            row(number, 0.5, intent="rare", item_id="r", weight=1e-300),
        )
    ]
    lenient = [OPEN | {"minimum": 0.4}]
    assert only(history, 5, baseline_nights=3, targets=lenient).level is Level.OK


def verdict(level, metric="faithfulness", **fields):
    """A verdict of a level."""
    counts = {"n_ok": 1, "n_failed": 0, "n_not_applicable": 0, "n_total": 1}
    return Verdict(metric=metric, source="golden", level=level, rule="", **(counts | fields))


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ([Level.OK, Level.WATCH, Level.JUDGE_CHANGED, Level.NO_DATA, Level.FAIL], Level.FAIL),
        ([Level.OK, Level.WATCH, Level.JUDGE_CHANGED, Level.NO_DATA], Level.NO_DATA),
        ([Level.OK, Level.WATCH, Level.JUDGE_CHANGED], Level.JUDGE_CHANGED),
        ([Level.OK, Level.WATCH], Level.WATCH),
        ([Level.OK], Level.OK),
        ([], Level.NO_DATA),
    ],
)
def test_worst_level_order(levels, expected):
    """fail, no_data, judge_changed, watch, ok; a run without verdicts knows nothing."""
    assert worst_level([verdict(level) for level in levels], monitor()) is expected


def test_missing_data_of_untargeted_metrics_does_not_page():
    """no_data counts only where a target asks for data."""
    found = [verdict(Level.OK), verdict(Level.NO_DATA, metric="ndcg")]
    assert worst_level(found, monitor()) is Level.OK


def charted(history, number):
    """The trends up to a night, with the levels decided night by night."""
    decided = [
        (night(n), verdict) for n in range(number + 1) for verdict in decide(history, monitor(), night(n))
    ]
    return trends(history, monitor(), night(number), decided)


def test_trends_carry_means_intervals_and_the_decided_level():
    """Each night of a series has its mean, interval, release and the level `decide` gives it."""
    history = steady(18) + rows(18, ones(36, 24), release="2")
    found = charted(history, 18)
    assert [(t.metric, t.source, len(t.points)) for t in found] == [("faithfulness", "production", 19)]
    last = found[0].points[-1]
    assert (last.value, last.n_ok, last.release, last.level) == (0.6, 60, "2", Level.FAIL)
    assert last.low < 0.6 < last.high
    assert found[0].minimum == 0.7
    assert charted(history, 3)[0].points == found[0].points[:4]


def test_trends_break_where_the_judge_changed():
    """No line is drawn from one judge's scores to another's."""
    history = steady(5) + [s for n in (5, 6) for s in rows(n, ones(54, 6), judge="judge-b")]
    points = charted(history, 6)[0].points
    assert [point.value is None for point in points] == [True] * 5 + [False] * 2


def test_every_intent_of_the_world_is_known():
    """Verdicts of intents come after that of all cases, in order of their names."""
    scores = [
        s._replace(item_id=f"{intent}{s.item_id}")
        for intent in INTENTS
        for s in rows(0, ones(10, 10), intent=intent)
    ]
    limits = {intent: {"minimum": 0.1} for intent in INTENTS}
    found = decide(scores, monitor(targets=[OPEN | {"intents": limits}]), night(0))
    assert [v.slice for v in found] == ["all", *(f"intent:{name}" for name in sorted(INTENTS))]
