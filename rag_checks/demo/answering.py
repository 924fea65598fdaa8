"""Extractive answers: a cell of the staff table or the best sentences of a passage, or a refusal in words."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from rag_checks import text
from rag_checks.demo.chunking import Passage
from rag_checks.demo.handbook import COLUMNS, cells
from rag_checks.demo.retrieval import Bm25, terms, topic
from rag_checks.demo.understanding import asked_field
from rag_checks.demo.vocabulary import vocabulary
from rag_checks.records import Language

MIN_COVERAGE = 0.42  # share of the question's words, by weight, that a passage must hold to be an answer
STRICT_COVERAGE = 0.6  # the same when a person was asked for: prose rarely answers that
_SECOND = 0.85  # a second sentence this close to the best is said too
_MIN_DUTY = 0.5  # share of the words of "who does …" that someone's duties must hold


_NAME = "[一-鿿]{2,4}"


class Row(NamedTuple):
    """A row of the staff table, or what a passage holds of it; without the header, columns are guesses."""

    cells: tuple[str, ...]
    columns: tuple[str, ...]

    def cell(self, field: str) -> str | None:
        """The cell of a column; None when the row does not have it."""
        if self.columns:
            return dict(zip(self.columns, self.cells, strict=False)).get(field)
        if field == "name":
            return next((cell for cell in self.cells if re.fullmatch(_NAME, cell)), None)
        looks = vocabulary().fields[field].looks
        # A person's own name stands first, and looks like a manager's.
        return next((cell for cell in self.cells[1:] if re.fullmatch(looks, cell)), None)


def refusal(language: Language) -> str:
    """What the bot says when the passages hold no answer."""
    if language == "zh":
        return "抱歉，员工手册里没有找到这个问题的答案。"
    return "Sorry, I could not find an answer to this in the handbook."


def is_refusal(answer: str) -> bool:
    """Whether an answer of this bot is a refusal."""
    return answer.startswith(("抱歉", "Sorry"))


def look_up(
    query: str, passages: Sequence[Passage], named: Sequence[dict[str, str]], language: Language
) -> str | None:
    """The asked cell of a person's row, or who has the asked duty; None when nobody was named and none fits.

    `named` are the people the query names: with one named and the cell not found, the answer says so.
    """
    rows = [row for passage in passages for row in _rows(passage.text)]
    if not named:
        return _who(query, rows, language)
    person = named[0]
    name = person["name"] if language == "zh" else person["pinyin"]
    field = asked_field(query)
    if field is None:
        return refusal(language)
    for row in rows:
        cell = row.cell(field) if _is_row_of(row, person) else None
        if cell and (said := _in_language(cell, field, language)):
            return vocabulary().fields[field].say[language].format(name=name, cell=said)
    label = vocabulary().fields[field].label[language]
    if language == "zh":
        return f"抱歉，手册里没有找到{name}的{label}信息。"
    return f"Sorry, I could not find {name}'s {label} in the handbook."


def extract(
    query: str,
    found: Sequence[tuple[Passage, float]],
    index: Bm25,
    *,
    language: Language,
    intent: str,
    minimum: float = MIN_COVERAGE,
) -> str | None:
    """The sentences of the retrieved passages that answer best; None when no passage covers the question.

    A sentence counts for its passage's search score, for a document that fits the intent, for the share of
    the query's words it holds, and for looking like an answer to this kind of question.
    """
    best: tuple[float, list[str]] = (0.0, [])
    for passage, score in found:
        said = [s for s in _prose(passage.text) if text.language_of(s) == language]
        covered = index.coverage(query, passage.text) if said else 0.0
        if covered < minimum:
            continue
        topical = 0.5 * intent.startswith(re.split("[#@]", passage.passage_id)[0])
        scored = [
            (covered + topical + score / found[0][1] + _fit(query, sentence, index), sentence)
            for sentence in said
        ]
        top = max(value for value, _ in scored)
        if top > best[0]:
            best = (top, [s for value, s in scored if value >= _SECOND * top][:2])
    if not best[1]:
        return None
    return "".join(best[1]) if language == "zh" else " ".join(best[1])


def _fit(query: str, sentence: str, index: Bm25) -> float:
    asked = set(terms(query))
    share = sum(map(index.idf, asked & set(terms(sentence)))) / max(sum(map(index.idf, asked)), 1e-9)
    kinds = (kind for kind in vocabulary().kinds if re.search(kind.asks, query, re.IGNORECASE))
    return 2 * share + 0.5 * sum(re.search(kind.shows, sentence) is not None for kind in kinds)


def _prose(passage: str) -> list[str]:
    lines = [line for line in passage.splitlines() if "|" not in line]
    body = lines[1:] if len(lines) > 1 else lines  # the first of several lines is the heading
    return [sentence for line in body for sentence in text.sentences(line)]


def _rows(passage: str) -> list[Row]:
    columns: tuple[str, ...] = ()
    rows = []
    for line in passage.splitlines():
        if "|" not in line or line.startswith("|---"):
            continue
        parts = tuple(cells(line))
        if set(parts) & set(COLUMNS):
            columns = tuple(COLUMNS.get(part, "") for part in parts)
        else:
            rows.append(Row(parts, columns))
    return rows


def _is_row_of(row: Row, person: dict[str, str]) -> bool:
    """Whether a row is about the person, not about someone who reports to them."""
    if row.columns:
        return row.cell("name") == person["name"]
    return person["name"] in row.cells[:1] or person["pinyin"] in row.cells[:2]


def _who(query: str, rows: Sequence[Row], language: Language) -> str | None:
    asked = topic(re.sub("负责|responsible|manages|handles", "", query))
    best, best_share = None, _MIN_DUTY
    for row in rows:
        name, duties = row.cell("name"), row.cell("duties")
        if not (name and duties and asked):
            continue
        share = len(asked & set(terms(duties))) / len(asked)
        said = _in_language(duties, "duties", language)
        if said and share > best_share:
            best, best_share = (row, name, said), share
    if best is None:
        return None
    row, name, said = best
    if language == "en":
        pinyin = row.cell("pinyin")
        return f"{pinyin} ({name}) {said}." if pinyin else f"{name} {said}."
    department = _in_language(row.cell("department") or "", "department", language)
    return f"{department}的{name}：{said}。" if department else f"{name}：{said}。"


def _in_language(cell: str, field: str, language: Language) -> str:
    """The half of a bilingual cell (`教研部 / Curriculum`) in this language, "" when it is cut off."""
    if field not in {"department", "title", "duties"}:
        return cell
    zh, _, en = cell.partition(" / ")
    return (zh if language == "zh" else en).strip("，, ")
