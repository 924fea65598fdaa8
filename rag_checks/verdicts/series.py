"""History sorted into series: one metric on one source, night by night, with who graded it (P4)."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import NamedTuple

from rag_checks.records import ScoreRow, ScoreStatus
from rag_checks.verdicts.estimates import Estimate, estimate, outcome

# An intent may hold nothing but scores of vanishing weight; their powers must not underflow to 0.
_LEAST_WEIGHT = 1e-6


class Identity(NamedTuple):
    """What makes two scores of one metric comparable: its version and the judge's fingerprint."""

    metric_version: str
    judge: str | None


class Graded(NamedTuple):
    """One usable score; weights average 1 within their night, so every night counts by its sample size."""

    item_id: str
    cluster: str
    intent: str
    value: float
    weight: float


class Key(NamedTuple):
    """Names a series."""

    metric: str
    source: str


@dataclass(frozen=True)
class Night:
    """All rows of one series in one night."""

    night: date
    rows: tuple[ScoreRow, ...]

    @cached_property
    def estimate(self) -> Estimate:
        """Mean, interval and counts over all rows."""
        return estimate(self.rows)

    @cached_property
    def identities(self) -> tuple[tuple[Identity, int], ...]:
        """Who gave the usable scores, most scores first; failed rows name no reliable judge."""
        counts = Counter(Identity(row.metric_version, row.judge) for row in self.rows if _usable(row))
        return tuple(sorted(counts.items(), key=lambda entry: (-entry[1], str(entry[0]))))

    @property
    def identity(self) -> Identity | None:
        """Who gave most of the scores; None in a night without scores."""
        return self.identities[0][0] if self.identities else None

    @cached_property
    def graded(self) -> tuple[Graded, ...]:
        """Usable scores by the night's identity."""
        rows = [row for row in self.rows if _usable(row) and (row.metric_version, row.judge) == self.identity]
        scale = max((row.weight for row in rows), default=1.0)
        mean_weight = sum(row.weight / scale for row in rows) / len(rows) if rows else 1.0
        return tuple(
            Graded(
                row.item_id,
                row.conversation_id if row.conversation_id is not None else row.item_id,
                row.intent,
                float(row.value),
                max(_LEAST_WEIGHT, row.weight / scale / mean_weight),
            )
            for row in rows
            if row.value is not None
        )

    @cached_property
    def by_intent(self) -> dict[str, tuple[ScoreRow, ...]]:
        """Rows of each intent, names in order."""
        cells: dict[str, list[ScoreRow]] = {}
        for row in self.rows:
            cells.setdefault(row.intent, []).append(row)
        return {intent: tuple(cells[intent]) for intent in sorted(cells)}

    @property
    def release(self) -> str | None:
        """The release most rows came from."""
        counts = Counter(row.release for row in self.rows if row.release is not None)
        return min(counts, key=lambda name: (-counts[name], name)) if counts else None

    def covered(self, minimum_coverage: float | None) -> bool:
        """Whether enough was scored for the mean to mean something: judges fail on hard items first."""
        coverage = self.estimate.coverage
        return bool(self.graded) and coverage is not None and coverage >= (minimum_coverage or 0.0)


def _usable(row: ScoreRow) -> bool:
    return outcome(row) == ScoreStatus.OK


def read_series(rows: Iterable[ScoreRow]) -> dict[Key, tuple[Night, ...]]:
    """Sort rows into series, nights oldest first, keys in order. The order of rows does not matter.

    Rows are put in order of item inside a night so that sums come out the same to the last bit.
    """
    grouped: dict[Key, dict[date, list[ScoreRow]]] = {}
    for row in rows:
        grouped.setdefault(Key(row.metric, row.source), {}).setdefault(row.night, []).append(row)
    return {
        key: tuple(
            Night(night, tuple(sorted(grouped[key][night], key=lambda row: (row.item_id, repr(row.value)))))
            for night in sorted(grouped[key])
        )
        for key in sorted(grouped)
    }
