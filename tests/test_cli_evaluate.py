"""`rag-checks evaluate FILE` as people type it."""

import json
from pathlib import Path

import pytest
from cli_fixtures import CommandLine, command_line
from fake_openai import FakeOpenAI
from workspace import write_jsonl

QUESTIONS = [
    ("年假有几天", "年假有15天。", "15天", True),
    ("张伟是哪个部门的", "张伟是财务部的。", "教研部", False),
    ("When is payday?", "The 15th of each month.", "The 15th of each month", True),
    ("Who approves expenses?", "The weather is nice today.", "The team lead", False),
]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> CommandLine:
    """A command line with nothing configured."""
    return command_line(capsys, monkeypatch, tmp_path)


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    """Answers with gold strings in a column of its own and people's labels."""
    path = tmp_path / "answers.jsonl"
    fields = ("question", "answer", "gold", "label")
    write_jsonl(path, [dict(zip(fields, row, strict=True)) for row in QUESTIONS])
    return path


def test_a_labelled_file_is_graded_with_agreement(cli: CommandLine, labelled: Path) -> None:
    """Means with coverage and the agreement with people, without a key and without a store."""
    said = cli("evaluate", labelled, "--map", "reference=gold", "--labels", "label", code=0)
    assert "Agreement with people" in said.out
    assert "4/4" in said.out
    assert said.err == ""
    assert not (labelled.parent / "home").exists()


def test_json_holds_numbers_and_nothing_else_is_printed(cli: CommandLine, labelled: Path) -> None:
    """Agreement is an object of numbers; options in any order, the metric by name."""
    said = cli(
        *("evaluate", "--json", "--labels", "label", "--metrics", "answer_correctness", "--limit", "3"),
        *("--map", "reference=gold", labelled),
        code=0,
    )
    result = json.loads(said.out)
    assert [row["metric"] for row in result["metrics"]] == ["answer_correctness"]
    assert (result["cases"], result["unreadable"], result["labelled"], result["error"]) == (3, 0, 3, None)
    found = result["agreements"]["answer_correctness"]
    assert (found["n"], found["accuracy"]) == (3, 1.0)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--map", "reference"), "FIELD=COLUMN"),
        (("--map", "=gold"), "FIELD=COLUMN"),
        (("--map", "refrence=gold"), "did you mean 'reference'"),
        (("--map", "reference=golden"), "no row has the column 'golden'"),
        (("--metrics", "answer_corectness"), "did you mean 'answer_correctness'"),
        (("--labels", "labels"), "no row has the column 'labels'"),
        (("--labels", "gold"), "no true/false label"),
        (("--judge", "some-model"), "OPENAI_API_KEY"),
        (("--limit", "0"), "--limit"),
        (("--limit", "many"), "--limit"),
        (("--output", "/dev/null/x.jsonl"), "/dev/null/x.jsonl"),
    ],
)
def test_a_wrong_option_is_named_with_the_fix(
    cli: CommandLine, labelled: Path, args: tuple[str, ...], says: str
) -> None:
    """A person must act: exit code 2, nothing on stdout."""
    said = cli("evaluate", labelled, *args, code=2)
    assert says in " ".join(said.err.split())
    assert said.out == ""


@pytest.mark.parametrize("name", ["nosuch.jsonl", ".", "empty.jsonl"])
def test_a_file_that_is_none_ends_with_2(cli: CommandLine, tmp_path: Path, name: str) -> None:
    """Missing, a folder, empty."""
    (tmp_path / "empty.jsonl").touch()
    said = cli("evaluate", tmp_path / name, code=2)
    assert said.err.startswith(f"error: {tmp_path / name}: ")
    assert said.out == ""


def test_markup_in_a_file_is_text(cli: CommandLine, tmp_path: Path) -> None:
    """Square brackets of somebody's file are printed, not obeyed."""
    path = tmp_path / "[red]x.jsonl"
    row = {"question": "[/bold] q", "answer": "[link=x]a", "label": "[/red]"}
    write_jsonl(path, [{**row, "label": True}, row])
    said = cli("evaluate", path, "--labels", "label", code=0)
    assert "'[/red]' is not true/false" in said.out


def test_a_judge_without_quota_shows_what_was_graded_and_the_rest_is_paid_later(
    cli: CommandLine, labelled: Path
) -> None:
    """Rows graded before count, the others failed, somebody must act; then only those are asked."""
    write_jsonl(labelled, [{"question": f"{n}?", "answer": f"It is {n}."} for n in range(30)])
    args = ("evaluate", labelled, "--judge", "judge-1", "--metrics", "answer_rate", "--json")
    with FakeOpenAI() as judge:
        cli.use(OPENAI_BASE_URL=judge.url, OPENAI_API_KEY="test")
        judge.state.faults = lambda number, _body: "quota" if number >= 8 else None
        said = cli(*args, code=2)
        (row,) = json.loads(said.out)["metrics"]
        graded = row["n_ok"]
        assert 0 < graded <= 8
        assert (graded + row["n_failed"], row["n_total"]) == (30, 30)
        assert "quota" in said.err
        judge.reset()
        (row,) = json.loads(cli(*args, code=0).out)["metrics"]
        assert row["n_ok"] == 30
        assert len(judge.state.requests) == 30 - graded


RUBRIC = """\
name: tone
version: 1
title: {en: Tone}
stage: generation
needs: [response]
question: {en: "Is the answer polite?"}
scale: yes_no
"""


def test_a_rubric_of_ones_own_is_graded_beside_what_is_named(
    cli: CommandLine, labelled: Path, tmp_path: Path
) -> None:
    """By file, with the shipped ones by name; agreement with people is printed; a mistake ends with 2."""
    rubric = tmp_path / "tone.yaml"
    rubric.write_text(RUBRIC, encoding="utf-8")
    args = ("evaluate", labelled, "--rubric", rubric, "--labels", "label", "--json")
    with FakeOpenAI() as judge:
        cli.use(OPENAI_BASE_URL=judge.url, OPENAI_API_KEY="test")
        said = cli(*args, "--judge", "judge-1", "--metrics", "answers_the_question", code=0)
        assert len(judge.state.requests) == 8
    result = json.loads(said.out)
    assert [(row["metric"], row["n_ok"]) for row in result["metrics"]] == [
        ("answers_the_question", 4),
        ("tone", 4),
    ]
    assert set(result["agreements"]) == {"answers_the_question", "tone"}
    rubric.write_text(RUBRIC.replace("scale:", "scales:"), encoding="utf-8")
    assert "tone.yaml:7: scales: unknown key" in cli(*args, code=2).err


def test_a_rubric_without_a_model_says_why_it_has_no_value(cli: CommandLine, labelled: Path) -> None:
    """The offline judge is the default, and a dash explains nothing."""
    said = cli("evaluate", labelled, "--metrics", "answers_the_question,answer_rate", code=0)
    assert "answers_the_question: applies to no row: " in said.out
    assert "answer_rate: " not in said.out
