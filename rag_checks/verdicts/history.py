"""From all rows of a monitor to the verdicts of a night: comparable nights, baselines, limits, levels."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import cast

from rag_checks.monitor import Limits, MetricTarget, Monitor
from rag_checks.records import Level, ScoreRow, Source, Verdict
from rag_checks.verdicts import rules
from rag_checks.verdicts.canaries import Moved, suspected
from rag_checks.verdicts.course import ALL, CELL, Course, Limit, Outcome
from rag_checks.verdicts.estimates import Estimate, estimate
from rag_checks.verdicts.series import Key, Night, read_series
from rag_checks.verdicts.shifts import Shift, fuse, level_shift
from rag_checks.verdicts.standing import SOURCES, Standing, Standings, target_of

AGREED_Z = -1.0
"""Production and golden are fused where both point down this far and neither needs the other to fail: what
only one of them shows is that one's own verdict."""

JUDGE_CHANGE_HOLD = 2
"""Nights a new judge may explain a missed target."""


@dataclass(frozen=True)
class Slice:
    """All cases of a series tonight, or those of one intent, and what they are held to."""

    intent: str | None
    limits: Limits
    count: Estimate
    capped: bool  # without a target nothing fails
    begin: int = 0  # position of the first night that counts


class History:
    """All series of a monitor, sorted once; what is learnt from a baseline is kept."""

    def __init__(self, rows: Sequence[ScoreRow], monitor: Monitor) -> None:
        self.monitor = monitor
        series = read_series(rows)
        self.series = {key: nights for key, nights in series.items() if key.source in SOURCES}
        self._standings = Standings(series, monitor)
        self._cells: dict[tuple[Key, date, str], Estimate] = {}

    @property
    def nights(self) -> list[date]:
        """All nights with rows, oldest first."""
        return sorted({night.night for nights in self.series.values() for night in nights})

    def verdicts(self, night: date, expected: Collection[Source] = ()) -> list[Verdict]:
        """See `decide`."""
        standings = self._standings.of(night)
        found = []
        for standing in standings:
            if self._applies(standing, standings):
                found.extend(self._judged(standing))
        return found + list(self._absent(found, expected))

    def _absent(self, found: Sequence[Verdict], expected: Collection[Source]) -> Iterator[Verdict]:
        """A no_data verdict for each targeted series that should be there and has not one row.

        A target that names no source means those in which the metric was ever scored; without any, all.
        """
        nothing = estimate([])
        for target in self.monitor.targets:
            have = {verdict.source for verdict in found if verdict.metric == target.metric}
            known = [
                source
                for source in SOURCES
                if any(night.estimate.n_ok for night in self.series.get(Key(target.metric, source), ()))
            ]
            wanted = [target.source] if target.source else known or SOURCES
            for source in wanted:
                if source in expected and source not in have:
                    why = rules.missing(nothing, target, self.monitor.language)
                    yield Verdict(
                        metric=target.metric,
                        source=source,
                        level=Level.NO_DATA,
                        n_ok=0,
                        n_failed=0,
                        n_not_applicable=0,
                        n_total=0,
                        minimum=target.minimum,
                        warning=target.warning,
                        rule=f"{target.metric}: {why}",
                    )

    def _applies(self, standing: Standing, standings: list[Standing]) -> bool:
        """Whether a series nothing was applicable in is worth a verdict: only when a target asks for it.

        A target that names no source is met by the source it applies to: answer_correctness of logged turns
        that have no reference is not missing when golden items have it.
        """
        count = standing.tonight.estimate
        if count.n_ok or count.n_failed:
            return True
        target = self.monitor.target_for(standing.key.metric, cast("Source", standing.key.source))
        if target is None:
            return False
        return target.source is not None or not any(
            other.key.metric == standing.key.metric and other.tonight.estimate.n_ok for other in standings
        )

    def _judged(self, standing: Standing) -> list[Verdict]:
        """The verdict of a series, then those of its intents that matter."""
        key, count = standing.key, standing.tonight.estimate
        capped = self.monitor.target_for(key.metric, cast("Source", key.source)) is None
        target = target_of(self.monitor, key)
        # What cannot be told of all cases (judging fails on the hard ones first) is not told of their parts.
        enough = rules.missing(count, target, self.monitor.language) is None
        # When all cases are back to normal, no intent is held to what was before.
        begin = self._course(standing, Slice(None, target, count, capped)).outcome().begin if enough else 0
        cells = []
        asked = {intent for intent, limits in target.intents.items() if limits.minimum_n is not None}
        for intent in sorted(asked.union(standing.tonight.by_intent)):
            limits = target.intents.get(intent)
            cell = self._estimate(key, standing.tonight, intent)
            if (cell.coverage is None and intent not in asked) or (limits is None and not enough):
                continue
            part = Slice(intent, _cell_limits(target, limits), cell, capped, begin)
            verdict = self._verdict(standing, part)
            if limits is not None or verdict.level in (Level.WATCH, Level.FAIL):
                cells.append(verdict)
        worst = min(
            (cell for cell in cells if cell.level in (Level.WATCH, Level.FAIL) and cell.z is not None),
            key=lambda cell: (cell.level is not Level.FAIL, cell.z),
            default=None,
        )
        named = worst.slice.removeprefix(rules.INTENT) if worst is not None else None
        return [self._verdict(standing, Slice(None, target, count, capped), named), *cells]

    def _estimate(self, key: Key, night: Night, intent: str | None) -> Estimate:
        if intent is None:
            return night.estimate
        address = (key, night.night, intent)
        if address not in self._cells:
            self._cells[address] = estimate(night.by_intent.get(intent, ()))
        return self._cells[address]

    def _verdict(self, standing: Standing, part: Slice, worst_intent: str | None = None) -> Verdict:
        limits, count, language = part.limits, part.count, self.monitor.language
        missing = rules.missing(count, limits, language)
        outcome, since = Outcome(Level.NO_DATA, None), None
        if missing is None:
            course = self._course(standing, part)
            outcome = course.outcome()
            since = course.since(outcome)
        change = standing.changed if standing.baseline is None else None
        level = _final_level(outcome, part, change, missing, standing.moved)
        facts = self._facts(
            standing, part, outcome=outcome, level=level, missing=missing, worst_intent=worst_intent
        )
        shift = outcome.test.shift if outcome.test else None
        return Verdict(
            metric=standing.key.metric,
            source=cast("Source", standing.key.source),
            slice=rules.WHOLE if part.intent is None else f"{rules.INTENT}{part.intent}",
            level=level,
            value=count.mean,
            low=count.low,
            high=count.high,
            n_ok=count.n_ok,
            n_failed=count.n_failed,
            n_not_applicable=count.n_not_applicable,
            n_total=count.n_total,
            coverage=count.coverage,
            minimum=limits.minimum,
            warning=limits.warning,
            baseline=facts.baseline,
            baseline_nights=facts.baseline_nights,
            z=shift.z if shift else None,
            window=shift.nights if shift else None,
            since=_judge_since(change, standing.moved) if level is Level.JUDGE_CHANGED else since,
            rule=rules.sentence(facts, language),
        )

    def _facts(
        self,
        standing: Standing,
        part: Slice,
        *,
        outcome: Outcome,
        level: Level,
        missing: str | None,
        worst_intent: str | None,
    ) -> rules.Facts:
        """What the rule string can mention."""
        known, baseline = standing.baseline, None
        if known is not None:
            baseline = known.mean if part.intent is None else known.cell(part.intent).mean
        return rules.Facts(
            metric=standing.key.metric,
            intent=part.intent,
            count=part.count,
            minimum=part.limits.minimum,
            allowed_drop=part.limits.allowed_drop,
            level=level,
            outcome=outcome,
            baseline=baseline,
            baseline_nights=len(known.nights) if known else 0,
            wanted_nights=self.monitor.baseline_nights,
            nights_so_far=len(standing.nights) - 1,
            change=standing.changed,
            moved=standing.moved,
            missing=missing,
            worst_intent=worst_intent,
            mixed=tuple(n for _, n in standing.tonight.identities) if part.intent is None else (),
        )

    def _course(self, standing: Standing, part: Slice) -> Course:
        """The nights of a series or intent, ready to be decided."""
        limits, intent = part.limits, part.intent
        key, baseline = standing.key, standing.baseline
        critical = ALL if intent is None else CELL
        tau2, nights = standing.tau2, standing.nights
        counts = [(night, self._estimate(key, night, intent)) for night in nights] if _levels(limits) else []
        scored = sum(count.n_ok for _, count in counts)
        dispersion = sum(count.n_ok * count.dispersion for _, count in counts) / scored if scored else 1.0

        def against(wanted: float, start: int, end: int) -> Shift | None:
            means = [
                (night.night, count.mean, count.n_independent, count.n_ok)
                for night, count in counts[start:end]
                if count.mean is not None
            ]
            shift = level_shift(means, wanted, dispersion, tau2) if means else None
            return standing.corrected(shift, nights[start:end])

        def drifted(start: int, end: int) -> Shift | None:
            return standing.deviation(nights[start:end], intent)

        def both(start: int, end: int) -> tuple[Shift, Shift] | None:
            own = drifted(start, end)
            if own is None or standing.other is None:
                return None
            seen = standing.other.between(nights[start].night, nights[end - 1].night, intent)
            return None if seen is None else (own, seen)

        def together(start: int, end: int) -> Shift | None:
            pair = both(start, end)
            return None if pair is None else fuse(*pair)

        def agree(start: int, end: int) -> bool:
            pair = both(start, end)
            return pair is not None and all(AGREED_Z > shift.z > critical.fail_z for shift in pair)

        return Course(
            nights=[night.night for night in nights],
            monitored_from=len(baseline.nights) if baseline else 0,
            limit=Limit(limits.allowed_drop, limits.minimum, limits.warning),
            critical=critical,
            against_baseline=drifted,
            together=together,
            agree=agree,
            against=against,
            begin=part.begin,
            suspected=lambda at: (
                standing.canaries is not None and suspected(standing.canaries, nights[at].night)
            ),
        )


