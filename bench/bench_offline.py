"""How many items a second the offline judge grades, cold: no text was seen before.

    python bench/bench_offline.py [--items 2000]

An item is one answer judged against its reference: claims of both, verdicts both ways, similarity. Target:
1,000 a second on one core. All five core metrics with five contexts, through the product's grading, are
measured as well, without a target. Items are made of the shipped contrast sets, half of them Chinese, with a
mark in every run of Chinese characters or a code of their own, so that no text and no run was seen before;
single English words repeat as they do in life. CPU time counts, as other processes lengthen wall time.
"""

import argparse
import asyncio
import json
import re
import sys
import time
from pathlib import Path
from typing import Any

from results import Result, tell

from rag_checks.judge.offline import OfflineJudge
from rag_checks.metrics import defaults, get
from rag_checks.metrics.grading import grade_case
from rag_checks.protocols import JudgeRequest, Task
from rag_checks.records import Case, EvalItem, Response
from rag_checks.text import language_of

DATA = Path(__file__).parent.parent / "tests" / "data"
LEAST = 1000
CORE = ("faithfulness", "answer_relevancy", "answer_correctness", "context_precision", "context_recall")
HAN = re.compile("[一-鿿]+")
FIELDS = ("question", "reference", "answer")
Row = dict[str, str]


def items(count: int) -> list[Row]:
    """Distinct rows: Chinese and English in turn."""
    sets = [
        [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]
        for name in ("contrast_zh.jsonl", "contrast_en.jsonl")
    ]
    found = []
    for at in range(count):
        rows = sets[at % 2]
        row = rows[at // 2 % len(rows)]
        mark = chr(0x4E00 + at % 5000) + chr(0x4E00 + at // 5000)
        found.append({field: marked(row[field], mark, at) for field in FIELDS})
    return found


def marked(text: str, mark: str, number: int) -> str:
    """The text with a mark in every run of Chinese characters, or with a code in front."""
    return HAN.sub(lambda run: run[0] + mark, text) if HAN.search(text) else f"A{number}: {text}"


async def judge_answers(judge: OfflineJudge, rows: list[Row]) -> None:
    """Each answer against its reference."""
    for row in rows:
        language = language_of(row["question"] + row["answer"])

        async def ask(task: Task, inputs: dict[str, Any], language: Any = language) -> Any:
            return (await judge.ask(JudgeRequest(task=task, language=language, inputs=inputs))).output

        claims = {
            "answer_claims": (await ask(Task.ANALYSE_ANSWER, row)).claims,
            "reference_claims": (await ask(Task.ANALYSE_REFERENCE, row)).claims,
        }
        await ask(Task.COMPARE_CLAIMS, row | claims)
        await judge.similarity([(row["answer"], row["reference"])], language)


async def grade_all(judge: OfflineJudge, rows: list[Row]) -> None:
    """Five metrics of each row, whose contexts are the references of five other rows."""
    metrics = [get(name) for name in CORE]
    for at, row in enumerate(rows):
        contexts = tuple(f"{rows[at - back]['reference']} {at}" for back in range(5))
        case = Case(
            case_id=f"golden:{at}",
            source="golden",
            item=EvalItem(item_id=str(at), user_input=row["question"], reference=row["reference"]),
            response=Response(response=row["answer"], retrieved_contexts=contexts),
            language=language_of(row["question"] + row["answer"]),
        )
        await grade_case("bench", case, metrics, judge)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, default=2000)
    parser.add_argument("--json", type=Path, help="write the results there as well")
    options = parser.parse_args()
    judge = OfflineJudge()
    defaults()
    asyncio.run(
        judge_answers(judge, [{field: f"热身 warm up {field}" for field in FIELDS}])
    )  # dictionary, model
    rows = items(2 * options.items)
    answers, cases = rows[: options.items], rows[options.items :]
    start = time.process_time()
    asyncio.run(judge_answers(judge, answers))
    judged = options.items / (time.process_time() - start)
    start = time.process_time()
    asyncio.run(grade_all(judge, cases))
    graded = options.items / (time.process_time() - start)
    return tell(
        [
            Result(
                "answers against references, cold",
                f"{judged:,.0f} a s",
                f"at least {LEAST:,} a s",
                judged >= LEAST,
            ),
            Result("… five metrics, five contexts", f"{graded:,.0f} a s"),
        ],
        options.json,
    )


if __name__ == "__main__":
    sys.exit(main())
