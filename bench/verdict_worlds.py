"""Simulated worlds for the verdict's benchmark: a bot of known quality, its traffic, and a judge with noise.

Ten metrics (six graded, with two modes; four binary), five intents with uneven traffic that changes at
week-ends, conversations of several turns, golden items of different difficulty asked every night, canary
answers that never change, a judge that scatters, flips and fails more often on bad answers, and nights that
differ a little although nothing is wrong.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import repeat

import numpy as np

from rag_checks.records import ScoreRow

START = date(2026, 3, 2)  # a Monday
WEEKDAY = {"returns": 0.34, "expenses": 0.26, "it": 0.18, "lookup": 0.14, "other": 0.08}
WEEKEND = {"returns": 0.50, "expenses": 0.10, "it": 0.12, "lookup": 0.18, "other": 0.10}
GRADED = tuple(f"graded_{number}" for number in range(1, 7))
BINARY = tuple(f"binary_{number}" for number in range(1, 5))
METRICS = GRADED + BINARY
SATURDAY = 5
GOOD, BAD, SPREAD = 0.95, 0.30, 0.08  # the modes of a graded score
FLIPS = 0.03  # share of binary verdicts that the judge turns round
JUDGE_SD = 0.05
FAILS_GOOD, FAILS_BAD = 0.015, 0.05  # judgements that fail: together about 2 %

Change = Callable[[int, str], float]
"""Of a night, and an intent or a metric."""

Mix = Callable[[date], dict[str, float]]


def never(_night: int, _where: str) -> float:
    """Nothing changes."""
    return 0.0


def usual(when: date) -> dict[str, float]:
    """Share of traffic by intent."""
    return WEEKEND if when.weekday() >= SATURDAY else WEEKDAY


@dataclass
class World:
    """Nights of score rows.

    Args:
        seed: of everything random.
        production: turns on a weekday; half of them at week-ends.
        drop: what the bot's mean score loses, by night (from 0) and intent.
        judge: what the judge's scores lose on the same answers, by night and metric; canaries show it.
    """

    seed: int
    production: int = 100
    golden: int = 60
    canaries: int = 40
    drop: Change = never
    judge: Change = never
    mix: Mix = usual
    shock: float = 0.005
    _random: np.random.Generator = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._random = np.random.default_rng(self.seed)
        rng = self._random
        self._rates = {
            metric: dict(zip(WEEKDAY, rng.uniform(0.80, 0.97, 5), strict=True)) for metric in METRICS
        }
        self._golden_intents = [list(WEEKDAY)[number % 5] for number in range(self.golden)]
        # Some items are nearly always right, some nearly never: about the spread of the demo's golden set.
        self._ease = {metric: rng.beta(8, 1.0, self.golden) - 8 / 9 for metric in METRICS}
        self._canary_good = {metric: rng.random(self.canaries) < 0.55 for metric in METRICS}
        self._canary_base = {
            metric: np.where(
                good, rng.normal(GOOD, SPREAD, self.canaries), rng.normal(BAD, SPREAD, self.canaries)
            )
            for metric, good in self._canary_good.items()
        }

    def rows(self, night: int) -> Iterator[ScoreRow]:
        """All rows of one night. Call it for the nights in order: they share one random stream."""
        when = START + timedelta(days=night)
        shocks = dict(zip(METRICS, self._random.normal(0, self.shock, len(METRICS)), strict=True))
        yield from self._production(night, when, shocks)
        yield from self._asked(night, when, shocks)
        yield from self._watched(night, when)

    def _production(self, night: int, when: date, shocks: dict[str, float]) -> Iterator[ScoreRow]:
        rng, mix = self._random, self.mix(when)
        size = self.production if when.weekday() < SATURDAY else self.production // 2
        first = rng.random(size) < 0.6
        first[0] = True
        conversation = np.cumsum(first) - 1
        count = int(conversation[-1]) + 1
        intents = rng.choice(list(mix), size=count, p=list(mix.values()))[conversation]
        for metric in METRICS:
            luck = rng.normal(0, 0.04, count)[conversation]
            rate = np.array(
                [self._rates[metric][intent] - self._loss(metric, night, intent) for intent in intents]
            )
            values, statuses = self._judged(metric, rate + luck + shocks[metric], night)
            ids = [f"t{night}-{number}" for number in range(size)]
            clusters = [f"c{night}-{number}" for number in conversation]
            yield from _as_rows(when, "production", metric, intents, values, statuses, ids, clusters)

    def _asked(self, night: int, when: date, shocks: dict[str, float]) -> Iterator[ScoreRow]:
        ids = [f"g{number}" for number in range(self.golden)]
        for metric in METRICS:
            rate = np.array(
                [
                    self._rates[metric][intent] - self._loss(metric, night, intent)
                    for intent in self._golden_intents
                ]
            )
            values, statuses = self._judged(metric, rate + self._ease[metric] + shocks[metric], night)
            yield from _as_rows(
                when, "golden", metric, self._golden_intents, values, statuses, ids, repeat(None)
            )

    def _watched(self, night: int, when: date) -> Iterator[ScoreRow]:
        ids = [f"k{number}" for number in range(self.canaries)]
        for metric in METRICS:
            good = self._canary_good[metric]
            if metric in BINARY:
                values, statuses = self._seen_binary(good, self.judge(night, metric))
            else:
                values, statuses = self._seen_graded(
                    self._canary_base[metric], good, self.judge(night, metric)
                )
            yield from _as_rows(when, "canary", metric, repeat("canary"), values, statuses, ids, repeat(None))

    def _loss(self, metric: str, night: int, intent: str) -> float:
        """The drop as a loss of pass rate: a failure costs a graded score 0.65 of its value."""
        return self.drop(night, intent) / (1 - 2 * FLIPS if metric in BINARY else GOOD - BAD)

    def _judged(self, metric: str, rate: np.ndarray, night: int) -> tuple[np.ndarray, np.ndarray]:
        good = self._random.random(len(rate)) < rate
        if metric in BINARY:
            return self._seen_binary(good, self.judge(night, metric))
        true = np.where(
            good, self._random.normal(GOOD, SPREAD, len(rate)), self._random.normal(BAD, SPREAD, len(rate))
        )
        return self._seen_graded(true, good, self.judge(night, metric))

    def _seen_graded(self, true: np.ndarray, good: np.ndarray, moved: float) -> tuple[np.ndarray, np.ndarray]:
        noise = self._random.normal(0, JUDGE_SD, len(true))
        return np.clip(true + noise - moved, 0, 1), self._lost(good)

    def _seen_binary(self, good: np.ndarray, moved: float) -> tuple[np.ndarray, np.ndarray]:
        """A stricter judge turns more good verdicts into bad ones (and a milder one the reverse)."""
        to_bad = np.where(good, FLIPS + max(0.0, moved), FLIPS + max(0.0, -moved))
        return (good != (self._random.random(len(good)) < to_bad)).astype(float), self._lost(good)

    def _lost(self, good: np.ndarray) -> np.ndarray:
        return self._random.random(len(good)) < np.where(good, FAILS_GOOD, FAILS_BAD)


def _as_rows(when, source, metric, intents, values, lost, ids, clusters) -> Iterator[ScoreRow]:
    for intent, value, failed, item, cluster in zip(
        intents, values.tolist(), lost.tolist(), ids, clusters, strict=False
    ):
        yield ScoreRow(
            when,
            source,
            metric,
            "1",
            "judge-a",
            str(intent),
            None if failed else value,
            "judge_error" if failed else "ok",
            item,
            cluster,
            1.0,
            "1",
        )
