"""The offline judge: the four tasks, similarity, identity."""

import asyncio
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from offline_fixtures import JUDGE, ask, correctness, rows, similarity

from rag_checks.protocols import JudgeRequest, Task

ZH_REFUSAL = (
    "根据提供的信息，没有提到张伟所在的部门。如果您能提供更多关于张伟的信息，我可能能够帮助您找到答案。"
)
EN_REFUSAL = (
    "Based on the information provided, the department of Zhang Wei is not mentioned. "
    "If you can provide more details about Zhang Wei, I may be able to help you find the answer."
)


@pytest.mark.parametrize("reference", ["张伟是教研部的", "张伟是教研部的成员"])
def test_refusal_wrong_and_right_rise_in_chinese(reference):
    """The refusal scores below the wrong department, the wrong department below the right one."""
    scores = [
        correctness("张伟是哪个部门的", reference, answer)
        for answer in (ZH_REFUSAL, "张伟是人事部门的", "张伟是教研部的")
    ]
    assert scores[0] < scores[1] < 0.5 < scores[2]


@pytest.mark.parametrize(
    "reference", ["Zhang Wei is in the Teaching Research department.", "Teaching Research"]
)
def test_refusal_wrong_and_right_rise_in_english(reference):
    """The same order in English, with a sentence and with a name as reference."""
    answers = (
        EN_REFUSAL,
        "Zhang Wei is in the HR department.",
        "Zhang Wei is in the Teaching Research department.",
    )
    scores = [correctness("Which department is Zhang Wei in?", reference, answer) for answer in answers]
    assert scores[0] < scores[1] < 0.5 < scores[2]


@pytest.mark.parametrize(
    ("answer", "refuses"),
    [
        (ZH_REFUSAL, True),
        (EN_REFUSAL, True),
        ("抱歉，我无法回答这个问题。", True),
        ("关于这个问题，请咨询人力资源部。", True),
        ("不清楚", True),
        ("I don't know.", True),
        ("The handbook does not mention it.", True),
        ("Unable to determine from the context.", True),
        ("不能报销", False),
        ("抱歉，出租车费用不能报销。", False),
        ("没有打卡记录的按缺勤处理。", False),
        ("无法提供发票的，不能报销。", False),
        ("年假5天，需提前3天申请。如有疑问请联系HR。", False),
        ("The plan does not cover dental care.", False),
        ("We do not tell third parties your address.", False),
        ("Zhang Wei works in HR. Please contact HR for details.", False),
        ("If you do not know your password, click reset.", False),
    ],
)
def test_refusals_are_told_from_policies(answer, refuses):
    """A refusal says that something is not known; a ban is none, nor is a fact plus a pointer."""
    analysis = ask(Task.ANALYSE_ANSWER, question="张伟是哪个部门的", answer=answer)
    assert analysis.noncommittal is refuses
    assert bool(analysis.claims) is not refuses


def test_claims_leave_out_greetings_offers_and_marks():
    """Claims are the factual sentences, without list marks, citations, greetings and offers of help."""
    answer = "您好！1. 登录系统。\n2. 该产品支持7天无理由退货[1]。如有疑问，请随时联系我们。"
    claims = ask(Task.ANALYSE_ANSWER, question="能退货吗", answer=answer).claims
    assert claims == ["登录系统", "该产品支持7天无理由退货"]
    english = (
        "Hello! The trip was led by R. H. Thomson in the U.S. Army. Let me know if you need more details."
    )
    expected = ["The trip was led by R. H. Thomson in the U.S. Army"]
    assert ask(Task.ANALYSE_ANSWER, question="Who led the trip?", answer=english).claims == expected


@pytest.mark.parametrize("answer", ["", "  \n", "您好！", "？？"])
def test_texts_that_state_nothing_have_no_claims(answer):
    """Empty texts, blanks and greetings give no claims and no questions."""
    analysis = ask(Task.ANALYSE_ANSWER, question="年假有几天？", answer=answer)
    assert (analysis.claims, analysis.questions) == ([], [])


