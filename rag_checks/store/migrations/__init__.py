"""Alembic's folder: how the schema came to be what it is, one file a step."""
