"""Items × metrics: order, bounds, commits item by item, outages, deadline."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_checks import metrics
from rag_checks.errors import BotError, JudgeError, JudgeFatal, JudgeUnavailable, StoreUnavailable
from rag_checks.evaluation import OUTAGE_STREAK, Outcome, evaluate
from rag_checks.protocols import AnswerAnalysis, JudgeReply, JudgeRequest
from rag_checks.records import Case, EvalItem, JudgeIdentity, Language, Response, Score, ScoreStatus

WANTED = [metrics.get("answer_rate"), metrics.get("intent_accuracy")]
IDENTITY = JudgeIdentity(kind="openai", requested_model="fake", prompt_hash="0")


@dataclass
class FakeJudge:
    """Finds every answer committal; `fault` may raise, or wait, by number of the call from 1."""

    fault: Callable[[int], Exception | None] = lambda _number: None
    pause_s: float = 0.0
    hangs: Callable[[int], bool] = lambda _number: False
    calls: int = 0
    in_flight: int = 0
    most_in_flight: int = 0

    @property
    def identity(self) -> JudgeIdentity:
        return IDENTITY

    async def ask(self, request: JudgeRequest) -> JudgeReply:
        self.calls += 1
        number = self.calls
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(3600 if self.hangs(number) else self.pause_s)
        finally:
            self.in_flight -= 1
        error = self.fault(number)
        if error is not None:
            raise error
        claims = [request.inputs["answer"]]
        output = AnswerAnalysis(noncommittal=False, claims=claims, questions=["?"])
        return JudgeReply(output=output, identity=IDENTITY)

    async def similarity(self, pairs: Sequence[tuple[str, str]], language: Language) -> list[float]:
        return [1.0] * len(pairs)

    async def close(self) -> None:
        """Nothing is open."""


@dataclass
class FakeBot:
    """Answers, or fails by number of the question from 1."""

    fault: Callable[[int], Exception | None] = lambda _number: None
    asked: list[str] = field(default_factory=list)

    async def ask(self, item: EvalItem) -> Response:
        self.asked.append(item.item_id)
        error = self.fault(len(self.asked))
        await asyncio.sleep(0)
        if error is not None:
            raise error
        return Response(response=f"answer to {item.user_input}", intent="hours")

    async def close(self) -> None:
        """Nothing is open."""


@dataclass
class Kept:
    """What was committed, in order."""

    responses: dict[str, Response] = field(default_factory=dict)
    scores: list[Score] = field(default_factory=list)
    order: list[str] = field(default_factory=list)

    def save_response(self, _eval_run_id: str, case_id: str, response: Response) -> None:
        self.responses[case_id] = response

    def save_scores(self, scores: Sequence[Score]) -> None:
        self.order.append(scores[0].case_id)
        self.scores.extend(scores)

    def graded(self) -> dict[str, set[str]]:
        """What a next call is told to leave alone, as the store would tell it."""
        found: dict[str, set[str]] = {}
        for score in self.scores:
            if score.status in {ScoreStatus.OK, ScoreStatus.NOT_APPLICABLE}:
                found.setdefault(score.case_id, set()).add(score.metric)
        return found


def logged(number: int) -> Case:
    """A turn as production recorded it."""
    item = EvalItem(item_id=f"t{number:03}", user_input=f"When does shop {number} open?")
    answer = Response(response="At nine.", intent="hours")
    return Case(
        case_id=f"production:{item.item_id}", source="production", item=item, response=answer, language="en"
    )


def golden(number: int) -> Case:
    """A question to ask."""
    item = EvalItem(item_id=f"g{number:03}", user_input=f"Where is shop {number}?", expected_intent="hours")
    return Case(case_id=f"golden:{item.item_id}", source="golden", item=item, language="en")


def grade(
    cases: Sequence[Case],
    *,
    judge: FakeJudge | None = None,
    bot: FakeBot | None = None,
    kept: Kept | None = None,
    scored: Mapping[str, Collection[str]] | None = None,
    concurrency: int = 1,
    deadline_s: float = 30,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> tuple[Outcome, Kept]:
    """One call of `evaluate` on a loop of its own."""
    kept = kept or Kept()
    outcome = asyncio.run(
        evaluate(
            "run-1",
            cases,
            metrics=WANTED,
            judge=judge or FakeJudge(),
            bot=bot,
            sink=kept,
            scored=scored or {},
            concurrency=concurrency,
            deadline_s=deadline_s,
            progress=progress,
        )
    )
    return outcome, kept


def down(_number: int) -> Exception:
    """Nobody at the other end."""
    return JudgeUnavailable("connection refused")


def test_golden_cases_come_first_and_every_case_gets_one_score_a_metric() -> None:
    """When time runs out it is the sample that is cut, not the golden set."""
    cases = [logged(1), golden(2), logged(0), golden(1)]
    outcome, kept = grade(cases, bot=FakeBot())
    assert kept.order[:2] == ["golden:g001", "golden:g002"]
    assert sorted(kept.order[2:]) == ["production:t000", "production:t001"]
    assert sorted((score.case_id, score.metric) for score in kept.scores) == sorted(
        (case.case_id, metric.name) for case in cases for metric in WANTED
    )
    assert (outcome.graded, outcome.skipped, outcome.left, outcome.problem) == (4, 0, 0, None)


@given(st.integers(1, 12), st.integers(0, 30))
@settings(max_examples=25, deadline=None)
def test_never_more_cases_are_in_flight_than_allowed(concurrency: int, n: int) -> None:
    """The bound holds, and is used when there is enough to do."""
    judge = FakeJudge(pause_s=0.001)
    outcome, _ = grade([logged(number) for number in range(n)], judge=judge, concurrency=concurrency)
    assert judge.most_in_flight == min(concurrency, n)
    assert outcome.graded == n


def test_an_answer_is_kept_before_it_is_graded() -> None:
    """A fatal judge right after the bot answered: the answer is there for the next run."""
    outcome, kept = grade(
        [golden(1)], bot=FakeBot(), judge=FakeJudge(fault=lambda _n: JudgeFatal("wrong key"))
    )
    assert kept.responses["golden:g001"].response == "answer to Where is shop 1?"
    assert kept.scores == []
    assert (outcome.left, outcome.problem) == (1, "wrong key")
    assert isinstance(outcome.error, JudgeFatal)


def test_what_was_graded_before_the_judge_turned_fatal_is_kept() -> None:
    """The key is revoked at case 4: three are kept, the rest is left without another call."""
    judge = FakeJudge(fault=lambda number: JudgeFatal("key revoked") if number >= 4 else None)
    outcome, kept = grade([logged(number) for number in range(20)], judge=judge)
    assert len(kept.order) == 3
    assert (outcome.graded, outcome.left, judge.calls) == (3, 17, 4)


def test_a_judge_that_never_answers_ends_at_the_deadline_and_the_rest_is_kept() -> None:
    """The third call hangs for ever; seven others are graded and kept, the hanging one is left."""
    judge = FakeJudge(hangs=lambda number: number == 3)
    cases = [logged(number) for number in range(8)]
    outcome, kept = grade(cases, judge=judge, concurrency=2, deadline_s=0.3)
    assert len(kept.order) == len(set(kept.order)) == 7
    assert (outcome.graded, outcome.left) == (7, 1)
    assert isinstance(outcome.error, JudgeUnavailable)
    assert outcome.problem is not None
    assert "deadline" in outcome.problem
    assert "1 of 8" in outcome.problem
    assert judge.in_flight == 0


def test_a_resumed_run_pays_only_for_what_is_missing() -> None:
    """After an accident the second call grades the left cases and skips the graded ones."""
    cases = [golden(number) for number in range(3)] + [logged(number) for number in range(5)]
    judge = FakeJudge(fault=lambda number: JudgeFatal("no quota") if number > 4 else None)
    _, kept = grade(cases, judge=judge, bot=FakeBot())
    answered = [
        case.model_copy(update={"response": kept.responses.get(case.case_id, case.response)})
        for case in cases
    ]
    again = FakeJudge()
    bot = FakeBot()
    outcome, kept = grade(answered, judge=again, bot=bot, kept=kept, scored=kept.graded())
    assert (outcome.skipped, outcome.graded, again.calls) == (4, 4, 4)
    assert bot.asked == []
    assert len(kept.scores) == len(cases) * len(WANTED)


def test_a_case_with_one_metric_missing_is_graded_for_that_one_only() -> None:
    """A metric added later does not pay the others again."""
    judge = FakeJudge()
    _, kept = grade([logged(1)], judge=judge, scored={"production:t001": {"answer_rate"}})
    assert [score.metric for score in kept.scores] == ["intent_accuracy"]
    assert judge.calls == 0


def test_after_ten_failures_in_a_row_the_bot_is_left_alone() -> None:
    """Thirty questions, a dead bot: ten are asked, every one is recorded as a failure of the bot."""
    bot = FakeBot(fault=lambda _n: BotError("connection refused", kind="refused"))
    cases = [golden(number) for number in range(30)]
    outcome, kept = grade(cases, bot=bot)
    assert len(bot.asked) == OUTAGE_STREAK
    kinds = [kept.responses[case.case_id].error_kind for case in cases]
    assert kinds == ["refused"] * OUTAGE_STREAK + ["bot_down"] * (30 - OUTAGE_STREAK)
    assert {score.status for score in kept.scores} == {ScoreStatus.BOT_ERROR}
    assert (outcome.graded, outcome.bot_errors, outcome.error) == (30, 30, None)


def test_a_bot_that_fails_now_and_then_is_asked_everything() -> None:
    """Nine failures, an answer, nine failures: bad luck, no outage."""
    bot = FakeBot(fault=lambda number: BotError("slow", kind="timeout") if number % 10 else None)
    outcome, _ = grade([golden(number) for number in range(30)], bot=bot)
    assert len(bot.asked) == 30
    assert outcome.bot_errors == 27


def test_without_a_bot_questions_are_bot_errors_and_logged_turns_are_graded() -> None:
    """Nothing is dropped because there is nobody to ask."""
    outcome, kept = grade([golden(1), logged(1)])
    by_case = {score.case_id: score.status for score in kept.scores if score.metric == "answer_rate"}
    assert by_case == {"golden:g001": ScoreStatus.BOT_ERROR, "production:t001": ScoreStatus.OK}
    assert outcome.bot_errors == 1


def test_ten_cases_without_a_judge_are_an_outage_that_stops_the_run() -> None:
    """The eleventh case is not asked: each costs its full retry time."""
    judge = FakeJudge(fault=down)
    outcome, kept = grade([logged(number) for number in range(40)], judge=judge)
    assert judge.calls == OUTAGE_STREAK
    assert isinstance(outcome.error, JudgeUnavailable)
    assert (outcome.graded, outcome.left) == (OUTAGE_STREAK, 40 - OUTAGE_STREAK)
    assert outcome.problem is not None
    assert "connection refused" in outcome.problem
    assert {s.status for s in kept.scores if s.metric == "answer_rate"} == {ScoreStatus.JUDGE_ERROR}


def test_one_answer_in_between_and_it_is_no_outage() -> None:
    """Nine failures, an answer, nine failures: all are asked, failures are counted."""
    judge = FakeJudge(fault=lambda number: down(number) if number % 10 else None)
    outcome, _ = grade([logged(number) for number in range(30)], judge=judge)
    assert (judge.calls, outcome.graded, outcome.judge_errors, outcome.error) == (30, 30, 27, None)


def test_few_cases_and_no_answer_at_all_are_an_outage_too() -> None:
    """Three cases never reach a streak of ten; the run still says that the judge was down."""
    outcome, _ = grade([logged(number) for number in range(3)], judge=FakeJudge(fault=down))
    assert isinstance(outcome.error, JudgeUnavailable)
    assert outcome.graded == 3


def test_a_judgement_that_fails_is_that_cases_own_affair() -> None:
    """Content filters and bad formats never add up to an outage."""
    judge = FakeJudge(fault=lambda _n: JudgeError("filtered", kind="content_filter"))
    outcome, kept = grade([logged(number) for number in range(25)], judge=judge)
    assert (outcome.graded, outcome.judge_errors, outcome.error) == (25, 25, None)
    assert all(score.value is None for score in kept.scores)


def test_a_store_that_cannot_keep_anything_ends_the_run_as_transient() -> None:
    """Scores that cannot be kept are not bought."""

    class Full(Kept):
        def save_scores(self, scores: Sequence[Score]) -> None:
            raise StoreUnavailable("the disk is full")

    judge = FakeJudge()
    outcome, _ = grade([logged(number) for number in range(10)], judge=judge, kept=Full())
    assert isinstance(outcome.error, StoreUnavailable)
    assert (outcome.graded, outcome.left, judge.calls) == (0, 10, 1)


@pytest.mark.parametrize("place", ["judge", "bot"])
def test_an_error_nobody_foresaw_is_not_swallowed(place: str) -> None:
    """A bug in a judge or a bot adapter comes out, and what was committed before stays."""

    def bug(number: int) -> Exception | None:
        return ZeroDivisionError("a bug") if number == 3 else None

    kept = Kept()
    judge, bot = FakeJudge(), FakeBot()
    (judge if place == "judge" else bot).fault = bug
    with pytest.raises(ExceptionGroup) as caught:
        grade([golden(number) for number in range(9)], judge=judge, bot=bot, kept=kept)
    assert caught.group_contains(ZeroDivisionError, match="a bug")
    assert kept.order == ["golden:g000", "golden:g001"]


def test_progress_counts_graded_and_skipped_up_to_all() -> None:
    """What a person sees never runs backwards and ends at the total."""
    told: list[tuple[int, int]] = []
    cases = [logged(number) for number in range(12)]
    scored = {case.case_id: {metric.name for metric in WANTED} for case in cases[:4]}
    grade(cases, scored=scored, concurrency=3, progress=lambda done, total: told.append((done, total)))
    assert [done for done, _ in told] == list(range(1, 13))
    assert {total for _, total in told} == {12}


def test_nothing_to_grade_is_no_error() -> None:
    """An empty shard ends at once."""
    outcome, kept = grade([])
    assert outcome == Outcome()
    assert kept.scores == []
