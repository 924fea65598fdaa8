"""RAG Checks: a nightly regression monitor for RAG question-answering bots, and a library to grade with.

The names below are loaded when they are first used, so that importing the package stays quick; their types
are in `__init__.pyi`.
"""

import importlib
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "Comparison": "rag_checks.library",
    "EvalItem": "rag_checks.records",
    "Experiment": "rag_checks.library",
    "Metric": "rag_checks.metrics",
    "Outcome": "rag_checks.metrics",
    "Response": "rag_checks.records",
    "Score": "rag_checks.records",
    "Summary": "rag_checks.library",
    "aevaluate": "rag_checks.library",
    "evaluate": "rag_checks.library",
    "metric": "rag_checks.metrics",
}

__all__ = [*_HOMES, "__version__", "datasets"]  # noqa: PLE0604 - they are texts


def __getattr__(name: str) -> Any:
    if name == "datasets":
        return importlib.import_module("rag_checks.datasets")
    if name not in _HOMES:
        raise AttributeError(f"module 'rag_checks' has no attribute {name!r}")
    found = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
