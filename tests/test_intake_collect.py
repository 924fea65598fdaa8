"""From files to a sample: fields, times, windows, duplicates, counts."""

import json
import os
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from intake_fixtures import NOW, WINDOW, gather, gather_bytes, ids, lines, row

from rag_checks.errors import SourceError
from rag_checks.intake import night_window
from rag_checks.intake.sources import find_files
from rag_checks.monitor import Sample
from rag_checks.records import Feedback, Message, ToolCall, Turn


def only_turn(folder: Path, fields: dict[str, Any], **settings_: Any) -> Turn:
    """The turn of a file with one good row."""
    collected = gather_bytes(folder, lines([fields]), **settings_)
    assert collected.quarantine == []
    [sampled] = collected.turns
    return sampled.turn


def only_reason(folder: Path, fields: dict[str, Any], **settings_: Any) -> str:
    """Why the row of a file with one bad row is none."""
    collected = gather_bytes(folder, lines([fields]), **settings_)
    assert collected.turns == []
    [entry] = collected.quarantine
    return entry.reason


def test_all_fields_of_a_turn_are_read(tmp_path: Path) -> None:
    """The native names, each with a value."""
    fields = row(
        history=[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}],
        retrieved_context_ids=["d1"],
        rewritten_query="book room",
        tool_calls=[{"name": "search", "arguments": {"q": "room"}}],
        feedback={"rating": "like", "comment": "nice"},
        release="r2",
        latency_ms=120,
        tags=["web"],
        error="timeout",
    )
    turn = only_turn(tmp_path, fields)
    assert turn == Turn.model_validate(fields)


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("id", "turn_id", "x7"),
        ("message_id", "turn_id", "x7"),
        ("session_id", "conversation_id", "s1"),
        ("question", "user_input", "why?"),
        ("query", "user_input", "why?"),
        ("input", "user_input", "why?"),
        ("answer", "response", "so"),
        ("actual_output", "response", "so"),
        ("output", "response", "so"),
        ("contexts", "retrieved_contexts", ["a"]),
        ("retrieval_context", "retrieved_contexts", ["a"]),
        ("context_ids", "retrieved_context_ids", ["a"]),
        ("timestamp", "asked_at", "2026-11-29T11:00:00Z"),
        ("created_at", "asked_at", "2026-11-29T11:00:00Z"),
        ("time", "asked_at", "2026-11-29T11:00:00Z"),
    ],
)
def test_older_names_mean_the_same(tmp_path: Path, name: str, field: str, value: Any) -> None:
    """An alias alone, and an alias beside the native name left empty, give the native field."""
    native = only_turn(tmp_path, row() | {field: value})
    assert only_turn(tmp_path, row(**{field: None}) | {name: value}) == native
    assert only_turn(tmp_path, row() | {field: None, name: value}) == native


@pytest.mark.parametrize(
    "contexts",
    [
        [{"text": "a", "id": 1}, {"content": "b", "document_id": "2"}, {"page_content": "c", "id": "3"}],
        json.dumps([{"text": "a", "id": 1}, {"text": "b", "id": "2"}, {"text": "c", "id": "3"}]),
    ],
)
def test_passages_may_be_objects_or_a_json_text(tmp_path: Path, contexts: Any) -> None:
    """Texts and ids come out in order under whichever names."""
    turn = only_turn(tmp_path, row(retrieved_contexts=contexts))
    assert turn.retrieved_contexts == ("a", "b", "c")
    assert turn.retrieved_context_ids == ("1", "2", "3")


def test_passages_known_by_id_only_are_not_empty_texts(tmp_path: Path) -> None:
    """Not recorded is None, retrieved nothing is an empty tuple."""
    turn = only_turn(tmp_path, row(retrieved_contexts=[{"id": "d1"}, {"id": "d2"}]))
    assert (turn.retrieved_contexts, turn.retrieved_context_ids) == (None, ("d1", "d2"))
    assert only_turn(tmp_path, row(retrieved_contexts=[])).retrieved_contexts == ()
    assert only_turn(tmp_path, row(retrieved_contexts=None)).retrieved_contexts is None


