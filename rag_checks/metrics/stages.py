"""Metrics of single decisions of the bot: intent_accuracy, refusal_correctness, answer_rate."""

from rag_checks import text
from rag_checks.metrics.exam import Exam
from rag_checks.metrics.registry import Ask, Outcome, metric, say


@metric("intent_accuracy", version="1", stage="intent", needs=("expected_intent", "intent"))
async def intent_accuracy(exam: Exam) -> Outcome:
    """1 when the bot logged the expected intent, else 0 (case, width and outer space aside).

    Source: accuracy of a single-label classifier. The evidence holds both labels: together they are the
    confusion table.
    """
    expected, logged = exam.item.expected_intent or "", exam.response.intent or ""
    right = text.normalise(expected) == text.normalise(logged)
    reason = say(
        exam.language,
        zh=f"意图应为“{expected}”，机器人判为“{logged}”",
        en=f"Expected intent {expected!r}, the bot logged {logged!r}",
    )
    return Outcome(1.0 if right else 0.0, reason, {"expected": expected, "logged": logged})


@metric(
    "refusal_correctness",
    version="1",
    stage="generation",
    needs=("response", "answerable"),
    asks=(Ask.ANSWER,),
)
async def refusal_correctness(exam: Exam) -> Outcome:
    """1 when the bot answered the answerable or refused the unanswerable, else 0.

    Whether it refused is the judge's `noncommittal`. An empty answer is neither an answer nor a refusal: 0.

    Source: the "unanswerable" half of Rajpurkar, Jia and Liang, Know What You Don't Know (SQuAD 2.0, 2018),
    made symmetric so that refusing everything does not win.
    """
    answerable = exam.item.answerable is True
    if not exam.answer:
        reason = say(exam.language, zh="回答为空，既未作答也未说明", en="The answer is empty")
        return Outcome(0.0, reason, {"answerable": answerable, "refused": None})
    refused = (await exam.analysis).noncommittal
    reason = say(
        exam.language,
        zh=f"问题{'可以' if answerable else '无法'}回答，机器人{'拒答' if refused else '作答'}了",
        en=f"The question is {'' if answerable else 'un'}answerable and the bot "
        + ("refused" if refused else "answered"),
    )
    return Outcome(float(refused != answerable), reason, {"answerable": answerable, "refused": refused})


@metric(
    "answer_rate", version="1", stage="outcome", needs=("response",), asks=(Ask.ANSWER,), answerable_only=True
)
async def answer_rate(exam: Exam) -> Outcome:
    """1 when the bot gave a committal answer, 0 when it refused, evaded or said nothing.

    A health figure for production, where nobody knows the right answer; its mean is the share of questions
    answered. Not applicable to an item known to be unanswerable.

    Source: coverage in selective question answering: Kamath, Jia and Liang, Selective Question Answering
    under Domain Shift (ACL 2020); whether an answer is committal is the `noncommittal` of ragas 0.4.3
    `AnswerRelevancy`.
    """
    if not exam.answer:
        return Outcome(0.0, say(exam.language, zh="回答为空", en="The answer is empty"), {"refused": None})
    refused = (await exam.analysis).noncommittal
    reason = (
        say(exam.language, zh="机器人没有给出答案", en="The bot gave no answer")
        if refused
        else say(exam.language, zh="机器人给出了答案", en="The bot gave an answer")
    )
    return Outcome(0.0 if refused else 1.0, reason, {"refused": refused})
