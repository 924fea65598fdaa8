"""Which conversations belong to a night: pure functions of dates, zones and given moments."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from rag_checks.records import is_aware


@dataclass(frozen=True)
class Window:
    """A half-open span of event time, `[start, end)`; both carry a zone.

    Raises:
        ValueError: a bound has no zone, or the end lies before the start.
    """

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        if not (is_aware(self.start) and is_aware(self.end)):
            raise ValueError("a window's bounds need a time zone")
        if self.end < self.start:
            raise ValueError(f"window ends {self.end} before it starts {self.start}")

    def __contains__(self, moment: datetime) -> bool:
        return self.start <= moment < self.end


def night_window(night: date, zone: ZoneInfo) -> Window:
    """Local midnight to local midnight of `night`, in UTC: 23 or 25 hours when the clocks change.

    A midnight that the clocks skip or repeat is taken with fold=0 (the offset before the change), which is
    the first moment of that day in both cases.
    """
    start, end = (
        datetime.combine(day, time.min, zone).astimezone(UTC) for day in (night, night + timedelta(days=1))
    )
    return Window(start, end)


def resolve_night(
    *, logical_date: datetime | None, explicit_night: date | None, zone: ZoneInfo, now: datetime
) -> date:
    """The local day a run grades.

    1. `explicit_night` wins.
    2. Otherwise it is the local day of `logical_date`, whatever made the run: scheduled, backfilled and
       manual runs of logical date 15 all grade day 15. The data interval has no say: Airflow gives a manual
       run of logical date 15 the interval before it (14 to 15) and a scheduled one the interval after it.
    3. A logical date whose local day is not over at `now` cannot mean that day (the trigger form fills in the
       present moment), and a run without a logical date means none: both grade the day before `now`.

    Args:
        logical_date: the run's logical date, aware, or None.
        explicit_night: the day asked for by a parameter, or None.
        zone: the monitor's zone.
        now: when the run was made, aware. In Airflow pass `dag_run.run_after`: it is the same when the run is
            cleared and tried again on a later day, the wall clock is not.
    """
    if explicit_night is not None:
        return explicit_night
    today = now.astimezone(zone).date()
    if logical_date is not None and (day := logical_date.astimezone(zone).date()) < today:
        return day
    return today - timedelta(days=1)
