"""The small tables people look at: means with their counts, and differences between experiments."""

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO

from rich import box
from rich.console import Console
from rich.table import Table

_WIDTH = 110


@dataclass(frozen=True)
class MetricSummary:
    """One metric over all items: mean and 95 % interval (None when nothing was scored), counts, coverage.

    `coverage` is the share scored of what applied, n_ok / (n_ok + n_failed).
    """

    metric: str
    mean: float | None
    low: float | None
    high: float | None
    n_ok: int
    n_failed: int
    n_na: int
    n_total: int
    coverage: float | None


@dataclass(frozen=True)
class Summary:
    """One row a metric; `summary["faithfulness"].mean`. Shows itself in a terminal and in a notebook.

    What is shown leaves out metrics that apply to no item; the notes under it name them, with the reason.
    """

    rows: tuple[MetricSummary, ...]
    notes: tuple[str, ...] = ()

    def __getitem__(self, metric: str) -> MetricSummary:
        found = next((row for row in self.rows if row.metric == metric), None)
        if found is None:
            raise KeyError(
                f"{metric!r} was not graded; graded are {', '.join(row.metric for row in self.rows)}"
            )
        return found

    def __iter__(self) -> Iterator[MetricSummary]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return as_text(self._heads(), self._cells(), self.notes)

    def _repr_html_(self) -> str:
        return as_html(self._heads(), self._cells(), self.notes)

    @staticmethod
    def _heads() -> tuple[str, ...]:
        return ("metric", "mean", "95 % interval", "scored", "failed", "n/a", "total", "coverage")

    def _cells(self) -> list[tuple[str, ...]]:
        return [
            (
                row.metric,
                number(row.mean),
                interval(row.low, row.high),
                str(row.n_ok),
                str(row.n_failed),
                str(row.n_na),
                str(row.n_total),
                "–" if row.coverage is None else f"{row.coverage:.0%}",
            )
            for row in self.rows
            if row.n_na < row.n_total or len(self.rows) == 1
        ]


def as_text(heads: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
    """A table for terminals, first column to the left, with notes under it."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    for place, head in enumerate(heads):
        table.add_column(head, justify="right" if place else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    out = StringIO()
    # In a notebook rich would show the table beside the cell's own output and leave this text empty; with
    # FORCE_COLOR set, as notebooks and CI servers do, the text would hold escapes.
    console = Console(
        file=out,
        width=_WIDTH,
        markup=False,
        highlight=False,
        emoji=False,
        force_jupyter=False,
        force_terminal=False,
    )
    console.print(table)
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    return "\n".join([*lines, *notes])


def as_html(heads: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
    """The same for notebooks; every text is escaped (P6)."""
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    under = "".join(f"<p>{html.escape(note)}</p>" for note in notes)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{under}"


def number(value: float | None, *, signed: bool = False) -> str:
    """Three digits, or a dash."""
    if value is None:
        return "–"
    return f"{value:+.3f}" if signed else f"{value:.3f}"


def interval(low: float | None, high: float | None, *, signed: bool = False) -> str:
    """Both ends, or a dash."""
    return (
        "–"
        if low is None or high is None
        else f"{number(low, signed=signed)} to {number(high, signed=signed)}"
    )
