"""The cache of judge replies: what was paid once is never paid again."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import bindparam, delete, select

from rag_checks.store.engine import Database
from rag_checks.store.rows import insert_missing
from rag_checks.store.tables import replies

# Built once: building it anew would cost more than running it.
_REPLY = select(replies.c.reply).where(replies.c.key == bindparam("wanted"))


class StoredReplies:
    """A `protocols.ReplyCache` in the store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, key: str) -> dict[str, Any] | None:
        """The stored reply, or None."""
        with self._database.single() as connection:
            reply: dict[str, Any] | None = connection.execute(_REPLY, {"wanted": key}).scalar()
        return reply

    def put(self, key: str, reply: dict[str, Any]) -> None:
        """Store a reply, committed on return; a key already there is left as it is."""
        row = {"key": key, "created_at": datetime.now(UTC), "reply": reply}
        with self._database.single() as connection:
            insert_missing(connection, replies, [row])

    def purge(self, older_than: datetime) -> int:
        """Delete replies stored before a moment; says how many they were."""
        with self._database.write() as connection:
            return connection.execute(delete(replies).where(replies.c.created_at < older_than)).rowcount
