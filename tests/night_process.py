"""One night in a process of its own that can be made to die: `night_process.py SPEC_JSON`.

SPEC: monitor (path), environ, night, and optionally `die_at` (start of a step's text) or `die_after` (cases
graded). Dying is SIGKILL: no handler, no clean-up, as when a machine goes.
"""

import json
import os
import signal
import sys
from datetime import date, datetime

from rag_checks.pipeline import use_cases as pipeline


def main() -> None:
    """Run the night as told."""
    spec = json.loads(sys.argv[1])
    os.environ.update(spec["environ"])
    settings = pipeline.Settings.from_env()
    monitor = settings.monitor(spec["monitor"])

    def step(text: str) -> None:
        if spec.get("die_at") and text.startswith(spec["die_at"]):
            os.kill(os.getpid(), signal.SIGKILL)

    def progress(done: int, _total: int) -> None:
        if done == spec.get("die_after"):
            os.kill(os.getpid(), signal.SIGKILL)

    now = datetime.fromisoformat(spec["now"])
    pipeline.run_night(
        monitor, settings, date.fromisoformat(spec["night"]), now=now, step=step, progress=progress
    )


if __name__ == "__main__":
    main()
