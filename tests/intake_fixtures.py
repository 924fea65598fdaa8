"""Logs for the intake tests: rows, files and the usual window."""

import json
from collections.abc import Iterable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from rag_checks.intake import Collected, Window, collect, night_window
from rag_checks.monitor import FileConversations, Sample

NIGHT = date(2026, 11, 29)
WINDOW = night_window(NIGHT, ZoneInfo("UTC"))
NOW = datetime(2026, 11, 30, 3, tzinfo=UTC)
EVERYTHING = Sample(size=10_000, bad_cases=10_000)


def row(number: int | str = 1, **changes: Any) -> dict[str, Any]:
    """A good row; `None` among the changes takes a field out."""
    fields = {
        "turn_id": f"t{number}",
        "conversation_id": "c1",
        "asked_at": "2026-11-29T10:00:00Z",
        "user_input": "How do I book a room?",
        "response": "Open the portal and pick a room.",
        "retrieved_contexts": ["Rooms are booked in the portal."],
        "intent": "facilities",
    } | changes
    return {name: value for name, value in fields.items() if value is not None}


def lines(rows: Iterable[dict[str, Any]]) -> bytes:
    """Rows as JSON Lines."""
    return b"".join(json.dumps(fields, ensure_ascii=False).encode() + b"\n" for fields in rows)


def gather(
    folder: Path,
    *,
    path: str | list[str] = "*.jsonl*",
    sample: Sample = EVERYTHING,
    window: Window = WINDOW,
    now: datetime = NOW,
    **spec: Any,
) -> Collected:
    """Collect from a folder."""
    return collect(FileConversations(kind="files", path=path, **spec), folder, window, sample, now=now)


def gather_bytes(folder: Path, content: bytes, **settings: Any) -> Collected:
    """Collect from one file with this content."""
    (folder / "log.jsonl").write_bytes(content)
    return gather(folder, **settings)


def ids(collected: Collected) -> list[str]:
    """Ids of the sampled turns."""
    return [sampled.turn.turn_id for sampled in collected.turns]
