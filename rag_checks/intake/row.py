"""A turn as logs write it, and the way from there to a `records.Turn`.

Step one, in `reader`, runs on every line: it finds the fields behind their names and checks everything
there is to check. Step two, `turn_of`, runs on the few rows that are picked and cannot fail. So no line is
found bad only after it was counted, and a sample never depends on which lines were looked at closely.
"""

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import msgspec

from rag_checks import text
from rag_checks.records import Feedback, Message, ToolCall, Turn

ROLES: dict[str, Literal["user", "assistant", "system"]] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "bot": "assistant",
    "system": "system",
}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
# Deeper JSON in tool arguments or errors is no log any more, and Python's own walks end at a depth of 1,000.
_MAX_DEPTH = 64

_encode = msgspec.json.Encoder().encode


class BadRow(ValueError):
    """A row that cannot be a turn; the message names the field and quotes nothing of the row."""


class Passage(msgspec.Struct, frozen=True, gc=False):
    """A retrieved passage written as an object."""

    text: str | None = None
    content: str | None = None
    page_content: str | None = None
    id: str | int | None = None
    document_id: str | int | None = None

    @property
    def words(self) -> str | None:
        """Its text under whichever name."""
        return next((t for t in (self.text, self.content, self.page_content) if t is not None), None)

    @property
    def key(self) -> str | None:
        """Its id under whichever name."""
        key = self.id if self.id is not None else self.document_id
        return None if key is None else str(key)


class HistoryMessage(msgspec.Struct, frozen=True, gc=False):
    """An earlier message."""

    role: Literal["user", "human", "assistant", "ai", "bot", "system", "tool", "function"]
    content: str | None = None


class LoggedCall(msgspec.Struct, frozen=True, gc=False):
    """A tool call; `arguments` may be a JSON text."""

    name: str
    arguments: dict[str, Any] | str | None = None


class FeedbackObject(msgspec.Struct, frozen=True, gc=False):
    """Feedback written as an object."""

    rating: str | int | float | bool | None = None
    comment: str | None = None


class Row(msgspec.Struct, gc=False):
    """A turn as it was written, its fields found and checked; later in one spelling.

    Once respelled, `asked_at` is whole microseconds since 1970, lists that were JSON texts are lists,
    passages are texts, and `feedback` is None or an object with like, dislike or no rating.
    """

    turn_id: str | int
    asked_at: str | int | float
    user_input: str
    response: str | None = None
    conversation_id: str | int | None = None
    retrieved_contexts: tuple[str | Passage, ...] | str | None = None
    retrieved_context_ids: tuple[str | int, ...] | str | None = None
    history: tuple[HistoryMessage, ...] | str | None = None
    intent: str | int | None = None
    rewritten_query: str | None = None
    tool_calls: tuple[LoggedCall, ...] | str | None = None
    feedback: FeedbackObject | str | int | float | bool | None = None
    rating: str | int | float | bool | None = None
    comment: str | None = None
    release: str | int | float | None = None
    latency_ms: float | str | None = None
    tags: tuple[str | int, ...] | str | None = None
    error: Any = None


def content_number(row: Row) -> int:
    """64 bits over all fields of a row as it was written, for telling whether two rows say the same.

    Equal for two lines that differ in the order and names of their fields, in white space or in escapes. Good
    within one process: Python's hash of texts has a new key in each.

    Raises:
        BadRow: tool arguments or error nested more than 64 deep.
    """
    try:
        return hash(msgspec.structs.astuple(row))
    except TypeError:  # tool arguments and errors may be objects, which have no hash
        for call in row.tool_calls or ():
            if isinstance(call, LoggedCall):
                _check_depth(call.arguments, "tool_calls")
        _check_depth(row.error, "error")
        return hash(pack(row))


def pack(row: Row) -> bytes:
    """A row as bytes, for `turn_of`: they take a third of the memory."""
    fields = {name: getattr(row, name) for name in Row.__struct_fields__}
    try:
        return _encode(fields)
    except UnicodeEncodeError:  # a lone surrogate, which JSON only takes escaped
        return json.dumps(msgspec.to_builtins(fields)).encode()


def turn_of(packed: bytes) -> tuple[Turn, bool]:
    """The turn behind packed bytes, and whether its texts had to be cleaned (`text.clean`).

    Whatever `RowReader` let through is a turn.
    """
    fields = json.loads(packed)
    clean = _cleaned(fields)
    row = msgspec.convert(clean, Row)
    turn_id = str(row.turn_id)
    turn = Turn(
        turn_id=turn_id,
        conversation_id=_text(row.conversation_id) or turn_id,
        asked_at=EPOCH + timedelta(microseconds=int(row.asked_at)),
        user_input=row.user_input,
        response=row.response or "",
        retrieved_contexts=_texts(row.retrieved_contexts),
        retrieved_context_ids=_texts(row.retrieved_context_ids),
        history=_history(row.history),
        intent=_text(row.intent),
        rewritten_query=row.rewritten_query,
        tool_calls=_tool_calls(row.tool_calls),
        feedback=_feedback(row.feedback),
        release=_text(row.release),
        latency_ms=None if row.latency_ms is None else float(row.latency_ms),
        tags=_texts(row.tags) or (),
        error=_error_text(row.error),
    )
    return turn, clean != fields


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return text.clean(value)
    if isinstance(value, list):
        return [_cleaned(part) for part in value]
    if isinstance(value, dict):
        return {text.clean(str(key)): _cleaned(part) for key, part in value.items()}
    return value


def _check_depth(value: Any, field: str, depth: int = 0) -> None:
    if depth > _MAX_DEPTH:
        raise BadRow(f"{field}: nested more than {_MAX_DEPTH} deep")
    if isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            _check_depth(part, field, depth + 1)


def _text(value: str | float | None) -> str | None:
    return None if value is None else str(value).strip() or None


def _texts(values: tuple[str | Passage, ...] | tuple[str | int, ...] | str | None) -> tuple[str, ...] | None:
    return None if values is None else tuple(str(value) for value in values)


def _history(messages: tuple[HistoryMessage, ...] | str | None) -> tuple[Message, ...]:
    return tuple(
        Message(role=ROLES[message.role], content=message.content or "")
        for message in messages or ()
        if isinstance(message, HistoryMessage)
    )


def _tool_calls(calls: tuple[LoggedCall, ...] | str | None) -> tuple[ToolCall, ...] | None:
    if calls is None:
        return None
    return tuple(
        ToolCall(name=call.name, arguments=call.arguments if isinstance(call.arguments, dict) else {})
        for call in calls
        if isinstance(call, LoggedCall)
    )


def _feedback(given: Any) -> Feedback | None:
    if not isinstance(given, FeedbackObject):
        return None
    rating: Literal["like", "dislike"] | None = None
    if given.rating in ("like", "dislike"):
        rating = "like" if given.rating == "like" else "dislike"
    return Feedback(rating=rating, comment=given.comment)


def _error_text(error: Any) -> str | None:
    """What the log says went wrong, as text; false, empty and null mean that nothing did."""
    if not error:
        return None
    return error if isinstance(error, str) else _encode(error).decode()
