"""Where it broke: rules over the stage numbers of tonight's new failures.

Each failing case gets the first cause of `CAUSES` that fits, in the order the bot works: a stage is blamed
only when the ones before it did their part. New failures are those of items that used to work; they are
counted by cause and intent. Rewriting is not blamed: no metric measures it yet.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from rag_checks.monitor import Monitor
from rag_checks.records import Finding, GradedCase, Language, Level, ScoreRow, ScoreStatus, Verdict
from rag_checks.verdicts.causes import CAUSES, Mark, cause_of, failing, marks_of, value
from rag_checks.verdicts.estimates import outcome
from rag_checks.verdicts.rules import INTENT, WHOLE, one_line

__all__ = ["CAUSES", "cause_of", "diagnose", "failing", "failing_share"]

MOSTLY_FAILED = 0.5
_HANDFUL = 5
_INTENTS_NAMED = 3


def failing_share(history: Iterable[ScoreRow], monitor: Monitor, night: date) -> dict[str, float]:
    """For each golden item the share of its baseline nights, before `night`, on which it failed.

    The baseline nights are the monitor's first ones, whoever graded them: only *which* items used to fail is
    taken from them, never a number that is compared.
    """
    marks: dict[tuple[date, str], dict[str, Mark]] = defaultdict(dict)
    begin = monitor.baseline_from or date.min
    for row in history:
        if row.source == "golden" and row.night < night and row.night >= begin:
            usable = row.value if outcome(row) == ScoreStatus.OK else None
            marks[row.night, row.item_id][row.metric] = Mark(row.status, usable)
    nights = set(sorted({when for when, _ in marks})[: monitor.baseline_nights])
    seen, failed = Counter[str](), Counter[str]()
    for (when, item), by_metric in marks.items():
        if when in nights:
            seen[item] += 1
            failed[item] += failing(by_metric)
    return {item: failed[item] / seen[item] for item in sorted(seen)}


def diagnose(
    tonight: Sequence[GradedCase],
    baseline_failing: Mapping[str, float],
    verdicts: Sequence[Verdict],
    monitor: Monitor,
    history: Iterable[ScoreRow] = (),
) -> list[Finding]:
    """Findings on tonight's new failures, largest share first; none unless some verdict is watch or fail.

    Args:
        tonight: Tonight's cases with their scores.
        baseline_failing: Share of its baseline nights on which an item failed (`failing_share`); an item
            that failed on half of them or more is no news. Logged turns have no such past: they count only
            where a production verdict says something is wrong.
        verdicts: Tonight's verdicts.
        monitor: For language and baseline.
        history: Earlier score rows, to tell whether the failing release is newer than the baseline.
    """
    troubled = [verdict for verdict in verdicts if verdict.level in (Level.WATCH, Level.FAIL)]
    if not troubled:
        return []
    new = [
        graded
        for graded in tonight
        if failing(marks_of(graded.scores)) and _is_news(graded, baseline_failing, troubled)
    ]
    cells: dict[tuple[str, str], list[GradedCase]] = defaultdict(list)
    for graded in new:
        cells[cause_of(graded), graded.case.intent].append(graded)
    night = _Night(troubled, _Releases(history, monitor), len(new), monitor.language)
    groups: dict[tuple[str, str | None], list[GradedCase]] = defaultdict(list)
    for (cause, _), cases in cells.items():
        groups[cause, night.releases.newer(cases)] += cases
    order = list(CAUSES)
    ranked = sorted(
        groups.items(), key=lambda group: (-len(group[1]), order.index(group[0][0]), group[0][1] or "")
    )
    return [_finding(cause, release, cases, night) for (cause, release), cases in ranked]


def _is_news(graded: GradedCase, baseline: Mapping[str, float], troubled: Sequence[Verdict]) -> bool:
    case = graded.case
    if case.source == "golden":
        return baseline.get(case.item.item_id, 0.0) < MOSTLY_FAILED
    slices = {verdict.slice for verdict in troubled if verdict.source == "production"}
    cells = slices - {WHOLE}
    return f"{INTENT}{case.intent}" in cells if cells else bool(slices)


class _Releases:
    """Which releases the baseline knew, and when each appeared."""

    def __init__(self, history: Iterable[ScoreRow], monitor: Monitor) -> None:
        begin = monitor.baseline_from or date.min
        seen: dict[date, set[str]] = defaultdict(set)
        self.first: dict[str, date] = {}
        for row in history:
            if row.night >= begin and row.release is not None:
                seen[row.night].add(row.release)
                self.first[row.release] = min(row.night, self.first.get(row.release, row.night))
        pinned = sorted(seen)[: monitor.baseline_nights]
        self.baseline = set().union(*(seen[night] for night in pinned))

    def newer(self, cases: Sequence[GradedCase]) -> str | None:
        """The release most of the cases came from, when the baseline had others only."""
        counts = Counter(
            graded.case.response.release
            for graded in cases
            if graded.case.response is not None and graded.case.response.release is not None
        )
        if not counts or not self.baseline:
            return None
        release = min(counts, key=lambda name: (-counts[name], name))
        return None if release in self.baseline else release


@dataclass(frozen=True)
class _Night:
    """What all findings of a night share."""

    troubled: Sequence[Verdict]
    releases: _Releases
    n_failing: int
    language: Language


def _finding(cause: str, release: str | None, cases: Sequence[GradedCase], night: _Night) -> Finding:
    """One cause under one release, over all intents; it is an intent's when most of its cases are."""
    counts = Counter(graded.case.intent for graded in cases)
    intents = sorted(counts, key=lambda name: (-counts[name], name))
    intent = intents[0] if 2 * counts[intents[0]] > len(cases) else WHOLE
    since = night.releases.first.get(release) if release is not None else None
    if since is None:
        since = _since(intent, night.troubled)
    named = None if intent in ("unknown", WHOLE) else intent
    worst = sorted(cases, key=lambda graded: (_quality(graded), graded.case.case_id))
    finding = Finding(
        cause=cause,
        stage=CAUSES[cause].stage,
        intent=named,
        release=release,
        since=since,
        n_cases=len(cases),
        n_failing=night.n_failing,
        case_ids=tuple(graded.case.case_id for graded in worst[:_HANDFUL]),
        summary="",
        next_step=CAUSES[cause].next_step[night.language],
    )
    return finding.model_copy(update={"summary": _summary(finding, counts, intents, night.language)})


