"""What errors of Slack mean: is the message surely not delivered, will later help, what has a person to do.

"Surely not delivered" decides what the outbox may do next. urllib wraps everything that goes wrong before the
whole request is handed over (name, connection, TLS, sending) in URLError; what is raised after that (timeout,
reset, broken answer) comes bare, and then the message may be there. HTTP answers come from Slack itself,
except a gateway's 502 and 504.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.error import URLError

from rag_checks.errors import SlackRejected, SlackUnavailable

if TYPE_CHECKING:
    from slack_sdk.errors import SlackApiError

_Answer = TypeVar("_Answer")

_NEW_KEY = "set SLACK_BOT_TOKEN to the bot token (xoxb-…) of an app installed in the workspace"
# https://docs.slack.dev/reference/methods/chat.postMessage#errors
_FIXES = {
    "channel_not_found": "no such channel for this bot: check alerts.channel in the monitor file; "
    "into a private channel the bot must be invited with /invite",
    "not_in_channel": "invite the bot into the channel with /invite, "
    "or give the app the scope chat:write.public",
    "is_archived": "the channel is archived: unarchive it or change alerts.channel in the monitor file",
    "channel_is_archived": "the channel is archived: unarchive it or create a webhook for another channel",
    "invalid_auth": f"the token is not valid: {_NEW_KEY}",
    "not_authed": f"no token was sent: {_NEW_KEY}",
    "token_revoked": f"the token was revoked: reinstall the app and {_NEW_KEY}",
    "token_expired": f"the token has expired: {_NEW_KEY}",
    "account_inactive": f"the token belongs to a removed bot or workspace: {_NEW_KEY}",
    "missing_scope": "give the Slack app the missing scope (OAuth & Permissions) and reinstall it",
    "restricted_action": "a workspace setting forbids posting in this channel: "
    "ask an admin or change alerts.channel",
    "msg_too_long": "the message is longer than Slack takes: please report this as a bug",
    "msg_blocks_too_long": "the message is longer than Slack takes: please report this as a bug",
    "invalid_blocks": "Slack does not take the layout of the message: please report this as a bug",
    "invalid_payload": "Slack does not take the layout of the message: please report this as a bug",
    "no_service": "the webhook was removed: create a new one and set SLACK_WEBHOOK_URL",
    "no_team": "the workspace of the webhook is gone: create a new one and set SLACK_WEBHOOK_URL",
    "invalid_token": "the webhook is not valid: create a new one and set SLACK_WEBHOOK_URL",
    "action_prohibited": "an admin forbids this webhook: ask them, or use SLACK_BOT_TOKEN",
}
_RATE_LIMITED = {"ratelimited", "rate_limited"}
# Of the first two Slack says that part of the operation may have succeeded.
_SLACK_IS_ILL = {
    "internal_error",
    "fatal_error",
    "service_unavailable",
    "team_added_to_org",
    "request_timeout",
}
_SERVER_ERROR = 500
_TOO_MANY_REQUESTS = 429
# A gateway lost the answer of the server behind it, which may have taken the message.
_GATEWAY_ERRORS = {502, 504}


def transported(send: Callable[[], _Answer], doing: str) -> _Answer:
    """Run a call; transport errors become SlackUnavailable with what they mean for delivery."""
    try:
        return send()
    except URLError as error:
        raise SlackUnavailable(f"{doing}: Slack cannot be reached: {error.reason}") from error
    except (OSError, HTTPException, UnicodeDecodeError, LookupError) as error:
        # The latter two: an answer in another charset than it says, as error pages of proxies are.
        reason = f"{type(error).__name__} {error}".strip()
        raise SlackUnavailable(f"{doing}: no answer came: {reason}", maybe_delivered=True) from error


def call(send: Callable[[], _Answer], doing: str) -> _Answer:
    """Run a call of the web API; its errors become ours."""
    from slack_sdk.errors import SlackApiError  # noqa: PLC0415 - slack_sdk is optional and slow to import

    try:
        return transported(send, doing)
    except SlackApiError as error:
        raise _api_error(error, doing) from error


def pages(fetch: Callable[[str | None], Any], doing: str) -> Iterator[Any]:
    """Replies of a paged method, one after the other."""
    cursor: str | None = None
    while True:
        page = call(lambda: fetch(cursor), doing)  # noqa: B023 - called before `cursor` changes
        yield page
        cursor = (page.get("response_metadata") or {}).get("next_cursor")
        if not cursor:
            return


def _api_error(error: "SlackApiError", doing: str) -> SlackUnavailable | SlackRejected:
    response = error.response
    status, code = response.status_code, str(response.get("error") or "no error code")
    if status == _TOO_MANY_REQUESTS or code in _RATE_LIMITED:
        return SlackUnavailable(f"{doing}: too many requests", retry_after=_retry_after(response.headers))
    if status >= _SERVER_ERROR or code in _SLACK_IS_ILL or "non-JSON" in code:
        return SlackUnavailable(f"{doing}: Slack is not well: HTTP {status}, {code}", maybe_delivered=True)
    return _rejected(
        doing, code, response.get("needed"), (response.get("response_metadata") or {}).get("messages")
    )


def webhook_error(status: int, body: str, headers: Mapping[str, str]) -> SlackUnavailable | SlackRejected:
    """What a webhook's answer other than 200 `ok` means; the address is a secret and stays out of it."""
    doing = "posting to the webhook"
    if status == _TOO_MANY_REQUESTS:
        return SlackUnavailable(f"{doing}: too many requests", retry_after=_retry_after(headers))
    if status >= _SERVER_ERROR:
        return SlackUnavailable(f"{doing}: HTTP {status}", maybe_delivered=status in _GATEWAY_ERRORS)
    code = _code_in(body)
    if status < 300 and code is None:  # noqa: PLR2004 - HTTP's own number
        return SlackUnavailable(
            f"{doing}: HTTP {status}, but the answer is not Slack's", maybe_delivered=True
        )
    return _rejected(doing, code or f"HTTP {status}")


def _code_in(body: str) -> str | None:
    """The error code in a webhook's answer: a bare word, or `error` in JSON; None for anything else."""
    word = body.strip()
    if word.startswith("{"):
        try:
            word = str(json.loads(word).get("error") or "")
        except ValueError:
            return None
    return word if re.fullmatch(r"[a-z][a-z_]{1,60}", word) else None


def _rejected(doing: str, code: str, needed: object = None, details: object = None) -> SlackRejected:
    fix = _FIXES.get(code, "look the code up at https://docs.slack.dev/reference/methods/chat.postMessage")
    parts = [f"needed: {needed}" if needed else "", str(details) if details else ""]
    told = "; ".join(part for part in parts if part)
    return SlackRejected(f"{doing}: Slack says {code}{f' ({told})' if told else ''}: {fix}")


def _retry_after(headers: Mapping[str, Any]) -> float | None:
    """Seconds to wait as the header says; None when it does not say a number."""
    value = next((value for name, value in headers.items() if name.lower() == "retry-after"), "")
    try:
        seconds = float(value[0] if isinstance(value, list) else value)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
