"""Places for calls in flight: never more than there are, ranks first, none lost."""

import asyncio
import random

from hypothesis import given
from hypothesis import strategies as st

from rag_checks.judge.retry import Deadline
from rag_checks.judge.slots import Slots


@given(st.integers(1, 4), st.lists(st.tuples(st.integers(0, 1), st.booleans()), max_size=25), st.randoms())
def test_never_more_in_flight_than_slots_and_none_is_lost(
    count: int, calls: list[tuple[int, bool]], rng: random.Random
) -> None:
    """Whoever is cancelled, while waiting or while served, leaves a free slot behind."""

    async def play() -> tuple[int, int]:
        slots, flying, most = Slots(count), 0, 0

        async def call(rank: int) -> None:
            nonlocal flying, most
            async with slots.one(rank):
                flying += 1
                most = max(most, flying)
                try:
                    await asyncio.sleep(0)
                    await asyncio.sleep(0)
                finally:
                    flying -= 1

        tasks = [(asyncio.create_task(call(rank)), cancelled) for rank, cancelled in calls]
        for task, cancelled in tasks:
            for _ in range(rng.randrange(3)):
                await asyncio.sleep(0)
            if cancelled:
                task.cancel()
        await asyncio.gather(*(task for task, _ in tasks), return_exceptions=True)
        free = 0
        async with asyncio.timeout(5):
            for _ in range(count):  # all slots are there again
                await slots.one(0).__aenter__()
                free += 1
        return most, free

    most, free = asyncio.run(play())
    assert most <= count
    assert free == count


def test_the_lowest_rank_is_served_first_and_equals_in_the_order_of_coming() -> None:
    """A judgement that others wait for overtakes those that nobody waits for."""
    served: list[str] = []

    async def play() -> None:
        slots = Slots(1)

        async def call(name: str, rank: int) -> None:
            async with slots.one(rank):
                served.append(name)
                await asyncio.sleep(0)

        async with asyncio.TaskGroup() as group:
            for name, rank in (
                ("holds it", 1),
                ("check 1", 1),
                ("check 2", 1),
                ("analysis 1", 0),
                ("analysis 2", 0),
            ):
                group.create_task(call(name, rank))

    asyncio.run(play())
    assert served == ["holds it", "analysis 1", "analysis 2", "check 1", "check 2"]


def test_a_deadline_begins_when_it_is_first_looked_at() -> None:
    """And then it does not move."""
    deadline = Deadline(10)
    first = deadline.at()
    assert deadline.at() == first
    later = Deadline(10)
    assert later.at() >= first
