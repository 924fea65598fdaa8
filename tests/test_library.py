"""The library: what people hand over, what they get back, and what they are told when it does not fit."""

import asyncio
import csv
import functools
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from fake_openai import FakeOpenAI, always

import rag_checks
from rag_checks.errors import ConfigError, JudgeFatal, SourceError
from rag_checks.judge.offline import OfflineJudge
from rag_checks.metrics import REGISTRY
from rag_checks.metrics.exam import Exam
from rag_checks.protocols import JudgeReply, JudgeRequest
from rag_checks.store import Store

ROOT = Path(__file__).parent.parent
RIGHT = {
    "question": "年假有几天",
    "answer": "年假有15天。",
    "ground_truth": "年假有15天。",
    "contexts": ["年假有15天。"],
}
WRONG = {"question": "When is payday?", "answer": "On the 3rd.", "ground_truth": "Payday is the 15th."}
CORRECT = ["answer_correctness"]


@pytest.fixture
def paid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenAI]:
    """A paid judge at OPENAI_BASE_URL, and a store of its own for its replies."""
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    monkeypatch.setenv("RAG_CHECKS_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("RAG_CHECKS_STORE", raising=False)
    with FakeOpenAI() as fake:
        monkeypatch.setenv("OPENAI_BASE_URL", fake.url)
        yield fake


def values(experiment: rag_checks.Experiment, metric: str = "answer_correctness") -> list[float | None]:
    """Values of one metric, item by item."""
    return [score.value for score in experiment.scores if score.metric == metric]


def statuses(experiment: rag_checks.Experiment) -> list[str]:
    """Statuses, score by score."""
    return [score.status.value for score in experiment.scores]


# What is handed over


@pytest.mark.parametrize(
    "data",
    [
        [RIGHT, WRONG],
        (RIGHT, WRONG),
        iter([RIGHT, WRONG]),
        pd.DataFrame([RIGHT, WRONG]),
        {name: [RIGHT[name], WRONG[name]] for name in ("question", "answer", "ground_truth")},
        pd.DataFrame([RIGHT, WRONG]).rename(columns={"question": "user_input", "answer": "response"}),
    ],
    ids=["list", "tuple", "iterator", "frame", "columns", "our names"],
)
def test_rows_are_read_however_they_come(data: Any) -> None:
    """The same two rows give the same two scores."""
    right, wrong = values(rag_checks.evaluate(data, metrics=CORRECT))
    assert right == 1
    assert wrong is not None
    assert wrong < 0.5


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet", "json"])
def test_files_are_read_by_path(tmp_path: Path, kind: str) -> None:
    """A text is a path, and so is a Path."""
    frame = pd.DataFrame([RIGHT, WRONG]).drop(columns="contexts")
    path = tmp_path / f"rows.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_json(path, orient="records", lines=kind == "jsonl", force_ascii=False)
    assert values(rag_checks.evaluate(str(path), metrics=CORRECT)) == values(
        rag_checks.evaluate([RIGHT, WRONG], metrics=CORRECT)
    )


def test_numpy_values_and_missing_ones_are_read_as_json_has_them() -> None:
    """Arrays are lists; NaN, NA and NaT are not recorded, and a missing answer is a status."""
    frame = pd.DataFrame(
        {
            "question": ["年假有几天", "When is payday?", "Who?"],
            "answer": ["年假有15天。", np.nan, pd.NA],
            "contexts": [np.array(["年假有15天。"]), np.nan, None],
            "reference": ["年假有15天。", "The 15th.", pd.NaT],
        }
    )
    experiment = rag_checks.evaluate(frame, metrics=["answer_correctness", "faithfulness"])
    assert statuses(experiment) == ["ok", "ok", *["bot_error"] * 2, "not_applicable", "bot_error"]
    assert experiment.graded[0].case.response.retrieved_contexts == ("年假有15天。",)


def test_personal_data_is_masked_before_it_is_kept_and_the_bot_is_asked_the_original() -> None:
    """P7, as for a monitor."""
    asked = []

    def bot(question: str) -> str:
        asked.append(question)
        return "Call 13812345678."

    experiment = rag_checks.evaluate(["Is 13812345678 the number?"], bot)
    assert asked == ["Is 13812345678 the number?"]
    assert "13812345678" not in json.dumps(experiment.graded[0].model_dump(mode="json"))


# The target


async def _async_bot(question: str) -> dict[str, Any]:
    await asyncio.sleep(0)
    return {"answer": f"{question}!", "contexts": ["a"]}


class _Callable:
    def __call__(self, question: str) -> rag_checks.Response:
        return rag_checks.Response(response=f"{question}!", retrieved_contexts=("a",))


class _AsyncCallable:
    async def __call__(self, question: str) -> str:
        return (await _async_bot(question))["answer"]


@pytest.mark.parametrize(
    "target",
    [
        lambda question: f"{question}!",
        lambda item: f"{item.user_input}!",
        _async_bot,
        _Callable(),
        _AsyncCallable(),
        lambda inputs: {"answer": f"{inputs['question']}!"},
        functools.partial(lambda question, mark: question + mark, mark="!"),
    ],
    ids=["question", "item", "async", "object", "async object", "inputs", "partial"],
)
def test_a_target_is_asked_however_it_is_written(target: Any) -> None:
    """Sync and async, of the question or the item; answers in the data are not read then."""
    experiment = rag_checks.evaluate([RIGHT, WRONG], target)
    answers = [one.case.response.response for one in experiment.graded]
    assert answers == ["年假有几天!", "When is payday?!"]


class _Document:
    """What LangChain retrieves."""

    def __init__(self, page_content: str, id: int) -> None:  # noqa: A002 - LangChain's name
        self.page_content = page_content
        self.id = id


@pytest.mark.parametrize(
    "passages",
    [
        {"contexts": [{"text": "a", "id": 1}, {"page_content": "b", "document_id": "2"}]},
        {"documents": (_Document("a", 1), _Document("b", 2))},
        {"contexts": np.array(["a", "b"]), "retrieved_context_ids": ["1", "2"]},
    ],
    ids=["dicts", "documents", "array"],
)
def test_passages_of_an_answer_are_texts_dicts_or_documents(passages: dict[str, Any]) -> None:
    """With their ids, when they have some."""
    experiment = rag_checks.evaluate(["Who?"], lambda _question: {"answer": "a", **passages}, ["answer_rate"])
    response = experiment.graded[0].case.response
    assert (response.retrieved_contexts, response.retrieved_context_ids) == (("a", "b"), ("1", "2"))


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (3, "bot returned a int, not text, a mapping or a Response"),
        ({"answr": "a"}, "unknown field 'answr'; did you mean 'answer'"),
        ({"answer": "a", "contexts": "b"}, "bad retrieved_contexts"),
        ({"answer": "a", "contexts": [3]}, r"bad retrieved_contexts\.0"),
        ("", "no answer text"),
    ],
)
def test_an_answer_that_is_none_is_told_in_the_row(answer: Any, told: str) -> None:
    """A status with the fix, not an exception."""

    def bot(_question: str) -> Any:
        return answer

    experiment = rag_checks.evaluate(["Who?"], bot, ["answer_rate"])
    assert statuses(experiment) == ["bot_error"]
    assert re.search(told, str(experiment.graded[0].case.response.error))


