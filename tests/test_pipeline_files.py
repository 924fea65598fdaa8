"""Grading a file of questions and answers: what is read, what is counted, and agreement with people."""

import csv
import gzip
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_openai import FakeOpenAI, always
from workspace import write_jsonl

from rag_checks.errors import ConfigError, JudgeFatal, JudgeUnavailable, SourceError
from rag_checks.pipeline.files import FileResult, MetricRow, evaluate_file
from rag_checks.pipeline.items import read_answered, read_items
from rag_checks.pipeline.labelled import as_label

RIGHT = {"question": "年假有几天", "answer": "年假有15天。", "ground_truth": "年假有15天。"}
WRONG = {"question": "张伟是哪个部门的", "answer": "张伟是财务部的。", "ground_truth": "张伟是教研部的。"}


@pytest.fixture
def judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenAI]:
    """A paid judge at OPENAI_BASE_URL, and a store of its own for its replies."""
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    monkeypatch.setenv("RAG_CHECKS_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("RAG_CHECKS_STORE", raising=False)
    with FakeOpenAI() as fake:
        monkeypatch.setenv("OPENAI_BASE_URL", fake.url)
        yield fake


def table(folder: Path, *rows: dict[str, Any], name: str = "items.jsonl") -> Path:
    """A file of rows."""
    path = folder / name
    write_jsonl(path, list(rows))
    return path


def row_of(result: FileResult, metric: str) -> MetricRow:
    """One line of the table."""
    return next(row for row in result.metrics if row.metric == metric)


def read_one(folder: Path, mapping: dict[str, str] | None = None, **fields: Any) -> Any:
    """Item and answer of a single row, or what is wrong with it."""
    ((_, read),) = read_answered(table(folder, fields), mapping or {})
    return read if isinstance(read, str) else read[:2]


# What is read


@pytest.mark.parametrize(
    ("given", "texts", "ids"),
    [
        (["a", "b"], ("a", "b"), None),
        ('["a", "b"]', ("a", "b"), None),
        ("one passage, as it is", ("one passage, as it is",), None),
        ("[1] Refunds take 7 days.", ("[1] Refunds take 7 days.",), None),
        ([{"text": "a", "id": 1}, {"page_content": "b", "id": "x"}], ("a", "b"), ("1", "x")),
        ([], (), None),
        ("[]", (), None),
        ("  ", None, None),
        (None, None, None),
    ],
)
def test_passages_are_read_however_they_are_written(
    tmp_path: Path, given: Any, texts: tuple[str, ...] | None, ids: tuple[str, ...] | None
) -> None:
    """Lists, JSON texts, one text and objects; nothing recorded is not the same as nothing found."""
    _, answer = read_one(tmp_path, question="q", answer="a", contexts=given)
    assert (answer.retrieved_contexts, answer.retrieved_context_ids) == (texts, ids)


def test_a_list_that_is_no_json_is_refused_not_guessed_at(tmp_path: Path) -> None:
    """Python's own spelling of a list of passages could be one passage or two."""
    assert "contexts: looks like a list" in read_one(tmp_path, question="q", answer="a", contexts="['a' 'b']")


def test_numbers_are_answers_and_broken_characters_are_cleaned(tmp_path: Path) -> None:
    """42 is a fine answer; NUL and half a surrogate pair are taken out at the border."""
    path = tmp_path / "odd.jsonl"
    path.write_text(
        '{"question": "6·7\\u0000?", "answer": 42, "ground_truth": 42.5, "id": 7}\n'
        '{"question": "q", "answer": "half \\ud83d", "ground_truth": "\\udc00"}\n',
        encoding="utf-8",
    )
    first, second = [read for _, read in read_answered(path, {}) if not isinstance(read, str)]
    assert (first[0].item_id, first[0].user_input, first[0].reference) == ("7", "6·7?", "42.5")
    assert first[1].response == "42"
    for text in (second[1].response, second[0].reference):
        assert text is not None
        assert text.encode("utf-8")


def test_a_mapped_column_is_read_as_what_it_was_named_and_as_nothing_else(tmp_path: Path) -> None:
    """`context` is gold by DeepEval's names; mapped to retrieved_contexts it is what the bot was given."""
    fields = {"question": "q", "answer": "a", "context": ["p"]}
    item, answer = read_one(tmp_path, **fields)
    assert (item.reference_contexts, answer.retrieved_contexts) == (("p",), None)
    item, answer = read_one(tmp_path, {"retrieved_contexts": "context"}, **fields)
    assert (item.reference_contexts, answer.retrieved_contexts) == (None, ("p",))


def test_a_null_answer_is_no_answer_and_a_missing_column_is_a_bad_row(tmp_path: Path) -> None:
    """The bot did not answer: counted as failed, never as zero. No such column: the fix is named."""
    path = table(tmp_path, {"question": "q", "answer": None}, {"question": "q"}, RIGHT)
    result = evaluate_file(path, metric_names=["answer_rate"])
    row = row_of(result, "answer_rate")
    assert (row.n_ok, row.n_failed, row.n_total, row.mean) == (1, 1, 2, 1.0)
    assert result.unreadable == 1
    (problem,) = result.problems
    assert problem.startswith(f"{path}:2: response: missing (other names: answer, actual_output, output)")
    assert "--map response=COLUMN" in problem


def test_a_csv_from_a_spreadsheet_is_read(tmp_path: Path) -> None:
    """Byte-order mark, CRLF, commas and line ends in cells, a list as JSON."""
    path = tmp_path / "export.csv"
    with path.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["question", "answer", "contexts", "ground_truth", "label"])
        writer.writerow(["年假有几天", "15天,\n都有", json.dumps(["年假有15天"]), "15天", "TRUE"])
    result = evaluate_file(path, label_field="label")
    assert (result.cases, result.labelled, result.problems) == (1, 1, [])
    assert row_of(result, "faithfulness").n_ok == 1


