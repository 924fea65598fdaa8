"""ragas, as its pages show: the metrics of `ragas.metrics.collections` on one client.

Its `abatch_score` has no limit: 500 calls in flight here, which costs it a third more CPU and gains no wall
time. So `ascore` is called with as many at once as the other tools have. The faults meet `abatch_score`, as
shipped, then the same calls with each failure kept from the others.
"""

import asyncio
import logging
import warnings
from importlib.metadata import version
from typing import Any

import harness

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

import openai  # noqa: E402 - warnings are silenced first
from ragas.embeddings.base import embedding_factory  # noqa: E402
from ragas.llms import llm_factory  # noqa: E402
from ragas.metrics import collections as ragas  # noqa: E402

FIELDS = {
    "answer_correctness": ("user_input", "response", "reference"),
    "answer_relevancy": ("user_input", "response"),
    "faithfulness": ("user_input", "response", "retrieved_contexts"),
    "context_precision": ("user_input", "reference", "retrieved_contexts"),
    "context_recall": ("user_input", "retrieved_contexts", "reference"),
}


def run(graded: list[dict[str, Any]], job: dict[str, Any], one: dict[str, Any]) -> harness.Scores:
    """All metrics at once."""
    return asyncio.run(_run(graded, job, shipped=one.get("shipped", False)))


async def _run(graded: list[dict[str, Any]], job: dict[str, Any], *, shipped: bool) -> harness.Scores:
    client = openai.AsyncOpenAI(base_url=job["url"], api_key="unused")
    llm = llm_factory("gpt-4o-mini", client=client)
    embeddings = embedding_factory("openai", model="text-embedding-3-small", client=client)
    metrics = {
        "answer_correctness": ragas.AnswerCorrectness(llm=llm, embeddings=embeddings),
        "answer_relevancy": ragas.AnswerRelevancy(llm=llm, embeddings=embeddings),
        "faithfulness": ragas.Faithfulness(llm=llm),
        "context_precision": ragas.ContextPrecision(llm=llm),
        "context_recall": ragas.ContextRecall(llm=llm),
    }
    rows = [
        {
            "user_input": item["question"],
            "response": item["answer"],
            "reference": item["reference"],
            "retrieved_contexts": item["contexts"],
        }
        for item in graded
    ]

    slots = asyncio.Semaphore(job["concurrency"])

    async def score(name: str, given: dict[str, Any]) -> Any:
        async with slots:
            return await metrics[name].ascore(**given)

    async def column(name: str) -> list[Any]:
        inputs = [{field: row[field] for field in FIELDS[name]} for row in rows]
        if shipped:
            results = await metrics[name].abatch_score(inputs)
        else:
            results = await asyncio.gather(*(score(name, given) for given in inputs), return_exceptions=True)
        return [None if isinstance(result, BaseException) else result.value for result in results]

    columns = await asyncio.gather(*(column(name) for name in harness.CORE))
    return dict(zip(harness.CORE, columns, strict=True))


harness.main(f"ragas {version('ragas')}", run)
