"""The decision in small simulated worlds: quiet when healthy, quick when not. Seeds are fixed."""

from datetime import timedelta

import pytest
from verdict_worlds import INTENTS, START, World

from rag_checks.monitor import Monitor
from rag_checks.records import Level
from rag_checks.verdicts.drift import decide

METRICS = ("faithfulness", "answer_correctness", "hit_rate")
WARM_UP = 14
MONITOR = Monitor.model_validate(
    {"monitor": "helpdesk", "targets": [{"metric": m, "minimum": 0.6} for m in METRICS]}
)


def alarms(world, nights, start=WARM_UP):
    """The failing verdicts of each night from `start` on."""
    history = world.history(nights)
    found = {
        number: decide(history, MONITOR, START + timedelta(days=number)) for number in range(start, nights)
    }
    return {
        number: [verdict for verdict in verdicts if verdict.level is Level.FAIL]
        for number, verdicts in found.items()
    }


@pytest.mark.parametrize("seed", [1])
def test_thirty_healthy_nights_are_quiet(seed):
    """Week-ends, clusters, failed judgements and night shocks make no alarm in 30 healthy nights."""
    assert not any(alarms(World(seed, METRICS), 30).values())


def test_a_mix_shift_alone_is_quiet():
    """Traffic moves to other intents on night 16: nothing got worse, nothing fails."""
    other = {"returns": 0.1, "expenses": 0.1, "it": 0.2, "lookup": 0.3, "other": 0.3}
    world = World(4, METRICS, mix=lambda number: INTENTS if number < 16 else other)
    assert not any(alarms(world, 24, start=16).values())


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_drop_of_a_tenth_is_found_within_two_nights(seed):
    """All traffic and all golden items 0.10 worse from night 15: fails that night or the next."""
    world = World(seed, METRICS, drop=lambda number, intent: 0.10 if number >= 15 else 0.0)
    found = alarms(world, 17, start=15)
    assert found[15] or found[16]
    assert {v.since for v in found[16]} <= {START + timedelta(days=14), START + timedelta(days=15)}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_bad_intent_is_found_within_four_nights(seed):
    """One intent 0.20 worse from night 15: something fails by night 18."""
    world = World(seed, METRICS, drop=lambda number, intent: 0.20 if number >= 15 and intent == "it" else 0.0)
    found = alarms(world, 19, start=18)
    assert found[18]