def test_a_json_array_and_a_compressed_file_are_read(tmp_path: Path) -> None:
    """The same rows in three wrappings give the same numbers."""
    rows = [RIGHT, WRONG]
    array = tmp_path / "goldens.json"
    array.write_text("\ufeff" + json.dumps(rows, indent=2), encoding="utf-8")
    packed = tmp_path / "items.jsonl.gz"
    packed.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    results = [evaluate_file(path).metrics for path in (table(tmp_path, *rows), array, packed)]
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("none.jsonl", None, "no such file"),
        ("folder", "", "a folder"),
        ("empty.jsonl", b"", "empty"),
        ("notes.txt", b"just words", "neither JSON Lines"),
        ("noise.jsonl", bytes(range(128, 250)) + b"\n", "not UTF-8"),
        ("cut.jsonl.gz", gzip.compress(b'{"question": "q", "answer"' * 9, mtime=0)[:-12], "cut"),
        ("array.json", b'[{"question": "q"},', ":1: not JSON"),
        ("lists.json", b"[1, []]", "not a JSON object"),
        ("deep.json", b"[" * 100_000, "nested too deeply"),
        ("header.csv", b"question,answer\n", "no row could be graded"),
    ],
)
def test_a_file_that_cannot_be_graded_is_named_with_the_reason(
    tmp_path: Path, name: str, content: bytes | str | None, says: str
) -> None:
    """Each kind of wrong file ends in one clear error."""
    path = tmp_path / name
    if content == "":
        path.mkdir()
    elif isinstance(content, bytes):
        path.write_bytes(content)
    with pytest.raises(SourceError, match=says) as caught:
        evaluate_file(path)
    assert str(path) in str(caught.value)


def test_good_rows_between_bad_ones_are_graded_and_the_bad_ones_named(tmp_path: Path) -> None:
    """A list, a number, half a line, a line of 17 MB: ten names and a count of the rest."""
    path = tmp_path / "mixed.jsonl"
    good = json.dumps(RIGHT)
    bad = ["[]", "42", '{"question": "q", "ans', json.dumps({"question": "q", "answer": "x" * 17_000_000})]
    path.write_text("\n".join([good, *bad, "", good, *["nope"] * 20, good]), encoding="utf-8")
    result = evaluate_file(path)
    assert (result.cases, result.unreadable) == (3, 24)
    assert len(result.problems) == 11
    assert result.problems[-1] == "… and 14 more"
    assert [problem.split(":")[1] for problem in result.problems[:4]] == ["2", "3", "4", "5"]


def test_golden_files_read_the_same_names(tmp_path: Path) -> None:
    """A golden set kept in a spreadsheet: its list of quotes is JSON or one quote."""
    path = table(
        tmp_path,
        {"id": 1, "question": "q", "ground_truth": "r", "context": '["a"]', "answerable": True},
        {"id": 2, "input": "q", "expected_output": "r", "reference_contexts": "one quote"},
    )
    first, second = read_items(path)
    assert (first.item_id, first.user_input, first.reference, first.reference_contexts) == (
        "1",
        "q",
        "r",
        ("a",),
    )
    assert second.reference_contexts == ("one quote",)


# Metrics, columns, limit


