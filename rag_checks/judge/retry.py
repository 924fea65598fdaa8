"""Trying again: jittered exponential back-off that honours Retry-After, inside one deadline."""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from rag_checks.errors import JudgeUnavailable
from rag_checks.judge.failures import Failure, Rule

T = TypeVar("T")

_LONGEST_WAIT_S = 30.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Patience:
    """How long to keep trying: seconds an attempt, seconds in all, retries, seconds before the first."""

    attempt_s: float
    deadline_s: float
    retries: int
    first_wait_s: float = 0.5


class Deadline:
    """A time limit that begins when it is first looked at: waiting for a free slot uses none of it."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._at: float | None = None

    def at(self) -> float:
        """`time.monotonic()` at which to give up."""
        if self._at is None:
            self._at = time.monotonic() + self._seconds
        return self._at


async def persist(
    attempt: Callable[[float], Awaitable[T | Failure]], patience: Patience, *, deadline: float
) -> T | Failure:
    """Call until it works, fails for good, or time is up.

    A 429 that names its Retry-After is an appointment, not a failure: it uses up no retry, only the deadline.

    Args:
        attempt: one try, given the seconds it may take.
        patience: limits.
        deadline: `time.monotonic()` at which to give up.

    Returns:
        The reply, or a failure that no retry can mend.

    Raises:
        JudgeUnavailable: retries or deadline used up.
    """
    failures = waits = 0
    while True:
        left = deadline - time.monotonic()
        result = await attempt(max(0.001, min(patience.attempt_s, left)))
        if not isinstance(result, Failure) or result.rule is not Rule.RETRY:
            return result
        appointment = result.kind == "rate_limit" and result.retry_after is not None
        failures += not appointment
        if failures > patience.retries:
            raise JudgeUnavailable(f"{result.message} (gave up after {failures} tries)")
        pause = _pause(result, patience.first_wait_s * 2**waits)
        waits += 1
        if time.monotonic() + pause >= deadline:
            raise JudgeUnavailable(
                f"{result.message} (gave up: the next try would miss the deadline, {patience.deadline_s:g} s)"
            )
        _log.debug("judge call failed (%s), next try in %.2f s", result.kind, pause)
        await asyncio.sleep(pause)


def _pause(failure: Failure, backoff_s: float) -> float:
    """Seconds to wait: not before the time the endpoint named, and spread so that callers come apart."""
    backoff_s = min(_LONGEST_WAIT_S, backoff_s)
    if failure.retry_after is not None:
        return failure.retry_after + random.uniform(0, min(backoff_s, max(1.0, failure.retry_after)))
    return random.uniform(0.5, 1) * backoff_s
