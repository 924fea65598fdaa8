"""Data sets of other tools: what is read, and that nothing is lost on any way there and back."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rag_checks
from rag_checks import datasets
from rag_checks.datasets import lens
from rag_checks.datasets.shapes import SHAPES
from rag_checks.errors import ConfigError, SourceError

SAMPLES = Path(__file__).parent / "data" / "datasets"
TOOLS = ("ragas", "deepeval", "langsmith")
FILES = ("ragas.jsonl", "deepeval.json", "deepeval_api.json", "langsmith.jsonl")


def rows_in(path: Path) -> list[Any]:
    """The rows of a JSON or JSONL file, as they stand there."""
    text = path.read_text("utf-8")
    return json.loads(text) if path.suffix == ".json" else [json.loads(line) for line in text.splitlines()]


def canonical(value: Any) -> str:
    """Text that tells 1, 1.0 and true apart."""
    return json.dumps(value, sort_keys=True)


def shape_of_file(name: str) -> str:
    """Which tool a sample is of."""
    return name.partition(".")[0].partition("_")[0]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
NAMES = {
    "ragas": ["user_input", "response", "reference", "retrieved_contexts", "rubrics", "rag_checks", "extra"],
    "deepeval": [
        *["input", "actual_output", "actualOutput", "retrieval_context", "tools_called", "name", "context"],
        *["toolsCalled", "additional_metadata", "expected_output", "comments", "extra"],
    ],
    "langsmith": ["id", "inputs", "outputs", "reference_outputs", "metadata", "split", "extra"],
}
KEYS = [
    "question",
    "input",
    "answer",
    "contexts",
    "messages",
    "rag_checks",
    "rag_checks_kept",
    "user_input",
    "x",
]
LIKELY = {
    "messages": st.lists(
        st.fixed_dictionaries(
            {"role": st.sampled_from(["user", "ai", "tool"]), "content": st.text(max_size=3)}
        ),
        max_size=3,
    ),
    "calls": st.lists(
        st.dictionaries(st.sampled_from(["name", "input_parameters", "arguments", "output"]), json_values),
        max_size=2,
    ),
}
inner_values = json_values | LIKELY["messages"] | LIKELY["calls"] | st.lists(st.text(max_size=4), max_size=3)
values = inner_values | st.dictionaries(st.sampled_from(KEYS), inner_values, max_size=4)


def rows_of(tool: str) -> "st.SearchStrategy[dict[str, Any]]":
    """Rows that are mostly, but never reliably, what the tool writes."""
    return st.dictionaries(st.sampled_from(NAMES[tool]) | st.text(max_size=3), values, max_size=6)


OURS = [
    *[
        "item_id",
        "user_input",
        "response",
        "reference",
        "retrieved_contexts",
        "reference_contexts",
        "history",
    ],
    *["tags", "tool_calls", "answerable", "department"],
]
our_rows = st.dictionaries(st.sampled_from(OURS), values, max_size=6)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("told", [True, False], ids=["shape told", "shape found"])
def test_a_file_comes_back_as_it_was(tmp_path: Path, name: str, told: bool) -> None:
    """Every key and value of every sample, also those we have no field for."""
    shape = shape_of_file(name)
    rows = datasets.load(SAMPLES / name, shape if told or shape == "ragas" else None)
    written = datasets.dump(rows, tmp_path / name, shape)
    assert rows_in(written) == rows_in(SAMPLES / name)


@pytest.mark.filterwarnings("ignore:1 rows have no user_input")
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("through", [*TOOLS, "native"])
def test_a_file_comes_back_through_every_other_shape(tmp_path: Path, name: str, through: str) -> None:
    """What a shape has no place for travels in its metadata."""
    shape = shape_of_file(name)
    between = tmp_path / "between.jsonl"
    datasets.convert(SAMPLES / name, between, to=through, shape=shape)
    datasets.convert(between, tmp_path / name, to=shape, shape=through)
    assert rows_in(tmp_path / name) == rows_in(SAMPLES / name)


def test_fields_are_ours_whatever_the_tool_calls_them() -> None:
    """The same question in four files has the same fields."""
    for name in FILES:
        first = datasets.load(SAMPLES / name)[0]
        assert first["user_input"]
        assert first["reference"]
    deepeval = datasets.load(SAMPLES / "deepeval.json")[0]
    assert deepeval["item_id"] == "refund-1"
    assert deepeval["retrieved_contexts"] == ["签收后 7 天内可以退货。", "电子发票 24 小时内开具。"]
    assert deepeval["tool_calls"] == [{"name": "search", "arguments": {"query": "退货"}}]
    camel = datasets.load(SAMPLES / "deepeval_api.json")[0]
    assert (camel["response"], camel["retrieved_contexts"]) == (
        "On the 15th.",
        ["Payday is the 15th of each month."],
    )
    assert camel["tool_calls"] == [{"name": "search", "arguments": {"query": "payday"}}]


def test_langsmith_keys_are_the_teams_own() -> None:
    """A known key, the only key, or the last message of a chat is the question; else there is none."""
    named, chat, only, neither = datasets.load(SAMPLES / "langsmith.jsonl")
    assert (named["user_input"], named["reference"]) == ("开票后多久能退货？", "签收后 7 天内。")
    assert named["reference_contexts"] == ["签收后 7 天内可以退货。"]
    assert (chat["user_input"], chat["reference"]) == ("When is payday?", "The 15th.")
    assert [message["role"] for message in chat["history"]] == ["user", "assistant"]
    assert only["user_input"] == "Who leads 教研部?"
    assert "user_input" not in neither


def test_ragas_csv_has_lists_in_pythons_spelling() -> None:
    """`EvaluationDataset.to_csv` writes repr; both kinds of quotes are read."""
    first, second = datasets.load(SAMPLES / "ragas.csv", "ragas")
    assert first["retrieved_contexts"] == ["签收后 7 天内可以退货。", "it's the second"]
    assert second["retrieved_contexts"] == []


def test_ragas_csv_becomes_jsonl_with_lists(tmp_path: Path) -> None:
    """Text that was CSV's way to say a list is not kept as the tool's own."""
    datasets.convert(SAMPLES / "ragas.csv", tmp_path / "a.jsonl", to="ragas", shape="ragas")
    first, second = rows_in(tmp_path / "a.jsonl")
    assert first["retrieved_contexts"] == ["签收后 7 天内可以退货。", "it's the second"]
    assert second["retrieved_contexts"] == []


def test_rows_a_tool_cannot_load_are_told(tmp_path: Path) -> None:
    """DeepEval's Golden needs an input; the rows are written all the same."""
    with pytest.warns(
        UserWarning, match="1 rows have no user_input, the first is row 4: deepeval cannot load"
    ):
        datasets.convert(SAMPLES / "langsmith.jsonl", tmp_path / "a.json", to="deepeval")
    assert len(rows_in(tmp_path / "a.json")) == 4


