"""RAG Checks as a night runs it: `evaluation.evaluate` over planned cases, a store for scores and replies."""

import asyncio
import tempfile
from collections import Counter
from datetime import UTC, date, datetime
from importlib.metadata import version
from typing import Any

import harness

from rag_checks import metrics as registry
from rag_checks.evaluation import evaluate
from rag_checks.judge import open_judge
from rag_checks.monitor import OpenAIJudge
from rag_checks.records import Case, EvalItem, EvalRun, Response
from rag_checks.store import Store

NOW = datetime(2026, 12, 1, 2, tzinfo=UTC)
_folder = tempfile.TemporaryDirectory(prefix="rag-checks-")
_metrics = [registry.get(name) for name in harness.CORE]


def run(graded: list[dict[str, Any]], job: dict[str, Any], one: dict[str, Any]) -> harness.Scores:
    """One night; passes with the same `store` share it, as nights do. Its statuses are added to the pass."""
    with Store.open(f"sqlite:///{_folder.name}/{one.get('store', one['name'])}.db") as store:
        return asyncio.run(_run(graded, job, one, store))


async def _run(
    graded: list[dict[str, Any]], job: dict[str, Any], one: dict[str, Any], store: Store
) -> harness.Scores:
    run_id = one["name"]
    cases = [_case(number, item) for number, item in enumerate(graded)]
    night = EvalRun(
        eval_run_id=run_id,
        monitor="bench",
        kind="nightly",
        night=date(2026, 11, 30),
        window_start=NOW,
        window_end=NOW,
        created_at=NOW,
    )
    store.save_run(night)
    store.plan_cases(run_id, cases)
    config = OpenAIJudge(
        kind="openai",
        model="gpt-4o-mini",
        base_url=job["url"],
        concurrency=job["concurrency"],
        embedding_model="text-embedding-3-small" if one.get("embeddings") else None,
    )
    judge = open_judge(config, cache=store.reply_cache())
    try:
        outcome = await evaluate(
            run_id,
            cases,
            metrics=_metrics,
            judge=judge,
            bot=None,
            sink=store,
            scored={},
            concurrency=job["concurrency"],
            deadline_s=3600,
        )
    finally:
        await judge.close()
    if outcome.error is not None:
        raise outcome.error
    found: harness.Scores = {name: [None] * len(cases) for name in harness.CORE}
    scores = store.scores(run_id)
    one["statuses"] = Counter(score.status for score in scores)
    for score in scores:
        found[score.metric][int(score.case_id.removeprefix("golden:"))] = score.value
    return found


def _case(number: int, item: dict[str, Any]) -> Case:
    return Case(
        case_id=f"golden:{number}",
        source="golden",
        language=item["language"],
        item=EvalItem(item_id=str(number), user_input=item["question"], reference=item["reference"]),
        response=Response(response=item["answer"], retrieved_contexts=tuple(item["contexts"])),
    )


harness.main(f"RAG Checks {version('rag-checks')}", run)
