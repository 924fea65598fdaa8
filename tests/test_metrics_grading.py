"""Grading a case: values, statuses, what is asked, errors, usage, identity."""

import asyncio
import math

import pytest
from metrics_fixtures import (
    IDENTITY,
    ScriptedJudge,
    claim_verdicts,
    grade,
    grade_one,
    identity_for,
    make_case,
)

from rag_checks import metrics
from rag_checks.errors import ConfigError, JudgeError, JudgeFatal, JudgeUnavailable
from rag_checks.judge.offline import OfflineJudge
from rag_checks.protocols import AnswerAnalysis, ClaimComparison, ContextCheck, ContextVerdict, Task
from rag_checks.records import Message, ScoreStatus, Usage

FULL = {
    "reference": "The reference.",
    "reference_context_ids": ("d1",),
    "ids": ("d1", "d2"),
    "expected_intent": "leave",
    "intent": "Leave ",
    "answerable": True,
}
DEFAULTS = [metric.name for metric in metrics.defaults()]
JUDGED = [name for name in metrics.names() if metrics.get(name).judged]
OK, NOT_APPLICABLE = ScoreStatus.OK, ScoreStatus.NOT_APPLICABLE
JUDGE_ERROR, BOT_ERROR = ScoreStatus.JUDGE_ERROR, ScoreStatus.BOT_ERROR


def test_a_full_case_gets_a_value_from_every_metric():
    """Every metric grades a case with all fields, with a version, a reason and evidence."""
    scores = grade(make_case(**FULL, answer="The answer [1]."), *metrics.names())
    assert set(scores) == set(metrics.names())
    for score in scores.values():
        assert score.status is OK
        assert score.value is not None
        assert score.reason
        assert score.evidence
        assert score.metric_version == metrics.get(score.metric).version


def test_the_default_metrics_cost_four_calls_and_one_batch_of_similarities():
    """Shared work is asked once: both analyses side by side, then the two checks and the similarities."""
    judge = ScriptedJudge(delay=0.01)
    grade(make_case(**FULL), judge=judge)
    assert sorted(judge.tasks[:2]) == [Task.ANALYSE_ANSWER, Task.ANALYSE_REFERENCE]
    assert sorted(judge.tasks[2:]) == [Task.CHECK_CONTEXTS, Task.COMPARE_CLAIMS]
    assert judge.peak == 3
    assert judge.pairs == [[("The answer.", "The reference."), ("How long is the leave?", "q?")]]


def test_the_worked_example_of_answer_correctness():
    """Claims {A,B} against {A,C} give F1 0.5 and 0.75 * 0.5 + 0.25 * similarity."""
    judge = ScriptedJudge(claims=["+A", "B"], reference_claims=["+A", "C"], similar=0.6)
    score = grade_one(make_case(**FULL), "answer_correctness", judge)
    assert score.value == pytest.approx(0.75 * 0.5 + 0.25 * 0.6)
    assert score.evidence["f1"] == 0.5
    assert score.evidence["answer_claims"] == [
        {"claim": "+A", "supported": True, "reason": "because +A"},
        {"claim": "B", "supported": False, "reason": "because B"},
    ]


def test_the_worked_example_of_context_precision_and_recall():
    """Contexts [irrelevant, relevant] and one supported reference claim give 0.5 and 1."""
    case = make_case(contexts=["irrelevant", "+relevant"], reference="R")
    scores = grade(case, "context_precision", "context_recall")
    assert scores["context_precision"].value == 0.5
    assert scores["context_recall"].value == 1.0
    assert scores["context_precision"].evidence["contexts"][1] == {
        "id": 2,
        "useful": True,
        "reason": "because +relevant",
    }


def test_faithfulness_counts_supported_claims():
    """Two supported claims of three give two thirds, with the claims as evidence."""
    score = grade_one(make_case(), "faithfulness", ScriptedJudge(claims=["+a", "b", "+c"]))
    assert score.value == pytest.approx(2 / 3)
    assert [row["supported"] for row in score.evidence["claims"]] == [True, False, True]


def test_answer_relevancy_is_the_mean_similarity_to_generated_questions():
    """The question is compared with each generated one and the mean taken."""
    judge = ScriptedJudge(questions=["a?", "b?"], similar=[0.4, 0.9])
    score = grade_one(make_case(), "answer_relevancy", judge)
    assert score.value == pytest.approx(0.65)
    assert score.evidence["questions"][1] == {"question": "b?", "similarity": 0.9}


