"""What lies behind a score, ready to show: the evidence of every metric as lines with a verdict and a reason.

What a metric of tomorrow puts into its evidence is shown too: unknown lists as lines, other values as facts.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag_checks.records import Language, Score
from rag_checks.reports.words import NAMES, name, word

# Shown beside the passages themselves.
_ELSEWHERE = {("context_precision", "contexts")}


@dataclass(frozen=True)
class Line:
    """One judged thing: `holds` is the verdict (None: none was given), `note` the reason or a number."""

    holds: bool | None
    text: str
    note: str


@dataclass(frozen=True)
class Part:
    """A titled list of lines."""

    title: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Detail:
    """The evidence of one score: short facts and lists."""

    facts: tuple[tuple[str, str], ...]
    parts: tuple[Part, ...]


def detail(score: Score, language: Language) -> Detail:
    """The evidence of a score in the reader's language; empty when it has none."""
    facts: list[tuple[str, str]] = []
    parts: list[Part] = []
    for key, value in score.evidence.items():
        if (score.metric, key) in _ELSEWHERE or value in (None, [], {}):
            continue
        title = _title(score.metric, key, language)
        if isinstance(value, list) and all(isinstance(entry, Mapping) for entry in value):
            lines = (_line(key, place, entry, language) for place, entry in enumerate(value, start=1))
            parts.append(Part(title, tuple(lines)))
        else:
            facts.append((title, _plain(value, language)))
    return Detail(tuple(facts), tuple(parts))


def usefulness(scores: Sequence[Score]) -> dict[int, tuple[bool, str]]:
    """Rank (1-based) of a retrieved passage → whether it was found useful, and why."""
    precision = next((s for s in scores if s.metric == "context_precision"), None)
    rows = precision.evidence.get("contexts", []) if precision else []
    return {
        row["id"]: (row["useful"], row.get("reason", "")) for row in rows if "id" in row and "useful" in row
    }


def _title(metric: str, key: str, language: Language) -> str:
    own = f"{metric}.{key}"
    return name("evidence", own if own in NAMES["evidence"] else key, language)


def _line(key: str, place: int, entry: Mapping[str, Any], language: Language) -> Line:
    if "claim" in entry:
        return Line(entry.get("supported"), str(entry["claim"]), str(entry.get("reason", "")))
    if "point" in entry:
        return Line(entry.get("met"), str(entry["point"]), str(entry.get("reason", "")))
    if "question" in entry:
        return Line(None, str(entry["question"]), _plain(entry.get("similarity"), language))
    if key == "gold":
        rank = entry.get("rank")
        return Line(
            rank is not None,
            str(entry.get("id") or "") or word("gold_passage", language).format(n=place),
            word("not_retrieved", language) if rank is None else word("rank", language).format(n=rank),
        )
    return Line(None, _plain(dict(entry), language), "")


def _plain(value: Any, language: Language) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return word("true" if value else "false", language)
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
