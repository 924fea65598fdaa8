"""How long Airflow waits for each DAG file, and a person for `rag-checks evaluate` to begin.

    python bench/bench_parse.py [--repeat 3]

Airflow parses every DAG file again and again. Each is loaded in a fresh process, with the demo monitor; what
it imports from Airflow is imported before the clock starts. Target: under 2 s a file. `evaluate` imports what
the light install brings; target: under 0.5 s of CPU, as other processes lengthen wall time. Medians count.
"""

import argparse
import ast
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from statistics import median

from results import Result, tell

ROOT = Path(__file__).parent.parent
DAGS = ROOT / "dags"
MOST_S, MOST_LIGHT_S = 2.0, 0.5
LIGHT = """
import time
start = time.process_time()
import rag_checks.cli, rag_checks.terminal, rag_checks.pipeline.files
print(time.process_time() - start)
"""


def load(path: Path) -> dict[str, float]:
    """Load one DAG file in this process: seconds for Airflow's part, then for the file."""
    sys.path.insert(0, str(DAGS))
    start = time.perf_counter()
    for file in DAGS.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "airflow":
                module = importlib.import_module(node.module)
                for alias in node.names:  # airflow.sdk imports its parts when they are asked for
                    getattr(module, alias.name)
    ready = time.perf_counter()
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(module_from_spec(spec))
    return {"airflow": ready - start, "file": time.perf_counter() - ready}


def in_fresh_process(path: Path, home: Path) -> dict[str, float]:
    """`load` in a process and an Airflow home of its own."""
    environ = {
        **os.environ,
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "RAG_CHECKS_HOME": str(home / "rag-checks"),
        "RAG_CHECKS_MONITORS": str(DAGS / "monitors"),
    }
    command = [sys.executable, __file__, "--load", str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environ)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write the results there as well")
    parser.add_argument("--load", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.load:
        print(json.dumps(load(options.load)))
        return 0
    results = []
    airflow = []
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(DAGS.glob("rag_*.py")):
            if path.stem.endswith("_support"):
                continue  # imported by the others
            runs = [in_fresh_process(path, Path(folder)) for _ in range(options.repeat)]
            seconds = median(run["file"] for run in runs)
            airflow += [run["airflow"] for run in runs]
            results.append(Result(path.name, f"{seconds:.2f} s", f"under {MOST_S:.0f} s", seconds < MOST_S))
    light = median(
        float(subprocess.run([sys.executable, "-c", LIGHT], check=True, capture_output=True).stdout)
        for _ in range(options.repeat)
    )
    results.append(
        Result("imports of evaluate, CPU", f"{light:.2f} s", f"under {MOST_LIGHT_S} s", light < MOST_LIGHT_S)
    )
    results.append(Result("Airflow's own import", f"{median(airflow):.2f} s"))
    return tell(results, options.json)


if __name__ == "__main__":
    sys.exit(main())
