"""A rubric as a metric: one call a case, a value by the judge's label and the points that are met."""

from dataclasses import replace
from typing import Any

from rag_checks.errors import JudgeError
from rag_checks.metrics import scoring
from rag_checks.metrics.exam import Exam, in_order
from rag_checks.metrics.registry import Metric, Options, Outcome, say
from rag_checks.metrics.rubrics.model import Emptiable, Point, Points, Rubric
from rag_checks.protocols import RubricGrade, Task
from rag_checks.records import Language


class RubricOptions(Options):
    """What a monitor may set for any rubric: a team's own required points, beside those of the file."""

    points: Points = ()


def as_metric(rubric: Rubric) -> Metric:
    """The metric of a rubric; its version is the rubric's and a hash of what it says."""

    async def grade(exam: Exam, options: RubricOptions) -> Outcome:
        return await _grade(rubric, (*rubric.points, *options.points), exam)

    return Metric(
        name=rubric.name,
        version=f"{rubric.version}-{rubric.content_hash}",
        stage=rubric.stage,
        needs=rubric.needs,
        asks=frozenset(),
        answerable_only=rubric.answerable_only,
        grade=grade,
        options=RubricOptions(),
        own_tasks=(Task.GRADE_RUBRIC,),
        by_default=False,
    )


async def _grade(rubric: Rubric, required: tuple[Point, ...], exam: Exam) -> Outcome:
    if exam.offline:
        reason = say(
            exam.language,
            zh="离线评判器没有模型，不能按评分标准评判",
            en="The offline judge has no model and grades no rubrics",
        )
        return Outcome(None, reason)
    empty = _empty(rubric, exam)
    if empty is not None:
        return empty
    language = exam.language if exam.language in rubric.languages else rubric.languages[0]
    labels = rubric.labels_in(language)
    points = [one.point for one in required if one.concerns(exam.case.intent)]
    inputs = _inputs(rubric, exam) | {
        "rubric": {
            "question": rubric.question.said(language),
            "labels": {label: meaning for label, (_, meaning) in labels.items()},
        }
    }
    if points:
        inputs["points"] = points
    given = await exam.ask_own(rubric.name, Task.GRADE_RUBRIC, RubricGrade, inputs, language=language)
    if given.label not in labels:
        raise JudgeError(f"the label is none of {rubric.name}'s", kind="format")
    return _outcome(labels[given.label][0], points, given, exam.language)


def _outcome(score: float, points: list[str], given: RubricGrade, language: Language) -> Outcome:
    """The value is the label's score, with points the smaller of that and the share of points met."""
    evidence: dict[str, Any] = {"label": given.label, "label_score": score, "label_reason": given.reason}
    said = say(language, zh=f"评为“{given.label}”", en=f"Rated {given.label!r}")
    if not points:
        return Outcome(score, f"{said}{say(language, zh='：', en=': ')}{given.reason}", evidence)
    verdicts = in_order(given.points, len(points))
    met = [verdict.met for verdict in verdicts]
    evidence["points"] = [
        {"point": point, "met": verdict.met, "reason": verdict.reason}
        for point, verdict in zip(points, verdicts, strict=True)
    ]
    counted = say(
        language,
        zh=f"，{len(met)} 条要点中满足 {sum(met)} 条",
        en=f", {sum(met)} of {len(met)} required points are met",
    )
    return Outcome(min(score, scoring.share(met)), said + counted, evidence)


def _empty(rubric: Rubric, exam: Exam) -> Outcome | None:
    """What needs no judge: an answer or a list of passages that is recorded and empty."""
    empty: dict[Emptiable, Outcome] = {}
    if not exam.answer:
        empty["response"] = Outcome(0.0, say(exam.language, zh="回答为空", en="The answer is empty"))
    if exam.nothing_retrieved:
        reason = say(exam.language, zh="没有检索到任何段落", en="Nothing was retrieved")
        empty["retrieved_contexts"] = Outcome(0.0, reason)
    for name, outcome in empty.items():
        if name in rubric.needs:
            zero = rubric.when_empty.get(name, "zero") == "zero"
            return outcome if zero else replace(outcome, value=None)
    return None


def _inputs(rubric: Rubric, exam: Exam) -> dict[str, Any]:
    """The question, what was said before it, and the fields the rubric needs."""
    recorded: dict[str, Any] = {
        "response": ("answer", exam.answer),
        "retrieved_contexts": ("contexts", list(exam.contexts)),
        "reference": ("reference", exam.reference),
        "rewritten_query": ("rewritten_query", exam.response.rewritten_query),
        "tool_calls": ("tool_calls", [one.model_dump(mode="json") for one in exam.response.tool_calls or ()]),
    }
    inputs: dict[str, Any] = {"question": exam.question}
    if exam.item.history:
        inputs["history"] = [message.model_dump() for message in exam.item.history]
    return inputs | dict(recorded[name] for name in rubric.needs if name in recorded)
