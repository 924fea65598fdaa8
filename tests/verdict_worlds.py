"""Small seeded worlds of score rows for the tests of verdicts: a bot of known quality, judged with noise."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta

from rag_checks.monitor import Monitor
from rag_checks.records import ScoreRow

START = date(2026, 3, 2)  # a Monday
INTENTS = {"returns": 0.36, "expenses": 0.26, "it": 0.18, "lookup": 0.13, "other": 0.07}
CONTINUOUS = ("faithfulness", "answer_relevancy", "answer_correctness", "context_precision")
BINARY = ("hit_rate", "answer_rate")

Drop = Callable[[int, str], float]


def no_drop(night: int, intent: str) -> float:
    """A bot that stays as it is."""
    return 0.0


def row(night: int | date = 0, value: float | None = 1.0, **changes) -> ScoreRow:
    """One ok production score of faithfulness, with changes; `night` counts from START."""
    when = night if isinstance(night, date) else START + timedelta(days=night)
    fields = {
        "night": when,
        "source": "production",
        "metric": "faithfulness",
        "metric_version": "1",
        "judge": "judge-a",
        "intent": "returns",
        "value": value,
        "status": "ok",
        "item_id": "item",
        "conversation_id": None,
        "weight": 1.0,
        "release": "1",
    }
    return ScoreRow(**(fields | changes))


def rows(night: int | date, values, **changes) -> list[ScoreRow]:
    """One row a value, each its own item."""
    return [row(night, value, item_id=f"i{number}", **changes) for number, value in enumerate(values)]


def monitor(**changes) -> Monitor:
    """A monitor held to one target on faithfulness unless changed."""
    settings = {"monitor": "helpdesk", "targets": [{"metric": "faithfulness", "minimum": 0.7}]}
    return Monitor.model_validate(settings | changes)


@dataclass
class World:
    """A bot and its judge over nights; `drop(night, intent)` is what the mean score loses."""

    seed: int
    metrics: tuple[str, ...] = CONTINUOUS + BINARY
    production: int = 100
    golden: int = 60
    drop: Drop = no_drop
    mix: Callable[[int], dict[str, float]] = field(default=lambda night: INTENTS)
    shock: float = 0.005

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        rng = self.random
        self.rates = {
            (metric, intent): rng.uniform(0.8, 0.97) for metric in self.metrics for intent in INTENTS
        }
        names = list(INTENTS)
        self.items = [names[number % len(names)] for number in range(self.golden)]
        self.ease = {
            (metric, number): min(1.0, max(0.0, rng.gauss(0.0, 0.15)))
            for metric in self.metrics
            for number in range(self.golden)
        }

    def night(self, number: int) -> Iterator[ScoreRow]:
        """The rows of one night."""
        rng = self.random
        when = START + timedelta(days=number)
        shocks = {metric: rng.gauss(0, self.shock) for metric in self.metrics}
        mix = self.mix(number)
        size = self.production if when.weekday() < 5 else self.production // 2
        conversation, luck = 0, dict.fromkeys(self.metrics, 0.0)
        for item in range(size):
            if item == 0 or rng.random() < 0.6:
                conversation += 1
                intent = rng.choices(list(mix), weights=list(mix.values()))[0]
                luck = {metric: rng.gauss(0, 0.04) for metric in self.metrics}
            for metric in self.metrics:
                rate = (
                    self.rates[metric, intent]
                    + luck[metric]
                    + shocks[metric]
                    - self._loss(metric, number, intent)
                )
                yield self._score(
                    metric,
                    rate,
                    night=when,
                    intent=intent,
                    item_id=f"t{number}-{item}",
                    conversation_id=f"c{number}-{conversation}",
                    weight=size / self.production,
                )
        for item, intent in enumerate(self.items):
            for metric in self.metrics:
                rate = self.rates[metric, intent] + self.ease[metric, item] + shocks[metric]
                yield self._score(
                    metric,
                    rate - self._loss(metric, number, intent),
                    night=when,
                    intent=intent,
                    item_id=f"g{item}",
                    source="golden",
                )

    def _loss(self, metric: str, number: int, intent: str) -> float:
        """The drop as a loss of pass rate: a failure costs 0.96 of a binary score, 0.65 of a graded one."""
        return self.drop(number, intent) / (0.96 if metric in BINARY else 0.65)

    def _score(self, metric: str, rate: float, **fields) -> ScoreRow:
        rng = self.random
        good = rng.random() < rate
        failed = rng.random() < (0.015 if good else 0.05)
        if metric in BINARY:
            value = float(good != (rng.random() < 0.02))
        else:
            value = min(1.0, max(0.0, rng.gauss(0.95 if good else 0.3, 0.08)))
        when = fields.pop("night")
        if failed:
            return row(when, None, status="judge_error", metric=metric, **fields)
        return row(when, value, metric=metric, **fields)

    def history(self, nights: int) -> list[ScoreRow]:
        """All rows of the first nights."""
        return [score for number in range(nights) for score in self.night(number)]
