"""Where RAG Checks keeps its things: folders and the store's address, from the environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rag_checks.monitor import Monitor
from rag_checks.monitor_files import load_monitor, monitor_file


@dataclass(frozen=True)
class Settings:
    """One installation's places.

    Attributes:
        home: folder of the default store, reports and unsent messages (RAG_CHECKS_HOME, else `.rag-checks`).
        store_url: SQLAlchemy URL (RAG_CHECKS_STORE, else SQLite in `home`).
        monitors: folder of monitor files (RAG_CHECKS_MONITORS, else `dags/monitors`).
    """

    home: Path
    store_url: str
    monitors: Path
    environ: Mapping[str, str]

    @classmethod
    def from_env(cls, environ: Mapping[str, str] = os.environ) -> "Settings":
        """Settings from environment variables."""
        home = Path(environ.get("RAG_CHECKS_HOME") or ".rag-checks").absolute()
        return cls(
            home=home,
            store_url=environ.get("RAG_CHECKS_STORE") or f"sqlite:///{home / 'store.db'}",
            monitors=Path(environ.get("RAG_CHECKS_MONITORS") or "dags/monitors"),
            environ={**environ, "RAG_CHECKS_HOME": str(home)},
        )

    @property
    def reports(self) -> Path:
        """Folder of reports."""
        return self.home / "reports"

    @property
    def unsent(self) -> Path:
        """Folder of messages that had nobody to go to."""
        return self.home / "messages"

    def monitor(self, name_or_path: str) -> Monitor:
        """A monitor by file path or by name in the monitors folder. Raises ConfigError."""
        return load_monitor(monitor_file(self.monitors, name_or_path), self.environ)
