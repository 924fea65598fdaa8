"""The report: one self-contained HTML file, readable on a phone, nothing loaded from anywhere."""

import base64
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from jinja2 import Environment, PackageLoader, StrictUndefined

from rag_checks.alerts.phrases import URGENCY, is_uncompared, standing, standing_of_run
from rag_checks.costs import total
from rag_checks.records import GradedCase, Language, Level, RunSummary, ScoreStatus, Trend, Verdict
from rag_checks.reports.breakdown import breakdowns
from rag_checks.reports.charts import BASELINE, LEVEL_COLOURS, LINE, RELEASE, TARGET, trend_svg
from rag_checks.reports.evidence import detail, usefulness
from rag_checks.reports.words import NAMES, name, word

MAX_ITEMS = 200
ITEM_BYTES = 1_300_000
"""Cases stop here even below `MAX_ITEMS`: with its charts a report stays under 2 MB, which phones open."""
PROBLEMS = 6
"""Metrics named at the top; all are in the table."""


@dataclass(frozen=True)
class Group:
    """The verdict on a metric of one series and those on its intents."""

    whole: Verdict
    slices: tuple[Verdict, ...]

    @property
    def worst_slice(self) -> Verdict | None:
        """The intent that is worst off, when one fails or needs watching."""
        troubled = [v for v in self.slices if v.level in (Level.FAIL, Level.WATCH)]
        return min(troubled, key=_urgency, default=None)


def render_html(summary: RunSummary, graded: Sequence[GradedCase]) -> str:
    """The report of a run as one HTML page: same input, same text.

    Args:
        summary: what all readers are told.
        graded: all cases with their scores, for the breakdown and the drill-down.
    """
    environment = _environment(summary.language, tuple(sorted(summary.metric_titles.items())))
    groups = _groups(summary.verdicts)
    problems = [group.whole for group in groups if group.whole.level is not Level.OK]
    ordered = _worst_first(summary, graded)
    items, places = _items(environment, ordered)
    page = environment.get_template("report.html.j2").render(
        s=summary,
        cost=total(summary.costs),
        language=summary.language,
        counts=_counts(groups, summary.language),
        stands=standing_of_run(summary.level, summary.verdicts, summary.language),
        since=min((v.since for v in problems if v.since and v.level is Level.FAIL), default=None),
        groups=groups,
        problems=[group for group in groups if group.whole.level is not Level.OK][:PROBLEMS],
        left_problems=max(0, len(problems) - PROBLEMS),
        charts=_charts(summary, groups),
        breakdowns=breakdowns(graded, summary.verdicts),
        items=items,
        places=places,
        questions={g.case.case_id: g.case.item.user_input for g in ordered[: len(items)]},
        left_out=len(ordered) - len(items),
        expectations=sorted(summary.expectations, key=lambda result: result.success is True),
    )
    # What UTF-8 cannot write (a lone surrogate from a model's JSON) must not cost the whole report.
    return page.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\x00", "\ufffd")


