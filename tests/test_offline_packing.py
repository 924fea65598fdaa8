"""Scores do not depend on packing: one request with everything, or one a claim and a context."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from offline_fixtures import CORE, JUDGE, HashJudge, Unpacked, ask, case, graded

from rag_checks.judge import splitting
from rag_checks.protocols import ContextCheck, JudgeReply, JudgeRequest, Task

# Pieces that agree, differ in a number, a name or a denial, refuse or say nothing, in both languages.
ZH = [
    "张伟是教研部的成员",
    "张伟是人事部的成员",
    "年假有5天，需要提前三天申请",
    "年假有10天",
    "出租车费可以报销",
    "出租车费不能报销",
    "没有提到张伟所在的部门",
    "请联系人力资源部",
    "报销需要订单号、发票和部门经理审批",
    "报销需要订单号",
    "您好",
]
EN = [
    "Zhang Wei works in the Teaching Research department",
    "Zhang Wei works in the HR department",
    "The Pro plan includes 20 seats and phone support",
    "The Basic plan includes 5 seats",
    "Taxi fares cannot be claimed",
    "Taxi fares can be claimed",
    "I could not find that in the handbook",
    "Refunds take 3 business days, but only before 6 pm",
    "Refunds take 72 hours",
]


def texts(pieces, stop):
    """Texts of one to four pieces."""
    return st.lists(st.sampled_from(pieces), min_size=1, max_size=4).map(
        lambda chosen: "".join(f"{piece}{stop}" for piece in chosen)
    )


ANY_TEXT = st.one_of(texts(ZH, "。"), texts(EN, ". "), st.text(max_size=40))
QUESTION = st.sampled_from(
    [
        "张伟是哪个部门的？",
        "年假有几天？",
        "出租车费能报销吗？",
        "Which department is Zhang Wei in?",
        "How many seats?",
    ]
)


def check(contexts, **inputs):
    """A context check of these contexts."""
    return JudgeRequest(task=Task.CHECK_CONTEXTS, language="zh", inputs={"contexts": contexts, **inputs})


@given(
    QUESTION,
    st.lists(ANY_TEXT, min_size=1, max_size=5),
    st.lists(ANY_TEXT, max_size=4),
    st.lists(ANY_TEXT, max_size=3),
    st.one_of(st.none(), ANY_TEXT),
    st.data(),
)
@settings(max_examples=150)
def test_a_check_split_over_contexts_gives_the_same_verdicts(
    question, contexts, claims, reference_claims, reference, data
):
    """Contexts dealt to several requests and merged as for a small context window change no verdict."""
    inputs = {"question": question, "answer_claims": claims, "reference_claims": reference_claims}
    if reference is not None:
        inputs["reference"] = reference
    whole = ask(Task.CHECK_CONTEXTS, contexts=contexts, **inputs)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(contexts)), max_size=4)) - {len(contexts)})
    groups = [contexts[start:end] for start, end in zip([0, *cuts], [*cuts, len(contexts)], strict=True)]
    parts = [check(group, **inputs) for group in groups]
    replies = [
        JudgeReply(output=ask(Task.CHECK_CONTEXTS, **part.inputs), identity=JUDGE.identity) for part in parts
    ]
    merged = splitting.merge(parts, replies).output
    assert isinstance(merged, ContextCheck)
    assert verdicts(merged) == verdicts(whole)


@given(
    QUESTION,
    st.lists(ANY_TEXT, min_size=1, max_size=3),
    st.lists(ANY_TEXT, min_size=1, max_size=4),
    ANY_TEXT,
    st.data(),
)
@settings(max_examples=150)
def test_a_check_split_over_claims_gives_the_same_verdicts(question, contexts, claims, reference, data):
    """Claims sent in several requests get the verdicts of one request; so do the contexts."""
    given_texts = {"question": question, "contexts": contexts, "reference": reference}
    whole = ask(Task.CHECK_CONTEXTS, answer_claims=claims, reference_claims=claims, **given_texts)
    cut = data.draw(st.integers(0, len(claims)))
    parts = [
        ask(Task.CHECK_CONTEXTS, answer_claims=some, reference_claims=others, **given_texts)
        for some, others in ((claims[:cut], claims[cut:]), (claims[cut:], claims[:cut]))
    ]
    apart = [verdicts(part) for part in parts]
    assert apart[0]["contexts"] == apart[1]["contexts"] == verdicts(whole)["contexts"]
    assert apart[0]["answer_claims"] + apart[1]["answer_claims"] == verdicts(whole)["answer_claims"]
    assert apart[1]["reference_claims"] + apart[0]["reference_claims"] == verdicts(whole)["reference_claims"]


def verdicts(checked):
    """The truth values of a check."""
    return {
        "answer_claims": [one.supported for one in checked.answer_claims],
        "reference_claims": [one.supported for one in checked.reference_claims],
        "contexts": [one.useful for one in checked.contexts],
    }


@pytest.mark.parametrize("judge", [JUDGE, HashJudge()], ids=["offline", "fake"])
@given(
    question=QUESTION,
    answer=ANY_TEXT,
    reference=st.one_of(st.none(), ANY_TEXT),
    contexts=st.lists(ANY_TEXT, min_size=1, max_size=4),
)
@example(
    question="换货需要什么？",
    answer="换货需要订单号。换货需要原包装。",
    reference="换货需要订单号、商品照片和原包装。",
    contexts=["换货不需要订单号。", "换货需要订单号、商品照片和原包装。"],
)
@settings(max_examples=120)
def test_the_five_core_scores_do_not_depend_on_packing(judge, question, answer, reference, contexts):
    """All claims and contexts in one request a task, or one claim and one context a request: same scores."""
    one = case(question, answer, reference, contexts)
    packed, unpacked = graded(judge, one), graded(Unpacked(judge), one)
    for name in CORE:
        assert (packed[name].status, packed[name].value) == (unpacked[name].status, unpacked[name].value)


def test_the_unpacking_wrapper_really_unpacks():
    """The wrapper asks many requests with one claim or one context each, or the test above proves nothing."""
    requests = []

    class Recording(HashJudge):
        async def ask(self, request):
            requests.append(request)
            return await super().ask(request)

    one = case("q?", "a b c", "d e", ["x", "y"])
    scores = graded(Unpacked(Recording()), one)
    assert all(score.value is not None for score in scores.values())
    checks = [one.inputs for one in requests if one.task is Task.CHECK_CONTEXTS]
    assert len(checks) == (3 + 2 + 1) * 2
    assert all(len(inputs["contexts"]) == 1 for inputs in checks)
    assert len([one for one in requests if one.task is Task.COMPARE_CLAIMS]) == 5
