"""The ways a case can fail, told from its stage numbers: rules, names and next steps."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from rag_checks.records import GradedCase, Language, Score, ScoreStatus, Stage

FAILING_BELOW = 0.5
"""Below this an answer is taken for wrong (answer_correctness) or against its sources (faithfulness)."""

RANKED_LOW = 0.34
"""Reciprocal rank of a first useful passage in third place or later."""

# The first of these that was measured says whether anything useful was retrieved.
_FOUND_BY = ("hit_rate", "recall", "context_recall", "context_precision")
_FAILING_AT_ZERO = ("refusal_correctness", "answer_relevancy", "answer_rate")


class Mark(NamedTuple):
    """What a metric said about a case."""

    status: str
    value: float | None


Marks = Mapping[str, Mark]


def marks_of(scores: Iterable[Score]) -> dict[str, Mark]:
    """Scores of one case by metric."""
    return {score.metric: Mark(score.status, score.value) for score in scores}


def value(marks: Marks, metric: str) -> float | None:
    """The value of a metric, None unless it was scored."""
    mark = marks.get(metric)
    return mark.value if mark is not None and mark.status == ScoreStatus.OK else None


def failing(marks: Marks) -> bool:
    """Whether a case went wrong, from its scores alone.

    With a reference answer_correctness decides; without one a wrong refusal, no answer, an irrelevant answer
    or one against its sources is a failure. Failed judgements prove nothing.
    """
    if _bot_failed(marks):
        return True
    correctness = value(marks, "answer_correctness")
    if correctness is not None:
        return correctness < FAILING_BELOW
    return any(value(marks, metric) == 0 for metric in _FAILING_AT_ZERO) or _against_sources(marks)


def _bot_failed(marks: Marks) -> bool:
    return any(mark.status == ScoreStatus.BOT_ERROR for mark in marks.values())


def _against_sources(marks: Marks) -> bool:
    faithfulness = value(marks, "faithfulness")
    return faithfulness is not None and faithfulness < FAILING_BELOW


def _found(marks: Marks) -> float | None:
    return next((found for metric in _FOUND_BY if (found := value(marks, metric)) is not None), None)


def _no_answer(graded: GradedCase, marks: Marks) -> bool:
    response = graded.case.response
    return response is None or response.error is not None or _bot_failed(marks)


def _wrong_intent(_: GradedCase, marks: Marks) -> bool:
    # A wrong intent that still led to the right passage did no harm.
    return value(marks, "intent_accuracy") == 0 and not _found(marks)


def _made_up(graded: GradedCase, marks: Marks) -> bool:
    return graded.case.item.answerable is False and value(marks, "refusal_correctness") == 0


def _retrieval_missed(graded: GradedCase, marks: Marks) -> bool:
    found, response = _found(marks), graded.case.response
    empty = response is not None and response.retrieved_contexts == ()
    return found == 0 or (found is None and empty and graded.case.item.answerable is not False)


def _ranked_low(_: GradedCase, marks: Marks) -> bool:
    rank = value(marks, "mrr")
    return rank is not None and rank < RANKED_LOW


def _unfaithful(_: GradedCase, marks: Marks) -> bool:
    return _against_sources(marks)


def _refused(_: GradedCase, marks: Marks) -> bool:
    return value(marks, "answer_rate") == 0 or value(marks, "refusal_correctness") == 0


def _anything(_graded: GradedCase, _marks: Marks) -> bool:
    return True


class Cause(NamedTuple):
    """One way to fail: its stage, when it fits, what it is called, and what to do next."""

    stage: Stage
    fits: Callable[[GradedCase, Marks], bool]
    name: Mapping[Language, str]
    next_step: Mapping[Language, str]


CAUSES: dict[str, Cause] = {
    "no_answer": Cause(
        "outcome",
        _no_answer,
        {"en": "the bot did not answer", "zh": "机器人没有应答"},
        {
            "en": "Look at the bot's errors and latency in these cases; the answers were not graded.",
            "zh": "查看这些案例中机器人的报错与耗时；这些回答没有评分。",
        },
    ),
    "wrong_intent": Cause(
        "intent",
        _wrong_intent,
        {"en": "took the question for another intent", "zh": "意图识别错误"},
        {
            "en": "Compare expected and logged intents of these cases and fix the intent model or its rules.",
            "zh": "对比这些案例的预期意图与实际意图，修正意图模型或规则。",
        },
    ),
    "made_up": Cause(
        "generation",
        _made_up,
        {"en": "answered what it cannot know", "zh": "无法回答的问题却给出了答案"},
        {
            "en": "Make the bot say it does not know when nothing it retrieved holds the answer.",
            "zh": "当检索内容中没有答案时，让机器人说明不知道。",
        },
    ),
    "retrieval_missed": Cause(
        "retrieval",
        _retrieval_missed,
        {"en": "retrieved nothing relevant", "zh": "没有检索到相关段落"},
        {
            "en": "Check that the passages are in the index and whole: chunking, filters, embedding, import.",
            "zh": "检查相关段落是否完整地在索引中：切分方式、过滤条件、向量模型、最近一次导入。",
        },
    ),
    "ranked_low": Cause(
        "retrieval",
        _ranked_low,
        {"en": "retrieved the passage but ranked it low", "zh": "检索到相关段落但排名靠后"},
        {
            "en": "Look at what was ranked above the right passage; try a reranker or fewer passages.",
            "zh": "查看排在正确段落之前的内容；尝试重排序，或减少段落数量。",
        },
    ),
    "unfaithful": Cause(
        "generation",
        _unfaithful,
        {"en": "answered against its sources", "zh": "回答与检索内容不符"},
        {
            "en": "Read the unsupported claims of these cases; tighten the prompt or lower the temperature.",
            "zh": "查看这些案例中缺乏依据的陈述；收紧提示词或降低温度。",
        },
    ),
    "refused": Cause(
        "generation",
        _refused,
        {"en": "refused although it could have answered", "zh": "本可回答却拒答"},
        {
            "en": "Check the refusal rules of the prompt: these questions had what they needed.",
            "zh": "检查提示词中的拒答规则：这些问题已具备回答所需的内容。",
        },
    ),
    "generation_wrong": Cause(
        "generation",
        _anything,
        {"en": "had what it needed and answered wrongly", "zh": "内容齐全但回答错误或没有帮助"},
        {
            "en": "Read these answers beside their references: model, prompt or reference is wrong.",
            "zh": "对照参考答案阅读这些回答：模型、提示词或参考答案有误。",
        },
    ),
}
"""All causes, in the order they are tried: a stage is blamed only when those before it did their part."""


def cause_of(graded: GradedCase) -> str:
    """The key of CAUSES that explains a failing case: the first that fits."""
    marks = marks_of(graded.scores)
    return next(key for key, cause in CAUSES.items() if cause.fits(graded, marks))
