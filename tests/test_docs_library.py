"""The library's page: every block runs, prints what it says, and its tests pass."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from rag_checks.metrics import REGISTRY

PAGE = (Path(__file__).parent.parent / "docs" / "library.md").read_text("utf-8")
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def without_numbers(text: str) -> str:
    """Words of what is printed: the offline judge may learn, its numbers are not this page's matter."""
    return re.sub(r"[─\s]+", " ", re.sub(r"[+-]?\d+(\.\d+)?(e-\d+)?", "0", text)).strip()


def test_every_block_runs_and_prints_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Top to bottom, in one folder, as somebody would who tries the page."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAG_CHECKS_HOME", str(tmp_path / "home"))
    namespace: dict[str, object] = {"__name__": "library_page"}
    printed, blocks = "", BLOCK.findall(PAGE)
    try:
        for kind, body in blocks:
            if kind == "python":
                exec(compile(body, "docs/library.md", "exec"), namespace)
                printed = capsys.readouterr().out
            else:
                assert without_numbers(printed) == without_numbers(body)
    finally:
        REGISTRY.pop("short", None)
    assert len(blocks) >= 12
    assert (tmp_path / "out" / "report.html").is_file()


def test_the_pages_pytest_example_passes(tmp_path: Path) -> None:
    """With the bot of the block before it, in a pytest of its own."""
    python = [body for kind, body in BLOCK.findall(PAGE) if kind == "python"]
    (bot,) = [body for body in python if "async def bot" in body]
    (tests,) = [body for body in python if "def test_" in body]
    (tmp_path / "test_bot.py").write_text(bot.partition("questions = ")[0] + "\n\n" + tests, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(Path(__file__).parent.parent)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout
    assert (
        '<testsuite name="faithfulness" tests="1" failures="0"' in (tmp_path / "out" / "rag.xml").read_text()
    )
