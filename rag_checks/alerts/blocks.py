"""Slack's Block Kit as we use it: outside text made safe, cutting, block builders, and a check of the limits.

Outside text (questions, answers, intents, reasons) only ever goes into `plain_text` and `rich_text` elements,
where Slack parses no markup: `<!channel>`, `<https://…|report>`, `*`, `_` and backticks are shown as typed.
`mrkdwn` is used for mentions alone and for the fallback text, which is escaped.

Limits: https://docs.slack.dev/reference/block-kit/blocks. Slack does not say how it counts characters, so
lengths are in UTF-16 units, where an emoji counts two: the larger of the possible counts.
"""

import re
import unicodedata
from typing import Any

from rag_checks.text import clean

MAX_HEADER = 150
MAX_TEXT = 3000
MAX_BLOCKS = 50
MAX_ELEMENTS = 10
MAX_URL = 3000
# Slack answers msg_blocks_too_long a little above 13,000 characters over all blocks.
MAX_TOTAL = 12_000

Element = dict[str, Any]
Block = dict[str, Any]

# How far back the beginning of a visible character is looked for; stacked accents can go on without end.
_LONGEST_GRAPHEME = 32
# Bidirectional isolates, soft hyphens, invisible separators and tag characters: `clean` leaves these,
# but in a message they reorder or hide text. U+200D, which joins emoji, is gone already.
_INVISIBLE = re.compile("[\u00ad\u061c\u180e\u2061-\u206f\ufff9-\ufffb\U000e0000-\U000e007f]")
_MENTION = re.compile(r"<@[UW][A-Z0-9]+>|<!subteam\^S[A-Z0-9]+>|<!(?:here|channel|everyone)>")
_FLAG_LETTERS = "".join(map(chr, range(0x1F1E6, 0x1F200)))
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


