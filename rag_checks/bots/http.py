"""Asking a bot over HTTP: a JSON template in, JSON pointers out."""

import asyncio
import json
import os
import re
import time
from typing import Any
from urllib.parse import urlsplit

import httpx2

from rag_checks import text
from rag_checks.bots import pointers
from rag_checks.bots.border import check_header_value, make_response, quote
from rag_checks.bots.retrying import TRANSIENT_STATUS, TransientBotError, with_retries
from rag_checks.errors import BotError, ConfigError, MissingSecret
from rag_checks.monitor import HttpBot
from rag_checks.records import EvalItem, Response

_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)\}")
_PLACEHOLDER = re.compile(r"\{(user_input|item_id|history)\}")
_POINTERS = ("answer", "contexts", "context_ids", "intent", "rewritten_query", "release", "error")


class HttpAdapter:
    """A bot behind an HTTP endpoint. One client for its life; used from one event loop.

    Raises:
        MissingSecret: the URL or a header names an environment variable that is not set.
        ConfigError: the URL, a header or a pointer cannot work.
    """

    def __init__(self, config: HttpBot) -> None:
        self._config = config
        self._secrets: list[str] = []
        self._place = _checked_url(self._filled(config.url, "bot.url"))
        headers = {
            name: check_header_value(self._filled(value, f"bot.headers.{name}"), key=f"bot.headers.{name}")
            for name, value in config.headers.items()
        }
        self._pointers = {
            name: pointers.parse(pointer, key=f"bot.{name}")
            for name in _POINTERS
            if (pointer := getattr(config, name)) is not None
        }
        if config.method == "GET" and not isinstance(config.request, dict):
            raise ConfigError("a GET request needs a mapping: it becomes the query", key="bot.request")
        _check_template(config.request)
        self._slots = asyncio.Semaphore(config.concurrency)
        self._client = httpx2.AsyncClient(
            headers=headers,
            timeout=config.timeout_s,
            limits=httpx2.Limits(
                max_connections=config.concurrency, max_keepalive_connections=config.concurrency
            ),
        )

    async def ask(self, item: EvalItem) -> Response:
        """Ask one question. Raises BotError (timeout, refused, http, schema, empty, reported)."""
        filled = fill(self._config.request, item)
        async with self._slots:
            return await with_retries(
                lambda: self._attempt(filled), retries=self._config.retries, timeout_s=self._config.timeout_s
            )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    def _filled(self, value: str, key: str) -> str:
        def variable(match: re.Match[str]) -> str:
            found = os.environ.get(match[1], "").strip()
            if not found:
                raise MissingSecret(
                    f"environment variable {match[1]} is not set; set it or the connection rag_checks_bot",
                    key=key,
                )
            self._secrets.append(found)
            return found

        return _VARIABLE.sub(variable, value)

    async def _attempt(self, filled: Any) -> Response:
        started = time.perf_counter()
        reply = await self._send(filled)
        latency_ms = (time.perf_counter() - started) * 1000
        if not reply.is_success:
            said = f": {quote(reply.text, self._secrets)}" if reply.text else ""
            message = f"the bot at {self._place} answered HTTP {reply.status_code}{said}"
            if reply.status_code in TRANSIENT_STATUS:
                raise TransientBotError(message, kind="http", retry_after=reply.headers.get("retry-after"))
            raise BotError(message, kind="http")
        try:
            document = json.loads(reply.content)
        except (ValueError, RecursionError):
            kind = quote(reply.headers.get("content-type", "no content type"))
            raise BotError(f"the bot's reply is not JSON ({kind})", kind="schema") from None
        return self._read(document, latency_ms)

    async def _send(self, filled: Any) -> httpx2.Response:
        config = self._config
        content = {"params": _query(filled)} if config.method == "GET" else {"json": filled}
        try:
            return await self._client.request(config.method, config.url, **content)
        except httpx2.TimeoutException:
            raise TransientBotError(f"no answer within {config.timeout_s:g} s", kind="timeout") from None
        except (httpx2.LocalProtocolError, httpx2.DecodingError) as error:
            raise BotError(f"talking to {self._place} failed: {type(error).__name__}", kind="http") from None
        except httpx2.RequestError as error:
            # The error's text may hold the URL with credentials; its type says enough.
            name = type(error).__name__
            raise TransientBotError(f"no connection to {self._place}: {name}", kind="refused") from None

    def _read(self, document: Any, latency_ms: float) -> Response:
        found = {name: pointers.resolve(document, steps) for name, steps in self._pointers.items()}
        if (reported := found.pop("error", None)) and reported is not pointers.MISSING:
            said = quote(reported, self._secrets)
            raise BotError(f"the bot reported an error: {said}", kind="reported")
        answer = found["answer"]
        if answer is pointers.MISSING:
            keys = ", ".join(map(str, document)) if isinstance(document, dict) else type(document).__name__
            raise BotError(
                f"the reply has nothing at {self._config.answer!r}; it has: {quote(keys)}", kind="schema"
            )
        if not isinstance(answer, str | None):
            raise BotError(f"the answer at {self._config.answer!r} is not text", kind="schema")
        fields = {
            "response": answer,
            "retrieved_contexts": self._texts("contexts", found),
            "retrieved_context_ids": self._texts("context_ids", found),
            "intent": self._scalar("intent", found),
            "rewritten_query": self._scalar("rewritten_query", found),
            "release": self._scalar("release", found),
        }
        return make_response(fields, latency_ms=latency_ms)

    def _texts(self, name: str, found: dict[str, Any]) -> list[str] | None:
        values = found.get(name)
        if values is None or values is pointers.MISSING:
            return None
        pointer = getattr(self._config, name)
        if not isinstance(values, list):
            raise BotError(f"bot.{name}: the value at {pointer!r} is not a list", kind="schema")
        return ["" if value is None else self._text(name, value) for value in values]

    def _scalar(self, name: str, found: dict[str, Any]) -> str | None:
        value = found.get(name)
        return None if value is None or value is pointers.MISSING else self._text(name, value)

    def _text(self, name: str, value: Any) -> str:
        """A text, or a number such as an id, as text."""
        if isinstance(value, str):
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        pointer = getattr(self._config, name)
        raise BotError(
            f"bot.{name}: {pointer!r} leads to a {type(value).__name__}, not to text; step into it",
            kind="schema",
        )


