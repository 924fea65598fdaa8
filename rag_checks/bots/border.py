"""What every bot adapter does at the border: clean text, refuse blank answers, mask secrets in messages."""

import difflib
import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from rag_checks import text
from rag_checks.errors import BotError, ConfigError
from rag_checks.records import Response

ALIASES = {"answer": "response", "contexts": "retrieved_contexts"}
"""Short names a bot may use for fields of a Response."""

_QUOTED = 200
_SHORTEST_SECRET = 4


def secret_from_env(*names: str) -> str | None:
    """The first of these environment variables that is set and not blank, without white space around it."""
    return next((value for name in names if (value := os.environ.get(name, "").strip())), None)


def check_header_value(value: str, *, key: str) -> str:
    """The value, when it can be a header. Raises ConfigError, without quoting it, when it cannot.

    Checked by us because HTTP libraries quote the whole value, secret included, in their errors.
    """
    if not (value.isascii() and value.isprintable()):
        raise ConfigError(
            "the value, or the variable it takes, has a line break or a character beyond ASCII", key=key
        )
    return value


def quote(words: Any, secrets: Iterable[str] = ()) -> str:
    """The bot's own words for an error message: one line, cleaned, cut, with secrets masked."""
    line = " ".join(text.clean(str(words)).split())
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET:
            line = line.replace(secret, "***")
    return line if len(line) <= _QUOTED else line[:_QUOTED] + "…"


def make_response(fields: Mapping[str, Any], *, latency_ms: float) -> Response:
    """A clean Response with an answer in it.

    Args:
        fields: fields of a Response, or their aliases; `latency_ms` and `answered_at` are filled in when
            absent.
        latency_ms: milliseconds the bot took, as measured by us.

    Raises:
        BotError: kind schema for an unknown field or a value of a wrong type, reported (or the bot's own
            `error_kind`) when it set an error and gave no answer, empty for a missing or blank answer.
    """
    named = {ALIASES.get(name, name): value for name, value in fields.items() if value is not None}
    unknown = next((name for name in named if name not in Response.model_fields), None)
    if unknown is not None:
        near = difflib.get_close_matches(str(unknown), [*Response.model_fields, *ALIASES], n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise BotError(f"the bot returned an unknown field {quote(unknown)!r}{hint}", kind="schema")
    named = {"latency_ms": latency_ms, "answered_at": datetime.now(UTC)} | named
    try:
        response = Response.model_validate(_cleaned(named))
    except ValidationError as error:
        fault = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(part) for part in fault["loc"])
        raise BotError(f"the bot returned a bad {place}: {fault['msg']}", kind="schema") from None
    if response.response is None or not response.response.strip():
        if response.error or response.error_kind:
            said = quote(response.error or response.error_kind)
            raise BotError(f"the bot reported an error: {said}", kind=response.error_kind or "reported")
        raise BotError("the bot returned no answer text", kind="empty")
    return response


def _cleaned(value: Any) -> Any:
    """The value with every text in it cleaned."""
    if isinstance(value, str):
        return text.clean(value)
    if isinstance(value, list | tuple):
        return [_cleaned(element) for element in value]
    if isinstance(value, dict):
        return {_cleaned(name): _cleaned(element) for name, element in value.items()}
    return value
