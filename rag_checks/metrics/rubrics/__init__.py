"""Rubrics: metrics that are data. A YAML file says what the judge is asked and what its labels are worth.

`shipped` holds those that come with the project; a team adds its own with `rubrics:` in the monitor file.
They are graded only where they are named: each costs a call a case.
"""

from rag_checks.metrics.rubrics.grading import RubricOptions, as_metric
from rag_checks.metrics.rubrics.loading import read_rubric, shipped_rubrics
from rag_checks.metrics.rubrics.model import Point, Rubric

__all__ = ["Point", "Rubric", "RubricOptions", "as_metric", "read_rubric", "shipped_rubrics"]
