"""The store: everything RAG Checks remembers, read and written by intent. Each method is one transaction."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Self

from rag_checks.records import (
    Case,
    EvalItem,
    EvalRun,
    ExpectationResult,
    Finding,
    GoldenSet,
    GradedCase,
    OutboxMessage,
    Quarantined,
    Response,
    Score,
    ScoreRow,
    Verdict,
)
from rag_checks.store import cases as case_rows
from rag_checks.store import golden as golden_rows
from rag_checks.store import runs as run_rows
from rag_checks.store import schema, tables
from rag_checks.store import scores as score_rows
from rag_checks.store import verdicts as verdict_rows
from rag_checks.store.engine import LOCK_TIMEOUT_S, Database
from rag_checks.store.outbox import STALE_AFTER, StoredOutbox, load_messages
from rag_checks.store.replies import StoredReplies
from rag_checks.store.rows import list_of, replace_list


class Store:
    """An open store. Safe to use from several threads and processes; use it as a context manager or close it.

    Every method may raise StoreUnavailable (locked, unreachable, disk full). Texts are stored through
    `text.clean`; times come back aware, in UTC.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known_judges: set[str] = set()

    @classmethod
    def open(cls, url: str, *, lock_timeout_s: float = LOCK_TIMEOUT_S) -> Self:
        """Open a store; an empty database gets its tables at once, and a missing SQLite folder is made.

        Args:
            url: `sqlite:///relative.db`, `sqlite:////absolute.db` or `postgresql://user:password@host/name`.
            lock_timeout_s: Seconds to wait for another writer before StoreUnavailable.

        Raises:
            ConfigError: The URL is wrong.
            StoreError: The schema is older or newer than this code.
            StoreUnavailable: The database cannot be reached.
        """
        database = Database(url, lock_timeout_s=lock_timeout_s)
        try:
            schema.ensure(database, url)
        except BaseException:
            database.close()
            raise
        return cls(database)

    def close(self) -> None:
        """Close all connections."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    # Runs

    def save_run(self, run: EvalRun) -> None:
        """Insert a run, or overwrite it by its id; `created_at` stays that of the first time."""
        with self._database.write() as connection:
            run_rows.save(connection, run)

    def run(self, eval_run_id: str) -> EvalRun | None:
        """A run by its id."""
        with self._database.read() as connection:
            return run_rows.load(connection, eval_run_id)

    def runs(
        self, monitor: str, *, kind: str | None = None, until: date | None = None, limit: int | None = None
    ) -> list[EvalRun]:
        """Runs of a monitor up to and with the night `until`, newest first."""
        with self._database.read() as connection:
            return run_rows.newest(connection, monitor, kind=kind, until=until, limit=limit)

    def monitors(self) -> list[str]:
        """Names of all monitors that have runs, sorted."""
        with self._database.read() as connection:
            return run_rows.monitors(connection)

    # Cases and scores

    def plan_cases(self, eval_run_id: str, cases: Sequence[Case]) -> None:
        """Make these the cases of a run, in this order; planning again is safe at any time.

        A case whose item is unchanged keeps its scores and, when it has one, its stored response. A case
        whose item changed starts anew, without scores. Cases no longer planned go, with their scores.

        Raises:
            StoreError: There is no such run, or two cases have one id.
        """
        with self._database.write() as connection:
            case_rows.plan(connection, eval_run_id, cases)

    def cases(self, eval_run_id: str, *, shard: int | None = None) -> list[Case]:
        """The cases of a run, or of one shard of it, in the order of the plan."""
        with self._database.read() as connection:
            return case_rows.load(connection, eval_run_id, shard)

    def save_response(self, eval_run_id: str, case_id: str, response: Response) -> None:
        """Set what the bot said to a case.

        Raises:
            StoreError: The case is not planned.
        """
        with self._database.write() as connection:
            case_rows.save_response(connection, eval_run_id, case_id, response)

    def save_scores(self, scores: Sequence[Score]) -> None:
        """Insert scores of planned cases, or overwrite them by run, case and metric: all or none."""
        with self._database.write() as connection:
            stored = score_rows.save(connection, scores, self._known_judges)
        self._known_judges |= stored

    def scores(self, eval_run_id: str) -> list[Score]:
        """All scores of a run, in the order of the plan, of a case by metric."""
        with self._database.read() as connection:
            return score_rows.load(connection, eval_run_id)

    def graded(self, eval_run_id: str) -> list[GradedCase]:
        """All cases of a run with their scores, in the order of the plan."""
        with self._database.read() as connection:
            return score_rows.graded(connection, eval_run_id)

    def history(
        self, monitor: str, *, kinds: Sequence[str] = ("nightly",), since: date | None, until: date
    ) -> list[ScoreRow]:
        """One row a score over the nights `since` to `until`, both included, oldest first.

        `judge` is the judge's fingerprint; `release` is the response's, or the run's where that has none.
        """
        with self._database.read() as connection:
            return score_rows.history(connection, monitor, kinds, since, until)

    # What was decided

    def save_verdicts(self, eval_run_id: str, verdicts: Sequence[Verdict]) -> None:
        """Make these the verdicts of a run. Raises StoreError when there is no such run."""
        with self._database.write() as connection:
            replace_list(connection, tables.verdicts, eval_run_id, verdicts)

    def verdicts(self, eval_run_id: str) -> list[Verdict]:
        """The verdicts of a run, as saved."""
        with self._database.read() as connection:
            return [Verdict.model_validate(row) for row in list_of(connection, tables.verdicts, eval_run_id)]

    def verdict_history(self, monitor: str, until: date) -> list[tuple[date, Verdict]]:
        """Verdicts of the nightly runs up to and with a night, oldest first."""
        with self._database.read() as connection:
            return verdict_rows.history(connection, monitor, until)

    def save_findings(self, eval_run_id: str, findings: Sequence[Finding]) -> None:
        """Make these the findings of a run. Raises StoreError when there is no such run."""
        with self._database.write() as connection:
            replace_list(connection, tables.findings, eval_run_id, findings)

    def findings(self, eval_run_id: str) -> list[Finding]:
        """The findings of a run, as saved."""
        with self._database.read() as connection:
            return [Finding.model_validate(row) for row in list_of(connection, tables.findings, eval_run_id)]

    def save_expectations(self, eval_run_id: str, results: Sequence[ExpectationResult]) -> None:
        """Make these the expectation results of a run. Raises StoreError when there is no such run."""
        with self._database.write() as connection:
            replace_list(connection, tables.expectations, eval_run_id, results)

    def expectations(self, eval_run_id: str) -> list[ExpectationResult]:
        """The expectation results of a run, as saved."""
        with self._database.read() as connection:
            rows = list_of(connection, tables.expectations, eval_run_id)
        return [ExpectationResult.model_validate(row) for row in rows]

    # Golden sets and intake

    def save_golden(self, name: str, items: Sequence[EvalItem], now: datetime) -> GoldenSet:
        """Store items as the next version of a golden set; the same content as the latest is that version.

        Raises:
            StoreError: An item id occurs twice.
        """
        with self._database.write() as connection:
            return golden_rows.save(connection, name, items, now)

    def golden(self, name: str, version: int | None = None) -> GoldenSet | None:
        """A version of a golden set, by default the latest; None when there is none."""
        with self._database.read() as connection:
            return golden_rows.load(connection, name, version)

    def save_quarantine(self, eval_run_id: str, rows: Sequence[Quarantined]) -> None:
        """Make these the unreadable lines of a run. Raises StoreError when there is no such run."""
        with self._database.write() as connection:
            replace_list(connection, tables.quarantine, eval_run_id, rows)

    def quarantine(self, eval_run_id: str, limit: int | None = None) -> list[Quarantined]:
        """The unreadable lines of a run, as saved; the first `limit` of them."""
        with self._database.read() as connection:
            rows = list_of(connection, tables.quarantine, eval_run_id, limit)
        return [Quarantined.model_validate(row) for row in rows]

    # The judge's replies and messages to people

    def reply_cache(self) -> StoredReplies:
        """The cache of judge replies."""
        return StoredReplies(self._database)

    def purge_replies(self, older_than: datetime) -> int:
        """Delete judge replies stored before a moment; says how many they were."""
        return self.reply_cache().purge(older_than)

    def outbox(self, *, stale_after: timedelta = STALE_AFTER) -> StoredOutbox:
        """The messages waiting for people; see `StoredOutbox` for `stale_after`."""
        return StoredOutbox(self._database, stale_after=stale_after)

    def messages(self, eval_run_id: str | None = None) -> list[OutboxMessage]:
        """All messages, or those of one run, oldest first."""
        with self._database.read() as connection:
            return load_messages(connection, eval_run_id)
