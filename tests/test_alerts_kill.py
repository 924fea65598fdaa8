"""A sender killed at any point of a delivery, with the store's own outbox: never lost, never twice."""

import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from alerts_fixtures import NOW, failing_night, message
from fake_slack import FakeSlack, refused_url
from store_fixtures import DATABASES, fresh_database

from rag_checks.alerts.messages import digest
from rag_checks.alerts.outbox import deliver
from rag_checks.alerts.slack import SlackBot, SlackWebhook
from rag_checks.errors import DeliveryUncertain, SlackUnavailable
from rag_checks.store import Store

MESSAGE = message(digest(failing_night("en")), created_at=NOW.replace(year=2020))
LATER = NOW + timedelta(hours=1)


@pytest.fixture
def slack():
    """A workspace."""
    with FakeSlack() as running:
        yield running


@pytest.fixture(params=DATABASES)
def store(request, tmp_path):
    """The URL of a store whose outbox holds one message."""
    with fresh_database(request, tmp_path) as url:
        with Store.open(url) as opened:
            opened.outbox().enqueue(MESSAGE)
        yield url


def send(url, sender, now=NOW):
    """One delivery."""
    with Store.open(url) as opened:
        return deliver(opened.outbox(), MESSAGE.message_id, sender, now=now, save_dir=None)


def state(url):
    """How the message stands."""
    with Store.open(url) as opened:
        [stored] = opened.messages()
        return stored.state


DYING = """
import os, signal, sys
from alerts_fixtures import NOW
from rag_checks.alerts.outbox import deliver
from rag_checks.alerts.slack import SlackBot, SlackWebhook
from rag_checks.store import Store

kind, address, database, message_id, point = sys.argv[1:]

class Dying:
    '''Passes everything on and dies by SIGKILL just before or after one call.'''
    def __init__(self, inner):
        self.inner = inner
    def __getattr__(self, name):
        value = getattr(self.inner, name)
        if not callable(value):
            return value
        def call(*args, **kwargs):
            if point == f"before {name}":
                os.kill(os.getpid(), signal.SIGKILL)
            result = value(*args, **kwargs)
            if point == f"after {name}":
                os.kill(os.getpid(), signal.SIGKILL)
            return result
        return call

sender = SlackBot("xoxb-test", base_url=address) if kind == "bot" else SlackWebhook(address)
deliver(Dying(Store.open(database).outbox()), message_id, Dying(sender), now=NOW, save_dir=None)
"""


def die(slack, store, kind, point):
    """Deliver in a process of its own that is killed at a point."""
    address = slack.url if kind == "bot" else slack.webhook_url
    command = [sys.executable, "-c", DYING, kind, address, store, MESSAGE.message_id, point]
    ended = subprocess.run(command, cwd=Path(__file__).parent, check=False, timeout=60)
    assert ended.returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    "point", ["before claim", "after claim", "before send", "after send", "after update"]
)
def test_killed_at_any_point_leaves_exactly_one_message(store, slack, point):
    """Kill -9 anywhere, then deliver again: one message, marked as sent."""
    die(slack, store, "bot", point)
    again = send(store, SlackBot(slack.token, base_url=slack.url, timeout_s=5), LATER)
    assert again is None if point == "after update" else again.state == "sent"
    assert state(store) == "sent"
    assert len(slack.messages) == 1


def test_killed_in_a_second_attempt_is_not_taken_for_the_first(store, slack):
    """Refused first, killed after sending next: the third attempt looks instead of trusting the refusal."""
    with pytest.raises(SlackUnavailable):
        send(store, SlackBot("xoxb-test", base_url=refused_url()), NOW - timedelta(hours=1))
    die(slack, store, "bot", "after send")
    assert send(store, SlackBot(slack.token, base_url=slack.url, timeout_s=5), LATER).state == "sent"
    assert len(slack.messages) == 1


def test_killed_after_a_webhook_took_it_is_uncertain(store, slack):
    """A webhook cannot be asked whether the dead sender got through: never twice, and a person is told."""
    die(slack, store, "webhook", "after send")
    with pytest.raises(DeliveryUncertain, match="ended without an answer"):
        send(store, SlackWebhook(slack.webhook_url, timeout_s=5), LATER)
    assert len(slack.messages) == 1


def test_a_message_being_sent_is_left_to_its_sender_for_two_minutes(store, slack):
    """A claim that is fresh may belong to someone alive; an old one is taken over."""
    die(slack, store, "bot", "after claim")
    bot = SlackBot(slack.token, base_url=slack.url, timeout_s=5)
    assert send(store, bot, NOW + timedelta(seconds=119)) is None
    assert slack.messages == []
    assert send(store, bot, NOW + timedelta(seconds=121)).state == "sent"
    assert len(slack.messages) == 1
