"""Asking a function that is the bot: it is given the question or the item, and its answers are masked."""

import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from rag_checks.bots.python_callable import CallableBot
from rag_checks.errors import BotError, ConfigError
from rag_checks.intake.redact import Redactor
from rag_checks.library.rows import Row
from rag_checks.records import EvalItem, Response

_PASSAGES = ("retrieved_contexts", "contexts", "documents")
_TEXTS = ("page_content", "text", "content")
_IDS = ("id", "document_id")
Given = Literal["question", "item", "inputs"]


class Target:
    """A bot that is a Python function, asked what was given and not what is stored (P7).

    What it gets is told by the name of its parameter: `item` (or one annotated EvalItem) the item, `inputs` a
    dict with the `question`, as LangSmith's targets do, any other name the question. Passages in its answer
    may be texts, dicts or LangChain's Documents.
    """

    def __init__(
        self, function: Callable[..., Any], rows: Sequence[Row], *, timeout_s: float, concurrency: int
    ) -> None:
        """Raises ConfigError when the function cannot be called with one argument."""
        name = getattr(function, "__name__", type(function).__name__)
        self._given = _given(function, name)
        called = _awaited(function) if _is_async(function) else _called(function)
        self._bot = CallableBot(called, name=name, options={}, timeout_s=timeout_s, concurrency=concurrency)
        self._originals: Mapping[str, EvalItem] = {row.original.item_id: row.original for row in rows}
        self._redactor = Redactor()

    async def ask(self, item: EvalItem) -> Response:
        """Ask one item's original. Raises BotError (timeout, raised, schema, empty, reported), masked."""
        original = self._originals[item.item_id]
        question: Any = original.user_input
        if self._given != "question":
            question = original if self._given == "item" else {"question": question}
        try:
            response = await self._bot.call(question)
        except BotError as error:
            told = Response(response=None, error=str(error))
            _, masked, _ = self._redactor.mask_case(original, told)
            raise BotError(masked.error or "", kind=error.kind) from error
        return self._redactor.mask_case(original, response)[1]

    async def close(self) -> None:
        """Nothing to free."""


def _given(function: Callable[..., Any], name: str) -> Given:
    """What the function wants to be given."""
    if not callable(function):
        raise ConfigError(
            f"a {type(function).__name__} cannot be called; give a function of the question", key="target"
        )
    try:
        signature = inspect.signature(function)
    except ValueError:  # some builtins have none
        return "question"
    try:
        bound = signature.bind(object())
    except TypeError as error:
        raise ConfigError(
            f"{name} cannot be called with one argument, the question or the item: {error}", key="target"
        ) from None
    first = signature.parameters[next(iter(bound.arguments))]
    if first.name == "item" or first.annotation in (EvalItem, "EvalItem"):
        return "item"
    return "inputs" if first.name == "inputs" else "question"


def _is_async(function: Callable[..., Any]) -> bool:
    """Also a partial or an object whose call is a coroutine."""
    inner = function.func if isinstance(function, functools.partial) else function
    call = getattr(type(inner), "__call__", None)  # noqa: B004 - asks what calling gives, not whether it can be
    return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(call)


def _awaited(function: Callable[..., Any]) -> Callable[[Any], Any]:
    async def call(question: Any) -> Any:
        return _with_texts(await function(question))

    return call


def _called(function: Callable[..., Any]) -> Callable[[Any], Any]:
    def call(question: Any) -> Any:
        answer = function(question)
        return _later(answer) if inspect.isawaitable(answer) else _with_texts(answer)

    return call


async def _later(answer: Awaitable[Any]) -> Any:
    return _with_texts(await answer)


def _with_texts(answer: Any) -> Any:
    """An answer whose passages are texts, with the passages' ids when all have one."""
    if not isinstance(answer, Mapping):
        return answer
    fields = dict(answer)
    name = next((name for name in _PASSAGES if fields.get(name) is not None), None)
    if name is None:
        return answer
    passages = fields.pop(name)
    if isinstance(passages, str) or not isinstance(passages, Iterable):
        return answer
    passages = list(passages)
    fields["retrieved_contexts"] = [_part(passage, _TEXTS, passage) for passage in passages]
    ids = [None if isinstance(passage, str) else _part(passage, _IDS, None) for passage in passages]
    if passages and None not in ids:
        fields.setdefault("retrieved_context_ids", [str(one) for one in ids])
    return fields


def _part(passage: Any, names: Sequence[str], default: Any) -> Any:
    """The first of these keys or attributes that a passage has."""
    for name in names:
        found = passage.get(name) if isinstance(passage, Mapping) else getattr(passage, name, None)
        if found is not None:
            return found
    return default
