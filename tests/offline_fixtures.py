"""Helpers of the offline judge's tests: asking it, and the product's answer_correctness."""

import asyncio
import json
from pathlib import Path
from typing import Any

from rag_checks.judge.offline import OfflineJudge
from rag_checks.protocols import JudgeRequest, Task
from rag_checks.text import language_of

DATA = Path(__file__).parent / "data"
JUDGE = OfflineJudge()


def rows(name: str) -> list[dict[str, Any]]:
    """Rows of a labelled sample."""
    return [json.loads(line) for line in (DATA / name).read_bytes().split(b"\n") if line.strip()]


def ask(task: Task, **inputs: Any) -> Any:
    """The judge's output on one task, in the language of its inputs."""
    language = language_of(" ".join(str(value) for value in inputs.values()))
    return asyncio.run(JUDGE.ask(JudgeRequest(task=task, language=language, inputs=inputs))).output


def similarity(first: str, second: str) -> float:
    """Similarity of one pair."""
    return asyncio.run(JUDGE.similarity([(first, second)], "en"))[0]


def correctness(question: str, reference: str, answer: str) -> float:
    """0.75 F1 over claim verdicts + 0.25 similarity; F1 = TP/(TP + 0.5(FP + FN)), 0 without answer claims."""
    claims = ask(Task.ANALYSE_ANSWER, question=question, answer=answer).claims
    expected = ask(Task.ANALYSE_REFERENCE, question=question, reference=reference).claims
    verdicts = ask(
        Task.COMPARE_CLAIMS,
        question=question,
        answer=answer,
        reference=reference,
        answer_claims=claims,
        reference_claims=expected,
    )
    hits = sum(one.supported for one in verdicts.answer_claims)
    wrong = len(claims) - hits + sum(not one.supported for one in verdicts.reference_claims)
    return 0.75 * (hits / (hits + 0.5 * wrong) if hits else 0.0) + 0.25 * similarity(answer, reference)
