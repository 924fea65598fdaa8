"""The offline judge: no model, no network, no key. Deterministic string work in Chinese and English.

It lets a monitor run on any machine, and it is honest about itself: claims are sentences, verdicts are
word, number and negation checks beside a small fitted model, and every score carries its identity
"offline-…". How far it agrees with people is measured (`agreement.measured_agreement`). On short
factual answers it comes close to model judges; on long free answers, and for faithfulness, it is a
signal, never a verdict.
"""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rag_checks import text as texts
from rag_checks.errors import JudgeError
from rag_checks.judge import offline_claims, offline_contexts, offline_lexicon, offline_verdicts
from rag_checks.judge.offline_features import aliases
from rag_checks.judge.offline_questions import reconstruct
from rag_checks.judge.offline_text import Text, analyse
from rag_checks.protocols import (
    AnswerAnalysis,
    CitationCheck,
    ClaimComparison,
    ClaimVerdict,
    ContextCheck,
    ContextVerdict,
    JudgeReply,
    JudgeRequest,
    Output,
    ReferenceAnalysis,
    Task,
)
from rag_checks.records import JudgeIdentity, Language, Usage

if TYPE_CHECKING:
    from rag_checks.judge.offline_embeddings import LocalEmbeddings

# Raise it when a change of the code can change a verdict: scores before and after are different series (P4).
CODE_VERSION = "2"


class OfflineJudge:
    """Implements `protocols.Judge` with strings only; safe to call concurrently; judges all but rubrics.

    Args:
        embeddings: gives the similarities; None: `lexical_similarity`.
    """

    def __init__(self, embeddings: "LocalEmbeddings | None" = None) -> None:
        self._embeddings = embeddings

    @cached_property
    def identity(self) -> JudgeIdentity:
        """Kind offline; the hash covers coefficients, word lists and the version of the code."""
        model = offline_verdicts.model()
        content = json.dumps([CODE_VERSION, *model, offline_lexicon.source()])
        name = f"offline-{model.version}"
        return JudgeIdentity(
            kind="offline",
            requested_model=name,
            returned_model=name,
            prompt_hash=hashlib.sha256(content.encode()).hexdigest()[:16],
            parameters={"similarity": self._embeddings.name} if self._embeddings else {},
        )

    async def ask(self, request: JudgeRequest) -> JudgeReply:
        """Answer one task at once; costs processor time only.

        Raises JudgeError (kind unsupported) for a rubric: words alone decide none.
        """
        work = _TASKS.get(request.task)
        if work is None:
            raise JudgeError(f"{request.task} needs a judge with a model", kind="unsupported")
        output = work(request.inputs, request.language)
        return JudgeReply(output=output, identity=self.identity, usage=Usage())

    async def similarity(self, pairs: Sequence[tuple[str, str]], language: Language) -> list[float]:  # noqa: ARG002 - both languages alike
        """Similarity of each pair, 0..1, symmetric: by embeddings if there are any, else lexical."""
        if self._embeddings:
            return await self._embeddings.similarity(pairs)
        return [lexical_similarity(first, second) for first, second in pairs]

    async def close(self) -> None:
        """Nothing is held open."""


def _analyse_answer(inputs: dict[str, Any], _: Language) -> AnswerAnalysis:
    """An answer that states nothing (a refusal, a greeting, a question back) evades: it is noncommittal."""
    question = inputs.get("question", "")
    claims = _claims_of_answer(question, inputs["answer"])
    return AnswerAnalysis(noncommittal=not claims, claims=claims, questions=reconstruct(question, claims))


def _claims_of_answer(question: str, answer: str) -> list[str]:
    return [] if offline_claims.noncommittal(question, answer) else offline_claims.claims(question, answer)


def _analyse_reference(inputs: dict[str, Any], _: Language) -> ReferenceAnalysis:
    return ReferenceAnalysis(claims=_claims_of_reference(inputs.get("question", ""), inputs["reference"]))


def _claims_of_reference(question: str, reference: str) -> list[str]:
    reference = texts.clean(reference).strip()
    if not reference or offline_claims.noncommittal(question, reference):
        return []
    if len(aliases(reference)) > 1:
        return [reference]
    return offline_claims.claims(question, reference) or [reference]


def _check_contexts(inputs: dict[str, Any], language: Language) -> ContextCheck:
    """Each claim and each context by itself, so that a split request gives the same verdicts."""
    question = inputs.get("question", "")
    contexts: list[str] = inputs.get("contexts", [])
    useful = []
    if inputs.get("rate_contexts", True):
        wanted = offline_contexts.needs(question, _yardstick(question, inputs))
        useful = [offline_contexts.useful(wanted, context, language) for context in contexts]
    answer_claims, reference_claims = (
        _numbered([offline_contexts.supported_by(one, contexts, language) for one in inputs.get(name, [])])
        for name in ("answer_claims", "reference_claims")
    )
    return ContextCheck(
        answer_claims=answer_claims,
        reference_claims=reference_claims,
        contexts=[
            ContextVerdict(id=at, reason=why, useful=holds) for at, (holds, why) in enumerate(useful, start=1)
        ],
    )