@lru_cache(maxsize=16)
def _environment(language: Language, own_titles: tuple[tuple[str, str], ...]) -> Environment:
    titles = dict(own_titles)
    if language == "zh":
        titles = {metric: words["zh"] for metric, words in NAMES["metric"].items()} | titles
    environment = Environment(
        loader=PackageLoader("rag_checks.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": _number,
        "interval": _interval,
        "standing": partial(standing, language=language),
        "figure": lambda value: "–" if value is None else f"{value:.4g}",
        "cut": partial(_cut, language=language),
    }
    environment.tests["uncompared"] = is_uncompared
    environment.globals |= {
        "t": partial(word, language=language),
        "name": partial(name, language=language),
        "metric_titles": titles,
        "colours": {level.value: colour for level, colour in LEVEL_COLOURS.items()},
        "inks": {"line": LINE, "target": TARGET, "baseline": BASELINE, "release": RELEASE},
        "detail": partial(detail, language=language),
        "usefulness": usefulness,
    }
    return environment


def _groups(verdicts: Sequence[Verdict]) -> list[Group]:
    """Verdicts by metric and series, most urgent first; intents under their metric."""
    slices: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        if verdict.slice != "all":
            slices.setdefault((verdict.metric, verdict.source), []).append(verdict)
    groups = [
        Group(whole, tuple(sorted(slices.get((whole.metric, whole.source), []), key=_urgency)))
        for whole in verdicts
        if whole.slice == "all"
    ]
    return sorted(groups, key=lambda group: min(_urgency(v) for v in (group.whole, *group.slices)))


def _urgency(verdict: Verdict) -> tuple[int, bool, float, str, str]:
    return (
        URGENCY.index(verdict.level),
        verdict.minimum is None,
        verdict.z if verdict.z is not None else 0.0,
        verdict.metric,
        verdict.source,
    )


def _counts(groups: Sequence[Group], language: Language) -> list[tuple[str, str, int]]:
    """(shade, how it stands, how many), most urgent first."""
    wholes = sorted(
        (group.whole for group in groups), key=lambda v: (URGENCY.index(v.level), is_uncompared(v))
    )
    stood = [("uncompared" if is_uncompared(v) else v.level.value, standing(v, language)) for v in wholes]
    return [(*shown, n) for shown, n in Counter(stood).items()]


def _charts(summary: RunSummary, groups: Sequence[Group]) -> list[tuple[Trend, Verdict, str]]:
    """Trends of the metrics with a verdict tonight, in the order of the table, each with its picture."""
    trends = {(trend.metric, trend.source): trend for trend in summary.trends}
    found = [(trends.get((g.whole.metric, g.whole.source)), g.whole) for g in groups]
    return [(trend, verdict, _data_uri(trend_svg(trend))) for trend, verdict in found if trend is not None]


def _data_uri(svg: str) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode("utf-8")).decode("ascii")


def _items(environment: Environment, cases: Sequence[GradedCase]) -> tuple[list[str], dict[str, int]]:
    """Rendered cases until a limit is reached, and the place of each by case_id."""
    render = environment.get_template("item.html.j2").module.item  # type: ignore[attr-defined]
    items: list[str] = []
    size = 0
    for place, graded in enumerate(cases[:MAX_ITEMS]):
        rendered = render(graded, place)
        size += len(rendered.encode("utf-8", "surrogatepass"))
        if items and size > ITEM_BYTES:
            break
        items.append(rendered)
    return items, {graded.case.case_id: place for place, graded in enumerate(cases[: len(items)])}


def _worst_first(summary: RunSummary, graded: Sequence[GradedCase]) -> list[GradedCase]:
    """The summary's worst cases, then unanswered ones, then by mean score, then those without any score."""
    told = {case.case.case_id: place for place, case in enumerate(summary.worst)}

    def rank(case: GradedCase) -> tuple[int, float, str]:
        return (told.get(case.case.case_id, len(told)), _standing(case), case.case.case_id)

    return sorted(graded, key=rank)


def _standing(graded: GradedCase) -> float:
    values = [score.value for score in graded.scores if score.value is not None]
    failures = {score.status for score in graded.scores} - {ScoreStatus.OK, ScoreStatus.NOT_APPLICABLE}
    if ScoreStatus.BOT_ERROR in failures:
        return -1.0
    if values:
        return sum(values) / len(values)
    return 2.0 if failures else 3.0


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _interval(verdict: Verdict) -> str:
    if verdict.low is None or verdict.high is None:
        return ""
    return f"{verdict.low:.2f}–{verdict.high:.2f}"


def _cut(text: str, longest: int, language: Language) -> str:
    """A text that says how much of it was left out."""
    if len(text) <= longest:
        return text
    return text[:longest] + word("more_characters", language).format(n=len(text) - longest)
