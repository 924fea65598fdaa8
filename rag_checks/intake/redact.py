"""Personal data and secrets are masked before anything is stored or sent to a judge (P7)."""

from collections import Counter
from typing import Any

from rag_checks.intake.personal_data import find
from rag_checks.records import Feedback, Message, ToolCall, Turn


class Redactor:
    """Masks turns with placeholders such as `<PHONE_1>`; one value has one number within a turn."""

    def mask_turn(self, turn: Turn) -> tuple[Turn, Counter[str]]:
        """The turn with its texts masked, and how many places were masked by kind (`KINDS`).

        Masked are history, question, rewritten query, contexts, tool arguments, answer, comment, error and
        tags, numbered in this order. Ids, intent and release stay: they are keys.
        """
        mask = _Masker()
        update: dict[str, Any] = {
            "history": tuple(Message(role=m.role, content=mask(m.content)) for m in turn.history),
            "user_input": mask(turn.user_input),
            "rewritten_query": turn.rewritten_query and mask(turn.rewritten_query),
            "retrieved_contexts": turn.retrieved_contexts and tuple(map(mask, turn.retrieved_contexts)),
            "tool_calls": turn.tool_calls
            and tuple(ToolCall(name=c.name, arguments=mask.inside(c.arguments)) for c in turn.tool_calls),
            "response": mask(turn.response),
            "feedback": turn.feedback
            and Feedback(
                rating=turn.feedback.rating, comment=turn.feedback.comment and mask(turn.feedback.comment)
            ),
            "error": turn.error and mask(turn.error),
            "tags": tuple(map(mask, turn.tags)),
        }
        return turn.model_copy(update=update), mask.counts


class _Masker:
    """Replaces what is found in the texts of one turn and remembers the numbers given."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._numbers: dict[str, dict[str, int]] = {}

    def __call__(self, text: str) -> str:
        parts, done = [], 0
        for hit in find(text):
            numbers = self._numbers.setdefault(hit.kind, {})
            number = numbers.setdefault(hit.value, len(numbers) + 1)
            parts += [text[done : hit.start], f"<{hit.kind.upper()}_{number}>"]
            done = hit.end
            self.counts[hit.kind] += 1
        return "".join([*parts, text[done:]])

    def inside(self, value: Any) -> Any:
        """Mask all texts inside a JSON value; numbers are looked at as texts."""
        if isinstance(value, dict):
            return {self(key): self.inside(part) for key, part in value.items()}
        if isinstance(value, list):
            return [self.inside(part) for part in value]
        if isinstance(value, int) and not isinstance(value, bool):
            masked = self(str(value))
            return value if masked == str(value) else masked
        return self(value) if isinstance(value, str) else value
