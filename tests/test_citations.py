"""citation_correctness: the marks of the field, the sentences they belong to, and what is asked."""

import asyncio
import json

import pytest
from fake_openai import FakeOpenAI, always
from hypothesis import given, settings
from hypothesis import strategies as st
from judge_client_fixtures import open_fake_judge
from metrics_fixtures import ScriptedJudge, grade_one, make_case

from rag_checks import metrics
from rag_checks.errors import JudgeError
from rag_checks.judge.offline import OfflineJudge
from rag_checks.judge.validate import read_output
from rag_checks.metrics.citation_marks import Retrieved, citations
from rag_checks.protocols import CitationCheck, JudgeRequest, Task
from rag_checks.records import ScoreStatus

IDS = ("a1", "kb-12", "67e4", "9")


def cited(answer, count=4, ids=IDS):
    """(rank, sentence) of each citation."""
    return [(one.rank, one.sentence) for one in citations(answer, Retrieved(count, ids))]


@pytest.mark.parametrize(
    ("mark", "ranks"),
    [
        ("[1]", [1]),
        ("【2】", [2]),
        ("［3］", [3]),
        ("[１]", [1]),
        ("[^2]", [2]),
        ("^2^", [2]),
        ("^[2]^", [2]),
        ("[1, 3]", [1, 3]),
        ("[1，3]", [1, 3]),
        ("[1、2、4]", [1, 2, 4]),
        ("[1][3]", [1, 3]),
        ("[2-4]", [2, 3, 4]),
        ("[citation:2]", [2]),
        ("[来源1]", [1]),
        ("【文档 2】", [2]),
        ("[Source 3]", [3]),
        ("【1†source】", [1]),
        ("[1](https://kb.example.com/a)", [1]),
        ("[kb-12]", [2]),
        ("[ID:kb-12]", [2]),
        ("[ID: a1, ID: 67e4]", [1, 3]),
        ("[ID:0]", [1]),
        ("[ID:3]", [4]),
        ("[ID:9]", [4]),  # an id before a position
        ("##1$$", [2]),
        ("[67e4](QUOTE)", [3]),
        ("[a1](CITE)", [1]),
        ("[9]", [4]),  # beyond the ranks: an id
        ("[5]", [None]),
        ("[0]", [None]),
        ("[ID:4]", [None]),
        ("[ID:kb-99]", [None]),
        ("##7$$", [None]),
        ("[dead](QUOTE)", [None]),
    ],
)
@pytest.mark.parametrize(
    "sentence", ["年假有15天{}。", "年假有15天。{}", "Leave is 15 days {}.", "Leave is 15 days. {}"]
)
def test_each_form_of_the_field_is_read(mark, ranks, sentence):
    """Inside or after its sentence, in Chinese and English; the sentence comes without the mark."""
    plain = sentence.replace(" {}", "").replace("{}", "")
    assert cited(sentence.format(mark) + "\n别的内容。") == [(rank, plain) for rank in ranks]


@pytest.mark.parametrize(
    "text",
    [
        "【注意】请先登录。",
        "国发[2023]12号文件规定如此。",
        "政策自[2024]年起执行。",
        "运行 `items[0]` 即可。",
        "```\nx = a[1]\n```",
        "待办：[x] 登录 [ ] 退出",
        "见[员工手册](https://kb.example.com)。",
        "年假有15天。\n\n参考资料：\n[1] 员工手册\n[2] 考勤制度",
        "Leave is 15 days.\n\n**Sources**\n1. [1] Handbook",
        "a [b] c",
        "[1]",
        "",
    ],
)
def test_what_is_no_citation_is_left_alone(text):
    """Headings, document numbers, years, code, boxes, links and the list of sources."""
    assert cited(text) == []


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("甲[1]。乙[2]。", [(1, "甲。"), (2, "乙。")]),
        ("甲。[1]乙。[2]", [(1, "甲。"), (2, "乙。")]),
        ("A is so.[1] B is so.[2]", [(1, "A is so."), (2, "B is so.")]),
        ("- [1] 甲\n- [2] 乙", [(1, "甲"), (2, "乙")]),
        ("甲。\n[1]", [(1, "甲。")]),
        ("甲。（来源：[1]）乙。", [(1, "甲。")]),
        ("It is so (see [2], [3]). More.", [(2, "It is so."), (3, "It is so.")]),
        ("It is so. See [2].", [(2, "It is so.")]),
        ("甲[1][1]，乙[1]。", [(1, "甲，乙。")]),
        ("甲[1]，乙[2]。", [(1, "甲，乙。"), (2, "甲，乙。")]),
        ("甲[1]。乙[2]。\n\n[1] 员工手册.pdf\n[2] 考勤制度.pdf", [(1, "甲。"), (2, "乙。")]),
        ("It is so[^1].\n\n[^1]: https://kb.example.com/a\n", [(1, "It is so.")]),
        ("甲。\n[1] 乙。\n[2] 丙。", [(1, "乙。"), (2, "丙。")]),
        ("1. 登录系统[1]\n2. 提交申请[2]", [(1, "登录系统"), (2, "提交申请")]),
        ("甲[1]。\n甲[1]。", [(1, "甲。")]),
    ],
)
def test_a_mark_belongs_to_its_sentence(answer, expected):
    """What is said once and cited once counts once."""
    assert cited(answer) == expected


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="年假 ab.。!\n[]【】^#$ID:0123456789,-()`", max_size=60))
def test_no_text_breaks_the_reading(text):
    """Whatever is written: ranks exist, sentences say something and hold no mark of theirs."""
    for one in citations(text, Retrieved(3, ("a", "b", "c"))):
        assert one.rank is None or 1 <= one.rank <= 3
        assert one.sentence.strip()
        assert one.mark in text