@pytest.mark.parametrize(
    ("fields", "feedback"),
    [
        ({"rating": "like"}, Feedback(rating="like")),
        ({"rating": "thumbs up"}, Feedback(rating="like")),
        ({"rating": "Thumbs_Down", "comment": "no"}, Feedback(rating="dislike", comment="no")),
        ({"rating": 1}, Feedback(rating="like")),
        ({"rating": -1}, Feedback(rating="dislike")),
        ({"rating": -1.0}, Feedback(rating="dislike")),
        ({"rating": "-1"}, Feedback(rating="dislike")),
        ({"feedback": "dislike"}, Feedback(rating="dislike")),
        ({"feedback": {"rating": "dislike"}}, Feedback(rating="dislike")),
        ({"feedback": {"rating": None, "comment": "hm"}}, Feedback(comment="hm")),
        ({"feedback": {"rating": 5}}, None),
        ({"feedback": None}, None),
    ],
)
def test_feedback_comes_in_many_forms(tmp_path: Path, fields: dict[str, Any], feedback: Any) -> None:
    """Objects, flat ratings and numbers; a number of stars is neither like nor dislike."""
    assert only_turn(tmp_path, row(**fields)).feedback == feedback


def test_tools_and_texts_in_json(tmp_path: Path) -> None:
    """Tool arguments and history may be JSON texts; what tools said is no message."""
    fields = row(
        tool_calls=json.dumps([{"name": "f", "arguments": '{"a": [1, {"b": null}]}'}, {"name": "g"}]),
        history=json.dumps(
            [
                {"role": "human", "content": "hi"},
                {"role": "tool", "content": "42"},
                {"role": "ai", "content": "yo"},
            ]
        ),
        latency_ms="350",
        release=7,
        intent=3,
    )
    turn = only_turn(tmp_path, fields)
    assert turn.tool_calls == (
        ToolCall(name="f", arguments={"a": [1, {"b": None}]}),
        ToolCall(name="g"),
    )
    assert turn.history == (Message(role="user", content="hi"), Message(role="assistant", content="yo"))
    assert (turn.latency_ms, turn.release, turn.intent) == (350, "7", "3")


def test_without_a_conversation_a_turn_is_its_own(tmp_path: Path) -> None:
    """The turn id stands in."""
    assert only_turn(tmp_path, row(conversation_id=None)).conversation_id == "t1"
    assert only_turn(tmp_path, row(conversation_id=" ")).conversation_id == "t1"


def test_an_answer_lost_to_an_error_is_empty_and_one_not_logged_is_a_bad_line(tmp_path: Path) -> None:
    """A renamed answer must not look like a night of empty answers."""
    assert only_turn(tmp_path, row(response=None, error="timeout")).response == ""
    assert only_turn(tmp_path, row(response=None) | {"answer": None}).response == ""
    assert "response: missing" in only_reason(tmp_path, row(response=None))


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"turn_id": " "}, "turn_id: empty"),
        ({"turn_id": None}, "turn_id: missing"),
        ({"asked_at": None}, "asked_at: missing"),
        ({"asked_at": "yesterday-secret"}, "asked_at: neither"),
        ({"asked_at": 1e300}, "asked_at: neither"),
        ({"asked_at": True}, "asked_at"),
        ({"user_input": 5}, "user_input: Expected `str`, got `int`"),
        ({"retrieved_contexts": 42}, "retrieved_contexts"),
        ({"retrieved_contexts": ["a", 7]}, "retrieved_contexts[1]"),
        ({"retrieved_contexts": None, "contexts": ["a", 7]}, "contexts[1]"),
        ({"retrieved_contexts": "secret plain text"}, "retrieved_contexts"),
        ({"latency_ms": -1}, "latency_ms: negative"),
        ({"latency_ms": "secret"}, "latency_ms: not a number"),
        ({"latency_ms": "nan"}, "latency_ms: negative or not finite"),
        ({"history": [{"role": "secret", "content": "x"}]}, "history[0].role: not one of"),
        ({"tool_calls": [{"name": "f", "arguments": "secret"}]}, "tool_calls arguments"),
        ({"tags": {"secret": 1}}, "tags"),
        ({"error": json.loads("[" * 80 + "]" * 80)}, "error: nested"),
    ],
)
def test_a_bad_field_is_named_and_not_quoted(tmp_path: Path, changes: dict[str, Any], field: str) -> None:
    """The reason says which field and why, in the file's own name for it, and nothing of its content."""
    reason = only_reason(tmp_path, row(**changes))
    assert field in reason
    assert "secret" not in reason


