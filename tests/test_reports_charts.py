"""Trend charts: honest about missing nights, robust against odd input, the same bytes again."""

import struct
import warnings
import xml.etree.ElementTree as ET
from datetime import timedelta

import pytest
from report_fixtures import NIGHT, night, quiet_night, trend

from rag_checks.records import Level, Trend, TrendPoint
from rag_checks.reports import trend_png, trend_svg

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg):
    """All text of a chart."""
    return ["".join(node.itertext()).strip() for node in ET.fromstring(svg).iter(f"{SVG}text")]


def marks(svg, colour):
    """How many marks are drawn in a colour."""
    uses = ET.fromstring(svg).iter(f"{SVG}use")
    return sum(f"fill: {colour}" in use.get("style", "").lower() for use in uses)


def png_size(png):
    """Width and height in pixels."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", png[16:24])


@pytest.mark.parametrize(
    "values",
    [
        [],
        [None],
        [0.9],
        [None, None, None],
        [0.0],
        [1.0, 1.0],
        [0.9, None, 0.8],
        [None, 0.5, None],
        [0.5] * 400,
    ],
)
def test_any_number_of_nights_can_be_drawn(values):
    """No point, one point, only gaps or years of nights are no reason to lose the report."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        svg = trend_svg(trend(values))
    assert ET.fromstring(svg).tag == f"{SVG}svg"
    assert len(svg) < 40_000


def test_a_trend_without_interval_target_or_release_is_drawn():
    """Only the night and the value are always there."""
    points = tuple(
        TrendPoint(night=NIGHT - timedelta(days=back), value=0.7, level=Level.OK) for back in (3, 0)
    )
    svg = trend_svg(Trend(metric="m", source="golden", points=points))
    assert marks(svg, "#009e73") == 2


def test_missing_nights_are_hollow_marks_and_never_points():
    """A night without data is shown as one, not as 0 and not as the mean of the few (P1)."""
    svg = trend_svg(trend([0.9, None, 0.9, 0.5]))
    assert marks(svg, "#009e73") == 2
    assert marks(svg, "#d55e00") == 1
    assert marks(svg, "#ffffff") == 1
    few = trend([0.9, 1.0]).points[-1].model_copy(update={"level": Level.NO_DATA})
    judged = trend([0.9, 0.9]).model_copy(update={"points": (trend([0.9, 0.9]).points[0], few)})
    assert marks(trend_svg(judged), "#009e73") == 1
    assert marks(trend_svg(judged), "#ffffff") == 1


def test_a_new_release_is_marked_with_its_name_and_the_last_night_with_its_date():
    """Since when is the second question of every incident."""
    shown = texts(trend_svg(trend([0.9] * 18 + [0.5] * 3)))
    assert "2.0" in shown
    assert "1.4" not in shown
    assert f"{NIGHT:%m-%d}" in shown


@pytest.mark.parametrize(
    "release", ["$x^{2$", "$\\frac{1}{", "版本二", "<b>&", "\x00\x1b[31m", "r" * 300, " "]
)
def test_odd_release_names_neither_crash_nor_escape(release):
    """Names come from logs: no mathematics, no markup, nothing the built-in font cannot draw."""
    before, after = trend([0.9, 0.9]).points
    odd = trend([0.9, 0.9]).model_copy(
        update={"points": (before, after.model_copy(update={"release": release}))}
    )
    told, _ = night("zh")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        svg = trend_svg(odd)
        png = trend_png(told.model_copy(update={"trends": (odd,)}))
    assert png is not None
    assert ET.fromstring(svg).tag == f"{SVG}svg"
    assert all(text.isascii() and len(text) < 30 for text in texts(svg))


def test_charts_name_no_outside_address():
    """Nothing in a picture points anywhere but to the names of its own format."""
    svg = trend_svg(trend([0.9, 0.5]))
    assert svg.count("http") == svg.count("http://www.w3.org/")


def test_the_same_trend_gives_the_same_bytes():
    """Reports of the same night can be compared by their bytes."""
    assert trend_svg(trend([0.9, None, 0.5])) == trend_svg(trend([0.9, None, 0.5]))
    told, _ = night("en")
    assert trend_png(told) == trend_png(told)


def test_the_picture_is_wide_enough_for_a_message_and_holds_six_trends_at_most():
    """Twice 700 pixels wide, so that it is sharp where it is shown at 700."""
    told, _ = night("zh")
    sizes = []
    for number in (1, 2, 3, 6, 9):
        many = tuple(trend([0.9, 0.5], metric=f"metric_{one}") for one in range(number))
        picture = trend_png(told.model_copy(update={"trends": many}))
        assert picture is not None
        assert len(picture) < 300_000
        sizes.append(png_size(picture))
    assert [width for width, _ in sizes] == [1400] * 5
    assert sizes[0][1] == sizes[1][1] < sizes[2][1] < sizes[3][1] == sizes[4][1]


def test_the_failing_metric_is_in_the_picture_when_others_have_no_room():
    """The most telling trends come first: six healthy ones do not push the broken one out."""
    told, _ = night("en")
    broken = trend([0.9, 0.5], metric="answer_correctness")
    healthy = tuple(trend([0.9, 0.9], metric=f"metric_{one}") for one in range(9))
    with_it = trend_png(told.model_copy(update={"trends": (*healthy, broken)}))
    assert with_it == trend_png(told.model_copy(update={"trends": (broken, *healthy[:5])}))
    assert with_it != trend_png(told.model_copy(update={"trends": healthy}))


def test_no_picture_without_a_scored_night():
    """Before the first night there is nothing to send."""
    assert trend_png(quiet_night("en").model_copy(update={"trends": ()})) is None
    assert trend_png(quiet_night("en").model_copy(update={"trends": (trend([None, None]),)})) is None
