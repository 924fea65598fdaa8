"""Agreement figures, and the offline judge's agreement with people on the shipped samples."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from offline_fixtures import DATA, correctness, rows

from rag_checks.errors import SourceError
from rag_checks.judge import labelled, offline_text, offline_train, offline_words
from rag_checks.judge.agreement import agreement, agreement_note, agreement_table, measured_agreement
from rag_checks.judge.offline_features import FEATURES


def test_agreement_of_a_worked_example():
    """Cohen's textbook table 20/5/10/15: accuracy 0.7, kappa 0.4, interval near the large-sample one."""
    pairs = [(1.0, True)] * 20 + [(1.0, False)] * 5 + [(0.0, True)] * 10 + [(0.0, False)] * 15
    found = agreement([*pairs, (None, True)])
    assert (found.n, found.n_missing) == (50, 1)
    assert (found.true_positive, found.false_positive, found.false_negative, found.true_negative) == (
        20,
        5,
        10,
        15,
    )
    assert found.accuracy == pytest.approx(0.7)
    assert found.kappa == pytest.approx(0.4)
    margin = 1.959964 * (0.7 * 0.3 / 50) ** 0.5 / 0.5
    assert (found.kappa_low, found.kappa_high) == pytest.approx((0.4 - margin, 0.4 + margin), abs=0.03)


def test_answers_to_one_question_make_the_interval_wider():
    """Ten copies of each row are no more evidence than one: resampled by question the interval stays."""
    pairs = [(1.0, True)] * 20 + [(1.0, False)] * 5 + [(0.0, True)] * 10 + [(0.0, False)] * 15
    once = agreement(pairs)
    copied = agreement(pairs * 10, groups=list(range(50)) * 10)
    alone = agreement(pairs * 10)
    assert (copied.kappa_low, copied.kappa_high) == pytest.approx((once.kappa_low, once.kappa_high))
    assert alone.kappa_high - alone.kappa_low < 0.5 * (copied.kappa_high - copied.kappa_low)
    assert agreement(list(reversed(pairs))) == once


def test_auc_counts_ties_half():
    """AUC is the share of (good, bad) pairs in the right order, ties counting half."""
    assert agreement([(0.9, True), (0.5, True), (0.5, False), (0.1, False)]).auc == pytest.approx(0.875)


@pytest.mark.parametrize(
    "pairs", [[], [(None, True)], [(0.9, True), (0.8, True)], [(0.9, True), (0.1, True)]]
)
def test_agreement_without_both_labels_is_unknown_not_perfect(pairs):
    """Without rows, or with one label only, kappa and AUC are None."""
    found = agreement(pairs)
    assert found.kappa is None
    assert found.auc is None


@given(st.lists(st.tuples(st.one_of(st.none(), st.floats(0, 1)), st.booleans()), max_size=40))
def test_agreement_stays_in_range(pairs):
    """Counts add up and figures stay in their ranges for any scores."""
    found = agreement(pairs)
    assert found.n + found.n_missing == len(pairs)
    assert found.kappa is None or -1 <= found.kappa_low <= found.kappa <= found.kappa_high <= 1
    assert found.auc is None or 0 <= found.auc <= 1


def test_the_judge_is_clearly_above_gold_string_match():
    """On the shipped sample of human labels the product's score agrees better than gold-string match."""
    sample = labelled.read_rows(DATA / "evouna_100.jsonl")
    judged = agreement((correctness(r["question"], r["reference"], r["answer"]), r["label"]) for r in sample)
    plain = agreement((labelled.gold_string(r), r["label"]) for r in sample)
    assert judged.kappa > plain.kappa + 0.1
    shipped = next(
        line
        for line in measured_agreement()["sets"]
        if (line["set"], line["slice"], line["method"]) == ("evouna-100", "all", "judge")
    )
    assert judged.kappa == pytest.approx(shipped["kappa"], abs=1e-4)


@pytest.mark.parametrize("part", ["all", "answer over 6 tokens"])
@pytest.mark.parametrize("plain", ["gold string", "token recall"])
def test_the_judge_is_clearly_ahead_on_a_source_it_was_not_fitted_on(part, plain):
    """On 6,000 labelled answers, each source judged with weights from the other, the intervals are apart."""
    measured = {(line["set"], line["slice"], line["method"]): line for line in measured_agreement()["sets"]}
    own = measured["evouna_train_6000, cross-validated", part, "judge"]
    assert own["kappa_low"] > measured["evouna_train_6000, cross-validated", part, plain]["kappa_high"]


