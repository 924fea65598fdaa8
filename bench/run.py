"""Run every bench, each in a process of its own, and end with one table.

    python bench/run.py [--quick]

Exit code 1 when a target is missed. Wall times mean little on a busy machine: the load is printed below.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from results import Result
from rich import box
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
# Bench and what makes it quick.
BENCHES = {
    "bench_sampling": ["--n", "100000"],
    "bench_judge": ["--items", "100"],
    "bench_offline": ["--items", "500"],
    "bench_parse": ["--repeat", "1"],
    "bench_night": ["--history", "3"],
    "bench_peers": ["--items", "10"],
}


def main() -> int:
    """Run, print, compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small inputs, to see that all of them work")
    options = parser.parse_args()
    table = Table(box=box.SIMPLE_HEAD, title="Benches")
    for column in ("bench", "what", "target", "measured", "met?"):
        table.add_column(column, justify="right" if column == "measured" else "left")
    failed = False
    for name, quick in BENCHES.items():
        print(f"── {name}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            to = Path(folder) / "results.json"
            command = [sys.executable, str(HERE / f"{name}.py"), "--json", str(to)]
            done = subprocess.run([*command, *(quick if options.quick else [])], check=False)
            results = [Result(**one) for one in json.loads(to.read_text("utf-8"))] if to.exists() else []
        failed |= done.returncode != 0
        for result in results or [Result("did not finish", f"exit code {done.returncode}", met=False)]:
            mark = {True: "[green]yes[/]", False: "[red]no[/]", None: ""}[result.met]
            table.add_row(name.removeprefix("bench_"), result.what, result.target, result.measured, mark)
    table.caption = f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs"
    Console(width=110).print(table)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
