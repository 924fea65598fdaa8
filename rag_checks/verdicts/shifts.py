"""How far some nights lie from what was wanted or expected: the unit of every decision."""

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from rag_checks.verdicts.estimates import signed_deviance

NIGHT_EFFECT_FLOOR = 5e-5
"""Smallest tau²: nights differ by 0.007 even when nothing is wrong."""

# A series near 0 or 1 has no room for shocks of that size; the night effect shrinks with mean (1 - mean)
# below 0.09.
_FULL_SPREAD = 0.09


class Shift(NamedTuple):
    """How far some nights lie from an expectation, with the variance this has when nothing moved.

    The unit of every decision. `shared` is the part of the variance that all scores of those nights have in
    common, the night effect: two series of one metric do not average it away.
    """

    nights: int
    first: date
    items: int
    expected: float
    deviation: float
    variance: float
    jump: float
    shared: float

    @property
    def z(self) -> float:
        """Signed root deviance; negative is worse."""
        return signed_deviance(self.deviation, self.variance, self.jump)

    @property
    def failures(self) -> float:
        """The larger of expected and seen failures, as mass: items x (1 - mean)."""
        return self.items * (1 - min(self.expected, self.expected + self.deviation))


def fuse(one: Shift, other: Shift) -> Shift:
    """What two series of one metric say together: their mean by inverse variance of what they do not share.

    The night effect is taken to hit both alike. Dates and nights are those of `one`. Third cumulants add with
    the cubes of the weights.
    """
    own = [shift.variance - shift.shared for shift in (one, other)]
    weight = own[1] / (own[0] + own[1])
    parts = ((weight, one), (1 - weight, other))
    shared = sum(share * shift.shared**0.5 for share, shift in parts) ** 2
    variance = shared + sum(share**2 * alone for (share, _), alone in zip(parts, own, strict=True))
    cumulant = sum(share**3 * shift.jump * shift.variance for share, shift in parts)
    return one._replace(
        items=one.items + other.items,
        expected=sum(share * shift.expected for share, shift in parts),
        deviation=sum(share * shift.deviation for share, shift in parts),
        variance=variance,
        jump=cumulant / variance,
        shared=shared,
    )


def room(mean: float) -> float:
    """Share of the night effect a series of this mean has room for, in 0..1."""
    return min(1.0, mean * (1 - mean) / _FULL_SPREAD)


def level_shift(
    nights: Sequence[tuple[date, float, float, int]], wanted: float, dispersion: float, tau2: float
) -> Shift:
    """Distance of the mean of some nights to a wanted level (a target's minimum or warning).

    Args:
        nights: Date, mean, independent n, scored items of each night, oldest first.
        wanted: The level, in 0..1.
        dispersion: Variance of scores relative to binary ones (`Estimate.dispersion`, averaged over nights).
        tau2: The night effect at full room.
    """
    expected = min(1 - 1e-3, max(1e-3, wanted))
    items = sum(count for *_, count in nights)
    mean = sum(count * value for _, value, _, count in nights) / items
    noise = sum(count**2 / n for _, _, n, count in nights) / items**2 * dispersion * expected * (1 - expected)
    shared = tau2 * room(expected) / len(nights)
    variance = noise + shared
    # Binary scores have the longest tail a mean of this level can have.
    skew = (2 * expected - 1) * sum(count**3 / n**2 for _, _, n, count in nights) / items**3
    return Shift(
        nights=len(nights),
        first=nights[0][0],
        items=items,
        expected=expected,
        deviation=mean - expected,
        variance=variance,
        jump=max(0.0, skew * dispersion * expected * (1 - expected) / variance),
        shared=shared,
    )