def test_the_share_of_right_citations_is_the_value():
    """One supported, one not, one that names nothing: a third; only what is cited is sent, in one call."""
    judge = ScriptedJudge()
    case = make_case(answer="A is so [1]. B is so [3]. C is so [7].", contexts=("+one", "two", "three"))
    score = grade_one(case, "citation_correctness", judge)
    assert score.value == pytest.approx(1 / 3)
    assert score.reason == "1 of 3 citations are right, 1 name nothing that was retrieved"
    assert judge.asked(Task.CHECK_CITATIONS) == {
        "question": "How long is the leave?",
        "contexts": ["+one", "three"],
        "citations": [{"sentence": "A is so.", "context": 1}, {"sentence": "B is so.", "context": 2}],
    }
    assert [(row["claim"], row["supported"], row["rank"]) for row in score.evidence["citations"]] == [
        ("A is so. [1]", True, 1),
        ("B is so. [3]", False, 3),
        ("C is so. [7]", False, None),
    ]
    assert score.usage.calls == 1


@pytest.mark.parametrize(
    ("case", "value", "status"),
    [
        ({"answer": "No source here."}, None, ScoreStatus.NOT_APPLICABLE),
        ({"answer": ""}, None, ScoreStatus.NOT_APPLICABLE),
        ({"answer": "So [1].", "contexts": None}, None, ScoreStatus.NOT_APPLICABLE),
        ({"answer": "So [1].", "contexts": ()}, 0, ScoreStatus.OK),
        ({"answer": "So [1].", "contexts": (" ",)}, 0, ScoreStatus.OK),
        ({"answer": "So [d2].", "contexts": ("one",), "ids": ("d1", "d2")}, None, ScoreStatus.NOT_APPLICABLE),
    ],
)
def test_what_can_be_told_without_a_judge_costs_nothing(case, value, status):
    """No citations, nothing retrieved, nothing in it: decided here."""
    judge = ScriptedJudge()
    score = grade_one(make_case(**case), "citation_correctness", judge)
    assert (score.value, score.status) == (value, status)
    assert judge.requests == []


def test_it_is_graded_only_where_it_is_named():
    """It costs a call, so it is not among the default metrics."""
    assert "citation_correctness" in metrics.names()
    assert "citation_correctness" not in {metric.name for metric in metrics.defaults()}


@pytest.mark.parametrize(
    ("language", "answer", "value"),
    [
        ("zh", "年假有15天[1]。请假要经理审批[2]。", 1),
        ("zh", "年假有20天[1]。请假要经理审批[2]。", 0.5),
        ("zh", "年假有15天[2]。请假要经理审批[1]。", 0),
        ("zh", "年假有15天，请假要经理审批[1][2]。", 1),
        ("en", "Leave is 15 days a year [3]. The manager approves leave [4].", 1),
        ("en", "Leave is 15 days a year [4].", 0),
    ],
)
def test_the_offline_judge_checks_citations_by_words(language, answer, value):
    """Right passage, wrong number, swapped passages, one sentence on two passages."""
    contexts = (
        "每位员工每年年假有15天。",
        "请假要经理审批，在门户提交。",
        "Leave is 15 days a year for all staff.",
        "The manager approves leave in the portal.",
    )
    case = make_case(answer=answer, contexts=contexts, language=language, question="年假怎么休？")
    score = grade_one(case, "citation_correctness", OfflineJudge())
    assert (score.value, score.judge.kind) == (value, "offline")


def test_over_the_wire():
    """A loopback judge checks each sentence against its own passage; two bad replies are a judge error."""
    case = make_case(
        answer="年假有15天[1]。经理审批[1]。", contexts=("年假有15天。", "经理审批。"), language="zh"
    )
    with FakeOpenAI() as fake:
        score = grade_one(case, "citation_correctness", open_fake_judge(fake))
        assert score.value == 0.5
        fake.state.faults = always("score_bools")
        score = grade_one(case, "citation_correctness", open_fake_judge(fake))
        assert (score.status, score.evidence["error_kind"]) == (ScoreStatus.JUDGE_ERROR, "format")


@pytest.mark.parametrize("ids", [[1], [1, 1], [1, 2, 3], [2, 3]])
def test_every_citation_comes_back_exactly_once(ids):
    """A verdict too few, too many, twice or unknown is a format error."""
    request = JudgeRequest(
        task=Task.CHECK_CITATIONS,
        language="en",
        inputs={"question": "q", "contexts": ["c"], "citations": [{"sentence": "s", "context": 1}] * 2},
    )

    def reply(numbers):
        return json.dumps({"citations": [{"id": one, "reason": "r", "supported": True} for one in numbers]})

    with pytest.raises(JudgeError):
        read_output(request, reply(ids), truncated=False)
    output = read_output(request, reply([2, 1]), truncated=False)
    assert isinstance(output, CitationCheck)
    assert [one.id for one in output.citations] == [1, 2]
    assert asyncio.run(OfflineJudge().ask(request)).output.citations
