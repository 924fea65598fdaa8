"""How a bench tells its results: printed for people, and as JSON for the table of all of them."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Result:
    """One number with what it should be; `met` is None where there is no target."""

    what: str
    measured: str
    target: str = ""
    met: bool | None = None


def tell(results: list[Result], to: Path | None) -> int:
    """Print the results, write them as JSON for `run.py` when it asked; 0 when no target is missed."""
    for result in results:
        verdict = {True: "met", False: "MISSED", None: ""}[result.met]
        print(f"{result.what:34}{result.measured:>14}  {result.target:24}{verdict}".rstrip())
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
    if to is not None:
        to.write_text(json.dumps([asdict(result) for result in results]), encoding="utf-8")
    return int(any(result.met is False for result in results))