@pytest.mark.parametrize(
    "written",
    [
        "2026-11-29T10:00:00Z",
        "2026-11-29T18:00:00+08:00",
        "2026-11-29 10:00:00.000000+00:00",
        1795946400,
        1795946400.0,
        1795946400000,
        "1795946400",
        "1795946400000",
    ],
)
def test_times_are_iso_or_seconds_or_milliseconds(tmp_path: Path, written: Any) -> None:
    """All of these are the same moment."""
    assert only_turn(tmp_path, row(asked_at=written)).asked_at == datetime(2026, 11, 29, 10, tzinfo=UTC)


def test_naive_times_need_a_zone(tmp_path: Path) -> None:
    """Without one they are errors; with one they are local."""
    fields = row(asked_at="2026-11-29T10:00:00")
    assert "naive_time_zone" in only_reason(tmp_path, fields)
    turn = only_turn(tmp_path, fields, naive_time_zone="Asia/Shanghai")
    assert turn.asked_at == datetime(2026, 11, 29, 2, tzinfo=UTC)


def test_naive_times_around_a_change_of_clocks_use_the_offset_before_it(tmp_path: Path) -> None:
    """A repeated 02:30 is the first one, a skipped 02:30 is 30 minutes after the jump."""
    berlin = ZoneInfo("Europe/Berlin")
    for day, utc_hour in ((datetime(2026, 10, 25, tzinfo=UTC), 0), (datetime(2026, 3, 29, tzinfo=UTC), 1)):
        turn = only_turn(
            tmp_path,
            row(asked_at=f"{day:%Y-%m-%d}T02:30:00"),
            naive_time_zone="Europe/Berlin",
            window=night_window(day.date(), berlin),
        )
        assert turn.asked_at == day.replace(hour=utc_hour, minute=30)


def test_a_turn_belongs_to_the_night_it_was_asked_in(tmp_path: Path) -> None:
    """The window is half open, by event time, whichever file a turn lies in."""
    (tmp_path / "2026-11-29.jsonl").write_bytes(
        lines(
            [row("early", asked_at="2026-11-28T23:59:59.999Z"), row("first", asked_at="2026-11-29T00:00:00Z")]
        )
    )
    (tmp_path / "2026-11-30.jsonl").write_bytes(
        lines([row("late", asked_at="2026-11-29T23:59:58Z"), row("next", asked_at="2026-11-30T00:00:00Z")])
    )
    collected = gather(tmp_path)
    assert ids(collected) == ["tfirst", "tlate"]
    assert collected.counts["outside"] == 2


def test_files_last_written_before_the_night_are_not_read(tmp_path: Path) -> None:
    """Their time tells; one within five minutes, or with an archive's placeholder time, is read."""
    start = WINDOW.start.timestamp()
    for name, written in {"old": start - 301, "near": start - 299, "placeholder": 315532800}.items():
        (tmp_path / f"{name}.jsonl").write_bytes(lines([row(name)]))
        os.utime(tmp_path / f"{name}.jsonl", (written, written))
    collected = gather(tmp_path)
    assert ids(collected) == ["tnear", "tplaceholder"]
    assert collected.counts["files"] == 2
    assert collected.counts["files_too_old"] == 1


def test_all_files_are_found_when_no_night_is_meant(tmp_path: Path) -> None:
    """The earliest moment there is leaves out nothing."""
    (tmp_path / "a.jsonl").write_bytes(b"")
    found = find_files("a.jsonl", tmp_path, since=datetime.min.replace(tzinfo=UTC))
    assert [path.name for path in found.paths] == ["a.jsonl"]


def test_turns_of_tomorrow_are_quarantined(tmp_path: Path) -> None:
    """Five minutes of clock difference are forgiven."""
    future = [row("a", asked_at=(NOW + timedelta(minutes=m)).isoformat()) for m in (4, 6)]
    collected = gather_bytes(tmp_path, lines([row(1), *future]))
    assert collected.counts["future"] == collected.counts["quarantined"] == 1
    assert collected.counts["outside"] == 1
    assert "future" in collected.quarantine[0].reason


