"""The formulas: worked examples, parity with ragas, bounds and monotonicity."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_checks.metrics import scoring

VERDICTS = st.lists(st.booleans(), max_size=30)


@pytest.mark.parametrize(
    ("useful", "expected"),
    [
        ([False, True], 0.5),
        ([True, False], 1.0),
        ([True, False, True], (1 + 2 / 3) / 2),
        ([False, False, True, True], (1 / 3 + 2 / 4) / 2),
        ([False, False], 0.0),
        ([], 0.0),
        ([True, True, True], 1.0),
    ],
)
def test_average_precision_of_worked_examples(useful, expected):
    """Average precision equals values worked out by hand."""
    assert scoring.average_precision(useful) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("useful", "ragas"),
    # metrics/collections/context_precision of ragas 0.4.3: sum(precision@k * v_k) / (sum(v) + 1e-10)
    [
        ([True], 0.9999999999),
        ([False, True], 0.49999999995),
        ([True, False, True], 0.83333333329166),
        ([True, True, False, True], 0.9166666666361111),
        ([False, False, False], 0.0),
    ],
)
def test_average_precision_is_that_of_ragas(useful, ragas):
    """Given the same verdicts our context precision equals that of ragas 0.4.3 to 1e-9."""
    assert scoring.average_precision(useful) == pytest.approx(ragas, abs=1e-9)


@pytest.mark.parametrize(
    ("counts", "ragas"),
    # metrics/collections/answer_correctness of ragas 0.4.3, fbeta_score with beta 1 over (tp, fp, fn)
    [
        ((1, 1, 1), 0.5),
        ((2, 0, 0), 1.0),
        ((0, 2, 1), 0.0),
        ((0, 0, 2), 0.0),
        ((3, 1, 2), 2 / 3),
        ((2, 0, 1), 0.8),
        ((1, 3, 0), 0.4),
    ],
)
def test_factual_f1_is_that_of_ragas(counts, ragas):
    """Given the same TP, FP and FN our F1 equals that of ragas 0.4.3 to 1e-9."""
    true_positives, false_positives, false_negatives = counts
    ours = scoring.factual_f1(
        true_positives=true_positives, false_positives=false_positives, false_negatives=false_negatives
    )
    assert ours == pytest.approx(ragas, abs=1e-9)


def test_correctness_weighs_facts_three_to_one():
    """Claims {A,B} against {A,C} with similarity 0.8 give 0.75 * 0.5 + 0.25 * 0.8."""
    f1 = scoring.factual_f1(true_positives=1, false_positives=1, false_negatives=1)
    assert scoring.correctness(f1, 0.8, 0.75) == pytest.approx(0.575)


@pytest.mark.parametrize(
    "undefined",
    [
        lambda: scoring.share([]),
        lambda: scoring.mean([]),
        lambda: scoring.factual_f1(true_positives=0, false_positives=0, false_negatives=0),
        lambda: scoring.normalised_gain([], 0),
    ],
)
def test_what_is_undefined_is_an_error_and_never_a_number(undefined):
    """No claims, values or gold raise ValueError instead of dividing by zero."""
    with pytest.raises(ValueError, match="undefined"):
        undefined()


@pytest.mark.parametrize(
    ("ranks", "missing", "expected"),
    [
        ([1], 0, 1.0),
        ([2], 0, 1 / math.log2(3)),
        ([1, 3], 0, (1 + 1 / 2) / (1 + 1 / math.log2(3))),
        ([1], 1, 1 / (1 + 1 / math.log2(3))),
        ([], 2, 0.0),
    ],
)
def test_normalised_gain_of_worked_examples(ranks, missing, expected):
    """NDCG equals values worked out by hand."""
    assert scoring.normalised_gain(ranks, missing) == pytest.approx(expected)


@given(VERDICTS)
def test_average_precision_stays_within_bounds(useful):
    """Average precision is finite and within 0..1 for every list of verdicts."""
    assert 0 <= scoring.average_precision(useful) <= 1


@given(VERDICTS.filter(lambda verdicts: len(verdicts) > 1), st.data())
def test_moving_a_useful_context_up_never_lowers_average_precision(useful, data):
    """Swapping a useful context with a useless one right above it cannot make the ranking worse."""
    place = data.draw(st.integers(0, len(useful) - 2))
    better = [*useful]
    better[place : place + 2] = sorted(useful[place : place + 2], reverse=True)
    assert scoring.average_precision(better) >= scoring.average_precision(useful) - 1e-12


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_mean_lies_between_the_smallest_and_the_largest(values):
    """The mean of values in 0..1 is never outside their range."""
    assert min(values) - 1e-12 <= scoring.mean(values) <= min(1.0, max(values) + 1e-12)


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_one_more_right_claim_never_lowers_f1(right, wrong, missed):
    """F1 is bounded, rises with true positives, and falls with false ones."""

    def f1(right, wrong, missed):
        return scoring.factual_f1(true_positives=right, false_positives=wrong, false_negatives=missed)

    if right + wrong + missed == 0:
        return
    assert 0 <= f1(right, wrong, missed) <= 1
    assert f1(right + 1, wrong, missed) >= f1(right, wrong, missed)
    assert f1(right, wrong + 1, missed) <= f1(right, wrong, missed)
    assert f1(right, wrong, missed + 1) <= f1(right, wrong, missed)


@given(st.sets(st.integers(1, 40), max_size=10), st.integers(0, 5))
def test_ndcg_stays_within_bounds_and_rises_with_a_better_rank(ranks, missing):
    """NDCG is within 0..1, 1 exactly for gold on top, and rises when a hit moves to a free rank above."""
    if not ranks and not missing:
        return
    value = scoring.normalised_gain(sorted(ranks), missing)
    assert 0 <= value <= 1
    assert (value == 1) == (missing == 0 and ranks == set(range(1, len(ranks) + 1)))
    free = min(set(range(1, 50)) - ranks)
    if ranks and free < max(ranks):
        better = sorted(ranks - {max(ranks)} | {free})
        assert scoring.normalised_gain(better, missing) > value


@given(st.integers(1, 1000))
def test_reciprocal_rank_falls_with_the_rank(rank):
    """The reciprocal rank is within 0..1 and strictly falling; without a hit it is 0."""
    assert 0 < scoring.reciprocal_rank(rank + 1) < scoring.reciprocal_rank(rank) <= 1
    assert scoring.reciprocal_rank(None) == 0
