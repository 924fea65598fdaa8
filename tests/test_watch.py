"""The watchdog: nights that were due and not delivered are told from outside the run, once (P10)."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from fake_slack import FakeSlack, http
from hypothesis import example, given
from hypothesis import strategies as st
from workspace import NIGHT, ZONE, Workspace, make_workspace

from rag_checks.monitor import Monitor
from rag_checks.pipeline import use_cases as pipeline
from rag_checks.pipeline.watch import last_due, watch, watch_all
from rag_checks.store import Store

# The night of NIGHT is due at 02:30 the day after; the deadline (60 minutes) and two hours of grace follow.
DUE = datetime(NIGHT.year, NIGHT.month, NIGHT.day + 1, 2, 30, tzinfo=ZONE)
LATE = DUE + timedelta(hours=3, minutes=1)


@pytest.fixture
def told(tmp_path: Path):
    """A workspace that tells a loopback Slack, with the night before NIGHT delivered."""
    with FakeSlack() as slack:
        space = make_workspace(
            tmp_path, nights=2, changes={"alerts": {"channel": "#rag-alerts", "slack_base_url": slack.url}}
        )
        space.set_environ(SLACK_BOT_TOKEN=slack.token)
        pipeline.run_night(space.monitor, space.settings, NIGHT - timedelta(days=1), wanted_alert="no")
        yield space, slack


def at(space: Workspace, now: datetime):
    """What the watchdog finds at a time."""
    return watch(space.monitor, space.settings, now=now)


def test_a_night_that_never_began_is_told_once(told) -> None:
    """Every look finds it; people get one message, with what to do."""
    space, slack = told
    found = [at(space, LATE + timedelta(hours=hours)) for hours in range(3)]
    assert {one.night for one in found if one} == {NIGHT}
    assert {one.status for one in found if one} == {None}
    [message] = slack.messages
    assert f"rag-checks run toy --night {NIGHT}" in str(message)


def test_a_night_that_stopped_half_way_is_told_with_how_far_it_got(told) -> None:
    """A run that was planned and graded nothing is not delivered."""
    space, slack = told
    pipeline.plan_night(space.monitor, space.settings, NIGHT)
    found = at(space, LATE)
    assert found is not None
    assert found.status == "planned"
    assert "planned" in str(slack.messages[0])


def test_a_delivered_night_is_nobody_s_business(told) -> None:
    """Done means told."""
    space, slack = told
    pipeline.run_night(space.monitor, space.settings, NIGHT, wanted_alert="no")
    assert at(space, LATE) is None
    assert slack.messages == []


def test_it_waits_for_deadline_and_grace(told) -> None:
    """A minute before, the run may still be on its way."""
    space, slack = told
    assert at(space, LATE - timedelta(minutes=2)) is None
    assert slack.messages == []


def test_a_night_told_as_broken_is_not_told_again(told) -> None:
    """The failing task was quicker."""
    space, slack = told
    pipeline.alert_broken(space.monitor, space.settings, NIGHT, what="w", error="e", next_step="n")
    assert at(space, LATE) is not None
    assert len(slack.messages) == 1


def test_a_monitor_that_never_ran_is_not_watched_yet(tmp_path: Path) -> None:
    """A file that was just written owes nothing."""
    assert at(make_workspace(tmp_path), LATE) is None


def test_every_file_is_looked_at_whatever_the_others_do(told) -> None:
    """A file that cannot be read is a finding, and hides none."""
    space, _ = told
    (space.folder / "a_broken.yaml").write_text("monitor: [", encoding="utf-8")
    found = {one.monitor: one for one in watch_all(space.settings, now=LATE)}
    assert found["a_broken"].problem
    assert found["toy"].overdue is not None
    assert found["toy"].bad
    assert f"night {NIGHT} is overdue" in found["toy"].as_line()
    assert found["toy"].as_json()["message"] == "sent"


def test_a_slack_that_is_down_is_a_finding_and_the_message_waits(told) -> None:
    """What could not be told stays in the outbox for the next look."""
    space, slack = told
    slack.fault("chat.postMessage", *[http(503)] * 20)
    [found] = watch_all(space.settings, now=LATE)
    assert found.problem
    with Store.open(space.settings.store_url) as store:
        assert [message.state for message in store.messages()] == ["pending"]


@pytest.mark.parametrize(
    ("schedule", "zone", "now", "due"),
    [
        # New York leaves daylight saving time on 2026-11-01: 02:30 is there once, an hour later in UTC.
        ("30 2 * * *", "America/New_York", "2026-11-01T12:00Z", "2026-11-01T07:30Z"),
        ("30 2 * * *", "America/New_York", "2026-10-31T12:00Z", "2026-10-31T06:30Z"),
        ("30 2 * * 1-5", "UTC", "2026-03-08T12:00Z", "2026-03-06T02:30Z"),  # Sunday: Friday's
        ("@daily", "Asia/Shanghai", "2026-03-10T12:00Z", "2026-03-09T16:00Z"),
    ],
)
def test_what_is_due_follows_the_schedule_in_its_own_zone(
    schedule: str, zone: str, now: str, due: str
) -> None:
    """Zones, week-ends and names of schedules."""
    monitor = Monitor(monitor="m", schedule=schedule, time_zone=zone)
    assert last_due(monitor, datetime.fromisoformat(now)) == datetime.fromisoformat(due)


def test_nothing_is_due_without_a_schedule_or_after_the_last_night() -> None:
    """A pilot that has ended is not dead."""
    now = datetime(2026, 3, 12, 12, tzinfo=UTC)
    assert last_due(Monitor(monitor="m", schedule=None), now) is None
    assert last_due(Monitor(monitor="m", last_night=date(2026, 3, 10)), now) is None
    assert last_due(Monitor(monitor="m", last_night=date(2026, 3, 11)), now) is not None


HOURS = st.integers(0, 366 * 24)
ZONES = st.sampled_from(["UTC", "Asia/Shanghai", "Europe/Berlin"])


@given(HOURS, ZONES)
@example(2093, "Europe/Berlin")
def test_what_is_due_is_past_and_not_older_than_a_day(hours: int, zone: str) -> None:
    """Daily schedules: between three and twenty-eight hours ago, whatever the clocks do."""
    now = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=hours)
    due = last_due(Monitor(monitor="m", time_zone=zone), now)
    assert due is not None
    assert timedelta(hours=3) <= now - due <= timedelta(hours=28)
    local = due.astimezone(ZoneInfo(zone))
    wanted = local.replace(hour=2, minute=30)
    exists = (
        wanted.astimezone(UTC).astimezone(ZoneInfo(zone)) == wanted
        and wanted.utcoffset() == local.utcoffset()
    )
    # In Berlin 02:30 is left out once a year; the night is due when the clocks have gone forward, at 03:00.
    assert (local.hour, local.minute) == ((2, 30) if exists else (3, 0))