def test_the_same_file_twice_changes_nothing_but_the_duplicates(tmp_path: Path) -> None:
    """The same turns in another order of fields, with other escapes and line ends, are duplicates."""
    rows = [row(number, user_input=f"第{number}问") for number in range(300)]
    (tmp_path / "a.jsonl").write_bytes(lines(rows))
    alone = gather(tmp_path)
    again = [json.dumps(dict(reversed(fields.items()))) + "\r\n" for fields in rows]
    (tmp_path / "b.jsonl").write_text("\n".join(again), encoding="utf-8")
    both = gather(tmp_path)
    assert both.turns == alone.turns
    assert both.counts["duplicates"] == 300
    assert both.counts["changed"] == 0


def test_of_two_answers_to_one_id_the_last_counts(tmp_path: Path) -> None:
    """Last by order of files, then lines; the change is counted, and the stratum follows it."""
    (tmp_path / "b.jsonl").write_bytes(lines([row(1, feedback={"rating": "dislike"}), row(2)]))
    (tmp_path / "a.jsonl").write_bytes(lines([row(1), row(2), row(1, response="Other.")]))
    collected = gather(tmp_path)
    assert [sampled.stratum for sampled in collected.turns] == ["bad_case", "facilities"]
    assert collected.counts["changed"] == 2
    assert collected.counts["duplicates"] == 1
    assert collected.counts["in_window"] == 2
    assert collected.counts["bad_cases"] == 1


def test_a_turn_moved_out_of_the_window_is_gone(tmp_path: Path) -> None:
    """A later line with another time supersedes the first one."""
    collected = gather_bytes(tmp_path, lines([row(1), row(1, asked_at="2026-11-27T10:00:00Z"), row(2)]))
    assert ids(collected) == ["t2"]
    assert (collected.counts["changed"], collected.counts["outside"]) == (1, 1)


def test_many_superseded_turns_leave_the_sample_exact(tmp_path: Path) -> None:
    """When most picked turns become bad cases later, the sample is that of the last versions alone."""
    rows = [row(number) for number in range(400)]
    sample = Sample(size=10, bad_cases=2)
    first = gather_bytes(tmp_path, lines(rows), sample=sample.model_copy(update={"size": 60}))
    fallen = set(ids(first))
    changed = [
        fields | ({"feedback": {"rating": "dislike"}} if fields["turn_id"] in fallen else {})
        for fields in rows
    ]
    together = gather_bytes(tmp_path, lines([*rows, *changed]), sample=sample)
    alone = gather_bytes(tmp_path, lines(changed), sample=sample)
    assert together.turns == alone.turns
    assert together.strata == alone.strata == {"bad_case": (60, 2), "facilities": (340, 8)}


@pytest.mark.parametrize(
    ("changes", "is_bad"),
    [
        ({}, False),
        ({"feedback": {"rating": "dislike"}}, True),
        ({"rating": -1}, True),
        ({"error": "boom"}, True),
        ({"error": False}, False),
        ({"response": "  \n"}, True),
        ({"response": "抱歉，我无法回答这个问题。"}, True),
        ({"response": "知识库中没有找到相关内容"}, True),
        ({"response": "暂无相关信息"}, True),
        ({"response": "我不太清楚张伟的部门"}, True),
        ({"response": "Sorry, I couldn’t find that in the handbook."}, True),
        ({"response": "I don't know."}, True),
        ({"response": "No relevant documents."}, True),
        ({"response": "没有超过三天的假期不需要部门负责人审批。"}, False),
        ({"response": "Now choose the room; it does not matter which."}, False),
    ],
)
def test_bad_cases_are_recognised(tmp_path: Path, changes: dict[str, Any], is_bad: bool) -> None:
    """Dislikes, errors, empty answers and answers without one, in both languages, alone and among others."""
    for rows in ([row(**changes)], [row(2), row(3), row(**changes)]):
        collected = gather_bytes(tmp_path, lines(rows))
        [sampled] = [sampled for sampled in collected.turns if sampled.turn.turn_id == "t1"]
        assert (sampled.stratum == "bad_case") == is_bad
        assert collected.counts["bad_cases"] == is_bad


