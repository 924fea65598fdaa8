"""The picture that goes with the message: the most telling trends of a run as one PNG."""

import math
from typing import TYPE_CHECKING

from rag_checks.alerts.phrases import URGENCY
from rag_checks.records import Level, RunSummary, Trend, Verdict
from rag_checks.reports.charts import (
    BASELINE,
    LEVEL_COLOURS,
    LEVEL_SHAPES,
    LINE,
    RELEASE,
    TARGET,
    ascii_name,
    draw,
    is_shown,
    new_figure,
    save,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURE_NIGHTS = 30
PICTURE_TRENDS = 6
# The same hues, dark enough to read as letters.
TITLES = {
    Level.FAIL: "#B84A00",
    Level.WATCH: "#8A6000",
    Level.NO_DATA: "#666666",
    Level.JUDGE_CHANGED: "#7A4FA3",
}


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
    figure = new_figure((7.0, height))
    grid = figure.subplots(rows, columns, squeeze=False)
    figure.subplots_adjust(
        left=0.06, right=0.985, top=1 - 0.32 / height, bottom=0.55 / height, hspace=0.62, wspace=0.16
    )
    flat = [axes for row in grid for axes in row]
    levels = _levels(summary)
    for axes, trend in zip(flat, trends, strict=False):
        draw(axes, trend, PICTURE_NIGHTS)
        verdict = levels.get((trend.metric, trend.source))
        series = "live" if trend.source == "production" else "golden set"
        title = f"{ascii_name(trend.metric, 30)} ({series})"
        colour = TITLES.get(verdict.level, "black") if verdict is not None else "black"
        axes.set_title(title, fontsize=8.5, loc="left", pad=11, color=colour, parse_math=False)
    for axes in flat[len(trends) :]:
        axes.set_axis_off()
    _legend(figure)
    return save(figure, "png")


def _levels(summary: RunSummary) -> dict[tuple[str, str], Verdict]:
    return {(v.metric, v.source): v for v in summary.verdicts if v.slice == "all"}


def _most_telling(summary: RunSummary) -> list[Trend]:
    verdicts = _levels(summary)

    def rank(trend: Trend) -> tuple[int, bool, float]:
        verdict = verdicts.get((trend.metric, trend.source))
        level = verdict.level if verdict else Level.OK
        moved = verdict.z if verdict and verdict.z is not None else 0.0
        return (URGENCY.index(level), trend.minimum is None, moved)

    with_values = [t for t in summary.trends if any(map(is_shown, t.points[-PICTURE_NIGHTS:]))]
    return sorted(with_values, key=rank)[:PICTURE_TRENDS]


def _legend(figure: "Figure") -> None:
    from matplotlib.lines import Line2D  # noqa: PLC0415 - see charts.new_figure
    from matplotlib.patches import Patch  # noqa: PLC0415

    marks = [
        Line2D(
            [],
            [],
            color=LEVEL_COLOURS[level],
            markerfacecolor="white" if level is Level.NO_DATA else None,
            marker=LEVEL_SHAPES[level],
            linestyle="",
            markersize=5,
        )
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
