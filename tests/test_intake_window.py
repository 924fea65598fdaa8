"""Nights and windows."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from rag_checks.intake import Window, night_window, resolve_night

SHANGHAI = ZoneInfo("Asia/Shanghai")
BERLIN = ZoneInfo("Europe/Berlin")


def night(logical: datetime | None, *, now: datetime, explicit: date | None = None) -> date:
    """The night in Shanghai."""
    return resolve_night(logical_date=logical, explicit_night=explicit, zone=SHANGHAI, now=now)


def at(day: int, hour: int = 2, minute: int = 30) -> datetime:
    """A moment of November 2026 in Shanghai, by default when the schedule runs."""
    return datetime(2026, 11, day, hour, minute, tzinfo=SHANGHAI)


@pytest.mark.parametrize(
    ("day", "hours"),
    [(date(2026, 3, 29), 23), (date(2026, 10, 25), 25), (date(2026, 6, 1), 24)],
)
def test_a_night_is_the_local_day_even_when_the_clocks_change(day: date, hours: int) -> None:
    """Spring and autumn days of Berlin have 23 and 25 hours."""
    window = night_window(day, BERLIN)
    assert window.end - window.start == timedelta(hours=hours)
    assert window.start.astimezone(BERLIN).date() == day
    assert (window.end - timedelta(microseconds=1)).astimezone(BERLIN).date() == day


def test_neighbouring_nights_touch_and_do_not_overlap() -> None:
    """Every moment belongs to exactly one night, also around changes of the clocks."""
    for zone in (BERLIN, SHANGHAI, ZoneInfo("America/Santiago"), ZoneInfo("America/Havana")):
        for offset in range(366):
            day = date(2026, 1, 1) + timedelta(days=offset)
            today, tomorrow = night_window(day, zone), night_window(day + timedelta(days=1), zone)
            assert today.end == tomorrow.start
            assert today.end in tomorrow
            assert today.end not in today


def test_a_window_wants_zones_and_order() -> None:
    """Naive or reversed bounds are refused."""
    moment = datetime(2026, 11, 29, tzinfo=UTC)
    with pytest.raises(ValueError, match="time zone"):
        Window(moment.replace(tzinfo=None), moment)
    with pytest.raises(ValueError, match="before it starts"):
        Window(moment, moment - timedelta(seconds=1))


def test_a_logical_date_means_its_own_day_whatever_made_the_run() -> None:
    """Logical date 15 is day 15 for the scheduled run of the 16th and for one given by hand weeks later."""
    scheduled = night(at(15), now=at(16))
    by_hand_at_midnight = night(at(15, 0, 0), now=at(28, 11))
    assert scheduled == by_hand_at_midnight == date(2026, 11, 15)


def test_the_day_is_that_of_the_monitors_zone() -> None:
    """18:30 UTC on the 14th is already the 15th in Shanghai."""
    assert night(datetime(2026, 11, 14, 18, 30, tzinfo=UTC), now=at(16)) == date(2026, 11, 15)


def test_a_logical_date_that_is_not_over_and_none_at_all_mean_yesterday() -> None:
    """The trigger form fills in the present moment; asset-triggered runs have no logical date."""
    assert night(at(16, 10), now=at(16, 10, 1)) == date(2026, 11, 15)
    assert night(None, now=at(16, 10)) == date(2026, 11, 15)
    assert night(None, now=datetime(2026, 11, 15, 16, 30, tzinfo=UTC)) == date(2026, 11, 15)


def test_an_explicit_night_wins() -> None:
    """The parameter is stronger than any date of the run."""
    assert night(at(15), now=at(16), explicit=date(2026, 11, 3)) == date(2026, 11, 3)
