"""scripts/airflow-env.sh: what every Airflow process of this checkout is started with."""

import os
import subprocess
import sys
from pathlib import Path

from sqlalchemy import create_engine, text

SCRIPT = Path(__file__).parent.parent / "scripts" / "airflow-env.sh"
KEPT_WRITING_S = 30
"""A scheduler on a busy machine was seen to keep the metadata database longer than SQLite's 5 s."""


def sourced(home: Path, name: str) -> str:
    """A variable as the script leaves it."""
    program = f'source "$0" && printf %s "${name}"'
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environ = {**os.environ, "AIRFLOW_HOME": str(home), "PATH": path}
    return subprocess.check_output(["bash", "-euc", program, str(SCRIPT)], env=environ, text=True)


def test_a_second_writer_of_the_metadata_database_waits(tmp_path: Path) -> None:
    """Scheduler, API and commands share one SQLite file: a lock is waited for, not an error."""
    engine = create_engine(sourced(tmp_path, "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"))
    with engine.connect() as connection:
        waits_ms = connection.execute(text("PRAGMA busy_timeout")).scalar_one()
        [(_, _, file)] = connection.execute(text("PRAGMA database_list")).all()
    assert waits_ms >= KEPT_WRITING_S * 1000
    assert Path(file) == tmp_path / "airflow.db"


def test_secrets_are_made_once(tmp_path: Path) -> None:
    """Two processes of one home sign and read each other's logins; nobody else may read the file."""
    assert sourced(tmp_path, "AIRFLOW__API__SECRET_KEY") == sourced(tmp_path, "AIRFLOW__API__SECRET_KEY")
    assert (tmp_path / "secrets.env").stat().st_mode & 0o077 == 0
