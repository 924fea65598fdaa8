"""JSON objects out of what a model wrote: strictly first, then forgiving about form, never about content.

Forgiven: code fences, prose around the JSON, `<think>` blocks, single or full-width quotes, full-width
colons, commas and brackets, trailing commas, Python's True/False/None, raw line breaks in strings. Anything
that could be read in two ways (a key twice, two different objects) is refused or left to the caller.
"""

import json
import re
from typing import Any

from rag_checks.text import clean

_THINKING = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_THINKING_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_THINKING_START = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_OPENING = re.compile(r"[{｛]")
# Each try may read to the end of the text, so their number is bounded.
_MOST_TRIES = 32

_ASCII = str.maketrans("：，｛｝［］", ":,{}[]")
# What may close a string that one of these opens.
_QUOTES = {
    '"': '"”',
    "'": "'",
    "“": '”"“',
    "”": '”"',
    "‘": "’'‘",
    "’": "’'",
    "＂": "＂",
    "＇": "＇",
    "「": "」",
}
_WORDS = {"True": "true", "False": "false", "None": "null"}
_WORD = re.compile(r"[A-Za-z_]+|[-+.0-9eE]+")
_AFTER_STRING = re.compile(r"\s*(?:[:,}\]：，｝］]|$)")
_TRAILING_COMMA = re.compile(r"[,，]\s*(?=[}\]｝］])")


def _no_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key appears twice in one object")
    return result


_DECODER = json.JSONDecoder(object_pairs_hook=_no_repeated_keys)
_FORGIVING = json.JSONDecoder(object_pairs_hook=_no_repeated_keys, strict=False)


def strict_object(text: str) -> dict[str, Any] | None:
    """The text as one JSON object; None when it is anything else."""
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def json_objects(text: str) -> list[dict[str, Any]]:
    """All outermost JSON objects in a model's text, in order; [] when there is none."""
    whole = strict_object(text)
    if whole is not None:
        return [whole]
    text = without_thinking(text)
    found: list[dict[str, Any]] = []
    position = tries = 0
    while tries < _MOST_TRIES and (opening := _OPENING.search(text, position)):
        tries += 1
        value, position = _object_at(text, opening.start())
        if value is not None:
            found.append(value)
    return found


def cleaned(value: Any) -> Any:
    """A JSON value whose texts every store and encoder takes (see `text.clean`)."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list | tuple):
        return [cleaned(entry) for entry in value]
    if isinstance(value, dict):
        return {key: cleaned(entry) for key, entry in value.items()}
    return value


def without_thinking(text: str) -> str:
    """The text after a `<think>` block; chat templates that open the block leave only its end."""
    text = _THINKING.sub("", text)
    ends = list(_THINKING_END.finditer(text))
    if ends:
        text = text[ends[-1].end() :]
    start = _THINKING_START.search(text)
    return text[: start.start()] if start else text


def _object_at(text: str, start: int) -> tuple[dict[str, Any] | None, int]:
    """The object that begins at `start`, None when it cannot be read, and where to look for the next one.

    What is inside an object that cannot be read is no answer, so it is passed over.
    """
    if text[start] == "{":
        try:
            return _FORGIVING.raw_decode(text, start)
        except (ValueError, RecursionError):
            pass
    rewritten, end = _as_json(text, start)
    if rewritten is None:
        return None, start + 1
    try:
        return _FORGIVING.decode(rewritten), end
    except (ValueError, RecursionError):
        return None, end


def _as_json(text: str, start: int) -> tuple[str | None, int]:
    """The object from `start` in JSON's own punctuation, and where it ends; None when it never closes."""
    parts: list[str] = []
    depth, position = 0, start
    while position < len(text):
        char = text[position].translate(_ASCII)
        if char in _QUOTES:
            inside, position = _string(text, position)
            parts.append(inside)
            continue
        if char == "," and (trailing := _TRAILING_COMMA.match(text, position)):
            position = trailing.end()
            continue
        word = _WORD.match(text, position)
        if word:
            parts.append(_WORDS.get(word.group(), word.group()))
            position = word.end()
            continue
        parts.append(char)
        position += 1
        depth += (char in "{[") - (char in "}]")
        if depth == 0:
            return "".join(parts), position
    return None, start


def _string(text: str, start: int) -> tuple[str, int]:
    """The quoted string at `start` as JSON, and where it ends."""
    opener = text[start]
    parts = ['"']
    position = start + 1
    while position < len(text):
        char = text[position]
        if char == "\\" and position + 1 < len(text):
            escaped = text[position + 1]
            parts.append(char + escaped if escaped in '"\\/bfnrtu' else escaped)
            position += 2
            continue
        if char in _QUOTES[opener] and _closes(text, position, opener):
            parts.append('"')
            return "".join(parts), position + 1
        parts.append('\\"' if char == '"' else char)
        position += 1
    return "".join(parts), position


def _closes(text: str, position: int, opener: str) -> bool:
    """Whether the quote at `position` ends the string: no apostrophe, no quotation inside a sentence."""
    if text[position] == opener == '"':
        return True
    if opener == '"':
        return _AFTER_STRING.match(text, position + 1) is not None
    return not (text[position - 1].isalnum() and text[position + 1 : position + 2].isalnum())
