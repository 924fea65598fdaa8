"""The outbox: nothing lost, nothing sent twice, whatever dies or fails in between."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from alerts_fixtures import NOW, StoreOutbox, failing_night, message
from fake_slack import FakeSlack, hang_up, http, no_answer, refusal, refused_url
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rag_checks.alerts.messages import digest
from rag_checks.alerts.outbox import deliver, file_name, post
from rag_checks.alerts.slack import SlackBot, SlackWebhook
from rag_checks.errors import ConfigError, DeliveryUncertain, SlackRejected, SlackUnavailable

PAYLOAD = digest(failing_night("en"))
MESSAGE = message(PAYLOAD, created_at=NOW.replace(year=2020))
POST = "chat.postMessage"
LATER = NOW + timedelta(hours=1)


@pytest.fixture
def slack():
    """A workspace."""
    with FakeSlack() as running:
        yield running


@pytest.fixture
def outbox(tmp_path):
    """An outbox holding one message."""
    box = StoreOutbox(tmp_path / "outbox.sqlite")
    box.enqueue(MESSAGE)
    return box


def bot_of(slack):
    """A bot that gives up soon."""
    return SlackBot(slack.token, base_url=slack.url, timeout_s=0.3)


def hook_of(slack):
    """A webhook that gives up soon."""
    return SlackWebhook(slack.webhook_url, timeout_s=0.3)


def send(outbox, sender, now=NOW):
    """One delivery."""
    return deliver(outbox, MESSAGE.message_id, sender, now=now, save_dir=None)


def test_a_sent_message_is_recorded_and_never_sent_again(outbox, slack):
    """State, time and Slack's ts are stored; later deliveries have nothing to do."""
    sent = send(outbox, bot_of(slack))
    assert (sent.state, sent.sent_at, sent.remote_id) == ("sent", NOW, slack.messages[0]["ts"])
    assert outbox.get(MESSAGE.message_id) == sent
    assert send(outbox, bot_of(slack), LATER) is None
    assert len(slack.messages) == 1


def test_too_many_requests_then_fine(outbox, slack):
    """429 waits as long as Slack asks, then the message arrives, without a lookup in between."""
    slack.fault(POST, http(429, retry_after=120))
    with pytest.raises(SlackUnavailable):
        send(outbox, bot_of(slack))
    waiting = outbox.get(MESSAGE.message_id)
    assert (waiting.state, waiting.not_before) == ("pending", NOW + timedelta(seconds=120))
    assert send(outbox, bot_of(slack), NOW + timedelta(seconds=119)) is None
    assert send(outbox, bot_of(slack), NOW + timedelta(seconds=121)).state == "sent"
    assert slack.count("conversations.history") == 0
    assert len(slack.messages) == 1


def test_waits_grow_while_slack_is_down(outbox):
    """Without a wait from Slack the pauses double up to a quarter of an hour; nothing is lost."""
    sender, now, waits = SlackBot("xoxb-test", base_url=refused_url()), NOW, []
    for _ in range(8):
        with pytest.raises(SlackUnavailable):
            send(outbox, sender, now)
        due = outbox.get(MESSAGE.message_id).not_before
        waits.append((due - now).total_seconds())
        now = due
    assert waits == [30, 60, 120, 240, 480, 900, 900, 900]


@pytest.mark.parametrize(
    "lost", [no_answer(delivered=True), hang_up(delivered=True), http(500, delivered=True)]
)
def test_a_message_whose_answer_was_lost_is_found_not_doubled(outbox, slack, lost):
    """Delivered, but the answer never came: the lookup finds it at once."""
    slack.fault(POST, lost)
    assert send(outbox, bot_of(slack)).remote_id == slack.messages[0]["ts"]
    assert len(slack.messages) == 1


def test_a_message_that_shows_up_late_is_found_by_the_next_attempt(outbox, slack):
    """Slack is away right after a lost answer: the next attempt looks again before it sends."""
    slack.fault(POST, no_answer(delivered=True))
    slack.fault("conversations.history", http(503), http(429, retry_after=7))
    for now in (NOW, LATER):
        with pytest.raises(SlackUnavailable):
            send(outbox, bot_of(slack), now)
    assert outbox.get(MESSAGE.message_id).not_before == LATER + timedelta(seconds=7)
    assert send(outbox, bot_of(slack), LATER + timedelta(hours=1)).state == "sent"
    assert len(slack.messages) == 1
    assert slack.count(POST) == 1


