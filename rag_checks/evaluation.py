"""Items × metrics with bounded concurrency: asks the bot, grades, commits item by item, resumes.

Knows bot, judge and store only as protocols. Stopping it anywhere loses at most the calls in flight.
"""

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from rag_checks.errors import BotError, JudgeUnavailable, PermanentError, TransientError
from rag_checks.metrics import Metric, grade_case
from rag_checks.protocols import Bot, Judge
from rag_checks.records import Case, Response, Score, ScoreStatus, content_hash

# This many cases in a row without any judge (or bot) at the other end is an outage, not bad luck: at a 20 %
# error rate ten in a row have a probability of 1e-7, and each one costs its full retry time.
OUTAGE_STREAK = 10


class Sink(Protocol):
    """Where results go; each call is committed when it returns."""

    def save_response(self, eval_run_id: str, case_id: str, response: Response) -> None:
        """Keep what the bot said."""

    def save_scores(self, scores: Sequence[Score]) -> None:
        """Keep the scores of one case."""


@dataclass
class Outcome:
    """What one call of `evaluate` did."""

    graded: int = 0
    skipped: int = 0
    bot_errors: int = 0
    judge_errors: int = 0
    left: int = 0
    problem: str | None = None
    error: PermanentError | TransientError | None = field(default=None, repr=False)


