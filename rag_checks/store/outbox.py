"""Messages waiting for people: each is written before it is sent, and taken by one sender only."""

from datetime import datetime, timedelta

from sqlalchemy import Connection, and_, or_, select, update

from rag_checks.errors import StoreError
from rag_checks.records import OutboxMessage
from rag_checks.store.engine import Database
from rag_checks.store.rows import insert_missing
from rag_checks.store.tables import outbox

STALE_AFTER = timedelta(minutes=2)


class StoredOutbox:
    """A `protocols.Outbox` in the store.

    Args:
        database: The store's database.
        stale_after: How old the claim of a message left in `sending` must be before another sender takes it:
            longer than any send can last, so that a live sender is never doubled.
    """

    def __init__(self, database: Database, *, stale_after: timedelta = STALE_AFTER) -> None:
        self._database = database
        self._stale_after = stale_after

    def enqueue(self, message: OutboxMessage) -> OutboxMessage:
        """Insert the message; when its id exists already, leave that one and return it."""
        with self._database.write() as connection:
            insert_missing(connection, outbox, [{**dict(message), "claimed_at": None}])
            return _load(connection, message.message_id)

    def claim(self, message_id: str, now: datetime) -> OutboxMessage | None:
        """Take a message to send it; None when it is not there, not due, being sent, or done.

        Taking is one conditional UPDATE, so of several senders exactly one gets it.
        """
        due = and_(
            outbox.c.state == "pending", or_(outbox.c.not_before.is_(None), outbox.c.not_before <= now)
        )
        left_behind = and_(outbox.c.state == "sending", outbox.c.claimed_at <= now - self._stale_after)
        statement = (
            update(outbox)
            .where(outbox.c.message_id == message_id, or_(due, left_behind))
            .values(state="sending", attempts=outbox.c.attempts + 1, claimed_at=now)
        )
        with self._database.write() as connection:
            if connection.execute(statement).rowcount == 0:
                return None
            return _load(connection, message_id)

    def update(self, message: OutboxMessage) -> None:
        """Write back state, last_error, not_before, remote_id and sent_at.

        Raises:
            StoreError: The message was never put into the outbox.
        """
        changed = message.model_dump(include={"state", "last_error", "not_before", "remote_id", "sent_at"})
        statement = update(outbox).where(outbox.c.message_id == message.message_id).values(changed)
        with self._database.write() as connection:
            if connection.execute(statement).rowcount == 0:
                raise StoreError(f"the outbox has no message {message.message_id!r}: enqueue it first")


def load_messages(connection: Connection, eval_run_id: str | None) -> list[OutboxMessage]:
    """All messages, or those of one run, oldest first."""
    query = select(*_FIELDS).order_by(outbox.c.created_at, outbox.c.message_id)
    if eval_run_id is not None:
        query = query.where(outbox.c.eval_run_id == eval_run_id)
    return [OutboxMessage.model_validate(dict(row)) for row in connection.execute(query).mappings()]


_FIELDS = [outbox.c[name] for name in OutboxMessage.model_fields]


def _load(connection: Connection, message_id: str) -> OutboxMessage:
    row = connection.execute(select(*_FIELDS).where(outbox.c.message_id == message_id)).mappings().one()
    return OutboxMessage.model_validate(dict(row))