@pytest.mark.parametrize(
    ("name", "asked", "inputs"),
    [
        (
            "faithfulness",
            [Task.ANALYSE_ANSWER, Task.CHECK_CONTEXTS],
            {"answer_claims": ["+a"], "rate_contexts": False},
        ),
        (
            "context_precision",
            [Task.CHECK_CONTEXTS],
            {
                "rate_contexts": True,
                "reference": "The reference.",
            },
        ),
        (
            "context_recall",
            [Task.ANALYSE_REFERENCE, Task.CHECK_CONTEXTS],
            {"reference_claims": ["+r"], "rate_contexts": False},
        ),
        ("answer_relevancy", [Task.ANALYSE_ANSWER], None),
        ("refusal_correctness", [Task.ANALYSE_ANSWER], None),
        ("answer_rate", [Task.ANALYSE_ANSWER], None),
    ],
)
def test_one_metric_alone_asks_only_what_it_needs(name, asked, inputs):
    """What is sent depends on the wanted metrics: no claims, ratings or tasks for the others."""
    judge = ScriptedJudge()
    assert grade_one(make_case(**FULL), name, judge).status is OK
    assert judge.tasks == asked
    if inputs is not None:
        sent = judge.asked(Task.CHECK_CONTEXTS)
        assert sent == {
            "question": "How long is the leave?",
            "contexts": ["+one", "two"],
            **inputs,
        }


def test_metrics_excused_for_a_case_are_not_packed():
    """Without a reference nothing of it is analysed, and usefulness is measured by the answer."""
    judge = ScriptedJudge()
    scores = grade(make_case(), judge=judge)
    assert scores["answer_correctness"].status is NOT_APPLICABLE
    assert sorted(judge.tasks) == [Task.ANALYSE_ANSWER, Task.CHECK_CONTEXTS]
    sent = judge.asked(Task.CHECK_CONTEXTS)
    assert sent["answer"] == "The answer."
    assert "reference" not in sent
    assert scores["context_precision"].evidence["measured_by"] == "answer"


def test_history_goes_to_the_analysis_of_a_follow_up():
    """A follow-up is judged with the messages before it."""
    judge = ScriptedJudge()
    case = make_case(question="And how long?", history=(Message(role="user", content="What about refunds?"),))
    grade_one(case, "answer_rate", judge)
    assert judge.asked(Task.ANALYSE_ANSWER)["history"] == [{"role": "user", "content": "What about refunds?"}]


def test_scores_do_not_depend_on_which_metrics_share_a_call():
    """Each metric alone gives the value it gives among all."""
    together = grade(make_case(**FULL), judge=ScriptedJudge(claims=["+a", "b"], similar=0.3))
    for name, score in together.items():
        alone = grade_one(make_case(**FULL), name, ScriptedJudge(claims=["+a", "b"], similar=0.3))
        assert (alone.value, alone.evidence) == (score.value, score.evidence)


