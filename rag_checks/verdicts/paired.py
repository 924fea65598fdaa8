"""Two runs over the same items: the mean difference with its interval.

Only differences of one item with itself enter, so items that are hard for both runs cost no certainty
(Miller 2024, "Adding error bars to evals"). The interval is Student's on the differences, which held its
level at 30 items where the bootstrap did not.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean

from rag_checks.verdicts.estimates import CONFIDENCE

# Half a pair of opposite outcomes, as Jeffreys' prior has it: 20 pairs without a difference do not prove
# that there is none.
_PRIOR_SQUARES = 0.5
# Beyond this many degrees of freedom the quantile is the normal one within 0.2 %.
_LARGE = 1000


@dataclass(frozen=True, slots=True)
class Difference:
    """Mean of paired differences, -1..1, and its 95 % interval.

    All are None without pairs, the interval's ends with a single one.
    """

    mean: float | None
    low: float | None
    high: float | None
    n: int


def difference(pairs: Sequence[tuple[float, float]]) -> Difference:
    """How much higher the first of each pair is on average; values in 0..1."""
    deltas = [first - second for first, second in pairs]
    n = len(deltas)
    if n == 0:
        return Difference(None, None, None, 0)
    mean = fmean(deltas)
    if n == 1:
        return Difference(mean, None, None, 1)
    squares = math.fsum((delta - mean) ** 2 for delta in deltas) + _PRIOR_SQUARES
    half = student_quantile(n - 1) * math.sqrt(squares / (n - 1) / n)
    return Difference(mean, max(-1.0, mean - half), min(1.0, mean + half), n)


def student_quantile(freedom: int, confidence: float = CONFIDENCE) -> float:
    """Two-sided quantile of Student's t: P(|T| < q) = confidence. Found by bisection on `student_within`."""
    if freedom > _LARGE:
        return NormalDist().inv_cdf(0.5 + confidence / 2)
    low, high = 0.0, 1.0
    while student_within(high, freedom) < confidence:
        low, high = high, high * 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if student_within(middle, freedom) < confidence else (low, middle)
    return high


def student_within(t: float, freedom: int) -> float:
    """P(|T| < t) of Student's t with a whole number of degrees of freedom: Abramowitz and Stegun 26.7.3-4."""
    angle = math.atan(t / math.sqrt(freedom))
    cosine2 = math.cos(angle) ** 2
    odd = freedom % 2
    term = math.cos(angle) if odd else 1.0
    total = 0.0 if freedom == 1 else term
    for k in range(3 if odd else 2, freedom - 1, 2):
        term *= (k - 1) / k * cosine2
        total += term
    return 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total