def test_only_metrics_that_apply_are_shown_unless_asked_for(tmp_path: Path) -> None:
    """Without passages there is no faithfulness to show; asked for by name it is shown as not applicable."""
    path = table(tmp_path, RIGHT)
    shown = {row.metric for row in evaluate_file(path).metrics}
    assert shown == {"answer_relevancy", "answer_correctness", "answer_rate"}
    (row,) = evaluate_file(path, metric_names=["faithfulness", "faithfulness"]).metrics
    assert (row.n_ok, row.n_not_applicable, row.mean) == (0, 1, None)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"metric_names": ["faithfulnes"]}, "did you mean 'faithfulness'"),
        ({"mapping": {"refrence": "gold"}}, "did you mean 'reference'"),
        (
            {"mapping": {"reference": "gold"}},
            "no row has the column 'gold'; the columns are question, answer",
        ),
        ({"label_field": "verdict"}, "--labels: no row has the column 'verdict'"),
        ({"label_field": "answer"}, "holds no true/false label"),
    ],
)
def test_a_wrong_name_is_answered_with_the_right_ones(
    tmp_path: Path, options: dict[str, Any], says: str
) -> None:
    """Metric, field, column and label column."""
    with pytest.raises(ConfigError, match=says):
        evaluate_file(table(tmp_path, RIGHT, WRONG), **options)


def test_the_limit_counts_rows_that_can_be_read(tmp_path: Path) -> None:
    """Two of three, and the bad line before them is still told."""
    path = table(tmp_path, {"answer": "a"}, RIGHT, WRONG, RIGHT)
    result = evaluate_file(path, limit=2)
    assert (result.cases, result.unreadable) == (2, 1)


# Agreement with people


def test_agreement_comes_out_as_by_hand(tmp_path: Path) -> None:
    """Right twice and wrong twice, people disagree once: accuracy 3/4, kappa 0.5, AUC 0.75."""
    labels = [(RIGHT, True), (RIGHT, False), (WRONG, False), (WRONG, False)]
    path = table(tmp_path, *[{**row, "label": label} for row, label in labels])
    found = evaluate_file(path, label_field="label").agreements["answer_correctness"]
    assert (found.true_positive, found.false_positive) == (1, 1)
    assert (found.false_negative, found.true_negative) == (0, 2)
    assert found.accuracy == 0.75
    # By chance they agree in 1/2·1/4 + 1/2·3/4 = 1/2 of the rows: (3/4 - 1/2) / (1 - 1/2).
    assert found.kappa == pytest.approx(0.5)
    # Pairs (good, bad): one right above each wrong twice, one tie: (2 + 1/2) / 3.
    assert found.auc == pytest.approx(2.5 / 3)


def test_means_are_of_what_was_written_out(tmp_path: Path) -> None:
    """The file of scores is the truth the table is made of: one line a row and metric, labels beside them."""
    rows = [{**RIGHT, "id": "r", "label": "yes"}, {**WRONG, "id": "w", "label": "no"}, {**WRONG, "id": "w"}]
    path, output = table(tmp_path, *rows), tmp_path / "scores.jsonl"
    result = evaluate_file(path, label_field="label", output=output)
    written = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    assert [(one["line"], one["item_id"]) for one in written] == sorted(
        (line, item) for line, item in ((1, "r"), (2, "w"), (3, "w")) for _ in range(12)
    )
    assert [one.get("label") for one in written if one["metric"] == "answer_rate"] == [True, False, None]
    correctness = [one["value"] for one in written if one["metric"] == "answer_correctness"]
    assert correctness[0] == 1.0
    assert correctness[1] == correctness[2] < 0.5
    row = row_of(result, "answer_correctness")
    assert row.mean == pytest.approx(math.fsum(correctness) / 3)
    assert result.agreements["answer_correctness"].n == result.labelled == 2


def test_rows_without_a_label_are_graded_and_left_out_of_the_agreement(tmp_path: Path) -> None:
    """Absent, null and blank are no label; a word that is none is told."""
    path = table(
        tmp_path,
        {**RIGHT, "label": 1},
        WRONG,
        {**WRONG, "label": None},
        {**WRONG, "label": "perhaps"},
        {**WRONG, "label": "错误"},
    )
    result = evaluate_file(path, label_field="label")
    assert (result.cases, result.labelled) == (5, 2)
    assert result.agreements["answer_correctness"].n == 2
    assert result.problems == [f"{path}:4: label: 'perhaps' is not true/false"]