async def evaluate(
    eval_run_id: str,
    cases: Sequence[Case],
    *,
    metrics: Sequence[Metric],
    judge: Judge,
    bot: Bot | None,
    sink: Sink,
    scored: Mapping[str, Collection[str]],
    concurrency: int,
    deadline_s: float,
    occasion: int = 0,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Outcome:
    """Grade the cases, golden ones first, and hand every result to `sink` as it comes.

    Args:
        eval_run_id: the run the scores belong to.
        cases: what to grade; a case without a response is asked through `bot` first.
        metrics: what to grade it with.
        judge: who grades.
        bot: who is asked; without one, cases without a response are recorded as bot errors.
        sink: where responses and scores are kept.
        scored: case_id → metrics that are graded already and are left alone.
        concurrency: cases in flight.
        deadline_s: seconds after which no more is waited for; what is done is kept.
        occasion: tells the judgements of frozen answers apart, e.g. the night as a number: each is new.
        progress: told (cases done, cases in all).

    Returns:
        The outcome. When the judge refuses every call or is down, `error` holds why and `left` counts the
        cases that were not graded; nothing is raised so that the caller can decide what to record.
    """
    outcome = Outcome()
    work = _Work(eval_run_id, metrics, judge, bot, sink, scored, outcome, occasion)

    async def worker(queue: Iterator[Case]) -> None:
        for case in queue:
            if outcome.error is not None:
                outcome.left += 1
                continue
            await work.one(case)
            progress(outcome.graded + outcome.skipped, len(cases))

    try:
        async with asyncio.timeout(deadline_s):
            # One after the other: a golden case's last call must not find the budget spent on the sample.
            for source in in_order(cases):
                queue = iter(source)
                async with asyncio.TaskGroup() as group:
                    for _ in range(max(1, concurrency)):
                        group.create_task(worker(queue))
    except TimeoutError:
        outcome.left = len(cases) - outcome.graded - outcome.skipped
        outcome.error = outcome.error or JudgeUnavailable(
            f"the run's deadline of {deadline_s:.0f} s passed, {outcome.left} of {len(cases)} cases ungraded"
        )
    work.settle()
    if outcome.error is not None:
        outcome.problem = str(outcome.error)
    return outcome


def in_order(cases: Sequence[Case]) -> tuple[list[Case], list[Case]]:
    """Golden cases, then canaries, by id; and production cases so that any beginning holds all strata alike.

    Case k of n of a stratum, by the hash of its id, stands at (k + 1/2) / n: when a budget or a deadline cuts
    the list, no stratum is cut more than another.
    """
    by_stratum: dict[str, list[Case]] = {}
    for case in cases:
        if case.source == "production":
            by_stratum.setdefault(case.stratum, []).append(case)
    places: dict[str, float] = {}
    for group in by_stratum.values():
        group.sort(key=lambda case: content_hash(case.case_id))
        places |= {case.case_id: (place + 0.5) / len(group) for place, case in enumerate(group)}
    asked = (case for case in cases if case.source != "production")
    first = sorted(asked, key=lambda case: (case.source != "golden", case.case_id))
    sampled = [case for group in by_stratum.values() for case in group]
    return first, sorted(sampled, key=lambda case: (places[case.case_id], case.case_id))


def fitting(metrics: Sequence[Metric], case: Case) -> list[Metric]:
    """The metrics a case is graded with: of a canary only what the judge has a part in."""
    return [metric for metric in metrics if metric.judged or case.source != "canary"]


def cases_at_once(slots: int) -> int:
    """Cases to keep in progress so that a judge with this many calls in flight never waits for one.

    A case has one or two calls ready, and none while its answer is asked for or its scores are stored.
    """
    return slots + (slots + 1) // 2


class _Work:
    """One case at a time: ask, grade, keep; and notice outages."""

    def __init__(
        self,
        eval_run_id: str,
        metrics: Sequence[Metric],
        judge: Judge,
        bot: Bot | None,
        sink: Sink,
        scored: Mapping[str, Collection[str]],
        outcome: Outcome,
        occasion: int,
    ) -> None:
        self._eval_run_id = eval_run_id
        self._metrics = metrics
        self._judge = judge
        self._bot = bot
        self._sink = sink
        self._scored = scored
        self._outcome = outcome
        self._occasion = occasion
        self._bot_streak = 0
        self._judge_streak = 0
        self._judge_answered = False
        self._judge_said = ""

    async def one(self, case: Case) -> None:
        have = self._scored.get(case.case_id, ())
        wanted = [metric for metric in fitting(self._metrics, case) if metric.name not in have]
        if not wanted and case.response is not None:
            self._outcome.skipped += 1
            return
        try:
            if case.response is None:
                response = await self._ask(case)
                self._sink.save_response(self._eval_run_id, case.case_id, response)
                case = case.model_copy(update={"response": response})
            repeat = self._occasion if case.source == "canary" else 0
            scores = await grade_case(self._eval_run_id, case, wanted, self._judge, repeat=repeat)
            self._sink.save_scores(scores)
        except (PermanentError, TransientError) as error:
            self._outcome.error = self._outcome.error or error
            self._outcome.left += 1
            return
        self._count(scores)

    def _count(self, scores: Sequence[Score]) -> None:
        outcome = self._outcome
        outcome.graded += 1
        statuses = {score.status for score in scores}
        outcome.bot_errors += ScoreStatus.BOT_ERROR in statuses
        outcome.judge_errors += ScoreStatus.JUDGE_ERROR in statuses
        down = [score for score in scores if score.evidence.get("error_kind") == "unavailable"]
        if down:
            self._judge_streak += 1
            self._judge_said = str(down[0].evidence.get("error", ""))
        elif any(score.judge is not None for score in scores):
            self._judge_streak = 0
            self._judge_answered = True
        if self._judge_streak >= OUTAGE_STREAK and outcome.error is None:
            outcome.error = JudgeUnavailable(
                f"the judge was down for {self._judge_streak} cases in a row: {self._judge_said}"
            )

    def settle(self) -> None:
        """Few cases, and the judge answered none of them: that is an outage too."""
        if self._judge_streak and not self._judge_answered and self._outcome.error is None:
            self._outcome.error = JudgeUnavailable(f"the judge was down for every case: {self._judge_said}")

    async def _ask(self, case: Case) -> Response:
        if self._bot is None:
            return _no_answer("no_bot", "the monitor file names no bot to ask")
        if self._bot_streak >= OUTAGE_STREAK:
            return _no_answer("bot_down", f"not asked: the bot failed {OUTAGE_STREAK} times in a row")
        try:
            response = await self._bot.ask(case.item)
        except BotError as error:
            self._bot_streak += 1
            return _no_answer(error.kind, str(error))
        self._bot_streak = 0
        return response


def _no_answer(kind: str, message: str) -> Response:
    return Response(response=None, error=message, error_kind=kind, answered_at=datetime.now(UTC))


def not_graded(eval_run_id: str, case: Case, metric: Metric, problem: str | None) -> Score:
    """The score of a case that nobody reached: it stays in every count, as a failure (P1)."""
    return Score(
        eval_run_id=eval_run_id,
        case_id=case.case_id,
        metric=metric.name,
        metric_version=metric.version,
        status=ScoreStatus.JUDGE_ERROR,
        reason=f"not graded: {problem or 'no task reached this case'}",
        evidence={"error_kind": "not_graded"},
    )
