"""Nights for the report tests: a failing one with everything a report can show, and hostile text."""

from datetime import timedelta

from alerts_fixtures import NIGHT, OFFLINE, failing_night

from rag_checks.records import (
    Case,
    EvalItem,
    Feedback,
    GradedCase,
    Level,
    Message,
    Response,
    Score,
    ScoreStatus,
    Trend,
    TrendPoint,
    Usage,
)

RELEASED = NIGHT - timedelta(days=2)
STAFF_ROW = "张伟 | Zhang Wei | 教研部 / Curriculum"
HOSTILE = (
    '<script>alert(1)</script>"><img src=x onerror=alert(2)>{{ 7*7 }} 你好 🙈👩‍👩‍👧 \u202etxet\u200f العربية'
)


def trend(values, *, metric="answer_correctness", source="golden", minimum=0.8, until=NIGHT, **fields):
    """One night a value up to `until`; None is a night without data; the last two nights ran release 2.0."""
    first = until - timedelta(days=len(values) - 1)
    points = []
    for number, value in enumerate(values):
        night = first + timedelta(days=number)
        level = Level.NO_DATA if value is None else Level.OK if value >= minimum else Level.FAIL
        points.append(
            TrendPoint(
                night=night,
                value=value,
                low=None if value is None else max(0.0, value - 0.06),
                high=None if value is None else min(1.0, value + 0.05),
                n_ok=0 if value is None else 60,
                level=level,
                release="2.0" if night >= RELEASED else "1.4",
            )
        )
    return Trend(metric=metric, source=source, minimum=minimum, points=tuple(points), **fields)


def score(metric, value, reason="", status=ScoreStatus.OK, **evidence):
    """A score with its evidence."""
    return Score(
        eval_run_id="hr_bot-2026-10-24",
        case_id="set-by-case",
        metric=metric,
        metric_version="1",
        value=value,
        status=status,
        reason=reason,
        evidence=evidence,
        judge=OFFLINE,
        usage=Usage(calls=1, prompt_tokens=100),
    )


def graded(case_id, scores, *, response, intent="employee_lookup", conversation_id=None, **item):
    """A graded case; everything else goes to its item."""
    source, _, item_id = case_id.partition(":")
    case = Case(
        case_id=case_id,
        source=source,
        item=EvalItem(item_id=item_id, **item),
        response=response,
        language="zh",
        intent=intent,
        conversation_id=conversation_id,
    )
    return GradedCase(case=case, scores=tuple(one.model_copy(update={"case_id": case_id}) for one in scores))


def changed(base, *scores, case_id=None, user_input=None, **response):
    """A graded case with other scores, another id, question or parts of its response."""
    case = base.case
    item = case.item if user_input is None else case.item.model_copy(update={"user_input": user_input})
    case_id = case_id or case.case_id
    answered = case.response.model_copy(update=response)
    return GradedCase(
        case=case.model_copy(update={"case_id": case_id, "item": item, "response": answered}),
        scores=tuple(one.model_copy(update={"case_id": case_id}) for one in scores or base.scores),
    )


def claim(text, supported, reason):
    """One row of claims as metrics write it."""
    return {"claim": text, "supported": supported, "reason": reason}


def refused_lookup():
    """The retriever brought the wrong rows, and the bot refused."""
    return graded(
        "golden:item-1",
        [
            score(
                "answer_correctness",
                0.0,
                "事实 F1 为 0.00，与参考答案的相似度为 0.00",
                f1=0.0,
                similarity=0.0,
                answer_claims=[],
                reference_claims=[claim("张伟是教研部的", False, "")],
            ),
            score(
                "context_precision",
                0.5,
                "2 个段落中有 1 个有用",
                contexts=[
                    {"id": 1, "useful": False, "reason": "讲的是年假"},
                    {"id": 2, "useful": True, "reason": "含有教研部"},
                ],
                measured_by="reference",
            ),
            score("hit_rate", 0.0, "未命中", gold=[{"id": "staff#zhang-wei", "rank": None}], k=2),
            score("recall", 0.0, "未命中", gold=[{"id": "staff#zhang-wei", "rank": None}], k=2),
            score("intent_accuracy", 1.0, "一致", expected="employee_lookup", logged="employee_lookup"),
            score("faithfulness", None, "回答没有事实陈述", ScoreStatus.NOT_APPLICABLE),
        ],
        response=Response(
            response="抱歉，没有找到相关信息。",
            retrieved_contexts=("每位员工每年有15天年假。", "| 教研部 / Curriculum | E406"),
            retrieved_context_ids=("leave#annual", "staff@32"),
            intent="employee_lookup",
            rewritten_query="张伟 部门",
            release="2.0",
            latency_ms=412.0,
        ),
        user_input="张伟是哪个部门的？",
        reference="张伟是教研部的",
        reference_contexts=(STAFF_ROW,),
        reference_context_ids=("staff#zhang-wei",),
        expected_intent="employee_lookup",
        answerable=True,
    )


