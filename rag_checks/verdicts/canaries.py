"""Whether the judge moved: frozen answers, graded again every night, compared with their own baseline (P5).

A canary's text never changes, so a change of its score is the judge's. Each metric's canaries are compared
item by item with their first nights, over the same windows as everything else, in both directions; all
metrics together (one judge grades them all) find what each alone is too small to show. What was found is then
taken off the scores of the bot, with its uncertainty: judges move differently on good and on bad answers, so
the shift is estimated for both and weighed by how good the bot is.
Method: "Who drifted: the system or the judge?" (arXiv 2606.15474).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import NamedTuple

from rag_checks.verdicts.baseline import Baseline
from rag_checks.verdicts.course import WINDOWS
from rag_checks.verdicts.series import Night
from rag_checks.verdicts.shifts import NIGHT_EFFECT_FLOOR, Shift

MOVED_Z = 4.5
"""|z| beyond which the judge has moved: about 0.05 false findings a year over ten metrics, simulated."""

SUSPECTED_Z = 2.5
ECHO_Z = 3.0
"""What all metrics show is a metric's own when its shift, drawn towards theirs, is clear this far."""

_CARRIED = 0.2
"""Part of a correction that is doubted: canaries are not the bot's answers."""

_GOOD_FROM = 0.5
GOOD, BAD = "good", "bad"


class Part(NamedTuple):
    """The judge's shift on good, or on bad canaries: their mean, the shift, its variance."""

    mean: float
    shift: float
    variance: float


@dataclass(frozen=True)
class Moved:
    """How a judge moved on one metric, and since when."""

    since: date
    z: float
    deviation: float
    canaries: int
    parts: Mapping[str, Part]
    """By quality, good and bad; one may be missing."""
    named: bool = True
    """Whether this metric's own canaries show it, alone or as an echo of all metrics'."""

    def correct(self, shift: Shift, nights: Sequence[date]) -> Shift:
        """The shift of the bot's scores in `nights` without the judge's share in it."""
        touched = sum(night >= self.since for night in nights) / len(nights)
        if not touched:
            return shift
        by, variance = self._at(shift.expected)
        return shift._replace(
            deviation=shift.deviation - touched * by,
            variance=shift.variance + touched**2 * (variance + (_CARRIED * by) ** 2),
        )

    @property
    def clear(self) -> bool:
        """Whether the shift is beyond its own uncertainty at the canaries' own mix."""
        parts = self.parts.values()
        means = sum(part.mean for part in parts) / max(1, len(parts))
        by, variance = self._at(means)
        return abs(by) > ECHO_Z * math.sqrt(variance)

    def _at(self, mean: float) -> tuple[float, float]:
        """The shift of a mean made of good and bad answers, and its variance."""
        good, bad = self.parts.get(GOOD), self.parts.get(BAD)
        if good is None or bad is None:
            part = good or bad
            return (0.0, 0.0) if part is None else (part.shift, part.variance)
        share = min(1.0, max(0.0, (mean - bad.mean) / (good.mean - bad.mean)))
        return (
            share * good.shift + (1 - share) * bad.shift,
            share**2 * good.variance + (1 - share) ** 2 * bad.variance,
        )


@dataclass(frozen=True)
class Watched:
    """One metric's canaries: nights by one judge and one version, sorted good and bad, baseline first."""

    nights: tuple[Night, ...]
    baseline: Baseline

    @classmethod
    def of(cls, nights: Sequence[Night], wanted: int) -> "Watched":
        """Canary nights of one identity, oldest first; the first `wanted` are the baseline."""
        means = Baseline(tuple(nights[:wanted]), paired=True).items
        sorted_ = tuple(_by_quality(night, means) for night in nights)
        return cls(sorted_, Baseline(sorted_[:wanted], paired=True))

    @property
    def monitored(self) -> tuple[Night, ...]:
        """The nights after the baseline."""
        return self.nights[len(self.baseline.nights) :]

    def shift(self, nights: Sequence[Night], part: str | None = None) -> Shift | None:
        """Deviation of these nights' canaries from their own baseline."""
        return self.baseline.shift(nights, NIGHT_EFFECT_FLOOR, part) if nights else None

    def windows(self, until: date) -> list[Shift]:
        """The shift over each window that ends with `until`."""
        nights = [night for night in self.monitored if night.night <= until]
        sizes = sorted({min(window, len(nights)) for window in WINDOWS} - {0})
        return [shift for size in sizes if (shift := self.shift(nights[-size:])) is not None]

    def starts(self, until: date) -> dict[date, Shift]:
        """The shift from each monitored night to `until`, by its first night."""
        nights = [night for night in self.monitored if night.night <= until]
        found = {night.night: self.shift(nights[at:]) for at, night in enumerate(nights)}
        return {night: shift for night, shift in found.items() if shift is not None}

    def moved(self, since: date, until: date, z: float, *, named: bool) -> Moved:
        """The shift since a night, on good and on bad canaries."""
        nights = [night for night in self.monitored if since <= night.night <= until]
        parts = {name: self.shift(nights, name) for name in (GOOD, BAD)}
        whole = self.shift(nights)
        return Moved(
            since=since,
            z=z,
            deviation=whole.deviation if whole else 0.0,
            canaries=len(self.baseline.items),
            parts={
                name: Part(shift.expected, shift.deviation, shift.variance)
                for name, shift in parts.items()
                if shift is not None
            },
            named=named,
        )


