"""An environment of its own for each tool, in `.bench/` of the checkout, from its pinned requirements."""

import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

HERE = Path(__file__).parent
CACHE = HERE.parents[1] / ".bench"


class NotInstalled(Exception):
    """The environment could not be made; the message says why."""


def python_of(tool: str, *, dependencies: bool = True) -> Path:
    """The Python of the tool's environment, made when it is not there or its requirements have changed.

    Args:
        tool: the name of a requirements file beside this one.
        dependencies: also what the packages ask for; False installs only what the file names.

    Raises:
        NotInstalled: no package registry, no room, no such version.
    """
    requirements = HERE / f"{tool}.txt"
    key = sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()[:8]
    folder = CACHE / f"{tool}-{key}"
    python, ready = folder / "bin" / "python", folder / "ready"
    if ready.exists():
        return python
    for old in CACHE.glob(f"{tool}-*"):
        shutil.rmtree(old)
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    exact = [] if dependencies else ["--no-deps"]
    if uv:
        commands = [
            [uv, "venv", "-q", "--python", sys.executable, str(folder)],
            [uv, "pip", "install", "-q", *exact, "--python", str(python), "-r", str(requirements)],
        ]
    else:
        commands = [
            [sys.executable, "-m", "venv", str(folder)],
            [str(python), "-m", "pip", "install", "-q", *exact, "-r", str(requirements)],
        ]
    print(f"installing {requirements.name} into {folder.parent.name}/{folder.name} …", flush=True)
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            said = done.stderr.strip().splitlines() or ["no message"]
            raise NotInstalled(f"{tool} could not be installed: {said[-1]}")
    ready.touch()
    return python
