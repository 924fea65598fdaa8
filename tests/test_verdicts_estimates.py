"""The one reduction: what enters a mean, what is counted beside it, and how wide the interval is."""

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from verdict_worlds import row, rows

from rag_checks.verdicts.estimates import estimate, signed_deviance, wilson

values = st.floats(0, 1)
weights = st.floats(1e-6, 1e6)
graded = st.builds(
    lambda value, weight, conversation, item: row(
        value=value, weight=weight, conversation_id=conversation, item_id=item
    ),
    values,
    weights,
    st.one_of(st.none(), st.sampled_from(["a", "b", "c"])),
    st.text(min_size=1, max_size=3),
)
broken = st.builds(
    lambda value, status: row(value=value, status=status),
    st.sampled_from([None, math.nan, math.inf, -math.inf, 9.0, -0.1, 0.0, 1.0]),
    st.sampled_from(["judge_error", "bot_error", "over_budget"]),
) | st.builds(
    lambda value: row(value=value, status="ok"),
    st.sampled_from([None, math.nan, math.inf, -math.inf, 9.0, -0.1]),
)


@given(st.lists(graded, min_size=1, max_size=30))
def test_mean_and_interval_stay_in_bounds(scores):
    """Mean and interval are in 0..1 and in order, whatever the weights and conversations."""
    found = estimate(scores)
    assert 0 <= found.low <= found.mean <= found.high <= 1
    assert min(s.value for s in scores) - 1e-9 <= found.mean <= max(s.value for s in scores) + 1e-9


@given(st.lists(graded, min_size=1, max_size=20), st.lists(broken, max_size=10))
def test_failures_are_counted_and_change_no_mean(scores, failures):
    """Failed, missing and non-finite scores are counted but leave mean and interval of the others alone."""
    alone, together = estimate(scores), estimate([*failures, *scores])
    assert (together.mean, together.low, together.high) == (alone.mean, alone.low, alone.high)
    assert together.n_failed == len(failures)
    assert sum(together.failures.values()) == len(failures)
    assert together.coverage == len(scores) / (len(scores) + len(failures))
    assert together.n_total == len(scores) + len(failures)


@given(st.lists(graded | broken, max_size=20), st.randoms())
def test_order_does_not_matter(scores, rng):
    """Shuffled rows give the same estimate."""
    shuffled = list(scores)
    rng.shuffle(shuffled)
    one, other = estimate(scores), estimate(shuffled)
    assert one.failures == other.failures
    for name in ("mean", "low", "high"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-12)


def test_equal_values_keep_the_mean_exact():
    """The mean of equal values is that value, not that value plus rounding."""
    assert estimate(rows(0, [0.8] * 7)).mean == pytest.approx(0.8, abs=1e-15)


def test_not_applicable_is_neither_scored_nor_failed():
    """Cases a metric does not apply to are in the total and nowhere else."""
    found = estimate([row(value=None, status="not_applicable"), row(value=1.0)])
    assert (found.n_ok, found.n_failed, found.n_not_applicable, found.n_total) == (1, 0, 1, 2)
    assert found.coverage == 1


def test_nothing_scored_has_no_mean():
    """A dead judge gives no mean and no interval, not ten zeros."""
    found = estimate([row(value=None, status="judge_error")] * 10)
    assert (found.mean, found.low, found.high, found.coverage) == (None, None, None, 0.0)
    assert dict(found.failures) == {"judge_error": 10}


def test_nothing_applicable_has_no_coverage():
    """Coverage of nothing is unknown, not zero."""
    assert estimate([row(value=None, status="not_applicable")]).coverage is None
    assert estimate([]).coverage is None


def test_infinite_score_is_a_reported_failure():
    """One +inf among ones is an invalid score; the mean stays finite."""
    found = estimate([*rows(0, [1.0] * 9), row(value=math.inf)])
    assert found.mean == 1
    assert dict(found.failures) == {"invalid": 1}


def test_weights_make_it_a_weighted_mean():
    """Oversampled bad cases with small weights do not pull the mean down."""
    found = estimate([row(value=1.0, weight=9.0, item_id="a"), row(value=0.0, weight=1.0, item_id="b")])
    assert found.mean == pytest.approx(0.9)


def test_one_score_says_almost_nothing():
    """At n = 1 the interval covers most of 0..1."""
    found = estimate([row(value=1.0)])
    assert found.high == 1
    assert found.low == pytest.approx(1 / (1 + 1.959964**2), abs=1e-6)  # Wilson for 1 of 1


def test_eight_equal_scores_are_not_certain():
    """Zero variance at n = 8 does not collapse the interval to a point."""
    found = estimate(rows(0, [0.8] * 8))
    assert found.low < 0.7
    assert found.high > 0.85


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_all_zero_or_all_one_is_wilson(value):
    """All 60 the same at an end gives Wilson's interval for 0 or 60 of 60."""
    found = estimate(rows(0, [value] * 60))
    assert (found.low, found.high) == wilson(value, 60)
    assert found.high - found.low == pytest.approx(0.06, abs=0.005)


def test_clustered_scores_are_worth_fewer():
    """Sixty scores in six conversations that agree inside give a wider interval than sixty conversations."""
    scores = [float(number % 60 >= 20) for number in range(60)]
    alone = estimate(rows(0, scores))
    together = estimate(
        [score._replace(conversation_id=f"c{number // 10}") for number, score in enumerate(rows(0, scores))]
    )
    assert together.mean == alone.mean
    assert together.high - together.low > 2 * (alone.high - alone.low)


def test_single_conversation_counts_once():
    """Many turns of one conversation are one observation."""
    scores = [score._replace(conversation_id="c") for score in rows(0, [1.0] * 40)]
    assert (estimate(scores).low, estimate(scores).high) == wilson(1.0, 1)


@pytest.mark.parametrize(("size", "rate"), [(8, 0.8), (30, 0.9), (100, 0.85)])
def test_interval_covers_the_truth(size, rate):
    """Over many samples of two-mode scores the 95 % interval holds the true mean 92 % of the time or more."""
    rng = random.Random(5)
    truth = rate * 0.95 + (1 - rate) * 0.3
    held = 0
    for _ in range(400):
        found = estimate(rows(0, [0.95 if rng.random() < rate else 0.3 for _ in range(size)]))
        held += found.low <= truth <= found.high
    assert held / 400 >= 0.92


def test_deviance_is_normal_without_skew():
    """Without skew the score is deviation over standard deviation."""
    assert signed_deviance(-0.1, 0.0004, 0.0) == pytest.approx(-5)
    assert signed_deviance(0.1, 0.0004, 0.5) == pytest.approx(5)


@given(st.floats(-0.9, -1e-4), st.floats(1e-6, 0.1), st.floats(0, 0.2))
def test_skew_only_makes_drops_less_surprising(deviation, variance, jump):
    """A long lower tail never makes a drop look worse than the normal form does."""
    z = signed_deviance(deviation, variance, jump)
    assert deviation / math.sqrt(variance) * (1 + 1e-6) <= z < 0


def test_deviance_matches_the_poisson_tail():
    """Ten failures where two are expected score like the exact Poisson tail."""
    z = signed_deviance(-8 / 60, 2 / 60**2, 1 / 60)
    tail = 1 - sum(math.exp(-2) * 2**k / math.factorial(k) for k in range(10))
    assert z == pytest.approx(statistics.NormalDist().inv_cdf(tail), abs=0.25)
