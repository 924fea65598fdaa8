"""Meet a real model server once: grade a few items with a small local model through our client.

    python bench/smoke_llm.py [--show]

llama.cpp's own server with SmolLM2 (135 million parameters) runs in an environment of its own (`.bench/`), on
one thread. It proves the protocol, never quality: such a model judges at random. Exit code 1 unless
structured output was found, each metric has a score with its status and a reply had the form asked for.
"""

import argparse
import asyncio
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "peers"))

from environments import NotInstalled, python_of  # noqa: E402 - the path comes first
from results import Result, tell  # noqa: E402

from rag_checks import metrics as registry  # noqa: E402
from rag_checks.evaluation import evaluate, not_graded  # noqa: E402
from rag_checks.judge.client import OpenAIJudge  # noqa: E402
from rag_checks.judge.offline import OfflineJudge  # noqa: E402
from rag_checks.monitor import OpenAIJudge as Settings  # noqa: E402
from rag_checks.records import Case, EvalItem, Language, Response, Score, ScoreStatus  # noqa: E402

METRICS = ("answer_correctness", "answer_relevancy", "faithfulness", "context_precision", "context_recall")
DEADLINE_S = 75
# A model of this size copies the prompt's examples, repeats itself and invents ids; what it writes differs
# between processors. Two or three replies of a dozen are right, and one shows that the way is open.
LEAST_VALIDATED = 1
# Language, question, answer, reference, passages.
ITEMS: list[tuple[Language, str, str, str | None, tuple[str, str]]] = [
    (
        "en",
        "When is the canteen open?",
        "The canteen opens at nine. It closes at six.",
        "It is open from nine to six. It is closed on Sunday.",
        ("The canteen is open from nine to six.", "The canteen is closed on Sunday."),
    ),
    ("zh", "食堂几点开门？", "食堂九点开门。", None, ("食堂九点开门，六点关门。", "周日休息。")),
    (
        "en",
        "Where is the canteen?",
        "It is on the second floor.",
        None,
        ("The canteen is on the second floor.", "The library is on the third floor."),
    ),
]


class Replies:
    """A cache of replies: only what has the form asked for comes here."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, Any]] = {}

    def get(self, key: str) -> dict[str, Any] | None:
        """A kept reply."""
        return self.kept.get(key)

    def put(self, key: str, reply: dict[str, Any]) -> None:
        """Keep one."""
        self.kept[key] = reply


class Memory:
    """Keeps the scores."""

    def __init__(self) -> None:
        self.scores: list[Score] = []

    def save_response(self, *_nothing: object) -> None:
        """Nothing is asked live."""

    def save_scores(self, scores: list[Score]) -> None:
        """Keep them."""
        self.scores += scores


def case(number: int) -> Case:
    """One item as a case."""
    language, question, answer, reference, passages = ITEMS[number]
    return Case(
        case_id=f"golden:{number}",
        source="golden",
        language=language,
        item=EvalItem(item_id=str(number), user_input=question, reference=reference),
        response=Response(response=answer, retrieved_contexts=passages),
    )


async def grade(url: str, replies: Replies) -> tuple[OpenAIJudge, list[Score]]:
    """The judge after grading, and a score for every metric of every item."""
    config = Settings(
        kind="openai", model="smollm2", base_url=url, max_tokens=96, timeout_s=60, concurrency=2
    )
    judge = OpenAIJudge(config, cache=replies, similarity=OfflineJudge().similarity)
    cases = [case(number) for number in range(len(ITEMS))]
    metrics = [registry.get(name) for name in METRICS]
    memory = Memory()
    try:
        outcome = await evaluate(
            "smoke",
            cases,
            metrics=metrics,
            judge=judge,
            bot=None,
            sink=memory,
            scored={},
            concurrency=len(cases),  # all languages are met, however slow the machine
            deadline_s=DEADLINE_S,
        )
    finally:
        await judge.close()
    have = {(score.case_id, score.metric) for score in memory.scores}
    memory.scores += [
        not_graded("smoke", one, metric, outcome.problem)
        for one in cases
        for metric in metrics
        if (one.case_id, metric.name) not in have
    ]
    return judge, memory.scores


def main() -> int:
    """Serve, grade, print; 0 when the protocol holds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--show", action="store_true", help="print every score with its reason and evidence")
    options = parser.parse_args()
    try:
        python = python_of("llm", dependencies=False)
    except NotInstalled as problem:
        sys.exit(str(problem))
    command = [str(python), str(HERE / "peers" / "llm_server.py")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            replies, start = Replies(), time.perf_counter()
            judge, scores = asyncio.run(grade(url, replies))
            seconds = time.perf_counter() - start
        finally:
            server.terminate()
    if options.show:
        for score in scores:
            print(score.case_id, score.metric, score.status, score.value, score.reason, score.evidence)
    return tell(results(judge, scores, len(replies.kept), seconds), None)


def results(judge: OpenAIJudge, scores: list[Score], validated: int, seconds: float) -> list[Result]:
    """What was found."""
    statuses = Counter(score.status for score in scores)
    wanted = len(ITEMS) * len(METRICS)
    honest = all((score.value is not None) is (score.status is ScoreStatus.OK) for score in scores)
    able, usage = judge.capabilities, judge.usage
    rung = able.structured_output if able else "none"
    enough = validated >= LEAST_VALIDATED
    return [
        Result("structured output found", rung, "json_schema", rung == "json_schema"),
        Result("calls, repairs included", str(usage.calls)),
        Result("prompt + reply tokens", f"{usage.prompt_tokens} + {usage.completion_tokens}"),
        Result("reply tokens a second, all in all", f"{usage.completion_tokens / seconds:.1f}"),
        Result("replies of the form asked for", str(validated), f"at least {LEAST_VALIDATED}", enough),
        Result("scores", str(len(scores)), str(wanted), len(scores) == wanted),
        *(Result(f"  {status}", str(count)) for status, count in statuses.items()),
        Result("a value exactly where it is ok", "yes" if honest else "no", "yes", honest),
        Result("seconds", f"{seconds:.0f}"),
    ]


if __name__ == "__main__":
    sys.exit(main())
