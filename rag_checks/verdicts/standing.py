"""How each series stands on a night: comparable nights, baseline, its other source, its judge."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import cast

from rag_checks.monitor import MetricTarget, Monitor
from rag_checks.records import Source
from rag_checks.verdicts import rules
from rag_checks.verdicts.baseline import Baseline, pool
from rag_checks.verdicts.canaries import Moved, Watched, moved
from rag_checks.verdicts.series import Identity, Key, Night
from rag_checks.verdicts.shifts import NIGHT_EFFECT_FLOOR, Shift

MINIMUM_BASELINE = 3
"""Nights before a baseline says anything."""

SOURCES: tuple[Source, ...] = ("production", "golden")
CANARY = "canary"


@dataclass(frozen=True)
class Standing:
    """One series as it stands on one night: comparable nights, baseline, who graded."""

    key: Key
    tonight: Night
    nights: tuple[Night, ...]  # comparable: same identity, covered, not before the baseline; tonight last
    baseline: Baseline | None
    changed: rules.Change | None
    tau2: float = NIGHT_EFFECT_FLOOR
    other: "Standing | None" = None
    """The metric's other source, with a baseline too."""

    canaries: Watched | None = None
    moved: Moved | None = None
    """How the judge moved on this metric's frozen answers."""

    def deviation(self, nights: Sequence[Night], intent: str | None) -> Shift | None:
        """Deviation of these nights from the baseline, without the judge's part in it; None without any."""
        if self.baseline is None or not nights:
            return None
        return self.corrected(self.baseline.shift(nights, self.tau2, intent), nights)

    def corrected(self, shift: Shift | None, nights: Sequence[Night]) -> Shift | None:
        """A shift of these nights without the judge's part in it."""
        if shift is None or self.moved is None:
            return shift
        return self.moved.correct(shift, [night.night for night in nights])

    def between(self, first: date, last: date, intent: str | None) -> Shift | None:
        """Deviation of the monitored nights from `first` to `last`."""
        known = len(self.baseline.nights) if self.baseline else 0
        return self.deviation([n for n in self.nights[known:] if first <= n.night <= last], intent)


class Standings:
    """All series of a monitor, compared night after night; what is learnt from a baseline is kept."""

    def __init__(self, series: Mapping[Key, tuple[Night, ...]], monitor: Monitor) -> None:
        self._monitor = monitor
        self._series = {key: nights for key, nights in series.items() if key.source in SOURCES}
        self._canaries = {key.metric: nights for key, nights in series.items() if key.source == CANARY}
        self._watched: dict[tuple[str, Identity, date, int], Watched] = {}
        self._baselines: dict[tuple[Key, tuple[date, ...], Identity], Baseline] = {}

    def of(self, night: date) -> list[Standing]:
        """Every series that has rows on a night."""
        alone = [one for key in self._series if (one := self._alone(key, night)) is not None]
        return self._in_company(alone, night)

    def _alone(self, key: Key, night: date) -> Standing | None:
        past = [n for n in self._series[key] if n.night <= night]
        if not past or past[-1].night != night:
            return None
        tonight = past[-1]
        floor = target_of(self._monitor, key).minimum_coverage
        begin = self._begin(night)
        earlier = [n for n in past[:-1] if n.covered(floor) and n.night >= begin]
        same = [n for n in earlier if n.identity == tonight.identity]
        pinned = tuple(same[: self._monitor.baseline_nights])
        baseline = None
        if tonight.identity is not None and len(pinned) >= MINIMUM_BASELINE:
            address = (key, tuple(n.night for n in pinned), tonight.identity)
            fresh = Baseline(pinned, paired=key.source == "golden")
            baseline = self._baselines.setdefault(address, fresh)
        changed = None
        if tonight.identity is not None and len(same) < len(earlier):
            last_other = [n for n in earlier if n.identity != tonight.identity][-1]
            changed = rules.Change.between(
                last_other, tonight, [n for n in same if n.night > last_other.night]
            )
        return Standing(key, tonight, (*same, tonight), baseline, changed)

    def _in_company(self, standings: Sequence[Standing], night: date) -> list[Standing]:
        """The standings with what only all of them tell: the night effect, and the metric's other source."""
        pooled = {
            source: pool(s.baseline for s in standings if s.baseline is not None and s.key.source == source)
            for source in SOURCES
        }
        known = {
            standing.key: replace(standing, tau2=standing.baseline.night_effect(pooled[source]))
            for standing in standings
            if standing.baseline is not None and (source := cast("Source", standing.key.source))
        }
        canaries = {key: self._watch(standing) for key, standing in known.items()}
        moves = {
            source: moved(
                {key.metric: seen for key, seen in canaries.items() if seen and key.source == source},
                night,
            )
            for source in SOURCES
        }
        for key, standing in known.items():
            shifted = moves[cast("Source", key.source)].get(key.metric)
            known[key] = replace(standing, canaries=canaries[key], moved=shifted)
        others = {"production": "golden", "golden": "production"}
        return [
            replace(
                known.get(standing.key, standing),
                other=known.get(Key(standing.key.metric, others[standing.key.source])),
            )
            for standing in standings
        ]

    def _watch(self, standing: Standing) -> Watched | None:
        """The canaries graded by the judge of a series, with a baseline of their own; None without."""
        tonight, begin = standing.tonight, self._begin(standing.tonight.night)
        same = [
            night
            for night in self._canaries.get(standing.key.metric, ())
            if night.identity == tonight.identity and night.night >= begin and night.graded
        ]
        pinned = [night for night in same if night.night < tonight.night][: self._monitor.baseline_nights]
        if tonight.identity is None or len(pinned) < MINIMUM_BASELINE:
            return None
        address = (standing.key.metric, tonight.identity, pinned[-1].night, len(pinned))
        if address not in self._watched:
            self._watched[address] = Watched.of(same, len(pinned))
        return self._watched[address]

    def _begin(self, night: date) -> date:
        """Where baselines begin."""
        start = self._monitor.baseline_from
        return start if start is not None and start <= night else date.min


def target_of(monitor: Monitor, key: Key) -> MetricTarget:
    """The target of a series, or the defaults a series without one is held to."""
    own = monitor.target_for(key.metric, cast("Source", key.source))
    return own or MetricTarget(metric=key.metric, minimum_n=1)
