"""Running a coroutine from code that is not async, also where an event loop runs already."""

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
_LOOK_S = 0.1


def run(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """The result of a coroutine, whatever the calling thread is doing.

    In a notebook a loop runs in this thread already, so the work gets a loop in a thread of its own. An
    interrupt cancels the work and waits for it to end before it goes on.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    return _in_thread(work)


def _in_thread(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    started: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []
    results: list[T] = []
    failures: list[BaseException] = []

    async def noted() -> T:
        task = asyncio.current_task()
        if task is not None:
            started.append((asyncio.get_running_loop(), task))
        return await work()

    def body() -> None:
        try:
            results.append(asyncio.run(noted()))
        except BaseException as error:  # noqa: BLE001 - carried over to the caller, whatever it is
            failures.append(error)

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(body,), name="rag-checks-evaluate")
    thread.start()
    try:
        _wait_for(thread)
    except BaseException:
        for loop, task in started:
            loop.call_soon_threadsafe(task.cancel)
        thread.join()
        raise
    if failures:
        raise failures[0]
    return results[0]


def _wait_for(thread: threading.Thread) -> None:
    """Wait for a thread to end. Raises CancelledError when the task that waits here is cancelled meanwhile.

    `asyncio.run` answers an interrupt so, and a task that is blocked sees nothing of it.
    """
    outer = asyncio.current_task()
    cancelled = 0 if outer is None else outer.cancelling()
    while thread.is_alive():
        thread.join(_LOOK_S)
        if outer is not None and outer.cancelling() > cancelled:
            raise asyncio.CancelledError
