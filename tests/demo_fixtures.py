"""Both releases of the demo bot and small helpers, shared by the demo's tests."""

from functools import lru_cache
from importlib.resources import files

from rag_checks.demo.bot import HelpBot
from rag_checks.demo.questions import Question, all_questions, is_right
from rag_checks.records import EvalItem


@lru_cache(maxsize=2)
def bot(release: str) -> HelpBot:
    """The bot of a release, indexed once."""
    return HelpBot(release)


def right_share(release: str, questions: list[Question]) -> float:
    """Share of questions this release answers right."""
    answered = [is_right(q, bot(release).answer(q.text)["answer"]) for q in questions]
    return sum(answered) / len(answered)


def questions_of(kind: str, fact: str | None = None) -> list[Question]:
    """All first questions of a kind, or of one fact."""
    return [q for q in all_questions() if q.kind == kind and fact in (None, q.fact)]


@lru_cache(maxsize=1)
def golden() -> tuple[EvalItem, ...]:
    """The shipped golden set."""
    lines = (files("rag_checks.demo") / "golden.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(EvalItem.model_validate_json(line) for line in lines)