def bot_failure():
    """The bot timed out."""
    failed = {"error_kind": "timeout", "error": "no answer within 30 s"}
    return graded(
        "golden:item-3",
        [score("answer_correctness", None, "机器人没有作答", ScoreStatus.BOT_ERROR, **failed)],
        response=Response(response=None, error="no answer within 30 s", error_kind="timeout"),
        user_input="王芳的直属上级是谁？",
        reference="陈晨",
    )


def disliked_turn():
    """A logged turn with history, feedback, and a judge that failed on one metric."""
    return graded(
        "production:turn-7",
        [
            score(
                "faithfulness",
                0.5,
                "1 of 2 claims are supported by the retrieved contexts",
                claims=[
                    claim("Refunds take 7 days.", True, "passage 1 says so"),
                    claim("Weekends count.", False, "no passage says so"),
                ],
            ),
            score(
                "answer_relevancy",
                0.64,
                "Mean similarity to 1 questions made from the answer is 0.64",
                noncommittal=False,
                questions=[{"question": "How long do refunds take?", "similarity": 0.64}],
            ),
            score(
                "answer_rate",
                None,
                "The judgement failed (format)",
                ScoreStatus.JUDGE_ERROR,
                error_kind="format",
                error="2 verdicts expected, one an id; got 1",
                raw='{"verdicts": [',
            ),
        ],
        response=Response(
            response="Refunds take 7 days. Weekends count.",
            retrieved_contexts=("Refunds are paid within 7 days.",),
            intent="expenses",
            feedback=Feedback(rating="dislike", comment="weekends do not count"),
            release="2.0",
        ),
        intent="expenses",
        conversation_id="c-7",
        user_input="And how long does it take?",
        history=(
            Message(role="user", content="How do I get a refund?"),
            Message(role="assistant", content="File a claim in the portal."),
        ),
    )


def unanswerable():
    """A question nobody can answer, refused as it should be."""
    return graded(
        "golden:item-9",
        [score("refusal_correctness", 1.0, "拒答", answerable=False, refused=True)],
        response=Response(response="抱歉，我不知道。", retrieved_contexts=()),
        intent="other",
        user_input="公司明天的股价是多少？",
        answerable=False,
    )


def hostile_case():
    """Markup, template syntax, emoji and direction marks in every field that comes from outside."""
    return graded(
        "production:" + HOSTILE,
        [
            score("faithfulness", 0.0, HOSTILE, claims=[claim(HOSTILE, False, HOSTILE)]),
            score("context_precision", 0.0, contexts=[{"id": 1, "useful": False, "reason": HOSTILE}]),
            score("house_rubric", 0.2, HOSTILE, verdicts=[{HOSTILE: HOSTILE}], note=HOSTILE),
        ],
        response=Response(
            response=HOSTILE,
            retrieved_contexts=(HOSTILE,),
            retrieved_context_ids=(HOSTILE,),
            rewritten_query=HOSTILE,
            intent=HOSTILE,
            release=HOSTILE,
            feedback=Feedback(rating="dislike", comment=HOSTILE),
            error=HOSTILE,
            error_kind=HOSTILE,
        ),
        intent=HOSTILE,
        conversation_id=HOSTILE,
        user_input=HOSTILE,
        reference=HOSTILE,
        history=(Message(role="user", content=HOSTILE),),
    )


def night(language):
    """The failing night of the message tests, with trends and cases."""
    cases = [refused_lookup(), bot_failure(), disliked_turn(), unanswerable()]
    told = failing_night(language)
    finding = told.findings[0].model_copy(update={"case_ids": ("golden:item-1", "golden:gone")})
    run = told.run.model_copy(
        update={
            "golden_version": 3,
            "metric_versions": {"answer_correctness": "1", "faithfulness": "1"},
            "config_hash": "0123456789abcdef",
            "code_version": "0.1.0",
        }
    )
    summary = told.model_copy(
        update={
            "run": run,
            "findings": (finding,),
            "worst": (cases[0],),
            "usage": Usage(calls=1234, cached=56, prompt_tokens=789000, completion_tokens=4321),
            "trends": (
                trend([0.86, 0.87, None, 0.85, 0.61, 0.62], baseline=0.86),
                trend([0.9, 0.91, 0.89], metric="faithfulness", source="production"),
            ),
        }
    )
    return summary, cases


def quiet_night(language):
    """All metrics meet their targets."""
    told, _ = night(language)
    verdicts = tuple(
        verdict.model_copy(update={"level": Level.OK, "since": None})
        for verdict in told.verdicts
        if verdict.value is not None
    )
    return told.model_copy(update={"level": Level.OK, "verdicts": verdicts, "findings": ()})
