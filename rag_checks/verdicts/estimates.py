"""The one reduction from score rows to numbers: counts, weighted mean, 95 % interval, deviance (P1).

Nothing else in the project averages scores. A value enters a mean only when its status is `ok` and it is a
finite number in 0..1; everything else is counted beside the mean instead of vanishing from it.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import NormalDist

from rag_checks.records import ScoreRow, ScoreStatus

CONFIDENCE = 0.95

# Pseudo-conversations of full binary variance mixed into the estimated variance. They keep the interval
# honest where the sample's own variance is not to be believed: at n = 1 they are all there is, at n = 8
# equal values they stop the interval from collapsing to a point; at n = 100 they no longer matter.
_PRIOR_CLUSTERS = 4.0

INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Estimate:
    """Mean of a set of scores with everything it travels with.

    `mean`, `low`, `high` are in 0..1 and None when nothing was scored; `dispersion` is the variance relative
    to independent binary outcomes of the same mean (1 = binary, below 1 = graded scores); `n_independent` is
    Kish's number of equally weighted conversations. `failures` counts failed scores by status; `invalid` in
    it are rows with status ok whose value is no number in 0..1.
    """

    mean: float | None
    low: float | None
    high: float | None
    n_ok: int
    n_failed: int
    n_not_applicable: int
    n_independent: float
    dispersion: float
    failures: Mapping[str, int] = field(default_factory=dict)

    @property
    def n_total(self) -> int:
        """All rows seen."""
        return self.n_ok + self.n_failed + self.n_not_applicable

    @property
    def coverage(self) -> float | None:
        """Share scored of what applied: n_ok / (n_ok + n_failed); None when nothing applied."""
        applicable = self.n_ok + self.n_failed
        return self.n_ok / applicable if applicable else None


def outcome(row: ScoreRow) -> str:
    """How a row counts: `ok`, `not_applicable`, or the kind of failure.

    A row that says ok without a finite value in 0..1 and a finite positive weight is `invalid`, never a
    number.
    """
    if row.status != ScoreStatus.OK:
        return row.status
    value, weight = row.value, row.weight
    if value is None or not 0 <= value <= 1:  # NaN and infinities fail this comparison too
        return INVALID
    return ScoreStatus.OK if 0 < weight < math.inf else INVALID


def estimate(rows: Iterable[ScoreRow]) -> Estimate:
    """Reduce score rows to a mean with counts and a 95 % interval. The order of rows does not matter.

    The mean is Hájek's, sum(w y) / sum(w). Its variance is the linearised one over conversations,
    C/(C-1) sum_c (sum_i w_i (y_i - mean))² / sum(w)², taken relative to binary outcomes and shrunk a little
    towards them; the interval is Wilson's (1927) on the effective n this gives, as proposed for survey means
    by Korn and Graubard (1998) and compared by Dean and Pagano (2015). The finite population correction is
    left out: the interval speaks about the bot, not about one night's traffic.
    """
    counts: Counter[str] = Counter()
    scored: list[tuple[str, float, float]] = []
    for row in rows:
        kind = outcome(row)
        counts[kind] += 1
        if kind == ScoreStatus.OK and row.value is not None:
            scored.append((_cluster(row), row.weight, row.value))
    failures = {
        str(kind): number
        for kind, number in sorted(counts.items())
        if kind not in (ScoreStatus.OK, ScoreStatus.NOT_APPLICABLE)
    }
    mean, n_independent, dispersion = _moments(scored)
    low, high = (None, None) if mean is None else wilson(mean, n_independent / dispersion)
    return Estimate(
        mean=mean,
        low=low,
        high=high,
        n_ok=len(scored),
        n_failed=sum(failures.values()),
        n_not_applicable=counts[ScoreStatus.NOT_APPLICABLE],
        n_independent=n_independent,
        dispersion=dispersion,
        failures=failures,
    )


def _cluster(row: ScoreRow) -> str:
    return f"c{row.conversation_id}" if row.conversation_id is not None else f"i{row.item_id}"


def _moments(scored: list[tuple[str, float, float]]) -> tuple[float | None, float, float]:
    """Mean, independent n and dispersion of (conversation, weight, value) triples."""
    if not scored:
        return None, 0.0, 1.0
    scale = max(weight for _, weight, _ in scored)  # huge weights must not overflow when squared
    total = math.fsum(weight / scale for _, weight, _ in scored)
    mean = math.fsum(weight / scale * value for _, weight, value in scored) / total
    mean = min(1.0, max(0.0, mean))
    weights: dict[str, list[float]] = {}
    deviations: dict[str, list[float]] = {}
    for cluster, weight, value in scored:
        weights.setdefault(cluster, []).append(weight / scale)
        deviations.setdefault(cluster, []).append(weight / scale * (value - mean))
    n_independent = total**2 / math.fsum(math.fsum(parts) ** 2 for parts in weights.values())
    spread = mean * (1 - mean)
    clusters = len(weights)
    if clusters < 2 or spread < 1e-12:  # noqa: PLR2004 - one conversation has no variance of its own
        return mean, n_independent, 1.0
    variance = math.fsum(math.fsum(parts) ** 2 for parts in deviations.values()) / total**2
    variance *= clusters / (clusters - 1)
    own = variance * n_independent / spread
    dispersion = ((clusters - 1) * own + _PRIOR_CLUSTERS) / (clusters - 1 + _PRIOR_CLUSTERS)
    return mean, n_independent, dispersion


def wilson(mean: float, n: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Wilson's score interval for a mean in 0..1 from `n` effective observations (n > 0), within 0..1."""
    z2 = NormalDist().inv_cdf(0.5 + confidence / 2) ** 2
    centre = (mean + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2) / (1 + z2 / n) * math.sqrt(mean * (1 - mean) / n + z2 / (4 * n * n))
    # Rounding must not push an end past the mean it brackets (mean 1 gives 0.9999999).
    return max(0.0, min(mean, centre - half)), min(1.0, max(mean, centre + half))


def signed_deviance(deviation: float, variance: float, jump: float) -> float:
    """How surprising a mean deviation is when nothing moved, as a standard normal; negative is worse.

    Scores near 1 fall by rare large steps, so their means have a long lower tail and deviation / sd cries
    wolf. Drops are measured by the signed root deviance of a shifted, scaled Poisson variable with the same
    variance and skewness (McCullagh and Nelder 1989, section 2.4.3): with x = -deviation jump / variance,
    z = -sqrt(2 variance / jump² ((1 + x) log(1 + x) - x)). Rises use the normal form, which `jump` = 0 gives
    too.

    Args:
        deviation: Mean minus expectation.
        variance: Variance of that when nothing moved, above 0.
        jump: Minus the third cumulant of the mean over its variance: what one failure does to the mean; 0 or
        more.
    """
    x = -deviation * jump / variance
    if x < 1e-4:  # noqa: PLR2004 - here the normal form is the same to six digits, and free of cancellation
        return deviation / math.sqrt(variance)
    return -math.sqrt(2 * variance * ((1 + x) * math.log1p(x) - x)) / jump
