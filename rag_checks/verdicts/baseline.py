"""The pinned baseline of a series and the deviation of later nights from it.

Method: every score is compared with what the baseline leads to expect of *its* intent (production) or *its*
item (golden), so a change of traffic mix alone moves nothing; the variance of the mean deviation comes from
the baseline, never from the nights under test:

    variance = phi sum(w²)/sum(w)² + tau²/nights + error of the baseline itself

phi is the variance of one score around its expectation, clustered by conversation; tau² the night-to-night
effect. Expected means are shrunk by pseudo-items, so that small cells do not speak louder than they know.
Sources: Miller 2024 (clustered and paired errors for evals); McCullagh and Nelder 1989 (quasi-likelihood);
James-Stein shrinkage.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Any, NamedTuple

from rag_checks.verdicts.series import Graded, Night
from rag_checks.verdicts.shifts import NIGHT_EFFECT_FLOOR, Shift, room

SHRINKAGE = 10.0
"""Pseudo-items of the metric's mean in each intent's mean."""

_POOLING_NIGHTS = 14.0


class Sums(NamedTuple):
    """What one night adds to a cell: numbers that can be added over nights and intents."""

    items: int
    weight: float
    weight2: float
    expected: float
    deviation: float
    borrowed: float  # sum of w² / (baseline nights of the item); golden only


class Noise(NamedTuple):
    """Moments of one score around its expectation: variance, and minus the third moment."""

    phi: float
    skew: float


class Cell(NamedTuple):
    """One intent in the baseline: its shrunk mean, effective number of scores, noise of one score."""

    mean: float
    n: float
    noise: Noise


@dataclass(frozen=True)
class Baseline:
    """What is normal for a series, learnt from its first healthy nights.

    `paired` compares each item with its own mean (golden); otherwise each score with its intent's mean.
    """

    nights: tuple[Night, ...]
    paired: bool
    _known: dict[date, dict[str, Sums]] = field(default_factory=dict, compare=False, repr=False)
    _shifts: dict[tuple[Any, ...], Shift | None] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def mean(self) -> float:
        """Weighted mean of all baseline scores with one pseudo-score of 0.5: strictly inside 0..1."""
        scores = [score for night in self.nights for score in night.graded]
        total = sum(score.weight for score in scores)
        return (sum(score.weight * score.value for score in scores) + 0.5) / (total + 1)

    @cached_property
    def items(self) -> dict[str, tuple[float, int]]:
        """Mean and number of nights of each item."""
        values: dict[str, list[float]] = {}
        for night in self.nights:
            for score in night.graded:
                values.setdefault(score.item_id, []).append(score.value)
        return {item: (sum(seen) / len(seen), len(seen)) for item, seen in values.items()}

    @cached_property
    def _means(self) -> dict[str, tuple[float, float]]:
        """Shrunk mean and Kish's n of each intent."""
        sums: dict[str, list[float]] = {}
        for night in self.nights:
            for score in night.graded:
                cell = sums.setdefault(score.intent, [0.0, 0.0, 0.0])
                cell[0] += score.weight
                cell[1] += score.weight**2
                cell[2] += score.weight * score.value
        means = {}
        for intent, (weight, weight2, value) in sums.items():
            n = weight**2 / weight2
            means[intent] = ((n * value / weight + SHRINKAGE * self.mean) / (n + SHRINKAGE), n)
        return means

    def expect(self, score: Graded) -> tuple[float, int] | None:
        """Expected value of a score and the nights behind it; None for an item the baseline does not know."""
        if self.paired:
            return self.items.get(score.item_id)
        cell = self._means.get(score.intent)
        return (self.mean if cell is None else cell[0]), 1

    @cached_property
    def _noise(self) -> tuple[Noise, dict[str, Noise]]:
        """Noise of one score around its expectation: overall, and by intent.

        Sums over conversations of powers of summed residuals, over the sum of squared weights. Half a
        pseudo-score each at 0 and 1 (Jeffreys) keeps it binomial when the baseline is flawless; cells borrow
        from the whole.
        """
        residuals: dict[str, dict[tuple[int, str], float]] = {}
        mass: dict[str, float] = {}
        for number, night in enumerate(self.nights):
            for score in night.graded:
                expected = self.expect(score)
                if expected is None or (self.paired and expected[1] < 2):  # noqa: PLR2004 - no spread
                    continue
                residual = score.weight * (score.value - expected[0])
                if self.paired:
                    residual *= (expected[1] / (expected[1] - 1)) ** 0.5
                cell = residuals.setdefault(score.intent, {})
                group = (number, score.cluster)
                cell[group] = cell.get(group, 0.0) + residual
                mass[score.intent] = mass.get(score.intent, 0.0) + score.weight**2
        conversations: dict[tuple[int, str], float] = {}
        for cell in residuals.values():
            for group, residual in cell.items():
                conversations[group] = conversations.get(group, 0.0) + residual
        overall = _moments(conversations.values(), sum(mass.values()), self.mean, None)
        return overall, {
            intent: _moments(cell.values(), mass[intent], self._means[intent][0], overall)
            for intent, cell in residuals.items()
        }

    def cell(self, intent: str) -> Cell:
        """What the baseline knows of an intent; the metric's mean with n = 0 when it never saw it."""
        overall, by_intent = self._noise
        mean, n = self._means.get(intent, (self.mean, 0.0))
        return Cell(mean, n, by_intent.get(intent, overall))

    def sums(self, night: Night) -> dict[str, Sums]:
        """Deviations of one night, by intent, kept once computed; items without expectation are left out."""
        if night.night not in self._known:
            self._known[night.night] = self._sums(night)
        return self._known[night.night]

    def _sums(self, night: Night) -> dict[str, Sums]:
        cells: dict[str, list[float]] = {}
        for score in night.graded:
            expected = self.expect(score)
            if expected is None:
                continue
            cell = cells.setdefault(score.intent, [0, 0.0, 0.0, 0.0, 0.0, 0.0])
            cell[0] += 1
            cell[1] += score.weight
            cell[2] += score.weight**2
            cell[3] += score.weight * expected[0]
            cell[4] += score.weight * (score.value - expected[0])
            cell[5] += score.weight**2 / expected[1]
        return {intent: Sums(int(cell[0]), *cell[1:]) for intent, cell in cells.items()}

    @cached_property
    def excess(self) -> float:
        """Variance between baseline nights beyond what their items explain, at full room; may be negative."""
        squares, explained = 0.0, 0.0
        for night in self.nights:
            total = add(self.sums(night).values())
            squares += (total.deviation / total.weight) ** 2
            explained += self._noise[0].phi * total.weight2 / total.weight**2
        count = len(self.nights)
        return (squares / (count - 1) - explained / count) / self.room(None)

    def night_effect(self, pooled: float) -> float:
        """tau² of the series at full room: its own estimate pulled towards `pooled`, not below the floor."""
        count = len(self.nights)
        own = (count * self.excess + _POOLING_NIGHTS * pooled) / (count + _POOLING_NIGHTS)
        return max(NIGHT_EFFECT_FLOOR, own)

    def shift(self, nights: Sequence[Night], tau2: float, intent: str | None = None) -> Shift | None:
        """Deviation of a window of nights (oldest first), of one intent or all; None when there is none.

        Args:
            nights: The nights, by the same judge and metric version as the baseline.
            tau2: The night effect at full room.
            intent: Restrict to one intent.
        """
        # Every night walks the nights since the baseline again: without this, work grows with their square.
        key = (nights[0].night, nights[-1].night, len(nights), tau2, intent)
        if key not in self._shifts:
            self._shifts[key] = self._shift(nights, tau2, intent)
        return self._shifts[key]

    def _shift(self, nights: Sequence[Night], tau2: float, intent: str | None) -> Shift | None:
        cells: dict[str, list[Sums]] = {}
        present = 0
        for by_intent in map(self.sums, nights):
            chosen = by_intent if intent is None else {i: s for i, s in by_intent.items() if i == intent}
            present += bool(chosen)
            for name, sums in chosen.items():
                cells.setdefault(name, []).append(sums)
        if not present:
            return None
        added = {name: add(parts) for name, parts in cells.items()}
        total = add(added.values())
        known = [(self.cell(name), sums) for name, sums in added.items()]
        noise = sum(cell.noise.phi * sums.weight2 for cell, sums in known)
        skew = sum(cell.noise.skew * sums.weight2 for cell, sums in known)
        if intent is None:
            noise = max(noise, self._noise[0].phi * total.weight2)
            skew = max(skew, self._noise[0].skew * total.weight2)
        if self.paired:
            # The same items every night: their baseline means err by the same amount in each night.
            error = present * sum(cell.noise.phi * sums.borrowed for cell, sums in known)
        else:
            error = sum(cell.noise.phi / (cell.n + SHRINKAGE) * sums.weight**2 for cell, sums in known)
        expected, deviation = total.expected / total.weight, total.deviation / total.weight
        common = _common_spread(expected, deviation, total.items, sum(cell.n for cell, _ in known))
        between = tau2 * self.room(intent) * (1 / present + 1 / len(self.nights))
        variance = common * (noise + error) / total.weight**2 + between
        return Shift(
            nights=len(nights),
            first=nights[0].night,
            items=total.items,
            expected=expected,
            deviation=deviation,
            variance=variance,
            jump=max(0.0, common * skew / total.weight**3 / variance),
            shared=between,
        )

    def room(self, intent: str | None) -> float:
        """See `room`, for the mean of an intent or of all."""
        return room(self.mean if intent is None else self.cell(intent).mean)


