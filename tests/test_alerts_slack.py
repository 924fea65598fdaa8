"""What errors of Slack come to mean, against a real loopback server."""

import logging
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from alerts_fixtures import NOW, failing_night
from fake_slack import FakeSlack, hang_up, http, no_answer, refusal, refused_url

from rag_checks.alerts.messages import digest
from rag_checks.alerts.slack import Sent, SlackBot, SlackWebhook, sender_from_env
from rag_checks.errors import ConfigError, SlackRejected, SlackUnavailable
from rag_checks.monitor import Alerts

PAYLOAD = digest(failing_night("zh"))
MESSAGE_ID = "hr_bot-2026-10-24:digest"
POST = "chat.postMessage"


@pytest.fixture
def slack():
    """A workspace."""
    with FakeSlack() as running:
        yield running


def bot_of(slack):
    """A bot that gives up soon."""
    return SlackBot(slack.token, base_url=slack.url, timeout_s=0.3)


def hook_of(slack):
    """A webhook that gives up soon."""
    return SlackWebhook(slack.webhook_url, timeout_s=0.3)


def test_a_message_arrives_whole_and_without_previews(slack):
    """Text, blocks and the id arrive as they were; links are not unfurled."""
    sent = bot_of(slack).send("rag-alerts", PAYLOAD, MESSAGE_ID)
    (message,) = slack.messages
    assert (message["text"], message["blocks"]) == (PAYLOAD["text"], PAYLOAD["blocks"])
    assert message["unfurl_links"] is False
    assert sent == Sent("C0RAGALERTS", message["ts"])


def test_a_webhook_delivers_too(slack):
    """The same payload arrives through an incoming webhook; it has no address afterwards."""
    assert hook_of(slack).send(None, PAYLOAD, MESSAGE_ID) == Sent(None, None)
    assert slack.messages[0]["blocks"] == PAYLOAD["blocks"]


@pytest.mark.parametrize("waiting", ["3", "0.5"])
def test_retry_after_is_passed_on(slack, waiting):
    """The wait Slack asks for is in the error, and nothing counts as delivered."""
    for sender, method in ((bot_of(slack), POST), (hook_of(slack), "webhook")):
        slack.fault(method, http(429, retry_after=waiting))
        with pytest.raises(SlackUnavailable) as caught:
            sender.send("rag-alerts", PAYLOAD, MESSAGE_ID)
        assert caught.value.retry_after == float(waiting)
        assert not caught.value.maybe_delivered
        assert slack.count(method) == 1  # the SDK does not send again on its own


@pytest.mark.parametrize("header", ["soon", "Wed, 21 Oct 2026 07:28:00 GMT", "nan", "-1", "inf"])
def test_a_retry_after_that_is_no_number_is_ignored(slack, header):
    """A strange header does not break the error handling."""
    slack.fault(POST, http(429, retry_after=header))
    with pytest.raises(SlackUnavailable) as caught:
        bot_of(slack).send("rag-alerts", PAYLOAD, MESSAGE_ID)
    assert caught.value.retry_after is None


@pytest.mark.parametrize(
    "fault",
    [
        http(500),
        http(503, body=b"<html>down</html>"),
        http(502, body="网关错误".encode("gbk"), headers={"Content-Type": "text/html"}),
        http(200, body=b"<html>log in to the network</html>"),
        refusal("internal_error"),
        no_answer(delivered=False),
        hang_up(delivered=False),
    ],
)
def test_no_clear_answer_may_be_a_delivered_message(slack, fault):
    """After the request was handed over, only a clear answer proves that nothing was posted."""
    slack.fault(POST, fault)
    with pytest.raises(SlackUnavailable) as caught:
        bot_of(slack).send("rag-alerts", PAYLOAD, MESSAGE_ID)
    assert caught.value.maybe_delivered
    assert slack.count(POST) == 1


@pytest.mark.parametrize(
    ("fault", "maybe"),
    [
        (http(500, body=b"rollup_error"), False),
        (http(503), False),
        (http(502), True),
        (http(504), True),
        (http(200, body=b"<html>log in</html>"), True),
        (no_answer(delivered=False), True),
        (hang_up(delivered=False), True),
    ],
)
def test_what_a_webhook_error_says_about_delivery(slack, fault, maybe):
    """Slack's own error answer means not delivered; silence and gateways leave it open."""
    slack.fault("webhook", fault)
    with pytest.raises(SlackUnavailable) as caught:
        hook_of(slack).send(None, PAYLOAD, MESSAGE_ID)
    assert caught.value.maybe_delivered is maybe


def test_a_refused_connection_delivered_nothing():
    """Nobody listens: unavailable, and surely not delivered."""
    for sender in (SlackBot("xoxb-test", base_url=refused_url()), SlackWebhook(refused_url())):
        with pytest.raises(SlackUnavailable, match="cannot be reached") as caught:
            sender.send("rag-alerts", PAYLOAD, MESSAGE_ID)
        assert not caught.value.maybe_delivered