def fill(template: Any, item: EvalItem) -> Any:
    """The template with `{user_input}`, `{item_id}` and `{history}` filled in, other braces left alone.

    A text that is exactly `{history}` becomes a list of {role, content}; within a longer text the history is
    lines of `role: content`. What is filled in is never filled again.
    """
    if isinstance(template, dict):
        return {name: fill(value, item) for name, value in template.items()}
    if isinstance(template, list):
        return [fill(value, item) for value in template]
    if not isinstance(template, str):
        return template
    history = [{"role": m.role, "content": text.clean(m.content)} for m in item.history]
    if template == "{history}":
        return history
    values = {
        "user_input": text.clean(item.user_input),
        "item_id": item.item_id,
        "history": "\n".join(f"{message['role']}: {message['content']}" for message in history),
    }
    return _PLACEHOLDER.sub(lambda match: values[match[1]], template)


def _check_template(template: Any) -> None:
    try:
        json.dumps(template, allow_nan=False)
    except (TypeError, ValueError) as error:
        # YAML reads an unquoted 2026-01-31 as a date.
        raise ConfigError(f"not JSON: {error}; put quotes around it", key="bot.request") from None


def _query(filled: dict[str, Any]) -> dict[str, str]:
    return {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in filled.items()
    }


def _checked_url(url: str) -> str:
    """Host and port of the URL, for messages. Raises ConfigError when it is no http(s) URL."""
    try:
        parts = urlsplit(url)
        place = f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname
    except ValueError:
        place = None
    if place is None or parts.scheme not in {"http", "https"}:
        raise ConfigError("not an http:// or https:// URL with a host", key="bot.url")
    return place
