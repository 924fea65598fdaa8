"""Metrics of what the bot wrote: whether it is grounded, to the point, right, and undisturbed by noise."""

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from rag_checks.errors import JudgeError
from rag_checks.metrics import scoring
from rag_checks.metrics.exam import Exam
from rag_checks.metrics.registry import Ask, Options, Outcome, metric, say
from rag_checks.protocols import ClaimVerdict


def claim_rows(claims: Sequence[str], verdicts: Sequence[ClaimVerdict]) -> list[dict[str, Any]]:
    """Claims with their verdicts and reasons, as evidence."""
    return [
        {"claim": claim, "supported": verdict.supported, "reason": verdict.reason}
        for claim, verdict in zip(claims, verdicts, strict=True)
    ]


@metric(
    "faithfulness",
    version="1",
    stage="generation",
    needs=("response", "retrieved_contexts"),
    asks=(Ask.ANSWER, Ask.ANSWER_SUPPORT),
)
async def faithfulness(exam: Exam) -> Outcome:
    """Share of the answer's claims that the retrieved contexts support.

    Source: Es et al., RAGAS (2023), arXiv:2309.15217, section 3; formula of ragas 0.4.3 `Faithfulness`.
    Differs: an answer without claims (a refusal, an empty answer) is not applicable (ragas: NaN); claims
    with nothing retrieved score 0 (ragas: error); the denominator is the claims sent, never the verdicts
    that came back.
    """
    claims = (await exam.analysis).claims
    if not claims:
        return Outcome(None, say(exam.language, zh="回答没有事实陈述", en="The answer states no facts"))
    if exam.nothing_retrieved:
        rows = [{"claim": claim, "supported": False, "reason": ""} for claim in claims]
        reason = say(
            exam.language,
            zh=f"没有检索到任何段落，{len(claims)} 条陈述均无依据",
            en=f"Nothing was retrieved, so none of {len(claims)} claims is supported",
        )
        return Outcome(0.0, reason, {"claims": rows})
    verdicts = (await exam.context_check).answer_claims
    supported = [verdict.supported for verdict in verdicts]
    reason = say(
        exam.language,
        zh=f"{len(claims)} 条陈述中有 {sum(supported)} 条得到检索段落支持",
        en=f"{sum(supported)} of {len(claims)} claims are supported by the retrieved contexts",
    )
    return Outcome(scoring.share(supported), reason, {"claims": claim_rows(claims, verdicts)})


@metric(
    "answer_relevancy",
    version="1",
    stage="generation",
    needs=("response",),
    asks=(Ask.ANSWER, Ask.QUESTION_SIMILARITY),
)
async def answer_relevancy(exam: Exam) -> Outcome:
    """Mean similarity of the question to the questions the answer would answer; 0 when it is noncommittal.

    Source: Es et al., RAGAS (2023), arXiv:2309.15217, section 3; formula of ragas 0.4.3 `AnswerRelevancy`
    (ResponseRelevancy).
    Differs: the judge names one to three questions in one reply instead of three sampled replies with one
    each, so one flag says whether the answer is noncommittal (ragas: only when all three say so);
    similarities are those of the judge, within 0..1 (ragas: raw cosines, which may be negative or NaN); a
    committal answer without any question is a judge error (ragas: 0); refusing an item known to be
    unanswerable is right and not applicable (ragas: 0).
    """
    analysis = await exam.analysis
    if analysis.noncommittal:
        evidence = {"noncommittal": True, "questions": []}
        if not exam.answer:
            return Outcome(0.0, say(exam.language, zh="回答为空", en="The answer is empty"), evidence)
        if exam.item.answerable is False:
            reason = say(
                exam.language, zh="问题本就无法回答，拒答是对的", en="Refusing is right: it is unanswerable"
            )
            return Outcome(None, reason, evidence)
        reason = say(exam.language, zh="回答回避了问题", en="The answer evades the question")
        return Outcome(0.0, reason, evidence)
    if not analysis.questions:
        raise JudgeError("no question was generated for a committal answer", kind="format")
    values = (await exam.similarities)[Ask.QUESTION_SIMILARITY]
    rows = [
        {"question": question, "similarity": value}
        for question, value in zip(analysis.questions, values, strict=True)
    ]
    value = scoring.mean(values)
    reason = say(
        exam.language,
        zh=f"与由回答反推的 {len(values)} 个问题的平均相似度为 {value:.2f}",
        en=f"Mean similarity to {len(values)} questions made from the answer is {value:.2f}",
    )
    return Outcome(value, reason, {"noncommittal": False, "questions": rows})


