"""Run by Alembic: applies revisions on the connection that `schema.upgrade` hands over."""

from alembic import context

from rag_checks.store.schema import VERSION_TABLE
from rag_checks.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    render_as_batch=True,  # SQLite changes a table by building it anew
)
with context.begin_transaction():
    context.run_migrations()
