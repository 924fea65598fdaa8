"""The report: one self-contained HTML file, readable on a phone, nothing loaded from anywhere."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from rag_checks.records import GradedCase, Level, RunSummary, ScoreRow, Verdict, score_rows
from rag_checks.reports.charts import LEVEL_COLOURS, trend_svg
from rag_checks.reports.words import metric_label, word
from rag_checks.verdicts.estimates import Estimate, estimate

# About 4 kB an item: this keeps a report of a large night near 1 MB, which phones still open.
MAX_ITEMS = 200
_SEVERITY = [Level.FAIL, Level.NO_DATA, Level.JUDGE_CHANGED, Level.WATCH, Level.OK]


@dataclass(frozen=True)
class IntentRow:
    """Means of one intent on one series."""

    intent: str
    source: str
    n_cases: int
    cells: Mapping[str, Estimate]


def render_html(summary: RunSummary, graded: Sequence[GradedCase]) -> str:
    """The report of a run.

    Args:
        summary: what all readers are told.
        graded: all cases with their scores, for the breakdown and the drill-down.
    """
    environment = Environment(
        loader=PackageLoader("rag_checks.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    language = summary.language
    environment.filters |= {"number": _number, "interval": _interval}
    environment.globals |= {
        "t": partial(word, language=language),
        "label": partial(metric_label, language=language),
        "colours": {level.value: colour for level, colour in LEVEL_COLOURS.items()},
    }
    items = _worst_first(summary, graded)
    return environment.get_template("report.html.j2").render(
        s=summary,
        language="zh-CN" if language == "zh" else "en",
        verdicts=sorted(summary.verdicts, key=_order),
        charts=[(trend, trend_svg(trend)) for trend in _charted(summary)],
        intents=intent_rows(graded),
        intent_metrics=_columns(summary),
        items=items[:MAX_ITEMS],
        left_out=max(0, len(items) - MAX_ITEMS),
        claims=_claims,
    )


def intent_rows(graded: Sequence[GradedCase]) -> list[IntentRow]:
    """Weighted means by series and intent, most cases first."""
    groups: dict[tuple[str, str], list[GradedCase]] = {}
    for case in graded:
        groups.setdefault((case.case.source, case.case.intent), []).append(case)
    rows = [
        IntentRow(intent, source, len(cases), _means(cases)) for (source, intent), cases in groups.items()
    ]
    return sorted(rows, key=lambda row: (row.source, -row.n_cases, row.intent))


def _means(cases: Sequence[GradedCase]) -> dict[str, Estimate]:
    rows: dict[str, list[ScoreRow]] = {}
    for graded in cases:
        for row in score_rows({graded.case.case_id: graded.case}, graded.scores):
            rows.setdefault(row.metric, []).append(row)
    return {metric: estimate(found) for metric, found in rows.items()}


def _columns(summary: RunSummary) -> list[str]:
    """The metrics of the breakdown: those with verdicts, in the order of the verdicts."""
    return list(dict.fromkeys(verdict.metric for verdict in summary.verdicts if verdict.slice == "all"))


def _charted(summary: RunSummary) -> list[Any]:
    levels = {(v.metric, v.source): v.level for v in summary.verdicts if v.slice == "all"}
    known = [trend for trend in summary.trends if (trend.metric, trend.source) in levels]
    return sorted(known, key=lambda trend: _SEVERITY.index(levels[trend.metric, trend.source]))


def _worst_first(summary: RunSummary, graded: Sequence[GradedCase]) -> list[GradedCase]:
    order = {case.case.case_id: position for position, case in enumerate(summary.worst)}

    def key(case: GradedCase) -> tuple[int, float, str]:
        values = [score.value for score in case.scores if score.value is not None]
        mean = sum(values) / len(values) if values else -1.0
        return (order.get(case.case.case_id, len(order)), mean, case.case.case_id)

    return sorted(graded, key=key)


def _order(verdict: Verdict) -> tuple[int, str, str, str]:
    return (_SEVERITY.index(verdict.level), verdict.metric, verdict.source, verdict.slice)


def _claims(evidence: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The judged claims and passages of a score's evidence, as rows with text, supported and reason."""
    rows: list[dict[str, Any]] = []
    for value in evidence.values():
        if isinstance(value, list):
            rows += [entry for entry in value if isinstance(entry, dict) and "reason" in entry]
    return rows


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _interval(pair: Any) -> str:
    return "–" if pair.low is None or pair.high is None else f"{pair.low:.2f} – {pair.high:.2f}"
