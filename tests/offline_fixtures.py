"""Helpers of the offline judge's tests: asking it, grading with it, and a wrapper that unpacks its work."""

import asyncio
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rag_checks.judge import splitting
from rag_checks.judge.offline import OfflineJudge
from rag_checks.metrics import REGISTRY, get
from rag_checks.metrics.grading import grade_case
from rag_checks.protocols import (
    AnswerAnalysis,
    ClaimComparison,
    ClaimVerdict,
    ContextCheck,
    ContextVerdict,
    Judge,
    JudgeReply,
    JudgeRequest,
    ReferenceAnalysis,
    Task,
)
from rag_checks.records import Case, EvalItem, JudgeIdentity, Language, Response, Score, Usage
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


CORE = ("faithfulness", "answer_relevancy", "answer_correctness", "context_precision", "context_recall")


def case(question: str, answer: str, reference: str | None, contexts: Sequence[str] | None) -> Case:
    """One case as the product grades it."""
    return Case(
        case_id="golden:1",
        source="golden",
        item=EvalItem(item_id="1", user_input=question, reference=reference),
        response=Response(response=answer, retrieved_contexts=None if contexts is None else tuple(contexts)),
        language=language_of(question + answer),
    )


def graded(judge: Judge, one: Case) -> dict[str, Score]:
    """The five core metrics of a case."""
    metrics = [get(name, REGISTRY) for name in CORE]
    return {score.metric: score for score in asyncio.run(grade_case("run", one, metrics, judge))}


class HashJudge:
    """Deterministic nonsense: every verdict is drawn from a hash of the claim and one context or text.

    A claim is supported when any context supports it, as the tasks say; so it must not matter how its work is
    packed.
    """

    identity = JudgeIdentity(kind="openai", requested_model="hash", prompt_hash="0")

    async def ask(self, request: JudgeRequest) -> JudgeReply:
        """One task."""
        inputs = request.inputs
        output: Any
        if request.task is Task.ANALYSE_ANSWER:
            claims = inputs["answer"].split()
            output = AnswerAnalysis(noncommittal=not claims, claims=claims, questions=claims[:2])
        elif request.task is Task.ANALYSE_REFERENCE:
            output = ReferenceAnalysis(claims=inputs["reference"].split())
        else:
            output = self._verdicts(request.task, inputs)
        return JudgeReply(output=output, identity=self.identity, usage=Usage(calls=1))

    def _verdicts(self, task: Task, inputs: dict[str, Any]) -> Any:
        against = {
            "answer_claims": [inputs.get("reference", "")],
            "reference_claims": [inputs.get("answer", "")],
        }
        if task is Task.CHECK_CONTEXTS:
            against = dict.fromkeys(against, inputs["contexts"])
        verdicts = {
            name: [
                ClaimVerdict(id=at, reason="", supported=any(chance(claim, text) for text in texts))
                for at, claim in enumerate(inputs.get(name, ()), start=1)
            ]
            for name, texts in against.items()
        }
        if task is Task.COMPARE_CLAIMS:
            return ClaimComparison(**verdicts)
        yardstick = inputs.get("reference") or inputs.get("answer") or ""
        rated = inputs["contexts"] if inputs["rate_contexts"] else ()
        useful = [
            ContextVerdict(id=at, reason="", useful=chance(yardstick, text))
            for at, text in enumerate(rated, start=1)
        ]
        return ContextCheck(**verdicts, contexts=useful)

    async def similarity(self, pairs: Sequence[tuple[str, str]], language: Language) -> list[float]:
        """Half or one, by the pair."""
        return [0.5 + 0.5 * chance(first, second) for first, second in pairs]

    async def close(self) -> None:
        """Nothing to free."""


def chance(*texts: str) -> bool:
    """A fixed coin toss for these texts."""
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).digest()[0] < 128


class Unpacked:
    """Asks another judge the same work in the smallest pieces: one claim, one context, one pair a request."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge

    @property
    def identity(self) -> JudgeIdentity:
        """The other judge's."""
        return self.judge.identity

    async def ask(self, request: JudgeRequest) -> JudgeReply:
        """A check is split into claims and contexts, a comparison into claims; analyses go as they are."""
        if request.task not in (Task.CHECK_CONTEXTS, Task.COMPARE_CLAIMS):
            return await self.judge.ask(request)
        shared = {key: value for key, value in request.inputs.items() if not key.endswith("_claims")}
        verdicts: dict[str, list[ClaimVerdict]] = {"answer_claims": [], "reference_claims": []}
        reply = None
        for name, found in verdicts.items():
            for claim in request.inputs.get(name, ()):
                no_claims = {} if request.task is Task.CHECK_CONTEXTS else {key: [] for key in verdicts}
                inputs = shared | no_claims | {name: [claim], "rate_contexts": False}
                reply = await self._in_parts(request.model_copy(update={"inputs": inputs}))
                (verdict,) = getattr(reply.output, name)
                found.append(verdict.model_copy(update={"id": len(found) + 1}))
        if request.task is Task.COMPARE_CLAIMS:
            assert reply is not None
            return reply.model_copy(update={"output": ClaimComparison(**verdicts)})
        reply = await self._in_parts(request.model_copy(update={"inputs": shared}))
        return reply.model_copy(update={"output": reply.output.model_copy(update=verdicts)})

    async def _in_parts(self, request: JudgeRequest) -> JudgeReply:
        """One request a context, merged as `judge.splitting` does for a small context window."""
        if request.task is Task.COMPARE_CLAIMS:
            return await self.judge.ask(request)
        parts = [
            request.model_copy(update={"inputs": request.inputs | {"contexts": [context]}})
            for context in request.inputs["contexts"]
        ]
        return splitting.merge(parts, [await self.judge.ask(part) for part in parts])

    async def similarity(self, pairs: Sequence[tuple[str, str]], language: Language) -> list[float]:
        """One call a pair."""
        return [(await self.judge.similarity([pair], language))[0] for pair in pairs]

    async def close(self) -> None:
        """Nothing to free."""