def test_a_target_that_raises_is_a_status_of_its_rows() -> None:
    """The others are graded, and the summary says where it was raised."""

    def bot(question: str) -> str:
        if "payday" in question:
            raise ZeroDivisionError
        return "年假有15天。"

    experiment = rag_checks.evaluate([RIGHT, WRONG], bot, CORRECT)
    assert statuses(experiment) == ["ok", "bot_error"]
    row = experiment.summary()["answer_correctness"]
    assert (row.mean, row.n_ok, row.n_failed, row.n_na, row.n_total, row.coverage) == (1, 1, 1, 0, 2, 0.5)
    assert "bot raised ZeroDivisionError at test_library.py" in repr(experiment)


def test_a_target_is_asked_side_by_side_up_to_the_limit() -> None:
    """Bounded concurrency: never more than asked for, and no fewer."""
    under_way, most = 0, 0

    async def bot(_question: str) -> str:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.01)
        under_way -= 1
        return "a"

    rag_checks.evaluate([f"question {n}" for n in range(12)], bot, ["answer_rate"], concurrency=3)
    assert most == 3


def test_a_slow_target_times_out() -> None:
    """Sync functions too: the thread is left behind."""
    experiment = rag_checks.evaluate(
        ["Who?"], lambda _question: time.sleep(2) or "a", ["answer_rate"], timeout_s=0.05
    )
    assert experiment.graded[0].case.response.error_kind == "timeout"