def size(text: str) -> int:
    """Length in UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def plain(text: str) -> str:
    """Outside text on one line, without characters that are invisible or reorder what is around them."""
    return " ".join(_INVISIBLE.sub("", clean(text)).split())


def cut(text: str, limit: int, more: str = "…") -> str:
    """`text` within `limit` UTF-16 units, never cut inside what a reader sees as one character.

    `more` ends a text that was cut; `{n}` in it becomes the number of characters left out.
    """
    if size(text) <= limit:
        return text
    room = limit - size(more.format(n=f"{len(text):,}"))
    end = min(len(text), max(room, 0))
    while end and size(text[:end]) > room:
        end -= max(1, (size(text[:end]) - room) // 2)
    end = _boundary(text, end)
    kept = text[:end].rstrip()
    return kept + more.format(n=f"{len(text) - end:,}")


def _boundary(text: str, end: int) -> int:
    """The last position up to `end` where a visible character begins."""
    for position in range(end, max(end - _LONGEST_GRAPHEME, 0), -1):
        if not _continues(text, position):
            return position
    return end


def _continues(text: str, position: int) -> bool:
    """Whether the character at `position` belongs to the one before it."""
    if not 0 < position < len(text):
        return False
    char = text[position]
    if unicodedata.category(char) in {"Mn", "Me", "Mc"} or "\U0001f3fb" <= char <= "\U0001f3ff":
        return True
    if char not in _FLAG_LETTERS:
        return False
    before = text[:position]
    # Two letters make one flag, so the second of each pair continues the first.
    return (len(before) - len(before.rstrip(_FLAG_LETTERS))) % 2 == 1


def escape(text: str) -> str:
    """Text for a `mrkdwn` place (https://docs.slack.dev/messaging/formatting-message-text#escaping)."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def mentions(text: str) -> str:
    """A mention as configured: Slack ids stay live, everything else in it is escaped."""
    parts: list[str] = []
    start = 0
    for match in _MENTION.finditer(text):
        parts += [escape(text[start : match.start()]), match.group()]
        start = match.end()
    return "".join([*parts, escape(text[start:])])


def words(text: str, *, bold: bool = False) -> Element:
    """A piece of rich text."""
    return {"type": "text", "text": text, "style": {"bold": True}} if bold else {"type": "text", "text": text}


def link(url: str, label: str) -> Element:
    """A link in rich text; an address that Slack would refuse is shown as text."""
    if is_web_address(url):
        return {"type": "link", "url": url, "text": label}
    return words(f"{label}: {cut(plain(url), 500)}")


def is_web_address(url: str) -> bool:
    """Whether Slack takes the address as a link."""
    return re.fullmatch(r"https?://[^\s<>|]+", url) is not None and size(url) <= MAX_URL


def header(text: str) -> Block:
    """A headline, cut to Slack's limit."""
    return {"type": "header", "text": {"type": "plain_text", "text": cut(text, MAX_HEADER), "emoji": False}}


def context(lines: list[str]) -> Block:
    """Small grey lines."""
    elements = [{"type": "plain_text", "text": cut(line, 400), "emoji": False} for line in lines if line]
    return {"type": "context", "elements": elements[:MAX_ELEMENTS]}


def rich(*parts: Element) -> Block:
    """A block of rich text parts."""
    return {"type": "rich_text", "elements": list(parts)}


def section(*elements: Element) -> Element:
    """A paragraph of rich text."""
    return {"type": "rich_text_section", "elements": [e for e in elements if e.get("text") != ""]}


def bullets(items: list[Element], *, numbered: bool = False) -> Element:
    """A list of rich text sections."""
    return {"type": "rich_text_list", "style": "ordered" if numbered else "bullet", "elements": items}


def code(text: str) -> Element:
    """Monospaced text, line by line as given."""
    return {"type": "rich_text_preformatted", "elements": [words(text)]}


def validate(payload: dict[str, Any]) -> list[str]:
    """What Slack would refuse in a message; empty when it is fine.

    Knows the blocks this package sends; any other block is reported as unknown.
    """
    found: list[str] = []
    fallback = payload.get("text")
    _check_text(fallback, MAX_TEXT, "text", found)
    if isinstance(fallback, str):
        _check_markup(fallback, "text", found)
    blocks = payload.get("blocks")
    if not isinstance(blocks, list) or not 1 <= len(blocks) <= MAX_BLOCKS:
        return [*found, f"blocks: 1 to {MAX_BLOCKS} are allowed"]
    for index, block in enumerate(blocks):
        _check_block(block, f"blocks[{index}]", found)
    total = sum(size(text) for text in _texts(payload))
    if total >= MAX_TOTAL:
        found.append(f"the message has {total} characters, {MAX_TOTAL} are too many")
    return found


def _check_block(block: Block, place: str, found: list[str]) -> None:
    kind = block.get("type")
    if kind == "header":
        _check_text(block["text"].get("text"), MAX_HEADER, place, found)
    elif kind == "section":
        _check_text(block["text"].get("text"), MAX_TEXT, place, found)
        _check_markup(block["text"].get("text", ""), place, found)
    elif kind == "context":
        if not 1 <= len(block["elements"]) <= MAX_ELEMENTS:
            found.append(f"{place}: 1 to {MAX_ELEMENTS} elements are allowed")
        for element in block["elements"]:
            _check_text(element.get("text"), MAX_TEXT, place, found)
    elif kind == "rich_text":
        _check_rich(block, place, found)
    else:
        found.append(f"{place}: unknown block {kind!r}")


def _check_rich(part: Element, place: str, found: list[str]) -> None:
    if not part.get("elements"):
        found.append(f"{place}: {part.get('type')} is empty")
    for index, element in enumerate(part.get("elements", [])):
        here = f"{place}.{index}"
        kind = element.get("type")
        if kind == "text":
            _check_text(element.get("text"), MAX_TEXT, here, found)
        elif kind == "link":
            _check_text(element.get("text"), MAX_TEXT, here, found)
            if not is_web_address(element.get("url", "")):
                found.append(f"{here}: not a web address Slack takes")
        elif kind in {"rich_text_section", "rich_text_list", "rich_text_preformatted"}:
            _check_rich(element, here, found)
        else:
            found.append(f"{here}: unknown element {kind!r}")


def _check_text(text: object, limit: int, place: str, found: list[str]) -> None:
    if not isinstance(text, str) or not text.strip():
        found.append(f"{place}: text is missing or empty")
    elif _CONTROL.search(text):
        found.append(f"{place}: control characters or half an emoji in the text")
    elif size(text) > limit:
        found.append(f"{place}: {size(text)} characters, {limit} are allowed")


def _check_markup(text: str, place: str, found: list[str]) -> None:
    if re.search(r"[<>]", _MENTION.sub("", text)):
        found.append(f"{place}: unescaped < or > that is not a mention")


def _texts(value: Any) -> list[str]:
    """All text people see, wherever it is."""
    if isinstance(value, dict):
        own = [value["text"]] if isinstance(value.get("text"), str) else []
        return own + [
            text for inner in value.values() if not isinstance(inner, str) for text in _texts(inner)
        ]
    if isinstance(value, list):
        return [text for inner in value for text in _texts(inner)]
    return []
