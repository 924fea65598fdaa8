"""The shared work of grading one case: nothing is asked of the judge twice, whatever the metrics.

The two analyses run first and side by side, then the two checks and the similarities. A judgement that
fails fails for the metrics that read it and for no other: the context check goes on without the claims of
an analysis that failed.
"""

import asyncio
import math
from collections.abc import Collection, Coroutine, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, TypeVar

from rag_checks.errors import JudgeError, JudgeUnavailable
from rag_checks.metrics.registry import Ask
from rag_checks.protocols import (
    AnswerAnalysis,
    ClaimComparison,
    ClaimVerdict,
    ContextCheck,
    ContextVerdict,
    Judge,
    JudgeReply,
    JudgeRequest,
    Output,
    PointVerdict,
    ReferenceAnalysis,
    Task,
    taken_usage,
)
from rag_checks.records import Case, EvalItem, Language, Response, Usage

T = TypeVar("T")
OutputT = TypeVar("OutputT", bound=Output)

# Cosines of unit vectors leave 0..1 by rounding only; anything further out is not a similarity.
_ROUNDING = 1e-6


class Exam:
    """One case on the judge's desk.

    Reading a property that holds a task starts it, once; awaiting it twice asks once. `replies` keeps what
    the judge answered, for usage, identity and flags, `lost` what failed judgements cost; keys are
    `Metric.reads`.
    """

    def __init__(self, case: Case, judge: Judge, asks: Collection[Ask], *, repeat: int = 0) -> None:
        """`asks`: all that the metrics which apply want; it decides what the context check packs.

        `repeat`: which of several judgements of the same answer; each is asked for anew.
        """
        if case.response is None:
            raise ValueError(f"case {case.case_id} has no response to examine")
        self.case = case
        self.item: EvalItem = case.item
        self.response: Response = case.response
        self.language: Language = case.language
        self.question = case.item.user_input
        self.answer = (case.response.response or "").strip()
        self.reference = (case.item.reference or "").strip()
        self.contexts = case.response.retrieved_contexts or ()
        self.replies: dict[str, JudgeReply] = {}
        self.lost: dict[str, Usage] = {}
        self._judge = judge
        self._repeat = repeat
        self._asks = frozenset(asks)
        self._tasks: list[asyncio.Task[Any]] = []

    @property
    def offline(self) -> bool:
        """Whether the judge has no model: then nothing can be asked that words alone do not decide."""
        return self._judge.identity.kind == "offline"

    @property
    def nothing_retrieved(self) -> bool:
        """Whether no passage carries any text: `()`, or only blank ones."""
        return not any(context.strip() for context in self.contexts)

    @property
    def yardstick(self) -> str:
        """What usefulness of a context is measured by: the reference, without one the answer; may be ''."""
        return self.reference or self.answer

    @cached_property
    def analysis(self) -> asyncio.Task[AnswerAnalysis]:
        """The answer's claims, whether it is noncommittal, and the questions it would answer."""
        return self._start(self._analyse_answer())

    @cached_property
    def reference_claims(self) -> asyncio.Task[list[str]]:
        """The claims of the reference."""
        return self._start(self._analyse_reference())

    @cached_property
    def context_check(self) -> asyncio.Task[ContextCheck]:
        """Claims against contexts and usefulness of contexts, in one call."""
        return self._start(self._check_contexts())

    @cached_property
    def comparison(self) -> asyncio.Task[ClaimComparison]:
        """Answer claims against reference claims, both ways."""
        return self._start(self._compare())

    @cached_property
    def similarities(self) -> asyncio.Task[dict[Ask, list[float]]]:
        """All similarities the metrics want, by ask, in one call."""
        return self._start(self._measure_similarity())

    async def close(self) -> None:
        """Cancel what is still being asked (after a fatal error) and wait until it has ended."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._tasks.append(task)
        return task

    async def ask_own(
        self,
        metric: str,
        task: Task,
        expected: type[OutputT],
        inputs: dict[str, Any],
        *,
        language: Language | None = None,
    ) -> OutputT:
        """The judge's output to a task that only this metric wants; once a case.

        `language`: of the instructions, when it is not the case's.

        Raises:
            JudgeError, JudgeUnavailable: as `protocols.Judge.ask`.
        """
        return await self._ask(task, expected, inputs, key=metric, language=language)

    async def _ask(
        self,
        task: Task,
        expected: type[OutputT],
        inputs: dict[str, Any],
        *,
        key: str | None = None,
        language: Language | None = None,
    ) -> OutputT:
        request = JudgeRequest(
            task=task, language=language or self.language, inputs=inputs, repeat=self._repeat
        )
        try:
            reply = await self._judge.ask(request)
        except (JudgeError, JudgeUnavailable) as error:
            self.lost[key or task.value] = taken_usage(error)
            raise
        self.replies[key or task.value] = reply
        if not isinstance(reply.output, expected):
            raise JudgeError(f"the reply to {task} is a {type(reply.output).__name__}", kind="format")
        return reply.output

    async def _analyse_answer(self) -> AnswerAnalysis:
        if not self.answer:
            return AnswerAnalysis(noncommittal=True, claims=[], questions=[])
        inputs: dict[str, Any] = {"question": self.question, "answer": self.answer}
        if self.item.history:
            inputs["history"] = [message.model_dump() for message in self.item.history]
        analysis = await self._ask(Task.ANALYSE_ANSWER, AnswerAnalysis, inputs)
        return AnswerAnalysis(
            noncommittal=analysis.noncommittal,
            claims=_without_blanks(analysis.claims),
            questions=_without_blanks(analysis.questions),
        )

    async def _analyse_reference(self) -> list[str]:
        inputs = {"question": self.question, "reference": self.reference}
        return _without_blanks((await self._ask(Task.ANALYSE_REFERENCE, ReferenceAnalysis, inputs)).claims)

    async def _check_contexts(self) -> ContextCheck:
        answer_claims, reference_claims = await asyncio.gather(
            self._answer_claims_to_check(), self._reference_claims_to_check()
        )
        rate = Ask.CONTEXT_USE in self._asks and bool(self.yardstick)
        inputs: dict[str, Any] = {
            "question": self.question,
            "contexts": list(self.contexts),
            "rate_contexts": rate,
        }
        if answer_claims:
            inputs["answer_claims"] = answer_claims
        if reference_claims:
            inputs["reference_claims"] = reference_claims
        if rate:
            inputs["reference" if self.reference else "answer"] = self.yardstick
        check = await self._ask(Task.CHECK_CONTEXTS, ContextCheck, inputs)
        return ContextCheck(
            answer_claims=in_order(check.answer_claims, len(answer_claims)),
            reference_claims=in_order(check.reference_claims, len(reference_claims)),
            contexts=in_order(check.contexts, len(self.contexts) if rate else 0),
        )

    async def _answer_claims_to_check(self) -> list[str]:
        if Ask.ANSWER_SUPPORT not in self._asks:
            return []
        try:
            return (await self.analysis).claims
        except (JudgeError, JudgeUnavailable):
            return []  # faithfulness, which needs them, reports this error itself

    async def _reference_claims_to_check(self) -> list[str]:
        if Ask.REFERENCE_SUPPORT not in self._asks:
            return []
        try:
            return await self.reference_claims
        except (JudgeError, JudgeUnavailable):
            return []  # context_recall, which needs them, reports this error itself

    async def _compare(self) -> ClaimComparison:
        analysis, reference_claims = await asyncio.gather(self.analysis, self.reference_claims)
        inputs = {
            "question": self.question,
            "answer": self.answer,
            "reference": self.reference,
            "answer_claims": analysis.claims,
            "reference_claims": reference_claims,
        }
        found = await self._ask(Task.COMPARE_CLAIMS, ClaimComparison, inputs)
        return ClaimComparison(
            answer_claims=in_order(found.answer_claims, len(analysis.claims)),
            reference_claims=in_order(found.reference_claims, len(reference_claims)),
        )

    async def _measure_similarity(self) -> dict[Ask, list[float]]:
        pairs: dict[Ask, list[tuple[str, str]]] = {}
        if Ask.REFERENCE_SIMILARITY in self._asks:
            pairs[Ask.REFERENCE_SIMILARITY] = [(self.answer, self.reference)]
        if Ask.QUESTION_SIMILARITY in self._asks:
            questions = await self._questions_to_compare()
            pairs[Ask.QUESTION_SIMILARITY] = [(self.question, question) for question in questions]
        flat = [pair for group in pairs.values() for pair in group]
        values = iter(_checked(await self._judge.similarity(flat, self.language), len(flat)))
        return {ask: list(islice(values, len(group))) for ask, group in pairs.items()}

    async def _questions_to_compare(self) -> list[str]:
        try:
            analysis = await self.analysis
        except (JudgeError, JudgeUnavailable):
            return []  # answer_relevancy, which needs them, reports this error itself
        return [] if analysis.noncommittal else analysis.questions


def _without_blanks(texts: Sequence[str]) -> list[str]:
    return [text for text in texts if text.strip()]


Verdict = TypeVar("Verdict", ClaimVerdict, ContextVerdict, PointVerdict)


def in_order(verdicts: Sequence[Verdict], sent: int) -> list[Verdict]:
    """The verdicts by id. Raises JudgeError(kind="format") unless each id 1..sent is there exactly once."""
    ordered = sorted(verdicts, key=lambda verdict: verdict.id)
    if [verdict.id for verdict in ordered] != list(range(1, sent + 1)):
        raise JudgeError(f"{sent} verdicts expected, one an id; got {len(verdicts)}", kind="format")
    return ordered


def _checked(values: Sequence[float], sent: int) -> list[float]:
    """The similarities, clipped for rounding. Raises JudgeError for a wrong count, NaN, or outside 0..1."""
    if len(values) != sent:
        raise JudgeError(f"{sent} similarities expected; got {len(values)}", kind="format")
    for value in values:
        if not (math.isfinite(value) and -_ROUNDING <= value <= 1 + _ROUNDING):
            raise JudgeError(f"similarity {value} is not within 0..1", kind="out_of_range")
    return [min(1.0, max(0.0, value)) for value in values]
