"""The wheel: complete, and good for everything that needs neither Airflow nor the `monitor` extra."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest
from workspace import make_workspace, write_jsonl

import rag_checks

ROOT = Path(__file__).parent.parent
INSTALL_S, COMMAND_S = 300, 60


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as a release would build it."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=INSTALL_S)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def light(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`bin` of an empty environment with the wheel and what it asks for, nothing else."""
    folder = tmp_path_factory.mktemp("light") / "venv"
    python = str(folder / "bin" / "python")
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if uv:
        steps = [
            [uv, "venv", "-q", "--python", sys.executable, str(folder)],
            [uv, "pip", "install", "-q", "--python", python],
        ]
    else:
        steps = [[sys.executable, "-m", "venv", str(folder)], [python, "-m", "pip", "install", "-q"]]
    steps[-1] += [str(wheel), "-c", str(ROOT / "constraints.txt")]
    for step in steps:
        done = subprocess.run(step, check=False, capture_output=True, text=True, timeout=INSTALL_S)
        assert done.returncode == 0, done.stderr
    return folder / "bin"


def run(light: Path, folder: Path, *arguments: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    """The installed command outside the checkout, with nothing of this process's environment."""
    names = {"PATH": os.defpath, "HOME": str(folder), "LANG": "C.UTF-8", "COLUMNS": "160", **environ}
    command = [str(light / "rag-checks"), *arguments]
    return subprocess.run(
        command, check=False, cwd=folder, env=names, capture_output=True, text=True, timeout=COMMAND_S
    )


def test_the_wheel_holds_every_file_of_the_package_and_none_beside_it(wheel: Path) -> None:
    """Prompts, templates, migrations, the offline model and the handbook travel; tests and DAGs do not."""
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    here = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "rag_checks").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert inside == here


def test_the_wheel_names_its_version_licence_and_python(wheel: Path) -> None:
    """What an index and an installer read of it."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = HeaderParser().parsestr(archive.read(name).decode("utf-8"))
        assert name.replace("METADATA", "licenses/LICENSE") in archive.namelist()
    assert metadata["Version"] == rag_checks.__version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert set(metadata.get_all("Provides-Extra")) == set(extras)


def test_the_light_install_brings_nothing_heavy(light: Path) -> None:
    """What the extras are for stays out, whoever might have asked for it."""
    (packages,) = light.parent.glob("lib/python*/site-packages")
    installed = {path.name for path in packages.iterdir()}
    assert "rag_checks" in installed
    heavy = {
        "airflow",
        "great_expectations",
        "matplotlib",
        "numpy",
        "pandas",
        "pyarrow",
        "slack_sdk",
        "jinja2",
    }
    assert not installed & heavy


def test_it_says_its_version(light: Path, tmp_path: Path) -> None:
    """The first thing a bug report asks for."""
    done = run(light, tmp_path, "--version")
    assert (done.returncode, done.stdout) == (0, f"rag-checks {rag_checks.__version__}\n")


def test_doctor_runs_where_nothing_is_set_up(light: Path, tmp_path: Path) -> None:
    """No monitor file is a hint, not a fault."""
    done = run(light, tmp_path, "doctor", "--json")
    assert done.returncode == 0, done.stderr
    assert {check["subject"]: check["state"] for check in json.loads(done.stdout)} == {
        "store": "ok",
        "monitors": "note",
    }


def test_doctor_checks_a_monitor_and_says_what_a_night_lacks(light: Path, tmp_path: Path) -> None:
    """Sources, golden set, judge and bot are looked at; the missing extra and Slack's package are named."""
    space = make_workspace(tmp_path / "toy")
    names = {"RAG_CHECKS_MONITORS": str(space.folder), "SLACK_BOT_TOKEN": "xoxb-none"}
    done = run(light, tmp_path, "doctor", "--json", **names)
    checks = {check["subject"]: check for check in json.loads(done.stdout)}
    assert done.returncode == 1, done.stderr
    assert [name for name, check in checks.items() if check["state"] == "bad"] == [
        "installation",
        "toy: Slack",
    ]
    assert {checks[name]["fix"] for name in ("installation", "toy: Slack")} == {
        "pip install 'rag-checks[monitor]'"
    }
    assert checks["toy: bot"]["detail"].startswith("answered")
    assert checks["toy: golden set"]["detail"] == "version 1, 7 items"


