"""Calls to an OpenAI-compatible endpoint: address, key, one HTTP client per event loop.

The SDK's generic `post` is used instead of its typed methods: at 64 calls in flight it was measured at 1.2 ms
of CPU a call against 1.85 ms, because nothing is made into model objects; replies are validated here anyway.
Its aiohttp transport takes a third off what is left (all of the client together: 0.9 ms a call against 1.4).
"""

import asyncio
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit, urlunsplit

from rag_checks import monitor
from rag_checks.errors import ConfigError, MissingSecret
from rag_checks.judge.failures import Failure, Rule, classify

if TYPE_CHECKING:
    from openai._types import RequestOptions

DEFAULT_BASE_URL = "https://api.openai.com/v1"
_KEYLESS = "none"  # local servers ignore the key, but the SDK insists on one
_VARIABLE = re.compile(r"\$\{(\w+)\}")


class Endpoint:
    """Where the judge is and how to sign in; settings win over the environment.

    Args:
        config: the monitor's judge section.
        environ: where `OPENAI_API_KEY`, `OPENAI_BASE_URL`, `OPENAI_EMBEDDING_API_KEY` (for a separate
            embedding endpoint; without it the judge's key is sent there) and `${NAME}` in headers are
            looked up.

    Raises:
        MissingSecret: api.openai.com without a key, or a header that names an unset variable.
        ConfigError: the base URL is not an http(s) address.
    """

    def __init__(self, config: monitor.OpenAIJudge, environ: Mapping[str, str] | None = None) -> None:
        environ = os.environ if environ is None else environ
        self.base_url = _checked_url(config.base_url or environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL)
        self.embedding_base_url = (
            _checked_url(config.embedding_base_url) if config.embedding_base_url else self.base_url
        )
        self.name = without_credentials(self.base_url)
        self.embedding_name = without_credentials(self.embedding_base_url)
        self.model = config.model
        key = environ.get("OPENAI_API_KEY", "").strip()
        if not key and urlsplit(self.base_url).hostname == "api.openai.com":
            raise MissingSecret(
                "OPENAI_API_KEY is not set and api.openai.com needs it; set it, or judge.base_url"
                " (or OPENAI_BASE_URL) for another endpoint",
                key="judge",
            )
        self.key = key or _KEYLESS
        own = environ.get("OPENAI_EMBEDDING_API_KEY", "").strip() if config.embedding_base_url else ""
        self.embedding_key = own or self.key
        self.headers = {name: _expand(name, text, environ) for name, text in config.extra_headers.items()}

    def hide_secrets(self, text: str) -> str:
        """The text without the keys, which some endpoints repeat in their error messages."""
        for key in {self.key, self.embedding_key} - {_KEYLESS}:
            text = text.replace(key, "***")
        return text


class Transport:
    """One SDK client; belongs to the event loop in which it is made."""

    def __init__(self, endpoint: Endpoint) -> None:
        from openai import AsyncOpenAI, DefaultAioHttpClient  # noqa: PLC0415 - slow to import

        self._endpoint = endpoint
        # Time is limited per attempt by asyncio.timeout, which also catches a server that drips bytes. A
        # client of our own, because the SDK's default schedules its closing on whatever loop runs later.
        self._client = AsyncOpenAI(
            api_key=endpoint.key,
            base_url=endpoint.base_url,
            default_headers=endpoint.headers,
            max_retries=0,
            timeout=None,
            http_client=DefaultAioHttpClient(timeout=None),
        )

    async def post(self, url: str, body: dict[str, Any], *, timeout_s: float) -> dict[str, Any] | Failure:
        """Post JSON once; the reply's JSON object, or what went wrong.

        Args:
            url: absolute, or relative to the base URL.
            body: the request.
            timeout_s: for everything, from connecting to the last byte.
        """
        import openai  # noqa: PLC0415 - loaded by __init__ already

        name = without_credentials(url) if "://" in url else self._endpoint.name
        options: RequestOptions = {}
        if url.endswith("/embeddings") and self._endpoint.embedding_key != self._endpoint.key:
            options = {"headers": {"Authorization": f"Bearer {self._endpoint.embedding_key}"}}
        try:
            async with asyncio.timeout(timeout_s):
                reply = await self._client.post(url, cast_to=object, body=body, options=options)
        except TimeoutError:
            return Failure("timeout", Rule.RETRY, f"{name} did not answer within {timeout_s:.3g} s")
        except openai.APIConnectionError as error:
            # The SDK sets no time limit here; its aiohttp transport calls a refused connection a timeout.
            cause = error.__cause__ or error
            return Failure("connection", Rule.RETRY, f"cannot reach {name}: {cause or type(cause).__name__}")
        except openai.APIStatusError as error:
            said = error.body or error.response.text or error.message
            failure = classify(
                error.status_code, said, error.response.headers, endpoint=name, model=str(body["model"])
            )
        except ValueError as error:
            return Failure("unreadable", Rule.RETRY, f"{name} answered with broken JSON: {error}")
        else:
            if isinstance(reply, dict) and (reply.get("choices") or reply.get("data")):
                return cast("dict[str, Any]", reply)
            failure = _failure_of_success(reply, endpoint=name, model=str(body["model"]))
        hide = self._endpoint.hide_secrets
        return replace(failure, message=hide(failure.message), detail=hide(failure.detail))

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()


def _failure_of_success(reply: object, *, endpoint: str, model: str) -> Failure:
    """What a reply of status 200 without content means: gateways report errors and error pages this way."""
    error = reply.get("error") if isinstance(reply, dict) else None
    if error:
        code = error.get("code") if isinstance(error, dict) else None
        status = code if isinstance(code, int) and code >= HTTPStatus.BAD_REQUEST else HTTPStatus.BAD_GATEWAY
        return classify(status, error, {}, endpoint=endpoint, model=model)
    start = " ".join(str(reply).split())[:80]
    return Failure(
        "unreadable",
        Rule.RETRY,
        f"{endpoint} answered without choices ({start!r}); check that judge.base_url is the API's address",
        str(reply),
    )


def without_credentials(url: str) -> str:
    """The URL without user, password, query and fragment: safe to store and to show."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    netloc = f"{host}:{parts.port}" if parts.port else host
    return urlunsplit((parts.scheme, netloc, parts.path.rstrip("/"), "", ""))


def _checked_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigError(f"{without_credentials(url)!r} is not an http(s) address", key="judge.base_url")
    return url.rstrip("/")


def _expand(name: str, text: str, environ: Mapping[str, str]) -> str:
    """`${NAME}` in a header replaced from the environment, so that keys stay out of the monitor file."""
    missing = [variable for variable in _VARIABLE.findall(text) if not environ.get(variable)]
    if missing:
        raise MissingSecret(f"{missing[0]} is not set", key=f"judge.extra_headers.{name}")
    return _VARIABLE.sub(lambda match: environ[match.group(1)], text)
