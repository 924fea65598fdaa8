"""The offline judge never fails a judgement, whatever the texts."""

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from offline_fixtures import JUDGE, ask, case, graded

from rag_checks.judge.validate import read_output
from rag_checks.protocols import JudgeRequest, Task
from rag_checks.records import ScoreStatus

JUDGED = {ScoreStatus.OK, ScoreStatus.NOT_APPLICABLE}
STRANGE = [
    "",
    " \n\t",
    "您好！",
    "？？",
    "🎉",
    "👩‍👩‍👧‍👦 好的",
    "\ud800 lone surrogate",
    "\x00\u200b\ufeff",
    "ما هي سياسة الإجازات؟",
    "الإجازة السنوية خمسة أيام.",
    "연차는 며칠입니까?",
    "def f(x):\n    return {'a': [1, 2], \"b\": x ** 2}  # 返回",
    "SELECT * FROM t WHERE name = 'O''Brien';",
    '{"claims": [], "noncommittal": true}',
    "What do you like about it?",
    "Do you mean the annual leave? Or the sick leave?",
    "您是想问年假吗？",
    "I'm sorry, but could you clarify?",
    "抱歉。",
    "- ",
    "1. 2. 3.",
    "[1][2] 【3】",
    "‘’“”…—",
    "²½Ⅷ①㊀",
    "ﷺ" * 50,
    "年" * 20_000,
    "a" * 20_000,
    "word, " * 4_000,
    "！？。" * 6_000,
    "没有提到不知道" * 3_000,
]
PIECES = st.one_of(st.sampled_from(STRANGE), st.text(max_size=60), st.text(st.characters(), max_size=30))
TEXT = st.lists(PIECES, min_size=1, max_size=3).map(" ".join)


def assert_judged(question, answer, reference, contexts):
    """Every core metric is ok with a value in 0..1, or not applicable without one."""
    for name, score in graded(JUDGE, case(question, answer, reference, contexts)).items():
        assert score.status in JUDGED, (name, score.reason, score.evidence)
        assert (score.value is None) == (score.status == ScoreStatus.NOT_APPLICABLE)
        assert score.value is None or 0 <= score.value <= 1


@given(TEXT, TEXT, st.one_of(st.none(), TEXT), st.one_of(st.none(), st.lists(TEXT, max_size=4)))
@example("Do you like jazz?", "What do you like about it?", "Yes.", ["Jazz is music."])
@example("-", "- a", "(", ["("])
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_text_ends_in_a_judge_error(question, answer, reference, contexts):
    """Blanks, emoji, surrogates, 20,000 letters, Arabic, code: scored or not applicable, never an error."""
    assert_judged(question, answer, reference, contexts)


@pytest.mark.parametrize("text", STRANGE)
def test_each_strange_text_is_judged_in_every_place(text):
    """As question, answer, reference and context, alone and against a plain text."""
    for other in ("Annual leave is 5 days.", text):
        assert_judged("How many days?", text, other, [other])
        assert_judged(text, other, text, [text, other])


@pytest.mark.parametrize("answer", ["What do you like about it?", "您是想问年假吗？", "您好！", "🎉"])
def test_an_answer_that_states_nothing_evades(answer):
    """A question back, a greeting or a sign alone is noncommittal: relevancy 0, no claims to be faithful."""
    scores = graded(JUDGE, case("年假有几天？", answer, "年假有5天。", ["年假有5天。"]))
    assert scores["answer_relevancy"].value == 0
    assert scores["faithfulness"].status == ScoreStatus.NOT_APPLICABLE
    assert scores["answer_correctness"].value < 0.2


@given(TEXT, TEXT, st.lists(TEXT, max_size=3))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_reply_passes_the_validation_that_models_must_pass(question, text, contexts):
    """The offline judge's replies hold to the same contract as a model's."""
    requests = [
        (Task.ANALYSE_ANSWER, {"question": question, "answer": text}),
        (Task.ANALYSE_REFERENCE, {"question": question, "reference": text}),
        (
            Task.CHECK_CONTEXTS,
            {"contexts": contexts, "answer_claims": [text], "rate_contexts": True, "answer": text},
        ),
        (
            Task.COMPARE_CLAIMS,
            {"answer": text, "reference": question, "answer_claims": [text], "reference_claims": [question]},
        ),
    ]
    for task, inputs in requests:
        output = ask(task, **inputs)
        request = JudgeRequest(task=task, language="en", inputs=inputs)
        assert read_output(request, output.model_dump_json(), truncated=False)
