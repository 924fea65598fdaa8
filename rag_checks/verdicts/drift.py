"""Whether a metric really drifted: score rows of all nights in, verdicts of one night out. Pure (P2).

`decide` is the function everything else reads the result of, and anyone can plug it into a simulation: feed
it rows (night, source, metric, version, judge, intent, value or None, status, item, conversation, weight,
release).

What decides, in this order, for each metric on each source:

1. *no_data*: fewer scores than `minimum_n`, or a smaller scored share than `minimum_coverage`.
2. *judge_changed*: another judge graded until lately. Scores are never compared across judges or metric
   versions; for two nights even the target is not held against the bot, then it is.
3. *fail*: below the baseline beyond noise by more than the target's `allowed_drop` (and more than 0.01), or
   below `minimum` beyond noise. A significant drop within `allowed_drop` is *watch*: real, and tolerated.
4. *watch*: a weaker sign of the same, tonight's mean below `minimum` within noise, or below `warning` beyond
   noise.

A metric without a target is held to the default `allowed_drop` and is at most *watch*.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import date
from typing import cast

from rag_checks.monitor import Monitor
from rag_checks.records import Level, ScoreRow, Source, Trend, TrendPoint, Verdict
from rag_checks.verdicts import rules
from rag_checks.verdicts.history import History
from rag_checks.verdicts.series import Identity, Night


def decide(
    history: Sequence[ScoreRow], monitor: Monitor, night: date, *, expected: Collection[Source] = ()
) -> list[Verdict]:
    """The verdicts of one night.

    Args:
        history: Score rows of this and earlier nights, in any order; later ones are ignored. One run a night.
        monitor: Targets, baseline and language.
        night: The night to decide.
        expected: Sources that should have brought cases: a targeted series of theirs without any row is
            no_data, not silence.

    Returns:
        For each metric and source with rows that night one verdict for all cases, followed by those of the
        intents that fail, need watching, or have limits of their own. Ordered by metric, source, intent.
    """
    return History(history, monitor).verdicts(night, expected)


def worst_level(verdicts: Iterable[Verdict], monitor: Monitor) -> Level:
    """The run's level: fail, no_data, judge_changed, watch, ok - the first that any verdict has.

    fail and no_data count only for metrics with a target. Without any verdict the run knows nothing: no_data.
    """
    levels = set()
    for verdict in verdicts:
        has_target = monitor.target_for(verdict.metric, verdict.source) is not None
        if has_target or verdict.level not in (Level.FAIL, Level.NO_DATA):
            levels.add(verdict.level)
    order = (Level.FAIL, Level.NO_DATA, Level.JUDGE_CHANGED, Level.WATCH, Level.OK)
    return next((level for level in order if level in levels), Level.NO_DATA)


def trends(
    history: Sequence[ScoreRow], monitor: Monitor, until: date, decided: Iterable[tuple[date, Verdict]]
) -> list[Trend]:
    """Mean, interval and level of each night up to `until`, for each metric and source that has rows.

    The line is that of the latest judge and metric version: a night graded by another keeps its place and
    its counts but has no value, so that no line is drawn across the change (P4). Levels are those of the
    verdicts `decided` on each night (P2); a night without one has no_data.
    """
    past = History([row for row in history if row.night <= until], monitor)
    levels = {
        (verdict.metric, verdict.source, night): verdict
        for night, verdict in decided
        if verdict.slice == rules.WHOLE
    }
    result = []
    for key, nights in past.series.items():
        source = cast("Source", key.source)
        latest = next((n.identity for n in reversed(nights) if n.identity is not None), None)
        last = levels.get((key.metric, source, nights[-1].night))
        target = monitor.target_for(key.metric, source)
        points = tuple(
            _point(night, latest, levels.get((key.metric, source, night.night))) for night in nights
        )
        if any(point.n_ok for point in points):
            result.append(
                Trend(
                    metric=key.metric,
                    source=source,
                    minimum=target.minimum if target else None,
                    baseline=last.baseline if last else None,
                    points=points,
                )
            )
    return result


def _point(night: Night, latest: Identity | None, verdict: Verdict | None) -> TrendPoint:
    shown = night.identity == latest
    return TrendPoint(
        night=night.night,
        value=night.estimate.mean if shown else None,
        low=night.estimate.low if shown else None,
        high=night.estimate.high if shown else None,
        n_ok=night.estimate.n_ok,
        level=verdict.level if verdict else Level.NO_DATA,
        release=night.release,
    )