def test_nothing_is_shown_where_nobody_looks(capfd: pytest.CaptureFixture[str]) -> None:
    """The bar is for terminals; a log stays clean."""
    rag_checks.evaluate([RIGHT], metrics=CORRECT)
    assert capfd.readouterr() == ("", "")


# Loops, threads, interrupts


def test_it_works_inside_a_running_loop_and_awaited() -> None:
    """As in Jupyter, where a loop always runs."""

    async def notebook() -> tuple[rag_checks.Experiment, rag_checks.Experiment]:
        return rag_checks.evaluate([RIGHT], metrics=CORRECT), await rag_checks.aevaluate(
            [RIGHT], metrics=CORRECT
        )

    first, second = asyncio.run(notebook())
    assert values(first) == values(second) == [1]


def test_errors_come_out_of_a_running_loop_as_they_are() -> None:
    """No wrapping by the thread."""

    async def notebook() -> None:
        rag_checks.evaluate([])

    with pytest.raises(ConfigError, match="holds no rows"):
        asyncio.run(notebook())


@pytest.mark.parametrize("in_loop", [False, True], ids=["script", "notebook"])
def test_an_interrupt_ends_it_at_once(tmp_path: Path, in_loop: bool) -> None:
    """Ctrl-C during a long evaluation: KeyboardInterrupt in the caller, nothing left running."""
    script = tmp_path / "long.py"
    call = "rag_checks.evaluate(['Who?'] * 50, bot, ['answer_rate'])"
    body = f"async def notebook():\n    {call}\nasyncio.run(notebook())" if in_loop else call
    script.write_text(
        "import asyncio, sys, rag_checks\n"
        "async def bot(question):\n"
        "    print('asked', flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "    return 'a'\n"
        f"{body}\n"
    )
    started = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    started.stdout.readline()
    started.send_signal(signal.SIGINT)
    _, err = started.communicate(timeout=20)
    assert started.returncode != 0
    assert b"KeyboardInterrupt" in err


# Metrics and judges


@pytest.fixture
def own_metric() -> Iterator[Any]:
    """A metric a user wrote; the registry forgets it afterwards."""

    @rag_checks.metric("short_enough", version="1", stage="generation", needs=["response"], by_default=False)
    async def short_enough(exam: Exam) -> rag_checks.Outcome:
        """Whether an answer has at most ten characters."""
        return rag_checks.Outcome(float(len(exam.answer) <= 10), f"{len(exam.answer)} characters")

    yield short_enough
    del REGISTRY["short_enough"]


def test_metrics_are_names_objects_or_functions(own_metric: Any) -> None:
    """In any mixture, each once, in the order given; one alone needs no list."""
    experiment = rag_checks.evaluate(
        [RIGHT], metrics=[own_metric, "answer_rate", REGISTRY["answer_rate"], "short_enough"]
    )
    assert list(experiment.metrics) == ["short_enough", "answer_rate"]
    assert values(experiment, "short_enough") == [1]
    assert list(rag_checks.evaluate([RIGHT], metrics="answer_rate").metrics) == ["answer_rate"]


@pytest.mark.parametrize(
    ("metrics", "told"),
    [
        (["faithfullness"], "did you mean 'faithfulness'"),
        ([], "an empty list grades nothing"),
        ([len], "len is no metric; put @rag_checks.metric"),
    ],
)
def test_a_wrong_metric_is_named_with_the_right_one(metrics: Any, told: str) -> None:
    """Before anything is read."""
    with pytest.raises(ConfigError, match=told):
        rag_checks.evaluate([RIGHT], metrics=metrics)


def test_rubrics_are_metrics_by_name_or_by_file(paid: FakeOpenAI) -> None:
    """Shipped ones have a name, a team's own a Path."""
    shipped = ROOT / "rag_checks" / "metrics" / "rubrics" / "shipped" / "relevance.yaml"
    experiment = rag_checks.evaluate([RIGHT], metrics=["groundedness", shipped], judge="fake")
    assert list(experiment.metrics) == ["groundedness", "relevance"]
    assert statuses(experiment) == ["ok", "ok"]


class _Counting(OfflineJudge):
    """An offline judge that counts and must not be closed by others."""

    asked = 0
    closed = False

    async def ask(self, request: JudgeRequest) -> JudgeReply:
        self.asked += 1
        return await super().ask(request)

    async def close(self) -> None:
        self.closed = True


