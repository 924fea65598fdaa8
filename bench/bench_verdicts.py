"""False alarms, detection and delay of the real verdict function in simulated worlds, beside a naive rule.

    python bench/bench_verdicts.py [--worlds 8] [--turns 100] [--scenario healthy ...]

A false alarm is a metric that begins to fail, by whatever source or intent, while the bot is as it was. The
naive rule is what one writes first: the night's mean of the logged turns is more than 0.03 below the mean of
the first fourteen nights. `decide` is called night after night, as in production (through `History`, which
only keeps what it has computed). Worlds: `verdict_worlds`; numbers in docs/statistics.md come from here.
"""

import argparse
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from statistics import fmean, median

from verdict_worlds import METRICS, START, World, usual

from rag_checks.monitor import Monitor
from rag_checks.records import Level, ScoreRow
from rag_checks.verdicts.history import History

WARM_UP = 14
MONITORED = 90
NAIVE_DROP = 0.03
MONITOR = Monitor.model_validate(
    {"monitor": "bench", "targets": [{"metric": metric, "allowed_drop": 0} for metric in METRICS]}
)
OTHER_MIX = {"returns": 0.1, "expenses": 0.1, "it": 0.2, "lookup": 0.3, "other": 0.3}


@dataclass(frozen=True)
class Night:
    """What one night said: metrics that fail, those whose judge is named, and what the naive rule says."""

    failing: frozenset[str]
    judge: frozenset[str]
    naive: frozenset[str]
    not_ok: frozenset[str]


def play(world: World, nights: int, start: int) -> list[Night]:
    """The nights of a world from `start` on."""
    rows = [row for night in range(nights) for row in world.rows(night)]
    history = History(rows, MONITOR)
    means = production_means(rows)
    base = {
        metric: fmean(means[metric, START + timedelta(days=night)] for night in range(WARM_UP))
        for metric in METRICS
    }
    played = []
    for night in range(start, nights):
        when = START + timedelta(days=night)
        verdicts = history.verdicts(when)
        at = {
            level: frozenset(verdict.metric for verdict in verdicts if verdict.level is level)
            for level in Level
        }
        low = frozenset(metric for metric in METRICS if means[metric, when] < base[metric] - NAIVE_DROP)
        played.append(Night(at[Level.FAIL], at[Level.JUDGE_CHANGED], low, at[Level.FAIL] | at[Level.WATCH]))
    return played


def production_means(rows: Sequence[ScoreRow]) -> dict[tuple[str, date], float]:
    """Plain means of the logged turns, by metric and night."""
    values = defaultdict(list)
    for row in rows:
        if row.source == "production" and row.value is not None:
            values[row.metric, row.night].append(row.value)
    return {key: fmean(scores) for key, scores in values.items()}


def begins(nights: Sequence[frozenset[str]]) -> int:
    """How often a metric begins to fail."""
    before: frozenset[str] = frozenset()
    count = 0
    for failing in nights:
        count += len(failing - before)
        before = failing
    return count


def first(nights: Sequence[frozenset[str]], metric: str | None = None) -> int:
    """Nights until a metric (None: any) fails, from 1; 99 when it never does."""
    hits = (number for number, failing in enumerate(nights, 1) if (metric in failing if metric else failing))
    return next(hits, 99)


Outcome = dict[str, list[float]]


def onset(seed: int) -> int:
    """The night something happens: another weekday in each world."""
    return 38 + seed % 7


def healthy(seed: int, turns: int) -> Outcome:
    """Nothing happens for 90 nights."""
    nights = play(World(seed, turns), WARM_UP + MONITORED, WARM_UP)
    return _alarms(nights) | {"judge named wrongly": [float(begins([night.judge for night in nights]) > 0)]}


def mix_shift(seed: int, turns: int) -> Outcome:
    """Traffic moves to other intents for good; nothing gets worse."""
    begin = START + timedelta(days=onset(seed))
    world = World(seed, turns, mix=lambda when: OTHER_MIX if when >= begin else usual(when))
    return _alarms(play(world, WARM_UP + MONITORED, WARM_UP))


def _alarms(nights: Sequence[Night]) -> Outcome:
    return {
        "false alarms": [begins([night.failing for night in nights])],
        "false alarms, naive": [begins([night.naive for night in nights])],
    }


def drop(seed: int, turns: int, by: float, intent: str | None = None, within: int = 3) -> Outcome:
    """Everything, or one intent, is worse from one night on."""
    begin = onset(seed)
    world = World(seed, turns, drop=lambda night, of: by if night >= begin and intent in (None, of) else 0.0)
    return _found(play(world, begin + 10, begin), within)


def ramp(seed: int, turns: int) -> Outcome:
    """Everything gets 0.10 worse, evenly over 20 nights."""
    begin = onset(seed)
    world = World(seed, turns, drop=lambda night, _: min(0.1, 0.005 * max(0, night - begin)))
    return _found(play(world, begin + 21, begin), 20)


