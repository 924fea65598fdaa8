"""Replies without a model: values made for a JSON schema, the same for the same prompt.

The schema is the request's, or the one printed in the prompt (ragas), or made from a JSON example there
(DeepEval's GEval).
"""

import json
import random
import re
import zlib
from typing import Any

PASSAGES = 5
LIST_LENGTH = 6  # statements, claims and verdicts a reply: about the sentences of an answer
_POSITIVE = 0.8
_DECODER = json.JSONDecoder()
_TEXT = {
    "en": "the bearing temperature report shows a steady rise after shift two because cooling water flow fell"
    " below limit and operators adjusted the valve",
    "zh": "轴承温度报告显示第二班之后持续上升因为冷却水流量低于下限操作人员按照规程调整了三号泵的阀门位置",
}


def schema_of(body: dict[str, Any], prompt: str) -> dict[str, Any] | None:
    """What the reply must look like; None when nothing says so."""
    asked = body.get("response_format", {})
    if asked.get("type") == "json_schema":
        return asked["json_schema"]["schema"]
    if body.get("tools"):
        return body["tools"][0]["function"]["parameters"]
    found = [thing for thing in _objects(prompt) if thing]
    printed = next((thing for thing in found if isinstance(thing.get("properties"), dict)), None)
    if printed is not None:
        return printed
    return _schema_like(found[-1]) if found else None


def walk(schema: dict[str, Any], prompt: str) -> Any:
    """A value of the schema."""
    return _Walk(schema, prompt).value(schema)


def judged(output: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    """RAG Checks' reply with verdicts as the other tools get them: mostly positive.

    By the text that is judged, as a judge would: another claim beside it changes nothing.
    """
    for name, rows in output.items():
        for row in rows if name in data or name == "contexts" else ():
            drawn = random.Random(zlib.crc32(f"{name} {data[name][str(row['id'])]}".encode())).random()
            row |= {key: drawn < _POSITIVE for key, value in row.items() if isinstance(value, bool)}
    return output


def _objects(prompt: str) -> list[dict[str, Any]]:
    found, start = [], prompt.find("{")
    while start >= 0:
        try:
            thing, end = _DECODER.raw_decode(prompt, start)
        except ValueError:
            end = start + 1
        else:
            found.append(thing)
        start = prompt.find("{", end)
    return found


def _schema_like(example: Any) -> dict[str, Any]:
    if isinstance(example, dict):
        return {"type": "object", "properties": {key: _schema_like(value) for key, value in example.items()}}
    if isinstance(example, list):
        return {"type": "array", "items": _schema_like(example[0]) if example else {"type": "string"}}
    kinds = {bool: "boolean", int: "integer", float: "number"}
    return {"type": kinds.get(type(example), "string")}


class _Walk:
    def __init__(self, root: dict[str, Any], prompt: str) -> None:
        self._root = root
        self._prompt = prompt
        self._rng = random.Random(zlib.crc32(prompt.encode()))
        self._language = "zh" if len(re.findall(r"[一-鿿]", prompt[-3000:])) > 300 else "en"

    def value(self, schema: dict[str, Any], name: str = "") -> Any:
        schema = self._resolved(schema)
        if "enum" in schema:
            return self._choice(schema["enum"])
        kind = schema.get("type", "object" if "properties" in schema else "string")
        if kind == "object":
            return {key: self.value(part, key) for key, part in schema.get("properties", {}).items()}
        if kind == "array":
            entry = schema.get("items", {"type": "string"})
            return [self.value(entry, name) for _ in range(self._length(name))]
        if kind == "boolean":
            return self._is_positive()
        return self._number(schema, name) if kind in {"integer", "number"} else self._string(name)

    def _length(self, name: str) -> int:
        if name.lower() in {"fp", "fn"}:
            return 1  # a classification is mostly right
        if name == "verdicts" and "retrieval context" in self._prompt[:120]:
            return PASSAGES
        return LIST_LENGTH

    def _string(self, name: str) -> str:
        if name == "verdict":
            return "yes" if self._is_positive() else "no"
        return self._text(25 if re.search("reason|explan|evidence", name) else 12)

    def _resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in schema:
            target: Any = self._root
            for part in schema["$ref"].removeprefix("#/").split("/"):
                target = target[part]
            schema = target
        for several in ("anyOf", "oneOf"):
            if several in schema:
                return self._resolved(next(one for one in schema[several] if one.get("type") != "null"))
        return schema

    def _is_positive(self) -> bool:
        return self._rng.random() < _POSITIVE

    def _choice(self, values: list[Any]) -> Any:
        good = next((value for value in values if str(value).lower() in {"yes", "true", "1"}), values[0])
        others = [value for value in values if value != good]
        return good if self._is_positive() or not others else others[0]

    def _number(self, schema: dict[str, Any], name: str) -> float:
        if name == "noncommittal":
            return 0
        if re.search("verdict|attributed", name):
            return int(self._is_positive())
        low, high = schema.get("minimum", 0), schema.get("maximum", 10)
        return high - 1 if self._is_positive() else low + 1

    def _text(self, words: int) -> str:
        if self._language == "zh":
            known = _TEXT["zh"]
            start = self._rng.randrange(len(known))
            return (known * 3)[start : start + int(words * 1.6)] + "。"
        units = _TEXT["en"].split()
        start = self._rng.randrange(len(units))
        return " ".join((units * 3)[start : start + words]).capitalize() + "."
