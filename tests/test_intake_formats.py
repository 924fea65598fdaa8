"""Reading files: every good line is read, every bad one is named."""

import csv
import gzip
import io
import json
import random
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from intake_fixtures import gather, gather_bytes, ids, lines, row

from rag_checks.errors import SourceError, SourceUnavailable
from rag_checks.intake.streams import MAX_LINE, DamagedInput, open_stream, read_blocks


def many(count: int) -> list[dict[str, Any]]:
    """Different good rows."""
    return [row(number, user_input=f"Question {number * 7919}?") for number in range(count)]


def zstd(data: bytes) -> bytes:
    """One frame."""
    return zstandard.ZstdCompressor().compress(data)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd])
def test_plain_gzip_and_zstd_hold_the_same(tmp_path: Path, pack: Any) -> None:
    """The packing is seen from the first bytes, not from the name."""
    collected = gather_bytes(tmp_path, pack(lines(many(50))))
    assert len(collected.turns) == 50
    assert collected.counts["quarantined"] == 0


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_several_members_are_read_as_one_file(tmp_path: Path, pack: Any) -> None:
    """Two members, the cut in the middle of a line, and padding of zeros after the gzip ones."""
    data = lines(many(40))
    packed = pack(data[:1234]) + pack(data[1234:]) + (b"\0" * 512 if pack is gzip.compress else b"")
    collected = gather_bytes(tmp_path, packed)
    assert len(collected.turns) == 40
    assert collected.counts["files_damaged"] == 0


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
@pytest.mark.parametrize("share", [0.1, 0.6, 0.999])
def test_a_cut_file_keeps_its_good_lines_and_says_where_it_is_cut(
    tmp_path: Path, pack: Any, share: float
) -> None:
    """All whole lines before the cut, and exactly one quarantine row for it."""
    noise = random.Random(1)
    data = lines(row(i, user_input=f"{noise.getrandbits(4000):x}") for i in range(3000))
    packed = pack(data)
    collected = gather_bytes(tmp_path, packed[: int(len(packed) * share)])
    [cut] = collected.quarantine
    whole = data[: cut.offset].count(b"\n")
    assert collected.counts["in_window"] == whole == cut.line - 1
    assert whole > 3000 * share * 0.5 - 300
    assert "cut" in cut.reason
    assert collected.counts["files_damaged"] == collected.counts["quarantined"] == 1
    if pack is gzip.compress:  # nothing that zlib can still give is lost
        rest = zlib.decompressobj(31).decompress(packed[: int(len(packed) * share)])
        assert whole == rest.count(b"\n")


def test_broken_compressed_data_ends_the_file_there(tmp_path: Path) -> None:
    """Flipped bits late in a file cost what comes after them, and at most a block before."""
    noise = random.Random(1)
    data = lines(row(i, user_input=f"{noise.getrandbits(4000):x}") for i in range(3000))
    packed = bytearray(gzip.compress(data))
    packed[int(len(packed) * 0.9)] ^= 0xFF
    collected = gather_bytes(tmp_path, bytes(packed))
    assert 2200 < collected.counts["in_window"] < 3000
    assert collected.counts["files_damaged"] == 1
    assert "broken" in collected.quarantine[-1].reason


def test_highly_compressed_data_comes_in_small_blocks(tmp_path: Path) -> None:
    """A bomb of 200 MB in 200 kB is read in blocks of at most a few hundred kB."""
    path = tmp_path / "bomb"
    path.write_bytes(gzip.compress((b"x" * 999 + b"\n") * 200_000, compresslevel=9))
    with open_stream(path) as stream:
        sizes = [sum(map(len, block)) for _, _, block in read_blocks(stream)]
    assert sum(sizes) > 199_000_000
    assert max(sizes) <= 512 * 1024


