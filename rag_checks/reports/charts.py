"""Trend charts from matplotlib, without any display: one metric's nights with interval, target and releases.

Text in the pictures is ASCII (metric names, dates, numbers, releases): machines without Chinese fonts draw it
too.
"""

import io
import math
from collections.abc import Iterator, Sequence
from datetime import date
from typing import TYPE_CHECKING, Literal

from rag_checks.records import Level, Trend, TrendPoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette, told apart by colour-blind readers (jfly.uni-koeln.de/color); shapes say it again.
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
LINE, TARGET, BASELINE, RELEASE = "#0072B2", "#B2182B", "#555555", "#AA4499"

NIGHTS = 60
"""The latest nights a chart of the report shows."""
_RELEASE_KEPT = 16
_LETTER = 4.2  # points a letter of a release's name takes at its size, on average
_MARGIN = 0.7  # days left and right of the nights


def trend_svg(trend: Trend) -> str:
    """One trend as an `<svg>` element: line, 95 % band, target, baseline, releases, level of each night."""
    figure = new_figure((4.5, 1.75))
    axes = figure.subplots()
    figure.subplots_adjust(left=0.075, right=0.985, top=0.89, bottom=0.14)
    draw(axes, trend, NIGHTS)
    text = save(figure, "svg").decode("utf-8")
    return text[text.index("<svg") :]


def new_figure(size: tuple[float, float]) -> "Figure":
    """An empty figure, width and height in inches."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - a second to import, and only reports need it

    return Figure(figsize=size)


def draw(axes: "Axes", trend: Trend, nights: int) -> None:
    """Draw the latest nights of a trend; any number of points, also none."""
    points = trend.points[-nights:]
    _draw_limits(axes, trend)
    for stretch in _stretches(points):
        days = [p.night.toordinal() for p in stretch]
        lows, values, highs = zip(*(_bounds(p) for p in stretch), strict=True)
        axes.fill_between(days, lows, highs, color=LINE, alpha=0.16, linewidth=0)
        axes.vlines(days, lows, highs, color=LINE, alpha=0.25, linewidth=1)
        axes.plot(days, values, color=LINE, linewidth=1.3)
    for level in Level:
        at = [p for p in points if is_shown(p) and p.level is level]
        axes.plot(
            [p.night.toordinal() for p in at],
            [_bounds(p)[1] for p in at],
            LEVEL_SHAPES[level],
            color=LEVEL_COLOURS[level],
            markersize=4.2 if level is Level.OK else 5.6,
            markeredgewidth=0,
            zorder=3,
        )
    _draw_missing(axes, [p for p in points if not is_shown(p)])
    _draw_releases(axes, points)
    _style(axes, points, trend)


def _draw_limits(axes: "Axes", trend: Trend) -> None:
    if trend.minimum is not None:
        axes.axhline(trend.minimum, color=TARGET, linewidth=1.1, linestyle=(0, (5, 3)))
    if trend.baseline is not None:
        axes.axhline(trend.baseline, color=BASELINE, linewidth=1, linestyle=":")


def _draw_missing(axes: "Axes", points: Sequence[TrendPoint]) -> None:
    """Nights without a mean: a hollow mark at the foot, never a point at 0 (P1)."""
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
    """A line before the first night of another release, named while there is room; the latest wins."""
    if not points:
        return
    first, last = points[0].night.toordinal() - _MARGIN, points[-1].night.toordinal() + _MARGIN
    points_wide = axes.bbox.width / axes.figure.dpi * 72
    free = math.inf
    for day, release in reversed(_changes(points)):
        axes.axvline(day - 0.5, color=RELEASE, linewidth=1.1)
        label = ascii_name(release, _RELEASE_KEPT)
        room = (len(label) + 1) * _LETTER / points_wide
        at = (day - 0.5 - first) / (last - first)
        start = at - room if at >= room else at
        if start + room > free:
            continue
        free = start
        axes.annotate(
            label,
            (day - 0.5, 1.0),
            xycoords=axes.get_xaxis_transform(),
            xytext=(0, 2),
            textcoords="offset points",
            ha="right" if at >= room else "left",
            fontsize=7,
            color=RELEASE,
            parse_math=False,
        )


def _style(axes: "Axes", points: Sequence[TrendPoint], trend: Trend) -> None:
    known = [v for p in points for v in (p.low, p.value, p.high) if is_shown(p) and v is not None]
    known += [limit for limit in (trend.minimum, trend.baseline) if limit is not None]
    bottom = min(known, default=0.0)
    axes.set_ylim(max(-0.02, bottom - 0.05 - 0.1 * (1 - bottom)), 1.02)
    axes.locator_params(axis="y", nbins=4)
    if points:
        first, last = points[0].night.toordinal(), points[-1].night.toordinal()
        step = max(1, math.ceil((last - first + 1) / 7))
        days = list(range(last, first - 1, -step))[::-1]
        axes.set_xticks(days, [f"{date.fromordinal(day):%m-%d}" for day in days])
        axes.set_xlim(first - _MARGIN, last + _MARGIN)
    else:
        axes.set_xticks([])
    axes.tick_params(labelsize=7.5, length=2.5, pad=2)
    axes.grid(axis="y", color="#e3e5e8", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _stretches(points: Sequence[TrendPoint]) -> Iterator[list[TrendPoint]]:
    """Runs of scored nights without a night missing between them: no line is drawn across a gap."""
    stretch: list[TrendPoint] = []
    for point in points:
        gap = stretch and (point.night - stretch[-1].night).days > 1
        if stretch and (gap or not is_shown(point)):
            yield stretch
            stretch = []
        if is_shown(point):
            stretch.append(point)
    if stretch:
        yield stretch


def is_shown(point: TrendPoint) -> bool:
    """Whether a night has a mean worth a point; one over the few cases of a no_data night is not (P1)."""
    return point.value is not None and point.level is not Level.NO_DATA


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


def ascii_name(text: str, longest: int) -> str:
    """A name fit for a picture: what the built-in font cannot draw is left out, long ones are cut."""
    kept = " ".join("".join(char for char in text if char.isascii() and char.isprintable()).split())
    if not kept:
        return "release"
    return kept if len(kept) <= longest else kept[: longest - 2] + ".."


def save(figure: "Figure", kind: Literal["svg", "png"]) -> bytes:
    """The file's bytes, the same for the same figure."""
    import matplotlib as mpl  # noqa: PLC0415 - see new_figure

    buffer = io.BytesIO()
    silent = dict.fromkeys(("Date", "Creator", "Format", "Type")) if kind == "svg" else {"Software": None}
    # Text stays text (the reader's fonts draw it) and ids do not change from run to run.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "rag-checks"}):
        figure.savefig(buffer, format=kind, dpi=200, metadata=silent)
    return buffer.getvalue()
