"""`rag-checks` as a process: clean streams, no traceback, several at once."""

import json
import os
import subprocess
import sys
from pathlib import Path

from cli_fixtures import without_progress
from workspace import NIGHT, Workspace, make_workspace

from rag_checks.pipeline import use_cases as pipeline
from rag_checks.store import Store

ROOT = Path(__file__).parent.parent
CLI = [sys.executable, "-c", "from rag_checks.cli import main; main()"]


def start(space: Workspace | None, *args: str, code: str | None = None) -> subprocess.Popen[str]:
    """Begin a command; with `code`, that instead of the command."""
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    if space is not None:
        environ |= {
            "RAG_CHECKS_HOME": str(space.settings.home),
            "RAG_CHECKS_MONITORS": str(space.folder),
            "RAG_CHECKS_STORE": space.settings.store_url,
        }
    command = [sys.executable, "-c", code] if code else [*CLI, *args]
    return subprocess.Popen(
        command, env=environ, text=True, encoding="utf-8", stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def test_two_runs_of_one_night_at_once_end_as_one(tmp_path: Path) -> None:
    """Cron and a person start the same night: both processes end well, rows and message exist once."""
    changes = {"targets": []}  # Great Expectations takes seconds to import in each process
    alone = make_workspace(tmp_path / "alone", changes=changes)
    shared = make_workspace(tmp_path / "shared", changes=changes)
    together = [
        start(shared, "run", "toy", "--night", NIGHT.isoformat(), "--ask-bot", "--json") for _ in range(2)
    ]
    run = pipeline.run_night(alone.monitor, alone.settings, NIGHT, with_report=False).run
    with Store.open(alone.settings.store_url) as store:
        expected = [verdict.model_dump(mode="json") for verdict in store.verdicts(run.eval_run_id)]
    for process in together:
        out, err = process.communicate(timeout=180)
        assert (process.returncode, without_progress(err)) == (0, "")
        assert json.loads(out)["verdicts"] == expected
    with Store.open(shared.settings.store_url) as store:
        assert len(store.messages()) == 1
    assert shared.rows()["scores"] == alone.rows()["scores"]


def test_a_reader_that_stops_reading_gets_no_traceback(tmp_path: Path) -> None:
    """`rag-checks config schema | head -1` closes the pipe early."""
    process = start(None, "config", "schema")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == ""
    process.wait(timeout=60)


def test_help_and_a_file_need_nothing_of_the_monitor_install() -> None:
    """The light path loads no pandas, no plotting, no Great Expectations and, offline, no openai."""
    code = (
        "import contextlib, io, sys\n"
        "from rag_checks.cli import main\n"
        "commands = ['evaluate --help', 'evaluate /dev/null', 'config schema', 'db status']\n"
        "for args in map(str.split, commands):\n"
        "    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
        "        main(args)\n"
        "heavy = {'pandas', 'matplotlib', 'great_expectations', 'openai', 'pyarrow', 'boto3', 'airflow'}\n"
        "print(sorted(heavy & sys.modules.keys()))\n"
    )
    out, err = start(None, code=code).communicate(timeout=60)
    assert out == "[]\n", err