@pytest.mark.parametrize(
    ("question", "on_topic", "off_topic"),
    [
        ("张伟是哪个部门的", "教研部", "今天天气很好。"),
        ("年假有几天？", "员工每年享有5天带薪年假。", "报销需要三个工作日到账。"),
        ("How do I reset my password?", "Call extension 4420 to reset it.", "Our office is in Berlin."),
    ],
)
def test_question_reconstruction_tells_topics_apart(question, on_topic, off_topic):
    """The reconstructed question is close to the user's for an answer on the matter, far for one off it."""
    near = ask(Task.ANALYSE_ANSWER, question=question, answer=on_topic).questions
    far = ask(Task.ANALYSE_ANSWER, question=question, answer=off_topic).questions
    assert similarity(question, near[0]) > 0.5
    assert similarity(question, far[0]) < 0.2


def test_contexts_are_rated_and_support_the_reference():
    """Only the passage about the person is useful, and it supports the reference."""
    contexts = ["牛顿发现了万有引力", "张伟 教研部 工程师，他最近在负责课程开发"]
    checked = ask(
        Task.CHECK_CONTEXTS,
        question="张伟是哪个部门的",
        contexts=contexts,
        reference="张伟是教研部的成员",
        reference_claims=["张伟是教研部的成员"],
        answer_claims=["张伟是人事部的"],
        rate_contexts=True,
    )
    assert [one.useful for one in checked.contexts] == [False, True]
    assert [one.supported for one in checked.reference_claims] == [True]
    assert [one.supported for one in checked.answer_claims] == [False]
    assert [one.id for one in checked.contexts] == [1, 2]


@pytest.mark.parametrize(
    ("claim", "context"),
    [
        ("张伟是教研部的", "李娜 人事部 主管"),
        ("张伟是教研部的", "李娜是教研部的"),
        ("张伟是教研部的", "张伟是人事部的"),
        ("出租车费可以报销", "出租车费不能报销"),
        ("退货期限为7天", "退货期限为15天"),
        ("退货期限为7天", "退货期限为7小时"),
        ("The Pro plan includes 20 seats", "The Basic plan includes 20 seats"),
        ("Taxi fares can be claimed", "Taxi fares cannot be claimed"),
    ],
)
def test_contexts_that_say_otherwise_do_not_support(claim, context):
    """Another person, department, number, unit or a denial is no support, however many words agree."""
    checked = ask(Task.CHECK_CONTEXTS, question="?", contexts=[context], answer_claims=[claim], answer=claim)
    assert not checked.answer_claims[0].supported


def test_reference_of_aliases_is_one_claim_that_any_alias_meets():
    """A reference `A/B` as question sets write it is one claim; a Chinese menu path is not split."""
    reference = "Mind the Gap/Watch the gap"
    assert ask(Task.ANALYSE_REFERENCE, question="Which phrase?", reference=reference).claims == [reference]
    assert correctness("Which phrase was used?", reference, 'The phrase was "Watch the gap".') >= 0.5
    assert correctness("在哪里修改密码？", "设置/账户/安全", "在设置里。") < 0.9


def test_harmless_detail_is_kept_and_a_partial_answer_scores_less():
    """Detail beside the whole reference costs little; leaving half of it out costs more."""
    question, reference = "换货需要哪些东西？", "换货需要订单号、商品照片和原包装。"
    full = correctness(question, reference, "换货需要订单号、商品照片和原包装，客服会在一天内回复。")
    partial = correctness(question, reference, "换货需要订单号。")
    assert full > 0.9 > partial


def test_verdict_ids_follow_the_lists_that_were_sent():
    """Each claim sent comes back once, in order, even without anything on the other side."""
    verdicts = ask(
        Task.COMPARE_CLAIMS,
        question="q",
        answer="a b",
        reference="",
        answer_claims=["x", "y"],
        reference_claims=[],
    )
    assert [one.id for one in verdicts.answer_claims] == [1, 2]
    assert verdicts.reference_claims == []


def test_identity_is_offline_and_hashes_the_model():
    """The identity says offline, names its version and is the same on every reply."""
    assert JUDGE.identity.kind == "offline"
    assert JUDGE.identity.requested_model.startswith("offline-")
    assert len(JUDGE.identity.prompt_hash) == 16
    request = JudgeRequest(
        task=Task.ANALYSE_REFERENCE, language="zh", inputs={"question": "q", "reference": "r"}
    )
    assert asyncio.run(JUDGE.ask(request)).identity == JUDGE.identity


