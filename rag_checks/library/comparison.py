"""Two experiments over the same items, paired, and only where their scores are comparable (P4)."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from rag_checks.library.summary import as_html, as_text, interval, number
from rag_checks.records import GradedCase, Score, ScoreStatus
from rag_checks.verdicts.paired import difference

ONLY_FIRST = "item only in the first"
ONLY_SECOND = "item only in the second"
CHANGED = "item changed"
NOT_SCORED = "not scored in both"
OTHER_VERSION = "metric version differs"
OTHER_JUDGE = "judge differs"


@dataclass(frozen=True)
class MetricDifference:
    """One metric over the pairs: both means, first minus second with its 95 % interval, what was left out.

    Numbers are None without a pair, the interval's ends with a single one. `left_out` counts items by why.
    """

    metric: str
    first: float | None
    second: float | None
    difference: float | None
    low: float | None
    high: float | None
    n_pairs: int
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def differs(self) -> bool:
        """Whether the interval leaves out 0. One of twenty comparisons of equals does so by chance."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


@dataclass(frozen=True)
class Comparison:
    """One row a metric that both graded; `comparison["faithfulness"].difference`."""

    first: str
    second: str
    rows: tuple[MetricDifference, ...]
    notes: tuple[str, ...] = ()

    def __getitem__(self, metric: str) -> MetricDifference:
        found = next((row for row in self.rows if row.metric == metric), None)
        if found is None:
            both = ", ".join(row.metric for row in self.rows) or "none"
            raise KeyError(f"{metric!r} was not graded in both; in both are {both}")
        return found

    def __iter__(self) -> Iterator[MetricDifference]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return as_text(self._heads(), self._cells(), self._notes())

    def _repr_html_(self) -> str:
        return as_html(self._heads(), self._cells(), self._notes())

    def _heads(self) -> tuple[str, ...]:
        names = (self.first, self.second) if self.first != self.second else ("first", "second")
        return ("metric", *names, "difference", "95 % interval", "pairs", "left out", "")

    def _cells(self) -> list[tuple[str, ...]]:
        return [
            (
                row.metric,
                number(row.first),
                number(row.second),
                number(row.difference, signed=True),
                interval(row.low, row.high, signed=True),
                str(row.n_pairs),
                str(sum(row.left_out.values())),
                "≠" if row.differs else "",
            )
            for row in self.rows
        ]

    def _notes(self) -> tuple[str, ...]:
        reasons: dict[str, list[str]] = {}
        for row in self.rows:
            for reason, count in row.left_out.items():
                reasons.setdefault(f"{reason}: {count}", []).append(row.metric)
        told = [f"left out, {reason} ({', '.join(metrics)})" for reason, metrics in reasons.items()]
        return (*told, *self.notes)


def compare(
    first: Sequence[GradedCase], second: Sequence[GradedCase], metrics: Sequence[str], names: tuple[str, str]
) -> Comparison:
    """Pair items by id, where question and reference are the same in both."""
    ours = {one.case.item.item_id: one for one in first}
    theirs = {one.case.item.item_id: one for one in second}
    rows = tuple(_row(metric, ours, theirs) for metric in metrics)
    notes = () if rows else ("no metric was graded in both",)
    return Comparison(*names, rows, notes)


def _row(metric: str, ours: Mapping[str, GradedCase], theirs: Mapping[str, GradedCase]) -> MetricDifference:
    left_out: Counter[str] = Counter()
    left_out[ONLY_FIRST] = len(ours.keys() - theirs.keys())
    left_out[ONLY_SECOND] = len(theirs.keys() - ours.keys())
    pairs: list[tuple[float, float]] = []
    for item_id, one in ours.items():
        other = theirs.get(item_id)
        if other is None:
            continue
        pair = _pair(metric, one, other)
        if isinstance(pair, str):
            left_out[pair] += 1
        else:
            pairs.append(pair)
    found = difference(pairs)
    return MetricDifference(
        metric=metric,
        first=fmean(pair[0] for pair in pairs) if pairs else None,
        second=fmean(pair[1] for pair in pairs) if pairs else None,
        difference=found.mean,
        low=found.low,
        high=found.high,
        n_pairs=found.n,
        left_out={reason: count for reason, count in left_out.items() if count},
    )


def _pair(metric: str, one: GradedCase, other: GradedCase) -> tuple[float, float] | str:
    """The two values, or why they cannot be compared."""
    if one.case.item.revision != other.case.item.revision:
        return CHANGED
    ours, theirs = _score(metric, one), _score(metric, other)
    if ours.value is None or theirs.value is None or ours.status is not ScoreStatus.OK:
        return NOT_SCORED
    if ours.metric_version != theirs.metric_version:
        return OTHER_VERSION
    if (ours.judge and ours.judge.series) != (theirs.judge and theirs.judge.series):
        return OTHER_JUDGE
    return ours.value, theirs.value


def _score(metric: str, graded: GradedCase) -> Score:
    return next(score for score in graded.scores if score.metric == metric)