# The empty cases, metric by metric: value, or the status when there is none.
EMPTY = {
    "blank answer": (
        {"answer": "  \n"},
        {},
        {
            "faithfulness": NOT_APPLICABLE,
            "answer_relevancy": 0,
            "answer_correctness": 0,
            "context_precision": 1,
            "context_recall": 1,
            "hit_rate": 1,
            "intent_accuracy": 1,
            "refusal_correctness": 0,
            "answer_rate": 0,
        },
    ),
    "refusal": (
        {"answer": "Sorry, I could not find that."},
        {"noncommittal": True, "claims": [], "questions": []},
        {
            "faithfulness": NOT_APPLICABLE,
            "answer_relevancy": 0,
            "answer_correctness": 0.25,
            "context_precision": 1,
            "context_recall": 1,
            "refusal_correctness": 0,
            "answer_rate": 0,
        },
    ),
    "no claims": (
        {"answer": "Which one do you mean?"},
        {"claims": []},
        {"faithfulness": NOT_APPLICABLE, "answer_relevancy": 1, "answer_correctness": 0.25, "answer_rate": 1},
    ),
    "nothing retrieved": (
        {"contexts": (), "ids": ()},
        {},
        {"faithfulness": 0, "context_precision": 0, "context_recall": 0, "hit_rate": 0, "ndcg": 0},
    ),
    "blank contexts": (
        {"contexts": ("", " \n"), "ids": None},
        {},
        {
            "faithfulness": 0,
            "context_precision": 0,
            "context_recall": 0,
            "recall": NOT_APPLICABLE,
        },
    ),
    "nothing retrieved, refused": (
        {"contexts": (), "ids": ()},
        {"noncommittal": True, "claims": [], "questions": []},
        {"faithfulness": NOT_APPLICABLE, "context_recall": 0, "answer_relevancy": 0},
    ),
    "retrieval not recorded": (
        {"contexts": None, "ids": None},
        {},
        dict.fromkeys(
            ("faithfulness", "context_precision", "context_recall", "recall", "mrr"), NOT_APPLICABLE
        ),
    ),
    "blank reference": (
        {"reference": " "},
        {},
        {"answer_correctness": NOT_APPLICABLE, "context_recall": NOT_APPLICABLE, "context_precision": 1},
    ),
    "reference without claims": (
        {},
        {"reference_claims": ["", " "]},
        {"answer_correctness": NOT_APPLICABLE, "context_recall": NOT_APPLICABLE},
    ),
    "blank answer, no reference": (
        {"answer": "", "reference": None},
        {},
        {"context_precision": NOT_APPLICABLE, "answer_rate": 0},
    ),
    "no useful context": ({"contexts": ("one", "two")}, {}, {"context_precision": 0}),
    "unanswerable, refused": (
        {"answerable": False, "answer": "I do not know."},
        {"noncommittal": True, "claims": [], "questions": []},
        {
            "refusal_correctness": 1,
            "answer_relevancy": NOT_APPLICABLE,
            "answer_correctness": NOT_APPLICABLE,
            "context_precision": NOT_APPLICABLE,
            "context_recall": NOT_APPLICABLE,
            "answer_rate": NOT_APPLICABLE,
            "faithfulness": NOT_APPLICABLE,
        },
    ),
    "unanswerable, answered": (
        {"answerable": False},
        {},
        {"refusal_correctness": 0, "answer_relevancy": 1, "faithfulness": 1},
    ),
    "unanswerable, blank": (
        {"answerable": False, "answer": ""},
        {},
        {"refusal_correctness": 0, "answer_relevancy": 0},
    ),
    "answerable, answered": ({}, {}, {"refusal_correctness": 1, "answer_rate": 1}),
    "answerability unknown": ({"answerable": None}, {}, {"refusal_correctness": NOT_APPLICABLE}),
    "wrong intent": ({"intent": "expenses"}, {}, {"intent_accuracy": 0}),
    "intent logged as blank": ({"intent": ""}, {}, {"intent_accuracy": 0}),
    "intent not logged": ({"intent": None}, {}, {"intent_accuracy": NOT_APPLICABLE}),
    "no intent expected": ({"expected_intent": ""}, {}, {"intent_accuracy": NOT_APPLICABLE}),
    "full-width intent": ({"expected_intent": "ＩＴ", "intent": "it"}, {}, {"intent_accuracy": 1}),
}


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("kind", EMPTY)
def test_every_empty_case_has_its_rule(kind, language):
    """Blank answers, missing claims, contexts, references: the value or status the module promises."""
    case, script, expected = EMPTY[kind]
    scores = grade(make_case(**FULL | case, language=language), judge=ScriptedJudge(**script))
    for name, wanted in expected.items():
        score = scores[name]
        found = score.status if score.value is None else score.value
        assert found == wanted, (name, score)
        assert score.reason
    assert all(score.status in (OK, NOT_APPLICABLE) for score in scores.values())


@pytest.mark.parametrize("name", JUDGED)
@pytest.mark.parametrize(
    "greeting",
    [
        "你好",
        "您好！在吗？",
        "谢谢",
        "好的，谢谢啦~",
        "thanks!",
        "Hi there",
        "OK, thank you.",
        "？？",
        "👍",
        " ",
    ],
)
def test_small_talk_is_not_judged(greeting, name):
    """Greetings, thanks and blank messages ask nothing: no judged metric applies, no call is made."""
    judge = ScriptedJudge()
    score = grade_one(make_case(**FULL, question=greeting), name, judge)
    assert score.status is NOT_APPLICABLE
    assert not judge.requests


