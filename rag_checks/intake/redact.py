"""Personal data and secrets are masked before anything is stored or sent to a judge (P7)."""

import re
from collections import Counter
from typing import Any

from rag_checks.intake.personal_data import KINDS, find
from rag_checks.records import EvalItem, Feedback, Message, Response, ToolCall, Turn

_PLACEHOLDER = re.compile(rf"<({'|'.join(kind.upper() for kind in KINDS)})_(\d{{1,9}})>")


def has_placeholder(item: EvalItem) -> bool:
    """Whether something in what is asked or expected was masked."""
    texts = (item.user_input, item.reference or "", *(item.reference_contexts or ()))
    return any(map(_PLACEHOLDER.search, (*texts, *(message.content for message in item.history))))


def placeholders(text: str) -> Counter[str]:
    """How many places of a text are masked, by kind (`KINDS`); none is 0."""
    found = Counter(kind.lower() for kind, _ in _PLACEHOLDER.findall(text))
    return Counter({kind: found[kind] for kind in KINDS})


class Redactor:
    """Masks texts with placeholders such as `<PHONE_1>`; one value has one number within a turn or a case."""

    def mask_item(self, item: EvalItem) -> tuple[EvalItem, Counter[str]]:
        """The item with history, question, reference, reference passages and tags masked, and the counts.

        Ids and the expected intent stay: they are keys.
        """
        mask = _Masker()
        return mask.item(item), mask.counts

    def mask_case(self, item: EvalItem, response: Response) -> tuple[EvalItem, Response, Counter[str]]:
        """Item and response with one numbering, so that an answer still matches its reference.

        The item is masked as `mask_item` masks it; the response comes after it.
        """
        mask = _Masker()
        masked = mask.item(item)
        return masked, mask.response(response), mask.counts

    def mask_turn(self, turn: Turn) -> tuple[Turn, Counter[str]]:
        """The turn with its texts masked, and how many places were masked by kind (`KINDS`).

        Masked are history, question, rewritten query, contexts, tool arguments, answer, comment, error and
        tags, numbered in this order. Ids, intent and release stay: they are keys.
        """
        mask = _Masker()
        update: dict[str, Any] = {
            "history": mask.history(turn.history),
            "user_input": mask(turn.user_input),
            "rewritten_query": turn.rewritten_query and mask(turn.rewritten_query),
            "retrieved_contexts": turn.retrieved_contexts and tuple(map(mask, turn.retrieved_contexts)),
            "tool_calls": mask.tool_calls(turn.tool_calls),
            "response": mask(turn.response),
            "feedback": mask.feedback(turn.feedback),
            "error": turn.error and mask(turn.error),
            "tags": tuple(map(mask, turn.tags)),
        }
        return turn.model_copy(update=update), mask.counts


class _Masker:
    """Replaces what is found in the texts of one turn or case and remembers the numbers given."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._numbers: dict[tuple[str, str], int] = {}
        self._last: Counter[str] = Counter()

    def __call__(self, text: str) -> str:
        # A text masked before, as in the items made of logged turns, keeps its numbers to itself.
        for kind, used in _PLACEHOLDER.findall(text):
            self._last[kind.lower()] = max(self._last[kind.lower()], int(used))
        parts, done = [], 0
        for hit in find(text):
            if (hit.kind, hit.value) not in self._numbers:
                self._last[hit.kind] += 1
                self._numbers[hit.kind, hit.value] = self._last[hit.kind]
            number = self._numbers[hit.kind, hit.value]
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

    def item(self, item: EvalItem) -> EvalItem:
        update: dict[str, Any] = {
            "history": self.history(item.history),
            "user_input": self(item.user_input),
            "reference": item.reference and self(item.reference),
            "reference_contexts": item.reference_contexts and tuple(map(self, item.reference_contexts)),
            "tags": tuple(map(self, item.tags)),
        }
        return item.model_copy(update=update)

    def response(self, response: Response) -> Response:
        update: dict[str, Any] = {
            "rewritten_query": response.rewritten_query and self(response.rewritten_query),
            "retrieved_contexts": response.retrieved_contexts
            and tuple(map(self, response.retrieved_contexts)),
            "tool_calls": self.tool_calls(response.tool_calls),
            "response": response.response and self(response.response),
            "feedback": self.feedback(response.feedback),
            "error": response.error and self(response.error),
        }
        return response.model_copy(update=update)

    def history(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        return tuple(Message(role=m.role, content=self(m.content)) for m in messages)

    def tool_calls(self, calls: tuple[ToolCall, ...] | None) -> tuple[ToolCall, ...] | None:
        return calls and tuple(ToolCall(name=c.name, arguments=self.inside(c.arguments)) for c in calls)

    def feedback(self, feedback: Feedback | None) -> Feedback | None:
        return feedback and Feedback(
            rating=feedback.rating, comment=feedback.comment and self(feedback.comment)
        )