def test_loaded_rows_are_graded_as_they_are() -> None:
    """No step between `load` and `evaluate`."""
    experiment = rag_checks.evaluate(
        datasets.load(SAMPLES / "ragas.jsonl"), metrics=["answer_correctness", "hit_rate"]
    )
    assert experiment.summary()["answer_correctness"].n_ok == 3
    assert experiment.summary()["hit_rate"].n_ok == 1


@pytest.mark.parametrize("tool", TOOLS)
@settings(deadline=None)
@given(data=st.data())
def test_any_row_of_a_tool_comes_back(tool: str, data: st.DataObject) -> None:
    """write(read(row)) is the row, for rows of any keys and types."""
    row = data.draw(rows_of(tool))
    before = canonical(row)
    assert canonical(lens.write(lens.read(row, SHAPES[tool]), SHAPES[tool])) == before
    assert canonical(row) == before


@pytest.mark.parametrize("tool", TOOLS)
@settings(deadline=None)
@given(row=our_rows)
def test_any_row_of_ours_comes_back(tool: str, row: dict[str, Any]) -> None:
    """read(write(row)) is the row, with columns no tool knows."""
    assert canonical(lens.read(lens.write(row, SHAPES[tool]), SHAPES[tool])) == canonical(row)


@pytest.mark.parametrize("between", TOOLS)
@pytest.mark.parametrize("tool", TOOLS)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_any_row_comes_back_through_another_tools_shape(tool: str, between: str, data: st.DataObject) -> None:
    """Tool → ours → other tool → ours → tool."""
    row = data.draw(rows_of(tool))
    through = lens.write(lens.read(row, SHAPES[tool]), SHAPES[between])
    back = lens.write(lens.read(through, SHAPES[between]), SHAPES[tool])
    assert canonical(back) == canonical(row)


def test_a_changed_field_is_written_and_the_rest_kept() -> None:
    """What was remembered of the old value gives way; unknown keys stay."""
    rows = datasets.load(SAMPLES / "deepeval.json")
    row = copy.deepcopy(rows[0])
    row["reference"] = "七天"
    row["retrieved_contexts"] = ["新"]
    written = lens.write(row, SHAPES["deepeval"])
    was = rows_in(SAMPLES / "deepeval.json")[0]
    assert written == was | {"expected_output": "七天", "retrieval_context": ["新"]}
    example = datasets.load(SAMPLES / "langsmith.jsonl")[0]
    example["user_input"] = "退货期限？"
    assert lens.write(example, SHAPES["langsmith"])["inputs"] == {"question": "退货期限？", "channel": "web"}


def test_a_lone_surrogate_is_written_as_json_escapes_it(tmp_path: Path) -> None:
    """Models' JSON has them, and UTF-8 cannot say them."""
    written = datasets.dump([{"user_input": "\ud83d 年"}], tmp_path / "a.jsonl", "ragas")
    assert rows_in(written) == [{"user_input": "\ud83d 年"}]


def test_what_is_no_single_question_is_named_by_line(tmp_path: Path) -> None:
    """Conversations of both tools, in one message each."""
    path = tmp_path / "turns.jsonl"
    path.write_text('{"user_input": "a"}\n{"user_input": [{"type": "human", "content": "a"}]}\n', "utf-8")
    with pytest.raises(SourceError, match=r"turns.jsonl:2: user_input: a list of messages"):
        datasets.load(path, "ragas")
    path.write_text('{"scenario": "a", "turns": []}\n', "utf-8")
    with pytest.raises(SourceError, match=r"turns.jsonl:1: scenario: a conversational golden"):
        datasets.load(path)


def test_wrong_names_and_files_say_what_is_right(tmp_path: Path) -> None:
    """Shape, kind of file and missing file."""
    with pytest.raises(
        ConfigError, match="unknown shape 'trulens'; known: native, ragas, deepeval, langsmith"
    ):
        datasets.load(SAMPLES / "ragas.jsonl", "trulens")
    with pytest.raises(ConfigError, match=r"a\.csv: ends in neither"):
        datasets.dump([], tmp_path / "a.csv", "ragas")
    with pytest.raises(SourceError, match="no such file"):
        datasets.load(tmp_path / "none.jsonl")
