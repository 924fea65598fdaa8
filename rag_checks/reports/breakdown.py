"""Means by intent: where a metric is low, with the counts behind each mean (P1)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rag_checks.alerts.phrases import URGENCY
from rag_checks.records import GradedCase, Level, ScoreRow, Verdict, score_rows
from rag_checks.verdicts.estimates import Estimate, estimate


class _Place(NamedTuple):
    source: str
    metric: str
    slice: str


@dataclass(frozen=True)
class Cell:
    """One metric of one intent, and the verdict on it when there is one."""

    estimate: Estimate
    verdict: Verdict | None


@dataclass(frozen=True)
class IntentRow:
    """One intent: its cases and its cells by metric."""

    intent: str
    n_cases: int
    cells: Mapping[str, Cell]


@dataclass(frozen=True)
class Breakdown:
    """The intents of one series; metrics that apply to some case of it have a column, troubled ones first."""

    source: str
    metrics: tuple[str, ...]
    rows: tuple[IntentRow, ...]


def breakdowns(graded: Sequence[GradedCase], verdicts: Sequence[Verdict]) -> list[Breakdown]:
    """One table a series that has cases: intents in trouble first, then those with most cases."""
    decided = {_Place(v.source, v.metric, v.slice): v for v in verdicts}
    return [
        _breakdown(source, cases, decided)
        for source in ("golden", "production")
        if (cases := [case for case in graded if case.case.source == source])
    ]


def _breakdown(source: str, graded: Sequence[GradedCase], decided: Mapping[_Place, Verdict]) -> Breakdown:
    groups: dict[str, list[GradedCase]] = {}
    for case in graded:
        groups.setdefault(case.case.intent, []).append(case)
    rows = [
        IntentRow(
            intent,
            len(cases),
            {
                metric: Cell(mean, decided.get(_Place(source, metric, f"intent:{intent}")))
                for metric, mean in _means(cases).items()
            },
        )
        for intent, cases in groups.items()
    ]
    metrics = dict.fromkeys(metric for row in rows for metric in row.cells)
    troubled = {
        metric: _worst(row.cells[metric] for row in rows if metric in row.cells) for metric in metrics
    }
    return Breakdown(
        source, tuple(sorted(metrics, key=troubled.__getitem__)), tuple(sorted(rows, key=_order))
    )


def _means(cases: Sequence[GradedCase]) -> dict[str, Estimate]:
    """The means of the metrics that apply to at least one of the cases."""
    rows: dict[str, list[ScoreRow]] = {}
    for graded in cases:
        for row in score_rows({graded.case.case_id: graded.case}, graded.scores):
            rows.setdefault(row.metric, []).append(row)
    means = {metric: estimate(found) for metric, found in rows.items()}
    return {metric: mean for metric, mean in means.items() if mean.coverage is not None}


def _order(row: IntentRow) -> tuple[int, int, str]:
    return (_worst(row.cells.values()), -row.n_cases, row.intent)


def _worst(cells: Iterable[Cell]) -> int:
    """Place in `URGENCY` of the most urgent verdict."""
    levels = [URGENCY.index(cell.verdict.level) for cell in cells if cell.verdict]
    return min(levels, default=URGENCY.index(Level.OK))
