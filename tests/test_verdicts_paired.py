"""The paired comparison: exact quantiles, honest intervals."""

import random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_checks.verdicts.paired import difference, student_quantile, student_within


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [
        (1, 12.7062),
        (2, 4.3027),
        (3, 3.1824),
        (4, 2.7764),
        (5, 2.5706),
        (10, 2.2281),
        (30, 2.0423),
        (120, 1.9799),
    ],
)
def test_quantiles_are_those_of_the_tables(freedom: int, quantile: float) -> None:
    """Student's t, two-sided 95 %."""
    assert student_quantile(freedom) == pytest.approx(quantile, abs=5e-5)
    assert student_within(student_quantile(freedom), freedom) == pytest.approx(0.95)


def test_many_degrees_of_freedom_are_the_normal_distribution() -> None:
    """Without a jump where the formula changes."""
    assert student_quantile(1000) == pytest.approx(student_quantile(1001), rel=2e-3)
    assert student_quantile(10**6) == pytest.approx(1.95996, abs=1e-4)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=20))
def test_the_interval_holds_the_mean_and_turns_with_the_sign(pairs: list[tuple[float, float]]) -> None:
    """Second minus first is the mirror image; no end leaves -1..1."""
    found = difference(pairs)
    assert found.n == len(pairs)
    if not pairs:
        assert (found.mean, found.low, found.high) == (None, None, None)
        return
    assert found.mean == pytest.approx(fmean(a - b for a, b in pairs), abs=1e-12)
    back = difference([(b, a) for a, b in pairs])
    assert back.mean == pytest.approx(-found.mean, abs=1e-12)
    if len(pairs) == 1:
        assert (found.low, found.high) == (None, None)
        return
    assert -1 <= found.low <= found.mean <= found.high <= 1
    assert (back.low, back.high) == (pytest.approx(-found.high), pytest.approx(-found.low))


def test_equal_pairs_do_not_prove_that_there_is_no_difference() -> None:
    """Five agreeing pairs say little, five hundred a lot."""
    few, many = difference([(1, 1)] * 5), difference([(1, 1)] * 500)
    assert few.high > 0.3
    assert many.high < 0.01


@pytest.mark.parametrize("n", [10, 30, 100])
@pytest.mark.parametrize("changed", [0.05, 0.2, 0.5])
def test_the_interval_holds_the_true_difference(n: int, changed: float) -> None:
    """Right-or-wrong answers of which a share changed, two thirds of them for the better: 93 % or more."""
    rng = random.Random(7)
    held, rounds = 0, 600
    for _ in range(rounds):
        pairs = []
        for _ in range(n):
            draw = rng.random()
            better, worse = draw < changed * 2 / 3, changed * 2 / 3 <= draw < changed
            before = 0 if better else 1 if worse else rng.randint(0, 1)
            pairs.append((1 - before if better or worse else before, before))
        found = difference(pairs)
        held += found.low <= changed / 3 <= found.high
    assert held / rounds >= 0.93


def test_pairing_sees_what_two_means_do_not() -> None:
    """Hard and easy items alike get a little better."""
    rng = random.Random(3)
    before = [rng.random() * 0.9 for _ in range(40)]
    found = difference([(value + 0.05 + rng.gauss(0, 0.04), value) for value in before])
    assert found.low > 0
