"""The registry: what a metric declares about itself, and how it is found by name."""

import difflib
import inspect
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from rag_checks.errors import ConfigError
from rag_checks.protocols import Task
from rag_checks.records import Language, Stage, content_hash

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


_READABLE = 60  # characters of options that a version spells out; longer ones are hashed

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


class Options(BaseModel):
    """Base of a metric's options: what a monitor may set under `metric_options`."""

    model_config = ConfigDict(frozen=True, extra="forbid")


Grade = Callable[..., Awaitable[Outcome]]
"""`Exam -> Outcome`, or `(Exam, Options) -> Outcome` for a metric with options."""


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
    options: Options | None = None
    own_tasks: tuple[Task, ...] = ()
    """Tasks it asks for itself alone, through `Exam.ask_own`."""
    by_default: bool = True
    """Graded by a monitor that lists no metrics."""
    direction: Literal["higher", "lower"] = "higher"
    """Which values are better; all metrics of today are shares of something good."""

    async def run(self, exam: "Exam") -> Outcome:
        """Grade one case. Raises JudgeError or JudgeUnavailable when a judgement it reads failed."""
        return await (self.grade(exam) if self.options is None else self.grade(exam, self.options))

    def configured(self, given: Mapping[str, Any]) -> "Metric":
        """With these options; those that differ from the defaults become part of the version.

        Raises ConfigError naming the option.
        """
        if self.options is None:
            raise ConfigError(f"{self.name} takes no options", key=f"metric_options.{self.name}")
        try:
            options = type(self.options).model_validate(dict(given))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(["metric_options", self.name, *map(str, first["loc"])])
            known = ", ".join(type(self.options).model_fields)
            raise ConfigError(f"{first['msg']}; options of {self.name}: {known}", key=place) from error
        changed = options.model_dump(mode="json", exclude_defaults=True)
        said = json.dumps(changed, sort_keys=True)
        if len(said) > _READABLE:
            said = f"+{content_hash(changed)[:8]}"
        version = f"{self.version}{said}" if changed else self.version
        return replace(self, options=options, version=version)

    @property
    def judged(self) -> bool:
        """Whether a judge is needed."""
        return bool(self.asks or self.own_tasks)

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The judge's tasks it reads, in the order they are asked."""
        wanted = {TASKS[ask] for ask in self.asks} | set(self.own_tasks)
        return tuple(task for task in Task if task in wanted)

    @property
    def reads(self) -> tuple[str, ...]:
        """Keys of what it reads in `Exam.replies`: shared tasks as they are asked, then its own name."""
        shared = {TASKS[ask] for ask in self.asks}
        return (*(task.value for task in Task if task in shared), *([self.name] if self.own_tasks else []))

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
    options: Options | None = None,
    own_tasks: Iterable[Task] = (),
    by_default: bool = True,
) -> Callable[[Grade], Grade]:
    """Decorator: register an async function as a metric: `Exam -> Outcome`, with `options` a second argument.

    The version must change whenever the same verdicts would give another number: scores of different
    versions are different series. Raises ValueError for a name already taken.
    """

    def register(grade: Grade) -> Grade:
        if name in REGISTRY and not _is_redefined(REGISTRY[name].grade, grade):
            raise ValueError(f"metric {name!r} is registered twice")
        REGISTRY[name] = Metric(
            name=name,
            version=version,
            stage=stage,
            needs=tuple(needs),
            asks=frozenset(asks),
            answerable_only=answerable_only,
            grade=grade,
            options=options,
            own_tasks=tuple(own_tasks),
            by_default=by_default,
        )
        return grade

    return register


def _is_redefined(old: Grade, new: Grade) -> bool:
    """Whether the same function was written anew: a notebook's cell that is run again."""
    names = [(grade.__module__, getattr(grade, "__qualname__", None)) for grade in (old, new)]
    return old.__module__ == "__main__" and names[0] == names[1]


def get(name: str, known: Mapping[str, Metric] | None = None) -> Metric:
    """The metric of that name among the known ones, by default the registry's and the shipped rubrics.

    Raises ConfigError naming the nearest.
    """
    if known is None:
        known = REGISTRY if name in REGISTRY else _with_rubrics()
    found = known.get(name)
    if found is None:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known metrics: {', '.join(known)}"
        raise ConfigError(f"unknown metric {name!r}; {hint}", key="metrics")
    return found


def _with_rubrics() -> Mapping[str, Metric]:
    from rag_checks.metrics.catalogue import known_metrics  # noqa: PLC0415 - it builds on this module

    return known_metrics()


def names() -> tuple[str, ...]:
    """Names of all metrics, in the order they are reported."""
    return tuple(REGISTRY)


def defaults() -> list[Metric]:
    """The metrics graded where none are named, in the order they are reported."""
    return [metric for metric in REGISTRY.values() if metric.by_default]


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
