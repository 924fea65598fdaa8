"""What a failed call means: each failure of an endpoint gets a kind and a rule.

=========  ==================================================================  ============================
rule       failures                                                            what follows
=========  ==================================================================  ============================
RETRY      timeout, connection, 408, 409, 425, 429, 5xx, unreadable reply      again, then JudgeUnavailable
FATAL      401, 402, 403, 404, 405, unknown model, no quota                    JudgeFatal, no further call
ITEM       content filter, request too long, any other 4xx                     JudgeError for this item
=========  ==================================================================  ============================
"""

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import StrEnum
from http import HTTPStatus
from typing import Any

_DETAIL_LENGTH = 300

# How providers say it: OpenAI, Azure, DashScope, DeepSeek, OpenRouter, vLLM, llama.cpp, Ollama.
_CONTENT_FILTER = re.compile(
    r"content[ _]?filter|content[ _](?:management[ _])?policy|responsible ?ai|data_?inspection_?failed"
    r"|content exists risk|inappropriate content|flagged|敏感(?:词|内容|信息)|内容安全|违规内容",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"context[ _](?:length|window|size)|maximum context|(?:prompt|input) is too long|range of input length"
    r"|too many tokens|reduce the length",
    re.IGNORECASE,
)
_NO_QUOTA = re.compile(
    r"insufficient[ _](?:quota|balance|credit)|billing_hard_limit|arrearage|余额不足|欠费", re.IGNORECASE
)
_UNKNOWN_MODEL = re.compile(
    r"model[_ ]not[_ ](?:found|exist)|model\b.{0,80}(?:does not exist|not exist|not found|not available)"
    r"|deployment ?not ?found",
    re.IGNORECASE | re.DOTALL,
)
_RETRIED = frozenset({408, 409, 425, 429})


class Rule(StrEnum):
    """What a failure leads to."""

    RETRY = "retry"
    FATAL = "fatal"
    ITEM = "item"


@dataclass(frozen=True)
class Failure:
    """One failed call.

    `kind` is one word for records and tests, `message` one sentence for people, `detail` all the endpoint
    said, `retry_after` the wait in seconds that it asked for.
    """

    kind: str
    rule: Rule
    message: str
    detail: str = ""
    retry_after: float | None = None


def classify(status: int, body: Any, headers: Mapping[str, str], *, endpoint: str, model: str) -> Failure:
    """The failure behind an HTTP error status; `body` is the decoded JSON or the text of the reply."""
    detail = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, default=str)
    said = f"{endpoint} answered {status}: {_brief(body)}"
    if status < HTTPStatus.INTERNAL_SERVER_ERROR and _CONTENT_FILTER.search(detail):
        return Failure("content_filter", Rule.ITEM, f"the content filter refused the request; {said}", detail)
    fatal = _fatal_advice(status, detail, endpoint=endpoint, model=model)
    if fatal:
        return Failure(fatal[0], Rule.FATAL, f"{fatal[1]} ({said})", detail)
    if status in _RETRIED or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        kind = "rate_limit" if status == HTTPStatus.TOO_MANY_REQUESTS else "server"
        return Failure(kind, Rule.RETRY, said, detail, retry_after_seconds(headers))
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or _TOO_LONG.search(detail):
        return Failure(
            "context_too_long", Rule.ITEM, f"the request is too long for the model; {said}", detail
        )
    return Failure("rejected", Rule.ITEM, said, detail)


def _fatal_advice(status: int, detail: str, *, endpoint: str, model: str) -> tuple[str, str] | None:
    """Kind and advice when no call can work."""
    if status == HTTPStatus.PAYMENT_REQUIRED or (
        status < HTTPStatus.INTERNAL_SERVER_ERROR and _NO_QUOTA.search(detail)
    ):
        return "quota", f"the account behind {endpoint} has no quota left: add credit or use another key"
    if status == HTTPStatus.UNAUTHORIZED:
        return "auth", f"{endpoint} does not accept the key: set OPENAI_API_KEY to a valid one"
    if status in (400, 404) and _UNKNOWN_MODEL.search(detail):
        return "model", f"{endpoint} does not know the model {model!r}: set judge.model to one it serves"
    if status == HTTPStatus.FORBIDDEN:
        return "auth", f"{endpoint} refuses this key: allow it to use {model!r} or set another OPENAI_API_KEY"
    if status in (404, 405):
        return "endpoint", (
            f"{endpoint} has no such service: set judge.base_url or OPENAI_BASE_URL to the address that ends"
            " before /chat/completions (often …/v1); for embeddings, judge.embedding_base_url"
        )
    return None


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by `retry-after-ms` or `retry-after` (seconds or an HTTP date, RFC 9110 10.2.3)."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            return max(0.0, float(value) * unit)
        except ValueError:
            pass
        try:
            return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
        except ValueError:
            continue
    return None


def _brief(body: Any) -> str:
    """The endpoint's own sentence, short."""
    text = body
    while isinstance(text, dict):
        text = text.get("error") or text.get("message") or text.get("detail") or json.dumps(text, default=str)
    text = " ".join(str(text).split())
    return text if len(text) <= _DETAIL_LENGTH else text[:_DETAIL_LENGTH] + "…"
