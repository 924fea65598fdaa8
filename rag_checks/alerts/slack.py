"""Sending to Slack through slack-sdk: a bot token (can look a message up again) or an incoming webhook."""

import logging
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rag_checks.alerts.blocks import validate
from rag_checks.alerts.slack_errors import call, pages, transported, webhook_error
from rag_checks.errors import ConfigError, SlackRejected, SlackUnavailable
from rag_checks.monitor import Alerts

if TYPE_CHECKING:
    from slack_sdk.web.client import WebClient

EVENT_TYPE = "rag_checks_message"
TIMEOUT_S = 30
# How far the clocks of the store and Slack may differ when a message is looked up by time.
CLOCK_SKEW = timedelta(minutes=10)

_NO_CHANNEL = "no channel to post in: set alerts.channel in the monitor file"

_VISIBLE = re.compile(r"[!-~]+")
_ADDRESS = re.compile(r"https?://[!-~]+")
_CHANNEL_ID = re.compile(r"[CGD][A-Z0-9]{7,}")


class Sent(NamedTuple):
    """Where a message is; both None when the channel does not say (webhook)."""

    channel: str | None
    ts: str | None


class SlackBot:
    """Posts with a bot token. Needs the scope chat:write.

    channels:history (groups:history) lets a message be found again after a crash, channels:read (groups:read)
    is needed for that too when the channel is given by name, and files:write puts the trend picture into the
    thread.
    """

    can_look_up = True

    def __init__(self, token: str, *, base_url: str | None = None, timeout_s: float = TIMEOUT_S) -> None:
        self._token = token
        self._base_url = base_url
        self._timeout_s = timeout_s

    def send(self, channel: str | None, payload: dict[str, Any], message_id: str) -> Sent:
        """Post a message that carries its id as metadata.

        Raises:
            SlackUnavailable: not taken now; `maybe_delivered` tells whether it could be there all the same.
            SlackRejected: channel, token, scope or message is wrong; the message names the fix.
        """
        if not channel:
            raise SlackRejected(_NO_CHANNEL)
        _refuse_invalid(payload)
        client = self._client()
        reply = call(
            lambda: client.chat_postMessage(
                channel=channel,
                text=payload["text"],
                blocks=payload["blocks"],
                metadata=_metadata(message_id),
                mrkdwn=False,
                unfurl_links=False,
                unfurl_media=False,
            ),
            f"posting in {channel}",
        )
        return Sent(reply.get("channel"), reply.get("ts"))

    def check(self, channel: str | None) -> str:
        """Ask Slack whose token it is and whether the channel can be looked up; one line for `doctor`.

        Raises SlackUnavailable and SlackRejected as `send`.
        """
        client = self._client()
        who = call(client.auth_test, "asking who the token belongs to")
        said = f"bot {who.get('user')} of {who.get('team')} posts to {channel}"
        if channel and not _CHANNEL_ID.fullmatch(channel):
            said += f", which is {self._channel_id(client, channel)}"
        return said

    def find(self, channel: str | None, message_id: str, since: datetime) -> Sent | None:
        """The message with this id among those posted after `since`; None when it is not there.

        Raises:
            SlackUnavailable: cannot be asked now.
            SlackRejected: may not be asked: a scope is missing or the bot is not in the channel.
        """
        if not channel:
            raise SlackRejected(_NO_CHANNEL)
        client = self._client()
        place = channel if _CHANNEL_ID.fullmatch(channel) else self._channel_id(client, channel)
        oldest = f"{(since - CLOCK_SKEW).timestamp():.6f}"
        for page in pages(
            lambda cursor: client.conversations_history(
                channel=place, oldest=oldest, limit=200, include_all_metadata=True, cursor=cursor
            ),
            f"reading the history of {channel}",
        ):
            for message in page.get("messages") or []:
                metadata = message.get("metadata") or {}
                if (metadata.get("event_payload") or {}).get("message_id") == message_id:
                    return Sent(place, message["ts"])
        return None

    def attach(self, sent: Sent, path: Path, title: str) -> str | None:
        """Upload a picture into the message's thread; the reason when that did not work, else None."""
        from slack_sdk.errors import SlackClientError  # noqa: PLC0415 - slack_sdk is optional and slow to import

        client = self._client()
        try:
            call(
                lambda: client.files_upload_v2(
                    channel=sent.channel, thread_ts=sent.ts, file=str(path), title=title, alt_txt=title
                ),
                "uploading the picture",
            )
        except (SlackUnavailable, SlackRejected, SlackClientError, OSError) as error:
            return f"the picture was not uploaded: {error}"
        return None

    def _channel_id(self, client: "WebClient", name: str) -> str:
        """The id of a channel the bot is in: only ids are taken by conversations.history."""
        types = "public_channel,private_channel"
        for page in pages(
            lambda cursor: client.users_conversations(types=types, limit=200, cursor=cursor),
            f"looking up the id of {name}",
        ):
            for channel in page.get("channels") or []:
                if channel.get("name") == name.removeprefix("#"):
                    return str(channel["id"])
        raise SlackRejected(
            f"the bot is in no channel named {name}: invite it with /invite, "
            "or set alerts.channel to the channel's id"
        )

    def _client(self) -> "WebClient":
        from slack_sdk.web.client import WebClient  # noqa: PLC0415 - slack_sdk is optional and slow to import

        client = WebClient(
            token=self._token,
            base_url=self._base_url or WebClient.BASE_URL,
            timeout=self._timeout_s,  # type: ignore[arg-type]  # the SDK says int, urllib takes a float
            retry_handlers=[],  # its default sends again after a lost connection, which doubles messages
            logger=_silent_logger(),
        )
        client.proxy = None  # the SDK takes HTTPS_PROXY for http too; urllib itself goes by the scheme
        return client