def test_bad_lines_between_good_ones_are_named_and_placed(tmp_path: Path) -> None:
    """Each bad line has its number, byte offset and reason; none of its text; all good ones are read."""
    good = [lines([row(number)]).rstrip() for number in range(8)]
    bad = {
        b"[]": "not a JSON object but a list",
        b"42": "not a JSON object but a number",
        b"null": "not a JSON object but null",
        b'{"turn_id": "x", "user_in': "not JSON",
        b'{"turn_id": "\xff\xfe"}': "not UTF-8 at byte 14",
        b'{"turn_id": "z"} {"turn_id": "y"}': "not JSON",
        b'{"user_input": "who", "response": "me", "asked_at": "2026-11-29T10:00:00Z"}': "turn_id",
    }
    content, places = b"\xef\xbb\xbf", []
    for line, wrong in zip(good, [*bad, None], strict=True):
        content += line + b"\r\n\n   \n"
        if wrong is not None:
            places.append(len(content))
            content += wrong + b"\r\n"
    collected = gather_bytes(tmp_path, content)
    assert ids(collected) == [f"t{number}" for number in range(8)]
    assert [entry.offset for entry in collected.quarantine] == places
    assert [entry.line for entry in collected.quarantine] == [4 * number for number in range(1, 8)]
    for entry, reason in zip(collected.quarantine, bad.values(), strict=True):
        assert reason in entry.reason
        assert entry.file == "log.jsonl"


