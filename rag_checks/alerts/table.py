"""The metrics of a night as monospaced lines that stay aligned in Chinese and survive a phone.

Each verdict takes two lines, its name and its numbers. Numbers stay within 44 columns: Slack wraps longer
lines on phones, which tears a table apart. Slack's own `table` block is not used: older clients and servers
that only speak Slack's language refuse it.
"""

from collections.abc import Sequence

from rich.cells import cell_len

from rag_checks.alerts.blocks import cut, plain
from rag_checks.alerts.phrases import ICONS, PHRASES, URGENCY, is_uncompared, standing
from rag_checks.records import Language, Level, Verdict

MAX_ROWS = 16


def by_urgency(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Verdicts, most urgent first; whole metrics before their slices, otherwise as they came."""
    return sorted(verdicts, key=lambda v: (URGENCY.index(v.level), v.slice != "all"))


def name_of(verdict: Verdict, language: Language) -> str:
    """`answer_correctness · golden set · lookup`."""
    parts = [cut(plain(verdict.metric), 40), PHRASES[language][verdict.source]]
    if verdict.slice != "all":
        parts.append(cut(plain(verdict.slice.removeprefix("intent:")), 30))
    return " · ".join(parts)


def number(value: float | None) -> str:
    """Two decimals, or a dash for what is not known."""
    return "–" if value is None else f"{value:.2f}"


def metrics_table(verdicts: Sequence[Verdict], language: Language) -> str:
    """The table: failing first, slices that are ok only counted, rows beyond `MAX_ROWS` counted."""
    say = PHRASES[language]
    shown = [v for v in by_urgency(verdicts) if v.slice == "all" or v.level is not Level.OK]
    rows = [_cells(verdict) for verdict in shown[:MAX_ROWS]]
    titles = say["columns"].split("|")
    widths = [max(map(cell_len, column)) for column in zip(titles, *rows, strict=True)]
    lines = ["  " + _aligned(titles, widths)]
    for verdict, cells in zip(shown, rows, strict=False):
        name = name_of(verdict, language)
        icon = "▫️" if is_uncompared(verdict) else ICONS[verdict.level]
        lines.append(f"{icon} {name} · {standing(verdict, language)}")
        lines.append("  " + _aligned(cells, widths))
    if len(shown) > MAX_ROWS:
        lines.append(say["more"].format(n=len(shown) - MAX_ROWS))
    quiet = len(verdicts) - len(shown)
    if quiet:
        lines.append(say["slices_ok"].format(n=quiet))
    return "\n".join(lines)


def _cells(verdict: Verdict) -> list[str]:
    # Without enough data the mean of the few that were graded would read like a score (P1).
    told = verdict.level is not Level.NO_DATA
    known = told and verdict.low is not None and verdict.high is not None
    return [
        number(verdict.value if told else None),
        f"{number(verdict.low)}–{number(verdict.high)}" if known else "–",
        number(verdict.minimum),
        number(verdict.baseline),
        f"{verdict.n_ok}/{verdict.n_total}",
    ]


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=True))
    return "  ".join(padded).rstrip()
