"""The registry: what a metric declares about itself, and how it is found by name."""

import difflib
import inspect
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rag_checks.errors import ConfigError
from rag_checks.protocols import Task
from rag_checks.records import Language, Stage

if TYPE_CHECKING:
    from rag_checks.metrics.exam import Exam


class Ask(StrEnum):
    """What a metric wants of the judge; several asks share one call."""

    ANSWER = "answer"
    REFERENCE = "reference"
    ANSWER_SUPPORT = "answer_support"
    REFERENCE_SUPPORT = "reference_support"
    CONTEXT_USE = "context_use"
    COMPARISON = "comparison"
    REFERENCE_SIMILARITY = "reference_similarity"
    QUESTION_SIMILARITY = "question_similarity"


TASKS: dict[Ask, Task | None] = {
    Ask.ANSWER: Task.ANALYSE_ANSWER,
    Ask.REFERENCE: Task.ANALYSE_REFERENCE,
    Ask.ANSWER_SUPPORT: Task.CHECK_CONTEXTS,
    Ask.REFERENCE_SUPPORT: Task.CHECK_CONTEXTS,
    Ask.CONTEXT_USE: Task.CHECK_CONTEXTS,
    Ask.COMPARISON: Task.COMPARE_CLAIMS,
    Ask.REFERENCE_SIMILARITY: None,
    Ask.QUESTION_SIMILARITY: None,
}
"""The judge's task behind each ask; None for similarity, which is not a task."""


@dataclass(frozen=True)
class Outcome:
    """What a metric found: a value in 0..1, or None when it does not apply; one sentence; the evidence."""

    value: float | None
    reason: str
    evidence: dict[str, Any] = field(default_factory=dict)


def say(language: Language, *, zh: str, en: str) -> str:
    """The sentence in the case's language."""
    return zh if language == "zh" else en


Grade = Callable[["Exam"], Awaitable[Outcome]]


@dataclass(frozen=True)
class Metric:
    """A grader and what it declares about itself."""

    name: str
    version: str
    stage: Stage
    needs: tuple[str, ...]
    """Fields that must be recorded; `a|b` needs one of the two. All need the bot to have answered."""
    asks: frozenset[Ask]
    answerable_only: bool
    """True: an item known to be unanswerable has nothing this metric could measure."""
    grade: Grade
    direction: Literal["higher", "lower"] = "higher"
    """Which values are better; all metrics of today are shares of something good."""

    @property
    def judged(self) -> bool:
        """Whether a judge is needed."""
        return bool(self.asks)

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The judge's tasks it reads, in the order they are asked."""
        wanted = {TASKS[ask] for ask in self.asks}
        return tuple(task for task in Task if task in wanted)

    @property
    def doc(self) -> str:
        """Definition, source and edge cases: the docstring of its function."""
        return inspect.getdoc(self.grade) or ""


REGISTRY: dict[str, Metric] = {}
"""All metrics by name, in the order they are reported."""


def metric(
    name: str,
    *,
    version: str,
    stage: Stage,
    needs: Iterable[str],
    asks: Iterable[Ask] = (),
    answerable_only: bool = False,
) -> Callable[[Grade], Grade]:
    """Decorator: register an async function `Exam -> Outcome` as a metric.

    The version must change whenever the same verdicts would give another number: scores of different
    versions are different series. Raises ValueError for a name already taken.
    """

    def register(grade: Grade) -> Grade:
        if name in REGISTRY:
            raise ValueError(f"metric {name!r} is registered twice")
        REGISTRY[name] = Metric(
            name=name,
            version=version,
            stage=stage,
            needs=tuple(needs),
            asks=frozenset(asks),
            answerable_only=answerable_only,
            grade=grade,
        )
        return grade

    return register


def get(name: str) -> Metric:
    """The metric of that name. Raises ConfigError naming the nearest known one."""
    found = REGISTRY.get(name)
    if found is None:
        near = difflib.get_close_matches(name, REGISTRY, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known metrics: {', '.join(REGISTRY)}"
        raise ConfigError(f"unknown metric {name!r}; {hint}", key="metrics")
    return found


def names() -> tuple[str, ...]:
    """Names of all metrics, in the order they are reported."""
    return tuple(REGISTRY)


class Description(NamedTuple):
    """One row of the metrics page."""

    name: str
    version: str
    stage: Stage
    direction: str
    needs: tuple[str, ...]
    judged: bool
    tasks: tuple[str, ...]
    similarity: bool
    summary: str
    doc: str


def describe() -> list[Description]:
    """One row a metric, for documentation: what it needs, what it asks, its definition and source."""
    return [
        Description(
            name=entry.name,
            version=entry.version,
            stage=entry.stage,
            direction=entry.direction,
            needs=entry.needs,
            judged=entry.judged,
            tasks=tuple(task.value for task in entry.tasks),
            similarity=any(TASKS[ask] is None for ask in entry.asks),
            summary=entry.doc.partition("\n")[0],
            doc=entry.doc,
        )
        for entry in REGISTRY.values()
    ]
