"""How an endpoint goes wrong: every kind equally often, on a share of all chat requests.

Which requests are hit depends on the prompt and how often it was sent, not on the order of arrival, and
another try of the same prompt has its own luck; the kinds take turns, so that few calls meet all of them too.
A hanging connection is left out: the tools give up after 60 to 600 seconds, so one would decide every time.
"""

import json
import re
from collections import Counter
from hashlib import blake2b
from typing import Any

HTTP = ("429", "500", "503", "disconnect", "html")
REPLY = (
    "malformed",
    "truncated",
    "fenced",
    "prose",
    "wrong_type",
    "chinese_punctuation",
    "single_quotes",
    "empty",
    "null",
    "refusal",
    "refusal_text",
    "empty_list",
    "missing_field",
    "out_of_range",
    "nan",
)
KINDS = (*HTTP, *REPLY)


class Faults:
    """Draws a fault, or none, for each request."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._seen: Counter[str] = Counter()
        self.drawn: Counter[str] = Counter()

    def draw(self, prompt: str) -> str | None:
        """The kind that hits this request."""
        key = f"{self._seen[prompt]}\x00{prompt}"
        self._seen[prompt] += 1
        digest = blake2b(key.encode("utf-8", "replace"), digest_size=4).digest()
        if int.from_bytes(digest, "big") / 2**32 >= self._rate:
            return None
        kind = KINDS[self.drawn.total() % len(KINDS)]
        self.drawn[kind] += 1
        return kind


def spoilt(output: Any, kind: str | None) -> str | None:
    """The reply's text as a model with this habit writes it; None for null content."""
    if kind in _SHAPES:
        output = _SHAPES[kind](output)
    text = json.dumps(output, ensure_ascii=False)
    return _TEXTS[kind](text) if kind in _TEXTS else text


def _each(value: Any, change: Any, key: str = "") -> Any:
    """The value with `change(scalar)` at every number, boolean and yes/no that is not an id."""
    if isinstance(value, dict):
        return {name: _each(part, change, name) for name, part in value.items()}
    if isinstance(value, list):
        return [_each(part, change, key) for part in value]
    return value if key == "id" else change(value)


def _other_type(value: Any) -> Any:
    if isinstance(value, bool | int | float):
        return "yes" if value else "no"
    return {"yes": 1, "no": 0}.get(value, value) if isinstance(value, str) else value


def _without_last(output: Any) -> Any:
    return dict(list(output.items())[:-1]) if isinstance(output, dict) else output


def _emptied(output: Any) -> Any:
    if isinstance(output, list):
        return []
    return {key: _emptied(part) for key, part in output.items()} if isinstance(output, dict) else output


_SHAPES = {
    "wrong_type": lambda output: _each(output, _other_type),
    "out_of_range": lambda output: _each(output, lambda v: 99 if isinstance(v, bool | int | float) else v),
    "missing_field": _without_last,
    "empty_list": _emptied,
}


def _wide(text: str) -> str:
    for plain, wide in (
        ('": ', "”："),
        ('",', "”，"),
        ('{"', "{“"),
        ('"}', "”}"),
        ('["', "[“"),
        ('"]', "”]"),
    ):
        text = text.replace(plain, wide)
    return text


_TEXTS = {
    "malformed": lambda text: text.replace('":', '" ', 1),
    "truncated": lambda text: text[: int(len(text) * 0.6)],
    "fenced": lambda text: f"```json\n{text}\n```",
    "prose": lambda text: f"Sure! Here is the evaluation:\n\n{text}\n\nLet me know if you need more.",
    "chinese_punctuation": _wide,
    "single_quotes": lambda text: repr(json.loads(text)),
    "empty": lambda _text: "",
    "null": lambda _text: None,
    "refusal": lambda _text: None,
    "refusal_text": lambda _text: "I'm sorry, but I can't help with that request.",
    "nan": lambda text: re.sub(r"(?<!\"id\"): (-?\d+(\.\d+)?|true|false)\b", ": NaN", text),
}
