"""The nouns of RAG Checks: frozen pydantic models shared by every layer.

`None` means "not recorded", an empty tuple means "recorded and empty": a turn with
`retrieved_contexts=None` cannot be graded for retrieval, one with `()` retrieved nothing.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from enum import StrEnum
from typing import Any, Literal, NamedTuple

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

Language = Literal["zh", "en"]
Source = Literal["production", "golden"]
CaseSource = Literal[Source, "canary"]
Stage = Literal["intent", "rewrite", "retrieval", "generation", "outcome"]


class Record(BaseModel):
    """Base of all records: immutable, unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Message(Record):
    """One earlier message of a conversation."""

    role: Literal["user", "assistant", "system"]
    content: str


class ToolCall(Record):
    """One tool the bot called."""

    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class Feedback(Record):
    """What the user said about an answer."""

    rating: Literal["like", "dislike"] | None = None
    comment: str | None = None


class Turn(Record):
    """One question and answer as production recorded it."""

    turn_id: str = Field(min_length=1, description="Unique within the source; the natural key.")
    conversation_id: str = Field(min_length=1, description="Turns of one conversation are not independent.")
    asked_at: AwareDatetime = Field(description="Event time, with a zone.")
    user_input: str = Field(description="The user's question.")
    response: str = Field(description="The bot's answer; may be empty.")
    retrieved_contexts: tuple[str, ...] | None = Field(
        None, description="Passages given to generation, best first."
    )
    retrieved_context_ids: tuple[str, ...] | None = Field(
        None, description="Ids of those passages, same order."
    )
    history: tuple[Message, ...] = Field((), description="Earlier messages of the conversation.")
    intent: str | None = Field(None, description="The bot's own guess.")
    rewritten_query: str | None = Field(None, description="What the retriever was asked.")
    tool_calls: tuple[ToolCall, ...] | None = None
    feedback: Feedback | None = None
    release: str | None = Field(None, description="The bot's release that answered.")
    latency_ms: float | None = Field(None, ge=0, description="Milliseconds from question to answer.")
    tags: tuple[str, ...] = Field((), description="Channel, tenant, …")
    error: str | None = Field(None, description="What the bot's log says went wrong.")


class EvalItem(Record):
    """A question to grade, with what is known to be right."""

    item_id: str = Field(min_length=1)
    user_input: str
    reference: str | None = Field(None, description="The right answer, by an expert.")
    reference_contexts: tuple[str, ...] | None = Field(
        None, description="Quotes that hold the answer; a retrieved passage containing one is a hit."
    )
    reference_context_ids: tuple[str, ...] | None = Field(
        None, description="Ids of passages that hold the answer."
    )
    expected_intent: str | None = None
    answerable: bool | None = Field(None, description="False: the right reaction is to say it is not known.")
    history: tuple[Message, ...] = ()
    tags: tuple[str, ...] = ()
    status: Literal["candidate", "approved", "retired", "rejected"] = "approved"
    origin: Literal["bad_case", "sampled", "synthetic", "manual"] = "manual"

    @property
    def revision(self) -> str:
        """Content hash (12 hex digits): changes when anything that affects a score changes.

        What is not recorded is left out, so that a field added to items later changes no revision.
        """
        known = self.model_dump(mode="json", exclude={"status", "origin", "tags"}, exclude_none=True)
        return content_hash(known)[:12]


class GoldenSet(Record):
    """The approved items at an immutable version."""

    name: str
    version: int = Field(ge=1)
    items: tuple[EvalItem, ...]
    created_at: AwareDatetime

    @property
    def content_hash(self) -> str:
        """SHA-256 over the sorted item revisions."""
        return content_hash(sorted((item.item_id, item.revision) for item in self.items))


class Response(Record):
    """What the bot said to an item in one run (or recorded in production)."""

    response: str | None = Field(None, description="None when the bot failed; see `error`.")
    retrieved_contexts: tuple[str, ...] | None = None
    retrieved_context_ids: tuple[str, ...] | None = None
    intent: str | None = None
    rewritten_query: str | None = None
    tool_calls: tuple[ToolCall, ...] | None = None
    release: str | None = None
    latency_ms: float | None = None
    answered_at: AwareDatetime | None = None
    feedback: Feedback | None = None
    error: str | None = Field(None, description="Why there is no answer; the bot's words or ours.")
    error_kind: str | None = Field(None, description="Kind of BotError, e.g. timeout, http, empty.")


class Case(Record):
    """One thing to grade in one run: an item, the bot's response, and how it was sampled."""

    case_id: str = Field(description="`{source}:{item_id}`, unique within a run.")
    source: CaseSource = Field(
        description="A canary is a frozen answer that only tells whether the judge moves."
    )
    item: EvalItem
    response: Response | None = Field(None, description="None: not asked yet.")
    language: Language
    intent: str = Field("unknown", description="The slice it is reported under.")
    stratum: str = Field("golden", description="Sampling stratum; `golden` for golden items.")
    weight: float = Field(1.0, gt=0, description="1 / inclusion probability.")
    conversation_id: str | None = None
    shard: int = Field(0, ge=0)