def test_a_judge_object_grades_and_stays_open() -> None:
    """Its owner closes it."""
    judge = _Counting()
    assert values(rag_checks.evaluate([RIGHT], metrics=CORRECT, judge=judge)) == [1]
    assert judge.asked
    assert not judge.closed


@pytest.mark.parametrize(
    "judge", ["fake", {"model": "fake"}, {"kind": "openai", "model": "fake", "retries": 0}]
)
def test_a_paid_judge_is_named_or_described_and_its_replies_are_cached(paid: FakeOpenAI, judge: Any) -> None:
    """A second evaluation of the same asks nothing."""
    first = rag_checks.evaluate([RIGHT], metrics=CORRECT, judge=judge)
    asked = len(paid.state.requests)
    second = rag_checks.evaluate([RIGHT], metrics=CORRECT, judge=judge)
    assert asked > 0
    assert len(paid.state.requests) == asked
    assert values(first) == values(second)
    assert first.judge is not None
    assert first.judge.requested_model == "fake"


def test_a_wrong_judge_section_names_the_key() -> None:
    """As a monitor file would."""
    with pytest.raises(ConfigError, match=r"judge\.temperatur: Extra inputs"):
        rag_checks.evaluate([RIGHT], judge={"model": "a", "temperatur": 0})
    with pytest.raises(ConfigError, match="did you mean 'offline'"):
        rag_checks.evaluate([RIGHT], judge="Offline")
    with pytest.raises(ConfigError, match="a int is no judge"):
        rag_checks.evaluate([RIGHT], judge=3)  # type: ignore[arg-type]


def test_a_judge_that_refuses_every_call_is_an_error(paid: FakeOpenAI) -> None:
    """No key, no grading: one clear message."""
    paid.state.faults = always("401")
    with pytest.raises(JudgeFatal):
        rag_checks.evaluate([RIGHT], metrics=CORRECT, judge="fake")


def test_a_judge_that_goes_down_on_the_way_is_told_and_what_is_left_counted(paid: FakeOpenAI) -> None:
    """What was paid for is kept, nothing is left out of the counts (P1), and the reason is there."""
    paid.state.faults = lambda number, _body: "401" if number >= 6 else None
    rows = [RIGHT | {"question": f"年假有几天（{n}）"} for n in range(6)]
    with pytest.warns(UserWarning, match="what was left is counted as failed"):
        experiment = rag_checks.evaluate(
            rows, metrics=CORRECT, judge={"model": "fake", "concurrency": 1}, concurrency=1
        )
    row = experiment.summary()["answer_correctness"]
    assert row.n_total == 6
    assert row.n_ok + row.n_failed == 6
    assert row.n_ok > 0
    assert row.n_failed > 0
    assert experiment.problem is not None
    assert "judge_error" in repr(experiment)


# What is told


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ([], "data: holds no rows"),
        (RIGHT, r"data: is a single row; put it into a list"),
        (3, "data: a int holds no rows"),
        ([RIGHT, 3], r"row 2: a int, not a dict"),
        ([RIGHT, {"qestion": "a", "answer": "b"}], r"row 2: user_input: missing .*is it 'qestion'\?"),
        ([{"question": "a"}], r"row 1: response: missing .*; the row has question"),
        ([RIGHT | {"contexts": [1, 2]}], r"row 1: retrieved_contexts"),
        ([RIGHT | {"id": "a"}, WRONG | {"id": "a"}], "row 1, row 2 share one id; make ids unique"),
        ({"question": ["a"], "answer": []}, "columns of different lengths"),
        ("Who?", r"Who\?: no such file; a text is the path of a file, a question goes into a list"),
        (["Who?"], "row 1: a str, not a dict; pass target= to have questions answered"),
        (
            [{"question": np.nan, "answer": "a"}],
            "row 1: user_input: missing .*; it is empty: every row needs",
        ),
        (
            [RIGHT | {"contexts": "['a', 'b']"}],
            r'row 1: retrieved_contexts: looks like a list.*such as \["a", "b"\]',
        ),
        ([RIGHT | {"contexts": ["a", np.nan]}], r"row 1: retrieved_contexts\[1\]"),
        (
            [rag_checks.EvalItem(item_id="a", user_input="b")],
            r"row 1: an EvalItem holds no answer; pass target=",
        ),
    ],
)
def test_rows_that_do_not_fit_are_named_with_field_and_fix(data: Any, told: str) -> None:
    """Nothing is graded of a table that is partly wrong: the numbers would be of other rows."""
    with pytest.raises((ConfigError, SourceError), match=told):
        rag_checks.evaluate(data)


