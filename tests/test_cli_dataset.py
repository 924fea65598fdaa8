"""`rag-checks dataset convert`."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rag_checks.cli import EXIT_FIX, app, main

SAMPLE = Path(__file__).parent / "data" / "datasets" / "deepeval.json"


def test_a_file_is_converted_and_counted(tmp_path: Path) -> None:
    """From the shape that is found to the one that is named."""
    target = tmp_path / "ragas.jsonl"
    done = CliRunner().invoke(app, ["dataset", "convert", str(SAMPLE), str(target), "--to", "ragas"])
    assert (done.exit_code, done.stdout) == (0, f"{target}: 2 rows\n")
    rows = [json.loads(line) for line in target.read_text("utf-8").splitlines()]
    assert rows[0]["user_input"] == "开票后多久能退货？"
    assert rows[1]["reference"] == "The 15th."


def test_an_unknown_shape_is_one_line_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And nothing is written."""
    with pytest.raises(SystemExit) as ended:
        main(["dataset", "convert", str(SAMPLE), str(tmp_path / "a.json"), "--to", "trulens"])
    assert ended.value.code == EXIT_FIX
    assert "unknown shape 'trulens'; known: native, ragas, deepeval, langsmith" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
