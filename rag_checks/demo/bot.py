"""The demo's employee-help bot: guess the intent, rewrite, retrieve, extract an answer."""

import json
import os
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TypedDict

from rag_checks import text
from rag_checks.demo import answering, understanding
from rag_checks.demo.chunking import Passage, passages
from rag_checks.demo.retrieval import Bm25
from rag_checks.errors import ConfigError
from rag_checks.records import EvalItem, Language, Message, Response

_SMALL_TALK = {
    "zh": "你好，我是员工助手小禾，可以回答休假、报销、出差、IT 和同事信息方面的问题。",
    "en": "Hello, I am Xiaohe, the staff assistant. Ask me about leave, expenses, travel, IT or colleagues.",
}
_THANKS = {"zh": "不客气，还有问题随时问我。", "en": "You are welcome. Ask me any time."}


class Answer(TypedDict):
    """What the bot returns and logs for one question."""

    answer: str
    contexts: list[str]
    context_ids: list[str]
    intent: str
    rewritten_query: str
    release: str
    latency_ms: float


class HelpBot:
    """One release of the bot. Holds only its index: safe to use from several threads."""

    def __init__(self, release: str) -> None:
        self.release = release
        self._index = Bm25(passages(release))

    def answer(self, question: str, history: Sequence[Message] = ()) -> Answer:
        """Answer a question; `history` holds the earlier messages, oldest first. `latency_ms` is measured."""
        started = time.perf_counter()
        language = text.language_of(question)
        intent, query = understanding.SMALL_TALK, question
        if understanding.guess_intent(question) == understanding.SMALL_TALK:
            found: list[tuple[Passage, float]] = []
            answer = _small_talk(question, language)
        else:
            query = understanding.rewrite(question, history)
            intent = understanding.guess_intent(query)
            found = self._index.search(query)
            answer = self._compose(query, intent, found, language)
        return Answer(
            answer=answer,
            contexts=[passage.text for passage, _ in found],
            context_ids=[passage.passage_id for passage, _ in found],
            intent=intent,
            rewritten_query=query,
            release=self.release,
            latency_ms=(time.perf_counter() - started) * 1000,
        )

    def _compose(
        self, query: str, intent: str, found: list[tuple[Passage, float]], language: Language
    ) -> str:
        if intent != understanding.EMPLOYEE_LOOKUP:
            said = answering.extract(query, found, self._index, language=language, intent=intent)
            return said or answering.refusal(language)
        named = understanding.people_in(query)
        looked_up = answering.look_up(query, [passage for passage, _ in found], named, language)
        minimum = answering.STRICT_COVERAGE
        return (
            looked_up
            or answering.extract(query, found, self._index, language=language, intent=intent, minimum=minimum)
            or answering.refusal(language)
        )


def ask(item: EvalItem, *, deployed: str | None = None, release: str | None = None) -> Response:
    """Ask the deployed release one question; what a monitor's `bot: {kind: python}` calls.

    Args:
        item: Question and history; nothing else of the item is looked at.
        deployed: Path of a JSON file `{"release": "release-1"}` that says what is deployed now, absolute or
            relative to the working directory; `${NAME}` is taken from the environment.
        release: Names the release directly instead.

    Raises:
        ConfigError: neither or both are given, the file is missing or not like that, no such release.
    """
    if (deployed is None) == (release is None):
        raise ConfigError(
            "the demo bot needs exactly one of the options `deployed` and `release`", key="bot.options"
        )
    answered = _bot(release or _deployed_release(deployed or "")).answer(item.user_input, item.history)
    return Response(
        response=answered["answer"],
        retrieved_contexts=tuple(answered["contexts"]),
        retrieved_context_ids=tuple(answered["context_ids"]),
        intent=answered["intent"],
        rewritten_query=answered["rewritten_query"],
        release=answered["release"],
        latency_ms=answered["latency_ms"],
    )


@lru_cache(maxsize=4)
def _bot(release: str) -> HelpBot:
    return HelpBot(release)


def _deployed_release(deployed: str) -> str:
    path = Path(os.path.expandvars(deployed))
    if "$" in str(path):
        raise ConfigError(f"an environment variable in {deployed!r} is not set", key="bot.options.deployed")
    try:
        release = json.loads(path.read_text(encoding="utf-8"))["release"]
    except FileNotFoundError as error:
        raise ConfigError(
            "not there; `rag-checks demo` writes it", file=str(path), key="bot.options.deployed"
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError('must hold JSON like {"release": "release-1"}', file=str(path)) from error
    return str(release)


def _small_talk(question: str, language: Language) -> str:
    thanked = any(word in question.casefold() for word in ("谢谢", "thank", "再见", "bye"))
    return (_THANKS if thanked else _SMALL_TALK)[language]
