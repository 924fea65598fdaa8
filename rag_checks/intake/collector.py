"""One pass over the files of a night: read, check, count, sample, mask."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from itertools import compress
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from rag_checks.errors import SourceError
from rag_checks.intake.bad_cases import is_bad_case
from rag_checks.intake.formats import Format, format_named, known_formats, recognise
from rag_checks.intake.intents import OTHER, Intents
from rag_checks.intake.learned import Batch
from rag_checks.intake.personal_data import KINDS
from rag_checks.intake.reader import RowReader
from rag_checks.intake.redact import Redactor
from rag_checks.intake.row import BadRow, Row, pack, turn_of
from rag_checks.intake.sampling import BAD_CASE, BottomK, Draw, key_of, number_of, numbers_of
from rag_checks.intake.sources import CLOCK_SKEW, find_files, short_name
from rag_checks.intake.streams import DamagedInput, open_stream
from rag_checks.intake.window import Window
from rag_checks.monitor import FileConversations, Sample
from rag_checks.records import Quarantined, SampledTurn

_MAX_QUARANTINE = 1000
_HEAD = 4096
_READ = ("quarantined", "outside", "duplicates", "changed", "in_window")
_COUNTS = ("files", "files_damaged", "future", "bad_cases", *_READ)
# What is remembered of a row: 48 bits of its content's number, its intent's number, whether it is a bad case.
_CONTENT = 0xFFFF_FFFF_FFFF_0000


@dataclass(frozen=True)
class Collected:
    """What a night's files held.

    Attributes:
        turns: the sample, masked, by turn id.
        counts: `files`, `files_too_old` (not read), `files_damaged` (cut, or of no known format); `read` =
            `quarantined` + `outside` (the window) + `duplicates` (same id, same content) + `changed`
            (superseded by a later line of the same id) + `in_window`; `future` (of the quarantined),
            `bad_cases` (of those in the window), `sampled`, `unknown_fields`; of the sampled turns `cleaned`
            (turns whose texts held NUL, lone surrogates or other characters nobody can see) and `masked_KIND`
            (places). All of them are always there.
        strata: turns there and turns picked, by stratum.
        intents: turns in the window by intent, bad cases included.
        quarantine: the first 1,000 lines that could not be read.
        fields: how many turns in the window had a value in each known field; all fields are there.
        unknown_fields: the same for the 50 most frequent other names.
    """

    turns: list[SampledTurn]
    counts: dict[str, int]
    strata: dict[str, tuple[int, int]]
    intents: dict[str, int]
    quarantine: list[Quarantined]
    fields: dict[str, int]
    unknown_fields: dict[str, int]


def collect(
    spec: FileConversations, directory: Path, window: Window, sample: Sample, *, now: datetime
) -> Collected:
    """Read a night's conversations and sample them; the same files give the same result.

    Args:
        spec: the monitor's `conversations` section.
        directory: the monitor file's folder.
        window: event time of the night; a turn belongs to it by `asked_at`.
        sample: the monitor's `sample` section.
        now: aware; turns later than this plus five minutes are quarantined.

    Raises:
        SourceError: no file matches, no format fits any file, no permission, a library is missing.
        SourceUnavailable: a file vanished or the disk fails just now.
    """
    found = find_files(spec.path, directory, since=window.start)
    # Room to take out superseded turns; when it is not enough, the files are read again with more.
    capacity = 2 * sample.size
    while True:
        night = _Night(spec, window, BottomK(capacity, pack), key_of(sample.seed), now)
        for path in found.paths:
            night.read(path, short_name(path, directory))
        night.check_readable()
        draw = night.strata.draw(sample)
        if draw is not None:
            return night.result(draw, too_old=found.too_old)
        capacity *= 2


class _Night:
    """The state of one pass."""

    def __init__(
        self, spec: FileConversations, window: Window, strata: BottomK[Row, bytes], key: bytes, now: datetime
    ) -> None:
        self.strata = strata
        self._format = None if spec.format == "auto" else format_named(spec.format)
        self._rows = RowReader(ZoneInfo(spec.naive_time_zone) if spec.naive_time_zone else None)
        self._window = window
        self._latest = now + CLOCK_SKEW
        self._key = key
        self._seen: dict[int, int] = {}
        self._intents = Intents(on_unite=lambda: strata.unite(OTHER, keep=frozenset({BAD_CASE})))
        self._counts: Counter[str] = Counter()
        self._quarantine: list[Quarantined] = []
        self._unrecognised: list[str] = []

    def read(self, path: Path, name: str) -> None:
        """Read one file."""
        self._counts["files"] += 1
        self._rows.start_file()
        try:
            form = self._format_of(path, name)
            with open_stream(path) as stream:
                for line, offset, given in form.read(stream):
                    if isinstance(given, list):
                        self._take_lines(name, line, offset, given)
                    elif isinstance(given, str):
                        self._reject(name, line, offset, given)
                    else:
                        self._take_one(name, line, offset, given)
        except DamagedInput as damage:
            self._counts["files_damaged"] += 1
            self._reject(name, damage.line, damage.offset, damage.reason)

    def _format_of(self, path: Path, name: str) -> Format:
        if self._format is not None:
            return self._format
        with open_stream(path) as stream:
            head = stream.read(_HEAD)
        form = recognise(path, head) if head else format_named("jsonl")  # an empty file is any format
        if form is None:
            self._unrecognised.append(name)
            raise DamagedInput("format not recognised; set conversations.format")
        return form

    def _take_lines(self, name: str, line: int, offset: int, lines: list[bytes]) -> None:
        """All lines at once when they are in order; otherwise the halves, down to single lines."""
        if self._take_batch(lines):
            return
        if len(lines) == 1:
            if not lines[0].isspace() and lines[0]:
                self._take_one(name, line, offset, lines[0])
            return
        half = len(lines) // 2
        self._take_lines(name, line, offset, lines[:half])
        offset += sum(map(len, lines[:half])) + half
        self._take_lines(name, line + half, offset, lines[half:])

    def _take_batch(self, lines: list[bytes]) -> bool:
        """Take all lines, or none of them when one is bad, in the future, or of an id that was seen."""
        read = self._rows.read_batch(lines)
        if read is None:
            return False
        batch, moments = read
        numbers = numbers_of(self._key, batch.column("turn_id"))
        if len(set(numbers)) < len(numbers) or not self._seen.keys().isdisjoint(numbers):
            return False
        first, last = min(moments), max(moments)
        if last > self._latest:
            return False
        if not (first in self._window and last in self._window):
            inside = [moment in self._window for moment in moments]
            self._counts["outside"] += inside.count(False)
            batch, moments = batch.only(inside), list(compress(moments, inside))
            numbers = list(compress(numbers, inside))
        bad = list(map(is_bad_case, *map(batch.column, ("response", "error", "feedback", "rating"))))
        intents = list(map(self._intents.number, batch.column("intent")))
        self._enter(batch, moments, numbers, intents, bad)
        return True

    def _enter(
        self,
        batch: Batch,
        moments: list[datetime],
        numbers: list[int],
        intents: list[int],
        bad: list[bool],
    ) -> None:
        """Count rows that are new and in the window, and offer them for the sample."""
        self._rows.count_batch(batch)
        self._seen.update(
            (number, content & _CONTENT | intent << 1 | is_bad)
            for number, content, intent, is_bad in zip(numbers, batch.contents, intents, bad, strict=True)
        )
        self._counts["bad_cases"] += sum(bad)
        names = {}
        for intent, count in Counter(intents).items():
            self._intents.count(intent, count)
            names[intent] = self._intents.stratum(intent)
        strata = [BAD_CASE if is_bad else names[intent] for intent, is_bad in zip(intents, bad, strict=True)]
        limits = {}
        for stratum, count in Counter(strata).items():
            self.strata.count(stratum, count)
            limits[stratum] = self.strata.limit(stratum)
        for place, (stratum, number) in enumerate(zip(strata, numbers, strict=True)):
            if number < limits[stratum]:
                row = self._rows.finish(batch.rows[place], moments[place])
                self.strata.offer(stratum, number, row)

    def _take_one(self, name: str, line: int, offset: int, given: dict[str, Any] | bytes) -> None:
        """One row by the long way."""
        try:
            self._take(given)
        except BadRow as bad:
            self._reject(name, line, offset, str(bad))

    def _reject(self, name: str, line: int, offset: int, reason: str) -> None:
        self._counts["quarantined"] += 1
        if len(self._quarantine) < _MAX_QUARANTINE:
            self._quarantine.append(Quarantined(file=name, line=line, offset=offset, reason=reason))

    def _take(self, given: dict[str, Any] | bytes) -> None:
        row, content, moment = self._rows.read(given)
        if moment > self._latest:
            self._counts["future"] += 1
            raise BadRow("asked_at: in the future")
        number = number_of(self._key, str(row.turn_id))
        old = self._seen.get(number)
        if moment not in self._window:
            self._counts["outside"] += 1
            if old is not None:
                self._forget(number, old)
            return
        content &= _CONTENT
        if old is not None:
            if old & _CONTENT == content:
                self._counts["duplicates"] += 1
                return
            self._forget(number, old)
        bad = is_bad_case(row.response, row.error, row.feedback, row.rating)
        intent = self._intents.number(row.intent)
        self._seen[number] = content | intent << 1 | bad
        self._intents.count(intent, 1)
        self._counts["bad_cases"] += bad
        self.strata.add(BAD_CASE if bad else self._intents.stratum(intent), number, row)
        if old is None:
            self._rows.count()

    def _forget(self, number: int, entry: int) -> None:
        """Take out a turn that a later line supersedes."""
        intent, bad = (entry & ~_CONTENT) >> 1, entry & 1
        self.strata.remove(BAD_CASE if bad else self._intents.stratum(intent), number)
        self._intents.count(intent, -1)
        self._counts["bad_cases"] -= bad
        self._counts["changed"] += 1
        del self._seen[number]

    def check_readable(self) -> None:
        """Raise SourceError when no file at all was of a known format."""
        if self._unrecognised and len(self._unrecognised) == self._counts["files"]:
            raise SourceError(
                f"{self._unrecognised[0]}: format not recognised; set conversations.format to one of "
                f"{', '.join(sorted(known_formats()))}"
            )

    def result(self, draw: Draw[bytes], *, too_old: int) -> Collected:
        """What was found, with the sampled turns masked."""
        redactor, masked, cleaned = Redactor(), Counter[str](), 0
        turns = []
        for pick in draw.picks:
            turn, was_cleaned = turn_of(pick.payload)
            turn, kinds = redactor.mask_turn(turn)
            masked += kinds
            cleaned += was_cleaned
            turns.append(SampledTurn(turn=turn, stratum=pick.stratum, weight=pick.weight))
        intents = self._intents.traffic()
        unknown = self._rows.unknown()
        counts = {name: self._counts[name] for name in _COUNTS}
        counts["in_window"] = sum(intents.values())
        counts["read"] = sum(counts[name] for name in _READ)
        counts |= {
            "files_too_old": too_old,
            "sampled": len(turns),
            "cleaned": cleaned,
            "unknown_fields": sum(unknown.values()),
        }
        counts |= {f"masked_{kind}": masked[kind] for kind in KINDS}
        return Collected(
            turns=sorted(turns, key=lambda sampled: sampled.turn.turn_id),
            counts=counts,
            strata=draw.strata,
            intents=intents,
            quarantine=self._quarantine,
            fields=self._rows.fields(),
            unknown_fields=unknown,
        )