@pytest.mark.parametrize(
    "question",
    ["你好，年假几天？", "谢谢，那报销呢", "Hi, how long is the leave?", "OK", "好的", "早餐几点", "history"],
)
def test_a_question_with_a_greeting_is_a_question(question):
    """A greeting before a question, or a word that may answer the bot's question, is judged."""
    assert grade_one(make_case(question=question), "answer_rate").value == 1


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        ({"answer": None, "error": "read timeout", "error_kind": "timeout"}, "timeout"),
        ({"answer": "", "error": "upstream 502"}, "unknown"),
        ({"answer": " ", "error_kind": "empty"}, "empty"),
        ({"answer": None}, "unknown"),
    ],
)
def test_a_failed_bot_is_a_bot_error_everywhere_it_could_have_been_graded(failure, kind):
    """Without an answer nothing is judged, everything applicable is bot_error, the rest stays n/a."""
    judge = ScriptedJudge()
    scores = grade(make_case(**FULL | {"expected_intent": None} | failure), judge=judge)
    assert not judge.requests
    assert scores.pop("intent_accuracy").status is NOT_APPLICABLE
    for score in scores.values():
        assert (score.status, score.value) == (BOT_ERROR, None)
        assert score.evidence["error_kind"] == kind
        assert kind in score.reason


def test_a_case_never_asked_is_a_bot_error():
    """A case without a response still gets one score a metric."""
    scores = grade(make_case().model_copy(update={"response": None}), "answer_rate", "faithfulness")
    assert {score.evidence["error_kind"] for score in scores.values()} == {"not_asked"}


def test_an_answer_with_a_logged_error_is_graded_as_the_user_saw_it():
    """The user got this text, so it is judged although the log mentions an error."""
    assert grade_one(make_case(error="rerank failed, fell back"), "answer_rate").status is OK


NEEDED_BY = {
    Task.ANALYSE_ANSWER: {
        "faithfulness",
        "answer_relevancy",
        "answer_correctness",
        "refusal_correctness",
        "answer_rate",
    },
    Task.ANALYSE_REFERENCE: {"answer_correctness", "context_recall"},
    Task.CHECK_CONTEXTS: {"faithfulness", "context_precision", "context_recall"},
    Task.COMPARE_CLAIMS: {"answer_correctness"},
}


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (JudgeError("cut off", kind="length", raw='{"claims": ["a\x00'), "length"),
        (JudgeUnavailable("no answer after 5 tries"), "unavailable"),
    ],
)
@pytest.mark.parametrize("task", NEEDED_BY)
def test_a_failed_judgement_falls_on_the_metrics_that_need_it_and_only_on_them(task, error, kind):
    """One failing task gives judge_error to its metrics; all others keep their values."""
    scores = grade(make_case(**FULL), judge=ScriptedJudge(script={task: error}))
    failed = {name for name, score in scores.items() if score.status is JUDGE_ERROR}
    assert failed == NEEDED_BY[task]
    for name, score in scores.items():
        if name in failed:
            assert score.value is None
            assert score.evidence["error_kind"] == kind
            assert score.judge is not None
        else:
            assert score.status is OK


def test_the_raw_reply_is_kept_as_evidence_only():
    """What the judge said is kept, cleaned and bounded, and never shown in the reason."""
    error = JudgeError("not JSON", kind="format", raw="<secret>\x00" + "x" * 9000)
    score = grade_one(make_case(), "faithfulness", ScriptedJudge(script={Task.ANALYSE_ANSWER: error}))
    assert score.evidence["raw"].startswith("<secret>x")
    assert len(score.evidence["raw"]) <= 2000
    assert "secret" not in score.reason


@pytest.mark.parametrize(
    "similar", [JudgeUnavailable("down"), [math.nan, 0.5], [0.5], [1.2, 0.1], [-0.1, 0.1]]
)
def test_a_failed_similarity_is_no_number(similar):
    """An error, NaN, a wrong count or a value outside 0..1 gives judge_error to the two metrics it serves."""
    scores = grade(make_case(**FULL), judge=ScriptedJudge(similar=similar))
    failed = {name for name, score in scores.items() if score.status is JUDGE_ERROR}
    assert failed == {"answer_relevancy", "answer_correctness"}


def test_rounding_of_a_similarity_is_clipped():
    """A cosine of 1.0000001 is 1, not an error."""
    assert grade_one(make_case(), "answer_relevancy", ScriptedJudge(similar=1.0000001)).value == 1.0


