"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

TIME = sa.DateTime().with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    op.create_table(
        "golden_sets",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("name", "version", name=op.f("pk_golden_sets")),
    )
    op.create_table(
        "judges",
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("endpoint", sa.Text(), nullable=True),
        sa.Column("requested_model", sa.Text(), nullable=False),
        sa.Column("returned_model", sa.Text(), nullable=True),
        sa.Column("system_fingerprint", sa.Text(), nullable=True),
        sa.Column("prompt_hash", sa.Text(), nullable=False),
        sa.Column("parameters", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("fingerprint", name=op.f("pk_judges")),
    )
    op.create_table(
        "outbox",
        sa.Column("message_id", sa.Text(), nullable=False),
        sa.Column("eval_run_id", sa.Text(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=True),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("attachment", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("not_before", TIME, nullable=True),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("remote_id", sa.Text(), nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("sent_at", TIME, nullable=True),
        sa.Column("claimed_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("message_id", name=op.f("pk_outbox")),
    )
    op.create_index(op.f("ix_outbox_eval_run_id"), "outbox", ["eval_run_id"], unique=False)
    op.create_table(
        "replies",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("reply", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_replies")),
    )
    op.create_index(op.f("ix_replies_created_at"), "replies", ["created_at"], unique=False)
    op.create_table(
        "golden_items",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("item_id", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("item", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["name", "version"],
            ["golden_sets.name", "golden_sets.version"],
            name=op.f("fk_golden_items_golden_sets"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("name", "version", "item_id", name=op.f("pk_golden_items")),
    )
    op.create_table(
        "runs",
        sa.Column("eval_run_id", sa.Text(), nullable=False),
        sa.Column("monitor", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("night", sa.Date(), nullable=False),
        sa.Column("window_start", TIME, nullable=False),
        sa.Column("window_end", TIME, nullable=False),
        sa.Column("backfill", sa.Boolean(), nullable=False),
        sa.Column("release", sa.Text(), nullable=True),
        sa.Column("golden_version", sa.Integer(), nullable=True),
        sa.Column("judge", sa.Text(), nullable=True),
        sa.Column("metric_versions", sa.Text(), nullable=False),
        sa.Column("config_hash", sa.Text(), nullable=False),
        sa.Column("code_version", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("counts", sa.Text(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("finished_at", TIME, nullable=True),
        sa.ForeignKeyConstraint(["judge"], ["judges.fingerprint"], name=op.f("fk_runs_judges")),
        sa.PrimaryKeyConstraint("eval_run_id", name=op.f("pk_runs")),
    )
    op.create_index(op.f("ix_runs_monitor_night"), "runs", ["monitor", "night"], unique=False)
    op.create_table(
        "cases",
        sa.Column("eval_run_id", sa.Text(), nullable=False),
        sa.Column("case_id", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("shard", sa.Integer(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("item_id", sa.Text(), nullable=False),
        sa.Column("revision", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("intent", sa.Text(), nullable=False),
        sa.Column("stratum", sa.Text(), nullable=False),
        sa.Column("weight", sa.Double(), nullable=False),
        sa.Column("conversation_id", sa.Text(), nullable=True),
        sa.Column("release", sa.Text(), nullable=True),
        sa.Column("item", sa.Text(), nullable=False),
        sa.Column("response", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["eval_run_id"], ["runs.eval_run_id"], name=op.f("fk_cases_runs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("eval_run_id", "case_id", name=op.f("pk_cases")),
    )
    op.create_table(
        "expectations",
        sa.Column("eval_run_id", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("expectation", sa.Text(), nullable=False),
        sa.Column("metric", sa.Text(), nullable=True),
        sa.Column("source", sa.Text(), nullable=True),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("success", sa.Boolean(), nullable=True),
        sa.Column("observed", sa.Double(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("exception", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["eval_run_id"], ["runs.eval_run_id"], name=op.f("fk_expectations_runs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("eval_run_id", "position", name=op.f("pk_expectations")),
    )
    op.create_table(
        "findings",
        sa.Column("eval_run_id", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("intent", sa.Text(), nullable=True),
        sa.Column("release", sa.Text(), nullable=True),
        sa.Column("since", sa.Date(), nullable=True),
        sa.Column("n_cases", sa.Integer(), nullable=False),
        sa.Column("n_failing", sa.Integer(), nullable=False),
        sa.Column("case_ids", sa.Text(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("next_step", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["eval_run_id"], ["runs.eval_run_id"], name=op.f("fk_findings_runs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("eval_run_id", "position", name=op.f("pk_findings")),
    )
    op.create_table(
        "quarantine",
        sa.Column("eval_run_id", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("file", sa.Text(), nullable=False),
        sa.Column("line", sa.BigInteger(), nullable=False),
        sa.Column("offset", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["eval_run_id"], ["runs.eval_run_id"], name=op.f("fk_quarantine_runs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("eval_run_id", "position", name=op.f("pk_quarantine")),
    )
    op.create_table(
        "verdicts",
        sa.Column("eval_run_id", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("slice", sa.Text(), nullable=False),
        sa.Column("level", sa.Text(), nullable=False),
        sa.Column("value", sa.Double(), nullable=True),
        sa.Column("low", sa.Double(), nullable=True),
        sa.Column("high", sa.Double(), nullable=True),
        sa.Column("n_ok", sa.Integer(), nullable=False),
        sa.Column("n_failed", sa.Integer(), nullable=False),
        sa.Column("n_not_applicable", sa.Integer(), nullable=False),
        sa.Column("n_total", sa.Integer(), nullable=False),
        sa.Column("coverage", sa.Double(), nullable=True),
        sa.Column("minimum", sa.Double(), nullable=True),
        sa.Column("warning", sa.Double(), nullable=True),
        sa.Column("baseline", sa.Double(), nullable=True),
        sa.Column("baseline_nights", sa.Integer(), nullable=False),
        sa.Column("z", sa.Double(), nullable=True),
        sa.Column("window", sa.Integer(), nullable=True),
        sa.Column("since", sa.Date(), nullable=True),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["eval_run_id"], ["runs.eval_run_id"], name=op.f("fk_verdicts_runs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("eval_run_id", "position", name=op.f("pk_verdicts")),
    )
    op.create_index(
        op.f("ix_verdicts_eval_run_id_metric_source_slice"),
        "verdicts",
        ["eval_run_id", "metric", "source", "slice"],
        unique=True,
    )
    op.create_table(
        "scores",
        sa.Column("eval_run_id", sa.Text(), nullable=False),
        sa.Column("case_id", sa.Text(), nullable=False),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("metric_version", sa.Text(), nullable=False),
        sa.Column("value", sa.Double(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("judge", sa.Text(), nullable=True),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.Column("cached", sa.Integer(), nullable=False),
        sa.Column("prompt_tokens", sa.Integer(), nullable=False),
        sa.Column("completion_tokens", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("evidence", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["eval_run_id", "case_id"],
            ["cases.eval_run_id", "cases.case_id"],
            name=op.f("fk_scores_cases"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["judge"], ["judges.fingerprint"], name=op.f("fk_scores_judges")),
        sa.PrimaryKeyConstraint("eval_run_id", "case_id", "metric", name=op.f("pk_scores")),
    )
