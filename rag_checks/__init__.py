"""RAG Checks: a nightly regression monitor for RAG question-answering bots."""

__version__ = "0.1.0"
