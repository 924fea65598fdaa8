#!/usr/bin/env python3
"""Give the same verdicts to ragas's own scoring code and keep its numbers, for tests/test_metrics_ragas.py.

    python -m venv ragas-env && ragas-env/bin/pip install ragas==0.4.3
    ragas-env/bin/python scripts/ragas_parity.py > tests/data/ragas_parity.json

Verdicts are drawn at random from a seed; only the code that turns verdicts into numbers is called, no model.
"""

import asyncio
import json
import random
import sys
from typing import Any

import numpy as np
import ragas
from ragas import SingleTurnSample
from ragas.metrics import (
    AnswerCorrectness,
    ContextPrecision,
    ContextRecall,
    FactualCorrectness,
    Faithfulness,
    IDBasedContextPrecision,
    IDBasedContextRecall,
    NoiseSensitivity,
    ResponseRelevancy,
)
from ragas.metrics._answer_correctness import ClassificationWithReason, StatementsWithReason
from ragas.metrics._answer_relevance import ResponseRelevanceOutput
from ragas.metrics._context_precision import Verification
from ragas.metrics._context_recall import ContextRecallClassification
from ragas.metrics._faithfulness import NLIStatementOutput, StatementFaithfulnessAnswer

CASES = 60


class Embeddings:
    """Unit vectors whose cosine with the question is what the case says."""

    def __init__(self, cosines: list[float]) -> None:
        self.cosines = cosines

    def embed_query(self, _text: str) -> list[float]:
        """The question."""
        return [1.0, 0.0]

    def embed_documents(self, _texts: list[str]) -> list[list[float]]:
        """The questions made from the answer."""
        return [[cosine, (1 - cosine**2) ** 0.5] for cosine in self.cosines]


def draw(rng: random.Random) -> dict[str, Any]:
    """One case: verdicts of claims and contexts, similarities, ids."""

    def flags(count: int) -> list[bool]:
        return [rng.random() < 0.6 for _ in range(count)]  # noqa: PLR2004 - both verdicts often

    answer, reference, contexts = rng.randint(1, 6), rng.randint(1, 5), rng.randint(1, 5)
    return {
        "claim_in_context": [flags(contexts) for _ in range(answer)],
        "claim_in_reference": flags(answer),
        "reference_in_answer": flags(reference),
        "reference_in_context": [flags(contexts) for _ in range(reference)],
        "useful": flags(contexts),
        "similarity": round(rng.random(), 6),
        "question_similarities": [round(rng.random(), 6) for _ in range(3)],
        "retrieved_ids": rng.sample("abcdefgh", rng.randint(1, 6)),
        "gold_ids": rng.sample("abcdefgh", rng.randint(1, 4)),
    }


def scored(case: dict[str, Any]) -> dict[str, float]:
    """What ragas makes of it."""
    grounded = [any(row) for row in case["claim_in_context"]]
    recalled = [any(row) for row in case["reference_in_context"]]
    right = np.array(case["claim_in_reference"])
    statement = {"statement": "s", "reason": "r"}
    f1 = AnswerCorrectness()._compute_statement_presence(classified(case))  # noqa: SLF001 - what it computes with
    noise = {
        "retrieved2ground_truth": np.array(case["reference_in_context"]),
        "retrieved2answer": np.array(case["claim_in_context"]),
        "ground_truth2answer": right,
    }
    questions = [
        ResponseRelevanceOutput(question=f"q{number}", noncommittal=0)
        for number in range(len(case["question_similarities"]))
    ]
    relevancy = ResponseRelevancy(embeddings=Embeddings(case["question_similarities"]))
    ids = SingleTurnSample(
        retrieved_context_ids=case["retrieved_ids"], reference_context_ids=case["gold_ids"]
    )
    return {
        "faithfulness": Faithfulness()._compute_score(  # noqa: SLF001
            NLIStatementOutput(
                statements=[StatementFaithfulnessAnswer(**statement, verdict=int(one)) for one in grounded]
            )
        ),
        "context_recall": ContextRecall()._compute_score(  # noqa: SLF001
            [ContextRecallClassification(**statement, attributed=int(one)) for one in recalled]
        ),
        "context_precision": ContextPrecision()._calculate_average_precision(  # noqa: SLF001
            [Verification(reason="r", verdict=int(one)) for one in case["useful"]]
        ),
        "answer_f1": f1,
        "answer_correctness": float(
            np.average([f1, case["similarity"]], weights=AnswerCorrectness().weights)
        ),
        "noise_relevant": NoiseSensitivity(mode="relevant")._compute_score(noise),  # noqa: SLF001
        "noise_irrelevant": NoiseSensitivity(mode="irrelevant")._compute_score(noise),  # noqa: SLF001
        "answer_relevancy": float(relevancy._calculate_score(questions, {"user_input": "q"})),  # noqa: SLF001
        "precision": asyncio.run(IDBasedContextPrecision().single_turn_ascore(ids)),
        "recall": asyncio.run(IDBasedContextRecall().single_turn_ascore(ids)),
        **{mode: factual(case, mode) for mode in ("f1", "precision_of_facts", "recall_of_facts")},
    }


def factual(case: dict[str, Any], mode: str) -> float:
    """FactualCorrectness with its judge replaced by the case's verdicts; rounded to two digits by ragas."""

    class Scripted(FactualCorrectness):
        async def decompose_and_verify_claims(self, _reference: str, response: str, _callbacks: Any) -> Any:
            which = "claim_in_reference" if response == "answer" else "reference_in_answer"
            return np.array(case[which])

    metric = Scripted(mode=mode.removesuffix("_of_facts"), llm=object())
    sample = SingleTurnSample(user_input="q", response="answer", reference="reference")
    return float(asyncio.run(metric._single_turn_ascore(sample, [])))  # noqa: SLF001


def classified(case: dict[str, Any]) -> ClassificationWithReason:
    """The claims as true positives, false positives, false negatives."""
    one = StatementsWithReason(statement="s", reason="r")
    right = sum(case["claim_in_reference"])
    wrong = len(case["claim_in_reference"]) - right
    missed = case["reference_in_answer"].count(False)
    return ClassificationWithReason(TP=[one] * right, FP=[one] * wrong, FN=[one] * missed)


def main() -> None:
    """Write the fixture."""
    rng = random.Random(20261201)
    cases = [draw(rng) for _ in range(CASES)]
    json.dump(
        {
            "source": f"scoring code of ragas {ragas.__version__} (Apache-2.0); scripts/ragas_parity.py",
            "cases": [case | {"ragas": scored(case)} for case in cases],
        },
        sys.stdout,
        separators=(",", ":"),
    )


if __name__ == "__main__":
    main()