def _levels(limits: Limits) -> bool:
    return limits.minimum is not None or limits.warning is not None


def _cell_limits(target: MetricTarget, own: Limits | None) -> Limits:
    """Limits of an intent: its own, and the metric's tolerated drop.

    A metric's minimum, n and coverage speak about all cases; an intent is held to them only when it says so
    itself.
    """
    chosen = own if own is not None else Limits()
    if "allowed_drop" in chosen.model_fields_set:
        return chosen
    return chosen.model_copy(update={"allowed_drop": target.allowed_drop})


def _judge_since(change: rules.Change | None, moved: Moved | None) -> date | None:
    """The first night of another judge, or of the same one judging otherwise."""
    if change is not None:
        return change.since
    return moved.since if moved is not None else None


def _final_level(
    outcome: Outcome, part: Slice, change: rules.Change | None, missing: str | None, moved: Moved | None
) -> Level:
    """The level of a verdict, from what the nights say and what is known about tonight."""
    if missing is not None:
        return Level.NO_DATA
    if change is not None and change.judge and change.nights <= JUDGE_CHANGE_HOLD:
        return Level.JUDGE_CHANGED
    if moved is not None and moved.named and part.intent is None and outcome.level is not Level.FAIL:
        return Level.JUDGE_CHANGED
    if outcome.level is Level.FAIL and part.capped:
        return Level.WATCH
    mean, minimum = part.count.mean, part.limits.minimum
    below = mean is not None and minimum is not None and mean < minimum
    return Level.WATCH if outcome.level is Level.OK and below else outcome.level
