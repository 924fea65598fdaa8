"""What is graded: the registry and every metric.

A metric is one async function `Exam -> Outcome` with the `metric` decorator, in the module of its kind.
All values lie in 0..1, higher is better. Rules for the empty cases (`n/a` is not_applicable, `=` as for any
other case):

===================  ============  ==================  ============  ==================  =========
metric               answer blank  answer: no claims   contexts ()   unanswerable item   smalltalk
===================  ============  ==================  ============  ==================  =========
faithfulness         n/a           n/a                 0 if claims   =                   n/a
answer_relevancy     0             0 if noncommittal   =             n/a if it refused   n/a
answer_correctness   0             F1 is 0             =             n/a                 n/a
answer_similarity    0             =                   =             n/a                 n/a
factual_correctness  0             0 (3)               =             n/a                 n/a
noise_robustness     n/a           n/a                 1             n/a                 n/a
context_precision    = (1)         =                   0             n/a                 n/a
context_recall       =             =                   0             n/a                 n/a
hit_rate precision   =             =                   0             =                   =
recall mrr ndcg
intent_accuracy      =             =                   =             =                   =
refusal_correctness  0             by noncommittal     =             1 if it refused     n/a
answer_rate          0             by noncommittal     =             n/a                 n/a
citation_correctness n/a (2)       =                   0 if it cites =                   n/a
===================  ============  ==================  ============  ==================  =========

(1) n/a without a reference: then the answer is what usefulness is measured by.
(2) n/a for every answer without citations.
(3) n/a in mode precision.

For every metric: no answer at all, or a blank one with a logged error, is bot_error; a field the metric
needs that was not recorded (None; for what an item knows also blank or empty) is n/a; contexts that are all
blank count as (). A reference without claims makes answer_correctness and context_recall n/a.
"""

from rag_checks.metrics import citations, context, generation, retrieval, stages
from rag_checks.metrics.grading import grade_case
from rag_checks.metrics.registry import (
    REGISTRY,
    Ask,
    Description,
    Metric,
    Outcome,
    defaults,
    describe,
    get,
    metric,
    names,
)

__all__ = [
    "REGISTRY",
    "Ask",
    "Description",
    "Metric",
    "Outcome",
    "citations",
    "context",
    "defaults",
    "describe",
    "generation",
    "get",
    "grade_case",
    "metric",
    "names",
    "retrieval",
    "stages",
]