def _common_spread(expected: float, deviation: float, items: int, scores: float) -> float:
    """Factor on the baseline's variance when both samples share the mean the null hypothesis gives them.

    A baseline that was lucky is too high and, near 1, too sure of itself at once; the pooled mean of a
    two-sample score test undoes the second. Matters where the window is about as large as the baseline; never
    below 1.
    """
    pooled = expected + deviation * items / (items + scores + SHRINKAGE)
    edge = 0.5 / (items + scores + SHRINKAGE)
    spread = max(expected * (1 - expected), edge)
    return max(1.0, min(0.25, pooled * (1 - pooled)) / spread)


def add(parts: Iterable[Sums]) -> Sums:
    """The sum of sums."""
    columns = list(zip(*parts, strict=True))
    return Sums(sum(columns[0]), *(sum(column) for column in columns[1:]))


def _moments(residuals: Iterable[float], mass: float, mean: float, whole: Noise | None) -> Noise:
    """Noise from residuals of conversations, a Jeffreys pseudo-score and, for cells, ten of the whole."""
    values = list(residuals)
    squares = sum(value**2 for value in values) + 0.5 * mean**2 + 0.5 * (1 - mean) ** 2
    cubes = -sum(value**3 for value in values) + 0.5 * mean**3 - 0.5 * (1 - mean) ** 3
    if whole is None:
        return Noise(squares / (mass + 1), cubes / (mass + 1))
    total = mass + 1 + SHRINKAGE
    return Noise((squares + SHRINKAGE * whole.phi) / total, (cubes + SHRINKAGE * whole.skew) / total)


def pool(baselines: Iterable[Baseline]) -> float:
    """The night effect all series share: mean of their excesses, weighted by nights and room, or 0."""
    known = [(len(baseline.nights) * baseline.room(None), baseline.excess) for baseline in baselines]
    total = sum(weight for weight, _ in known)
    return sum(weight * excess for weight, excess in known) / total if total else 0.0