@pytest.mark.parametrize(
    ("code", "fix"),
    [
        ("channel_not_found", "alerts.channel"),
        ("not_in_channel", "/invite"),
        ("invalid_auth", "SLACK_BOT_TOKEN"),
        ("account_inactive", "SLACK_BOT_TOKEN"),
        ("is_archived", "unarchive"),
        ("msg_too_long", "bug"),
        ("invalid_blocks", "bug"),
        ("some_new_code", "some_new_code"),
    ],
)
def test_a_refusal_names_its_code_and_the_fix(slack, code, fix):
    """What trying again cannot change is told with what a person has to do."""
    slack.fault(POST, refusal(code))
    with pytest.raises(SlackRejected, match=code) as caught:
        bot_of(slack).send("rag-alerts", PAYLOAD, MESSAGE_ID)
    assert fix in str(caught.value)


@pytest.mark.parametrize(
    ("status", "code", "fix"),
    [
        (404, "no_service", "SLACK_WEBHOOK_URL"),
        (403, "invalid_token", "SLACK_WEBHOOK_URL"),
        (410, "channel_is_archived", "unarchive"),
        (400, "invalid_payload", "bug"),
        (400, "<html>", "HTTP 400"),
    ],
)
def test_a_webhook_refusal_names_the_fix_but_never_the_address(slack, status, code, fix):
    """The address of a webhook is a secret: it is in no error."""
    slack.fault("webhook", http(status, body=code.encode()))
    with pytest.raises(SlackRejected) as caught:
        hook_of(slack).send(None, PAYLOAD, MESSAGE_ID)
    assert fix in str(caught.value)
    assert "secret" not in str(caught.value)


def test_an_ok_false_behind_a_webhook_is_not_taken_for_success(slack):
    """Some Slack-like servers answer 200 with an error in JSON."""
    slack.fault("webhook", refusal("invalid_payload"))
    with pytest.raises(SlackRejected, match="invalid_payload"):
        hook_of(slack).send(None, PAYLOAD, MESSAGE_ID)


def test_a_missing_scope_is_named(slack):
    """The scope Slack asks for is in the message."""
    slack.scopes.discard("chat:write")
    with pytest.raises(SlackRejected, match="needed: chat:write"):
        bot_of(slack).send("rag-alerts", PAYLOAD, MESSAGE_ID)


def test_a_message_slack_would_refuse_is_not_even_sent(slack):
    """The limits are checked before anything goes out."""
    payload = {"text": "x", "blocks": [{"type": "header", "text": {"type": "plain_text", "text": "x" * 151}}]}
    for sender in (bot_of(slack), hook_of(slack)):
        with pytest.raises(SlackRejected, match="151 characters"):
            sender.send("rag-alerts", payload, MESSAGE_ID)
    assert slack.calls == []


@pytest.mark.parametrize("channel", ["rag-alerts", "#rag-alerts", "C0RAGALERTS"])
def test_a_message_is_found_by_its_id(channel):
    """On any page, by the channel's name or id, and only the message with this id."""
    with FakeSlack(page_size=2) as slack:
        slack.channels = {f"other-{n}": f"C0OTHER{n:04d}" for n in range(3)} | slack.channels
        bot = bot_of(slack)
        sent = [bot.send(channel, PAYLOAD, f"hr_bot-{n}:digest") for n in range(5)]
        assert bot.find(channel, "hr_bot-1:digest", NOW.replace(year=2020)) == sent[1]
        assert bot.find(channel, "hr_bot-9:digest", NOW.replace(year=2020)) is None


def test_only_messages_after_a_time_are_looked_through(slack):
    """Older history is not read, so a busy channel stays cheap; clocks may differ by a few minutes."""
    bot = bot_of(slack)
    sent = bot.send("rag-alerts", PAYLOAD, MESSAGE_ID)
    now = datetime.now(UTC)
    assert bot.find("rag-alerts", MESSAGE_ID, now + timedelta(hours=1)) is None
    assert bot.find("rag-alerts", MESSAGE_ID, now + timedelta(minutes=5)) == sent


def test_a_picture_goes_into_the_thread(slack, tmp_path):
    """The file arrives whole, in the thread of the message."""
    picture = tmp_path / "trend.png"
    picture.write_bytes(b"\x89PNG picture")
    bot = bot_of(slack)
    sent = bot.send("rag-alerts", PAYLOAD, MESSAGE_ID)
    assert bot.attach(sent, picture, "trend") is None
    (file,) = slack.files
    assert (file["data"], file["thread_ts"], file["channel"]) == (b"\x89PNG picture", sent.ts, sent.channel)