@pytest.mark.parametrize(("name", "least"), [("contrast_zh.jsonl", 0.6), ("contrast_en.jsonl", 0.6)])
def test_the_contrast_sets_are_judged_right_on_the_held_out_half(name, least):
    """On half B, never looked at while designing, kappa is at least substantial."""
    held_out = [row for row in rows(name) if row["half"] == "B"]
    found = agreement(
        (correctness(row["question"], row["reference"], row["answer"]), row["label"] == "good")
        for row in held_out
    )
    assert found.kappa >= least


@pytest.mark.parametrize("name", ["contrast_zh.jsonl", "contrast_en.jsonl"])
def test_partial_answers_score_below_full_ones(name):
    """A partial answer scores below the reference itself, and below right answers on average."""
    partial = [row for row in rows(name) if row["kind"] == "partial"]
    scores = [correctness(row["question"], row["reference"], row["answer"]) for row in partial]
    whole = [correctness(row["question"], row["reference"], row["reference"]) for row in partial]
    good = [
        correctness(row["question"], row["reference"], row["answer"])
        for row in rows(name)
        if row["label"] == "good"
    ]
    assert all(part < full for part, full in zip(scores, whole, strict=True))
    assert sum(scores) / len(scores) < sum(good) / len(good)


def test_contrast_sets_are_whole():
    """Over 200 Chinese and 60 English pairs, each kind there, ids unique, labels good or bad."""
    for name, least in (("contrast_zh.jsonl", 200), ("contrast_en.jsonl", 60)):
        pairs = rows(name)
        assert len(pairs) >= least
        assert len({row["id"] for row in pairs}) == len(pairs)
        assert {row["label"] for row in pairs} == {"good", "bad"}
        assert {
            "number",
            "swap",
            "negation",
            "partial",
            "paraphrase",
            "refusal",
            "unit",
            "unit_same",
            "extra",
        } == {row["kind"] for row in pairs}


def test_measured_agreement_names_the_shipped_model():
    """The figures belong to the coefficients that ship with them and cover all sets."""
    measured = measured_agreement()
    assert measured["model_version"] == offline_train.MODEL_VERSION
    assert {line["metric"] for line in measured["sets"]} >= {"verdict", "answer_correctness", "faithfulness"}
    assert {line["language"] for line in measured["sets"]} == {"zh", "en"}


@pytest.mark.parametrize(("language", "words"), [("zh", "忠实度"), ("en", "faithfulness")])
def test_the_note_calls_faithfulness_a_signal(language, words):
    """What stands in report, terminal and message names what was measured, and that it is a signal only."""
    note = agreement_note(language)
    assert words in note
    assert {"zh": "只是信号", "en": "a signal only"}[language] in note


def test_documented_table_is_the_measured_one():
    """docs/data.md shows the table made from the shipped figures."""
    text = (DATA.parent.parent / "docs" / "data.md").read_text("utf-8")
    assert agreement_table() in text


def test_fit_finds_the_weights_of_a_known_model():
    """Logistic regression by Newton's method recovers the signs and size of a simulated model."""
    random = np.random.default_rng(7)
    matrix = random.normal(size=(4000, 2))
    labels = (random.random(4000) < 1 / (1 + np.exp(-(2 * matrix[:, 0] - matrix[:, 1] + 0.5)))).astype(float)
    assert offline_train.fit(matrix, labels) == pytest.approx([2, -1, 0.5], abs=0.2)


def test_training_is_repeatable_and_complete(tmp_path):
    """Training on a labelled file gives a weight for each feature, the same ones each time."""
    first, validated = offline_train.train(DATA / "evouna_100.jsonl")
    for cache in (offline_text._analysed, offline_words.alike, offline_words.stem):
        cache.cache_clear()
    second, _ = offline_train.train(DATA / "evouna_100.jsonl")
    assert first == second
    assert tuple(first["weights"]) == FEATURES
    assert validated[0]["n"] == 100


def test_the_shipped_model_is_what_training_writes():
    """Same layout as a fresh model: version, file with its hash, a weight for each feature, rounded."""
    shipped = json.loads((offline_train.HERE / "offline_model.json").read_text("utf-8"))
    fresh, _ = offline_train.train(DATA / "evouna_100.jsonl")
    assert list(shipped) == list(fresh)
    assert list(shipped["weights"]) == list(FEATURES)
    assert shipped["version"] == offline_train.MODEL_VERSION
    assert all(value == round(value, 6) for value in shipped["weights"].values())


def test_a_bad_training_line_is_named(tmp_path):
    """A line without a label is refused with file and line number."""
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"question": "q", "answer": "a"}) + "\n", "utf-8")
    with pytest.raises(SourceError, match=r"rows\.jsonl:1"):
        labelled.read_rows(path)
