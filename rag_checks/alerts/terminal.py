"""The same message as it would be read in Slack, drawn as plain text for a terminal."""

import html
import io
from typing import Any

WIDTH = 96


def as_terminal(payload: dict[str, Any]) -> str:
    """The blocks of a payload as plain text with a bar at the left, wrapped; ends in a newline."""
    paragraphs = [_block(block) for block in payload["blocks"]]
    lines = "\n\n".join(paragraphs).split("\n")
    return "".join(f"┃ {line}".rstrip() + "\n" for line in lines)


def _block(block: dict[str, Any]) -> str:
    kind = block["type"]
    if kind == "header":
        return _wrapped(block["text"]["text"])
    if kind == "section":
        return _wrapped(html.unescape(block["text"]["text"]))
    if kind == "context":
        return "\n".join(_wrapped(element["text"], indent=2) for element in block["elements"])
    return "\n".join(_part(part) for part in block["elements"])


def _part(part: dict[str, Any]) -> str:
    kind = part["type"]
    if kind == "rich_text_preformatted":
        return "\n".join("  " + line for line in _inline(part).split("\n"))
    if kind == "rich_text_list":
        numbered = part["style"] == "ordered"
        marks = [f"{n}. " if numbered else "• " for n in range(1, len(part["elements"]) + 1)]
        return "\n".join(
            _wrapped(mark + _inline(item), indent=len(mark))
            for mark, item in zip(marks, part["elements"], strict=True)
        )
    return _wrapped(_inline(part))


def _inline(part: dict[str, Any]) -> str:
    return "".join(
        f"{element['text']}: {element['url']}" if element["type"] == "link" else element["text"]
        for element in part["elements"]
    )


def _wrapped(text: str, *, indent: int = 0) -> str:
    """Lines within `WIDTH` columns, Chinese counted double; all but the first indented."""
    from rich.console import Console  # noqa: PLC0415 - 75 ms that building a message does not need
    from rich.text import Text  # noqa: PLC0415 - as above

    console = Console(file=io.StringIO(), width=WIDTH, no_color=True, legacy_windows=False)
    lines = [
        line.plain.rstrip()
        for paragraph in text.split("\n")
        for line in Text(paragraph).wrap(console, WIDTH - indent)
    ]
    return ("\n" + " " * indent).join(lines)
