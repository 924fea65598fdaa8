"""RAG Checks as a library: grade rows a program holds, ask a bot live, compare two experiments."""

from rag_checks.library.comparison import Comparison
from rag_checks.library.evaluating import aevaluate, evaluate
from rag_checks.library.experiment import Experiment
from rag_checks.library.summary import MetricSummary, Summary

__all__ = ["Comparison", "Experiment", "MetricSummary", "Summary", "aevaluate", "evaluate"]