def test_evaluate_grades_a_file_offline(light: Path, tmp_path: Path) -> None:
    """A right and a wrong answer in each language get scores in the right order."""
    rows = [
        {
            "question": "张伟是哪个部门的",
            "answer": answer,
            "reference": "张伟是教研部的",
            "contexts": ["张伟 教研部"],
        }
        for answer in ("张伟是教研部的", "张伟是财务部的")
    ]
    rows += [
        {
            "question": "When is payday?",
            "answer": answer,
            "reference": "Payday is the 15th.",
            "contexts": [fact],
        }
        for fact in ["Payday is the 15th of each month."]
        for answer in ("Payday is the 15th.", "Payday is the last Friday.")
    ]
    write_jsonl(tmp_path / "answers.jsonl", rows)
    done = run(
        light,
        tmp_path,
        "evaluate",
        "answers.jsonl",
        "--metrics",
        "answer_correctness,faithfulness",
        "-o",
        "scores.jsonl",
    )
    assert done.returncode == 0, done.stderr
    assert "answer_correctness" in done.stdout
    scores = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text("utf-8").splitlines()]
    assert {score["status"] for score in scores} == {"ok"}
    for metric in ("answer_correctness", "faithfulness"):
        values = [score["value"] for score in scores if score["metric"] == metric]
        assert values[0] > values[1]
        assert values[2] > values[3]
    assert not (tmp_path / ".rag-checks").exists()


def test_the_library_grades_in_a_script(light: Path, tmp_path: Path) -> None:
    """Lists, a bot and a summary need nothing more; what needs more says what to install."""
    script = """
import rag_checks
rows = [{"question": "年假有几天", "ground_truth": "年假有15天。"}]
experiment = rag_checks.evaluate(rows, lambda question: "年假有15天。", metrics=["answer_correctness"])
print(experiment.summary()["answer_correctness"].n_ok)
experiment.to_csv("scores.csv")
experiment.save("store.db")
assert rag_checks.Experiment.load("experiment", "store.db") == experiment
rag_checks.datasets.dump(rows, "goldens.json", "deepeval")
for needs_more in (experiment.to_pandas, lambda: experiment.report("a.html")):
    try:
        needs_more()
    except rag_checks.errors.ConfigError as error:
        print(error)
"""
    (tmp_path / "script.py").write_text(script, "utf-8")
    done = subprocess.run(
        [str(light / "python"), "script.py"],
        check=False,
        cwd=tmp_path,
        env={"PATH": os.defpath, "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=COMMAND_S,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "1",
        "to_pandas needs pandas; run: pip install pandas",
        "the report needs jinja2; run: pip install 'rag-checks[monitor]'",
    ]


def test_the_store_is_made_and_its_state_told(light: Path, tmp_path: Path) -> None:
    """Migrations travel in the wheel: an empty store is not this version's, an upgraded one is."""
    empty = run(light, tmp_path, "db", "status")
    assert (empty.returncode, empty.stdout.startswith("schema empty")) == (2, True)
    upgraded = run(light, tmp_path, "db", "upgrade")
    assert upgraded.returncode == 0, upgraded.stderr
    assert upgraded.stdout.startswith("schema empty →")
    assert run(light, tmp_path, "db", "status").returncode == 0


def test_config_commands_work(light: Path, tmp_path: Path) -> None:
    """The schema for editors, and the check of a monitor file."""
    schema = run(light, tmp_path, "config", "schema")
    assert schema.returncode == 0, schema.stderr
    assert "conversations" in json.loads(schema.stdout)["properties"]
    space = make_workspace(tmp_path / "toy")
    checked = run(light, tmp_path, "config", "check", str(space.monitor_file))
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize(
    "arguments", [("run", "toy"), ("report", "toy"), ("demo", "history"), ("demo", "show")], ids=" ".join
)
def test_commands_that_need_more_say_so_before_they_begin(
    light: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    """One line with the command to run, exit code 2, nothing written."""
    done = run(light, tmp_path, *arguments)
    assert done.returncode == 2
    assert "pip install 'rag-checks[monitor]'" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
