"""The metric of cited sources: citation_correctness."""

from typing import Any

from rag_checks.metrics import scoring
from rag_checks.metrics.citation_marks import Citation, Retrieved, citations
from rag_checks.metrics.exam import Exam, in_order
from rag_checks.metrics.generation import claim_rows
from rag_checks.metrics.registry import Outcome, metric, say
from rag_checks.protocols import CitationCheck, ClaimVerdict, Task


@metric(
    "citation_correctness",
    version="1",
    stage="generation",
    needs=("response", "retrieved_contexts"),
    own_tasks=(Task.CHECK_CITATIONS,),
    by_default=False,
)
async def citation_correctness(exam: Exam) -> Outcome:
    """Share of the answer's citations that name a retrieved passage which supports their sentence.

    A citation is a passage cited by a sentence; `citation_marks` says which forms are read. One that names
    nothing that was retrieved is wrong without asking; all others are checked in one call, each against its
    own passage. An answer without citations is not applicable.

    Source: citation precision of Gao et al., Enabling Large Language Models to Generate Text with Citations
    (EMNLP 2023), section 4.
    Differs: of several passages cited by one sentence each must support at least a part of it (there: it
    counts when the others do not support the sentence without it).
    """
    retrieved = Retrieved(len(exam.contexts), exam.response.retrieved_context_ids or ())
    found = citations(exam.answer, retrieved)
    if not found:
        return Outcome(None, say(exam.language, zh="回答没有引用任何来源", en="The answer cites no source"))
    verdicts = await _verdicts(exam, found)
    claims = [f"{one.sentence} {one.mark}" for one in found]
    rows = [row | {"rank": one.rank} for row, one in zip(claim_rows(claims, verdicts), found, strict=True)]
    right = [row["supported"] for row in rows]
    unknown = sum(one.rank is None for one in found)
    reason = say(
        exam.language,
        zh=f"{len(right)} 处引用中有 {sum(right)} 处正确"
        + (f"，{unknown} 处指向不存在的段落" if unknown else ""),
        en=f"{sum(right)} of {len(right)} citations are right"
        + (f", {unknown} name nothing that was retrieved" if unknown else ""),
    )
    return Outcome(scoring.share(right), reason, {"citations": rows})


async def _verdicts(exam: Exam, found: list[Citation]) -> list[ClaimVerdict]:
    """One verdict a citation; asked are those whose passage has any text, with the cited passages alone."""
    asked = [one for one in found if _passage(exam, one)]
    places = {rank: place for place, rank in enumerate(sorted({one.rank or 0 for one in asked}), start=1)}
    given: dict[Citation, ClaimVerdict] = {}
    if asked:
        inputs: dict[str, Any] = {
            "question": exam.question,
            "contexts": [exam.contexts[rank - 1] for rank in places],
            "citations": [{"sentence": one.sentence, "context": places[one.rank or 0]} for one in asked],
        }
        check = await exam.ask_own("citation_correctness", Task.CHECK_CITATIONS, CitationCheck, inputs)
        given = dict(zip(asked, in_order(check.citations, len(asked)), strict=True))
    return [given.get(one) or _wrong(exam, one) for one in found]


def _passage(exam: Exam, one: Citation) -> str:
    """What is cited; empty when that is nothing."""
    return "" if one.rank is None else exam.contexts[one.rank - 1].strip()


def _wrong(exam: Exam, one: Citation) -> ClaimVerdict:
    """The verdict that needs no judge."""
    reason = (
        say(exam.language, zh="没有检索到这一段落", en="No such passage was retrieved")
        if one.rank is None
        else say(exam.language, zh="所引段落为空", en="The cited passage is blank")
    )
    return ClaimVerdict(id=0, reason=reason, supported=False)