def test_every_bad_row_is_named_at_once() -> None:
    """Nobody mends a table row by row; after ten they are counted."""
    with pytest.raises(SourceError) as caught:
        rag_checks.evaluate([{"question": "a"}] * 12)
    assert str(caught.value).count("\n") == 10
    assert "and 2 more" in str(caught.value)


def test_a_misspelt_optional_field_is_a_warning() -> None:
    """It may be a column of its own, but nobody should wonder why nothing applies."""
    with pytest.warns(UserWarning, match=r"row 1: 'refrence' is no field .* did you mean 'reference'"):
        experiment = rag_checks.evaluate([{"question": "a", "answer": "b", "refrence": "b"}], metrics=CORRECT)
    assert statuses(experiment) == ["not_applicable"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rag_checks.evaluate(
            [{"question": "a", "answer": "b", "department": "HR", "score": 3}], metrics=CORRECT
        )


def test_other_column_names_are_mapped() -> None:
    """And a column nobody has, or a field that is none, is named."""
    row = {"frage": "When?", "antwort": "On the 15th.", "gold": "On the 15th."}
    names = {"user_input": "frage", "response": "antwort", "reference": "gold"}
    assert values(rag_checks.evaluate([row], metrics=CORRECT, mapping=names)) == [1]
    with pytest.raises(
        ConfigError, match="no row has the column 'golden'; the columns are frage, antwort, gold"
    ):
        rag_checks.evaluate([row], mapping=names | {"reference": "golden"})
    with pytest.raises(ConfigError, match="did you mean 'reference'"):
        rag_checks.evaluate([row], mapping=names | {"referenz": "gold"})


@pytest.mark.parametrize(
    ("target", "told"),
    [("bot:ask", "a str cannot be called"), (lambda: "a", "cannot be called with one argument")],
)
def test_a_target_that_cannot_be_asked_is_told(target: Any, told: str) -> None:
    """Before the first question."""
    with pytest.raises(ConfigError, match=told):
        rag_checks.evaluate(["Who?"], target)


# The experiment


def test_a_table_has_a_row_an_item_and_nan_for_what_has_no_score() -> None:
    """Missing is never zero (P1)."""
    frame = rag_checks.evaluate([RIGHT, WRONG | {"answer": None}], metrics=CORRECT).to_pandas()
    assert frame["user_input"].tolist() == ["年假有几天", "When is payday?"]
    assert frame["answer_correctness"].iloc[0] == 1
    assert math.isnan(frame["answer_correctness"].iloc[1])
    assert frame["answer_correctness_status"].tolist() == ["ok", "bot_error"]
    nothing = rag_checks.evaluate([WRONG | {"answer": None}], metrics=CORRECT).to_pandas()
    assert nothing["answer_correctness"].dtype == "float64"


def test_the_summary_shows_what_applies_and_names_what_does_not() -> None:
    """In a terminal and, escaped, in a notebook."""
    experiment = rag_checks.evaluate([RIGHT], name="first")
    shown = repr(experiment)
    assert "Experiment 'first', 1 items" in shown
    assert "for no item: hit_rate, recall, mrr, ndcg" in shown
    assert "string features, no model" in shown
    assert "hit_rate" in {row.metric for row in experiment.summary()}
    with pytest.raises(KeyError, match="graded are faithfulness"):
        experiment.summary()["none"]
    table = experiment._repr_html_()
    assert table.startswith("<table>")
    ET.fromstring(f"<div>{table}</div>")


def test_a_notebook_shows_texts_escaped() -> None:
    """A bot's error message is no markup (P6)."""

    def bot(_question: str) -> str:
        raise rag_checks.errors.BotError("<script>alert(1)</script>", kind="raised")

    shown = rag_checks.evaluate(["Who?"], bot, ["answer_rate"])._repr_html_()
    assert "&lt;script&gt;" in shown
    assert "<script>" not in shown


def test_it_is_saved_once_and_loaded_as_it_was(tmp_path: Path) -> None:
    """By id, or the newest of a name; a monitor's history knows nothing of it."""
    place = tmp_path / "store.db"
    first = rag_checks.evaluate([RIGHT, WRONG], lambda _question: "年假有15天。", name="bot-1")
    second = rag_checks.evaluate([RIGHT, WRONG], name="bot-1")
    for _ in range(2):
        assert first.save(place) == first.eval_run_id
    second.save(f"sqlite:///{place}")
    assert rag_checks.Experiment.load(first.eval_run_id, place) == first
    assert rag_checks.Experiment.load("bot-1", place) == second
    with Store.open(f"sqlite:///{place}") as store:
        assert store.monitors() == ["experiment:bot-1"]
        assert len(store.runs("experiment:bot-1")) == 2
        assert rag_checks.Experiment.load("bot-1", store) == second
        with pytest.raises(ConfigError, match="no experiment 'bot-2' in the store; saved are bot-1"):
            rag_checks.Experiment.load("bot-2", store)


def test_the_report_is_the_one_nights_have(tmp_path: Path) -> None:
    """With every item; in Chinese when most questions are."""
    few = rag_checks.evaluate([WRONG, RIGHT | {"answer": None}], metrics=CORRECT, name="english")
    english = few.report(tmp_path / "en.html")
    mean = few.summary()["answer_correctness"].mean
    assert "All metrics meet" not in english.read_text("utf-8")
    assert f">{mean:.2f}<" in re.sub(r"\s+", "", english.read_text("utf-8"))
    chinese = rag_checks.evaluate([RIGHT]).report(tmp_path / "zh.html")
    assert "When is payday?" in english.read_text("utf-8")
    assert 'lang="zh' in chinese.read_text("utf-8")
    assert "年假有15天。" in chinese.read_text("utf-8")


def test_files_for_spreadsheets_and_frames(tmp_path: Path) -> None:
    """A formula is text in CSV; Parquet has lists and NaN."""
    experiment = rag_checks.evaluate(
        [WRONG | {"question": "=1+1", "contexts": ["-a", "b"]}, RIGHT | {"answer": None}], metrics=CORRECT
    )
    with experiment.to_csv(tmp_path / "new folder" / "a.csv").open(encoding="utf-8", newline="") as file:
        first, second = csv.DictReader(file)
    assert first["user_input"] == "'=1+1"
    assert json.loads(first["retrieved_contexts"]) == ["-a", "b"]
    assert (second["answer_correctness"], second["answer_correctness_status"]) == ("", "bot_error")
    frame = pd.read_parquet(experiment.to_parquet(tmp_path / "a.parquet"))
    assert list(frame["retrieved_contexts"].iloc[0]) == ["-a", "b"]
    assert math.isnan(frame["answer_correctness"].iloc[1])


def test_junit_tells_failures_errors_and_what_does_not_apply(tmp_path: Path) -> None:
    """Below the minimum is a failure, no score is an error, not applicable is skipped."""
    rows = [RIGHT, WRONG, WRONG | {"question": "b\x0b", "answer": None}, {"question": "c", "answer": "d"}]
    experiment = rag_checks.evaluate(rows, metrics=CORRECT)
    suite = ET.parse(experiment.to_junit(tmp_path / "a.xml", {"answer_correctness": 0.8})).getroot()[0]
    assert suite.attrib == {
        "name": "answer_correctness",
        "tests": "4",
        "failures": "1",
        "errors": "1",
        "skipped": "1",
    }
    assert [[child.tag for child in case] for case in suite] == [[], ["failure"], ["error"], ["skipped"]]
    assert "is below 0.8" in suite[1][0].get("message", "")
    with pytest.raises(ConfigError, match="'faithfulness' was not graded"):
        experiment.to_junit(tmp_path / "b.xml", {"faithfulness": 0.8})


# Comparing


def test_two_experiments_are_compared_item_by_item() -> None:
    """The order of rows does not matter, and the difference is of what both scored."""
    better = rag_checks.evaluate(
        [RIGHT, WRONG | {"answer": "Payday is the 15th."}], metrics=CORRECT, name="new"
    )
    worse = rag_checks.evaluate([WRONG, RIGHT], metrics=[*CORRECT, "answer_rate"], name="old")
    row = better.compare(worse)["answer_correctness"]
    assert row.n_pairs == 2
    assert row.first == 1
    assert row.difference == pytest.approx(row.first - row.second)
    assert row.difference > 0.2
    assert row.low < row.difference < row.high
    assert row.left_out == {}
    back = worse.compare(better)
    assert back["answer_correctness"].difference == pytest.approx(-row.difference)
    assert [found.metric for found in back] == CORRECT
    assert "new" in repr(back)
    ET.fromstring(f"<div>{back._repr_html_()}</div>")


def test_what_is_left_out_of_a_comparison_is_counted_with_the_reason() -> None:
    """Items of one side, changed ones, and those without a score."""
    ids = [RIGHT | {"id": "a"}, WRONG | {"id": "b"}, RIGHT | {"id": "c"}, RIGHT | {"id": "d"}]
    changed = [
        ids[0],
        WRONG | {"id": "b", "answer": None},
        ids[2] | {"ground_truth": "20"},
        RIGHT | {"id": "e"},
    ]
    row = rag_checks.evaluate(ids, metrics=CORRECT).compare(rag_checks.evaluate(changed, metrics=CORRECT))
    assert row["answer_correctness"].n_pairs == 1
    assert row["answer_correctness"].low is None
    assert not row["answer_correctness"].differs
    assert row["answer_correctness"].left_out == {
        "item only in the first": 1,
        "item only in the second": 1,
        "item changed": 1,
        "not scored in both": 1,
    }
    assert "left out, item changed: 1 (answer_correctness)" in repr(row)


def test_other_judges_and_other_versions_are_never_compared(paid: FakeOpenAI) -> None:
    """P4: the numbers would be of another scale."""
    offline = rag_checks.evaluate([RIGHT], metrics=["answer_correctness", "answer_rate"])
    model = rag_checks.evaluate([RIGHT], metrics=["answer_correctness"], judge="fake")
    assert offline.compare(model)["answer_correctness"].left_out == {"judge differs": 1}
    newer = replace(REGISTRY["answer_correctness"], version="0-test")
    other = rag_checks.evaluate([RIGHT], metrics=[newer])
    assert offline.compare(other)["answer_correctness"].left_out == {"metric version differs": 1}
    with pytest.raises(ConfigError, match="a dict is no Experiment"):
        offline.compare({})  # type: ignore[arg-type]
    nothing = offline.compare(rag_checks.evaluate([RIGHT], metrics=["faithfulness"]))
    assert "no metric was graded in both" in repr(nothing)


def test_equal_questions_get_ids_of_their_own() -> None:
    """The same question twice is two items, the same ones in the next experiment."""
    first = rag_checks.evaluate([RIGHT, RIGHT, WRONG], metrics=CORRECT)
    ids = [one.case.item.item_id for one in first.graded]
    assert len(set(ids)) == 3
    assert [
        one.case.item.item_id for one in rag_checks.evaluate([RIGHT, RIGHT, WRONG], metrics=CORRECT).graded
    ] == ids


def test_a_notebook_gets_the_table_as_text_and_once(tmp_path: Path) -> None:
    """Rich writes past the text it is asked for where it sees Jupyter's shell."""
    script = tmp_path / "cell.py"
    script.write_text(
        "import builtins\n"
        "class ZMQInteractiveShell: pass\n"
        "builtins.get_ipython = ZMQInteractiveShell\n"
        "import rag_checks\n"
        "row = {'question': 'When?', 'answer': 'The 15th.', 'reference': 'The 15th.'}\n"
        "experiment = rag_checks.evaluate([row], metrics='answer_correctness', progress=True)\n"
        "print(repr(experiment))\n"
    )
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "FORCE_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=True, env=environ
    )
    assert done.stdout.count("answer_correctness") == 1
    assert "\x1b" not in done.stdout
    assert "grading" in done.stderr
    assert "ipywidgets" not in done.stderr


# The package


def test_names_are_listed_and_unknown_ones_refused() -> None:
    """`dir` shows them before they are loaded, and the stub names the same."""
    stub = (ROOT / "rag_checks" / "__init__.pyi").read_text("utf-8")
    for name in rag_checks.__all__:
        assert getattr(rag_checks, name) is not None
        assert name in dir(rag_checks)
        assert f" {name}" in stub or f"{name}:" in stub
    with pytest.raises(AttributeError, match="no attribute 'evalute'"):
        _ = rag_checks.evalute


def test_importing_the_package_loads_nothing_of_it() -> None:
    """The first use pays, not the import."""
    code = "import rag_checks, sys; print([m for m in sys.modules if m.startswith('rag_checks.')])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.stdout.strip() == "[]"
