"""One pass over the files of a night: read, check, count, sample, mask."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from rag_checks.errors import SourceError
from rag_checks.intake.bad_cases import is_bad_case
from rag_checks.intake.formats import Format, format_named, known_formats, recognise
from rag_checks.intake.redact import KINDS, Redactor
from rag_checks.intake.reader import RowReader
from rag_checks.intake.row import EPOCH, MICROSECOND, BadRow, Row, content_number, pack, turn_of
from rag_checks.intake.sampling import BAD_CASE, BottomK, Draw, key_of, number_of
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
_COUNTS = ("files", "files_damaged", "future", "cleaned", "bad_cases", *_READ)
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
        self._start, self._end, self._future = (
            (moment - EPOCH) // MICROSECOND for moment in (window.start, window.end, now + CLOCK_SKEW)
        )
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
                for line, offset, fields in form.read(stream):
                    if isinstance(fields, str):
                        self._reject(name, line, offset, fields)
                        continue
                    try:
                        self._take(fields)
                    except BadRow as bad:
                        self._reject(name, line, offset, str(bad))
        except DamagedInput as damage:
            self._counts["files_damaged"] += 1
            self._reject(name, damage.line, damage.offset, damage.reason)

    def _format_of(self, path: Path) -> Format | None:
        if self._format is not None:
            return self._format
        with open_stream(path) as stream:
            return recognise(path, stream.read(_HEAD))

    def _reject(self, name: str, line: int, offset: int, reason: str) -> None:
        self._counts["quarantined"] += 1
        if len(self._quarantine) < _MAX_QUARANTINE:
            self._quarantine.append(Quarantined(file=name, line=line, offset=offset, reason=reason))

    def _take(self, given: dict[str, Any] | bytes) -> None:
        row = self._rows.read(given)
        asked_at: int = row.asked_at  # type: ignore[assignment]  # microseconds, once read
        if asked_at > self._future:
            self._counts["future"] += 1
            raise BadRow("asked_at: in the future")
        number = number_of(self._key, row.turn_id)  # type: ignore[arg-type]  # a text, once read
        old = self._seen.get(number)
        if not self._start <= asked_at < self._end:
            self._counts["outside"] += 1
            if old is not None:
                self._forget(number, old)
            return
        content = content_number(row) & _CONTENT
        if old is not None:
            if old & _CONTENT == content:
                self._counts["duplicates"] += 1
                return
            self._forget(number, old)
        bad = is_bad_case(row)
        label = self._label_numbers.get(row.intent)
        if label is None:
            label = self._new_label(row.intent)
        self._seen[number] = content | label << 1 | bad
        self._traffic[label] += 1
        if bad or self._rows.was_cleaned:
            self._counts["bad_cases"] += bad
            self._counts["cleaned"] += self._rows.was_cleaned
        self.strata.add(BAD_CASE if bad else self._strata_names[label], number, row)
        self._rows.count(row)

    def _forget(self, number: int, entry: int) -> None:
        """Take out a turn that a later line supersedes."""
        label, bad = (entry & ~_CONTENT) >> 1, entry & 1
        self.strata.remove(BAD_CASE if bad else self._strata_names[label], number)
        self._traffic[label] -= 1
        self._counts["bad_cases"] -= bad
        self._counts["changed"] += 1
        del self._seen[number]

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
        redactor, masked = Redactor(), Counter[str]()
        turns = []
        for pick in draw.picks:
            turn, kinds = redactor.mask_turn(turn_of(pick.payload))
            masked += kinds
            turns.append(SampledTurn(turn=turn, stratum=pick.stratum, weight=pick.weight))
        intents = Counter[str]()
        for label, count in zip(self._labels, self._traffic, strict=True):
            if count:
                intents[label] += count
        unknown = self._rows.unknown()
        counts = {name: self._counts[name] for name in _COUNTS}
        counts["in_window"] = sum(self._traffic)
        counts["read"] = sum(counts[name] for name in _READ)
        counts |= {"files_too_old": too_old, "sampled": len(turns), "unknown_fields": sum(unknown.values())}
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
