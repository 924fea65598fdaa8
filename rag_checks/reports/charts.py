"""Trend charts, SVG for the report and PNG for Slack, from matplotlib without any display.

Text in the pictures is ASCII (metric names, dates, numbers, releases): machines without Chinese fonts draw it too.
"""

import io
import math
from collections.abc import Iterator, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from rag_checks.alerts.phrases import URGENCY
from rag_checks.records import Level, RunSummary, Trend, TrendPoint, Verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette, told apart by colour-blind readers (jfly.uni-koeln.de/color); shapes say it once more.
LEVEL_COLOURS = {
    Level.OK: "#009E73",
    Level.WATCH: "#E69F00",
    Level.FAIL: "#D55E00",
    Level.NO_DATA: "#808080",
    Level.JUDGE_CHANGED: "#9467BD",
}
LEVEL_SHAPES = {
    Level.OK: "o",
    Level.WATCH: "^",
    Level.FAIL: "X",
    Level.NO_DATA: "s",
    Level.JUDGE_CHANGED: "D",
}
# The same hues, dark enough to read as letters.
TITLES = {
    Level.FAIL: "#B84A00",
    Level.WATCH: "#8A6000",
    Level.NO_DATA: "#666666",
    Level.JUDGE_CHANGED: "#7A4FA3",
}
LINE, TARGET, BASELINE, RELEASE = "#0072B2", "#B2182B", "#555555", "#AA4499"

NIGHTS = 60
"""The latest nights a chart of the report shows."""
PICTURE_NIGHTS = 30
PICTURE_TRENDS = 6
_RELEASE_KEPT = 16
_CLOSE = 0.28  # of the width: names of releases nearer to each other than this would overlap


def trend_svg(trend: Trend) -> str:
    """One trend as an `<svg>` element: line, 95 % band, target, baseline, releases, level of each night."""
    figure = _figure((4.5, 1.75))
    axes = figure.subplots()
    figure.subplots_adjust(left=0.075, right=0.985, top=0.89, bottom=0.14)
    _draw(axes, trend, NIGHTS)
    text = _save(figure, "svg").decode("utf-8")
    return text[text.index("<svg") :]


def trend_png(summary: RunSummary) -> bytes | None:
    """The most telling trends of a run in one picture, 1400 pixels wide; None when there is no trend yet.

    Failing metrics come first, then those that moved most; at most six are drawn.
    """
    trends = _most_telling(summary)
    if not trends:
        return None
    columns = min(2, len(trends))
    rows = math.ceil(len(trends) / columns)
    height = 1.5 * rows + 0.35
    figure = _figure((7.0, height))
    grid = figure.subplots(rows, columns, squeeze=False)
    figure.subplots_adjust(
        left=0.06, right=0.985, top=1 - 0.32 / height, bottom=0.55 / height, hspace=0.62, wspace=0.16
    )
    flat = [axes for row in grid for axes in row]
    levels = _levels(summary)
    for axes, trend in zip(flat, trends, strict=False):
        _draw(axes, trend, PICTURE_NIGHTS)
        verdict = levels.get((trend.metric, trend.source))
        title = _ascii(f"{trend.metric} ({'live' if trend.source == 'production' else 'golden set'})", 42)
        colour = TITLES.get(verdict.level, "black") if verdict is not None else "black"
        axes.set_title(title, fontsize=8.5, loc="left", pad=9, color=colour, parse_math=False)
    for axes in flat[len(trends) :]:
        axes.set_axis_off()
    _legend(figure)
    return _save(figure, "png")


def _levels(summary: RunSummary) -> dict[tuple[str, str], Verdict]:
    return {(v.metric, v.source): v for v in summary.verdicts if v.slice == "all"}


def _most_telling(summary: RunSummary) -> list[Trend]:
    verdicts = _levels(summary)

    def rank(trend: Trend) -> tuple[int, bool, float]:
        verdict = verdicts.get((trend.metric, trend.source))
        level = verdict.level if verdict else Level.OK
        moved = verdict.z if verdict and verdict.z is not None else 0.0
        return (URGENCY.index(level), trend.minimum is None, moved)

    with_values = [t for t in summary.trends if any(p.value is not None for p in t.points[-PICTURE_NIGHTS:])]
    return sorted(with_values, key=rank)[:PICTURE_TRENDS]


def _figure(size: tuple[float, float]) -> "Figure":
    from matplotlib.figure import Figure  # noqa: PLC0415 - a second to import, and only reports need it

    return Figure(figsize=size)


def _draw(axes: "Axes", trend: Trend, nights: int) -> None:
    points = trend.points[-nights:]
    _draw_limits(axes, trend)
    for stretch in _stretches(points):
        days = [p.night.toordinal() for p in stretch]
        lows, values, highs = zip(*(_bounds(p) for p in stretch), strict=True)
        axes.fill_between(days, lows, highs, color=LINE, alpha=0.16, linewidth=0)
        axes.vlines(days, lows, highs, color=LINE, alpha=0.25, linewidth=1)
        axes.plot(days, values, color=LINE, linewidth=1.3)
    for level in Level:
        at = [p for p in points if p.value is not None and p.level is level]
        axes.plot(
            [p.night.toordinal() for p in at],
            [p.value for p in at],
            LEVEL_SHAPES[level],
            color=LEVEL_COLOURS[level],
            markersize=4.2 if level is Level.OK else 5.6,
            markeredgewidth=0,
            zorder=3,
        )
    _draw_missing(axes, [p for p in points if p.value is None])
    _draw_releases(axes, points)
    _style(axes, points, trend)


