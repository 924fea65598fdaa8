"""Strict JSON schemas of the replies, made from the pydantic models."""

from functools import lru_cache
from typing import Any, cast

from rag_checks.judge.validate import VERDICTS, expected_ids, rubric_labels
from rag_checks.protocols import OUTPUTS, JudgeRequest, Task


def reply_schema(request: JudgeRequest) -> dict[str, Any]:
    """The schema of a reply: only the lists that are asked for, the reason before each verdict."""
    schema = task_schema(request.task, tuple(expected_ids(request)))
    if request.task is not Task.GRADE_RUBRIC:
        return schema
    label = {"type": "string", "enum": list(rubric_labels(request))}
    return schema | {"properties": schema["properties"] | {"label": label}}


@lru_cache(maxsize=64)
def task_schema(task: Task, lists: tuple[str, ...] | None = None) -> dict[str, Any]:
    """The schema of a task's reply with these lists of verdicts, or with all."""
    full = OUTPUTS[task].model_json_schema()
    definitions = full.get("$defs", {})
    if lists is not None:
        wanted = {
            name: value for name, value in full["properties"].items() if name in lists or name not in VERDICTS
        }
        full = full | {"properties": wanted}
    return cast("dict[str, Any]", _strict(full, definitions))


def _strict(node: Any, definitions: dict[str, Any]) -> Any:
    """As strict structured output wants it: references resolved, every property required, no others."""
    if isinstance(node, list):
        return [_strict(entry, definitions) for entry in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _strict(definitions[node["$ref"].rsplit("/", 1)[-1]], definitions)
    if "properties" in node:
        properties = {name: _strict(value, definitions) for name, value in node["properties"].items()}
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
    return {
        key: _strict(value, definitions) for key, value in node.items() if key not in {"title", "default"}
    }
