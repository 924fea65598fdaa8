"""A scripted judge and short builders for the tests of the metrics."""

import asyncio
from collections.abc import Sequence
from typing import Any

from rag_checks import metrics
from rag_checks.protocols import (
    AnswerAnalysis,
    CitationCheck,
    ClaimComparison,
    ClaimVerdict,
    ContextCheck,
    ContextVerdict,
    JudgeReply,
    JudgeRequest,
    ReferenceAnalysis,
    Task,
)
from rag_checks.records import Case, EvalItem, JudgeIdentity, Language, Response, Score, Usage

IDENTITY = JudgeIdentity(kind="openai", requested_model="scripted", prompt_hash="p0")


def identity_for(task: Task) -> JudgeIdentity:
    """The identity a reply to that task carries: one a task, so tests can tell them apart."""
    return IDENTITY.model_copy(update={"returned_model": f"model-{task}"})


class ScriptedJudge:
    """Answers from a script and records what it was asked.

    Claims starting with "+" are supported by everything, contexts starting with "+" are useful. A script
    entry of a task is an output, or an exception to raise. `similar` is a value for every pair, a list, or
    an exception.
    """

    def __init__(
        self,
        *,
        claims: Sequence[str] = ("+a",),
        reference_claims: Sequence[str] = ("+r",),
        questions: Sequence[str] = ("q?",),
        noncommittal: bool = False,
        similar: Any = 1.0,
        script: dict[Task, Any] | None = None,
        flags: tuple[str, ...] = (),
        delay: float = 0,
    ) -> None:
        self.script: dict[Task, Any] = {
            Task.ANALYSE_ANSWER: AnswerAnalysis(
                noncommittal=noncommittal, claims=list(claims), questions=list(questions)
            ),
            Task.ANALYSE_REFERENCE: ReferenceAnalysis(claims=list(reference_claims)),
        } | (script or {})
        self.similar = similar
        self.flags = flags
        self.delay = delay
        self.requests: list[JudgeRequest] = []
        self.pairs: list[list[tuple[str, str]]] = []
        self.running = self.peak = self.cancelled = 0
        self.answered = self.answered_before_similarity = 0

    @property
    def identity(self) -> JudgeIdentity:
        """Who would grade now."""
        return IDENTITY

    def asked(self, task: Task) -> dict[str, Any]:
        """The inputs of the only request of that task."""
        [inputs] = [request.inputs for request in self.requests if request.task == task]
        return inputs

    @property
    def tasks(self) -> list[Task]:
        """What was asked, in order."""
        return [request.task for request in self.requests]

    async def ask(self, request: JudgeRequest) -> JudgeReply:
        """Answer from the script; the checks by the plus signs."""
        self.requests.append(request)
        await self._work()
        output = self.script.get(request.task) or verdicts_for(request)
        if isinstance(output, Exception):
            raise output
        return JudgeReply(
            output=output,
            identity=identity_for(request.task),
            usage=Usage(calls=1, prompt_tokens=10 ** list(Task).index(request.task)),
            flags=self.flags,
        )

    async def similarity(self, pairs: Sequence[tuple[str, str]], language: Language) -> list[float]:
        """Answer from `similar`."""
        self.pairs.append(list(pairs))
        self.answered_before_similarity = self.answered
        await self._work()
        if isinstance(self.similar, Exception):
            raise self.similar
        return list(self.similar) if isinstance(self.similar, list) else [self.similar] * len(pairs)

    async def _work(self) -> None:
        self.running += 1
        self.peak = max(self.peak, self.running)
        try:
            await asyncio.sleep(self.delay)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1
        self.answered += 1

    async def close(self) -> None:
        """Nothing to free."""


def claim_verdicts(claims: Sequence[str]) -> list[ClaimVerdict]:
    """One verdict a claim, by the plus signs."""
    return [
        ClaimVerdict(id=place, reason=f"because {claim}", supported=claim.startswith("+"))
        for place, claim in enumerate(claims, start=1)
    ]


def verdicts_for(request: JudgeRequest) -> Any:
    """The reply to one of the checks, by the plus signs."""
    inputs = request.inputs
    answer = claim_verdicts(inputs.get("answer_claims", []))
    reference = claim_verdicts(inputs.get("reference_claims", []))
    if request.task == Task.COMPARE_CLAIMS:
        return ClaimComparison(answer_claims=answer, reference_claims=reference)
    if request.task == Task.CHECK_CITATIONS:
        cited = [inputs["contexts"][one["context"] - 1] for one in inputs["citations"]]
        return CitationCheck(citations=claim_verdicts(cited))
    contexts = [
        ContextVerdict(id=place, reason=f"because {context}", useful=context.startswith("+"))
        for place, context in enumerate(inputs["contexts"] if inputs["rate_contexts"] else [], start=1)
    ]
    return ContextCheck(answer_claims=answer, reference_claims=reference, contexts=contexts)


def make_case(
    *,
    answer: str | None = "The answer.",
    question: str = "How long is the leave?",
    contexts: Sequence[str] | None = ("+one", "two"),
    ids: Sequence[str] | None = None,
    intent: str | None = None,
    error: str | None = None,
    error_kind: str | None = None,
    language: Language = "en",
    **item: Any,
) -> Case:
    """A case with a response; keyword arguments that are not of the response go to the item."""
    return Case(
        case_id="golden:i1",
        source="golden",
        item=EvalItem(item_id="i1", user_input=question, **item),
        response=Response(
            response=answer,
            retrieved_contexts=None if contexts is None else tuple(contexts),
            retrieved_context_ids=None if ids is None else tuple(ids),
            intent=intent,
            error=error,
            error_kind=error_kind,
        ),
        language=language,
    )


def grade(case: Case, *names: str, judge: Any = None) -> dict[str, Score]:
    """Scores by metric name; without names, of the metrics graded by default."""
    wanted = [metrics.get(name) for name in names] or metrics.defaults()
    scores = asyncio.run(metrics.grade_case("run", case, wanted, judge or ScriptedJudge()))
    assert [score.metric for score in scores] == [metric.name for metric in wanted]
    return {score.metric: score for score in scores}


def grade_one(case: Case, name: str, judge: Any = None) -> Score:
    """The score of one metric asked alone."""
    return grade(case, name, judge=judge)[name]
