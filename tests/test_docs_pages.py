"""The pages together: links lead somewhere, commands exist, lists are complete."""

import ast
import re
from pathlib import Path

import pytest
import typer
from typer.main import get_command

from rag_checks import cli
from rag_checks.records import Level
from rag_checks.settings import Settings
from rag_checks.store import tables
from rag_checks.verdicts.causes import CAUSES

ROOT = Path(__file__).parent.parent
PAGES = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "CONTRIBUTING.md"])
TEXT = {page.name: page.read_text(encoding="utf-8") for page in PAGES}


def anchor(heading: str) -> str:
    """A heading as GitHub links to it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def table_keys(text: str) -> set[str]:
    """What stands in code at the start of table rows."""
    return set(re.findall(r"^\| `([^`]+)`", text, re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_pages_and_headings_that_exist(page: Path) -> None:
    """No reader at 7 a.m. meets a dead link."""
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", TEXT[page.name]):
        path, _, fragment = target.partition("#")
        linked = (page.parent / path) if path else page
        assert linked.is_file(), target
        headings = re.findall(r"^#+ (.+)$", linked.read_text(encoding="utf-8"), re.MULTILINE)
        assert not fragment or fragment in map(anchor, headings), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_options_exist(page: Path) -> None:
    """Every `rag-checks …` a page prints is a command of today, with options of today."""
    for line in re.findall(r"rag-checks ([a-z][^\n`\x22]*)", TEXT[page.name]):
        command: object = get_command(cli.app)
        words = re.split(r"\s*(?:#|&&|>>?)\s*", line)[0].split()
        while words and isinstance(command, typer.core.TyperGroup):
            if words[0] not in command.commands:
                break
            command = command.commands[words.pop(0)]
        assert isinstance(command, typer.core.TyperCommand), line
        known = {name for option in command.params for name in [*option.opts, *option.secondary_opts]}
        given = {word for word in words if re.fullmatch(r"-o|--[a-z][a-z-]*", word)}
        assert given <= known, line


def test_every_command_is_mentioned() -> None:
    """A command nobody reads of is not there for anybody."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    everything = "\n".join([*TEXT.values(), readme])
    for group, app in (("", cli.app), ("config ", cli.config_app), ("db ", cli.db_app)):
        for registered in app.registered_commands:
            name = registered.name or registered.callback.__name__
            assert f"rag-checks {group}{name}" in everything


def test_exit_codes_levels_and_causes_are_all_explained() -> None:
    """Tables that people look things up in are complete."""
    operations, statistics = TEXT["operations.md"], TEXT["statistics.md"]
    codes = operations.split("## Exit codes", 1)[1]
    found = {int(code) for code in re.findall(r"^\| (\d) \|", codes, re.MULTILINE)}
    assert found == {0, cli.EXIT_QUALITY, cli.EXIT_FIX, cli.EXIT_LATER}
    levels = {level.value for level in Level}
    assert levels <= table_keys(operations)
    assert levels <= table_keys(statistics)
    rows = re.findall(r"^\| `(\w+)`", statistics, re.MULTILINE)
    assert [key for key in rows if key in CAUSES] == list(CAUSES)
    for key, cause in CAUSES.items():
        assert f"| `{key}` | {cause.stage} |" in statistics


def test_numbers_of_the_verdict_are_those_of_the_code() -> None:
    """Critical values that are printed are the ones in force."""
    from rag_checks.verdicts import course, history, shifts, standing  # noqa: PLC0415 - only this test reads them

    text = TEXT["statistics.md"].replace("−", "-")
    for value in (course.ALL.fail_z, course.CELL.fail_z, course.CELL.watch_z, course.TARGET_FAIL_Z):
        assert f"{value:g}" in text
    assert ", ".join(map(str, course.WINDOWS[:-1])) + f" and {course.WINDOWS[-1]} nights" in text
    assert f"{shifts.NIGHT_EFFECT_FLOOR**0.5:.3f}" in text
    assert (standing.MINIMUM_BASELINE, history.JUDGE_CHANGE_HOLD, course.RECENT) == (3, 2, 3)


def test_every_table_of_the_store_has_its_key_explained() -> None:
    """Natural keys are what makes a night repeatable."""
    text = TEXT["architecture.md"].split("## The store's natural keys", 1)[1]
    rows = re.findall(r"^\| (`.+?) \|", text, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert set(tables.metadata.tables) <= named


def test_the_layers_drawn_are_the_layers_checked() -> None:
    """The picture follows pyproject.toml, top to bottom."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    contract = project.split("layers = [", 1)[1].split("]", 1)[0]
    layers = [line.replace("|", "│") for line in re.findall(r'"(.+?)"', contract)]
    drawing = TEXT["architecture.md"].split("## A night", 1)[0]
    places = [re.search(rf"^    {re.escape(layer)}(  |$)", drawing, re.MULTILINE) for layer in layers]
    assert None not in places
    starts = [place.start() for place in places if place]
    assert starts == sorted(starts)


def test_variables_and_connections_are_explained() -> None:
    """Every RAG_CHECKS_ variable and every Airflow connection that code reads stands in a page."""
    everything = "\n".join(TEXT.values())
    sources = [*(ROOT / "dags").glob("*.py"), *(ROOT / "rag_checks").rglob("*.py")]
    code = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    names = {*re.findall(r"RAG_CHECKS_[A-Z_]+", code), *re.findall(r'"(rag_checks_[a-z0-9]+)": \{', code)}
    assert {name for name in names if name not in everything} == set()
    assert Settings.from_env({}).monitors == Path("dags/monitors")


def test_code_in_contributing_is_python() -> None:
    """Worked examples parse, and their imports are there."""
    blocks = re.findall(r"```python\n(.*?)```", TEXT["CONTRIBUTING.md"], re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        tree = ast.parse(block)
        for node in tree.body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                exec(compile(ast.Module([node], []), "CONTRIBUTING.md", "exec"), {})


def test_no_page_holds_a_gap_to_be_filled() -> None:
    """Numbers that were to be measured have been."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    assert [page.name for page in pages if "@@" in page.read_text(encoding="utf-8")] == []