@pytest.mark.parametrize(
    ("method", "fault", "told"),
    [
        ("files.getUploadURLExternal", refusal("missing_scope", needed="files:write"), "files:write"),
        ("files.completeUploadExternal", http(500), "HTTP 500"),
        ("upload", http(500), "not uploaded"),
        ("upload", no_answer(delivered=False), "not uploaded"),
    ],
)
def test_a_picture_that_cannot_be_uploaded_is_a_note(slack, tmp_path, method, fault, told):
    """Whatever goes wrong with the picture is told, not raised."""
    picture = tmp_path / "trend.png"
    picture.write_bytes(b"\x89PNG")
    slack.fault(method, fault)
    assert told in bot_of(slack).attach(Sent("C0RAGALERTS", "1.2"), picture, "trend")


def test_a_picture_that_is_gone_is_a_note(slack, tmp_path):
    """A missing file and a webhook both say why there is no picture."""
    assert "not uploaded" in bot_of(slack).attach(Sent("C0RAGALERTS", "1.2"), tmp_path / "gone.png", "trend")
    assert "webhook" in hook_of(slack).attach(Sent(None, None), tmp_path / "gone.png", "trend")


@pytest.mark.parametrize(
    ("channel", "environ", "expected"),
    [
        ("rag-alerts", {"SLACK_BOT_TOKEN": "xoxb-1"}, SlackBot),
        ("rag-alerts", {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_WEBHOOK_URL": "https://h.example/x"}, SlackBot),
        (None, {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_WEBHOOK_URL": "https://h.example/x"}, SlackWebhook),
        ("rag-alerts", {"SLACK_WEBHOOK_URL": " https://h.example/x\n"}, SlackWebhook),
        (None, {"SLACK_BOT_TOKEN": "xoxb-1"}, type(None)),
        ("rag-alerts", {"SLACK_BOT_TOKEN": " "}, type(None)),
        ("rag-alerts", {}, type(None)),
    ],
)
def test_who_sends_is_decided_by_what_is_set(channel, environ, expected):
    """A bot needs a token and a channel, a webhook its address; without either nobody sends."""
    assert type(sender_from_env(Alerts(channel=channel), environ)) is expected


@pytest.mark.parametrize(
    ("alerts", "environ", "key"),
    [
        ({}, {"SLACK_WEBHOOK_URL": "hooks.slack.com/secret"}, "SLACK_WEBHOOK_URL"),
        ({"channel": "x"}, {"SLACK_BOT_TOKEN": "xoxb-secret…"}, "SLACK_BOT_TOKEN"),
        ({"channel": "x", "slack_base_url": "slack/api"}, {"SLACK_BOT_TOKEN": "x"}, "alerts.slack_base_url"),
    ],
)
def test_a_setting_that_cannot_work_is_named_without_its_value(alerts, environ, key):
    """The key is named; secrets are not repeated."""
    with pytest.raises(ConfigError, match=key) as caught:
        sender_from_env(Alerts(**alerts), environ)
    assert "secret" not in str(caught.value)


def test_messages_and_addresses_stay_out_of_logs(slack, caplog):
    """Even at DEBUG, neither users' text nor the token nor the webhook's address is logged."""
    caplog.set_level(logging.DEBUG)
    bot_of(slack).send("rag-alerts", PAYLOAD, MESSAGE_ID)
    hook_of(slack).send(None, PAYLOAD, MESSAGE_ID)
    slack.fault("webhook", hang_up(delivered=False))
    with pytest.raises(SlackUnavailable):
        hook_of(slack).send(None, PAYLOAD, MESSAGE_ID)
    for hidden in ("张伟", slack.token, "services"):
        assert hidden not in caplog.text


def test_the_proxy_for_https_is_not_used_for_http(slack, monkeypatch):
    """A Slack-like server inside, by plain http, is reached although the way out is by proxy."""
    monkeypatch.setenv("HTTPS_PROXY", refused_url())
    monkeypatch.setenv("https_proxy", refused_url())
    bot_of(slack).send("rag-alerts", PAYLOAD, MESSAGE_ID)
    hook_of(slack).send(None, PAYLOAD, MESSAGE_ID)
    assert len(slack.messages) == 2


def test_alerts_import_without_slack_sdk():
    """The light install has no slack_sdk: importing every module of this part does not need it."""
    program = (
        "import sys; sys.modules['slack_sdk'] = None\n"
        "import rag_checks.alerts.messages, rag_checks.alerts.outbox, rag_checks.alerts.slack"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_a_check_names_bot_team_and_channel_without_posting():
    """`doctor` tries the token for real and leaves no message."""
    with FakeSlack() as slack:
        said = SlackBot(slack.token, base_url=slack.url).check("#rag-alerts")
        assert said == "bot ragchecks of Testers posts to #rag-alerts, which is C0RAGALERTS"
        assert slack.messages == []


def test_a_check_with_a_wrong_token_says_so():
    """The error names the token's variable."""
    with FakeSlack() as slack, pytest.raises(SlackRejected, match="SLACK_BOT_TOKEN"):
        SlackBot("xoxb-wrong", base_url=slack.url).check("#rag-alerts")
