"""One pass over the files of a night: read, check, count, sample, mask."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import compress
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from rag_checks.errors import SourceError
from rag_checks.intake.bad_cases import is_bad_case
from rag_checks.intake.formats import Format, format_named, known_formats, recognise
from rag_checks.intake.learned import Batch
from rag_checks.intake.reader import RowReader
from rag_checks.intake.redact import KINDS, Redactor
from rag_checks.intake.row import BadRow, Row, pack, turn_of
from rag_checks.intake.sampling import BAD_CASE, BottomK, Draw, key_of, number_of, numbers_of
from rag_checks.intake.sources import CLOCK_SKEW, find_files, short_name
from rag_checks.intake.streams import DamagedInput, open_stream
from rag_checks.intake.window import Window
from rag_checks.monitor import FileConversations, Sample
from rag_checks.records import Quarantined, SampledTurn
from rag_checks.text import clean

UNKNOWN = "unknown"
# More intents than this are no categories but free text: they become one, so that memory stays bounded.
MAX_INTENTS = 200
OTHER = "other"
_MAX_LABEL = 64
_MAX_SPELLINGS = 4096
_MAX_QUARANTINE = 1000
_HEAD = 4096
# A row's entry in the register: 48 bits of its content's hash, its intent, whether it is a bad case.
_READ = ("quarantined", "outside", "duplicates", "changed", "in_window")
_COUNTS = ("files", "files_damaged", "future", "bad_cases", *_READ)
_CONTENT = 0xFFFF_FFFF_FFFF_0000


@dataclass(frozen=True)
class Collected:
    """What a night's files held.

    `counts`, all of them always there: `files`, `files_too_old` (not read), `files_damaged`; `read` =
    `quarantined` + `outside` (the window) + `duplicates` + `changed` (superseded by a later line of the same
    id) + `in_window`; `future` (of the quarantined), `cleaned`, `bad_cases` (of those in the window),
    `sampled`, `unknown_fields`, and `masked_KIND` for what was masked in the sampled turns.
    """

    turns: list[SampledTurn]
    counts: dict[str, int]
    strata: dict[str, tuple[int, int]] = field(metadata={"doc": "Turns there and turns picked."})
    intents: dict[str, int] = field(metadata={"doc": "Turns in the window by intent, bad cases included."})
    quarantine: list[Quarantined] = field(metadata={"doc": "The first 1,000."})
    fields: dict[str, int] = field(metadata={"doc": "Turns in the window with a value in each known field."})
    unknown_fields: dict[str, int] = field(metadata={"doc": "The same for the 50 commonest other names."})


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
        # Intents by number: name, stratum, turns in the window.
        self._labels: list[str] = []
        self._strata_names: list[str] = []
        self._traffic: list[int] = []
        self._label_numbers: dict[str | int | None, int] = {}
        self._united = False
        self._counts: Counter[str] = Counter()
        self._quarantine: list[Quarantined] = []
        self._unrecognised: list[str] = []

    def read(self, path: Path, name: str) -> None:
        """Read one file."""
        self._counts["files"] += 1
        self._rows.start_file()
        try:
            form = self._format_of(path)
            if form is None:
                self._unrecognised.append(name)
                raise DamagedInput("format not recognised; set conversations.format")
            with open_stream(path) as stream:
                for line, offset, given in form.read(stream):
                    if isinstance(given, bytes):
                        self._take_lines(name, line, offset, given.split(b"\n"))
                    else:
                        self._take_one(name, line, offset, given)
        except DamagedInput as damage:
            self._counts["files_damaged"] += 1
            self._take_one(name, damage.line, damage.offset, damage.reason)

    def _format_of(self, path: Path) -> Format | None:
        if self._format is not None:
            return self._format
        with open_stream(path) as stream:
            return recognise(path, stream.read(_HEAD))

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
        numbers: Sequence[int] = numbers_of(self._key, batch.column("turn_id"))
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
        labels = list(map(self._label_number, batch.column("intent")))
        self._enter(batch, moments, numbers, labels, bad)
        return True

    def _enter(
        self,
        batch: Batch,
        moments: list[datetime],
        numbers: Sequence[int],
        labels: list[int],
        bad: list[bool],
    ) -> None:
        """Count rows that are new and in the window, and offer them for the sample."""
        self._rows.count_batch(batch)
        self._seen.update(
            (number, content & _CONTENT | label << 1 | is_bad)
            for number, content, label, is_bad in zip(numbers, batch.contents, labels, bad, strict=True)
        )
        self._counts["bad_cases"] += sum(bad)
        for label, count in Counter(labels).items():
            self._traffic[label] += count
        strata = [
            BAD_CASE if is_bad else self._strata_names[label]
            for label, is_bad in zip(labels, bad, strict=True)
        ]
        for stratum, count in Counter(strata).items():
            self.strata.count(stratum, count)
        limits = {stratum: self.strata.limit(stratum) for stratum in set(strata)}
        for place, (stratum, number) in enumerate(zip(strata, numbers, strict=True)):
            if number < limits[stratum]:
                row = self._rows.finish(batch.rows[place], moments[place])
                self.strata.offer(stratum, number, row)

    def _take_one(self, name: str, line: int, offset: int, given: dict[str, Any] | bytes | str) -> None:
        """One row by the long way, or the reason why it is none."""
        try:
            if isinstance(given, str):
                raise BadRow(given)
            self._take(given)
        except BadRow as bad:
            self._counts["quarantined"] += 1
            if len(self._quarantine) < _MAX_QUARANTINE:
                self._quarantine.append(Quarantined(file=name, line=line, offset=offset, reason=str(bad)))

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
        label = self._label_number(row.intent)
        self._seen[number] = content | label << 1 | bad
        self._traffic[label] += 1
        self._counts["bad_cases"] += bad
        self.strata.add(BAD_CASE if bad else self._strata_names[label], number, row)
        self._rows.count()

    def _forget(self, number: int, entry: int) -> None:
        """Take out a turn that a later line supersedes."""
        label, bad = (entry & ~_CONTENT) >> 1, entry & 1
        self.strata.remove(BAD_CASE if bad else self._strata_names[label], number)
        self._traffic[label] -= 1
        self._counts["bad_cases"] -= bad
        self._counts["changed"] += 1
        del self._seen[number]

    def _label_number(self, intent: str | int | None) -> int:
        number = self._label_numbers.get(intent)
        return self._new_label(intent) if number is None else number

    def _new_label(self, intent: str | int | None) -> int:
        """Number of an intent not met in this spelling before."""
        label = UNKNOWN if intent is None else clean(str(intent)).strip() or UNKNOWN
        if len(label) > _MAX_LABEL:
            label = UNKNOWN  # a sentence is no label, and may be anybody's words
        if label not in self._labels and len(self._labels) >= MAX_INTENTS:
            if not self._united:
                self._unite()
            label = OTHER
        if label in self._labels:
            number = self._labels.index(label)
        else:
            number = len(self._labels)
            self._labels.append(label)
            self._strata_names.append(label if label != BAD_CASE else f"intent:{label}")
            self._traffic.append(0)
        if len(self._label_numbers) < _MAX_SPELLINGS:
            self._label_numbers[intent] = number
        return number

    def _unite(self) -> None:
        """Make one intent of all."""
        self._united = True
        self.strata.unite(OTHER, keep=frozenset({BAD_CASE}))
        count = len(self._labels)
        self._traffic = [sum(self._traffic)] + [0] * (count - 1)
        self._labels = self._strata_names = [OTHER] * count
        self._label_numbers.clear()

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
        intents = Counter[str]()
        for label, count in zip(self._labels, self._traffic, strict=True):
            if count:
                intents[label] += count
        unknown = self._rows.unknown()
        counts = {name: self._counts[name] for name in _COUNTS}
        counts["in_window"] = sum(self._traffic)
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
            intents=dict(sorted(intents.items())),
            quarantine=self._quarantine,
            fields=self._rows.fields(),
            unknown_fields=unknown,
        )