def _found(nights: Sequence[Night], within: int) -> Outcome:
    failing = [night.failing for night in nights]
    each = [first(failing, metric) for metric in METRICS]
    return {
        f"found within {within}": [float(first(failing) <= within)],
        f"each metric within {within}": [float(night <= within) for night in each],
        "first night": [float(first(failing))],
    }


def judge(seed: int, turns: int, by: float, metrics: tuple[str, ...] = METRICS, bot: float = 0.0) -> Outcome:
    """The judge becomes stricter (or milder); the bot stays as it was, or drops too."""
    begin = onset(seed)
    world = World(
        seed,
        turns,
        judge=lambda night, metric: by if night >= begin and metric in metrics else 0.0,
        drop=lambda night, _: bot if night >= begin else 0.0,
    )
    nights = play(world, begin + 20, begin)
    named = [frozenset(night.judge & set(metrics)) for night in nights]
    told: Outcome = {"judge named within 2": [float(first(named) <= 2)]}
    if bot:
        return told | {"bot found within 3": [float(first([n.failing for n in nights]) <= 3)]}
    return told | {
        "wrong bot alarms": [begins([night.failing for night in nights])],
        "wrong, naive": [begins([night.naive for night in nights])],
    }


def recovery(seed: int, turns: int) -> Outcome:
    """0.10 worse for ten nights, then repaired: how long the metrics that failed stay open."""
    begin = onset(seed)
    end = begin + 10
    world = World(seed, turns, drop=lambda night, _: 0.1 if begin <= night < end else 0.0)
    nights = play(world, end + 14, end - 1)
    after = nights[1:]
    closed = [
        first([frozenset(METRICS) - night.not_ok for night in after], metric) for metric in nights[0].failing
    ]
    return {
        "closed within 5": [float(night <= 5) for night in closed],
        "night it closes": [float(night) for night in closed],
        "fails later": [begins([night.failing - nights[0].failing for night in after[5:]])],
    }


SCENARIOS: dict[str, Callable[[int, int], Outcome]] = {
    "healthy": healthy,
    "mix shift": mix_shift,
    "all -0.20": partial(drop, by=0.20),
    "all -0.10": partial(drop, by=0.10),
    "all -0.05": partial(drop, by=0.05, within=5),
    "all -0.02": partial(drop, by=0.02, within=5),
    "one intent -0.20": partial(drop, by=0.20, intent="it", within=4),
    "ramp to -0.10": ramp,
    "judge -0.05": partial(judge, by=0.05),
    "judge -0.08, one metric": partial(judge, by=0.08, metrics=("graded_1",)),
    "judge +0.05, bot -0.10": partial(judge, by=-0.05, bot=0.10),
    "recovery": recovery,
}
# What issue and docs promise for 100 turns a night: (scenario, number) -> (limit, whether less is better).
WANTED = {
    ("healthy", "false alarms"): (0.3, True),
    ("healthy", "judge named wrongly"): (0.1, True),
    ("mix shift", "false alarms"): (0.4, True),
    ("all -0.10", "found within 3"): (0.97, False),
    ("all -0.05", "found within 5"): (0.8, False),
    ("one intent -0.20", "found within 4"): (0.95, False),
    ("judge -0.05", "judge named within 2"): (0.97, False),
    ("judge -0.05", "wrong bot alarms"): (0.1, True),
    ("recovery", "closed within 5"): (0.8, False),
}


def main() -> int:
    """Play, print, and return 1 when a promise is not kept."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--worlds", type=int, default=8, help="worlds a scenario")
    parser.add_argument("--seed", type=int, default=100, help="of the first world")
    parser.add_argument("--turns", type=int, nargs="+", default=[100], help="logged turns graded a night")
    parser.add_argument("--scenario", nargs="+", choices=SCENARIOS, default=list(SCENARIOS))
    args = parser.parse_args()
    missed = 0
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for turns in args.turns:
            print(f"{args.worlds} worlds, 10 metrics x 5 intents, {turns} turns and 60 golden items a night")
            for name in args.scenario:
                started = time.monotonic()
                work = partial(SCENARIOS[name], turns=turns)
                outcomes = list(pool.map(work, range(args.seed, args.seed + args.worlds)))
                missed += told(name, outcomes, promised=turns >= 100)
                print(f"{'':26}{time.monotonic() - started:.0f} s", flush=True)
    return int(missed > 0)


def told(name: str, outcomes: Sequence[Outcome], *, promised: bool) -> int:
    """Print a scenario's numbers; how many promises they miss."""
    missed = 0
    for at, number in enumerate(outcomes[0]):
        values = [value for outcome in outcomes for value in outcome[number]]
        value = median(values) if number in ("first night", "night it closes") else fmean(values)
        limit, less = WANTED.get((name, number), (None, False))
        verdict = ""
        if limit is not None and promised:
            met = value <= limit if less else value >= limit
            missed += not met
            verdict = f"{'<=' if less else '>='} {limit}  {'met' if met else 'MISSED'}"
        print(f"{name if at == 0 else '':26}{number:28}{value:8.3f}   {verdict}".rstrip())
    return missed


if __name__ == "__main__":
    sys.exit(main())
