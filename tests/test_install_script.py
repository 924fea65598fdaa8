"""scripts/install.sh on machines that have, or lack, one thing or another; nothing is downloaded."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "scripts" / "install.sh"
# A project whose build backend lies beside it: pip and uv can install it without an index.
PYPROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "tiny"
version = "1"
[project.optional-dependencies]
dev = []
"""
BACKEND = """
import zipfile

def build_editable(folder, config_settings=None, metadata_directory=None):
    name = "tiny-1-py3-none-any.whl"
    info = "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1\\nProvides-Extra: dev\\n"
    kind = "Wheel-Version: 1.0\\nGenerator: backend\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
    files = {"tiny.py": "", "tiny-1.dist-info/METADATA": info, "tiny-1.dist-info/WHEEL": kind}
    files["tiny-1.dist-info/RECORD"] = "".join(f"{name},,\\n" for name in [*files, "tiny-1.dist-info/RECORD"])
    with zipfile.ZipFile(f"{folder}/{name}", "w") as wheel:
        for place, text in files.items():
            wheel.writestr(place, text)
    return name
"""


class Machine:
    """A checkout of a tiny project, and a PATH with only what the test puts there."""

    def __init__(self, folder: Path) -> None:
        self.checkout = folder / "checkout"
        self.bin = folder / "bin"
        self.checkout.mkdir()
        self.bin.mkdir()
        (self.checkout / "pyproject.toml").write_text(PYPROJECT)
        (self.checkout / "backend.py").write_text(BACKEND)
        (self.checkout / "constraints.txt").write_text("tiny==1\n")
        for tool in ("bash", "cat", "ls", "mkdir", "rm", "sleep", "tail", "env"):
            (self.bin / tool).symlink_to(str(shutil.which(tool)))
        self.program("python3", f'exec {Path(sys.executable).resolve()} "$@"')

    def program(self, name: str, text: str) -> None:
        """Put a shell script on the PATH."""
        path = self.bin / name
        path.write_text(f"#!/usr/bin/env bash\n{text}\n")
        path.chmod(0o755)

    @property
    def venv(self) -> Path:
        return self.checkout / ".venv"

    def install(self, **environ: str) -> "subprocess.CompletedProcess[str]":
        """Run the script as make does; pip has no index to ask."""
        names = {"PATH": str(self.bin), "HOME": str(self.checkout), "PIP_NO_INDEX": "1", **environ}
        return subprocess.run(
            [str(self.bin / "bash"), str(SCRIPT), str(self.venv)],
            check=False,
            cwd=self.checkout,
            env=names,
            capture_output=True,
            text=True,
            timeout=120,
        )

    def has_tiny(self) -> bool:
        """Whether the environment can import the project, and stands where it is looked for."""
        done = subprocess.run(
            [str(self.venv / "bin" / "python"), "-c", "import tiny"], check=False, capture_output=True
        )
        return done.returncode == 0 and str(self.venv) in (self.venv / "bin" / "activate").read_text()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine with Python and without uv."""
    return Machine(tmp_path)


def test_pip_installs_where_uv_is_not_to_be_had_and_trouble_of_every_kind_is_got_over(
    machine: Machine,
) -> None:
    """One life of a checkout: left half made, a failed install, run again, moved, without pip."""
    machine.venv.mkdir()
    (machine.venv / "pyvenv.cfg").touch()
    (machine.checkout / "constraints.txt").write_text("tiny==2\n")
    failed = machine.install()
    assert failed.returncode == 1
    assert "making it anew" in failed.stderr
    assert "as uv is not to be had" in failed.stderr
    assert "No matching distribution" in failed.stderr or "ResolutionImpossible" in failed.stderr
    assert str(machine.venv / "install.log") in failed.stderr

    (machine.venv / "kept").touch()
    (machine.checkout / "constraints.txt").write_text("tiny==1\n")
    again = machine.install()
    assert again.returncode == 0, again.stderr
    assert machine.has_tiny()
    assert (machine.venv / "kept").exists()

    machine.checkout = machine.checkout.rename(machine.checkout.with_name("elsewhere"))
    moved = machine.install()
    assert moved.returncode == 0, moved.stderr
    assert "making it anew" in moved.stderr
    assert machine.has_tiny()
    assert not (machine.venv / "kept").exists()

    # uv makes environments without pip, and may be gone the next time.
    for package in machine.venv.glob("lib/python*/site-packages/pip"):
        shutil.rmtree(package)
    assert machine.install().returncode == 0
    assert machine.has_tiny()


def test_uv_is_used_where_it_is(machine: Machine) -> None:
    """It makes the environment and installs the pinned versions into it; pip is not asked."""
    machine.program(
        "uv",
        'echo "$@" >>"$HOME/uv-calls"\n'
        '[ "$1" = venv ] && exec python3 -m venv --without-pip "$HOME/.venv"\n'
        "exit 0",
    )
    done = machine.install()
    assert done.returncode == 0, done.stderr
    made, installed = (machine.checkout / "uv-calls").read_text().splitlines()
    assert made == f"venv -q --allow-existing --python python3 {machine.venv}"
    python = machine.venv / "bin" / "python"
    assert installed == f"pip install --python {python} -e .[dev] -c constraints.txt"


def test_a_missing_venv_module_is_named_with_the_package_to_install(machine: Machine) -> None:
    """As on a fresh Debian; nothing is left behind that would mislead the next try."""
    python = Path(sys.executable).resolve()
    machine.program("python3", f'[ "$1$2" = -mvenv ] && exit 1\nexec {python} "$@"')
    done = machine.install()
    assert done.returncode == 1
    assert "apt-get install python3-venv" in done.stderr
    assert not machine.venv.exists()


def test_an_old_or_missing_python_is_refused(machine: Machine) -> None:
    """With its version, and how to name another one."""
    machine.program("python3.9", '[ "$1" = --version ] && echo Python 3.9.2 || exit 1')
    old = machine.install(PYTHON="python3.9")
    assert old.returncode == 1
    assert "needs Python 3.11 or newer; python3.9 is Python 3.9.2" in old.stderr
    missing = machine.install(PYTHON="python3.99")
    assert missing.returncode == 1
    assert "There is no python3.99" in missing.stderr


def test_a_folder_that_is_something_else_is_left_alone(machine: Machine) -> None:
    """Only a virtual environment is ever deleted."""
    machine.venv.mkdir()
    (machine.venv / "thesis.txt").touch()
    done = machine.install()
    assert done.returncode == 1
    assert "move it away" in done.stderr
    assert os.listdir(machine.venv) == ["thesis.txt"]  # noqa: PTH208 - names, not paths
