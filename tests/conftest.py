"""Fixtures shared by all tests."""

import sys
from pathlib import Path

# Test helpers (workspace, fake servers) are plain modules beside the tests.
sys.path.insert(0, str(Path(__file__).parent))
