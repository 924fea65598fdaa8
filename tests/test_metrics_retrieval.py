"""Metrics by gold passage: matching, duplicates, re-chunking, bounds."""

import asyncio
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from metrics_fixtures import ScriptedJudge, grade, make_case

from rag_checks.metrics import grade_case
from rag_checks.metrics.catalogue import catalogue
from rag_checks.monitor import Monitor
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


@pytest.mark.parametrize(
    ("k", "expected"),
    [
        # Gold A and D among B, A, C, D: hit, precision, recall, mrr, ndcg.
        (1, [0, 0, 0, 0, 0]),
        (2, [1, 1 / 2, 1 / 2, 1 / 2, (1 / math.log2(3)) / (1 + 1 / math.log2(3))]),
        (4, [1, 2 / 4, 1, 1 / 2, (1 / math.log2(3) + 1 / math.log2(5)) / (1 + 1 / math.log2(3))]),
        (8, [1, 2 / 8, 1, 1 / 2, (1 / math.log2(3) + 1 / math.log2(5)) / (1 + 1 / math.log2(3))]),
        (None, [1, 2 / 4, 1, 1 / 2, (1 / math.log2(3) + 1 / math.log2(5)) / (1 + 1 / math.log2(3))]),
    ],
)
def test_only_the_first_k_count(k, expected):
    """As trec_eval: precision divides by k even beyond the list, the ideal of nDCG is cut at k."""
    assert at_depth(k, gold=("A", "D"), ids=["B", "B", "A", "C", "D"]) == pytest.approx(expected)


def test_an_ideal_list_is_not_longer_than_k():
    """One passage looked at and it is gold: nDCG@1 is 1 however much gold there is."""
    assert at_depth(1, gold=("A", "B", "C"), ids=["A", "X"])[-1] == pytest.approx(1)


def at_depth(k, *, gold, ids):
    """hit_rate, precision, recall, mrr and ndcg at k."""
    names = ("hit_rate", "precision", "recall", "mrr", "ndcg")
    options = {} if k is None else {name: {"k": k} for name in names}
    known = catalogue(Monitor(monitor="any", metric_options=options))
    case = make_case(contexts=None, ids=ids, reference_context_ids=tuple(gold))
    scores = asyncio.run(grade_case("run", case, [known[name] for name in names], ScriptedJudge()))
    return [score.value for score in scores]


@given(
    st.lists(st.sampled_from("ABCDEF"), min_size=1, max_size=4),
    st.lists(st.sampled_from("ABCDEFGH"), max_size=10),
    st.one_of(st.none(), st.integers(1, 12)),
)
def test_at_any_depth_values_stay_within_bounds(gold, ids, k):
    """And looking further never loses a hit, gold found, or the first rank."""
    here = at_depth(k, gold=gold, ids=ids)
    further = at_depth(None if k is None else k + 1, gold=gold, ids=ids)
    assert all(0 <= value <= 1 for value in here)
    assert all(further[at] >= here[at] for at in (0, 2, 3))
