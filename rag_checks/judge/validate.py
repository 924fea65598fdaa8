"""From a model's text to a validated output, or to the exact reason why there is none."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from operator import attrgetter
from typing import Any

from pydantic import ValidationError

from rag_checks.errors import JudgeError
from rag_checks.judge.parse import cleaned, json_objects, strict_object
from rag_checks.protocols import (
    OUTPUTS,
    AnswerAnalysis,
    JudgeRequest,
    Output,
    ReferenceAnalysis,
    RubricGrade,
    Task,
)
from rag_checks.text import clean, normalise

VERDICTS = {
    "answer_claims": "supported",
    "reference_claims": "supported",
    "contexts": "useful",
    "citations": "supported",
    "points": "met",
}
"""The lists of verdicts in replies, and the truth value in each entry."""

# The only texts that mean nothing but a truth value; numbers other than 0 and 1 would be a guess at a scale.
_TRUTH = {"true": True, "yes": True, "是": True, "false": False, "no": False, "否": False}
_REFUSAL = re.compile(
    r"\s*(?:i['’]?m (?:very )?sorry|sorry,|i (?:can(?:not|['’]t)|am unable|won['’]t)|as an ai\b"
    r"|很?抱歉|对不起|我(?:无法|不能)|作为(?:一个)?(?:AI|人工智能))",
    re.IGNORECASE,
)
_MOST_PROBLEMS = 5


def expected_ids(request: JudgeRequest) -> dict[str, int]:
    """How many verdicts each list of the reply must hold; lists that are not asked for are absent."""
    inputs = request.inputs
    sent = {
        Task.CHECK_CONTEXTS: ("answer_claims", "reference_claims"),
        Task.COMPARE_CLAIMS: ("answer_claims", "reference_claims"),
        Task.CHECK_CITATIONS: ("citations",),
        Task.GRADE_RUBRIC: ("points",),
    }.get(request.task, ())
    counts: dict[str, int] = {name: len(inputs[name]) for name in sent if name in inputs}
    if request.task is Task.CHECK_CONTEXTS and inputs.get("rate_contexts"):
        counts["contexts"] = len(inputs.get("contexts") or ())
    return counts


def rubric_labels(request: JudgeRequest) -> dict[str, str]:
    """The labels a rubric's grade may have, with their meanings."""
    labels: dict[str, str] = request.inputs["rubric"]["labels"]
    return labels


def read_output(request: JudgeRequest, text: str, *, truncated: bool) -> Output:
    """The one valid output in a model's text.

    Args:
        request: what was asked; its ids must come back exactly once each.
        text: what the model wrote.
        truncated: the model stopped at its token limit; then only a complete, strict reply counts.

    Raises:
        JudgeError: kind truncated, refusal or format; says what is wrong so that a model can mend it.
    """
    text = clean(text)
    if truncated:
        whole = strict_object(text.strip())
        if whole is None:
            raise JudgeError("the reply was cut off at the token limit", kind="truncated", raw=text)
        candidates = [whole]
    else:
        candidates = json_objects(text)
    if "\\u" in text:  # escapes may spell what `clean` took out of the text
        candidates = [cleaned(candidate) for candidate in candidates]
    outputs: list[Output] = []
    problems: list[str] = []
    for candidate in candidates:
        output = _validated(request, candidate, problems)
        if output is not None and output not in outputs:
            outputs.append(output)
    if len(outputs) == 1:
        return outputs[0]
    if outputs:
        raise JudgeError(f"the reply holds {len(outputs)} different answers", kind="format", raw=text)
    if not candidates and _REFUSAL.match(text):
        raise JudgeError("the judge refused to answer", kind="refusal", raw=text)
    raise JudgeError(_told(problems, text), kind="format", raw=text)


def _told(problems: list[str], text: str) -> str:
    if problems:
        return "; ".join(problems[:_MOST_PROBLEMS])
    return "the reply is not a JSON object" if text.strip() else "the reply is empty"