def test_intents_are_strata_and_traffic(tmp_path: Path) -> None:
    """Not logged is unknown, a sentence is no intent, and an intent called bad_case is kept apart."""
    rows = [
        row(1, intent="leave"),
        row(2, intent=" leave "),
        row(3, intent=None),
        row(4, intent="Please tell me where " * 5),
        row(5, intent="bad_case"),
        row(6, intent="leave", error="x"),
    ]
    collected = gather_bytes(tmp_path, lines(rows))
    assert collected.intents == {"bad_case": 1, "leave": 3, "unknown": 2}
    assert collected.strata == {
        "bad_case": (1, 1),
        "intent:bad_case": (1, 1),
        "leave": (2, 2),
        "unknown": (2, 2),
    }


def test_free_text_as_intent_becomes_one_stratum(tmp_path: Path) -> None:
    """A thousand different intents are no categories; the sample is as without any."""
    rows = [row(number, intent=f"i{number % 999}") for number in range(1500)]
    sample = Sample(size=20, floor_per_intent=0)
    collected = gather_bytes(tmp_path, lines(rows), sample=sample)
    plain = gather_bytes(tmp_path, lines(fields | {"intent": "x"} for fields in rows), sample=sample)
    assert collected.intents == {"other": 1500}
    assert collected.strata == {"other": (1500, 20)}
    assert ids(collected) == ids(plain)


def test_a_renamed_field_shows_in_the_counts(tmp_path: Path) -> None:
    """Contexts under a name nobody knows: no turn has any, and the new name is there to see."""
    rows = [row(number, retrieved_contexts=None, retrieved_docs=["x"]) for number in range(500)]
    rows += [row(number, release=None if number % 2 else "r1") for number in range(500, 510)]
    collected = gather_bytes(tmp_path, lines(rows))
    assert collected.fields["retrieved_contexts"] == 10
    assert collected.fields["user_input"] == 510
    assert collected.fields["release"] == 5
    assert collected.fields["latency_ms"] == 0
    assert collected.unknown_fields == {"retrieved_docs": 500}
    assert collected.counts["unknown_fields"] == 500


def test_unknown_names_that_are_sentences_are_not_shown(tmp_path: Path) -> None:
    """A key can be anybody's words."""
    collected = gather_bytes(tmp_path, lines([row(1) | {"Where is Zhang Wei?": 1, "ok_name": 2}]))
    assert collected.unknown_fields == {"(not a name)": 1, "ok_name": 1}


def test_nul_and_lone_surrogates_are_cleaned_and_counted(tmp_path: Path) -> None:
    """Such lines are good lines; what comes out can be stored."""
    content = lines([row(1), row(2, user_input="a\0b"), row(4, user_input=r"C:\u0000 is text")])
    content += json.dumps(
        row(3, user_input="x \ud83d y", history=[{"role": "user", "content": "\0"}])
    ).encode()
    collected = gather_bytes(tmp_path, content)
    asked = {sampled.turn.turn_id: sampled.turn.user_input for sampled in collected.turns}
    assert asked["t2"] == "ab"
    assert asked["t3"] == "x \ufffd y"
    assert asked["t4"] == r"C:\u0000 is text"
    assert collected.counts["cleaned"] == 2


def test_what_python_programs_write_as_json_is_read(tmp_path: Path) -> None:
    """NaN and Infinity are not JSON; they count as not recorded."""
    line = lines([row(1)]).replace(b"}\n", b', "latency_ms": NaN, "score": -Infinity}\n')
    [sampled] = gather_bytes(tmp_path, line).turns
    assert sampled.turn.latency_ms is None


def test_every_line_is_accounted_for(tmp_path: Path) -> None:
    """Read = quarantined + outside + duplicates + changed + in the window, whatever comes."""
    rng = random.Random(5)
    content = []
    for _ in range(2000):
        fields = row(
            rng.randrange(900),
            response=rng.choice(["a", "b", None]),
            asked_at=rng.choice(
                ["2026-11-29T10:00:00Z"] * 8 + ["2026-11-28T10:00:00Z", "2027-01-01T00:00:00Z", "x"]
            ),
        )
        content.append(rng.choice([lines([fields])] * 9 + [b"{\n"]))
    collected = gather_bytes(tmp_path, b"".join(content), sample=Sample())
    counts = collected.counts
    assert counts["read"] == 2000
    parts = ("quarantined", "outside", "duplicates", "changed", "in_window")
    assert counts["read"] == sum(counts[part] for part in parts)
    assert counts["in_window"] == sum(collected.intents.values())
    assert counts["in_window"] == sum(there for there, _ in collected.strata.values())
    assert counts["sampled"] == len(collected.turns) == 100
    assert all(counts[part] for part in (*parts, "future"))