def _draw_limits(axes: "Axes", trend: Trend) -> None:
    if trend.minimum is not None:
        axes.axhline(trend.minimum, color=TARGET, linewidth=1.1, linestyle=(0, (5, 3)))
    if trend.baseline is not None:
        axes.axhline(trend.baseline, color=BASELINE, linewidth=1, linestyle=":")


def _draw_missing(axes: "Axes", points: Sequence[TrendPoint]) -> None:
    """Nights without a value: a hollow mark at the foot, never a point at 0 (P1)."""
    axes.plot(
        [p.night.toordinal() for p in points],
        [0.05] * len(points),
        "s",
        transform=axes.get_xaxis_transform(),
        markerfacecolor="white",
        markeredgecolor=LEVEL_COLOURS[Level.NO_DATA],
        markersize=4,
    )


def _draw_releases(axes: "Axes", points: Sequence[TrendPoint]) -> None:
    """A line before the first night of another release, named above the plot unless names would overlap."""
    if not points:
        return
    width = max(1, points[-1].night.toordinal() - points[0].night.toordinal())
    named_at = -math.inf
    for day, release in _changes(points):
        axes.axvline(day - 0.5, color=RELEASE, linewidth=1.1)
        share = (day - points[0].night.toordinal()) / width
        if share - named_at < _CLOSE:
            continue
        named_at = share
        right = share > 0.5  # noqa: PLR2004 - in the right half the name ends at the line, to stay inside
        axes.annotate(
            _ascii(release, _RELEASE_KEPT),
            (day - 0.5, 1.0),
            xycoords=axes.get_xaxis_transform(),
            xytext=(3 if not right else -3 if share < 1 - _CLOSE / 3 else 0, 2),
            textcoords="offset points",
            ha="right" if right else "left",
            fontsize=7,
            color=RELEASE,
            parse_math=False,
        )


def _style(axes: "Axes", points: Sequence[TrendPoint], trend: Trend) -> None:
    known = [v for p in points for v in (p.low, p.value, p.high) if p.value is not None and v is not None]
    known += [limit for limit in (trend.minimum, trend.baseline) if limit is not None]
    bottom = min(known, default=0.0)
    axes.set_ylim(max(-0.02, bottom - 0.05 - 0.1 * (1 - bottom)), 1.02)
    axes.locator_params(axis="y", nbins=4)
    if points:
        first, last = points[0].night.toordinal(), points[-1].night.toordinal()
        step = max(1, math.ceil((last - first + 1) / 7))
        days = list(range(last, first - 1, -step))[::-1]
        axes.set_xticks(days, [f"{date.fromordinal(day):%m-%d}" for day in days])
        axes.set_xlim(first - 0.7, last + 0.7)
    else:
        axes.set_xticks([])
    axes.tick_params(labelsize=7.5, length=2.5, pad=2)
    axes.grid(axis="y", color="#e3e5e8", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _legend(figure: "Figure") -> None:
    from matplotlib.lines import Line2D  # noqa: PLC0415 - see _figure
    from matplotlib.patches import Patch  # noqa: PLC0415

    marks = [
        Line2D([], [], color=LEVEL_COLOURS[level], marker=LEVEL_SHAPES[level], linestyle="", markersize=5)
        for level in Level
    ]
    handles = [
        *marks,
        Patch(color=LINE, alpha=0.3),
        Line2D([], [], color=TARGET, linestyle="--"),
        Line2D([], [], color=BASELINE, linestyle=":"),
        Line2D([], [], color=RELEASE),
    ]
    labels = [
        *(level.value.replace("_", " ") for level in Level),
        "95% interval",
        "target",
        "baseline",
        "release",
    ]
    figure.legend(
        handles,
        labels,
        loc="lower center",
        ncols=len(handles),
        fontsize=7,
        frameon=False,
        handlelength=1.5,
        handletextpad=0.4,
        columnspacing=1.1,
        borderaxespad=0.2,
    )


def _stretches(points: Sequence[TrendPoint]) -> Iterator[list[TrendPoint]]:
    """Runs of scored nights without a night missing between them: no line is drawn across a gap."""
    stretch: list[TrendPoint] = []
    for point in points:
        gap = stretch and (point.night - stretch[-1].night).days > 1
        if stretch and (gap or point.value is None):
            yield stretch
            stretch = []
        if point.value is not None:
            stretch.append(point)
    if stretch:
        yield stretch


def _bounds(point: TrendPoint) -> tuple[float, float, float]:
    value = point.value if point.value is not None else math.nan
    return (
        value if point.low is None else point.low,
        value,
        value if point.high is None else point.high,
    )


def _changes(points: Sequence[TrendPoint]) -> list[tuple[int, str]]:
    """Days from which another release answered, with its name."""
    changes = []
    last = None
    for point in points:
        if point.release is not None:
            if last is not None and point.release != last:
                changes.append((point.night.toordinal(), point.release))
            last = point.release
    return changes


def _ascii(text: str, longest: int) -> str:
    """A name fit for a picture: what the built-in font cannot draw is left out, long ones are cut."""
    kept = " ".join("".join(char for char in text if char.isascii() and char.isprintable()).split())
    if not kept:
        return "release"
    return kept if len(kept) <= longest else kept[: longest - 2] + ".."


def _save(figure: "Figure", kind: str) -> bytes:
    import matplotlib as mpl  # noqa: PLC0415 - see _figure

    buffer = io.BytesIO()
    # Text stays text (the reader's fonts draw it) and ids do not change from run to run.
    settings: dict[str, Any] = {"svg.fonttype": "none", "svg.hashsalt": "rag-checks"}
    silent = dict.fromkeys(("Date", "Creator", "Format", "Type")) if kind == "svg" else {"Software": None}
    with mpl.rc_context(settings):
        figure.savefig(buffer, format=kind, dpi=200, metadata=silent)
    return buffer.getvalue()
