"""Asking a bot behind an OpenAI-compatible chat-completions endpoint."""

import asyncio
import time

import openai
from openai.types.chat import ChatCompletion, ChatCompletionMessageParam

from rag_checks import text
from rag_checks.bots.border import check_header_value, make_response, quote, secret_from_env
from rag_checks.bots.retrying import TRANSIENT_STATUS, TransientBotError, with_retries
from rag_checks.errors import BotError, MissingSecret
from rag_checks.monitor import OpenAIBot
from rag_checks.records import EvalItem, Response


class ChatAdapter:
    """A bot that speaks chat completions. One client for its life; used from one event loop.

    The key is RAG_CHECKS_BOT_API_KEY, then OPENAI_API_KEY. A bot with a base URL of its own may need none.

    Raises:
        MissingSecret: no key for OpenAI's own endpoint.
        ConfigError: a key that cannot be sent.
    """

    def __init__(self, config: OpenAIBot) -> None:
        self._config = config
        base_url = config.base_url or secret_from_env("RAG_CHECKS_BOT_BASE_URL", "OPENAI_BASE_URL")
        key = secret_from_env("RAG_CHECKS_BOT_API_KEY", "OPENAI_API_KEY")
        if key is None and base_url is None:
            raise MissingSecret(
                "set RAG_CHECKS_BOT_API_KEY or OPENAI_API_KEY, or name the bot's base_url", key="bot"
            )
        check_header_value(key or "", key="RAG_CHECKS_BOT_API_KEY or OPENAI_API_KEY")
        self._secrets = [key] if key else []
        self._slots = asyncio.Semaphore(config.concurrency)
        self._client = openai.AsyncOpenAI(
            api_key=key or "not-needed", base_url=base_url, timeout=config.timeout_s, max_retries=0
        )

    async def ask(self, item: EvalItem) -> Response:
        """Ask one question after its history. Raises BotError (timeout, refused, http, schema, empty)."""
        messages = self._messages(item)
        async with self._slots:
            return await with_retries(
                lambda: self._attempt(messages),
                retries=self._config.retries,
                timeout_s=self._config.timeout_s,
            )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _messages(self, item: EvalItem) -> list[ChatCompletionMessageParam]:
        messages: list[ChatCompletionMessageParam] = []
        if self._config.system:
            messages.append({"role": "system", "content": self._config.system})
        for message in item.history:
            content = text.clean(message.content)
            if message.role == "assistant":
                messages.append({"role": "assistant", "content": content})
            elif message.role == "system":
                messages.append({"role": "system", "content": content})
            else:
                messages.append({"role": "user", "content": content})
        messages.append({"role": "user", "content": text.clean(item.user_input)})
        return messages

    async def _attempt(self, messages: list[ChatCompletionMessageParam]) -> Response:
        started = time.perf_counter()
        completion = await self._complete(messages)
        latency_ms = (time.perf_counter() - started) * 1000
        # The SDK does not validate replies: a server that answers something else gives text, or no choices.
        choices = getattr(completion, "choices", None)
        message = getattr(choices[0], "message", None) if isinstance(choices, list) and choices else None
        if message is None:
            raise BotError("the bot's reply is no chat completion: it has no choices", kind="schema")
        # A refusal is what the user would have read.
        answer = message.content or getattr(message, "refusal", None)
        return make_response({"response": answer}, latency_ms=latency_ms)

    async def _complete(self, messages: list[ChatCompletionMessageParam]) -> ChatCompletion:
        try:
            return await self._client.chat.completions.create(model=self._config.model, messages=messages)
        except openai.APITimeoutError:
            message = f"no answer within {self._config.timeout_s:g} s"
            raise TransientBotError(message, kind="timeout") from None
        except openai.APIConnectionError as error:
            name = type(error.__cause__ or error).__name__
            raise TransientBotError(f"no connection to the bot: {name}", kind="refused") from None
        except openai.APIStatusError as error:
            message = f"the bot answered HTTP {error.status_code}: {quote(error.message, self._secrets)}"
            if error.status_code in TRANSIENT_STATUS:
                wait = error.response.headers.get("retry-after")
                raise TransientBotError(message, kind="http", retry_after=wait) from None
            raise BotError(message, kind="http") from None
        except (openai.OpenAIError, ValueError) as error:
            raise BotError(
                f"the bot's reply is no chat completion: {type(error).__name__}", kind="schema"
            ) from None