def test_a_thousand_quarantine_rows_are_kept_and_all_counted(tmp_path: Path) -> None:
    """A file of nonsense does not fill the memory."""
    collected = gather_bytes(tmp_path, b"{\n" * 5000, format="jsonl")
    assert len(collected.quarantine) == 1000
    assert collected.counts["quarantined"] == 5000


def test_files_are_found_by_path_glob_and_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Patterns start at the monitor's folder; a file matched twice is read once."""
    (tmp_path / "logs" / "deep").mkdir(parents=True)
    (tmp_path / "logs" / "deep" / "a.jsonl").write_bytes(lines([row(1)]))
    (tmp_path / "logs" / "odd[1].jsonl").write_bytes(lines([row(2)]))
    monkeypatch.setenv("HOME", str(tmp_path / "logs"))
    collected = gather(
        tmp_path, path=["logs/**/*.jsonl", "~/odd[1].jsonl", str(tmp_path / "logs/deep/a.jsonl")]
    )
    assert ids(collected) == ["t1", "t2"]
    assert collected.counts["files"] == 2
    assert collected.counts["duplicates"] == 0


def test_a_pattern_without_files_is_an_error_that_says_where_it_looked(tmp_path: Path) -> None:
    """Pattern and folder are in the message."""
    with pytest.raises(SourceError, match=r"'logs/\*\.jsonl'") as caught:
        gather(tmp_path, path="logs/*.jsonl")
    assert str(tmp_path) in str(caught.value)


