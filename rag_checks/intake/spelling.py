"""Bringing the optional fields of a row into one spelling."""

import math
from typing import Any, Literal

import msgspec

from rag_checks.intake.row import ROLES, BadRow, FeedbackObject, HistoryMessage, LoggedCall, Passage, Row

_RATINGS: dict[str, Literal["like", "dislike"]] = {
    **dict.fromkeys(
        ("like", "liked", "up", "thumbs_up", "thumbs-up", "thumbsup", "positive", "good"), "like"
    ),
    **dict.fromkeys(("1", "true", "👍"), "like"),
    **dict.fromkeys(("dislike", "disliked", "down", "thumbs_down", "thumbs-down", "thumbsdown"), "dislike"),
    **dict.fromkeys(("negative", "bad", "-1", "false", "👎"), "dislike"),
}
# What tools said is not part of what people said to each other.
_LEFT_OUT_ROLES = frozenset({"tool", "function"})


def respell(row: Row, names: dict[str, str]) -> None:
    """Bring the optional fields of a row into one spelling.

    Args:
        row: changed in place.
        names: what each field is called in the file, for reasons.

    Raises:
        BadRow: a field cannot be read.
    """
    if row.retrieved_contexts is not None:
        _respell_contexts(row, names)
    if type(row.retrieved_context_ids) is str:
        row.retrieved_context_ids = _from_json(
            row.retrieved_context_ids, tuple[str | int, ...], names["retrieved_context_ids"]
        )
    if row.latency_ms is not None:
        _respell_latency(row, names)
    if row.feedback is not None or row.rating is not None or row.comment is not None:
        _respell_feedback(row)
    if row.history is not None or row.tool_calls is not None or row.tags is not None:
        _respell_rare(row, names)


def _respell_contexts(row: Row, names: dict[str, str]) -> None:
    passages = row.retrieved_contexts
    if type(passages) is str:
        passages = _from_json(passages, tuple[str | Passage, ...], names["retrieved_contexts"])
        row.retrieved_contexts = passages
    for passage in passages or ():
        if type(passage) is not str:
            break
    else:
        return
    read = [Passage(text=passage) if isinstance(passage, str) else passage for passage in passages or ()]
    texts, keys = [passage.words for passage in read], [passage.key for passage in read]
    # Passages known by id only are not recorded as text; one without text among others keeps its rank.
    known = any(words is not None for words in texts)
    row.retrieved_contexts = tuple(words or "" for words in texts) if known else None
    if row.retrieved_context_ids is None and None not in keys:
        row.retrieved_context_ids = tuple(key for key in keys if key is not None)


def _respell_rare(row: Row, names: dict[str, str]) -> None:
    if type(row.tags) is str:
        is_list = row.tags.lstrip().startswith("[")
        row.tags = _from_json(row.tags, tuple[str | int, ...], names["tags"]) if is_list else (row.tags,)
    if type(row.history) is str:
        row.history = _from_json(row.history, tuple[HistoryMessage, ...], names["history"])
    if row.history is not None:
        said = [m for m in row.history if isinstance(m, HistoryMessage)]
        row.history = tuple(
            HistoryMessage(ROLES[message.role], message.content)
            for message in said
            if message.role not in _LEFT_OUT_ROLES and message.content is not None
        )
    if type(row.tool_calls) is str:
        row.tool_calls = _from_json(row.tool_calls, tuple[LoggedCall, ...], names["tool_calls"])
    if row.tool_calls is not None:
        calls = [call for call in row.tool_calls if isinstance(call, LoggedCall)]
        row.tool_calls = tuple(LoggedCall(call.name, _arguments(call.arguments)) for call in calls)


def _from_json(value: str, kind: Any, name: str) -> Any:
    if not value.strip():
        return None
    try:
        return msgspec.json.decode(value, type=kind)
    except (msgspec.MsgspecError, RecursionError):
        raise BadRow(f"{name}: a text here must be the JSON of what belongs here") from None


def _arguments(given: dict[str, Any] | str | None) -> dict[str, Any] | None:
    return _from_json(given, dict[str, Any], "tool_calls arguments") if isinstance(given, str) else given


def _respell_latency(row: Row, names: dict[str, str]) -> None:
    try:
        latency = float(row.latency_ms or 0)
    except ValueError:
        raise BadRow(f"{names['latency_ms']}: not a number") from None
    if not 0 <= latency < math.inf:
        raise BadRow(f"{names['latency_ms']}: negative or not finite")
    row.latency_ms = latency


def _respell_feedback(row: Row) -> None:
    given = row.feedback
    comment = row.comment
    if isinstance(given, FeedbackObject) and given.comment is not None:
        comment = given.comment
    rating = opinion(given, row.rating)
    row.rating = row.comment = row.feedback = None
    if rating is not None or comment:
        row.feedback = FeedbackObject(rating, comment)


def opinion(feedback: Any, rating: Any) -> Literal["like", "dislike"] | None:
    """What the user thought: the rating in the feedback object, the feedback itself, or the flat rating.

    None when there is none, or one that is neither, such as a number of stars.
    """
    if type(feedback) is FeedbackObject:
        feedback = feedback.rating
    value = feedback if feedback is not None else rating
    if value is None:
        return None
    word = f"{value:g}" if isinstance(value, float) else str(value).strip().lower()
    return _RATINGS.get(word.replace(" ", "_"))