def test_a_line_of_300_mb_is_quarantined_without_being_held(tmp_path: Path) -> None:
    """Memory stays near three times the limit of a line while one far over it passes by."""
    path = tmp_path / "log.jsonl"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(lines([row(1)]))
        for _ in range(300):
            file.write(b"x" * 1_000_000)
        file.write(b"\n" + lines([row(2)]))
    tracemalloc.start()
    collected = gather(tmp_path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert ids(collected) == ["t1", "t2"]
    [entry] = collected.quarantine
    assert (entry.line, entry.offset) == (2, len(lines([row(1)])))
    assert "300,000,000" in entry.reason
    assert peak < 3 * MAX_LINE


@pytest.mark.parametrize("length", [MAX_LINE - 1, MAX_LINE, MAX_LINE + 1])
def test_the_limit_of_a_line_is_exact(tmp_path: Path, length: int) -> None:
    """16 MB are a line, one byte more is not, with and without a newline after it."""
    for end in (b"", b"\nrest"):
        path = tmp_path / "line"
        path.write_bytes(b"a\n" + b"x" * length + end)
        with open_stream(path) as stream:
            found = [block for _, _, block in read_blocks(stream)]
        reasons = [block for block in found if isinstance(block, str)]
        assert len(reasons) == (length > MAX_LINE)


def test_utf16_is_recognised(tmp_path: Path) -> None:
    """A file saved as UTF-16 is one damaged file with the fix, not a quarantine row for each line."""
    (tmp_path / "log.jsonl").write_bytes(lines(many(5)).decode().encode("utf-16"))
    collected = gather(tmp_path, format="jsonl")
    [entry] = collected.quarantine
    assert "UTF-8" in entry.reason


def as_csv(rows: list[dict[str, Any]], *, bom: bool = False) -> bytes:
    """Rows as CSV, lists and objects as JSON texts."""
    text = io.StringIO()
    names = list(dict.fromkeys(name for fields in rows for name in fields))
    writer = csv.DictWriter(text, names)
    writer.writeheader()
    for fields in rows:
        writer.writerow(
            {
                name: json.dumps(value, ensure_ascii=False) if isinstance(value, (list, dict)) else value
                for name, value in fields.items()
            }
        )
    return text.getvalue().encode("utf-8-sig" if bom else "utf-8")


def test_csv_says_the_same_as_jsonl(tmp_path: Path) -> None:
    """Lists as JSON texts, numbers as text, line breaks and quotes in cells, a byte-order mark."""
    rows = [
        row(
            number,
            user_input=f'第{number}个问题，"引号"\n第二行?',
            latency_ms=12.5,
            turn_id=f"00{number}",
            tags=["web", "vip"],
            rating="dislike",
            comment="没用",
        )
        for number in range(30)
    ]
    (tmp_path / "a.csv").write_bytes(as_csv(rows, bom=True))
    (tmp_path / "b.jsonl").write_bytes(lines(rows))
    from_csv, from_jsonl = (gather(tmp_path, path=name) for name in ("a.csv", "b.jsonl"))
    assert from_csv.turns == from_jsonl.turns
    assert from_csv.fields == from_jsonl.fields
    assert from_csv.turns[0].turn.turn_id == "000"


def test_a_broken_csv_record_costs_only_its_line(tmp_path: Path) -> None:
    """An open quote, too few cells and bad UTF-8 between good records, each named with its place."""
    good = as_csv([row(number) for number in range(6)]).split(b"\r\n")
    content = b"\r\n".join(
        [*good[:3], b'x,"open quote, 1', good[3], b"only,three,cells", good[4], b"\xff" + good[5], good[6]]
    )
    (tmp_path / "a.csv").write_bytes(content)
    collected = gather(tmp_path, path="a.csv")
    assert ids(collected) == ["t0", "t1", "t2", "t3", "t5"]
    assert [entry.line for entry in collected.quarantine] == [4, 6, 8]
    for entry, part in zip(collected.quarantine, (b'x,"open', b"only", b"\xff"), strict=True):
        assert entry.offset == content.index(part)
    assert "UTF-8" in collected.quarantine[2].reason


def test_parquet_says_the_same_as_jsonl(tmp_path: Path) -> None:
    """Lists, structs and timestamps with a zone, plain and compressed."""
    rows = [row(number, feedback={"rating": "like", "comment": None}) for number in range(2500)]
    table = pa.Table.from_pylist(rows)
    times = pa.array([1795946400_000_000_123] * 2500, pa.timestamp("ns", "Asia/Shanghai"))
    table = table.set_column(table.schema.get_field_index("asked_at"), "asked_at", times)
    pq.write_table(table, tmp_path / "a.parquet")
    (tmp_path / "b.parquet.gz").write_bytes(gzip.compress((tmp_path / "a.parquet").read_bytes()))
    (tmp_path / "c.jsonl").write_bytes(lines([fields | {"asked_at": 1795946400} for fields in rows]))
    plain, packed, jsonl = (gather(tmp_path, path=f"{name}*") for name in "abc")
    assert plain.counts["in_window"] == 2500
    assert plain.turns == packed.turns == jsonl.turns


def test_a_damaged_parquet_file_is_one_quarantine_row(tmp_path: Path) -> None:
    """Its end is missing, so nothing of it can be read; the other file is."""
    pq.write_table(pa.Table.from_pylist(many(10)), tmp_path / "a.parquet")
    (tmp_path / "a.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:-20])
    (tmp_path / "b.jsonl").write_bytes(lines(many(3)))
    collected = gather(tmp_path, path=["*.parquet", "*.jsonl"])
    assert collected.counts["in_window"] == 3
    [entry] = collected.quarantine
    assert (entry.file, entry.line) == ("a.parquet", 0)
    assert collected.counts["files_damaged"] == 1


def test_the_format_is_seen_from_name_and_content(tmp_path: Path) -> None:
    """Odd suffixes are read by what the file starts with; what nobody knows is set aside."""
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(lines([row(1)])))
    (tmp_path / "b.export").write_bytes(as_csv([row(2)]))
    (tmp_path / "c.txt").write_bytes(b"Read me first\n")
    (tmp_path / "d.data").write_bytes(b"")
    collected = gather(tmp_path, path="*")
    assert ids(collected) == ["t1", "t2"]
    [entry] = collected.quarantine
    assert entry.file == "c.txt"
    assert "conversations.format" in entry.reason


def test_no_file_of_a_known_format_is_an_error(tmp_path: Path) -> None:
    """Nothing readable at all is a broken monitor, not an empty night."""
    (tmp_path / "c.txt").write_bytes(b"Read me first\n")
    with pytest.raises(SourceError, match=r"c\.txt.*csv, jsonl, parquet"):
        gather(tmp_path, path="*")


def test_an_unknown_format_name_is_an_error_with_the_known_ones(tmp_path: Path) -> None:
    """The message lists what can be set."""
    (tmp_path / "a.jsonl").write_bytes(lines([row(1)]))
    with pytest.raises(SourceError, match=r"'jsonlines'; known: auto, csv, jsonl, parquet"):
        gather(tmp_path, format="jsonlines")


def test_a_damaged_stream_knows_where(tmp_path: Path) -> None:
    """The exception carries line and offset of the first line that is lost."""
    path = tmp_path / "cut.gz"
    noise = random.Random(2).randbytes(20_000).hex().encode()
    path.write_bytes(gzip.compress(b"one\ntwo\n" + noise)[:-400])
    with open_stream(path) as stream, pytest.raises(DamagedInput) as caught:
        for _ in read_blocks(stream):
            pass
    assert (caught.value.line, caught.value.offset) == (3, 8)


def test_a_file_that_vanished_may_be_back_later(tmp_path: Path) -> None:
    """Rotation between listing and opening is worth a retry; the name is in the message."""
    with pytest.raises(SourceUnavailable, match=r"gone\.jsonl"), open_stream(tmp_path / "gone.jsonl"):
        pass
