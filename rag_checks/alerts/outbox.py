"""Delivering what is in the outbox: nothing lost, nothing sent twice, whatever dies in between.

::

    pending ──claim──▶ sending ──send──▶ sent       (then the picture, which cannot change the state)
       ▲                  │
       │  not delivered   ├── refused, 429, HTTP error ──▶ pending again, not before a while
       └──────────────────┤
                          ├── no answer, or the sender died ──▶ looked up: there → sent,
                          │      not there → sent again, cannot be looked up → uncertain (a person looks)
                          ├── wrong channel, token, scope ──▶ failed (a person fixes it)
                          └── nobody to send to ──▶ printed and saved

The store's `claim` says only how often sending began. How the attempt before ended is read from `last_error`:
one that surely delivered nothing begins with `NOT_DELIVERED`; anything else above one attempt is looked up.
"""

import hashlib
import json
import os
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from rag_checks.alerts.slack import Sent
from rag_checks.alerts.terminal import as_terminal
from rag_checks.errors import ConfigError, DeliveryUncertain, SlackRejected, SlackUnavailable
from rag_checks.protocols import Outbox
from rag_checks.records import OutboxMessage

NOT_DELIVERED = "not delivered: "
FIRST_WAIT = timedelta(seconds=30)
LONGEST_WAIT = timedelta(minutes=15)


class Sender(Protocol):
    """A channel to people: `slack.SlackBot`, `slack.SlackWebhook`."""

    @property
    def can_look_up(self) -> bool:
        """Whether `find` can work."""

    def send(self, channel: str | None, payload: dict[str, Any], message_id: str) -> Sent:
        """Post the message. Raises SlackUnavailable or SlackRejected."""

    def find(self, channel: str | None, message_id: str, since: datetime) -> Sent | None:
        """The message if it is there. Raises SlackUnavailable or SlackRejected."""

    def attach(self, sent: Sent, path: Path, title: str) -> str | None:
        """Add a picture to the message; what went wrong, or None."""


def post(
    outbox: Outbox, message: OutboxMessage, sender: Sender | None, *, now: datetime, save_dir: Path | None
) -> OutboxMessage:
    """Put a message into the outbox, once, and see that people are told; safe to call again at any time.

    A message that failed is tried again, because a person may have fixed channel, token or scope since; so is
    an uncertain one that can be looked up now.

    Returns:
        The message as sent or printed, now or by an earlier call.

    Raises:
        SlackUnavailable: not delivered yet, call again later (`retry_after` seconds when that is known).
        SlackRejected, DeliveryUncertain: a person has to act; nobody was told, or nobody knows.
        ConfigError: the message cannot be saved in `save_dir`.
    """
    stored = outbox.enqueue(message)
    looks_up = sender is not None and sender.can_look_up
    if stored.state == "failed" or (stored.state == "uncertain" and looks_up):
        stored = _write(outbox, stored, state="pending", not_before=None)
    if stored.state in {"sent", "printed"}:
        return stored
    if stored.state == "uncertain":
        raise DeliveryUncertain(
            stored.last_error or f"message {stored.message_id} may or may not have arrived"
        )
    delivered = deliver(outbox, stored.message_id, sender, now=now, save_dir=save_dir)
    if delivered is None:
        wait = max((stored.not_before - now).total_seconds(), 0) if stored.not_before else None
        raise SlackUnavailable(
            f"message {stored.message_id} waits for its next attempt: {stored.last_error}", retry_after=wait
        )
    return delivered


def deliver(
    outbox: Outbox, message_id: str, sender: Sender | None, *, now: datetime, save_dir: Path | None
) -> OutboxMessage | None:
    """Send a waiting message, or without a sender write it to `save_dir` as .json and .txt.

    Returns:
        The message as sent or printed; None when there is nothing to do (sent already, failed, not due yet).

    Raises:
        SlackUnavailable: pending again with `not_before`.
        SlackRejected: failed; the message names the fix.
        DeliveryUncertain: it may have been delivered and that cannot be asked.
        ConfigError: the message cannot be saved; pending again.
    """
    message = outbox.claim(message_id, now)
    if message is None:
        return None
    if sender is None:
        return _print(outbox, message, save_dir)
    if message.attempts > 1 and not (message.last_error or "").startswith(NOT_DELIVERED):
        found = _look_up(outbox, message, sender, now, "the attempt before ended without an answer")
        if found is not None:
            return _finish(outbox, message, sender, found, now)
    if message.last_error is not None:
        # From here on a crash must not be taken for the failure before.
        message = _write(
            outbox, message, last_error=f"sending began at {now.isoformat()}, no end is recorded"
        )
    return _send(outbox, message, sender, now)


