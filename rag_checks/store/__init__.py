"""What RAG Checks remembers: SQLAlchemy tables, reads and writes by intent, migrations."""

from rag_checks.store.engine import shown_address
from rag_checks.store.schema import head_revision, schema_revision, upgrade
from rag_checks.store.store import Store

__all__ = ["Store", "head_revision", "schema_revision", "shown_address", "upgrade"]
