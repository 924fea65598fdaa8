"""How the handbook is cut into passages: the one thing in which the bot's two releases differ.

Release 1 knows the handbook's shape: a passage is a section, or one row of the staff table under its header.
Release 2 came with a "generic" chunker that serves any document: it packs paragraphs into windows of a fixed
number of characters and cuts what is longer. A table is one long paragraph to it, so the header ends up in
the first window only and most rows are cut in two. That is the defect the demo's monitor has to find.
"""

from typing import NamedTuple

from rag_checks.demo.handbook import Document, Section, documents, is_table
from rag_checks.errors import ConfigError

RELEASE_1 = "release-1"
RELEASE_2 = "release-2"
RELEASES = (RELEASE_1, RELEASE_2)
WINDOW = 220  # characters: holds every paragraph of the handbook's prose, and hardly ever a whole staff row


class Passage(NamedTuple):
    """A piece of the handbook as it is retrieved."""

    passage_id: str
    text: str


def passages(release: str) -> tuple[Passage, ...]:
    """The handbook cut as this release does it.

    Raises:
        ConfigError: no such release.
    """
    cutters = {RELEASE_1: _by_shape, RELEASE_2: _by_window}
    if release not in cutters:
        raise ConfigError(f"unknown release {release!r} of the demo bot; there are {', '.join(RELEASES)}")
    cut = cutters[release]
    return tuple(
        passage
        for document in documents()
        for section in document.sections
        for passage in cut(document, section)
    )


def _by_shape(document: Document, section: Section) -> list[Passage]:
    found = []
    prose = [paragraph for paragraph in section.paragraphs if not is_table(paragraph)]
    if prose:
        found.append(
            Passage(f"{document.name}#{section.anchor or 'intro'}", _titled(document, section, prose))
        )
    for table in filter(is_table, section.paragraphs):
        header, _rule, *rows = table.splitlines()
        for row in rows:
            pinyin = row.split("|")[2].strip().lower().replace(" ", "-")
            found.append(Passage(f"{document.name}#{pinyin}", f"{header}\n{row}"))
    return found


def _by_window(document: Document, section: Section) -> list[Passage]:
    windows = _pack(section.paragraphs)
    if not section.anchor:
        return [Passage(f"{document.name}@{number}", text) for number, text in enumerate(windows, start=1)]
    first = Passage(f"{document.name}#{section.anchor}", _titled(document, section, windows[:1]))
    rest = [
        Passage(f"{document.name}#{section.anchor}@{number}", text)
        for number, text in enumerate(windows[1:], start=2)
    ]
    return [first, *rest]


def _titled(document: Document, section: Section, paragraphs: list[str]) -> str:
    title = f"{document.title}：{section.heading}" if section.heading else document.title
    return "\n".join([title, *paragraphs])


def _pack(paragraphs: tuple[str, ...]) -> list[str]:
    windows: list[str] = []
    for paragraph in paragraphs:
        pieces = [paragraph[start : start + WINDOW] for start in range(0, len(paragraph), WINDOW)]
        if windows and len(windows[-1]) + len(pieces[0]) < WINDOW:
            windows[-1] += "\n" + pieces.pop(0)
        windows.extend(pieces)
    return windows