class Weights(Options):
    """What answer correctness is made of."""

    factual: float = Field(0.75, ge=0, le=1, description="Share of factual F1; the rest is similarity.")


@metric(
    "answer_correctness",
    version="1",
    stage="generation",
    needs=("response", "reference"),
    asks=(Ask.ANSWER, Ask.REFERENCE, Ask.COMPARISON, Ask.REFERENCE_SIMILARITY),
    answerable_only=True,
    options=Weights(),
)
async def answer_correctness(exam: Exam, weights: Weights) -> Outcome:
    """0.75·F1 + 0.25·similarity of answer and reference; F1 over the claims of both.

    TP: answer claims the reference supports, FP: answer claims it does not, FN: reference claims the answer
    does not state. Claims {A, B} against {A, C} give F1 0.5.

    The option `factual` is the weight of F1, 0.75 when left out.

    Source: ragas 0.4.3 `AnswerCorrectness` with its default weights (TP is counted on the answer's side
    there too).
    Differs: an answer without claims (a refusal, an empty answer) has F1 0 (ragas collections: 1); a
    reference without claims is not applicable (ragas: F1 1); every claim sent gets exactly one verdict
    (ragas's classifier may drop some); similarity is within 0..1 (ragas: raw cosine). An empty answer
    scores 0 without asking.
    """
    if not exam.answer:
        evidence = {"f1": 0.0, "similarity": 0.0, "answer_claims": [], "reference_claims": []}
        return Outcome(0.0, say(exam.language, zh="回答为空", en="The answer is empty"), evidence)
    analysis, reference_claims = await asyncio.gather(exam.analysis, exam.reference_claims)
    if not reference_claims:
        return Outcome(
            None, say(exam.language, zh="参考答案没有事实陈述", en="The reference states no facts")
        )
    similarities = exam.similarities  # started before the comparison is awaited: both run side by side
    f1, evidence = await _factual_f1(exam, analysis.claims, reference_claims)
    similarity = (await similarities)[Ask.REFERENCE_SIMILARITY][0]
    reason = say(
        exam.language,
        zh=f"事实 F1 为 {f1:.2f}，与参考答案的相似度为 {similarity:.2f}",
        en=f"Factual F1 is {f1:.2f}, similarity to the reference {similarity:.2f}",
    )
    return Outcome(
        scoring.correctness(f1, similarity, weights.factual),
        reason,
        {"f1": f1, "similarity": similarity, **evidence},
    )


@metric(
    "answer_similarity",
    version="1",
    stage="generation",
    needs=("response", "reference"),
    asks=(Ask.REFERENCE_SIMILARITY,),
    answerable_only=True,
    by_default=False,
)
async def answer_similarity(exam: Exam) -> Outcome:
    """Similarity of answer and reference; 0 for an empty answer.

    Source: ragas 0.4.3 `SemanticSimilarity` (AnswerSimilarity).
    Differs: within 0..1 (ragas: raw cosine).
    """
    if not exam.answer:
        return Outcome(0.0, say(exam.language, zh="回答为空", en="The answer is empty"))
    value = (await exam.similarities)[Ask.REFERENCE_SIMILARITY][0]
    reason = say(
        exam.language,
        zh=f"与参考答案的相似度为 {value:.2f}",
        en=f"Similarity to the reference is {value:.2f}",
    )
    return Outcome(value, reason, {"similarity": value})


class Factual(Options):
    """Which side's claims count."""

    mode: Literal["f1", "precision", "recall"] = Field(
        "f1", description="precision: is what it states right; recall: does it state what is right; f1: both."
    )