def _since(intent: str, troubled: Sequence[Verdict]) -> date | None:
    """Start of the clearest trouble of this intent, else of all cases."""
    dated = [verdict for verdict in troubled if verdict.since is not None]
    own = [verdict for verdict in dated if verdict.slice == f"{INTENT}{intent}"]
    chosen = own or [verdict for verdict in dated if verdict.slice == WHOLE]
    if not chosen:
        return None
    return min(chosen, key=lambda verdict: (verdict.level is not Level.FAIL, verdict.z or 0.0)).since


def _quality(graded: GradedCase) -> float:
    """How good a failing case still is, for ordering: its correctness, else the mean of what was scored."""
    marks = marks_of(graded.scores)
    correctness = value(marks, "answer_correctness")
    if correctness is not None:
        return correctness
    values = [mark.value for mark in marks.values() if mark.value is not None]
    return sum(values) / len(values) if values else 0.0


def _start(finding: Finding, language: Language) -> str | None:
    """The release and night a problem began with, as far as they are known."""
    night = finding.since.isoformat() if finding.since is not None else None
    if finding.release is None:
        return f" {night} " if night and language == "zh" else night
    release = one_line(finding.release)
    if language == "zh":
        return f"版本 {release}（{night}）" if night else f"版本 {release}"
    named = release if release.casefold().startswith("release") else f"release {release}"
    return f"{named} ({night})" if night else named


def _intents(counts: Mapping[str, int], intents: Sequence[str], language: Language) -> str | None:
    """The intents of a finding, those with most cases first; a single one without its number."""
    if len(intents) == 1:
        return None if intents == ["unknown"] else one_line(intents[0])
    left = len(intents) - _INTENTS_NAMED
    named = [f"{one_line(name)} {counts[name]}" for name in intents[:_INTENTS_NAMED]]
    if language == "zh":
        return "、".join(named) + (f" 等 {len(intents)} 个" if left > 0 else "")
    return ", ".join(named) + (f" and {left} more" if left > 0 else "")


def _summary(finding: Finding, counts: Mapping[str, int], intents: Sequence[str], language: Language) -> str:
    start = _start(finding, language)
    name = CAUSES[finding.cause].name[language]
    intent = _intents(counts, intents, language)
    if language == "zh":
        parts = [f"{finding.n_failing} 个新增失败中 {finding.n_cases} 个：{name}"]
        parts += [f"意图 {intent}"] if intent else []
        parts += [f"自{start}起"] if start else []
        return "，".join(parts)
    parts = [f"{finding.n_cases} of {finding.n_failing} new failures: {name}"]
    parts += [f"{'intent' if len(intents) == 1 else 'intents'} {intent}"] if intent else []
    parts += [f"since {start}"] if start else []
    return ", ".join(parts)
