"""What the tests of sudden death share: processes that run nights, a judge that knows who asked, rows."""

import json
import os
import queue
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from fake_openai import FakeOpenAI, State, data_of
from fake_slack import FakeSlack
from sqlalchemy import create_engine, text
from workspace import NIGHT, Workspace, make_workspace

HERE = Path(__file__).parent
CONCURRENCY = 3
FIRST, AGAIN = "2026-03-12T02:30:00+08:00", "2026-03-12T03:30:00+08:00"
CHANGES = {
    "judge": {"kind": "openai", "model": "judge-1", "concurrency": CONCURRENCY, "embedding_model": None},
    "sample": {"size": 2, "bad_cases": 1},
    "metrics": ["faithfulness", "answer_correctness", "hit_rate", "intent_accuracy"],
    "targets": [
        {"metric": "answer_correctness", "source": "golden", "minimum": 0.6, "minimum_n": 2},
        {"metric": "faithfulness", "minimum": 0.99, "minimum_n": 2},
    ],
}
_keys = count(1)


class AskedJudge(FakeOpenAI):
    """An endpoint that keeps the judgements asked for by the key they came with."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: dict[str, list[str]] = defaultdict(list)

    async def _chat(self, state: State, body: dict[str, Any], receive: Any, send: Any) -> None:
        if data_of(body) is not None:
            # Nothing is awaited between noting the headers and this: the last ones are this call's.
            key = state.headers[-1]["authorization"].removeprefix("Bearer ")
            self.asked[key].append(json.dumps(body["messages"], ensure_ascii=False))
        await super()._chat(state, body, receive, send)


class Nights:
    """Some processes of `night_process.py`; safe to use from as many threads."""

    def __init__(self, processes: int) -> None:
        self._free: queue.Queue[subprocess.Popen[str]] = queue.Queue()
        environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parent), str(HERE)])}
        self._all = [
            subprocess.Popen(
                [sys.executable, str(HERE / "night_process.py")],
                env=environ,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(processes)
        ]
        for process in self._all:
            self._free.put(process)

    def run(self, spec: dict[str, Any]) -> int:
        """One night; its exit code, negative for a signal."""
        process = self._free.get()
        try:
            process.stdin.write(json.dumps(spec) + "\n")
            process.stdin.flush()
            return int(process.stdout.readline())
        finally:
            self._free.put(process)

    def close(self) -> None:
        """No more nights."""
        for process in self._all:
            process.stdin.close()
            process.wait(timeout=30)
            process.stdout.close()


@dataclass
class Place:
    """A workspace, with judge and Slack, where nights are run."""

    space: Workspace
    judge: AskedJudge
    slack: FakeSlack
    nights: Nights

    def run(self, *, now: str = FIRST, **more: Any) -> tuple[int, list[str]]:
        """Run the night in a process; its exit code and the judgements it asked for."""
        key = f"key-{next(_keys)}"
        spec = {
            "monitor": str(self.space.monitor_file),
            "environ": {
                "RAG_CHECKS_HOME": str(self.space.settings.home),
                "RAG_CHECKS_MONITORS": str(self.space.folder),
                "RAG_CHECKS_STORE": self.space.settings.store_url,
                "OPENAI_BASE_URL": self.judge.url,
                "OPENAI_API_KEY": key,
                "SLACK_BOT_TOKEN": self.slack.token,
            },
            "night": NIGHT.isoformat(),
            "now": now,
            **more,
        }
        return self.nights.run(spec), self.judge.asked[key]

    def replies(self) -> int:
        """How many judgements are stored."""
        engine = create_engine(self.space.settings.store_url.replace("postgresql:", "postgresql+psycopg:"))
        with engine.connect() as connection:
            names = engine.dialect.get_table_names(connection)
            stored = connection.execute(text("SELECT count(*) FROM replies")).scalar() if names else 0
        engine.dispose()
        return int(stored or 0)

    def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """All rows of all tables; this place's folder and Slack's own number of the message named alike."""
        [message] = self.slack.messages
        own = {str(self.space.folder): "FOLDER", message["ts"]: "TS"}

        def alike(value: Any) -> str:
            for one, other in own.items():
                value = str(value).replace(one, other)
            return str(value)

        return {
            table: sorted(tuple(alike(value) for value in row) for row in rows)
            for table, rows in self.space.rows().items()
        }


@contextmanager
def place(
    folder: Path, judge: AskedJudge, nights: Nights, *, store_url: str | None = None, **changes: Any
) -> Iterator[Place]:
    """A fresh workspace whose messages go to a Slack of its own; few golden questions make quick nights."""
    with FakeSlack() as slack:
        alerts = {"channel": "#rag-alerts", "slack_base_url": slack.url}
        space = make_workspace(folder, store_url=store_url, changes={**CHANGES, "alerts": alerts, **changes})
        golden = space.folder / "golden.jsonl"
        lines = golden.read_text(encoding="utf-8").splitlines(keepends=True)
        golden.write_text("".join([lines[0], lines[3], lines[-1]]), encoding="utf-8")
        yield Place(space, judge, slack, nights)
