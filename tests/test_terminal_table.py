"""What `rag-checks run` shows fits a terminal of 80 columns, with nothing cut."""

import pytest
from alerts_fixtures import failing_night
from rich.console import Console

from rag_checks.records import Level, Verdict
from rag_checks.terminal import print_run

LONGEST = "refusal_correctness"


def row(level: Level, *, minimum: float | None = 0.5, slice_: str = "all") -> Verdict:
    """A verdict with numbers as wide as they get."""
    return Verdict(
        metric=LONGEST,
        source="golden",
        slice=slice_,
        level=level,
        value=0.76,
        low=0.66,
        high=0.84,
        n_ok=190,
        n_failed=0,
        n_not_applicable=0,
        n_total=190,
        minimum=minimum,
        baseline=0.91,
        rule="",
    )


@pytest.mark.parametrize("level", list(Level))
def test_no_number_of_the_table_is_cut(level: Level) -> None:
    """Name, interval and level are whole at 80 columns, whatever the level."""
    console = Console(width=80)
    night = failing_night("en").model_copy(update={"verdicts": (row(level),), "worst": (), "findings": ()})
    with console.capture() as captured:
        print_run(console, night, None, None)
    [line] = [line for line in captured.get().splitlines() if line.startswith(LONGEST)]
    assert "…" not in line
    assert "0.66–0.84" in line
    assert "190/190" in line
    assert line.rstrip().endswith("fail: drop" if level is Level.FAIL else level.value)


def test_a_value_below_the_minimum_is_a_plain_fail() -> None:
    """Only a fail above the minimum is called a drop."""
    console = Console(width=80)
    night = failing_night("en").model_copy(update={"verdicts": (row(Level.FAIL, minimum=0.8),)})
    with console.capture() as captured:
        print_run(console, night, None, None)
    [line] = [line for line in captured.get().splitlines() if line.startswith(LONGEST)]
    assert line.rstrip().endswith(" fail")
