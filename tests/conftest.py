"""Fixtures shared by all tests."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# Test helpers (workspace, fake servers) are plain modules beside the tests.
sys.path.insert(0, str(Path(__file__).parent))

from postgres_server import start_postgres


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a real PostgreSQL server on loopback, started for this session."""
    url, stop = start_postgres(tmp_path_factory.mktemp("postgres"))
    try:
        yield url
    finally:
        stop()
