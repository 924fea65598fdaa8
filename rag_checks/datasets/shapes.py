"""What other tools call our fields, and where they keep them.

Read from the tools' own sources: ragas 0.4.3 (`dataset_schema.SingleTurnSample`), DeepEval 4.3.1
(`dataset.golden.Golden`, `EvaluationDataset.save_as`), LangSmith 0.15.1 (`schemas.Example`).
"""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Shape:
    """A tool's row and ours.

    Attributes:
        read: a tool's row → our fields, as far as it says them.
        write: our fields → a tool's row, as far as it can say them.
        bag: path of the dict that takes the rest; empty when nothing is left.
        needs: fields without which the tool does not load a row.
        refuses: what is wrong with a row that is no question with an answer; None when it is one.
    """

    name: str
    read: Callable[[Json], Json]
    write: Callable[[Json], Json]
    bag: tuple[str, ...]
    needs: tuple[str, ...] = ()
    refuses: Callable[[Json], str | None] = lambda _row: None


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


# Our own, and ragas

_RAGAS = (
    "user_input",
    "response",
    "reference",
    "retrieved_contexts",
    "retrieved_context_ids",
    "reference_contexts",
    "reference_context_ids",
)
_LISTS = frozenset(name for name in _RAGAS if name.endswith(("contexts", "ids")))


def unquoted_lists(row: Json) -> Json:
    """A row of CSV with lists out of the texts that `EvaluationDataset.to_csv` writes for them."""
    return {name: _unquoted(value) if name in _LISTS else value for name, value in row.items()}


def _unquoted(value: Any) -> Any:
    """A list out of Python's own spelling of one."""
    if not isinstance(value, str) or not value.startswith("["):
        return value
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return value


def _refuse_turns(row: Json) -> str | None:
    if isinstance(row.get("user_input"), list):
        return "user_input: a list of messages (MultiTurnSample); only single questions can be converted"
    return None


NATIVE = Shape("native", read=dict, write=dict, bag=())
RAGAS = Shape(
    "ragas",
    read=lambda row: {name: row[name] for name in _RAGAS if row.get(name) is not None},
    write=lambda fields: {name: fields[name] for name in _RAGAS if name in fields},
    bag=("rag_checks",),
    refuses=_refuse_turns,
)


# DeepEval: its files have snake case, its API camel case; both are read

_DEEPEVAL = {
    "user_input": ("input",),
    "response": ("actual_output", "actualOutput"),
    "reference": ("expected_output", "expectedOutput"),
    "retrieved_contexts": ("retrieval_context", "retrievalContext"),
    "reference_contexts": ("context",),
    "item_id": ("name",),
    "tool_calls": ("tools_called", "toolsCalled"),
}


def _read_deepeval(row: Json) -> Json:
    fields = {}
    for field, names in _DEEPEVAL.items():
        value = next((row[name] for name in names if row.get(name) is not None), None)
        if field == "tool_calls":
            value = _calls(value)
        elif field == "retrieved_contexts":
            value = _passages(value)
        if value is not None:
            fields[field] = value
    return fields


def _passages(value: Any) -> Any:
    """Texts of passages; DeepEval writes one with its source as an object."""
    if not isinstance(value, list):
        return value
    return [one["context"] if isinstance(one, Mapping) and "context" in one else one for one in value]


def _calls(value: Any) -> list[Json] | None:
    """Tool calls with their arguments; None for what are none."""
    if not isinstance(value, list) or not all(isinstance(one, Mapping) and "name" in one for one in value):
        return None
    return [
        {
            "name": one["name"],
            "arguments": one.get("input_parameters", one.get("inputParameters")) or {},
        }
        for one in value
    ]


def _write_deepeval(fields: Json) -> Json:
    row = {names[0]: fields[field] for field, names in _DEEPEVAL.items() if field in fields}
    calls = row.get("tools_called")
    if isinstance(calls, list) and all(isinstance(one, Mapping) and "name" in one for one in calls):
        row["tools_called"] = [
            {"name": one["name"], "input_parameters": one.get("arguments") or {}} for one in calls
        ]
    return row


def _refuse_conversation(row: Json) -> str | None:
    if row.get("scenario") and "input" not in row:
        return "scenario: a conversational golden; only single questions can be converted"
    return None


DEEPEVAL = Shape(
    "deepeval",
    read=_read_deepeval,
    write=_write_deepeval,
    bag=("additional_metadata", "rag_checks"),
    needs=("user_input",),
    refuses=_refuse_conversation,
)


# LangSmith: inputs and outputs are dicts with keys of the team's choice; outputs are what is right

_QUESTIONS = ("question", "user_input", "query", "input")
_REFERENCES = ("answer", "reference", "output", "ground_truth", "expected_output", "response")


def _read_langsmith(row: Json) -> Json:
    fields: Json = {}
    inputs, outputs = row.get("inputs"), _outputs(row)
    if isinstance(row.get("id"), str):
        fields["item_id"] = row["id"]
    if isinstance(inputs, Mapping):
        fields |= _question(inputs)
    if isinstance(outputs, Mapping):
        reference = _named(outputs, _REFERENCES)
        if reference is not None:
            fields["reference"] = reference
        if _texts(outputs.get("contexts")):
            fields["reference_contexts"] = outputs["contexts"]
    return fields


def _outputs(row: Json) -> Any:
    return row["outputs"] if row.get("outputs") is not None else row.get("reference_outputs")


def _named(values: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """The text under the first of these names, or the only value when it is a text."""
    found = next((values[name] for name in names if isinstance(values.get(name), str)), None)
    if found is None and len(values) == 1:
        only = next(iter(values.values()))
        found = only if isinstance(only, str) else None
    return found


def _question(inputs: Mapping[str, Any]) -> Json:
    """The question, or the last message of a chat with the ones before it."""
    messages = inputs.get("messages")
    if isinstance(messages, list) and messages and all(_is_message(one) for one in messages):
        *before, last = messages
        if last["role"] in ("user", "human"):
            history = [{"role": one["role"], "content": one["content"]} for one in before]
            return {"user_input": last["content"], **({"history": history} if history else {})}
    found = _named(inputs, _QUESTIONS)
    return {} if found is None else {"user_input": found}


def _is_message(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and value.get("role") in ("user", "human", "assistant", "ai", "system")
        and isinstance(value.get("content"), str)
    )


def _write_langsmith(fields: Json) -> Json:
    row: Json = {"inputs": {}, "outputs": {}}
    if "item_id" in fields:
        row["id"] = fields["item_id"]
    if isinstance(fields.get("history"), list) and "user_input" in fields:
        last = {"role": "user", "content": fields["user_input"]}
        row["inputs"]["messages"] = [*fields["history"], last]
    elif "user_input" in fields:
        row["inputs"]["question"] = fields["user_input"]
    if "reference" in fields:
        row["outputs"]["answer"] = fields["reference"]
    if "reference_contexts" in fields:
        row["outputs"]["contexts"] = fields["reference_contexts"]
    return row


LANGSMITH = Shape("langsmith", read=_read_langsmith, write=_write_langsmith, bag=("metadata", "rag_checks"))

SHAPES: dict[str, Shape] = {shape.name: shape for shape in (NATIVE, RAGAS, DEEPEVAL, LANGSMITH)}


def shape_of(row: Json) -> Shape:
    """The shape a row is in: told by the names only one tool has."""
    if isinstance(row.get("inputs"), Mapping):
        return LANGSMITH
    if "input" in row or "scenario" in row:
        return DEEPEVAL
    return NATIVE
