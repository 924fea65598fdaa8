"""The house rules that no linter knows."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TESTS = sorted((ROOT / "tests").glob("test_*.py"))


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_every_test_says_in_a_sentence_what_it_shows(path: Path) -> None:
    """A failing test's docstring is the first thing its reader sees."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    silent = [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and not ast.get_docstring(node)
    ]
    assert silent == []


def test_dag_files_stay_thin() -> None:
    """At most 100 lines each: logic lives in rag_checks.pipeline."""
    lengths = {path.name: len(path.read_text().splitlines()) for path in (ROOT / "dags").glob("*.py")}
    assert [name for name, lines in lengths.items() if lines > 100] == []


def test_constraints_name_no_registry() -> None:
    """The pinned set works with whatever registry a machine uses."""
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert "://" not in text
    assert "--" not in text