def test_quarantine_names_files_relative_to_the_monitor(tmp_path: Path) -> None:
    """Paths of this machine are nobody's business."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "monitor").mkdir()
    (tmp_path / "monitor" / "a.jsonl").write_bytes(b"{\n")
    (tmp_path / "logs" / "b.jsonl").write_bytes(b"{\n")
    collected = gather(tmp_path / "monitor", path=["a.jsonl", "../logs/b.jsonl"])
    assert [entry.file for entry in collected.quarantine] == ["b.jsonl", "a.jsonl"]


def test_sampled_turns_are_masked_and_counted(tmp_path: Path) -> None:
    """Only what leaves intake is masked; the counts have every kind."""
    collected = gather_bytes(tmp_path, lines([row(1, user_input="Call 13800138000, mail a.b@example.com")]))
    assert collected.turns[0].turn.user_input == "Call <PHONE_1>, mail <EMAIL_1>"
    masked = {name: count for name, count in collected.counts.items() if name.startswith("masked_")}
    assert masked["masked_phone"] == masked["masked_email"] == 1
    assert sum(masked.values()) == 2


def test_the_order_of_lines_and_files_does_not_matter(tmp_path: Path) -> None:
    """The same turns shuffled into other files give the same sample, weights and counts."""
    rows = [
        row(number, intent=f"i{number % 7}", error="x" if number % 31 == 0 else None) for number in range(900)
    ]
    one = gather_bytes(tmp_path, lines(rows), sample=Sample())
    (tmp_path / "other").mkdir()
    random.Random(1).shuffle(rows)
    for part in range(3):
        (tmp_path / "other" / f"{part}.jsonl").write_bytes(lines(rows[part::3]))
    other = gather(tmp_path / "other", sample=Sample())
    assert other.turns == one.turns
    assert other.strata == one.strata
    assert other.counts == one.counts | {"files": 3}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 2**70) | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
passages = st.lists(
    st.text(max_size=5) | st.dictionaries(st.sampled_from(["text", "id", "content"]), st.text(max_size=3))
)
loose_rows = st.fixed_dictionaries(
    {
        "turn_id": st.sampled_from(["a", "b", "c", "d e", "ü", " f", ""]) | st.integers(0, 5),
        "asked_at": st.sampled_from(
            ["2026-11-29T10:00:00Z", "2026-11-29T10:00:00", "2026-11-28T10:00:00+08:00"]
        )
        | st.sampled_from([1795946400, 1795946400000.5, "1795946400", "x", None]),
        "user_input": st.text(max_size=8) | json_values,
        "response": st.sampled_from(["fine", "抱歉，我不知道", "", None]) | json_values,
    },
    optional={
        "answer": st.text(max_size=3),
        "retrieved_contexts": passages | json_values,
        "history": st.lists(
            st.fixed_dictionaries(
                {"role": st.sampled_from(["user", "ai", "tool", "x"]), "content": st.text()}
            )
        )
        | json_values,
        "intent": st.sampled_from(["leave", "travel", 3, None]),
        "feedback": st.sampled_from(["like", -1, {"rating": "dislike"}, {"comment": "c"}]) | json_values,
        "rating": json_values,
        "latency_ms": st.floats() | st.integers() | st.sampled_from(["12", "x"]),
        "tool_calls": st.just([{"name": "f", "arguments": {"a": 1}}]) | json_values,
        "tags": st.lists(st.text(max_size=3)) | st.text(max_size=3),
        "error": json_values,
        "unknown": json_values,
    },
)


plain_rows = st.fixed_dictionaries(
    {
        "turn_id": st.sampled_from([f"p{number}" for number in range(40)]),
        "asked_at": st.sampled_from(
            ["2026-11-29T10:00:00Z", "2026-11-29T10:00:00", 1795946400, "2026-11-28T10:00:00Z"]
        ),
        "user_input": st.text(max_size=8),
        "response": st.sampled_from(["fine", "抱歉，我不知道", "", "I don't know"]),
    },
    optional={
        "retrieved_contexts": passages,
        "history": st.lists(
            st.fixed_dictionaries(
                {"role": st.sampled_from(["user", "ai", "tool"]), "content": st.text(max_size=3)}
            )
        ),
        "intent": st.sampled_from(["leave", "travel", 3, None, "", " x"]),
        "feedback": st.sampled_from(
            ["like", -1, {"rating": "dislike"}, {"comment": "c"}, None, {"rating": 0.5}]
        ),
        "rating": st.sampled_from(["dislike", True, 1.0, None]),
        "latency_ms": st.floats(0, 1e6) | st.integers(0, 9),
        "tags": st.lists(st.text(max_size=3) | st.integers(), max_size=2),
        "release": st.sampled_from(["r", 1, 2.5]),
        "error": st.sampled_from(["", "boom", None]),
        "unknown": json_values,
    },
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(plain_rows, plain_rows, plain_rows, loose_rows), min_size=1, max_size=12))
def test_many_lines_at_once_are_read_exactly_like_one_by_one(
    tmp_path: Path, rows: list[dict[str, Any]]
) -> None:
    """The short way through columns and the long way through dicts agree on everything, for any input.

    A second name for the question, though empty, keeps a file off the short way.
    """
    together = [json.dumps(fields).encode() for fields in rows]
    start = [lines([row(f"warm{number}")]).rstrip() for number in range(4)]
    at_once = gather_bytes(tmp_path, b"\n".join([*start, *together]), naive_time_zone="Asia/Shanghai")
    start[0] = start[0].replace(b"}", b', "query": null}')
    one_by_one = gather_bytes(tmp_path, b"\n".join([*start, *together]), naive_time_zone="Asia/Shanghai")
    assert at_once.turns == one_by_one.turns
    assert at_once.counts == one_by_one.counts
    assert at_once.fields == one_by_one.fields
    assert at_once.unknown_fields == one_by_one.unknown_fields
    assert [entry.reason for entry in at_once.quarantine] == [entry.reason for entry in one_by_one.quarantine]
    assert at_once.counts["read"] == len(rows) + 4


def test_a_night_without_a_sample_still_counts(tmp_path: Path) -> None:
    """Size 0 samples nothing and says what was there."""
    collected = gather_bytes(tmp_path, lines([row(1)]), sample=Sample(size=0))
    assert collected.turns == []
    assert collected.strata == {"facilities": (1, 0)}
