"""What the judge client's tests share: requests, a cache, a judge on a fake endpoint."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from fake_openai import FakeOpenAI

from rag_checks import monitor
from rag_checks.judge.client import OpenAIJudge
from rag_checks.protocols import JudgeRequest, Task

T = TypeVar("T")

ANSWER = JudgeRequest(
    task=Task.ANALYSE_ANSWER,
    language="en",
    inputs={"question": "What does lunch cost?", "answer": "Lunch costs 5 euros. It is free on Friday."},
)
REFERENCE = JudgeRequest(
    task=Task.ANALYSE_REFERENCE,
    language="zh",
    inputs={"question": "年假几天？", "reference": "年假25天。需要审批。"},
)
CONTEXTS = JudgeRequest(
    task=Task.CHECK_CONTEXTS,
    language="en",
    inputs={
        "question": "What does lunch cost?",
        "answer": "Lunch costs 5 euros.",
        "reference": "Lunch is free.",
        "contexts": ["Lunch costs 5 euros.", "What is served changes daily.", "The canteen opens at noon."],
        "answer_claims": ["Lunch costs 5 euros.", "Lunch is cheap."],
        "reference_claims": ["Lunch is free."],
        "rate_contexts": True,
    },
)
COMPARE = JudgeRequest(
    task=Task.COMPARE_CLAIMS,
    language="zh",
    inputs={
        "question": "年假几天？",
        "answer": "年假20天。需要审批。",
        "reference": "年假25天。需要审批。",
        "answer_claims": ["年假20天。", "需要审批。"],
        "reference_claims": ["年假25天。", "需要审批。"],
    },
)
TASKS = (ANSWER, REFERENCE, CONTEXTS, COMPARE)


class MemoryCache:
    """A ReplyCache in memory that counts."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, Any]] = {}
        self.hits = 0

    def get(self, key: str) -> dict[str, Any] | None:
        """The stored reply, or None."""
        self.hits += key in self.kept
        return self.kept.get(key)

    def put(self, key: str, reply: dict[str, Any]) -> None:
        """Store unless there."""
        self.kept.setdefault(key, reply)


def open_fake_judge(fake: FakeOpenAI, *, cache: MemoryCache | None = None, **settings: Any) -> OpenAIJudge:
    """A judge on the fake endpoint that hardly waits before it tries again."""
    settings = {"base_url": fake.url, "timeout_s": 5, "deadline_s": 10} | settings
    config = monitor.OpenAIJudge(kind="openai", model="judge-1", **settings)
    return OpenAIJudge(config, cache=cache, environ={"OPENAI_API_KEY": "sk-secret-1"}, first_wait_s=0.01)


def with_judge(judge: OpenAIJudge, use: Callable[[OpenAIJudge], Awaitable[T]]) -> T:
    """Run `use` in an event loop of its own and close the judge."""

    async def run() -> T:
        try:
            return await use(judge)
        finally:
            await judge.close()

    return asyncio.run(run())


def ask(judge: OpenAIJudge, *requests: JudgeRequest) -> list[Any]:
    """The replies (or errors) to requests asked all at once."""

    async def all_at_once(judge: OpenAIJudge) -> list[Any]:
        return await asyncio.gather(*(judge.ask(request) for request in requests), return_exceptions=True)

    return with_judge(judge, all_at_once)


def ask_one(judge: OpenAIJudge, request: JudgeRequest) -> Any:
    """The reply to one request; errors are raised."""
    return with_judge(judge, lambda judge: judge.ask(request))