def _yardstick(question: str, inputs: dict[str, Any]) -> list[str]:
    """What contexts are useful for: the claims of the reference, without one of the answer.

    They come from the text, which every part of a split request has; claims that were sent count only
    without it.
    """
    if inputs.get("reference"):
        return _claims_of_reference(question, inputs["reference"])
    if inputs.get("answer"):
        return _claims_of_answer(question, inputs["answer"]) or [inputs["answer"]]
    return list(inputs.get("reference_claims") or inputs.get("answer_claims") or ())


def _compare_claims(inputs: dict[str, Any], language: Language) -> ClaimComparison:
    """Each claim against the other side's text, so that claims sent apart get the same verdicts."""
    question = inputs.get("question", "")
    answer = inputs.get("answer") or "\n".join(inputs["answer_claims"])
    reference = inputs.get("reference") or "\n".join(inputs["reference_claims"])
    sides = offline_verdicts.Sides(
        question,
        answer,
        tuple(_claims_of_answer(question, answer)),
        reference,
        tuple(_claims_of_reference(question, reference)),
        language,
    )
    return ClaimComparison(
        answer_claims=_numbered([offline_verdicts.supported(sides, one) for one in inputs["answer_claims"]]),
        reference_claims=_numbered(
            [offline_verdicts.stated(sides, one) for one in inputs["reference_claims"]]
        ),
    )


def _check_citations(inputs: dict[str, Any], language: Language) -> CitationCheck:
    """Each passage for itself; of a sentence that cites several, a part is enough."""
    cited: list[dict[str, Any]] = inputs["citations"]
    sources = Counter(one["sentence"] for one in cited)
    found = []
    for one in cited:
        passage = [inputs["contexts"][one["context"] - 1]]
        parts = [
            one["sentence"],
            *(offline_contexts.parts(one["sentence"]) if sources[one["sentence"]] > 1 else ()),
        ]
        findings = [offline_contexts.supported_by(part, passage, language) for part in parts]
        found.append(next((finding for finding in findings if finding[0]), findings[0]))
    return CitationCheck(citations=_numbered(found))


def _numbered(findings: Sequence[offline_verdicts.Finding]) -> list[ClaimVerdict]:
    return [
        ClaimVerdict(id=at, reason=why, supported=holds) for at, (holds, why) in enumerate(findings, start=1)
    ]


_TASKS: dict[Task, Callable[[dict[str, Any], Language], Output]] = {
    Task.ANALYSE_ANSWER: _analyse_answer,
    Task.ANALYSE_REFERENCE: _analyse_reference,
    Task.CHECK_CONTEXTS: _check_contexts,
    Task.COMPARE_CLAIMS: _compare_claims,
    Task.CHECK_CITATIONS: _check_citations,
}


def lexical_similarity(first: str, second: str) -> float:
    """Likeness of two texts by their words and letters, 0..1: symmetric, 1 for equal normalised texts.

    0.55 F1 of content words and numbers (units converted) + 0.40 Dice of character n-grams + 0.05 cosine of
    single characters. A refusal against a statement is 0: it says nothing about the matter, whatever words it
    repeats.
    """
    one, two = analyse(first), analyse(second)
    if texts.normalise(first) == texts.normalise(second):
        return 1.0
    if not one.squeezed or not two.squeezed:
        return 0.0
    if offline_claims.refuses(first) != offline_claims.refuses(second):
        return 0.0
    all_grams = len(one.grams) + len(two.grams)  # 0 for letters of scripts that are neither words nor numbers
    grams = 2 * len(one.grams & two.grams) / all_grams if all_grams else 0.0
    return min(
        1.0, 0.55 * _word_f1(one, two) + 0.40 * grams + 0.05 * _letter_cosine(one.squeezed, two.squeezed)
    )


def _word_f1(one: Text, two: Text) -> float:
    sizes = len(one.content) + len(one.quantities) + len(two.content) + len(two.quantities)
    shared = sum(two.has_quantity(own) for own in one.quantities) + sum(
        one.has_quantity(own) for own in two.quantities
    )
    shared += 2 * len(one.content_set & two.content_set)
    return shared / sizes if sizes else 0.0


def _letter_cosine(one: str, two: str) -> float:
    ones, twos = Counter(one), Counter(two)
    product = sum(count * twos[char] for char, count in ones.items())
    lengths = sum(count * count for count in ones.values()) * sum(count * count for count in twos.values())
    return product / math.sqrt(lengths)
