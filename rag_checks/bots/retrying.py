"""Asking again when a bot fails in a way that may pass."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from rag_checks.errors import BotError

T = TypeVar("T")

TRANSIENT_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})
"""HTTP statuses after which the same request may work later."""

_FIRST_WAIT_S = 0.5
_LONGEST_WAIT_S = 10.0
_LONGEST_RETRY_AFTER_S = 60.0


class TransientBotError(BotError):
    """A failure that may pass; `retry_after` is the wait the server asked for, in seconds."""

    def __init__(self, message: str, *, kind: str, retry_after: str | None = None) -> None:
        super().__init__(message, kind=kind)
        self.retry_after = _seconds(retry_after)


async def with_retries(attempt: Callable[[], Awaitable[T]], *, retries: int, timeout_s: float) -> T:
    """Run `attempt` until it works, at most `retries` times more; each run has `timeout_s` seconds.

    Waits double from half a second to ten, with jitter of half either way, or as long as the server asked for
    up to a minute.

    Raises:
        BotError: the last failure; kind timeout when a run had no end in its time.
    """
    for count in range(retries + 1):
        try:
            return await _bounded(attempt, timeout_s)
        except TransientBotError as failure:
            if count == retries:
                raise
            backoff = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2**count) * random.uniform(0.5, 1.5)
            await asyncio.sleep(max(backoff, failure.retry_after))
    raise AssertionError("range(retries + 1) is never empty: retries is at least 0")


async def _bounded(attempt: Callable[[], Awaitable[T]], timeout_s: float) -> T:
    """One run, bounded as a whole: a server that sends a byte a second never trips a read timeout."""
    try:
        async with asyncio.timeout(timeout_s):
            return await attempt()
    except TimeoutError:
        raise TransientBotError(f"no answer within {timeout_s:g} s", kind="timeout") from None


def _seconds(retry_after: str | None) -> float:
    """Retry-After in seconds, bounded; 0 for none, and for a date, which bots behind gateways do not send."""
    try:
        wanted = float(retry_after or 0)
    except ValueError:
        return 0.0
    return min(_LONGEST_RETRY_AFTER_S, wanted) if wanted > 0 else 0.0
