"""Finding the citations of an answer: which passage is cited, and which sentence cites it.

The forms of the field, several at once as in `[1, 3]` or `[2-4]`:

=========================================  ===========================================================
`[1]` `【1】` `［1］` `[^1]` `^1^` `^[1]^`    by rank, from 1; a number beyond the ranks may be an id
`[citation:1]` `[来源1]` `[doc 1]`           the same, with a word before the number
`【1†source】`                               the same, as hosted assistants write it
`[kb-12]`                                  by id, when a retrieved passage has it
`[ID:kb-12]` `[ID:0]`                      by id, else by position from 0, as RAGFlow counts
`##0$$`                                    by position from 0, as older RAGFlow writes
`[65f…](QUOTE)` `[65f…](CITE)`             by id, as FastGPT writes
=========================================  ===========================================================

No citations: code, years in brackets, numbers of official documents (`国发[2023]12号`), and the list of
sources at the end of an answer.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag_checks import text

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_WORD = r"ID|citations?|cite|sources?|doc(?:ument)?s?|refs?|引用|来源|参考资料|参考|资料|文档|段落"
_MARK = re.compile(
    rf"""
      \#\#(?P<position>\d{{1,4}})\$\$
    | \[(?P<linked>[\w-]{{1,64}})\]\((?:QUOTE|CITE)\)
    | \^\[?(?P<raised>\d{{1,4}}(?:\s*[,，、]\s*\d{{1,4}})*)\]?\^
    | [\[【［]\s*(?:(?P<word>{_WORD})\s*[:：\#]?\s*|\^)?(?P<body>[^\[\]【】［］\n]{{1,80}}?)\s*[\]】］]
      (?!\s*第?\s*\d+\s*号)(?:\(https?://[^\s)]*\))?
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SOURCES = re.compile(
    r"^[\W_]*(?:参考资料|参考文献|参考来源|引用来源|资料来源|引用|来源|出处|references?|sources?|citations?)[\W_]*$",
    re.IGNORECASE | re.MULTILINE,
)
_LISTED = re.compile(r"\s*(?:[-*•]\s*)?([\[【［]\^?\d{1,3}[\]】］])\s*[:：]?\s*\S")
_BETWEEN = re.compile(r"\s*[,，、;；]\s*|\s+(?=ID\b)", re.IGNORECASE)
_NUMBERS = re.compile(r"(\d{1,4})(?:\s*[-–—~～至]\s*(\d{1,4}))?")
_ID_WORD = re.compile(r"^ID\s*[:：]?\s*", re.IGNORECASE)
_SEE = r"参考资料|参考|来源|出处|引用|参见|详见|见|see(?: also)?|sources?|references?|refs?|cf"
_POINTER = re.compile(rf"[\W_]*(?:{_SEE})?[\W_]*", re.IGNORECASE)
# "(source: [1])" is the mark alone.
_WRAPPED = re.compile(
    rf"[（(]\s*(?:{_SEE})?\s*[:：]?\s*((?:[\[【［][^\[\]【】［］\n]{{1,80}}[\]】］][\s,，、]*)+)[)）]",
    re.IGNORECASE,
)
_BETWEEN_MARKS = re.compile(r"([\]】］])[\s,，、]+")
_GAP = re.compile(r"\s+(?=[.,;:!?，。；：！？])")
_BULLET = re.compile(r"[\s\-*•·>#]*(?:\d+[.、)）]\s*)?")
_YEARS = range(1900, 2101)
_LONGEST_RANGE = 20


@dataclass(frozen=True)
class Citation:
    """One passage cited by one sentence.

    Attributes:
        mark: as it was written.
        sentence: without any marks.
        rank: of the passage, from 1; None when nothing retrieved goes by this mark.
    """

    mark: str
    sentence: str
    rank: int | None


@dataclass(frozen=True)
class Retrieved:
    """What a mark may name: how many passages there are, and their ids (same order) if recorded."""

    count: int
    ids: Sequence[str]

    def by_rank(self, number: int) -> int | None:
        """Rank of what `[number]` names."""
        return number if 1 <= number <= self.count else self.by_id(str(number))

    def by_id(self, name: str) -> int | None:
        """Rank of the passage of this id."""
        place = self.ids.index(name) + 1 if name in self.ids else None
        return place if place is None or place <= self.count else None

    def by_position(self, name: str) -> int | None:
        """Rank of the passage at a position counted from 0."""
        return int(name) + 1 if name.isdecimal() and int(name) < self.count else None


def citations(answer: str, retrieved: Retrieved) -> list[Citation]:
    """The citations of an answer in its order; a passage cited twice by one sentence counts once."""
    answer = _WRAPPED.sub(lambda marks: _BETWEEN_MARKS.sub(r"\1", marks[1]), answer)
    body = _CODE.sub(lambda code: " " * len(code[0]), answer)
    body = body[: _end_of_text(body)]
    plain, marks = "", []
    end = 0
    for match in _MARK.finditer(body):
        ranks = _ranks(match, retrieved)
        if ranks is None:
            continue
        plain += answer[end : match.start()]
        marks.append((len(plain), match[0], ranks))
        end = match.end()
    plain += answer[end : len(body)]
    spans = list(_spans(plain))
    found: dict[tuple[str, object], Citation] = {}
    for place, mark, ranks in marks:
        sentence = _sentence(plain, spans, place)
        for rank in ranks if sentence else ():
            found.setdefault((sentence, rank or mark), Citation(mark, sentence, rank))
    return list(found.values())


def _end_of_text(body: str) -> int:
    """Where the list of sources begins: at its heading, or where all lines left explain earlier marks."""
    heading = _SOURCES.search(body)
    end = heading.start() if heading else len(body)
    while True:
        before = body[:end].rstrip()
        line = before.rfind("\n") + 1
        listed = _LISTED.match(before, line)
        if listed is None or listed[1] not in before[:line]:
            return end
        end = line


def _ranks(match: re.Match[str], retrieved: Retrieved) -> list[int | None] | None:
    """What a mark names; None when it is no citation."""
    if match["position"]:
        return [retrieved.by_position(match["position"])]
    if match["linked"]:
        return [retrieved.by_id(match["linked"])]
    body = (match["raised"] or match["body"]).partition("†")[0].strip()
    if (match["word"] or "").upper() == "ID":
        names = [_ID_WORD.sub("", part) for part in _BETWEEN.split(body)]
        return [retrieved.by_id(name) or retrieved.by_position(name) for name in names]
    numbers = _numbers(body)
    if numbers is None:
        rank = retrieved.by_id(body)
        return None if rank is None else [rank]
    if len(numbers) == 1 and numbers[0] in _YEARS and retrieved.by_rank(numbers[0]) is None:
        return None
    return [retrieved.by_rank(number) for number in numbers]


def _numbers(body: str) -> list[int] | None:
    """The numbers of `1`, `1, 3` or `2-4`; None when it is anything else."""
    numbers: list[int] = []
    for part in _BETWEEN.split(body):
        found = _NUMBERS.fullmatch(part)
        if found is None:
            return None
        first, last = int(found[1]), int(found[2] or found[1])
        if not first <= last < first + _LONGEST_RANGE:
            return None
        numbers += range(first, last + 1)
    return numbers


def _spans(plain: str) -> Iterator[tuple[int, int]]:
    """Where the sentences of a text begin and end."""
    end = 0
    for sentence in text.sentences(plain):
        begin = plain.index(sentence, end)
        end = begin + len(sentence)
        yield begin, end


def _sentence(plain: str, spans: Sequence[tuple[int, int]], place: int) -> str:
    """The sentence of a mark: it stands in it or after it; at the head of a line, before it."""
    line = plain.rfind("\n", 0, place) + 1
    line_end = plain.find("\n", place) if "\n" in plain[place:] else len(plain)
    before = len(plain[:place].rstrip())
    at = next((at for at, span in enumerate(spans) if span[0] < before <= span[1]), None)
    if _BULLET.fullmatch(plain, line, place):
        at = next((at for at, span in enumerate(spans) if span[1] > place and span[0] < line_end), at)
    while at is not None and at >= 0:
        sentence = _BULLET.sub("", plain[slice(*spans[at])], count=1)
        if not _POINTER.fullmatch(sentence):
            return _GAP.sub("", " ".join(sentence.split()))
        at -= 1  # "See [1]." speaks of the sentence before
    return ""
