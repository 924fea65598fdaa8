"""Grading one case: which metrics apply, their outcomes, and one Score each, always (P1)."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from rag_checks import text
from rag_checks.errors import JudgeError, JudgeUnavailable
from rag_checks.metrics.exam import Exam
from rag_checks.metrics.registry import REGISTRY, Metric, Outcome, say
from rag_checks.metrics.smalltalk import is_smalltalk
from rag_checks.protocols import Judge, JudgeReply, Task
from rag_checks.records import Case, EvalItem, JudgeIdentity, Score, ScoreStatus, Usage

# Evidence is for people looking into one case: enough of a reply to see what was wrong with it.
_RAW_KEPT = 2000
_MESSAGE_KEPT = 300

_Settled = tuple[ScoreStatus, Outcome]


async def grade_case(
    eval_run_id: str, case: Case, metrics: Sequence[Metric], judge: Judge, *, repeat: int = 0
) -> list[Score]:
    """One Score for every metric, in the order given, whatever happens to the judge or the bot.

    The judge is asked at most four tasks and one batch of similarities, all shared. The usage of a shared
    call is booked once, on the first metric in registry order that wanted it, so sums over scores are what
    was really spent.

    A judged score carries the identity of the last reply it read. One that a rule decided (an empty answer is
    0) belongs to the same series, so it carries that of the case's last reply, or of the judge as it stands.
    What was not judged at all (not applicable from the start, bot_error) carries none.

    `repeat` tells judgements of the same answer apart: each number is judged, and kept, on its own.

    Raises:
        JudgeFatal: no call can work; calls still in flight are cancelled.
    """
    excuses = [_excuse(metric, case) for metric in metrics]
    applicable = [metric for metric, excuse in zip(metrics, excuses, strict=True) if excuse is None]
    replies: dict[str, JudgeReply] = {}
    spent: dict[str, Usage] = {}
    graded: list[_Settled] = []
    if applicable:
        exam = Exam(case, judge, {ask for metric in applicable for ask in metric.asks}, repeat=repeat)
        graded = await _grade_all(exam, applicable)
        replies = exam.replies
        spent = exam.lost | {key: reply.usage for key, reply in replies.items()}
    usage = _booked(applicable, spent)
    outcomes = iter(graded)
    scores = []
    for metric, excuse in zip(metrics, excuses, strict=True):
        status, outcome = excuse or next(outcomes)
        read = [replies[key] for key in metric.reads if key in replies and excuse is None]
        flags = sorted({flag for reply in read for flag in reply.flags})
        scores.append(
            Score(
                eval_run_id=eval_run_id,
                case_id=case.case_id,
                metric=metric.name,
                metric_version=metric.version,
                value=outcome.value,
                status=status,
                reason=outcome.reason,
                evidence={**outcome.evidence, "flags": flags} if flags else outcome.evidence,
                judge=_grader(read, replies, judge) if metric.judged and excuse is None else None,
                usage=usage.pop(metric.name, Usage()),
            )
        )
    return scores


def _grader(read: Sequence[JudgeReply], replies: Mapping[str, JudgeReply], judge: Judge) -> JudgeIdentity:
    if read:
        return read[-1].identity
    in_order = [replies[task.value] for task in Task if task.value in replies]
    return in_order[-1].identity if in_order else judge.identity


async def _grade_all(exam: Exam, metrics: Sequence[Metric]) -> list[_Settled]:
    """Outcomes of metrics side by side; on a fatal error, or when cancelled, nothing is left running."""
    tasks = [asyncio.create_task(_grade(exam, metric)) for metric in metrics]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await exam.close()


async def _grade(exam: Exam, metric: Metric) -> _Settled:
    try:
        outcome = await metric.run(exam)
    except (JudgeError, JudgeUnavailable) as error:
        failed = _judge_failed(exam, error)
        over = failed.evidence["error_kind"] == ScoreStatus.OVER_BUDGET
        return ScoreStatus.OVER_BUDGET if over else ScoreStatus.JUDGE_ERROR, failed
    status = ScoreStatus.NOT_APPLICABLE if outcome.value is None else ScoreStatus.OK
    return status, outcome


def _judge_failed(exam: Exam, error: JudgeError | JudgeUnavailable) -> Outcome:
    kind = error.kind if isinstance(error, JudgeError) else "unavailable"
    evidence: dict[str, Any] = {
        "error_kind": kind,
        "error": text.clean(str(error))[:_MESSAGE_KEPT],
    }
    if isinstance(error, JudgeError) and error.raw is not None:
        evidence["raw"] = text.clean(error.raw)[:_RAW_KEPT]
    reason = say(exam.language, zh=f"评判失败（{kind}）", en=f"The judgement failed ({kind})")
    return Outcome(None, reason, evidence)


def _booked(metrics: Sequence[Metric], spent: Mapping[str, Usage]) -> dict[str, Usage]:
    """Usage by metric name: each judgement's on the first metric, in registry order, that wanted it."""
    order = {name: place for place, name in enumerate(REGISTRY)}
    by_order = sorted(metrics, key=lambda metric: order.get(metric.name, len(order)))
    booked: dict[str, Usage] = {}
    for key, usage in spent.items():
        payer = next(metric.name for metric in by_order if key in metric.reads)
        booked[payer] = booked.get(payer, Usage()) + usage
    return booked