def _validated(request: JudgeRequest, candidate: dict[str, Any], problems: list[str]) -> Output | None:
    """The candidate as an output; None with the reasons added to `problems`."""
    counts = expected_ids(request)
    try:
        output = OUTPUTS[request.task].model_validate(_prepared(request, candidate, counts))
    except ValidationError as error:
        problems.extend(
            f"{'.'.join(str(part) for part in one['loc'])}: {one['msg']}"
            for one in error.errors(include_url=False)
        )
        return None
    broken = [problem for name, count in counts.items() for problem in _wrong_ids(output, name, count)]
    if isinstance(output, AnswerAnalysis | ReferenceAnalysis):
        broken += _blank_texts(output)
    if isinstance(output, RubricGrade) and output.label not in rubric_labels(request):
        broken.append(f"label: must be one of {', '.join(rubric_labels(request))}")
    problems.extend(broken)
    return None if broken else _in_order(output)


def _prepared(request: JudgeRequest, candidate: dict[str, Any], counts: dict[str, int]) -> dict[str, Any]:
    """The candidate with unambiguous spellings of truth values, ids and labels replaced.

    Verdict lists that were not asked for are dropped, as every other field that is not asked for.
    """
    data = {name: value for name, value in candidate.items() if name not in VERDICTS or name in counts}
    for name in counts:
        data[name] = _with_plain_types(data.get(name), VERDICTS[name])
    if "noncommittal" in data:
        data["noncommittal"] = _truth(data["noncommittal"])
    if request.task is Task.GRADE_RUBRIC and "label" in data:
        data["label"] = _label(data["label"], rubric_labels(request))
    return data


def _with_plain_types(verdicts: Any, truth_field: str) -> Any:
    if not isinstance(verdicts, list):
        return verdicts
    return [
        verdict | {truth_field: _truth(verdict.get(truth_field)), "id": _whole(verdict.get("id"))}
        if isinstance(verdict, dict)
        else verdict
        for verdict in verdicts
    ]


def _truth(value: Any) -> Any:
    if isinstance(value, str):
        return _TRUTH.get(value.strip().casefold(), value)
    return bool(value) if type(value) is int and value in (0, 1) else value


def _label(value: Any, labels: Collection[str]) -> Any:
    """The label that a value spells: other case or width, a number for its digits, true for yes."""
    if not isinstance(value, str | int | float):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    said = normalise("yes" if value is True else "no" if value is False else str(value))
    spelt = [label for label in labels if normalise(label) == said]
    if not spelt and said in _TRUTH:
        spelt = [label for label in labels if _TRUTH.get(normalise(label)) is _TRUTH[said]]
    return spelt[0] if len(spelt) == 1 else value


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, str) and value.isascii() and value.isdecimal() else value


def _wrong_ids(output: Output, name: str, count: int) -> list[str]:
    """What is wrong with the ids of one list of verdicts: each of 1..count must be there exactly once."""
    seen = Counter(verdict.id for verdict in getattr(output, name))
    problems = {
        "missing": [id_ for id_ in range(1, count + 1) if id_ not in seen],
        "there more than once": [id_ for id_, times in seen.items() if times > 1],
        "not among those that were sent": [id_ for id_ in seen if not 1 <= id_ <= count],
    }
    return [f"{name}: ids {ids[:_MOST_PROBLEMS]} are {what}" for what, ids in problems.items() if ids]


def _blank_texts(output: AnswerAnalysis | ReferenceAnalysis) -> list[str]:
    problems = _blank("claims", output.claims)
    if isinstance(output, AnswerAnalysis):
        problems += _blank("questions", output.questions)
        if not output.questions and not output.noncommittal:
            problems.append("questions: the list is empty")
    return problems


def _blank(name: str, texts: Sequence[str]) -> list[str]:
    return [f"{name}: an entry is blank"] if any(not text.strip() for text in texts) else []


def _in_order(output: Output) -> Output:
    """Verdicts sorted by id, so that the order a model chose cannot matter to anyone."""
    lists = {
        name: sorted(getattr(output, name), key=attrgetter("id"))
        for name in VERDICTS
        if hasattr(output, name)
    }
    return output.model_copy(update=lists)
