"""A judge that moves: named, taken off the bot's scores, and no hiding place for a real drop (P5)."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from verdict_worlds import START, World, row

from rag_checks.monitor import Monitor
from rag_checks.records import Level, ScoreRow
from rag_checks.verdicts.canaries import Moved, Part
from rag_checks.verdicts.history import History
from rag_checks.verdicts.shifts import Shift, fuse

METRICS = ("faithfulness", "answer_correctness", "hit_rate")
MONITOR = Monitor.model_validate(
    {
        "monitor": "helpdesk",
        "targets": [{"metric": metric, "minimum": 0.5, "allowed_drop": 0} for metric in METRICS],
    }
)
BEGIN = 20


def clipped(value: float) -> float:
    """A score stays within 0..1."""
    return min(1.0, max(0.0, value))


def graded_by(world: World, nights: int, moves: dict[str, float], *, canaries: bool = True) -> History:
    """The world's scores by a judge that takes `moves` off every graded answer from BEGIN on."""
    rng = world.random
    rows: list[ScoreRow] = []
    for night in range(nights):
        shift = moves if night >= BEGIN else {}
        seen = list(world.night(night))
        if canaries:
            seen += [
                row(
                    night,
                    clipped(rng.gauss(0.9 if item % 5 < 3 else 0.35, 0.04)),
                    metric=metric,
                    source="canary",
                    intent="any",
                    item_id=f"k{item}",
                )
                for metric in METRICS
                for item in range(40)
            ]
        rows += [
            one
            if one.value is None
            else one._replace(value=min(1.0, max(0.0, one.value - shift.get(one.metric, 0))))
            for one in seen
        ]
    return History(rows, MONITOR)


def levels(history: History, nights: range) -> list[dict[str, set[Level]]]:
    """For each night, the levels of each metric's verdicts over all cases."""
    found = []
    for night in nights:
        by_metric: dict[str, set[Level]] = {metric: set() for metric in METRICS}
        for verdict in history.verdicts(START + timedelta(days=night)):
            if verdict.slice == "all":
                by_metric[verdict.metric].add(verdict.level)
        found.append(by_metric)
    return found


@pytest.mark.parametrize("by", [0.06, -0.06])
def test_a_judge_that_moves_is_named_and_the_bot_is_not_blamed(by: float) -> None:
    """Stricter or milder on everything: named within two nights, since when, and nothing fails."""
    history = graded_by(World(5, METRICS), BEGIN + 5, dict.fromkeys(METRICS, by))
    nights = levels(history, range(BEGIN, BEGIN + 5))
    assert any(Level.JUDGE_CHANGED in seen for night in nights[:2] for seen in night.values())
    assert not any(Level.FAIL in seen for night in nights for seen in night.values())
    named = [v for v in history.verdicts(START + timedelta(days=BEGIN + 4)) if v.level is Level.JUDGE_CHANGED]
    assert {abs((v.since - START).days - BEGIN) <= 1 for v in named if v.since} == {True}
    assert all("judge moved" in v.rule for v in named)


def test_without_canaries_the_same_judge_looks_like_a_worse_bot() -> None:
    """What they are for: the same scores fail when nothing tells the judge from the bot."""
    history = graded_by(World(5, METRICS), BEGIN + 5, dict.fromkeys(METRICS, 0.06), canaries=False)
    assert any(
        Level.FAIL in seen for night in levels(history, range(BEGIN, BEGIN + 5)) for seen in night.values()
    )


def test_a_judge_that_moves_on_one_metric_is_named_for_that_one() -> None:
    """The others keep their verdicts."""
    history = graded_by(World(6, METRICS), BEGIN + 4, {"faithfulness": 0.1})
    last = levels(history, range(BEGIN + 3, BEGIN + 4))[0]
    assert last["faithfulness"] == {Level.JUDGE_CHANGED}
    assert not any(Level.JUDGE_CHANGED in last[metric] for metric in METRICS[1:])


def test_a_milder_judge_does_not_hide_a_real_drop() -> None:
    """The bot gets 0.12 worse on the night the judge gets 0.06 milder: the bot fails all the same."""
    world = World(7, METRICS, drop=lambda night, intent: 0.12 if night >= BEGIN else 0.0)
    history = graded_by(world, BEGIN + 4, dict.fromkeys(METRICS, -0.06))
    nights = levels(history, range(BEGIN, BEGIN + 4))
    assert any(Level.FAIL in seen for night in nights for seen in night.values())


def test_a_worse_bot_is_not_put_down_to_a_steady_judge() -> None:
    """Canaries that stay where they were change no verdict."""
    world = World(8, METRICS, drop=lambda night, intent: 0.15 if night >= BEGIN else 0.0)
    nights = levels(graded_by(world, BEGIN + 3, {}), range(BEGIN, BEGIN + 3))
    assert any(Level.FAIL in seen for night in nights for seen in night.values())
    assert not any(Level.JUDGE_CHANGED in seen for night in nights for seen in night.values())


def shift(deviation: float, variance: float, shared: float = 0.0, expected: float = 0.9) -> Shift:
    """A shift of one night."""
    return Shift(1, START, 50, expected, deviation, variance, 0.0, shared)


@given(
    st.floats(-0.3, 0.3),
    st.floats(1e-5, 1e-2),
    st.floats(-0.3, 0.3),
    st.floats(1e-5, 1e-2),
    st.floats(0, 0.9),
)
def test_two_series_together_lie_between_and_know_more(
    one: float, v1: float, other: float, v2: float, share: float
) -> None:
    """The mean is between the two, its variance at most the smaller, never below what both share."""
    both = min(v1, v2) * share
    fused = fuse(shift(one, v1, both), shift(other, v2, both))
    assert min(one, other) - 1e-9 <= fused.deviation <= max(one, other) + 1e-9
    assert both * 0.999 <= fused.variance <= min(v1, v2) * 1.001


@given(st.floats(-0.2, 0.2), st.floats(0.0, 1.0), st.floats(-0.2, 0.2))
def test_a_correction_takes_off_what_it_says_and_adds_doubt(
    by: float, expected: float, deviation: float
) -> None:
    """Nights before the change are left alone; after it the shift is taken off and the variance grows."""
    parts = {"good": Part(0.9, by, 1e-4), "bad": Part(0.3, by, 1e-4)}
    moved = Moved(START + timedelta(days=5), -6.0, by, 40, parts)
    given_ = shift(deviation, 1e-3, expected=expected)
    assert moved.correct(given_, [START]) == given_
    mixed = moved.correct(given_, [START, START + timedelta(days=5)])
    after = moved.correct(given_, [START + timedelta(days=5)])
    assert after.deviation == pytest.approx(deviation - by)
    assert mixed.deviation == pytest.approx(deviation - by / 2)
    assert given_.variance < mixed.variance < after.variance
