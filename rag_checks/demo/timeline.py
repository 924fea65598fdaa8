"""The demo's three weeks: when release 2 was deployed, and a folder in which a monitor can watch the bot."""

import json
from datetime import date, timedelta
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from rag_checks.demo.chunking import RELEASE_1, RELEASE_2
from rag_checks.demo.logs import write_logs

MONITOR = "employee_help"
SEED = "rag-checks-demo"
FIRST_NIGHT = date(2026, 10, 5)  # a Monday
NIGHTS = 21
SHOWN_NIGHT = FIRST_NIGHT + timedelta(days=NIGHTS - 1)
# The shown night is the second one with the defect: 19 healthy nights before it are enough for a baseline.
DEPLOY_NIGHT = SHOWN_NIGHT - timedelta(days=1)
# The monitor file as shipped finds its data under this prefix; `prepare` writes a copy that does not need it.
_HOME_PREFIX = "${RAG_CHECKS_HOME}/demo/"
_DEPLOYED = "deployed.json"


class Demo(NamedTuple):
    """What `prepare` wrote."""

    monitor_file: Path
    golden_file: Path
    deployed_file: Path
    conversation_files: tuple[Path, ...]


def deployed_on(night: date, *, defect: bool = True) -> str:
    """The release that answered on a local day of the timeline."""
    return RELEASE_2 if defect and night >= DEPLOY_NIGHT else RELEASE_1


def deploy(home: Path, night: date, *, defect: bool = True) -> Path:
    """Write `deployed.json` so that the bot, asked now, answers as on that night; returns its path."""
    path = home / _DEPLOYED
    content = json.dumps({"release": deployed_on(night, defect=defect), "night": night.isoformat()})
    path.write_text(content + "\n", encoding="utf-8")
    return path


def prepare(home: Path, *, defect: bool = True) -> Demo:
    """Write all the demo's monitor needs into a folder: conversations, golden set, deployment, monitor file.

    Args:
        home: The folder; made when it is not there, files of an earlier demo in it are replaced.
        defect: False: release 2 is never deployed, so a monitor must stay quiet.

    Returns:
        The paths; `deployed.json` stands at the shown night.
    """
    home = home.resolve()
    conversations = home / "conversations"
    written = write_logs(
        conversations,
        seed=SEED,
        first_night=FIRST_NIGHT,
        nights=NIGHTS,
        deploy_night=DEPLOY_NIGHT if defect else None,
    )
    golden = home / "golden.jsonl"
    golden.write_bytes((files("rag_checks.demo") / "golden.jsonl").read_bytes())
    deployed = deploy(home, SHOWN_NIGHT, defect=defect)
    monitor = home / f"{MONITOR}.yaml"
    monitor.write_text(monitor_text(home), encoding="utf-8")
    return Demo(monitor, golden, deployed, tuple(written))


def monitor_text(home: Path | None = None) -> str:
    """The monitor file: as shipped, or with the paths of a demo folder it lies in.

    Paths the monitor reads become relative to the file; the bot's own `deployed` becomes absolute, because a
    bot does not know where the monitor file is.
    """
    shipped = (files("rag_checks.demo") / f"{MONITOR}.yaml").read_text(encoding="utf-8")
    if home is None:
        return shipped
    deployed = json.dumps(str(home / _DEPLOYED), ensure_ascii=False)
    return shipped.replace(f'"{_HOME_PREFIX}{_DEPLOYED}"', deployed).replace(_HOME_PREFIX, "")