@pytest.mark.parametrize(
    ("task", "reply", "failed"),
    [
        (Task.CHECK_CONTEXTS, ContextCheck(answer_claims=[]), "faithfulness"),
        (
            Task.CHECK_CONTEXTS,
            ContextCheck(
                answer_claims=claim_verdicts(["+a"]),
                reference_claims=claim_verdicts(["+r"]),
                contexts=[ContextVerdict(id=1, reason="", useful=True)] * 2,
            ),
            "context_precision",
        ),
        (
            Task.COMPARE_CLAIMS,
            ClaimComparison(answer_claims=claim_verdicts(["+a", "+b"]), reference_claims=[]),
            "answer_correctness",
        ),
        (
            Task.ANALYSE_ANSWER,
            AnswerAnalysis(noncommittal=False, claims=[], questions=[]),
            "answer_relevancy",
        ),
        (Task.ANALYSE_ANSWER, ContextCheck(), "answer_rate"),
    ],
)
def test_a_reply_that_does_not_fit_what_was_sent_is_a_judge_error(task, reply, failed):
    """Missing, doubled or surplus verdicts, no question, another task's reply: never a number."""
    score = grade(make_case(**FULL), judge=ScriptedJudge(script={task: reply}))[failed]
    assert (score.status, score.evidence["error_kind"]) == (JUDGE_ERROR, "format")


def test_verdicts_are_matched_by_id_whatever_their_order():
    """A judge may answer out of order; each verdict goes to the claim it names."""
    shuffled = ContextCheck(answer_claims=list(reversed(claim_verdicts(["+a", "b"]))))
    judge = ScriptedJudge(claims=["+a", "b"], script={Task.CHECK_CONTEXTS: shuffled})
    rows = grade_one(make_case(), "faithfulness", judge).evidence["claims"]
    assert [(row["claim"], row["supported"]) for row in rows] == [("+a", True), ("b", False)]


def test_a_fatal_error_stops_at_once_and_leaves_nothing_running():
    """JudgeFatal comes out of grade_case itself, and calls in flight are cancelled."""

    async def run():
        judge = ScriptedJudge(delay=30)
        judge.script[Task.ANALYSE_REFERENCE] = JudgeFatal("401")

        async def ask(request, ask=judge.ask):
            if request.task == Task.ANALYSE_REFERENCE:
                await asyncio.sleep(0.01)
                raise judge.script[request.task]
            return await ask(request)

        judge.ask = ask
        wanted = metrics.defaults()
        with pytest.raises(JudgeFatal, match="401"):
            await metrics.grade_case("run", make_case(**FULL), wanted, judge)
        assert judge.cancelled == 1
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(run())


def test_a_failed_judgement_leaves_nothing_running():
    """A similarity nobody waits for any more, because the comparison failed, ends with the case."""

    async def run():
        judge = ScriptedJudge(delay=30)
        judge.ask = ScriptedJudge(script={Task.COMPARE_CLAIMS: JudgeError("no", kind="format")}).ask
        wanted = [metrics.get("answer_correctness")]
        [score] = await metrics.grade_case("run", make_case(**FULL), wanted, judge)
        assert score.status is JUDGE_ERROR
        assert judge.cancelled == 1
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(run())


def test_correctness_alone_runs_its_calls_side_by_side():
    """The similarity does not wait for the comparison."""
    judge = ScriptedJudge(delay=0.01)
    grade_one(make_case(**FULL), "answer_correctness", judge)
    assert len(judge.requests) == 3
    assert judge.answered_before_similarity == 2


def test_cancelling_a_case_cancels_its_calls():
    """A deadline around grade_case leaves no call behind."""

    async def run():
        judge = ScriptedJudge(delay=30)
        wanted = metrics.defaults()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await metrics.grade_case("run", make_case(**FULL), wanted, judge)
        assert judge.cancelled == 2
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(run())


@pytest.mark.parametrize("order", [1, -1])
def test_usage_over_scores_is_the_true_usage(order):
    """Each shared reply is booked once, on the first metric in registry order that wanted it."""
    names = DEFAULTS[::order]
    scores = grade(make_case(**FULL), *names)
    total = sum((score.usage for score in scores.values()), Usage())
    assert (total.calls, total.prompt_tokens) == (4, 1111)
    assert scores["faithfulness"].usage.prompt_tokens == 101
    assert scores["answer_correctness"].usage.prompt_tokens == 1010
    assert scores["context_recall"].usage == Usage()