def test_a_timeout_without_delivery_is_sent_again(outbox, slack):
    """Nothing in the channel after a timeout: pending again, and one message in the end."""
    slack.fault(POST, no_answer(delivered=False))
    with pytest.raises(SlackUnavailable):
        send(outbox, bot_of(slack))
    assert slack.messages == []
    assert send(outbox, bot_of(slack), LATER).state == "sent"
    assert slack.count("conversations.history") == 2
    assert len(slack.messages) == 1


@pytest.mark.parametrize(
    ("scope", "fix"), [("channels:history", "channels:history"), ("channels:read", "channels:read")]
)
def test_without_the_scope_to_look_a_lost_answer_is_uncertain(outbox, slack, scope, fix):
    """It is not sent twice, a person is told which scope is missing, and with the scope it resolves."""
    slack.scopes.discard(scope)
    slack.fault(POST, no_answer(delivered=True))
    with pytest.raises(DeliveryUncertain, match=fix):
        send(outbox, bot_of(slack))
    assert outbox.get(MESSAGE.message_id).state == "uncertain"
    assert send(outbox, bot_of(slack), LATER) is None
    slack.scopes.add(scope)
    assert post(outbox, MESSAGE, bot_of(slack), now=LATER, save_dir=None).state == "sent"
    assert len(slack.messages) == 1


def test_a_webhook_that_gave_no_answer_is_uncertain_and_stays_so(outbox, slack):
    """A webhook cannot be asked: the message is never sent again and every call says so."""
    slack.fault("webhook", no_answer(delivered=True))
    with pytest.raises(DeliveryUncertain, match="look into the channel"):
        send(outbox, hook_of(slack))
    with pytest.raises(DeliveryUncertain, match="not sent again"):
        post(outbox, MESSAGE, hook_of(slack), now=LATER, save_dir=None)
    assert len(slack.messages) == 1


@pytest.mark.parametrize("fault", [http(500), http(429, retry_after=1), None])
def test_a_webhook_that_surely_did_not_deliver_is_tried_again(outbox, slack, fault):
    """An error answer or a refused connection: pending, then exactly one message."""
    if fault:
        slack.fault("webhook", fault)
    with pytest.raises(SlackUnavailable):
        send(outbox, hook_of(slack) if fault else SlackWebhook(refused_url()))
    assert outbox.get(MESSAGE.message_id).state == "pending"
    assert send(outbox, hook_of(slack), LATER).state == "sent"
    assert len(slack.messages) == 1


def test_a_refusal_fails_with_the_fix_and_can_be_tried_after_it(outbox, slack):
    """A wrong token fails the message; after the fix the same call delivers it."""
    with pytest.raises(SlackRejected, match="SLACK_BOT_TOKEN"):
        send(outbox, SlackBot("xoxb-old", base_url=slack.url))
    failed = outbox.get(MESSAGE.message_id)
    assert failed.state == "failed"
    assert "SLACK_BOT_TOKEN" in failed.last_error
    assert post(outbox, MESSAGE, bot_of(slack), now=LATER, save_dir=None).state == "sent"
    assert len(slack.messages) == 1


def test_posting_twice_tells_once(tmp_path, slack):
    """The whole step is repeatable: the second call returns what the first one did."""
    outbox = StoreOutbox(tmp_path / "outbox.sqlite")
    first = post(outbox, MESSAGE, bot_of(slack), now=NOW, save_dir=None)
    assert post(outbox, MESSAGE, bot_of(slack), now=LATER, save_dir=None) == first
    assert len(slack.messages) == 1


def test_posting_before_its_time_is_an_error_not_a_silence(outbox, slack):
    """Nobody was told yet, so a retry that comes too early must not look like success."""
    slack.fault(POST, http(429, retry_after=60))
    with pytest.raises(SlackUnavailable):
        post(outbox, MESSAGE, bot_of(slack), now=NOW, save_dir=None)
    with pytest.raises(SlackUnavailable, match="waits") as caught:
        post(outbox, MESSAGE, bot_of(slack), now=NOW + timedelta(seconds=20), save_dir=None)
    assert caught.value.retry_after == 40


