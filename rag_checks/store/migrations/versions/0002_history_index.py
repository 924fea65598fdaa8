"""An index that holds everything the history of a monitor reads of its scores."""

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_index(
        "ix_scores_history",
        "scores",
        ["eval_run_id", "case_id", "metric", "metric_version", "value", "status", "judge"],
    )
