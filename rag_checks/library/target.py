"""Asking a function that is the bot: it is given the question or the item, and its answers are masked."""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rag_checks.bots.python_callable import CallableBot
from rag_checks.errors import BotError, ConfigError
from rag_checks.intake.redact import Redactor
from rag_checks.library.rows import Row
from rag_checks.records import EvalItem, Response


class Target:
    """A bot that is a Python function, asked what was given and not what is stored (P7).

    A parameter that is called `item`, or is annotated EvalItem, gets the item; any other the question.
    """

    def __init__(
        self, function: Callable[..., Any], rows: Sequence[Row], *, timeout_s: float, concurrency: int
    ) -> None:
        """Raises ConfigError when the function cannot be called with one argument."""
        name = getattr(function, "__name__", type(function).__name__)
        self._takes_item = _takes_item(function, name)
        called = _awaited(function) if _is_async(function) else function
        self._bot = CallableBot(called, name=name, options={}, timeout_s=timeout_s, concurrency=concurrency)
        self._originals: Mapping[str, EvalItem] = {row.original.item_id: row.original for row in rows}
        self._redactor = Redactor()

    async def ask(self, item: EvalItem) -> Response:
        """Ask one item's original. Raises BotError (timeout, raised, schema, empty, reported), masked."""
        original = self._originals[item.item_id]
        try:
            response = await self._bot.call(original if self._takes_item else original.user_input)
        except BotError as error:
            told = Response(response=None, error=str(error))
            _, masked, _ = self._redactor.mask_case(original, told)
            raise BotError(masked.error or "", kind=error.kind) from error
        return self._redactor.mask_case(original, response)[1]

    async def close(self) -> None:
        """Nothing to free."""


def _takes_item(function: Callable[..., Any], name: str) -> bool:
    if not callable(function):
        raise ConfigError(
            f"a {type(function).__name__} cannot be called; give a function of the question", key="target"
        )
    try:
        signature = inspect.signature(function)
    except ValueError:  # some builtins have none
        return False
    try:
        bound = signature.bind(object())
    except TypeError as error:
        raise ConfigError(
            f"{name} cannot be called with one argument, the question or the item: {error}", key="target"
        ) from None
    first = signature.parameters[next(iter(bound.arguments))]
    return first.name == "item" or first.annotation is EvalItem or first.annotation == "EvalItem"


def _is_async(function: Callable[..., Any]) -> bool:
    """Also a partial or an object whose call is a coroutine."""
    inner = function.func if isinstance(function, functools.partial) else function
    return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(getattr(inner, "__call__", None))  # noqa: B004 - asks what calling gives, not whether it can be called


def _awaited(function: Callable[..., Any]) -> Callable[[Any], Any]:
    async def call(question: Any) -> Any:
        return await function(question)

    return call
