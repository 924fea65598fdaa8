"""The handbook of the invented company the demo bot works for, as package data.

Each Markdown file is one document: a title, sections with an anchor (`## 年假 {#annual}`; English ones end in
`-en`), and in `staff.md` one table with a row for each person.
"""

import re
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

_HEADING = re.compile(r"^## (?P<heading>.+?) \{#(?P<anchor>[a-z0-9-]+)\}$", re.MULTILINE)
# Key of each column of the staff table, by the header's words.
COLUMNS = {
    "姓名 Name": "name",
    "拼音 Pinyin": "pinyin",
    "职务 Title": "title",
    "职责 Duties": "duties",
    "直属主管 Manager": "manager",
    "部门 Department": "department",
    "工位 Seat": "seat",
    "分机 Extension": "extension",
    "邮箱 E-mail": "email",
}


class Section(NamedTuple):
    """One section: paragraphs (a table counts as one) under a heading; without anchor, what stands before."""

    anchor: str
    heading: str
    paragraphs: tuple[str, ...]


class Document(NamedTuple):
    """One file of the handbook."""

    name: str
    title: str
    sections: tuple[Section, ...]


@lru_cache(maxsize=1)
def documents() -> tuple[Document, ...]:
    """All documents, by name."""
    folder = files("rag_checks.demo") / "handbook"
    found = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".md")), key=lambda e: e.name)
    return tuple(_parse(entry.name.removesuffix(".md"), entry.read_text(encoding="utf-8")) for entry in found)


def cells(line: str) -> list[str]:
    """Cells of a line of a Markdown table, or of a piece of one: the text between the bars."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def is_table(paragraph: str) -> bool:
    """Whether a paragraph is a whole table: header, rule, rows."""
    lines = paragraph.splitlines()
    return len(lines) > 2 and lines[1].startswith("|---")  # noqa: PLR2004 - header and rule come before rows


@lru_cache(maxsize=1)
def people() -> tuple[dict[str, str], ...]:
    """The rows of the staff table as column key → cell."""
    table = next(
        paragraph
        for document in documents()
        for section in document.sections
        for paragraph in section.paragraphs
        if is_table(paragraph)
    )
    header, _rule, *rows = table.splitlines()
    keys = [COLUMNS[cell] for cell in cells(header)]
    return tuple(dict(zip(keys, cells(row), strict=True)) for row in rows)


def _parse(name: str, text: str) -> Document:
    head, *parts = _HEADING.split(text)
    title, *intro = _paragraphs(head)
    sections = [Section("", "", tuple(intro))] if intro else []
    for heading, anchor, body in zip(parts[0::3], parts[1::3], parts[2::3], strict=True):
        sections.append(Section(anchor, heading, tuple(_paragraphs(body))))
    return Document(name, title.removeprefix("# "), tuple(sections))


def _paragraphs(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]
