"""Metrics by gold passage: matching, duplicates, re-chunking, bounds."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from metrics_fixtures import ScriptedJudge, grade, make_case

from rag_checks.records import ScoreStatus

NAMES = ("hit_rate", "recall", "mrr", "ndcg")


def values(**case):
    """The four values of a case; the judge must not be asked."""
    judge = ScriptedJudge()
    scores = grade(make_case(**case), *NAMES, judge=judge)
    assert not judge.requests
    assert all(score.judge is None for score in scores.values())
    return [scores[name].value for name in NAMES]


@pytest.mark.parametrize(
    ("gold", "retrieved", "expected"),
    [
        (["A"], ["A", "A", "X"], [1, 1, 1, 1]),
        (["A"], ["X", "X", "A"], [1, 1, 1 / 2, 1 / math.log2(3)]),
        (["A", "B"], ["A", "A", "B"], [1, 1, 1, 1]),
        (["A", "A", "B"], ["B"], [1, 1 / 2, 1, 1 / (1 + 1 / math.log2(3))]),
        (["A"], ["X", "Y"], [0, 0, 0, 0]),
        (["A"], [], [0, 0, 0, 0]),
    ],
)
def test_values_by_passage_id(gold, retrieved, expected):
    """Duplicates are removed keeping the first rank on both sides; nothing leaves 0..1."""
    found = values(reference_context_ids=tuple(gold), ids=retrieved, contexts=None)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    "contexts",
    [
        ["无关段落", "员工手册\n第三章：年假为 ７ 天，试用期除外。附则"],
        ["无关段落", "第三章,年假为7天（试用期除外）"],
    ],
)
def test_a_quote_is_found_in_whatever_chunk_and_layout(contexts):
    """A passage containing the quote counts although ids, spaces, width and punctuation changed."""
    found = values(
        reference_context_ids=("old#3",),
        reference_contexts=("年假为７天，试用期除外",),
        ids=["new#1", "new#2"],
        contexts=contexts,
    )
    assert found == pytest.approx([1, 1, 1 / 2, 1 / math.log2(3)])


def test_an_id_still_counts_when_the_quote_was_reworded():
    """Ids and quotes of equal number are pairs: either one is enough."""
    found = values(
        reference_context_ids=("d1", "d2"),
        reference_contexts=("seven days", "with pay"),
        ids=["d2", "d9"],
        contexts=["reworded", "It is seven days."],
    )
    assert found == pytest.approx([1, 1, 1, 1])


def test_gold_held_by_one_larger_chunk_is_found_without_loss():
    """Merging two gold passages into one chunk on top costs neither recall nor nDCG."""
    found = values(reference_contexts=("seven days", "with pay"), contexts=["Seven days, with pay.", "other"])
    assert found == [1, 1, 1, 1]


def test_unpaired_quotes_stand_for_the_gold_when_texts_are_recorded():
    """Two ids and one quote cannot be paired: the quote decides, ids only when no text was recorded."""
    gold = {"reference_context_ids": ("d1", "d2"), "reference_contexts": ("seven days",)}
    assert values(**gold, ids=["new"], contexts=["seven days"])[1] == 1
    assert values(**gold, ids=["d1"], contexts=None)[1] == 0.5


def test_a_later_chunk_of_the_same_document_keeps_its_quote():
    """Merging repeats of an id does not lose the text of the later one."""
    found = values(reference_contexts=("seven days",), ids=["doc", "doc"], contexts=["intro", "seven days"])
    assert found == [1, 1, 1, 1]


@pytest.mark.parametrize(
    "case",
    [
        {"reference_context_ids": ("d1",), "ids": None, "contexts": ["text"]},
        {"reference_contexts": ("quote",), "ids": ["d1"], "contexts": None},
        {"reference_contexts": ("……", "  "), "contexts": ["text"]},
        {"reference_contexts": (), "contexts": ["text"]},
        {"contexts": ["text"]},
        {"reference_context_ids": ("d1",), "ids": None, "contexts": None},
    ],
)
def test_what_cannot_be_compared_is_not_applicable(case):
    """Gold and retrieval without a common field, blank quotes and missing gold give no value but a reason."""
    for score in grade(make_case(**case), *NAMES).values():
        assert score.status is ScoreStatus.NOT_APPLICABLE
        assert score.value is None
        assert score.reason


def test_evidence_names_each_gold_passage_and_its_rank():
    """The drill-down shows which gold passage was found where and out of how many."""
    scores = grade(make_case(reference_context_ids=("a", "b"), ids=["x", "b"], contexts=None), "recall")
    assert scores["recall"].evidence == {
        "gold": [{"id": "a", "rank": None}, {"id": "b", "rank": 2}],
        "k": 2,
    }


IDS = st.lists(st.sampled_from("ABCDEF"), max_size=12)


@given(IDS.filter(bool), IDS)
def test_values_are_bounded_and_agree_with_each_other(gold, retrieved):
    """All four are within 0..1, zero together, and ignore duplicates."""
    found = values(reference_context_ids=tuple(gold), ids=retrieved, contexts=None)
    assert all(0 <= value <= 1 for value in found)
    assert len({value > 0 for value in found}) == 1
    once = list(dict.fromkeys(retrieved))
    assert found == values(reference_context_ids=tuple(set(gold)), ids=once, contexts=None)
