"""All tables. Their natural keys are their primary keys, so that writing twice is writing once (P3).

`migrations/versions` builds the same tables step by step; a test compares the two.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Date,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    Table,
)

from rag_checks.store.columns import CleanText, Json, Utc

# Names, because a constraint without one cannot be changed by a later migration.
metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)


def _run_key() -> Column[str]:
    return Column(
        "eval_run_id", CleanText, ForeignKey("runs.eval_run_id", ondelete="CASCADE"), primary_key=True
    )


judges = Table(
    "judges",
    metadata,
    Column("fingerprint", CleanText, primary_key=True),
    Column("kind", CleanText, nullable=False),
    Column("endpoint", CleanText),
    Column("requested_model", CleanText, nullable=False),
    Column("returned_model", CleanText),
    Column("system_fingerprint", CleanText),
    Column("prompt_hash", CleanText, nullable=False),
    Column("parameters", Json, nullable=False),
)

runs = Table(
    "runs",
    metadata,
    Column("eval_run_id", CleanText, primary_key=True),
    Column("monitor", CleanText, nullable=False),
    Column("kind", CleanText, nullable=False),
    Column("night", Date, nullable=False),
    Column("window_start", Utc, nullable=False),
    Column("window_end", Utc, nullable=False),
    Column("backfill", Boolean, nullable=False),
    Column("release", CleanText),
    Column("golden_version", Integer),
    Column("judge", CleanText, ForeignKey("judges.fingerprint")),
    Column("metric_versions", Json, nullable=False),
    Column("config_hash", CleanText, nullable=False),
    Column("code_version", CleanText, nullable=False),
    Column("status", CleanText, nullable=False),
    Column("counts", Json, nullable=False),
    Column("problem", CleanText),
    Column("created_at", Utc, nullable=False),
    Column("finished_at", Utc),
    Index(None, "monitor", "night"),
)

# The short columns come first: SQLite reads a row's head without its tail, and item and response are long.
cases = Table(
    "cases",
    metadata,
    _run_key(),
    Column("case_id", CleanText, primary_key=True),
    Column("position", Integer, nullable=False),
    Column("shard", Integer, nullable=False),
    Column("source", CleanText, nullable=False),
    Column("item_id", CleanText, nullable=False),
    Column("revision", CleanText, nullable=False),
    Column("language", CleanText, nullable=False),
    Column("intent", CleanText, nullable=False),
    Column("stratum", CleanText, nullable=False),
    Column("weight", Double, nullable=False),
    Column("conversation_id", CleanText),
    Column("release", CleanText),
    Column("item", Json, nullable=False),
    Column("response", Json),
)

scores = Table(
    "scores",
    metadata,
    Column("eval_run_id", CleanText, primary_key=True),
    Column("case_id", CleanText, primary_key=True),
    Column("metric", CleanText, primary_key=True),
    Column("metric_version", CleanText, nullable=False),
    Column("value", Double),
    Column("status", CleanText, nullable=False),
    Column("judge", CleanText, ForeignKey("judges.fingerprint")),
    Column("calls", Integer, nullable=False),
    Column("cached", Integer, nullable=False),
    Column("prompt_tokens", Integer, nullable=False),
    Column("completion_tokens", Integer, nullable=False),
    Column("reason", CleanText, nullable=False),
    Column("evidence", Json, nullable=False),
    ForeignKeyConstraint(
        ["eval_run_id", "case_id"], ["cases.eval_run_id", "cases.case_id"], ondelete="CASCADE"
    ),
    # All that the history of a monitor reads, so that the long evidence stays on disk: half the time of
    # a first reading.
    Index(
        "ix_scores_history",
        "eval_run_id",
        "case_id",
        "metric",
        "metric_version",
        "value",
        "status",
        "judge",
    ),
)

verdicts = Table(
    "verdicts",
    metadata,
    _run_key(),
    Column("position", Integer, primary_key=True),
    Column("metric", CleanText, nullable=False),
    Column("source", CleanText, nullable=False),
    Column("slice", CleanText, nullable=False),
    Column("level", CleanText, nullable=False),
    Column("value", Double),
    Column("low", Double),
    Column("high", Double),
    Column("n_ok", Integer, nullable=False),
    Column("n_failed", Integer, nullable=False),
    Column("n_not_applicable", Integer, nullable=False),
    Column("n_total", Integer, nullable=False),
    Column("coverage", Double),
    Column("minimum", Double),
    Column("warning", Double),
    Column("baseline", Double),
    Column("baseline_nights", Integer, nullable=False),
    Column("z", Double),
    Column("window", Integer),
    Column("since", Date),
    Column("rule", CleanText, nullable=False),
    Index(None, "eval_run_id", "metric", "source", "slice", unique=True),
)

findings = Table(
    "findings",
    metadata,
    _run_key(),
    Column("position", Integer, primary_key=True),
    Column("cause", CleanText, nullable=False),
    Column("stage", CleanText, nullable=False),
    Column("intent", CleanText),
    Column("release", CleanText),
    Column("since", Date),
    Column("n_cases", Integer, nullable=False),
    Column("n_failing", Integer, nullable=False),
    Column("case_ids", Json, nullable=False),
    Column("summary", CleanText, nullable=False),
    Column("next_step", CleanText, nullable=False),
)

expectations = Table(
    "expectations",
    metadata,
    _run_key(),
    Column("position", Integer, primary_key=True),
    Column("expectation", CleanText, nullable=False),
    Column("metric", CleanText),
    Column("source", CleanText),
    Column("purpose", CleanText, nullable=False),
    Column("success", Boolean),
    Column("observed", Double),
    Column("detail", CleanText, nullable=False),
    Column("exception", CleanText),
)

quarantine = Table(
    "quarantine",
    metadata,
    _run_key(),
    Column("position", Integer, primary_key=True),
    Column("file", CleanText, nullable=False),
    Column("line", BigInteger, nullable=False),
    Column("offset", BigInteger, nullable=False),
    Column("reason", CleanText, nullable=False),
)

golden_sets = Table(
    "golden_sets",
    metadata,
    Column("name", CleanText, primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("content_hash", CleanText, nullable=False),
    Column("created_at", Utc, nullable=False),
)

golden_items = Table(
    "golden_items",
    metadata,
    Column("name", CleanText, primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("item_id", CleanText, primary_key=True),
    Column("position", Integer, nullable=False),
    Column("item", Json, nullable=False),
    ForeignKeyConstraint(
        ["name", "version"], ["golden_sets.name", "golden_sets.version"], ondelete="CASCADE"
    ),
)

replies = Table(
    "replies",
    metadata,
    Column("key", CleanText, primary_key=True),
    Column("created_at", Utc, nullable=False),
    Column("reply", Json, nullable=False),
    Index(None, "created_at"),
)

# No foreign key to runs: "the monitor broke" is told about runs that never came to be stored.
outbox = Table(
    "outbox",
    metadata,
    Column("message_id", CleanText, primary_key=True),
    Column("eval_run_id", CleanText),
    Column("kind", CleanText, nullable=False),
    Column("channel", CleanText),
    Column("payload", Json, nullable=False),
    Column("attachment", CleanText),
    Column("state", CleanText, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("not_before", Utc),
    Column("last_error", CleanText),
    Column("remote_id", CleanText),
    Column("created_at", Utc, nullable=False),
    Column("sent_at", Utc),
    Column("claimed_at", Utc),
    Index(None, "eval_run_id"),
)
