"""docs/metrics.md: complete, and what it says of each metric is what the registry says."""

import asyncio
import re
from pathlib import Path

import pytest

from rag_checks import metrics
from rag_checks.judge.offline import OfflineJudge
from rag_checks.metrics import Description, grade_case
from rag_checks.metrics.rubrics import shipped_rubrics
from rag_checks.protocols import Task
from rag_checks.records import Case, EvalItem, Response, ScoreStatus

PAGE = (Path(__file__).parent.parent / "docs" / "metrics.md").read_text(encoding="utf-8")
ALL = metrics.describe()


def section(title: str) -> str:
    """The text below a heading, up to the next of its rank."""
    return re.split(r"^## ", PAGE.split(f"## {title}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def table(title: str) -> list[list[str]]:
    """The rows of the first table of a section, without its head."""
    lines = [line for line in section(title).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def row_of(entry: Description) -> list[str]:
    """A metric's row in the table at a glance."""
    return [
        f"`{entry.name}`",
        entry.version,
        entry.stage,
        ", ".join(need.replace("|", " or ") for need in entry.needs),
        ", ".join(entry.tasks) or "–",
        "yes" if entry.similarity else "no",
    ]


def test_the_table_at_a_glance_is_the_registry() -> None:
    """Names, versions, stages, needs and judge tasks, in the order they are reported."""
    assert table("Metrics at a glance") == [row_of(entry) for entry in ALL]


def test_every_metric_has_a_paragraph_and_a_row_of_empty_cases() -> None:
    """A new metric must be explained, empty cases included."""
    explained = re.findall(r"^### `(\w+)`$", section("Each metric"), re.MULTILINE)
    assert explained == [entry.name for entry in ALL]
    named = [name for row in table("The empty cases") for name in re.findall(r"`(\w+)`", row[0])]
    assert sorted(named) == sorted(entry.name for entry in ALL)


def test_the_tasks_name_the_metrics_that_read_them() -> None:
    """Who shares a call with whom."""
    said = {row[0].strip("`"): row[3].split(", ") for row in table("The judge's tasks")}
    readers = {task.value: [e.name for e in ALL if task.value in e.tasks] for task in Task}
    assert said == readers | {Task.GRADE_RUBRIC.value: ["every rubric"]}


def test_the_table_of_rubrics_is_what_is_shipped() -> None:
    """Titles, version, stage, needs, scale and the rules for empty cases of each."""
    rules = {"zero": "0", "not_applicable": "n/a"}
    assert table("Rubrics") == [
        [
            f"`{rubric.name}`",
            f"{rubric.title.en} {rubric.title.zh}",
            str(rubric.version),
            rubric.stage,
            ", ".join(rubric.needs) or "–",
            rubric.scale,
            ", ".join(
                rules[rubric.when_empty.get(field, "zero")]
                for field in ("response", "retrieved_contexts")
                if field in rubric.needs
            )
            or "–",
            "n/a" if rubric.answerable_only else "=",
        ]
        for rubric in shipped_rubrics()
    ]


def test_every_status_is_explained() -> None:
    """Nothing a score can say is left open."""
    rows = [row[0].strip("`") for row in table("Statuses: missing is never zero")]
    assert rows == [status.value for status in ScoreStatus]


EMPTY_CASES = {
    "answer blank": {"response": "", "retrieved_contexts": ("年假有15天。",)},
    "contexts `[]`": {"response": "年假有15天。", "retrieved_contexts": ()},
}


@pytest.mark.parametrize("column", EMPTY_CASES)
def test_the_rules_for_empty_cases_are_those_that_are_applied(column: str) -> None:
    """Plain 0 and n/a cells of the table come out when a case like that is graded."""
    head = next(line for line in section("The empty cases").splitlines() if line.startswith("| metric"))
    place = [cell.strip() for cell in head.strip("|").split("|")].index(column)
    item = EvalItem(
        item_id="a",
        user_input="年假有几天？",
        reference="年假有15天。",
        reference_contexts=("年假有15天",),
        expected_intent="leave",
        answerable=True,
    )
    case = Case(
        case_id="golden:a",
        source="golden",
        item=item,
        response=Response(intent="leave", **EMPTY_CASES[column]),
        language="zh",
    )
    wanted = [metrics.get(name) for name in metrics.names()]
    scores = {s.metric: s for s in asyncio.run(grade_case("run", case, wanted, OfflineJudge()))}
    for row in table("The empty cases"):
        for name in re.findall(r"`(\w+)`", row[0]):
            if row[place].startswith("0"):
                assert (name, scores[name].value) == (name, 0.0)
            elif row[place] == "n/a":
                assert (name, scores[name].status) == (name, ScoreStatus.NOT_APPLICABLE)