class ScoreStatus(StrEnum):
    """Why a score has, or has not, a value. Only `ok` has one."""

    OK = "ok"
    NOT_APPLICABLE = "not_applicable"
    JUDGE_ERROR = "judge_error"
    BOT_ERROR = "bot_error"
    OVER_BUDGET = "over_budget"


class JudgeIdentity(Record):
    """Who graded: everything that makes two scores comparable or not (P4)."""

    kind: Literal["offline", "openai"]
    endpoint: str | None = Field(None, description="Base URL without credentials; None for offline.")
    requested_model: str
    returned_model: str | None = None
    system_fingerprint: str | None = None
    prompt_hash: str = Field(description="Hash of all prompts used, or of the offline model's coefficients.")
    parameters: dict[str, Any] = Field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """12 hex digits over all of the above."""
        return content_hash(self.model_dump(mode="json"))[:12]

    @property
    def series(self) -> str:
        """12 hex digits; scores of different series are never compared.

        The system fingerprint is left out: endpoints change it with every deployment of their own, and a
        series that breaks each time would never have a baseline. Canaries notice a judge that moves.
        """
        return content_hash(self.model_dump(mode="json", exclude={"system_fingerprint"}))[:12]


class Usage(Record):
    """What judging cost: calls, tokens as reported by the endpoint, replies from the cache."""

    calls: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            calls=self.calls + other.calls,
            cached=self.cached + other.cached,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
        )


class Score(Record):
    """A grader's result for one case."""

    eval_run_id: str
    case_id: str
    metric: str
    metric_version: str
    value: float | None = Field(None, ge=0, le=1, description="0..1; None unless status is ok.")
    status: ScoreStatus
    reason: str = Field("", description="One sentence for people.")
    evidence: dict[str, Any] = Field(
        default_factory=dict, description="Claims and verdicts behind the value."
    )
    judge: JudgeIdentity | None = Field(None, description="None for metrics that need no judge.")
    usage: Usage = Usage()


class EvalRun(Record):
    """One evaluation of one window by one judge."""

    eval_run_id: str
    monitor: str
    kind: Literal["nightly", "release", "rescore", "file"]
    night: date = Field(description="The local day whose conversations are graded.")
    window_start: AwareDatetime
    window_end: AwareDatetime
    backfill: bool = Field(False, description="True: logged turns only, no alerts.")
    release: str | None = Field(None, description="The release most responses came from.")
    golden_version: int | None = None
    judge: JudgeIdentity | None = None
    metric_versions: dict[str, str] = Field(default_factory=dict)
    config_hash: str = ""
    code_version: str = ""
    status: Literal["planned", "evaluated", "checked", "done", "failed"] = "planned"
    counts: dict[str, int] = Field(
        default_factory=dict, description="read, quarantined, duplicates, in_window, sampled, golden, …"
    )
    problem: str | None = Field(None, description="Why the run could not grade what it planned, for people.")
    created_at: AwareDatetime
    finished_at: AwareDatetime | None = None


class ScoreRow(NamedTuple):
    """One score as the statistics see it; plain and fast because there are many."""

    night: date
    source: str
    metric: str
    metric_version: str
    judge: str | None
    intent: str
    value: float | None
    status: str
    item_id: str
    conversation_id: str | None
    weight: float
    release: str | None


class Level(StrEnum):
    """How a metric stands, from good to bad to unknowable."""

    OK = "ok"
    WATCH = "watch"
    FAIL = "fail"
    NO_DATA = "no_data"
    JUDGE_CHANGED = "judge_changed"


class Verdict(Record):
    """Whether one metric, on one series and slice, meets what the team expects of it."""

    metric: str
    source: Source
    slice: str = Field("all", description="`all`, or `intent:NAME`.")
    level: Level
    value: float | None = Field(None, description="Weighted mean of tonight's ok scores.")
    low: float | None = Field(None, description="Lower end of the 95 % interval.")
    high: float | None = None
    n_ok: int
    n_failed: int = Field(description="judge_error + bot_error + over_budget.")
    n_not_applicable: int
    n_total: int = Field(description="All cases planned; n_ok + n_failed + n_not_applicable.")
    coverage: float | None = Field(None, description="n_ok / (n_ok + n_failed); None when nothing applies.")
    minimum: float | None = Field(None, description="The target's minimum, if set.")
    warning: float | None = None
    baseline: float | None = None
    baseline_nights: int = 0
    z: float | None = Field(None, description="The statistic that decided, negative is worse.")
    window: int | None = Field(None, description="Nights in the window that decided.")
    since: date | None = Field(None, description="First night of the problem, if it can be told.")
    rule: str = Field(description="One line: numbers and the rule that decided.")


