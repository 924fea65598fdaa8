"""The one decision (P2): from shifts, night after night, to a level with the test that decided.

Critical values come from a simulation of many metrics, intents and nights and hold the family of all tests
of a monitor to well under one false alarm in 90 healthy nights; they are not per-test 5 % values.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal, NamedTuple

from rag_checks.records import Level
from rag_checks.verdicts.shifts import Shift

WINDOWS = (1, 3, 7, 14)
"""Nights looked at together: short ones find collapses, long ones find slow or small drops."""

Kind = Literal["baseline", "together", "target", "warning"]
BASELINES: tuple[Kind, ...] = ("baseline", "together")
KINDS: tuple[Kind, ...] = (*BASELINES, "target", "warning")
RECENT = 3
HOLD = 2
TARGET_FAIL_Z = -3.5
TARGET_WATCH_Z = -2.5
RECOVERED_Z = -1.5
MINIMUM_FAILURES = 5.0


@dataclass(frozen=True)
class Critical:
    """Critical values against the baseline. `drop` is the smallest drop worth a word, however significant."""

    fail_z: float
    watch_z: float
    drop: float
    failures: float


ALL = Critical(fail_z=-4.2, watch_z=-2.5, drop=0.01, failures=0.0)
# Cells are many: they need more evidence, and enough failures (expected or seen) to tell.
CELL = Critical(fail_z=-4.8, watch_z=-3.6, drop=0.02, failures=MINIMUM_FAILURES)


class Limit(NamedTuple):
    """What a course is held to; None is not checked. `tolerated`: None never fails against the baseline."""

    tolerated: float | None
    minimum: float | None
    warning: float | None


class Test(NamedTuple):
    """One shift and what it was measured against."""

    kind: Kind
    shift: Shift


class Outcome(NamedTuple):
    """Level of one night and the test that decided; the most telling one when nothing is wrong."""

    level: Level
    test: Test | None
    recovering: bool = False
    tolerated: bool = False
    held: bool = False
    """It would fail, but the judge is under suspicion."""
    begin: int = 0
    """Position of the first night that still counts: what was before a repair is forgotten."""


@dataclass(frozen=True)
class Course:
    """One series (or one intent of it) over its nights, held to its limits.

    `against_baseline(start, end)`, `together(start, end)` and `against(wanted, start, end)` give the shift of
    the nights start..end-1, by position; None where nothing can be compared. `together` is that from the
    baseline of this series fused with that of the metric's other source: a test only where they `agree`.
    """

    nights: Sequence[date]
    monitored_from: int
    limit: Limit
    critical: Critical
    against_baseline: Callable[[int, int], Shift | None]
    together: Callable[[int, int], Shift | None]
    agree: Callable[[int, int], bool]
    against: Callable[[float, int, int], Shift | None]
    suspected: Callable[[int], bool]
    """Whether a stricter judge might explain what the night at this position shows."""
    begin: int = 0
    """Position of the first night that counts."""

    def outcome(self) -> Outcome:
        """Decide the last night.

        The nights are walked in order because an episode has a memory: once failing, it is over after three
        clear nights in a row (no sign of trouble, half the drop regained) whose mean is within 1.5 standard
        errors. Later windows then begin after the episode, so a problem that was repaired is not found
        again. A new failure that a suspected judge might explain waits for the canaries, two nights at most.
        """
        begin, clear, held = self.begin, 0, 0
        drops: dict[Kind, float] = {}
        result = Outcome(Level.OK, None)
        for last in range(max(begin, self.monitored_from), len(self.nights)):
            result = self._decide(begin, last)
            waits = result.level is Level.FAIL and not drops and held < HOLD and self.suspected(last)
            held = held + 1 if waits else 0
            if waits:
                result = Outcome(Level.WATCH, result.test, held=True)
            if result.level is Level.FAIL and result.test is not None:
                kind, drop = result.test.kind, -result.test.shift.deviation
                drops[kind] = max(drops.get(kind, 0.0), drop)
            if not drops:
                continue
            clear = clear + 1 if self._clear(begin, last, drops, 1, self.critical.watch_z) else 0
            if clear >= RECENT and self._clear(begin, last, drops, RECENT, RECOVERED_Z):
                begin, clear = last - RECENT + 1, 0
                drops.clear()
                result = self._decide(begin, last)
            elif result.level is not Level.FAIL or clear > 1:
                result = Outcome(Level.WATCH, result.test, recovering=True)
        return result._replace(begin=begin)

    def since(self, outcome: Outcome) -> date | None:
        """First night of a problem: where the last nights, up to 14, are furthest from what was wanted."""
        if outcome.test is None or outcome.level not in (Level.WATCH, Level.FAIL):
            return None
        end = len(self.nights)
        shifts = [
            shift
            for start in range(max(self._first(outcome.test.kind), end - WINDOWS[-1]), end)
            if (shift := self._shift(outcome.test.kind, start, end)) is not None
        ]
        return min(shifts, key=lambda shift: shift.z).first if shifts else None

    def _first(self, kind: str) -> int:
        return self.monitored_from if kind in BASELINES else 0

    def _shift(self, kind: str, start: int, end: int) -> Shift | None:
        if kind == "baseline":
            return self.against_baseline(start, end)
        if kind == "together":
            return self.together(start, end)
        wanted = self.limit.minimum if kind == "target" else self.limit.warning
        return None if wanted is None else self.against(wanted, start, end)

    def _tests(self, begin: int, last: int) -> list[Test]:
        """Every test of the night at `last`, over nights not before `begin`."""
        tests = []
        for kind in KINDS:
            first = max(begin, self._first(kind))
            for window in sorted({min(window, last + 1 - first) for window in WINDOWS}):
                start, end = last + 1 - window, last + 1
                if kind == "together" and not self.agree(start, end):
                    continue
                shift = self._shift(kind, start, end)
                if shift is not None and shift.failures >= self.critical.failures:
                    tests.append(Test(kind, shift))
        return tests

    def _decide(self, begin: int, last: int) -> Outcome:
        tests = self._tests(begin, last)
        for level, broken in ((Level.FAIL, self._fails), (Level.WATCH, self._worries)):
            found = [test for test in tests if broken(test)]
            current = [
                test for test in found if test.shift.nights <= RECENT or not self._over(test, begin, last)
            ]
            if current:
                worst = min(current, key=lambda test: test.shift.z)
                return Outcome(level, worst, tolerated=level is Level.WATCH and self._tolerated(worst))
        telling = [test for test in tests if test.kind == "baseline"] or tests
        return Outcome(Level.OK, min(telling, key=lambda test: test.shift.z) if telling else None)

    def _fails(self, test: Test) -> bool:
        shift = test.shift
        if test.kind == "target":
            return shift.z < TARGET_FAIL_Z
        if test.kind == "warning" or self.limit.tolerated is None:
            return False
        return shift.z < self.critical.fail_z and -shift.deviation > max(
            self.critical.drop, self.limit.tolerated
        )

    def _tolerated(self, test: Test) -> bool:
        """Whether a drop is beyond noise but smaller than the target allows."""
        allowed = self.limit.tolerated
        return (
            test.kind in BASELINES
            and test.shift.z < self.critical.fail_z
            and allowed is not None
            and -test.shift.deviation <= allowed
        )

    def _worries(self, test: Test) -> bool:
        shift = test.shift
        if test.kind in BASELINES:
            return shift.z < self.critical.watch_z and -shift.deviation > self.critical.drop
        return shift.z < TARGET_WATCH_Z and -shift.deviation > self.critical.drop

    def _recent(self, kind: Kind, begin: int, last: int, nights: int = RECENT) -> Shift | None:
        return self._shift(kind, max(begin, self._first(kind), last + 1 - nights), last + 1)

    def _over(self, test: Test, begin: int, last: int) -> bool:
        """Whether a long window only remembers what is gone: half regained, no sign in the last nights."""
        recent = self._recent(test.kind, begin, last)
        if recent is None:
            return False
        return recent.z > self.critical.watch_z and recent.deviation > test.shift.deviation / 2

    def _clear(self, begin: int, last: int, drops: Mapping[Kind, float], nights: int, least_z: float) -> bool:
        """Whether the last nights are near baseline and minimum, and half of the drop is regained."""
        for kind in KINDS[:-1]:
            if kind == "together" and kind not in drops:
                continue
            recent = self._recent(kind, begin, last, nights)
            if recent is None:
                continue
            if recent.z <= least_z or (kind in drops and recent.deviation < -drops[kind] / 2):
                return False
        return True