def _send(outbox: Outbox, message: OutboxMessage, sender: Sender, now: datetime) -> OutboxMessage:
    sent: Sent | None
    try:
        sent = sender.send(message.channel, message.payload, message.message_id)
    except SlackRejected as error:
        _write(outbox, message, state="failed", last_error=NOT_DELIVERED + str(error))
        raise
    except SlackUnavailable as error:
        sent = _look_up(outbox, message, sender, now, str(error)) if error.maybe_delivered else None
        if sent is None:
            # Slack may still be working on a request that timed out: the next attempt looks again first.
            known = "" if error.maybe_delivered else NOT_DELIVERED
            _put_back(outbox, message, now, known + str(error), error.retry_after)
            raise
    return _finish(outbox, message, sender, sent, now)


def _look_up(
    outbox: Outbox, message: OutboxMessage, sender: Sender, now: datetime, because: str
) -> Sent | None:
    """Where the message is, None when it is not there; uncertain when that cannot be asked."""
    try:
        return sender.find(message.channel, message.message_id, message.created_at)
    except SlackUnavailable as error:
        _put_back(outbox, message, now, f"{because}; looking it up: {error}", error.retry_after)
        raise
    except SlackRejected as error:
        told = (
            f"message {message.message_id} may or may not have arrived ({because}) and cannot be looked up "
            f"({error}). It is not sent again: look into the channel."
        )
        _write(outbox, message, state="uncertain", last_error=told)
        raise DeliveryUncertain(told) from error


def _finish(
    outbox: Outbox, message: OutboxMessage, sender: Sender, sent: Sent, now: datetime
) -> OutboxMessage:
    """Mark as sent first, then add the picture: a failing upload neither loses nor doubles the message."""
    message = _write(
        outbox, message, state="sent", remote_id=sent.ts, sent_at=now, last_error=None, not_before=None
    )
    if message.attachment is None:
        return message
    problem = sender.attach(sent, Path(message.attachment), Path(message.attachment).stem)
    return message if problem is None else _write(outbox, message, last_error=problem)


def _put_back(
    outbox: Outbox, message: OutboxMessage, now: datetime, error: str, retry_after: float | None
) -> None:
    wait = min(FIRST_WAIT * 2 ** min(message.attempts - 1, 10), LONGEST_WAIT)
    if retry_after is not None:
        wait = timedelta(seconds=retry_after)
    _write(outbox, message, state="pending", not_before=now + wait, last_error=error)


def _write(outbox: Outbox, message: OutboxMessage, **changes: Any) -> OutboxMessage:
    changed = message.model_copy(update=changes)
    outbox.update(changed)
    return changed


def _print(outbox: Outbox, message: OutboxMessage, save_dir: Path | None) -> OutboxMessage:
    if save_dir is not None:
        name = file_name(message.message_id)
        try:
            save_dir.mkdir(parents=True, exist_ok=True)
            _save(save_dir / f"{name}.json", json.dumps(message.payload, ensure_ascii=False, indent=2) + "\n")
            _save(save_dir / f"{name}.txt", as_terminal(message.payload))
        except OSError as error:
            told = (
                f"cannot save the message in {save_dir}: {error.strerror}; make room or choose another folder"
            )
            _write(outbox, message, state="pending", last_error=NOT_DELIVERED + told)
            raise ConfigError(told) from error
    return _write(outbox, message, state="printed", last_error=None)


def _save(path: Path, text: str) -> None:
    """Write all or nothing: a reader never sees half a file."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def file_name(message_id: str) -> str:
    """A file name for a message: its id where that is safe, with a hash where it had to be changed."""
    name = message_id.replace(":", "_")
    if re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,119}", name):
        return name
    digest = hashlib.sha256(message_id.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{re.sub(r'[^A-Za-z0-9_-]+', '_', name)[:80]}-{digest}".lstrip("-")