class Finding(Record):
    """Where it broke: one cause, with its share of the new failures and what to do next."""

    cause: str = Field(description="A key of verdicts.diagnosis.CAUSES, e.g. retrieval_missed.")
    stage: Stage
    intent: str | None = None
    release: str | None = None
    since: date | None = None
    n_cases: int = Field(description="Failing cases with this cause.")
    n_failing: int = Field(description="All failing cases looked at.")
    case_ids: tuple[str, ...] = Field((), description="Worst first, a handful.")
    summary: str = Field(description="One sentence in the monitor's language.")
    next_step: str = Field(description="What to do, in the monitor's language.")


class ExpectationResult(Record):
    """One Great Expectations result, as stored."""

    expectation: str = Field(description="Expectation type, e.g. expect_column_mean_to_be_between.")
    metric: str | None = None
    source: Source | None = None
    purpose: Literal["completeness", "range", "coverage", "target"]
    success: bool | None = Field(description="None when the expectation itself could not run.")
    observed: float | None = None
    detail: str = ""
    exception: str | None = None


class TrendPoint(Record):
    """One night of one metric, for charts."""

    night: date
    value: float | None
    low: float | None = None
    high: float | None = None
    n_ok: int = 0
    level: Level = Level.NO_DATA
    release: str | None = None


class Trend(Record):
    """The nights of one metric on one series, oldest first."""

    metric: str
    source: Source
    minimum: float | None = None
    baseline: float | None = None
    points: tuple[TrendPoint, ...]


class GradedCase(Record):
    """A case with its scores, for drill-down."""

    case: Case
    scores: tuple[Score, ...]


class Cost(Record):
    """What one judge's model cost for one metric; `amount` None: its price is unknown."""

    judge: str
    metric: str
    usage: Usage
    amount: float | None
    currency: str | None


class RunSummary(Record):
    """Everything people are told about one run: read once from the store, rendered everywhere (P2)."""

    title: str = Field(description="The monitor's title.")
    language: Language
    owner: str | None = None
    run: EvalRun
    level: Level = Field(description="The worst level among the verdicts that page.")
    verdicts: tuple[Verdict, ...]
    metric_titles: dict[str, str] = Field(
        default_factory=dict, description="What people call a team's own rubrics, by metric."
    )
    findings: tuple[Finding, ...] = ()
    expectations: tuple[ExpectationResult, ...] = ()
    trends: tuple[Trend, ...] = ()
    worst: tuple[GradedCase, ...] = Field((), description="Worst items first.")
    usage: Usage = Usage()
    costs: tuple[Cost, ...] = Field((), description="By judge and metric; empty when nothing was paid for.")
    judge_note: str | None = Field(
        None, description="E.g. the offline judge's measured agreement with people."
    )
    report_url: str | None = None


class OutboxMessage(Record):
    """A message to people, written before it is sent so that a crash neither loses nor doubles it."""

    message_id: str = Field(description="`{eval_run_id}:{kind}`: the same run never gets two.")
    eval_run_id: str | None
    kind: Literal["digest", "broken"]
    channel: str | None = Field(None, description="None: the webhook's own channel, or nobody (printed).")
    payload: dict[str, Any] = Field(description="`text` and `blocks` as Slack takes them.")
    attachment: str | None = Field(None, description="Path of a picture to upload into the thread.")
    state: Literal["pending", "sending", "sent", "failed", "uncertain", "printed"] = "pending"
    attempts: int = 0
    not_before: AwareDatetime | None = None
    last_error: str | None = None
    remote_id: str | None = Field(None, description="Slack's ts of the message.")
    created_at: AwareDatetime
    sent_at: AwareDatetime | None = None


class Quarantined(Record):
    """A line of input that could not be read; its text stays in its file."""

    file: str
    line: int = Field(ge=0, description="1-based; 0 when the whole file is meant.")
    offset: int = Field(ge=0, description="Byte offset of the line in the decompressed file.")
    reason: str


class SampledTurn(Record):
    """A turn picked for grading and how."""

    turn: Turn
    stratum: str
    weight: float = Field(gt=0, description="N_h / n_h of its stratum.")


def score_rows(cases: Mapping[str, Case], scores: Iterable[Score], night: date = date.min) -> list[ScoreRow]:
    """Scores with what the statistics need of their cases. `cases` is keyed by case_id."""
    rows = []
    for score in scores:
        case = cases[score.case_id]
        rows.append(
            ScoreRow(
                night=night,
                source=case.source,
                metric=score.metric,
                metric_version=score.metric_version,
                judge=score.judge.series if score.judge else None,
                intent=case.intent,
                value=score.value,
                status=score.status,
                item_id=case.item.item_id,
                conversation_id=case.conversation_id,
                weight=case.weight,
                release=case.response.release if case.response else None,
            )
        )
    return rows


def content_hash(value: Any) -> str:
    """SHA-256 hex of the canonical JSON of `value`."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def is_aware(moment: datetime) -> bool:
    """Whether a time carries a zone."""
    return moment.utcoffset() is not None