def moved(watched: Mapping[str, Watched], night: date) -> dict[str, Moved]:
    """How the judge has moved by the end of a night, by metric; empty while nothing shows.

    Once all metrics together show it, every metric is corrected, by its own canaries drawn towards all.
    """
    together = most_telling(_pooled(one.windows(night) for one in watched.values()))
    all_moved = together is not None and abs(together.z) > MOVED_Z
    since = _start(watched.values(), night) if all_moved else None
    found = {}
    for metric, canaries in watched.items():
        own = most_telling(canaries.windows(night))
        if own is None or not (all_moved or abs(own.z) > MOVED_Z):
            continue
        begin = since or _start([canaries], night)
        found[metric] = canaries.moved(begin, night, own.z, named=abs(own.z) > MOVED_Z)
    if not all_moved:
        return found
    return {metric: replace(one, named=one.named or one.clear) for metric, one in _shrunk(found).items()}


def _start(watched: Iterable[Watched], night: date) -> date:
    """The night from which on the shift to `night` shows most clearly in all of these together."""
    by_start: dict[date, list[Shift]] = {}
    for one in watched:
        for start, shift in one.starts(night).items():
            by_start.setdefault(start, []).append(shift)
    return max(by_start, key=lambda start: (abs(_mean(by_start[start]).z), start))


def _shrunk(found: Mapping[str, Moved]) -> dict[str, Moved]:
    """Each metric's shift drawn towards that of all, as far as they agree (DerSimonian and Laird 1986)."""
    drawn = {
        name: _drawn_together({metric: one.parts[name] for metric, one in found.items() if name in one.parts})
        for name in (GOOD, BAD)
    }
    return {
        metric: replace(one, parts={name: drawn[name][metric] for name in one.parts})
        for metric, one in found.items()
    }


def _drawn_together(parts: Mapping[str, Part]) -> dict[str, Part]:
    weights = [1 / part.variance for part in parts.values()]
    total = sum(weights)
    if len(parts) < 2:  # noqa: PLR2004 - nothing to be drawn to
        return dict(parts)
    mean = sum(weight * part.shift for weight, part in zip(weights, parts.values(), strict=True)) / total
    scatter = sum(w * (part.shift - mean) ** 2 for w, part in zip(weights, parts.values(), strict=True))
    spread = total - sum(weight**2 for weight in weights) / total
    between = max(0.0, (scatter - (len(parts) - 1)) / spread)
    drawn = {}
    for metric, part in parts.items():
        own = between / (between + part.variance)
        variance = own * part.variance + (1 - own) ** 2 / total
        drawn[metric] = part._replace(shift=own * part.shift + (1 - own) * mean, variance=variance)
    return drawn


def suspected(watched: Watched, night: date) -> bool:
    """Whether a stricter judge might explain that the bot looks worse, although nothing is proven yet."""
    own = most_telling(watched.windows(night))
    return own is not None and own.z < -SUSPECTED_Z


def most_telling(shifts: Iterable[Shift]) -> Shift | None:
    """The shift furthest from nothing, in either direction."""
    return max(shifts, key=lambda shift: abs(shift.z), default=None)


def _pooled(by_metric: Iterable[Sequence[Shift]]) -> list[Shift]:
    """Windows of all metrics together: means by inverse variance; what nights share does not average out."""
    by_size: dict[int, list[Shift]] = {}
    for shifts in by_metric:
        for shift in shifts:
            by_size.setdefault(shift.nights, []).append(shift)
    return [_mean(shifts) for shifts in by_size.values() if len(shifts) > 1]


def _mean(shifts: Sequence[Shift]) -> Shift:
    weights = [1 / (shift.variance - shift.shared) for shift in shifts]
    total = sum(weights)
    shares = [weight / total for weight in weights]
    shared = sum(share * one.shared**0.5 for share, one in zip(shares, shifts, strict=True)) ** 2
    return shifts[0]._replace(
        items=sum(shift.items for shift in shifts),
        expected=sum(share * one.expected for share, one in zip(shares, shifts, strict=True)),
        deviation=sum(share * one.deviation for share, one in zip(shares, shifts, strict=True)),
        variance=1 / total + shared,
        jump=0.0,
        shared=shared,
    )


def _by_quality(night: Night, means: Mapping[str, tuple[float, int]]) -> Night:
    """The night with its canaries sorted by what they were worth in the baseline, in place of an intent."""
    return Night(
        night.night,
        tuple(
            row._replace(intent=GOOD if means[row.item_id][0] >= _GOOD_FROM else BAD)
            for row in night.rows
            if row.item_id in means
        ),
    )