class SlackWebhook:
    """Posts to an incoming webhook: one channel, no lookup, no pictures."""

    can_look_up = False

    def __init__(self, url: str, *, timeout_s: float = TIMEOUT_S) -> None:
        self._url = url
        self._timeout_s = timeout_s

    def send(self, channel: str | None, payload: dict[str, Any], message_id: str) -> Sent:  # noqa: ARG002 - as SlackBot
        """Post a message; raises as `SlackBot.send`."""
        from slack_sdk.webhook.client import WebhookClient  # noqa: PLC0415 - optional and slow to import

        _refuse_invalid(payload)
        client = WebhookClient(
            self._url,
            timeout=self._timeout_s,  # type: ignore[arg-type]  # the SDK says int, urllib takes a float
            retry_handlers=[],
            logger=_silent_logger(),
        )
        client.proxy = None  # as for the bot
        body = {
            "text": payload["text"],
            "blocks": payload["blocks"],
            "unfurl_links": False,
            "unfurl_media": False,
        }
        answer = transported(lambda: client.send_dict(body), "posting to the webhook")
        if answer.status_code == 200 and answer.body.strip() == "ok":  # noqa: PLR2004 - HTTP's own number
            return Sent(None, None)
        raise webhook_error(answer.status_code, answer.body, answer.headers)

    def check(self, channel: str | None) -> str:  # noqa: ARG002 - as SlackBot
        """A webhook cannot be tried without posting; says so."""
        return "an incoming webhook is set; it cannot be tried without posting"

    def find(self, *_: object) -> Sent | None:
        """Not possible."""
        raise SlackRejected(
            "an incoming webhook cannot be asked for its messages; use SLACK_BOT_TOKEN instead"
        )

    def attach(self, sent: Sent, path: Path, title: str) -> str | None:  # noqa: ARG002 - as SlackBot
        """Not possible; says so."""
        return "the picture was not uploaded: an incoming webhook cannot; the report has it"


SlackSender = SlackBot | SlackWebhook


def sender_from_env(alerts: Alerts, environ: Mapping[str, str]) -> SlackSender | None:
    """Who sends: a bot if there is SLACK_BOT_TOKEN and a channel, else SLACK_WEBHOOK_URL; None: nobody.

    Raises:
        ConfigError: SLACK_BOT_TOKEN, SLACK_WEBHOOK_URL or alerts.slack_base_url cannot be what it should be.
    """
    token = environ.get("SLACK_BOT_TOKEN", "").strip()
    webhook = environ.get("SLACK_WEBHOOK_URL", "").strip()
    if token and alerts.channel:
        if not _VISIBLE.fullmatch(token):
            raise ConfigError("holds characters no token has; copy it again", key="SLACK_BOT_TOKEN")
        if alerts.slack_base_url is not None and not _ADDRESS.fullmatch(alerts.slack_base_url):
            raise ConfigError("is not a web address", key="alerts.slack_base_url")
        return SlackBot(token, base_url=alerts.slack_base_url)
    if not webhook:
        return None
    if not _ADDRESS.fullmatch(webhook):
        raise ConfigError(
            "is not a web address like https://hooks.slack.com/services/…", key="SLACK_WEBHOOK_URL"
        )
    return SlackWebhook(webhook)


def _metadata(message_id: str) -> dict[str, Any]:
    """What lets a bot find the message again, https://docs.slack.dev/messaging/message-metadata."""
    return {"event_type": EVENT_TYPE, "event_payload": {"message_id": message_id}}


def _refuse_invalid(payload: dict[str, Any]) -> None:
    problems = validate(payload)
    if problems:
        raise SlackRejected(f"Slack would not take this message: {'; '.join(problems[:5])}")


def _silent_logger() -> logging.Logger:
    """The SDK logs whole messages and webhook addresses at DEBUG and errors that are raised anyway (P6)."""
    logger = logging.getLogger("rag_checks.alerts.slack_sdk")
    logger.setLevel(logging.CRITICAL)
    return logger
