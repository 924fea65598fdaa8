"""DeepEval, as its pages show: `evaluate()` with an OpenAI model; correctness is a GEval, it has no other."""

import logging
import os
import tempfile
import warnings
from importlib.metadata import version
from typing import Any

import harness

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
os.chdir(tempfile.mkdtemp(prefix="deepeval-"))  # it keeps its last run in the current folder

from deepeval import evaluate  # noqa: E402 - settings and folder come first
from deepeval.evaluate.configs import AsyncConfig, DisplayConfig, ErrorConfig  # noqa: E402
from deepeval.metrics import (  # noqa: E402
    AnswerRelevancyMetric,
    ContextualPrecisionMetric,
    ContextualRecallMetric,
    FaithfulnessMetric,
    GEval,
)
from deepeval.models import OpenAIModel  # noqa: E402
from deepeval.test_case import LLMTestCase, SingleTurnParams  # noqa: E402

CRITERIA = "Determine whether the actual output is factually correct based on the expected output."
PARAMS = [SingleTurnParams.INPUT, SingleTurnParams.ACTUAL_OUTPUT, SingleTurnParams.EXPECTED_OUTPUT]


def run(graded: list[dict[str, Any]], job: dict[str, Any], one: dict[str, Any]) -> harness.Scores:
    """All metrics on all cases; as many cases at once as the other tools have calls in flight."""
    model = OpenAIModel(model="gpt-4o", base_url=job["url"], api_key="unused")
    metrics = {
        "answer_correctness": GEval(
            name="Correctness", criteria=CRITERIA, evaluation_params=PARAMS, model=model
        ),
        "answer_relevancy": AnswerRelevancyMetric(model=model),
        "faithfulness": FaithfulnessMetric(model=model),
        "context_precision": ContextualPrecisionMetric(model=model),
        "context_recall": ContextualRecallMetric(model=model),
    }
    cases = [
        LLMTestCase(
            name=str(number),
            input=item["question"],
            actual_output=item["answer"],
            expected_output=item["reference"],
            retrieval_context=item["contexts"],
        )
        for number, item in enumerate(graded)
    ]
    done = evaluate(
        cases,
        list(metrics.values()),
        async_config=AsyncConfig(max_concurrent=job["concurrency"]),
        display_config=DisplayConfig(print_results=False, show_indicator=False, inspect_after_run=False),
        error_config=ErrorConfig(ignore_errors=not one.get("shipped", False)),
    )
    scores: harness.Scores = {name: [None] * len(cases) for name in metrics}
    for result in done.test_results:
        for name, told in zip(metrics, result.metrics_data or [], strict=False):
            scores[name][int(result.name)] = None if told.error else told.score
    return scores


harness.main(f"DeepEval {version('deepeval')}", run)
