"""Runs a tool's passes in its own environment and prints their cost as a JSON line. Standard library only.

    python drive_TOOL.py '{"url": …, "items": 100, "latency": 0.2, "concurrency": 64, "passes": [{…}]}'

A pass: `name`, `night` (which answers), `fault_rate`, `shipped` (errors are handled as the tool does when
nothing is set; otherwise each failure is kept from the others). CPU is that of this process, from the first
call to the last score; imports and a warm-up of two items come before.
"""

import json
import math
import os
import resource
import socket
import sys
import time
import urllib.request
from collections.abc import Callable
from typing import Any

from items import items

CORE = ("answer_correctness", "answer_relevancy", "faithfulness", "context_precision", "context_recall")
Scores = dict[str, list[Any]]

# Usage reporting would slow the tools that do it, and nothing of a bench should leave the machine.
for variable in (
    "RAGAS_DO_NOT_TRACK=true",
    "DEEPEVAL_TELEMETRY_OPT_OUT=YES",
    "DEEPEVAL_UPDATE_WARNING_OPT_OUT=YES",
    "DEEPEVAL_NO_INSPECT_PROMPT=1",
    "CONFIDENT_OPEN_BROWSER=NO",
    "DO_NOT_TRACK=true",
    "LANGSMITH_TRACING=false",
    "TQDM_DISABLE=1",
    "OPENAI_API_KEY=unused",
):
    os.environ.setdefault(*variable.split("=", 1))
for proxy in ("http_proxy", "https_proxy", "all_proxy"):  # they cost some clients an SSL context a call
    os.environ.pop(proxy, None)
    os.environ.pop(proxy.upper(), None)
_resolve = socket.getaddrinfo


def _resolve_loopback(host: Any, *args: Any, **options: Any) -> Any:
    if host not in {"127.0.0.1", "localhost", None}:
        raise socket.gaierror(-2, f"the bench stays on this machine: {host}")
    return _resolve(host, *args, **options)


def post(url: str, payload: dict[str, Any]) -> dict[str, Any]:
    """A control request to the fake judge."""
    request = urllib.request.Request(url, json.dumps(payload).encode(), method="POST")
    with urllib.request.urlopen(request, timeout=10) as reply:
        return json.load(reply)


def cpu_s() -> float:
    """CPU seconds of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def plain(score: Any) -> float | None:
    """A score as JSON can hold it: None for what is none."""
    if isinstance(score, bool) or not isinstance(score, int | float) or math.isnan(score):
        return None
    return float(score)


def main(version: str, run: Callable[[list[dict[str, Any]], dict[str, Any], dict[str, Any]], Scores]) -> None:
    """Run the passes of the job in argv.

    Args:
        version: the tool's name and version.
        run: (items, job, pass) → metric → a score an item, in their order.
    """
    socket.getaddrinfo = _resolve_loopback
    job = json.loads(sys.argv[1])
    base = job["url"].removesuffix("/v1")
    printed, sys.stdout = sys.stdout, sys.stderr  # tools print tables and progress of their own
    # Lazy imports and first connections are paid once, not per call.
    post(f"{base}/__config", {})
    run(items(2, night=-1), job, {"name": "warm-up"})
    done = []
    for one in job["passes"]:
        graded = items(job["items"], night=one.get("night", 0))
        post(f"{base}/__config", {"latency": job["latency"], "fault_rate": one.get("fault_rate", 0.0)})
        load, cpu, wall = os.getloadavg()[0], cpu_s(), time.perf_counter()
        scores, raised = None, None
        try:
            scores = run(graded, job, one)
        except Exception as error:  # noqa: BLE001 - whatever it is, the tool lost the whole run: that is the finding
            raised = f"{type(error).__name__}: {error}"[:200]
        cost = {"wall_s": time.perf_counter() - wall, "cpu_s": cpu_s() - cpu, "load": load}
        kept = scores and {name: [plain(score) for score in column] for name, column in scores.items()}
        done.append(one | cost | {"raised": raised, "scores": kept, "server": post(f"{base}/__stats", {})})
    print(json.dumps({"tool": version, "passes": done}), file=printed, flush=True)
    os._exit(0)  # background threads of the tools would hold the process
