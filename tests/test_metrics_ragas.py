"""The same verdicts give the same numbers as ragas 0.4.3; where not, the docstring says so and this shows it.

The fixture holds random verdicts and what ragas's own scoring code made of them: scripts/ragas_parity.py.
"""

import asyncio
import json
import math
from pathlib import Path
from typing import Any

import pytest
from metrics_fixtures import ScriptedJudge, make_case

from rag_checks.metrics import grade_case
from rag_checks.metrics.catalogue import catalogue
from rag_checks.monitor import Monitor
from rag_checks.protocols import ClaimComparison, ClaimVerdict, ContextCheck, ContextVerdict, Task
from rag_checks.records import Score, ScoreStatus

FIXTURE = json.loads((Path(__file__).parent / "data" / "ragas_parity.json").read_text(encoding="utf-8"))
CASES: list[dict[str, Any]] = FIXTURE["cases"]
NAMES = (
    *("faithfulness", "answer_relevancy", "answer_correctness", "answer_similarity", "factual_correctness"),
    *("noise_robustness", "context_precision", "context_recall", "precision", "recall"),
)


def claims(held: list[bool]) -> list[ClaimVerdict]:
    """Verdicts by position."""
    return [ClaimVerdict(id=at, reason="r", supported=one) for at, one in enumerate(held, 1)]


def graded(case: dict[str, Any], **options: dict[str, Any]) -> dict[str, Score]:
    """Our scores of a case's verdicts."""
    answer, reference = case["claim_in_reference"], case["reference_in_answer"]
    useful = [ContextVerdict(id=at, reason="r", useful=one) for at, one in enumerate(case["useful"], 1)]
    judge = ScriptedJudge(
        claims=[f"a{number}" for number in range(len(answer))],
        reference_claims=[f"r{number}" for number in range(len(reference))],
        questions=["q1", "q2", "q3"],
        script={
            Task.CHECK_CONTEXTS: ContextCheck(
                answer_claims=claims([any(row) for row in case["claim_in_context"]]),
                reference_claims=claims([any(row) for row in case["reference_in_context"]]),
                contexts=useful,
            ),
            Task.COMPARE_CLAIMS: ClaimComparison(
                answer_claims=claims(answer), reference_claims=claims(reference)
            ),
        },
    )
    judge.similar = [case["similarity"], *case["question_similarities"]]
    known = catalogue(Monitor(monitor="any", metric_options=options))
    item = make_case(
        reference="The reference.",
        contexts=[f"context {number}" for number in range(len(useful))],
    )
    ids = make_case(contexts=None, ids=case["retrieved_ids"], reference_context_ids=tuple(case["gold_ids"]))
    scores = asyncio.run(grade_case("run", item, [known[name] for name in NAMES[:8]], judge))
    scores += asyncio.run(grade_case("run", ids, [known[name] for name in NAMES[8:]], judge))
    assert {score.status for score in scores} == {ScoreStatus.OK}
    return {score.metric: score for score in scores}


@pytest.mark.parametrize("number", range(len(CASES)))
def test_our_numbers_are_those_of_ragas(number: int) -> None:
    """To 1e-9, apart from what ragas adds to a denominator or rounds."""
    case = CASES[number]
    theirs, ours = case["ragas"], {name: score.value for name, score in graded(case).items()}
    same = ("faithfulness", "answer_relevancy", "answer_correctness", "context_recall", "precision", "recall")
    for name in same:
        assert ours[name] == pytest.approx(theirs[name], abs=1e-9), name
    assert ours["answer_similarity"] == pytest.approx(case["similarity"], abs=1e-9)
    # ragas divides by the number of useful contexts + 1e-10.
    assert ours["context_precision"] == pytest.approx(theirs["context_precision"], abs=1e-9)
    noise = theirs["noise_relevant"] + theirs["noise_irrelevant"]
    assert ours["noise_robustness"] == pytest.approx(1 - noise, abs=1e-9)


@pytest.mark.parametrize("mode", ["f1", "precision", "recall"])
def test_factual_correctness_is_ragas_s_before_rounding(mode: str) -> None:
    """Ragas rounds to two digits (and adds 1e-8 to a denominator); we do not."""
    key = mode if mode == "f1" else f"{mode}_of_facts"
    for case in CASES:
        value = graded(case, factual_correctness={"mode": mode})["factual_correctness"].value
        assert value is not None
        assert abs(value - case["ragas"][key]) <= 0.005 + 1e-7
    if mode == "f1":
        exact = [case["ragas"]["answer_f1"] for case in CASES]
        ours = [graded(case)["factual_correctness"].value for case in CASES]
        assert ours == pytest.approx(exact, abs=1e-9)


def test_the_fixture_holds_both_ends_and_what_lies_between() -> None:
    """A parity over nothing but ones would show nothing."""
    for key in CASES[0]["ragas"]:
        values = [case["ragas"][key] for case in CASES]
        assert all(math.isfinite(value) for value in values)
        assert len({round(value, 6) for value in values}) >= 3, key