@given(st.text(max_size=60), st.text(max_size=60))
@example("Ø", "𐀀")
def test_similarity_is_symmetric_and_in_range(first, second):
    """Similarity is symmetric, within 0..1, and 1 for a text and itself."""
    assert similarity(first, second) == pytest.approx(similarity(second, first))
    assert 0 <= similarity(first, second) <= 1
    assert similarity(first, first) == 1


def test_similarity_knows_equal_and_unrelated_texts():
    """Full-width and case do not matter; unrelated texts are near 0; a refusal is no statement."""
    assert similarity("ＡＢＣ　１２３", "abc 123") == 1
    assert similarity("巴黎是法国首都", "今天股票大跌") < 0.1
    assert similarity("The cat sat.", "Quantum field theory") < 0.1
    assert similarity(ZH_REFUSAL, "张伟是教研部的") == 0


@given(st.text(max_size=80), st.text(max_size=80), st.text(max_size=80))
def test_any_text_is_judged(question, answer, reference):
    """No text makes a task fail: every claim gets a verdict and the score stays within 0..1."""
    assert 0 <= correctness(question, reference, answer) <= 1


@pytest.mark.parametrize(
    "answer",
    [
        "1" * 12_000,
        "一" * 12_000,
        "没有在" * 4_000,
        "twenty-one " * 1_500,
        "百分之" + "九" * 5_000,
        "1,000" * 3_000,
    ],
)
def test_hostile_texts_cost_little_time(answer):
    """Pages of digits, numerals or refusal words are judged in well under a second, without error."""
    start = time.process_time()
    assert 0 <= correctness("年假有几天？", "年假有5天", answer) <= 1
    assert time.process_time() - start < 2


def test_speed_of_all_four_tasks():
    """An item of all four tasks costs a few milliseconds at most, even on a busy machine."""
    items = rows("contrast_zh.jsonl")[:100]
    correctness("热身", "热身", "热身")
    start = time.process_time()
    for item in items:
        correctness(item["question"], item["reference"], item["answer"])
        contexts = [one["reference"] for one in items[:5]]
        ask(Task.CHECK_CONTEXTS, contexts=contexts, answer_claims=[item["answer"]], **item)
    assert (time.process_time() - start) / len(items) < 0.01


@pytest.mark.parametrize(
    ("question", "reference", "answer", "good"),
    [
        ("哪些商品不能退？", "生鲜食品和定制商品不支持退货。", "生鲜食品不支持退货。", False),
        ("哪些商品不能退？", "生鲜食品和定制商品不支持退货。", "生鲜食品和定制商品都可以退货。", False),
        ("哪些商品不能退？", "生鲜食品和定制商品不支持退货。", "生鲜和定制类的不能退。", True),
        ("密码至少多少位？", "密码至少8位，必须包含字母和数字。", "密码必须包含字母。", False),
        ("报销上限是多少？", "每人每天餐补上限为100元。", "每月最多100元。", False),
        ("报销上限是多少？", "每人每天餐补上限为100元。", "一天最多一百块。", True),
        ("积分多久过期？", "积分有效期为两年。", "积分永久有效。", False),
        ("积分多久过期？", "积分有效期为两年。", "24个月后过期。", True),
        ("社保从什么时候开始交？", "入职当月开始缴纳社保。", "入职次月开始缴纳社保。", False),
        ("U盘可以用吗？", "禁止使用未经登记的U盘。", "没登记的U盘不能用。", True),
        ("退款原路返回吗？", "退款会原路退回到付款账户。", "会的。", True),
        ("客服电话是多少？", "客服热线为400-820-1234。", "打4008201234。", True),
        ("客服电话是多少？", "客服热线为400-820-1234。", "400-820-1243", False),
        (
            "What do I need?",
            "You need your ID, the receipt and the original box.",
            "You need your ID.",
            False,
        ),
        ("Who played Sam?", "Sean O'Neal", "Sean O'Neal played Sam in Clarissa Explains It All.", True),
        ("Where is it made?", "the United Kingdom", "It is made in the UK.", True),
    ],
)
def test_partial_answers_swaps_and_spellings(question, reference, answer, good):
    """Half of a list or a left-out condition is wrong; a swap is wrong; another spelling is right."""
    assert (correctness(question, reference, answer) >= 0.5) is good
