"""Metrics of the retrieved contexts that need a judge: context_precision, context_recall."""

from rag_checks.metrics import scoring
from rag_checks.metrics.exam import Exam
from rag_checks.metrics.generation import claim_rows
from rag_checks.metrics.registry import Ask, Outcome, metric, say


def _nothing_retrieved(exam: Exam) -> Outcome:
    return Outcome(0.0, say(exam.language, zh="没有检索到任何段落", en="Nothing was retrieved"))


@metric(
    "context_precision",
    version="1",
    stage="retrieval",
    needs=("response", "retrieved_contexts"),
    asks=(Ask.CONTEXT_USE,),
    answerable_only=True,
)
async def context_precision(exam: Exam) -> Outcome:
    """Average precision of the ranked contexts: are the useful ones on top?

    A context is useful when it helps to arrive at the reference or, for an item without one, at the answer.
    Contexts [irrelevant, relevant] give 0.5; none useful gives 0.

    Source: ragas 0.4.3 `ContextPrecision` (with reference) and `ContextUtilization` (without).
    Differs: exactly 1 when all are useful (ragas adds 1e-10 to the denominator); nothing retrieved is 0
    (ragas: error); not applicable when there is neither a reference nor an answer to measure by.
    """
    if exam.nothing_retrieved:
        return _nothing_retrieved(exam)
    if not exam.yardstick:
        reason = say(
            exam.language,
            zh="既无参考答案也无回答，无法判断段落是否有用",
            en="There is neither a reference nor an answer to measure usefulness by",
        )
        return Outcome(None, reason)
    verdicts = (await exam.context_check).contexts
    useful = [verdict.useful for verdict in verdicts]
    rows = [{"id": verdict.id, "useful": verdict.useful, "reason": verdict.reason} for verdict in verdicts]
    reason = say(
        exam.language,
        zh=f"{len(useful)} 个段落中有 {sum(useful)} 个有用",
        en=f"{sum(useful)} of {len(useful)} contexts are useful",
    )
    measured_by = "reference" if exam.reference else "answer"
    return Outcome(scoring.average_precision(useful), reason, {"contexts": rows, "measured_by": measured_by})


@metric(
    "context_recall",
    version="1",
    stage="retrieval",
    needs=("reference", "retrieved_contexts"),
    asks=(Ask.REFERENCE, Ask.REFERENCE_SUPPORT),
    answerable_only=True,
)
async def context_recall(exam: Exam) -> Outcome:
    """Share of the reference's claims that the retrieved contexts support.

    Source: ragas 0.4.3 `ContextRecall`.
    Differs: nothing retrieved is 0; a reference without claims is not applicable (ragas: NaN); the
    denominator is the claims sent, never the verdicts that came back.
    """
    if exam.nothing_retrieved:
        return _nothing_retrieved(exam)
    claims = await exam.reference_claims
    if not claims:
        return Outcome(
            None, say(exam.language, zh="参考答案没有事实陈述", en="The reference states no facts")
        )
    verdicts = (await exam.context_check).reference_claims
    supported = [verdict.supported for verdict in verdicts]
    reason = say(
        exam.language,
        zh=f"参考答案的 {len(claims)} 条陈述中有 {sum(supported)} 条能在检索段落中找到",
        en=f"{sum(supported)} of {len(claims)} reference claims are found in the retrieved contexts",
    )
    return Outcome(scoring.share(supported), reason, {"claims": claim_rows(claims, verdicts)})
