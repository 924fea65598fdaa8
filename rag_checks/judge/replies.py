"""Replies that are already paid for: cache keys, stored form, and calls that are under way."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from rag_checks.errors import JudgeUnavailable
from rag_checks.protocols import OUTPUTS, JudgeReply, JudgeRequest, Task
from rag_checks.records import JudgeIdentity, Usage, content_hash

T = TypeVar("T")


def reply_key(settings: dict[str, Any], request: JudgeRequest) -> str:
    """SHA-256 over who is asked (`settings`: endpoint, model, parameters, prompts) and all that is asked."""
    asked = {"judge": settings, "task": request.task, "language": request.language, "inputs": request.inputs}
    return content_hash(asked | ({"repeat": request.repeat} if request.repeat else {}))


def stored_reply(reply: JudgeReply) -> dict[str, Any]:
    """What the cache keeps of a good reply."""
    return reply.model_dump(mode="json", include={"output", "identity", "flags"})


def reply_from_store(task: Task, stored: dict[str, Any]) -> JudgeReply | None:
    """A stored reply, counted as cached; None when it does not fit the shapes of today."""
    try:
        return JudgeReply(
            output=OUTPUTS[task].model_validate(stored["output"]),
            identity=JudgeIdentity.model_validate(stored["identity"]),
            usage=Usage(cached=1),
            flags=tuple(stored["flags"]),
        )
    except (ValidationError, KeyError, TypeError):
        return None


class SingleFlight(Generic[T]):
    """Whoever asks for a key under way gets that result; a caller that is cancelled takes nobody along."""

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Task[T]] = {}

    async def run(self, key: str, start: Callable[[], Coroutine[Any, Any, T]]) -> tuple[T, bool]:
        """The result for the key, and whether this caller started the work."""
        task = self._running.get(key)
        started = task is None
        if task is None:
            task = self._running[key] = asyncio.get_running_loop().create_task(start())
            task.add_done_callback(lambda done: self._finished(key, done))
        try:
            return await asyncio.shield(task), started
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if task.cancelled() and caller is not None and not caller.cancelling():
                raise JudgeUnavailable("the judge was closed while it was asked") from None
            raise

    def _finished(self, key: str, task: "asyncio.Task[T]") -> None:
        self._running.pop(key, None)
        if not task.cancelled():
            task.exception()  # everyone who waited has it; nobody waiting is no reason for a warning

    async def stop(self) -> None:
        """Cancel what is under way."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
