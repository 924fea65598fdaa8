"""RAG Checks, ragas and DeepEval on the same work: the same items, the same endpoint of 200 ms, one run.

    python bench/bench_peers.py [--repeats 3] [--items 100] [--save FILE]

Five metrics (answer correctness and relevancy, faithfulness, context precision and recall) on items with five
passages each. Each peer runs in an environment of its own (`.bench/`, made from `bench/peers/*.txt`), set up
as its pages say; the endpoint (`bench/peers/fake_judge.py`) is one process for all of them and has no model:
calls, tokens, times and what happens to bad replies are real, the scores mean nothing. Then 10 % of the calls
fail, in every way a judge fails. Exit code 1 when RAG Checks misses a target.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "peers"))

from environments import NotInstalled, python_of  # noqa: E402 - the path comes first
from figures import Tool, print_tables, results  # noqa: E402
from results import tell  # noqa: E402

IN_FLIGHT, LATENCY_S, FAULT_RATE = 64, 0.2, 0.1
PEERS = {"ragas": "ragas", "deepeval": "DeepEval"}
OURS = [
    {"name": "first", "store": "nights"},
    {"name": "later", "store": "nights", "night": 1},
    {"name": "unchanged", "store": "nights", "night": 1},
    {"name": "embeddings", "embeddings": True},
]
FAULTS = [
    {"name": "faults as shipped", "fault_rate": FAULT_RATE, "shipped": True},
    {"name": "faults isolated", "fault_rate": FAULT_RATE},
]


def main() -> int:
    """Install, measure, print; 0 when the targets are met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=1, help="of the runs without faults")
    parser.add_argument("--save", type=Path, help="write every pass with its scores there, as JSON")
    parser.add_argument("--json", type=Path, help="write the results there as well")
    options = parser.parse_args()
    pythons, missing = {"ours": Path(sys.executable)}, {}
    for peer, name in PEERS.items():
        try:
            pythons[peer] = python_of(peer)
        except NotInstalled as problem:
            missing[name] = str(problem)
            print(f"{name} is NOT measured: {problem}", flush=True)
    passes = measure(pythons, options.items, options.repeats)
    if options.save:
        options.save.write_text(json.dumps(passes, ensure_ascii=False), encoding="utf-8")
    tools = {key: Tool(told["tool"], told["passes"], options.items) for key, told in passes.items()}
    print_tables(tools, in_flight=IN_FLIGHT, latency_s=LATENCY_S)
    if options.repeats == 1:
        print("Each measured once; `make bench-peers` measures three times and shows the spread.")
    return tell(results(tools, missing), options.json)


def measure(pythons: dict[str, Path], items: int, repeats: int) -> dict[str, dict]:
    """All passes of all tools; the tools take turns, so that a busy minute does not hit one of them only."""
    done: dict[str, dict] = {}
    command = [sys.executable, str(HERE / "peers" / "fake_judge.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
            for repeat in range(repeats):
                for tool, python in pythons.items():
                    passes = list(OURS) if tool == "ours" else [{"name": "first"}]
                    if repeat == 0:
                        passes += FAULTS[1:] if tool == "ours" else FAULTS
                    job = {"url": url, "items": items, "latency": LATENCY_S, "concurrency": IN_FLIGHT}
                    told = drive(tool, python, job | {"passes": passes})
                    done.setdefault(tool, told | {"passes": []})["passes"] += told["passes"]
        finally:
            server.terminate()
    return done


def drive(tool: str, python: Path, job: dict) -> dict:
    """What a tool's driver says of its passes; its own output is shown only when it breaks."""
    print(f"{tool}: {', '.join(one['name'] for one in job['passes'])} …", flush=True)
    command = [str(python), str(HERE / "peers" / f"drive_{tool}.py"), json.dumps(job)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{done.stderr[-3000:]}\n{tool} did not finish: exit code {done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    sys.exit(main())
