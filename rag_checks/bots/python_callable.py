"""Asking a bot that is a Python callable: `module:function`, sync or async."""

import asyncio
import contextvars
import difflib
import importlib
import inspect
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from rag_checks.bots.border import make_response
from rag_checks.errors import BotError, ConfigError
from rag_checks.monitor import PythonBot
from rag_checks.records import EvalItem, Response

_KEY = "bot.callable"


class CallableBot:
    """A bot that is a Python function of what it is given, with options as keyword arguments.

    It may return the answer, a mapping of Response fields (or `answer`, `contexts`), or a Response.
    Coroutines are awaited; the rest runs in a thread of its own, which a timeout abandons but cannot end.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str,
        options: Mapping[str, Any],
        timeout_s: float,
        concurrency: int,
    ) -> None:
        """`name` is what messages call the function."""
        self._function = function
        self._name = name
        self._options = options
        self._timeout_s = timeout_s
        self._slots = asyncio.Semaphore(concurrency)

    async def ask(self, item: EvalItem) -> Response:
        """Ask one question. Raises BotError (timeout, raised, schema, empty, reported)."""
        return await self.call(item)

    async def call(self, question: Any) -> Response:
        """As `ask`, of a function that takes something else than an item."""
        async with self._slots:
            started = time.perf_counter()
            value = await self._call(question)
            latency_ms = (time.perf_counter() - started) * 1000
        return make_response(self._fields(value), latency_ms=latency_ms)

    async def close(self) -> None:
        """Nothing to free: the function owns what it opened."""

    async def _call(self, question: Any) -> Any:
        deadline = asyncio.timeout(self._timeout_s)
        failure: BaseException | None = None
        try:
            async with deadline:
                if inspect.iscoroutinefunction(self._function):
                    return await self._function(question, **self._options)
                value, failure = await _in_thread(lambda: self._function(question, **self._options))
                if failure is None:
                    return await value if inspect.isawaitable(value) else value
        # Whatever a user's function raises is the bot failing on this question, and the run goes on: it is
        # not our code, there is no list of errors to name. SystemExit too: a bot must not end the monitor.
        except (Exception, SystemExit) as error:  # noqa: BLE001 - see above
            failure = error
        if isinstance(failure, BotError):
            raise failure
        if isinstance(failure, TimeoutError) and deadline.expired():
            raise BotError(f"no answer within {self._timeout_s:g} s", kind="timeout") from None
        raise BotError(
            f"{self._name} raised {type(failure).__name__}{_where(failure)}", kind="raised"
        ) from failure

    def _fields(self, value: Any) -> Mapping[str, Any]:
        if isinstance(value, str) or value is None:
            return {"response": value}
        if isinstance(value, Response):
            return value.model_dump()
        if isinstance(value, Mapping):
            return value
        kind = type(value).__name__
        raise BotError(f"{self._name} returned a {kind}, not text, a mapping or a Response", kind="schema")


class PythonAdapter(CallableBot):
    """The `module:function` a monitor names.

    Raises:
        ConfigError: the module or function cannot be imported, or does not take these arguments.
    """

    def __init__(self, config: PythonBot, directory: Path) -> None:
        function = _load(config.callable, directory)
        super().__init__(
            function,
            name=config.callable,
            options=config.options,
            timeout_s=config.timeout_s,
            concurrency=config.concurrency,
        )
        _check_arguments(function, config)


async def _in_thread(call: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    """What a call returned, or what it raised, from a daemon thread.

    Not an executor: its threads are joined at exit, so a call that never returns would keep the process. The
    exception is returned, because a coroutine cannot raise a StopIteration.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
    context = contextvars.copy_context()

    def settle(value: Any, error: BaseException | None) -> None:
        if not done.done():
            done.set_result((value, error))

    def run() -> None:
        value, failure = None, None
        try:
            value = context.run(call)
        except BaseException as error:  # noqa: BLE001 - carried over to the caller, whatever it is
            failure = error
        # The loop is closed when the run ended while this call was still going after its timeout.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, value, failure)

    threading.Thread(target=run, name="rag-checks-bot", daemon=True).start()
    return await done


def _load(name: str, directory: Path) -> Callable[..., Any]:
    module_name, _, function_name = name.partition(":")
    folders = [str(directory.resolve()), str(Path.cwd())]
    _check_not_shadowed(module_name, folders)
    with _on_path(folders):
        try:
            module = importlib.import_module(module_name)
        # Importing runs the user's code, which may raise anything: it is their module that cannot be used.
        except (Exception, SystemExit) as error:
            said = str(error) if isinstance(error, ModuleNotFoundError) else type(error).__name__
            raise ConfigError(
                f"cannot import {module_name!r} (from {folders[0]}): {said}{_where(error)}", key=_KEY
            ) from error
    function: Callable[..., Any] | None = getattr(module, function_name, None)
    if not callable(function):
        near = difflib.get_close_matches(function_name, dir(module), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ConfigError(f"{module_name!r} has no function {function_name!r}{hint}", key=_KEY)
    return function


def _check_not_shadowed(module_name: str, folders: list[str]) -> None:
    """Refuse a module of the monitor's folder whose name already stands for another file in this process."""
    top = module_name.partition(".")[0]
    loaded = getattr(sys.modules.get(top), "__file__", None)
    importlib.invalidate_caches()
    found = PathFinder.find_spec(top, folders)
    if loaded and found and found.origin and Path(found.origin).resolve() != Path(loaded).resolve():
        raise ConfigError(
            f"module name {top!r} is already taken by {loaded}; rename {found.origin}", key=_KEY
        )


@contextmanager
def _on_path(folders: list[str]) -> Iterator[None]:
    """These folders first on the import path, for the time of the import only."""
    sys.path[:0] = folders
    try:
        yield
    finally:
        for folder in folders:
            sys.path.remove(folder)


def _check_arguments(function: Callable[..., Any], config: PythonBot) -> None:
    try:
        signature = inspect.signature(function)
    except ValueError:  # some builtins have none
        return
    try:
        signature.bind(object(), **config.options)
    except TypeError as error:
        raise ConfigError(
            f"{config.callable} cannot be called with an item and bot.options: {error}", key=_KEY
        ) from None


def _where(error: BaseException | None) -> str:
    """File name and line the error came from; never its text, which may quote a question or a key."""
    frames = [
        f
        for f in traceback.extract_tb(error.__traceback__ if error else None)
        if not f.filename.startswith("<frozen")
    ]
    return f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