def test_usage_of_a_reply_that_did_not_fit_is_still_booked():
    """A paid reply that is rejected costs all the same."""
    judge = ScriptedJudge(script={Task.CHECK_CONTEXTS: ContextCheck()})
    score = grade_one(make_case(), "faithfulness", judge)
    assert (score.status, score.usage.calls) == (JUDGE_ERROR, 2)


def test_a_score_says_who_gave_it():
    """Judged scores carry the identity of the last reply they read, the others none."""
    scores = grade(make_case(**FULL | {"contexts": ()}))
    # Decided by a rule, but in the series of the judge who graded the rest of the case.
    assert scores["context_precision"].judge == identity_for(Task.COMPARE_CLAIMS)
    scores = grade(make_case(**FULL))
    assert scores["answer_rate"].judge == identity_for(Task.ANALYSE_ANSWER)
    assert scores["faithfulness"].judge == identity_for(Task.CHECK_CONTEXTS)
    assert scores["answer_correctness"].judge == identity_for(Task.COMPARE_CLAIMS)
    assert scores["intent_accuracy"].judge is None
    assert grade_one(make_case(answer=""), "answer_rate").judge == IDENTITY
    assert grade_one(make_case(answer=None), "answer_rate").judge is None
    assert grade_one(make_case(question="hi"), "answer_rate").judge is None


def test_flags_of_the_replies_are_on_the_scores_that_read_them():
    """A repaired or split reply is marked on the score."""
    scores = grade(make_case(**FULL), judge=ScriptedJudge(flags=("repaired",)))
    assert scores["faithfulness"].evidence["flags"] == ["repaired"]
    assert "flags" not in scores["recall"].evidence


@pytest.mark.parametrize(("language", "word"), [("zh", "陈述"), ("en", "claims")])
def test_reasons_speak_the_language_of_the_case(language, word):
    """The sentence for people is Chinese or English as the case is, and so is the request."""
    judge = ScriptedJudge()
    score = grade_one(make_case(language=language), "faithfulness", judge)
    assert word in score.reason
    assert {request.language for request in judge.requests} == {language}


def test_an_unknown_metric_names_the_nearest():
    """A typo in a monitor file is told with the name that was probably meant."""
    with pytest.raises(ConfigError, match="answer_relevancy"):
        metrics.get("answer_relevance")
    with pytest.raises(ConfigError, match="known metrics"):
        metrics.get("zzz")


def test_every_metric_describes_itself():
    """Each row for the docs has a summary, a source and what it needs."""
    rows = metrics.describe()
    assert [row.name for row in rows] == list(metrics.names())
    for row in rows:
        assert row.summary.endswith((".", "?"))
        assert "Source:" in row.doc
        assert row.needs
        assert row.judged == bool(row.tasks or row.similarity)


def test_a_new_metric_is_one_decorated_function():
    """Registering takes a function and its declaration; a name can be taken once."""

    @metrics.metric("brevity_for_test", version="1", stage="generation", needs=("response",))
    async def brevity(exam):
        """Short is good."""
        return metrics.Outcome(1 / len(exam.answer), "short")

    try:
        assert grade_one(make_case(answer="four"), "brevity_for_test").value == 0.25
        with pytest.raises(ValueError, match="twice"):
            metrics.metric("brevity_for_test", version="2", stage="generation", needs=())(brevity)
    finally:
        del metrics.REGISTRY["brevity_for_test"]


DEPARTMENT = {
    "zh": (
        "张伟是哪个部门的",
        "张伟是教研部的",
        ["抱歉，我没有找到张伟的部门信息。", "张伟是销售部的", "张伟是教研部的"],
    ),
    "en": (
        "Which department is Zhang Wei in?",
        "Zhang Wei is in the research department.",
        [
            "Sorry, I could not find which department Zhang Wei is in.",
            "Zhang Wei is in the sales department.",
            "Zhang Wei is in the research department.",
        ],
    ),
}


@pytest.mark.parametrize("language", DEPARTMENT)
def test_refusal_wrong_department_and_right_answer_rise(language):
    """With the offline judge the refusal scores below the wrong department, and that below the right one."""
    question, reference, answers = DEPARTMENT[language]
    values = [
        grade_one(
            make_case(question=question, reference=reference, answer=answer, language=language),
            "answer_correctness",
            OfflineJudge(),
        ).value
        for answer in answers
    ]
    assert values[0] < values[1] < values[2]
    assert values[2] == pytest.approx(1)
