from rag_checks.library import Comparison as Comparison
from rag_checks.library import Experiment as Experiment
from rag_checks.library import Summary as Summary
from rag_checks.library import aevaluate as aevaluate
from rag_checks.library import evaluate as evaluate
from rag_checks.metrics import Metric as Metric
from rag_checks.metrics import Outcome as Outcome
from rag_checks.metrics import metric as metric
from rag_checks.records import EvalItem as EvalItem
from rag_checks.records import Response as Response
from rag_checks.records import Score as Score

from . import datasets as datasets

__version__: str
