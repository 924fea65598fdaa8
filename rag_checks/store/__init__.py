"""What RAG Checks remembers: SQLAlchemy tables, reads and writes by intent, migrations."""
