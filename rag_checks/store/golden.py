"""Golden sets: versions that never change once they are written."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, func, insert, select

from rag_checks.errors import StoreError
from rag_checks.records import EvalItem, GoldenSet
from rag_checks.store.engine import lock
from rag_checks.store.tables import golden_items, golden_sets


def save(connection: Connection, name: str, items: Sequence[EvalItem], now: datetime) -> GoldenSet:
    """The latest version when it says the same (`GoldenSet.content_hash`), else `items` as the next version.

    Raises:
        StoreError: An item id occurs twice.
    """
    lock(connection, f"golden:{name}")
    latest = load(connection, name, None)
    version = 1 if latest is None else latest.version + 1
    new = GoldenSet(name=name, version=version, items=tuple(items), created_at=now)
    if len({item.item_id for item in items}) < len(items):
        raise StoreError(f"golden set {name!r} would hold an item twice; item ids are unique in a set")
    if latest is not None and latest.content_hash == new.content_hash:
        return latest
    head = {"name": name, "version": version, "content_hash": new.content_hash, "created_at": now}
    connection.execute(insert(golden_sets), [head])
    rows = [
        {"name": name, "version": version, "item_id": item.item_id, "position": n, "item": item.model_dump()}
        for n, item in enumerate(items)
    ]
    if rows:
        connection.execute(insert(golden_items), rows)
    return new


def load(connection: Connection, name: str, version: int | None) -> GoldenSet | None:
    """A version of a golden set, or its latest one; None when there is none."""
    if version is None:
        latest = select(func.max(golden_sets.c.version)).where(golden_sets.c.name == name)
        version = connection.execute(latest).scalar()
    key = (golden_sets.c.name == name, golden_sets.c.version == version)
    head = connection.execute(select(golden_sets.c.created_at).where(*key)).first()
    if version is None or head is None:
        return None
    query = (
        select(golden_items.c.item)
        .where(golden_items.c.name == name, golden_items.c.version == version)
        .order_by(golden_items.c.position)
    )
    items = tuple(EvalItem.model_validate(item) for item in connection.execute(query).scalars())
    return GoldenSet(name=name, version=version, items=items, created_at=head.created_at)