@pytest.mark.parametrize(
    "fault", [None, refusal("missing_scope", needed="files:write"), http(500), hang_up(delivered=True)]
)
def test_a_picture_neither_loses_nor_doubles_the_message(tmp_path, slack, fault):
    """The message is sent whatever happens to the picture; what happened is noted."""
    outbox = StoreOutbox(tmp_path / "outbox.sqlite")
    picture = tmp_path / "trend.png"
    picture.write_bytes(b"\x89PNG")
    if fault:
        slack.fault("files.getUploadURLExternal", fault)
    sent = post(outbox, message(PAYLOAD, attachment=str(picture)), bot_of(slack), now=NOW, save_dir=None)
    assert sent.state == "sent"
    assert len(slack.messages) == 1
    assert len(slack.files) == (0 if fault else 1)
    assert (sent.last_error is None) == (fault is None)
    assert outbox.get(sent.message_id) == sent


def test_without_anybody_to_send_to_the_message_is_saved(outbox, tmp_path):
    """The payload and the text people would read are written, whole, under a safe name."""
    folder = tmp_path / "new" / "messages"
    printed = deliver(outbox, MESSAGE.message_id, None, now=NOW, save_dir=folder)
    assert printed.state == "printed"
    assert sorted(path.name for path in folder.iterdir()) == [
        "hr_bot-2026-10-24_digest.json",
        "hr_bot-2026-10-24_digest.txt",
    ]
    assert json.loads((folder / "hr_bot-2026-10-24_digest.json").read_text("utf-8")) == PAYLOAD
    assert "Where it broke" in (folder / "hr_bot-2026-10-24_digest.txt").read_text("utf-8")


def test_a_folder_that_cannot_be_written_leaves_the_message_waiting(outbox, tmp_path):
    """The error names the folder; after the fix the message is saved."""
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ConfigError, match="cannot save the message"):
        deliver(outbox, MESSAGE.message_id, None, now=NOW, save_dir=tmp_path / "file")
    assert outbox.get(MESSAGE.message_id).state == "pending"
    assert deliver(outbox, MESSAGE.message_id, None, now=NOW, save_dir=tmp_path / "ok").state == "printed"


@given(
    st.text(max_size=300) | st.sampled_from(["../../etc/passwd", ".", "..", "", "a/b", "x" * 500, "\ud83d"])
)
@example("-")
def test_any_message_id_is_a_safe_file_name(message_id):
    """Stays in its folder, is not hidden, and is short enough for any file system."""
    name = file_name(message_id)
    assert Path(name).name == name
    assert not name.startswith((".", "-"))
    assert 0 < len(name.encode()) < 200


FAULTS = {
    "429": http(429, retry_after=1),
    "500": http(500),
    "hung up": hang_up(delivered=False),
    "hung up after delivery": hang_up(delivered=True),
    "504 after delivery": http(504, delivered=True),
}


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.sampled_from(list(FAULTS)), max_size=5),
    st.lists(st.sampled_from(["429", "500", "hung up"]), max_size=3),
    st.sampled_from(["bot", "webhook"]),
)
def test_whatever_goes_wrong_a_message_is_never_there_twice(tmp_path_factory, sending, looking, kind):
    """Any series of faults: at most one message, and exactly one when it is marked as sent."""
    outbox = StoreOutbox(tmp_path_factory.mktemp("box") / "outbox.sqlite")
    with FakeSlack() as slack:
        slack.fault(POST if kind == "bot" else "webhook", *(FAULTS[name] for name in sending))
        slack.fault("conversations.history", *(FAULTS[name] for name in looking))
        sender = bot_of(slack) if kind == "bot" else hook_of(slack)
        now, state = NOW, ""
        for _ in range(12):
            now += timedelta(hours=1)
            try:
                state = post(outbox, MESSAGE, sender, now=now, save_dir=None).state
            except (SlackUnavailable, DeliveryUncertain):
                state = outbox.get(MESSAGE.message_id).state
        assert len(slack.messages) <= 1
        assert state == "sent" or (kind == "webhook" and state == "uncertain")
        assert state != "sent" or len(slack.messages) == 1