def _excuse(metric: Metric, case: Case) -> _Settled | None:
    """Why a metric cannot be asked of a case, None when it can.

    What the item lacks comes first, so that an outage of the bot changes no count of applicable cases.
    """
    lacking = _item_lacks(metric, case)
    if lacking is not None:
        return ScoreStatus.NOT_APPLICABLE, Outcome(None, lacking)
    failure = _bot_failure(case)
    if failure is not None:
        return ScoreStatus.BOT_ERROR, failure
    for need in metric.needs:
        if not _is_of_item(need) and not any(
            getattr(case.response, name) is not None for name in need.split("|")
        ):
            return ScoreStatus.NOT_APPLICABLE, Outcome(None, _not_recorded(case, need))
    return None


def _item_lacks(metric: Metric, case: Case) -> str | None:
    if metric.judged and is_smalltalk(case.item.user_input):
        return say(
            case.language, zh="寒暄或没有内容，不是问题", en="Small talk or a blank message, not a question"
        )
    for need in metric.needs:
        if _is_of_item(need) and not any(_says_something(getattr(case.item, n)) for n in need.split("|")):
            return _not_recorded(case, need)
    if metric.answerable_only and case.item.answerable is False:
        return say(
            case.language,
            zh="问题本就无法回答，由 refusal_correctness 评判",
            en="The item is unanswerable; refusal_correctness grades it",
        )
    return None


def _is_of_item(need: str) -> bool:
    return need.partition("|")[0] in EvalItem.model_fields


def _says_something(value: Any) -> bool:
    """Whether a field of an item is set: blank text and an empty list of gold are not; False is."""
    return bool(value.strip() if isinstance(value, str) else value) or value is False


def _not_recorded(case: Case, need: str) -> str:
    fields = need.split("|")
    return say(
        case.language, zh=f"没有记录 {' 或 '.join(fields)}", en=f"{' or '.join(fields)} is not recorded"
    )


def _bot_failure(case: Case) -> Outcome | None:
    """The failure of the bot, None when it said anything, or said nothing without an error."""
    response = case.response
    if response is None:
        kind, words = "not_asked", None
    elif response.response is None or not response.response.strip():
        if response.response is not None and response.error is None and response.error_kind is None:
            return None
        kind, words = response.error_kind or "unknown", response.error
    else:
        return None
    evidence: dict[str, Any] = {"error_kind": kind}
    if words:
        evidence["error"] = text.clean(words)[:_MESSAGE_KEPT]
    reason = say(case.language, zh=f"机器人没有作答（{kind}）", en=f"The bot did not answer ({kind})")
    return Outcome(None, reason, evidence)