@metric(
    "factual_correctness",
    version="1",
    stage="generation",
    needs=("response", "reference"),
    asks=(Ask.ANSWER, Ask.REFERENCE, Ask.COMPARISON),
    answerable_only=True,
    options=Factual(),
    by_default=False,
)
async def factual_correctness(exam: Exam, factual: Factual) -> Outcome:
    """F1 (or precision, or recall) of the answer's claims against the reference's, without similarity.

    TP, FP and FN as in answer_correctness; precision = TP / (TP + FP), recall = TP / (TP + FN).

    Source: ragas 0.4.3 `FactualCorrectness` (TP is counted on the answer's side there too).
    Differs: an answer without claims has no precision (ragas: 0), recall and F1 are 0; a reference without
    claims is not applicable; nothing is rounded (ragas: two digits).
    """
    if not exam.answer:
        return Outcome(0.0, say(exam.language, zh="回答为空", en="The answer is empty"))
    analysis, reference_claims = await asyncio.gather(exam.analysis, exam.reference_claims)
    if not reference_claims:
        return Outcome(
            None, say(exam.language, zh="参考答案没有事实陈述", en="The reference states no facts")
        )
    if not analysis.claims and factual.mode == "precision":
        return Outcome(None, say(exam.language, zh="回答没有事实陈述", en="The answer states no facts"))
    f1, evidence = await _factual_f1(exam, analysis.claims, reference_claims)
    right = sum(row["supported"] for row in evidence["answer_claims"])
    missed = sum(not row["supported"] for row in evidence["reference_claims"])
    value = {
        "f1": f1,
        "precision": right / max(1, len(analysis.claims)),
        "recall": right / max(1, right + missed),
    }[factual.mode]
    reason = say(
        exam.language,
        zh=f"{len(analysis.claims)} 条陈述中 {right} 条正确，参考答案的 {missed} 条未提及",
        en=f"{right} of {len(analysis.claims)} claims are right, {missed} of the reference's are missing",
    )
    return Outcome(value, reason, evidence)


@metric(
    "noise_robustness",
    version="1",
    stage="generation",
    needs=("response", "reference", "retrieved_contexts"),
    asks=(Ask.ANSWER, Ask.REFERENCE, Ask.COMPARISON, Ask.ANSWER_SUPPORT),
    answerable_only=True,
    by_default=False,
)
async def noise_robustness(exam: Exam) -> Outcome:
    """Share of the answer's claims that are not errors taken over from the retrieved contexts.

    An error taken over is a claim that some context supports and the reference does not.

    Source: 1 - (relevant + irrelevant) of ragas 0.4.3 `NoiseSensitivity`: an incorrect claim supported by a
    relevant context, or else by an irrelevant one, is an incorrect claim supported by any.
    Differs: higher is better; contexts are judged together, not one call each; an answer without claims is
    not applicable (ragas: NaN).
    """
    analysis, reference_claims = await asyncio.gather(exam.analysis, exam.reference_claims)
    claims = analysis.claims
    if not claims or not reference_claims:
        which = say(exam.language, zh="回答或参考答案没有事实陈述", en="Answer or reference states no facts")
        return Outcome(None, which)
    comparison = await exam.comparison
    grounded = [False] * len(claims)
    if not exam.nothing_retrieved:
        grounded = [verdict.supported for verdict in (await exam.context_check).answer_claims]
    sound = [
        right.supported or not held for held, right in zip(grounded, comparison.answer_claims, strict=True)
    ]
    rows = [
        {"claim": claim, "supported": fine, "reason": right.reason}
        for claim, fine, right in zip(claims, sound, comparison.answer_claims, strict=True)
    ]
    wrong = sound.count(False)
    reason = say(
        exam.language,
        zh=f"{len(claims)} 条陈述中有 {wrong} 条错误来自检索段落",
        en=f"{wrong} of {len(claims)} claims are errors taken over from the contexts",
    )
    return Outcome(scoring.share(sound), reason, {"claims": rows})


async def _factual_f1(
    exam: Exam, answer_claims: list[str], reference_claims: list[str]
) -> tuple[float, dict[str, Any]]:
    if not answer_claims:
        unstated = [{"claim": claim, "supported": False, "reason": ""} for claim in reference_claims]
        return 0.0, {"answer_claims": [], "reference_claims": unstated}
    comparison = await exam.comparison
    true_positives = sum(verdict.supported for verdict in comparison.answer_claims)
    f1 = scoring.factual_f1(
        true_positives=true_positives,
        false_positives=len(answer_claims) - true_positives,
        false_negatives=sum(not verdict.supported for verdict in comparison.reference_claims),
    )
    return f1, {
        "answer_claims": claim_rows(answer_claims, comparison.answer_claims),
        "reference_claims": claim_rows(reference_claims, comparison.reference_claims),
    }
