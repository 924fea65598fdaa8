#!/usr/bin/env python3
"""Run a command with SMOKE_DATABASE and SMOKE_DATABASE_ASYNC naming a PostgreSQL that is gone afterwards."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from postgres_server import start_postgres


def main() -> int:
    """Start the server, run, stop it; the command's exit code."""
    with tempfile.TemporaryDirectory() as folder:
        url, stop = start_postgres(Path(folder))
        names = {"SMOKE_DATABASE": "postgresql+psycopg", "SMOKE_DATABASE_ASYNC": "postgresql+psycopg_async"}
        environ = {name: url.replace("postgresql", driver, 1) for name, driver in names.items()}
        try:
            return subprocess.run(sys.argv[1:], env={**os.environ, **environ}, check=False).returncode
        finally:
            stop()


if __name__ == "__main__":
    sys.exit(main())
