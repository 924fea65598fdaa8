"""Trend charts, SVG for the report and PNG for Slack, from matplotlib without any display.

Labels in the pictures are metric names, dates and numbers only: machines without Chinese fonts draw them too.
"""

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rag_checks.records import Level, RunSummary, Trend, TrendPoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette: told apart by colour-blind readers too (jfly.uni-koeln.de/color).
LEVEL_COLOURS = {
    Level.OK: "#009E73",
    Level.WATCH: "#E69F00",
    Level.FAIL: "#D55E00",
    Level.NO_DATA: "#999999",
    Level.JUDGE_CHANGED: "#56B4E9",
}
_LINE = "#0072B2"
PICTURE_TRENDS = 6
_SEVERITY = [Level.FAIL, Level.JUDGE_CHANGED, Level.WATCH, Level.NO_DATA, Level.OK]


def trend_svg(trend: Trend) -> str:
    """One trend as an `<svg>` element: line, 95 % band, target, baseline, releases, level of each night."""
    figure = _figure((6.4, 2.0))
    _draw(figure.subplots(), trend)
    text = _save(figure, "svg").decode("utf-8")
    return text[text.index("<svg") :]


def trend_png(summary: RunSummary) -> bytes | None:
    """The most telling trends of a run in one picture; None when there is no trend yet.

    Failing metrics come first; at most six are drawn.
    """
    trends = _most_telling(summary)
    if not trends:
        return None
    rows = (len(trends) + 1) // 2
    columns = min(2, len(trends))
    figure = _figure((5.2 * columns, 1.9 * rows))
    grid = figure.subplots(rows, columns, squeeze=False)
    flat = [axes for row in grid for axes in row]
    for axes, trend in zip(flat, trends, strict=False):
        _draw(axes, trend)
        axes.set_title(f"{trend.metric} · {trend.source}", fontsize=9, loc="left")
    for axes in flat[len(trends) :]:
        axes.set_axis_off()
    return _save(figure, "png")


def _most_telling(summary: RunSummary) -> list[Trend]:
    levels = {(v.metric, v.source): v.level for v in summary.verdicts if v.slice == "all"}
    with_points = [trend for trend in summary.trends if any(p.value is not None for p in trend.points)]
    return sorted(
        with_points,
        key=lambda trend: (
            _SEVERITY.index(levels.get((trend.metric, trend.source), Level.OK)),
            trend.minimum is None,
        ),
    )[:PICTURE_TRENDS]


def _figure(size: tuple[float, float]) -> "Figure":
    from matplotlib.figure import Figure  # noqa: PLC0415 - 0.5 s to import, only reports need it

    return Figure(figsize=size, layout="constrained")


def _draw(axes: "Axes", trend: Trend) -> None:
    points = trend.points
    nights = list(range(len(points)))
    scored = [(x, p) for x, p in zip(nights, points, strict=True) if p.value is not None]
    banded = [(x, p) for x, p in scored if p.low is not None and p.high is not None]
    axes.fill_between(
        [x for x, _ in banded],
        [_number(p.low) for _, p in banded],
        [_number(p.high) for _, p in banded],
        color=_LINE,
        alpha=0.15,
        linewidth=0,
    )
    axes.plot([x for x, _ in scored], [_number(p.value) for _, p in scored], color=_LINE, linewidth=1.4)
    axes.scatter(
        [x for x, _ in scored],
        [_number(p.value) for _, p in scored],
        c=[LEVEL_COLOURS[p.level] for _, p in scored],
        s=22,
        zorder=3,
    )
    if trend.minimum is not None:
        axes.axhline(trend.minimum, color=LEVEL_COLOURS[Level.FAIL], linewidth=1, linestyle="--")
    if trend.baseline is not None:
        axes.axhline(trend.baseline, color="#666666", linewidth=0.8, linestyle=":")
    for x, release in _changes(points):
        axes.axvline(x - 0.5, color="#CC79A7", linewidth=1)
        axes.text(x - 0.45, 0.02, release, fontsize=7, color="#CC79A7", transform=axes.get_xaxis_transform())
    _style(
        axes,
        points,
        [value for _, p in scored for value in (p.low, p.high, p.value) if value is not None],
        trend,
    )


def _style(axes: "Axes", points: Sequence[TrendPoint], values: list[float], trend: Trend) -> None:
    values = [*values, *(v for v in (trend.minimum, trend.baseline) if v is not None)]
    bottom = max(0.0, min(values, default=0.0) - 0.05)
    axes.set_ylim(bottom, 1.03)
    step = max(1, len(points) // 7)
    ticks = list(range(len(points) - 1, -1, -step))[::-1]
    axes.set_xticks(ticks, [f"{points[i].night:%m-%d}" for i in ticks], fontsize=8)
    axes.set_xlim(-0.6, max(0.6, len(points) - 0.4))
    axes.tick_params(axis="y", labelsize=8)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _changes(points: Sequence[TrendPoint]) -> list[tuple[int, str]]:
    """Positions at which another release answered, with its name."""
    changes = []
    last = None
    for position, point in enumerate(points):
        if point.release is not None:
            if last is not None and point.release != last:
                changes.append((position, point.release[:24]))
            last = point.release
    return changes


def _save(figure: "Figure", kind: str) -> bytes:
    import matplotlib as mpl  # noqa: PLC0415

    buffer = io.BytesIO()
    # Text stays text (the reader's fonts draw it) and ids do not change from run to run.
    settings: dict[str, Any] = {"svg.fonttype": "none", "svg.hashsalt": "rag-checks"}
    with mpl.rc_context(settings):
        figure.savefig(buffer, format=kind, dpi=110, metadata={"Date": None} if kind == "svg" else None)
    return buffer.getvalue()


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
