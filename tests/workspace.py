"""A small monitor with real parts: a Python bot, conversations in files, a golden set, a store."""

import json
import re
import zlib
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import yaml
from sqlalchemy import MetaData, Table, create_engine, inspect, select

from rag_checks.monitor import Monitor
from rag_checks.settings import Settings

ZONE = ZoneInfo("Asia/Shanghai")
NIGHT = date(2026, 3, 10)
FACTS = {
    "张伟是哪个部门的": ("张伟是教研部的。", "张伟 | 教研部 | 工程师", "employee_lookup"),
    "李娜是哪个部门的": ("李娜是财务部的。", "李娜 | 财务部 | 会计", "employee_lookup"),
    "年假有几天": ("年假有15天。", "每位员工每年有15天年假。", "leave"),
    "How do I reset my password?": (
        "Open the portal and choose Forgot password.",
        "To reset a password, open the portal and choose Forgot password.",
        "it_support",
    ),
    "发票要在几天内提交": ("发票要在30天内提交。", "发票须在30天内提交报销。", "expenses"),
    "When is payday?": ("Payday is the 15th of each month.", "Payday is the 15th of each month.", "payroll"),
}
BOT = '''"""Answers from a JSON file beside it; questions it does not know are refused."""
import json
import re
import zlib
import pathlib

ANSWERS = json.loads(pathlib.Path(__file__).with_name("answers.json").read_text(encoding="utf-8"))


def ask(item):
    answer, passage, intent = ANSWERS.get(item.user_input, ("抱歉，没有找到相关信息。", "", "other"))
    return {"answer": answer, "contexts": [passage] if passage else [], "intent": intent, "release": "r1"}
'''


@dataclass
class Workspace:
    """Folder, settings and monitor file of one test."""

    folder: Path
    settings: Settings
    monitor_file: Path

    @property
    def monitor(self) -> Monitor:
        return self.settings.monitor(str(self.monitor_file))

    def set_environ(self, **names: str) -> None:
        """Lay variables over the environment the settings see."""
        self.settings = Settings.from_env({**self.settings.environ, **names})

    def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """Every row of every table that holds results, without clocks and tries, in a stable order."""
        return table_rows(self.settings.store_url)


def make_workspace(
    folder: Path, *, store_url: str | None = None, nights: int = 1, changes: dict[str, Any] | None = None
) -> Workspace:
    """Write bot, conversations of `nights` days up to NIGHT, golden set and monitor file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "answers.json").write_text(json.dumps(FACTS, ensure_ascii=False), encoding="utf-8")
    # One process imports a module name once, so each workspace's bot has a name of its own.
    bot = f"toy_bot_{zlib.crc32(str(folder).encode()):08x}"
    (folder / f"{bot}.py").write_text(BOT, encoding="utf-8")
    for back in range(nights):
        write_day(folder, NIGHT - timedelta(days=back))
    golden = [
        {
            "item_id": f"g{number}",
            "user_input": question,
            "reference": answer,
            "reference_contexts": [passage],
            "expected_intent": intent,
            "answerable": True,
        }
        for number, (question, (answer, passage, intent)) in enumerate(FACTS.items())
    ]
    golden.append(
        {"item_id": "g-un", "user_input": "公司股价是多少", "answerable": False, "expected_intent": "other"}
    )
    write_jsonl(folder / "golden.jsonl", golden)
    config = {
        "monitor": "toy",
        "title": "测试助手",
        "language": "zh",
        "owner": "platform",
        "time_zone": "Asia/Shanghai",
        "bot": {"kind": "python", "callable": f"{bot}:ask"},
        "conversations": {"kind": "files", "path": "logs/*.jsonl"},
        "sample": {"size": 12, "floor_per_intent": 1, "bad_cases": 3},
        "golden": {"path": "golden.jsonl"},
        "targets": [
            {"metric": "answer_correctness", "source": "golden", "minimum": 0.6, "minimum_n": 5},
            {"metric": "faithfulness", "minimum": 0.7, "minimum_n": 5},
        ],
        "canaries": {"enabled": False},
        "alerts": {"channel": "#toy"},
        **(changes or {}),
    }
    monitor_file = folder / "toy.yaml"
    monitor_file.write_text(yaml.safe_dump(config, allow_unicode=True), encoding="utf-8")
    environ = {"RAG_CHECKS_HOME": str(folder / "home"), "RAG_CHECKS_MONITORS": str(folder)}
    if store_url:
        environ["RAG_CHECKS_STORE"] = store_url
    return Workspace(folder, Settings.from_env(environ), monitor_file)


def write_day(folder: Path, day: date, *, per_question: int = 4) -> None:
    """One day's log: every question a few times, one answer disliked."""
    turns = []
    for number, (question, (answer, passage, intent)) in enumerate(FACTS.items()):
        for repeat in range(per_question):
            asked = datetime(
                day.year, day.month, day.day, 9 + repeat % 12, number + 6 * (repeat // 12), tzinfo=ZONE
            )
            turns.append(
                {
                    "turn_id": f"{day}-{number}-{repeat}",
                    "conversation_id": f"{day}-{number}",
                    "asked_at": asked.isoformat(),
                    "user_input": question,
                    "response": answer,
                    "retrieved_contexts": [passage],
                    "intent": intent,
                    "release": "r1",
                    "feedback": {"rating": "dislike"} if (number, repeat) == (0, 0) else None,
                }
            )
    (folder / "logs").mkdir(exist_ok=True)
    write_jsonl(folder / "logs" / f"{day}.jsonl", turns)


def write_jsonl(path: Path, rows: list[dict[str, Any]]) -> None:
    """One JSON object a line."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


_VARYING = {
    "config_hash",
    # A judgement paid before a crash and found in the cache after it costs no call the second time.
    "calls",
    "cached",
    "prompt_tokens",
    "completion_tokens",
    "created_at",
    "finished_at",
    "sent_at",
    "claimed_at",
    "answered_at",
    "latency_ms",
    "attempts",
    "stored_at",
}

_VARYING_JSON = re.compile(r'"(answered_at|latency_ms)":("[^"]*"|[^,}]*),?')


def table_rows(store_url: str) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables but alembic's, clocks left out, sorted."""
    engine = create_engine(store_url.replace("postgresql://", "postgresql+psycopg://"))
    found: dict[str, list[tuple[Any, ...]]] = {}
    with engine.connect() as connection:
        for table in inspect(engine).get_table_names():
            if table == "alembic_version":
                continue
            stored = Table(table, MetaData(), autoload_with=connection)
            rows = connection.execute(select(*[c for c in stored.columns if c.name not in _VARYING])).all()
            found[table] = sorted(tuple(_VARYING_JSON.sub("", str(value)) for value in row) for row in rows)
    engine.dispose()
    return found
