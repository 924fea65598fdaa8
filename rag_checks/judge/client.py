"""The judge behind any OpenAI-compatible endpoint.

A question to the judge goes: cache → the same question under way → what the endpoint can do (found once) →
a free slot → call with retries → validated output, or one repair → cache. How it can fail is in `failures`
and `validate`.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

from rag_checks import monitor
from rag_checks.errors import ConfigError, JudgeError, JudgeFatal, JudgeUnavailable, Spent
from rag_checks.judge.completion import Completion
from rag_checks.judge.embeddings import Embedder
from rag_checks.judge.failures import Failure, Rule
from rag_checks.judge.ladder import Capabilities, probe
from rag_checks.judge.prompts import Prompts, prompts_of
from rag_checks.judge.replies import reply_from_store, reply_key, stored_reply
from rag_checks.judge.retry import Deadline, Patience, persist
from rag_checks.judge.schemas import reply_schema
from rag_checks.judge.sessions import Session, Sessions
from rag_checks.judge.spending import Spending
from rag_checks.judge.splitting import estimate_tokens, merge, split_by_contexts
from rag_checks.judge.transport import Endpoint
from rag_checks.protocols import JudgeReply, JudgeRequest, ReplyCache, Task, taken_usage
from rag_checks.records import JudgeIdentity, Language, Usage
from rag_checks.text import clean

Similarity = Callable[[Sequence[tuple[str, str]], Language], Awaitable[list[float]]]

REPAIRED_FLAG = "repaired"
_SHOWN_REPLY = 6000  # characters of a bad reply that the judge is shown when it is asked to repair it
_RANKS = {Task.ANALYSE_ANSWER: 0, Task.ANALYSE_REFERENCE: 0}
"""Judgements that others of the same case wait for go first."""

_log = logging.getLogger(__name__)


class OpenAIJudge:
    """A judge behind an OpenAI-compatible endpoint; see `protocols.Judge`.

    It can be used from one event loop after another; close it before a loop ends.

    Args:
        config: the monitor's judge section.
        cache: where good replies are kept; None keeps nothing.
        similarity: used when no embedding model is set.
        environ: environment variables; default `os.environ`.
        first_wait_s: seconds before the first retry; doubled with each further one.
        spending: the budget; None sets no limit.

    Raises:
        MissingSecret: no key for an endpoint that needs one.
        ConfigError: the base URL is not one.
    """

    def __init__(
        self,
        config: monitor.OpenAIJudge,
        *,
        cache: ReplyCache | None = None,
        similarity: Similarity | None = None,
        environ: Mapping[str, str] | None = None,
        first_wait_s: float = 0.5,
        spending: Spending | None = None,
    ) -> None:
        self._config = config
        self._spending = spending
        self._cache = cache
        self._similarity = similarity
        self._endpoint = Endpoint(config, environ)
        self._prompts: Prompts = prompts_of(config.prompts)
        self._patience = Patience(config.timeout_s, config.deadline_s, config.retries, first_wait_s)
        # 0 in one file and 0.0 in another are the same judge.
        self._temperature = None if config.temperature is None else float(config.temperature)
        self._capabilities: Capabilities | None = None
        self._fatal: str | None = None
        self._usage = Usage()
        self._sessions = Sessions(self._endpoint, concurrency=config.concurrency)
        # Settings, not findings: a warm cache answers before anything is known of the endpoint.
        self._settings: dict[str, Any] = {
            "endpoint": self._endpoint.name,
            "model": config.model,
            "prompt_hash": self._prompts.hash,
            "temperature": self._temperature,
            "seed": config.seed,
            "max_tokens": config.max_tokens,
            "structured_output": config.structured_output,
            "extra_body": config.extra_body,
        }
        self._identity = self._identified(None, None)

    @property
    def identity(self) -> JudgeIdentity:
        """Who would grade now: who gave the latest reply, or what is asked for before there is one."""
        return self._identity

    @property
    def capabilities(self) -> Capabilities | None:
        """What the endpoint was found to do; None before the first call."""
        return self._capabilities

    @property
    def usage(self) -> Usage:
        """Everything this judge cost so far: also probes, embeddings and calls whose reply was no use."""
        return self._usage

    async def ask(self, request: JudgeRequest) -> JudgeReply:
        """Answer one task; see `protocols.Judge.ask`.

        Raises:
            JudgeError: kinds content_filter, context_too_long, refusal, format, truncated, rejected,
                over_budget.
            JudgeUnavailable: retries or deadline used up.
            JudgeFatal: no call can work; raised by every later call without calling.
        """
        self._check_alive()
        parts = self.parts(request)
        if len(parts) == 1:
            return await self._ask(request)
        return merge(parts, _all_or_error(await self._ask_parts(parts)))

    async def _ask_parts(self, parts: list[JudgeRequest]) -> list[JudgeReply | BaseException]:
        """Every part's reply or error: when one fails, what the others cost has to be known."""
        return await asyncio.gather(*(self._ask(part) for part in parts), return_exceptions=True)

    def parts(self, request: JudgeRequest) -> list[JudgeRequest]:
        """What is really asked: the request, or several that fit the context window.

        Raises:
            JudgeError: kind context_too_long.
        """
        budget = self._config.context_window - self._config.max_tokens
        return split_by_contexts(request, size=self.size(request), budget=budget)

    def size(self, request: JudgeRequest) -> int:
        """Estimated tokens of a request's prompt."""
        messages = self._prompts.messages(request, None)
        return sum(estimate_tokens(message["content"]) for message in messages)

    def key(self, request: JudgeRequest) -> str:
        """What a reply to a request that fits is kept under."""
        return reply_key(self._settings, request)

    def kept(self, request: JudgeRequest) -> JudgeReply | None:
        """The reply to a request that fits, if it was paid for before."""
        stored = self._cache.get(self.key(request)) if self._cache is not None else None
        return reply_from_store(request.task, stored) if stored is not None else None

    async def similarity(self, pairs: Sequence[tuple[str, str]], language: Language) -> list[float]:
        """Semantic similarity of each pair, 0..1; see `embeddings.Embedder` and `protocols.Judge`.

        Raises:
            ConfigError: neither an embedding model nor a fallback.
            JudgeError, JudgeUnavailable, JudgeFatal: as for `ask`.
        """
        if self._config.embedding_model is None:
            if self._similarity is None:
                raise ConfigError("no embedding model is set", key="judge.embedding_model")
            return await self._similarity(pairs, language)
        self._check_alive()
        settings = {"endpoint": self._endpoint.embedding_name, "model": self._config.embedding_model}
        return await Embedder(self._embed, settings, self._cache).similarity(pairs)

    async def close(self) -> None:
        """Free the connections of this event loop; calls under way end. The judge can be used again."""
        await self._sessions.close()

    async def _ask(self, request: JudgeRequest) -> JudgeReply:
        """The reply to a request that fits the context window: kept, under way, or asked for."""
        kept = self.kept(request)
        if kept is not None:
            self._usage += kept.usage
            self._identity = kept.identity
            return kept
        key = self.key(request)
        session = self._sessions.current()
        reply, started = await session.flights.run(key, partial(self._grade, session, request, key))
        if started:
            return reply
        self._usage += Usage(cached=1)
        return reply.model_copy(update={"usage": Usage(cached=1)})

    async def _grade(self, session: Session, request: JudgeRequest, key: str) -> JudgeReply:
        self._check_alive()
        if self._capabilities is None:
            await session.probing.run("", partial(self._probe, session))
        async with self._budgeted(request):
            reply = await self._judged(session, request)
        self._identity = reply.identity
        if self._cache is not None:
            self._cache.put(key, stored_reply(reply))
        return reply

    def _budgeted(self, request: JudgeRequest) -> AbstractAsyncContextManager[None]:
        if self._spending is None:
            return nullcontext()
        return self._spending.hold(self.size(request), self._config.max_tokens, lambda: self._usage)

    async def _judged(self, session: Session, request: JudgeRequest) -> JudgeReply:
        """Ask, and once more when the reply could be mended; errors carry what was paid."""
        paid: list[Completion] = []
        try:
            return await self._asked_twice_at_most(session, request, paid)
        except (JudgeError, JudgeUnavailable) as error:
            error.spent = _spent(done.usage for done in paid)
            raise

    async def _asked_twice_at_most(
        self, session: Session, request: JudgeRequest, paid: list[Completion]
    ) -> JudgeReply:
        """The reply; every completion received is added to `paid`."""
        ask = partial(self._complete, session, request, Deadline(self._patience.deadline_s))
        done = await ask([], self._config.max_tokens)
        paid.append(done)
        usage = done.usage
        flags: tuple[str, ...] = ()
        try:
            output = done.output(request)
        except JudgeError as problem:
            if problem.kind == "truncated":
                done = await ask([], self._config.max_tokens * 2)
            elif problem.kind == "format":
                done = await ask(self._repair_messages(request, problem), self._config.max_tokens)
            else:
                raise
            paid.append(done)
            _log.debug("judge reply to %s needed repair: %s", request.task, problem.kind)
            output = done.output(request)
            usage, flags = usage + done.usage, (REPAIRED_FLAG,)
        return JudgeReply(
            output=output,
            identity=self._identified(done.model, done.system_fingerprint),
            usage=usage,
            flags=flags,
        )

    def _repair_messages(self, request: JudgeRequest, problem: JudgeError) -> list[dict[str, str]]:
        return [
            {"role": "assistant", "content": (problem.raw or "")[:_SHOWN_REPLY]},
            {"role": "user", "content": self._prompts.repair(request, str(problem))},
        ]

    async def _complete(
        self,
        session: Session,
        request: JudgeRequest,
        deadline: Deadline,
        more: list[dict[str, str]],
        room: int,
    ) -> Completion:
        """One completion with `room` tokens for the reply, sending only what the endpoint takes.

        Raises:
            JudgeError, JudgeUnavailable, JudgeFatal: by the rule of the failure.
        """
        schema = reply_schema(request)
        while True:
            able = self._able
            told = None if able.structured_output == "json_schema" else schema
            messages = self._prompts.messages(request, told) + more
            body = {"messages": messages} | able.fields(self._config, schema, room)
            result = await self._chat(session, deadline, _RANKS.get(request.task, 1), body)
            if isinstance(result, Completion):
                return result
            narrower = able.without(result)
            if narrower is None:
                raise self._error(result)
            if self._capabilities == able:
                self._capabilities = narrower

    async def _probe(self, session: Session) -> None:
        """Find what the endpoint can do.

        Raises:
            JudgeFatal: the endpoint refuses even the plainest request.
            JudgeUnavailable: it does not answer.
        """
        ask = partial(self._chat, session, Deadline(self._patience.deadline_s), 0)
        found = await probe(self._config, ask)
        if isinstance(found, Capabilities):
            self._capabilities = found
            self._identity = self._identified(None, None)
            return
        message = found.message
        if found.kind == "context_too_long":
            message = (
                f"judge.max_tokens {self._config.max_tokens} does not fit the model: set it lower ({message})"
            )
        elif found.rule is not Rule.FATAL:
            message = f"the judge endpoint refuses even a one-line request: {message}"
        raise self._error(replace(found, rule=Rule.FATAL, message=message))

    async def _chat(
        self, session: Session, deadline: Deadline, rank: int, body: dict[str, Any]
    ) -> Completion | Failure:
        """One chat completion with retries, which keep their slot; what it cost is counted."""

        async def attempt(timeout_s: float) -> Completion | Failure:
            request = {"model": self._config.model} | body
            reply = await session.transport.post("/chat/completions", request, timeout_s=timeout_s)
            return reply if isinstance(reply, Failure) else Completion.of(reply)

        async with session.slots.one(rank):
            self._check_alive()
            done = await persist(attempt, self._patience, deadline=deadline.at())
        if isinstance(done, Completion):
            self._usage += done.usage
        return done

    async def _embed(self, texts: list[str]) -> dict[str, Any]:
        session = self._sessions.current()
        body = {"model": self._config.embedding_model, "input": texts}
        url = f"{self._endpoint.embedding_base_url}/embeddings"
        async with session.slots.one(1):
            self._check_alive()
            deadline = Deadline(self._patience.deadline_s).at()
            post = partial(session.transport.post, url, body)
            reply = await persist(lambda limit: post(timeout_s=limit), self._patience, deadline=deadline)
        if isinstance(reply, Failure):
            raise self._error(reply)
        tokens = reply.get("usage") or {}
        self._usage += Usage(calls=1, prompt_tokens=int(tokens.get("prompt_tokens") or 0))
        return reply

    def _error(self, failure: Failure) -> JudgeError | JudgeFatal:
        """The exception for a failure that is not retried; a fatal one ends this judge."""
        if failure.rule is Rule.FATAL:
            self._fatal = failure.message
            return JudgeFatal(failure.message)
        return JudgeError(failure.message, kind=failure.kind, raw=clean(failure.detail))

    def _check_alive(self) -> None:
        if self._fatal is not None:
            raise JudgeFatal(self._fatal)

    @property
    def _able(self) -> Capabilities:
        return self._capabilities or Capabilities.hoped_for(self._config)

    def _identified(self, returned_model: str | None, system_fingerprint: str | None) -> JudgeIdentity:
        config, able = self._config, self._able
        parameters: dict[str, Any] = {
            "structured_output": able.structured_output,
            "temperature": self._temperature if able.temperature else None,
            "seed": config.seed if able.seed else None,
            "max_tokens": config.max_tokens if able.token_limit else None,
            "similarity": config.embedding_model or "offline",
        }
        if config.extra_body:
            parameters["extra_body"] = config.extra_body
        return JudgeIdentity(
            kind="openai",
            endpoint=self._endpoint.name,
            requested_model=config.model,
            returned_model=returned_model,
            system_fingerprint=system_fingerprint,
            prompt_hash=self._prompts.hash,
            parameters=parameters,
        )


def _spent(usages: Iterable[Usage]) -> Spent | None:
    """The sum of these costs; None without any."""
    total = sum(usages, Usage())
    return Spent(total.calls, total.prompt_tokens, total.completion_tokens) if total.calls else None


def _all_or_error(results: Sequence[JudgeReply | BaseException]) -> list[JudgeReply]:
    """The replies of all parts; else the first error, a fatal one before others, with what all parts cost."""
    errors = [result for result in results if isinstance(result, BaseException)]
    replies = [result for result in results if isinstance(result, JudgeReply)]
    if not errors:
        return replies
    first = min(errors, key=lambda error: isinstance(error, JudgeError | JudgeUnavailable))
    if isinstance(first, JudgeError | JudgeUnavailable):
        failed = [taken_usage(error) for error in errors if isinstance(error, JudgeError | JudgeUnavailable)]
        first.spent = _spent([*(reply.usage for reply in replies), *failed])
    raise first
