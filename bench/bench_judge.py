"""What the judge client costs: N items x four tasks against a fake endpoint of 200 ms, 64 calls in flight.

    python bench/bench_judge.py [--items 400] [--latency 0.2] [--concurrency 64]

The endpoint (tests/fake_openai.py) is a process of its own. Prints calls, prompt tokens an item, CPU of this
process a call (all of it: prompts, cache keys, HTTP, parsing) and the wall time as a share of the ideal,
calls x latency / concurrency. Imports and the probe are paid before the clock starts, once a run; opening 64
connections is on the clock. Exit code 1 when a target is missed; the wall time needs a quiet machine.
"""

import argparse
import asyncio
import resource
import subprocess
import sys
import time
from pathlib import Path
from random import Random

from results import Result, tell

from rag_checks import monitor
from rag_checks.evaluation import cases_at_once
from rag_checks.judge.client import OpenAIJudge
from rag_checks.protocols import JudgeReply, JudgeRequest, Task

FAKE = Path(__file__).parent.parent / "tests" / "fake_openai.py"
MOST_CPU_MS = 2.5
LEAST_WALL_SHARE = 0.9
MOST_TOKENS = 5000

_EN = "the travel desk pays each claim for meals within ten days when a manager has signed the portal form"
_ZH = "差旅部在主管于门户网站签字确认表单后十天内支付每一笔餐费报销并通知员工本人查收款项"


def text(rng: Random, language: str, length: int) -> str:
    """Sentences of `length` words (en) or characters (zh)."""
    units = [rng.choice(_EN.split() if language == "en" else _ZH) for _ in range(length)]
    step = 14 if language == "en" else 22
    parts = [units[start : start + step] for start in range(0, length, step)]
    if language == "en":
        return " ".join(" ".join(part).capitalize() + "." for part in parts)
    return "".join("".join(part) + "。" for part in parts)


def item(number: int) -> dict[str, object]:
    """An item of the size that the peers were measured with: 5 contexts of 158 words or 256 characters."""
    rng = Random(number)
    language = "en" if number % 2 == 0 else "zh"
    words = (20, 158, 87, 45) if language == "en" else (40, 256, 136, 75)
    return {
        "language": language,
        "question": text(rng, language, words[0]),
        "contexts": [text(rng, language, words[1]) for _ in range(5)],
        "answer": text(rng, language, words[2]),
        "reference": text(rng, language, words[3]),
    }


async def grade(judge: OpenAIJudge, one: dict[str, object]) -> list[JudgeReply]:
    """The four tasks of one item: both texts taken apart at once, then checked and compared at once."""

    def ask(task: Task, **inputs: object) -> asyncio.Task[JudgeReply]:
        inputs["question"] = one["question"]
        request = JudgeRequest(task=task, language=one["language"], inputs=inputs)
        return asyncio.ensure_future(judge.ask(request))

    texts = {"answer": one["answer"], "reference": one["reference"]}
    first = await asyncio.gather(
        ask(Task.ANALYSE_ANSWER, answer=one["answer"]),
        ask(Task.ANALYSE_REFERENCE, reference=one["reference"]),
    )
    claims = {"answer_claims": first[0].output.claims, "reference_claims": first[1].output.claims}
    second = await asyncio.gather(
        ask(Task.CHECK_CONTEXTS, contexts=one["contexts"], rate_contexts=True, **texts, **claims),
        ask(Task.COMPARE_CLAIMS, **texts, **claims),
    )
    return [*first, *second]


def cpu_s() -> float:
    """CPU seconds of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def run(url: str, items: list[dict[str, object]], concurrency: int) -> tuple[float, float, int, int]:
    """CPU and wall seconds, calls and prompt tokens of all items."""
    settings = monitor.OpenAIJudge(kind="openai", model="fake", base_url=url, concurrency=concurrency)
    judge = OpenAIJudge(settings)
    await grade(judge, item(-1))  # imports, connections and the probe are paid once, not per call
    cpu, wall = cpu_s(), time.perf_counter()
    replies: list[JudgeReply] = []
    queue = iter(items)

    async def work() -> None:
        for one in queue:
            replies.extend(await grade(judge, one))

    await asyncio.gather(*(work() for _ in range(cases_at_once(concurrency))))
    cpu, wall = cpu_s() - cpu, time.perf_counter() - wall
    await judge.close()
    return cpu, wall, sum(r.usage.calls for r in replies), sum(r.usage.prompt_tokens for r in replies)


def main() -> int:
    """Measure and print; 0 when the targets are met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, default=400)
    parser.add_argument("--latency", type=float, default=0.2, help="seconds a call takes")
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--json", type=Path, help="write the results there as well")
    args = parser.parse_args()
    items = [item(number) for number in range(args.items)]
    command = [sys.executable, str(FAKE), "--latency", str(args.latency)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
            cpu, wall, calls, tokens = asyncio.run(run(url, items, args.concurrency))
        finally:
            server.terminate()
    ideal = calls * args.latency / args.concurrency
    cpu_ms, share, per_item = cpu * 1000 / calls, ideal / wall, tokens / args.items
    at = f"{args.latency * 1000:.0f} ms, {args.concurrency} in flight"
    results = [
        Result("judge calls an item", f"{calls / args.items:.2f}"),
        Result("prompt tokens an item", f"{per_item:.0f}", f"at most {MOST_TOKENS}", per_item <= MOST_TOKENS),
        Result("CPU a call", f"{cpu_ms:.2f} ms", f"at most {MOST_CPU_MS} ms", cpu_ms <= MOST_CPU_MS),
        Result(f"wall time, {at}", f"{wall:.2f} s", f"ideal {ideal:.2f} s"),
        Result(
            "share of ideal wall time",
            f"{share:.0%}",
            f"at least {LEAST_WALL_SHARE:.0%}",
            share >= LEAST_WALL_SHARE,
        ),
    ]
    return tell(results, args.json)


if __name__ == "__main__":
    sys.exit(main())
