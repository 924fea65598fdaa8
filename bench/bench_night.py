"""Where the time of one demo night goes: seconds per step, and items a second through the offline judge.

    python bench/bench_night.py [--history 20]

The demo bot's logs are written and the nights before are run first, off the clock: deciding reads them.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from datetime import time as clock
from pathlib import Path
from typing import Any

from results import Result, tell

from rag_checks.demo import timeline
from rag_checks.pipeline.decide import check
from rag_checks.pipeline.deliver import alert, report
from rag_checks.pipeline.grade import evaluate_shard, reconcile
from rag_checks.pipeline.plan import plan_night
from rag_checks.pipeline.run import run_night
from rag_checks.settings import Settings


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--history", type=int, default=timeline.NIGHTS - 1, help="nights before this one")
    parser.add_argument("--json", type=Path, help="write the results there as well")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return tell(measure(Path(folder), options.history), options.json)


def measure(home: Path, history: int) -> list[Result]:
    """Seconds of every step of the shown night, after `history` nights."""
    monitors = Path(__file__).parent.parent / "dags" / "monitors"
    settings = Settings.from_env({"RAG_CHECKS_HOME": str(home), "RAG_CHECKS_MONITORS": str(monitors)})
    timeline.prepare(home / "demo", defect=True)
    monitor = settings.monitor(timeline.MONITOR)
    morning = datetime.combine(timeline.SHOWN_NIGHT + timedelta(days=1), clock(2), tzinfo=monitor.zone)
    for back in range(history, 0, -1):
        night = timeline.SHOWN_NIGHT - timedelta(days=back)
        timeline.deploy(home / "demo", night, defect=True)
        run_night(monitor, settings, night, with_report=False, wanted_alert="no", now=morning)
    timeline.deploy(home / "demo", timeline.SHOWN_NIGHT, defect=True)

    steps: list[tuple[str, float]] = []

    def step(name: str, work: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        done = work()
        steps.append((name, time.perf_counter() - start))
        return done

    planned = step("plan", lambda: plan_night(monitor, settings, timeline.SHOWN_NIGHT, now=morning))
    run_id = planned.eval_run_id
    outcome = step("grade (offline judge)", lambda: evaluate_shard(monitor, settings, run_id))
    step("reconcile", lambda: reconcile(monitor, settings, run_id))
    step("decide", lambda: check(monitor, settings, run_id))
    step("report", lambda: report(monitor, settings, run_id))
    step("alert (printed)", lambda: alert(monitor, settings, run_id, now=morning))
    results = [Result(name, f"{seconds:.2f} s") for name, seconds in steps]
    results.append(Result("the night", f"{sum(seconds for _, seconds in steps):.2f} s"))
    results.append(
        Result("graded a second", f"{outcome.graded / dict(steps)['grade (offline judge)']:.0f} items")
    )
    return results


if __name__ == "__main__":
    sys.exit(main())