def test_agreement_is_shown_for_judgements_of_the_answer_only(tmp_path: Path) -> None:
    """People labelled answers: ranks of passages are compared with that only when asked for by name."""
    row = {**RIGHT, "contexts": ["年假有15天"], "reference_contexts": ["年假有15天"], "label": True}
    path = table(tmp_path, row, {**row, **WRONG, "label": False})
    found = evaluate_file(path, label_field="label").agreements
    assert set(found) == {"faithfulness", "answer_relevancy", "answer_correctness"}
    asked = evaluate_file(path, label_field="label", metric_names=["hit_rate", "refusal_correctness"])
    assert set(asked.agreements) == {"hit_rate"}


@pytest.mark.parametrize(
    ("value", "label"),
    [
        *[(good, True) for good in (True, 1, 1.0, "true", " TRUE ", "Yes", "correct", "正确", "pass")],
        *[(bad, False) for bad in (False, 0, 0.0, "false", "0", "No", "wrong", "错", "fail")],
        *[(neither, None) for neither in (None, "", 2, 0.5, "maybe", [], {}, "nan")],
    ],
)
def test_labels_are_read_as_people_write_them(value: Any, label: bool | None) -> None:
    """Anything else is no label rather than a false one."""
    assert as_label(value) is label


# A paid judge


def test_the_second_grading_of_a_file_is_free(tmp_path: Path, judge: FakeOpenAI) -> None:
    """Replies are cached: same numbers, no call."""
    path = table(tmp_path, RIGHT, WRONG)
    first = evaluate_file(path, judge_name="judge-1")
    calls = len(judge.state.requests)
    assert calls == 6
    assert f"{calls} calls, 0 from the cache" in first.judge_line
    second = evaluate_file(path, judge_name="judge-1")
    assert len(judge.state.requests) == calls
    assert f"0 calls, {calls} from the cache" in second.judge_line
    assert second.metrics == first.metrics


def test_a_judge_that_goes_down_leaves_what_it_had_graded(tmp_path: Path, judge: FakeOpenAI) -> None:
    """The key is revoked on the way: rows graded before count, the others have failed, the error is told."""
    rows = [{**RIGHT, "question": f"第{number}年有几天年假"} for number in range(60)]
    path, output = table(tmp_path, *rows), tmp_path / "scores.jsonl"
    judge.state.faults = lambda number, _body: "401" if number >= 30 else None
    result = evaluate_file(path, judge_name="judge-1", metric_names=["answer_rate"], output=output)
    row = row_of(result, "answer_rate")
    assert isinstance(result.error, JudgeFatal)
    assert 0 < row.n_ok <= 30
    assert (row.n_ok + row.n_failed, row.n_total, row.mean) == (60, 60, 1.0)
    assert len(output.read_text(encoding="utf-8").splitlines()) == 60
    assert result.as_json()["error"] == str(result.error)


@pytest.mark.parametrize(("mode", "error"), [("401", JudgeFatal), ("refused", JudgeUnavailable)])
def test_a_judge_that_graded_nothing_is_an_error_and_no_table(
    tmp_path: Path, judge: FakeOpenAI, monkeypatch: pytest.MonkeyPatch, mode: str, error: type[Exception]
) -> None:
    """A table of dashes would help nobody; no file of scores appears either."""
    if mode == "refused":
        monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    judge.state.faults = always("401")
    output = tmp_path / "scores.jsonl"
    with pytest.raises(error):
        evaluate_file(table(tmp_path, RIGHT), judge_name="judge-1", output=output)
    assert not output.exists()


def test_a_place_for_scores_that_cannot_be_written_is_told_before_anything_is_paid(
    tmp_path: Path, judge: FakeOpenAI
) -> None:
    """No folder, or a folder itself: no call is made."""
    path = table(tmp_path, RIGHT)
    for output in (tmp_path / "none" / "scores.jsonl", tmp_path):
        with pytest.raises(OSError, match=r"be written|a folder"):
            evaluate_file(path, judge_name="judge-1", output=output)
    assert judge.state.calls == 0


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"item_id": "a", "question": "q", "answer": "a"}, "response: is what a bot said"),
        ({"item_id": "a", "asked": "q"}, "user_input: missing (other names: question, query, input)"),
        (
            {"item_id": "a", "question": "q", "refernce": "a"},
            "refernce: unknown field; did you mean 'reference'?",
        ),
        ({"question": "q"}, "item_id: missing (other names: id)"),
    ],
)
def test_a_row_that_is_no_golden_item_says_which_field_and_the_fix(
    tmp_path: Path, row: dict[str, str], told: str
) -> None:
    """In our words and with the line; a log row is not mistaken for an item."""
    path = tmp_path / "golden.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    with pytest.raises(SourceError) as caught:
        read_items(path)
    assert f"{path}:1: " in str(caught.value)
    assert told in str(caught.value)
