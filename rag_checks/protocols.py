"""What the evaluation needs of a judge, a bot and a reply cache: protocols and the judge's tasks.

A judge answers a few small tasks; every judged metric is computed from their answers. An answer is
taken apart once and all its claims are checked in one call, so five metrics cost at most four calls:

=====================  ===============================================  =================================
task                   what it is given                                 what it says
=====================  ===============================================  =================================
ANALYSE_ANSWER         question, answer, history                        claims, noncommittal, questions
ANALYSE_REFERENCE      question, reference                              claims (cached for ever)
CHECK_CONTEXTS         question, contexts, claims, answer/reference     each claim supported? each context
                                                                        useful?
COMPARE_CLAIMS         question, both texts, both claim lists           each claim stated by the other side?
CHECK_CITATIONS        question, cited contexts, citing sentences       each context supports its sentence?
GRADE_RUBRIC           a rubric, and the fields that it needs           each required point met? one label
=====================  ===============================================  =================================
"""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny

from rag_checks.errors import JudgeError, JudgeUnavailable
from rag_checks.records import EvalItem, JudgeIdentity, Language, OutboxMessage, Record, Response, Usage


class Task(StrEnum):
    """What a judge can be asked."""

    ANALYSE_ANSWER = "analyse_answer"
    ANALYSE_REFERENCE = "analyse_reference"
    CHECK_CONTEXTS = "check_contexts"
    COMPARE_CLAIMS = "compare_claims"
    CHECK_CITATIONS = "check_citations"
    GRADE_RUBRIC = "grade_rubric"


class JudgeRequest(Record):
    """One task on one text, in the language of the text.

    `inputs` holds JSON values only: `question`, `answer`, `reference` (str), `history` (list of
    {role, content}), `contexts` (list of str), `answer_claims`, `reference_claims` (lists of str),
    `rate_contexts` (bool), `citations` (list of {sentence, context}, the context by its 1-based place in
    `contexts`), `rewritten_query` (str), `tool_calls` (list of {name, arguments}); of a rubric `rubric`
    ({question, labels: {label: meaning}}) and `points` (list of str). What a task does not use is absent.
    """

    task: Task
    language: Language
    inputs: dict[str, Any]
    repeat: int = Field(
        0, ge=0, description="Which of several judgements of the same; each is paid for once."
    )


class Output(BaseModel):
    """Base of replies: strict types, so `"yes"`, `9` or `NaN` where a bool is asked is an error."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class AnswerAnalysis(Output):
    """Reply to ANALYSE_ANSWER."""

    noncommittal: bool = Field(description="The answer evades or says it does not know.")
    claims: list[str] = Field(description="Self-contained factual statements of the answer; [] if none.")
    questions: list[str] = Field(description="Questions this answer would be the answer to, in its language.")


class ReferenceAnalysis(Output):
    """Reply to ANALYSE_REFERENCE."""

    claims: list[str]


class ClaimVerdict(Output):
    """One claim judged; the reason comes before the verdict."""

    id: int = Field(description="1-based position of the claim in the list that was sent.")
    reason: str
    supported: bool


class ContextVerdict(Output):
    """One context judged."""

    id: int = Field(description="1-based position of the context in the list that was sent.")
    reason: str
    useful: bool = Field(description="Helps to arrive at the reference (or, without one, at the answer).")


class ContextCheck(Output):
    """Reply to CHECK_CONTEXTS: every id sent comes back exactly once, in each list."""

    answer_claims: list[ClaimVerdict] = Field(default_factory=list)
    reference_claims: list[ClaimVerdict] = Field(default_factory=list)
    contexts: list[ContextVerdict] = Field(default_factory=list)


class ClaimComparison(Output):
    """Reply to COMPARE_CLAIMS: answer claims supported by the reference, and the reverse."""

    answer_claims: list[ClaimVerdict]
    reference_claims: list[ClaimVerdict]


class CitationCheck(Output):
    """Reply to CHECK_CITATIONS: every id sent comes back exactly once."""

    citations: list[ClaimVerdict]


class PointVerdict(Output):
    """One required point of a rubric judged."""

    id: int = Field(description="1-based position of the point in the list that was sent.")
    reason: str
    met: bool


class RubricGrade(Output):
    """Reply to GRADE_RUBRIC: every point's id exactly once, and a label of the rubric; reasons come first."""

    points: list[PointVerdict] = Field(default_factory=list)
    reason: str
    label: str = Field(description="One of the labels that were sent.")


OUTPUTS: dict[Task, type[Output]] = {
    Task.ANALYSE_ANSWER: AnswerAnalysis,
    Task.ANALYSE_REFERENCE: ReferenceAnalysis,
    Task.CHECK_CONTEXTS: ContextCheck,
    Task.COMPARE_CLAIMS: ClaimComparison,
    Task.CHECK_CITATIONS: CitationCheck,
    Task.GRADE_RUBRIC: RubricGrade,
}


class JudgeReply(Record):
    """A validated reply and who gave it."""

    output: SerializeAsAny[Output]
    identity: JudgeIdentity
    usage: Usage = Usage()
    flags: tuple[str, ...] = Field((), description="E.g. repaired, contexts_split.")


def taken_usage(error: JudgeError | JudgeUnavailable) -> Usage:
    """What a failed judgement cost, once: whoever is given the same error later gets no cost."""
    spent, error.spent = error.spent, None
    return Usage(**spent._asdict()) if spent else Usage()


class Judge(Protocol):
    """A model that grades. Safe to call concurrently from one event loop."""

    @property
    def identity(self) -> JudgeIdentity:
        """Who would grade now (before any reply: returned_model None)."""

    async def ask(self, request: JudgeRequest) -> JudgeReply:
        """Answer one task.

        Raises:
            JudgeError: this judgement failed for good (recorded as judge_error).
            JudgeUnavailable: retries or deadline used up (recorded as judge_error; many stop the run).
            JudgeFatal: no call can work (key, model, quota): stop the run.
        """

    async def similarity(self, pairs: Sequence[tuple[str, str]], language: Language) -> list[float]:
        """Semantic similarity in 0..1 of each pair."""

    async def close(self) -> None:
        """Free connections."""


class Bot(Protocol):
    """The bot under watch. Safe to call concurrently from one event loop."""

    async def ask(self, item: EvalItem) -> Response:
        """Ask one question as a user would.

        Raises:
            BotError: no usable answer (kinds: timeout, refused, http, schema, empty, reported, raised).
        """

    async def close(self) -> None:
        """Free connections."""


class ReplyCache(Protocol):
    """Keeps good judge replies so that nothing is paid twice. Synchronous and safe across processes."""

    def get(self, key: str) -> dict[str, Any] | None:
        """The stored reply, or None."""

    def put(self, key: str, reply: dict[str, Any]) -> None:
        """Store a reply, committed on return; a key already there is left as it is."""


class Outbox(Protocol):
    """Messages waiting for people. Every method commits before it returns; safe across processes."""

    def enqueue(self, message: OutboxMessage) -> OutboxMessage:
        """Insert the message; when `message_id` exists already, leave it and return what is stored."""

    def claim(self, message_id: str, now: datetime) -> OutboxMessage | None:
        """Take a message to send it: state becomes `sending`, `attempts` is counted up.

        Takes a pending one whose `not_before` has come, or one left in `sending` by a sender that died
        (`attempts` is above 1 then: look it up before sending again). None when there is nothing to do.
        """

    def update(self, message: OutboxMessage) -> None:
        """Write back state, last_error, not_before, remote_id and sent_at."""
