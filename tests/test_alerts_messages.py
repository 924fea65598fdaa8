"""Messages as people read them: snapshots, order, hostile text, Slack's limits."""

import json
import os
import re
from datetime import date
from pathlib import Path

import pytest
from alerts_fixtures import (
    NIGHT,
    canonical,
    failing_night,
    graded,
    no_data_night,
    ok_night,
    summary,
    verdict,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from rag_checks.alerts.blocks import cut, plain, size
from rag_checks.alerts.messages import as_terminal, broken, digest, validate
from rag_checks.records import Finding, Level

SNAPSHOTS = Path(__file__).parent / "snapshots" / "slack"
HOSTILE = "<!channel> see <https://evil.example|report> *bold* `code` & <@U1>"


def broken_night(language):
    """The judge's key has expired."""
    return broken(
        "员工助手" if language == "zh" else "Employee assistant",
        language,
        NIGHT,
        "评审模型拒绝了所有请求" if language == "zh" else "The judge refuses every call",
        "JudgeFatal: 401 invalid_api_key",
        "更新 OPENAI_API_KEY 后重新运行该任务"
        if language == "zh"
        else "Renew OPENAI_API_KEY, then clear the task",
    )


MESSAGES = {
    "ok": lambda language: digest(ok_night(language), mention="<@U123>"),
    "failing": lambda language: digest(failing_night(language), mention="<@U123> <!subteam^S123>"),
    "no_data": lambda language: digest(no_data_night(language)),
    "broken": broken_night,
}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("kind", MESSAGES)
def test_a_message_is_exactly_what_was_reviewed(kind, language):
    """Payload and terminal text equal the stored ones; UPDATE_SNAPSHOTS=1 writes them anew for review."""
    payload = MESSAGES[kind](language)
    for suffix, text in (("json", canonical(payload)), ("txt", as_terminal(payload))):
        stored = SNAPSHOTS / f"{kind}_{language}.{suffix}"
        if os.environ.get("UPDATE_SNAPSHOTS") == "1":
            stored.write_text(text, encoding="utf-8")
        assert text == stored.read_text(encoding="utf-8")
    assert validate(payload) == []


def test_the_most_important_comes_first():
    """The cause and what to do, then the failing metrics, then all numbers, then single answers."""
    text = as_terminal(digest(failing_night("en")))
    order = [
        "below target",
        "Where it broke",
        "Next: ",
        "0.62",
        "Open the report",
        "All numbers",
        "Worst answers",
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    table = text[text.index("All numbers") :]
    assert table.index("context_recall") < table.index("answer_relevancy") < table.index("faithfulness")


def test_the_notification_names_monitor_night_metric_target_and_cause():
    """The fallback text alone tells what happened."""
    text = digest(failing_night("zh"))["text"]
    assert text.startswith("❌ 员工助手 10-24：answer_correctness 0.62 (目标 0.80)")
    assert "没有检索到任何相关段落" in text


def test_people_are_called_only_on_a_failing_night():
    """A mention is live on fail and absent on any other level."""
    calling = json.dumps(digest(failing_night("en"), mention="<@U123>"))
    assert "<@U123>" in calling
    for night in (ok_night("en"), no_data_night("en")):
        assert "<@U123>" not in json.dumps(digest(night, mention="<@U123>"))


def test_a_mention_that_is_no_slack_id_is_text():
    """What is configured as mention cannot smuggle links in."""
    payload = digest(failing_night("en"), mention="<@U123> <https://evil.example|you> @anna")
    assert payload["blocks"][1]["text"]["text"] == "<@U123> &lt;https://evil.example|you&gt; @anna"


@pytest.mark.parametrize("mention", [None, "", " ", "\u200b"])
def test_an_empty_mention_calls_nobody(mention):
    """Nothing to call means no empty block, which Slack would refuse."""
    payload = digest(failing_night("en"), mention=mention)
    assert [block["type"] for block in payload["blocks"][:2]] == ["header", "rich_text"]


def test_a_mean_over_almost_nothing_is_not_told_as_a_score():
    """3 of 100 graded with a mean of 1.0: neither notification nor table shows the 1.0."""
    payload = digest(no_data_night("en"))
    assert "1.00" not in payload["text"] + as_terminal(payload)
    assert "(3/100)" in payload["text"]


def test_a_run_without_any_verdict_says_so():
    """Nothing graded is told, not shown as all fine."""
    payload = digest(summary("en", Level.NO_DATA, []))
    assert "nothing was graded" in payload["text"]
    assert validate(payload) == []


def test_offline_scores_are_labelled_with_their_agreement():
    """The offline judge is named beside the numbers, with how far it can be trusted."""
    text = as_terminal(digest(failing_night("en")))
    assert "offline judge (no model) · agrees with people on 0.79" in text


def test_the_table_is_aligned_in_both_languages():
    """Every number starts at the column where its title starts, Chinese titles counted double."""
    for language, title in (("en", "target"), ("zh", "目标")):
        payload = digest(failing_night(language))
        table = next(
            part["elements"][0]["text"]
            for block in payload["blocks"]
            for part in block.get("elements", [])
            if part["type"] == "rich_text_preformatted"
        )
        head, *lines = table.split("\n")
        column = cell_len(head[: head.index(title)])
        rows = [line for line in lines if line.startswith("  ")]
        assert len(rows) == 6
        assert all(row[column:].startswith("0.80") for row in rows)
        assert max(map(cell_len, [head, *rows])) <= 44


def texts_where_markup_works(payload):
    """All texts of a payload that Slack parses for markup."""
    found = [payload["text"]]
    for block in payload["blocks"]:
        if block["type"] == "section":
            found.append(block["text"]["text"])
        assert '"mrkdwn"' not in json.dumps(block) or block["type"] == "section"
    return found


def test_markup_in_outside_text_stays_text():
    """Whatever a question, answer, intent, title or reason says, nobody is called and no link appears."""
    night = summary(
        "en",
        Level.FAIL,
        [verdict("faithfulness", 0.1, level=Level.FAIL, slice=f"intent:{HOSTILE}", rule=HOSTILE)],
        title=HOSTILE,
        owner=HOSTILE,
        judge_note=HOSTILE,
        findings=(
            Finding(cause="x", stage="retrieval", n_cases=1, n_failing=1, summary=HOSTILE, next_step=HOSTILE),
        ),
        worst=(graded(HOSTILE, HOSTILE, reference=HOSTILE, reason=HOSTILE),),
        report_url=HOSTILE,
    )
    for payload in (digest(night), broken(HOSTILE, "en", NIGHT, HOSTILE, HOSTILE, HOSTILE)):
        assert validate(payload) == []
        for text in texts_where_markup_works(payload):
            assert not re.search(r"[<>]", text)
        assert '"link"' not in json.dumps(payload)
    question = digest(night)["blocks"][-1]["elements"][1]["elements"][0]["elements"][0]
    assert question == {"type": "text", "text": f"Q: {HOSTILE}", "style": {"bold": True}}


def test_a_huge_night_is_a_valid_message_that_counts_what_it_leaves_out():
    """90 failing items, a 12,000-character answer, a 151-character title, 300 slices."""
    slices = [
        verdict("answer_correctness", 0.1, level=Level.FAIL, slice=f"intent:{n}", rule="r" * 5000)
        for n in range(300)
    ]
    worst = tuple(
        graded("问" * 5000, "答" * 12_000, item_id=f"item-{n}", reason="因" * 9000) for n in range(90)
    )
    findings = failing_night("zh").findings * 9
    night = summary("zh", Level.FAIL, slices, title="题" * 151, worst=worst, findings=findings)
    payload = digest(night)
    assert validate(payload) == []
    text = as_terminal(payload)
    for left_out in ("还有 294 条", "还有 284 条", "还有 85 条", "还有 6 条"):
        assert left_out in text
    assert "字）" in text
    assert payload["blocks"][0]["text"]["text"].endswith("未达标")


def test_invisible_and_reordering_characters_are_gone():
    """Right-to-left overrides, isolates, zero-width characters and tag characters do not reach a reader."""
    sneaky = "a\u202eb\u2066c\u200bd\u00ade\U000e0041f\x00g\x1b[31mh"
    assert plain(sneaky) == "abcdefg[31mh"
    text = json.dumps(digest(summary("en", Level.OK, [verdict("m", 1.0)], title=sneaky)), ensure_ascii=False)
    assert not re.search("[\u202e\u2066\u200b\u00ad\U000e0041\x1b]", text)


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("hello", 5, "hello"),
        ("hello!", 5, "hell…"),
        ("ab👍🏽cd", 5, "ab…"),  # a skin tone is not left behind
        ("a🇩🇪🇫🇷", 8, "a🇩🇪…"),  # half a flag would be a letter
        ("e\u0301e\u0301e\u0301", 4, "e\u0301…"),  # an accent stays with its letter
        ("😀😀😀", 5, "😀😀…"),  # an emoji counts two
    ],
)
def test_cutting_never_tears_a_visible_character(text, limit, expected):
    """The end of a cut text is a whole character and fits."""
    assert cut(text, limit) == expected
    assert size(expected) <= limit


@given(st.text(max_size=400), st.integers(30, 200))
def test_a_cut_text_fits_and_begins_like_the_whole(text, limit):
    """Within the limit always; unchanged when it fits; else a beginning and how much is missing."""
    result = cut(text, limit, "… (+{n} characters)")
    assert size(result) <= limit
    if result != text:
        kept, missing = re.fullmatch(r"(.*)… \(\+([\d,]+) characters\)", result, re.DOTALL).groups()
        assert text.startswith(kept)
        assert len(text[: len(text) - int(missing.replace(",", ""))].rstrip()) == len(kept)


anything = st.text(max_size=60) | st.sampled_from(
    [HOSTILE, "x" * 4000, "\ud83d", "👍🏽" * 500, "\n\n", "\u202e", "é" * 900]
)
shares = st.none() | st.floats(0, 1)


@st.composite
def any_summary(draw):
    """A summary with any text in every place text can be."""
    verdicts = draw(
        st.lists(
            st.builds(
                verdict,
                anything,
                shares,
                level=st.sampled_from(Level),
                slice=st.just("all") | anything.map("intent:{}".format),
                rule=anything,
                minimum=shares,
                baseline=shares,
                since=st.none() | st.dates(date(2020, 1, 1), date(2030, 1, 1)),
            ),
            max_size=25,
        )
    )
    finding = st.builds(
        Finding,
        cause=anything,
        stage=st.just("retrieval"),
        n_cases=st.integers(0, 9),
        n_failing=st.integers(0, 9),
        summary=anything,
        next_step=anything,
    )
    case = st.builds(graded, anything, st.none() | anything, reference=st.none() | anything, reason=anything)
    return summary(
        draw(st.sampled_from(["en", "zh"])),
        draw(st.sampled_from(Level)),
        verdicts,
        title=draw(anything),
        owner=draw(st.none() | anything),
        judge_note=draw(st.none() | anything),
        report_url=draw(st.none() | anything),
        findings=tuple(draw(st.lists(finding, max_size=5))),
        worst=tuple(draw(st.lists(case, max_size=8))),
        counts=draw(st.dictionaries(st.sampled_from(["in_window", "sampled"]), st.integers(0, 10**9))),
    )


@settings(max_examples=150, deadline=None)
@given(any_summary(), anything)
def test_any_summary_becomes_a_message_slack_takes(night, mention):
    """No text, however odd or long, makes a message that Slack would refuse or that cannot be drawn."""
    payload = digest(night, mention=mention)
    assert validate(payload) == []
    json.dumps(payload).encode("utf-8")
    assert as_terminal(payload).endswith("\n")


@settings(deadline=None)
@given(anything, anything, anything, anything)
def test_any_failure_becomes_a_message_slack_takes(title, what, error, next_step):
    """The message that the monitor is broken can itself not be broken by the error it tells."""
    assert validate(broken(title, "zh", NIGHT, what, error, next_step)) == []


def long_rich(text):
    """A rich text block holding one text."""
    return {
        "type": "rich_text",
        "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": text}]}],
    }


@pytest.mark.parametrize(
    ("blocks", "problem"),
    [
        ([{"type": "header", "text": {"type": "plain_text", "text": "x" * 151}}], "151 characters, 150"),
        ([{"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3001}}], "3001 characters, 3000"),
        ([{"type": "section", "text": {"type": "mrkdwn", "text": "<https://evil.example|x>"}}], "unescaped"),
        ([{"type": "context", "elements": [{"type": "plain_text", "text": "x"}] * 11}], "1 to 10"),
        ([long_rich("x")] * 51, "1 to 50"),
        ([long_rich("x" * 2900)] * 5, "14504 characters"),
        ([long_rich("")], "missing or empty"),
        ([long_rich("\ud83d")], "half an emoji"),
        ([long_rich("\x00x")], "control characters"),
        ([{"type": "rich_text", "elements": []}], "is empty"),
        ([{"type": "video"}], "unknown block"),
        ([], "1 to 50"),
    ],
)
def test_the_check_finds_what_slack_would_refuse(blocks, problem):
    """Each documented limit, one step over it."""
    assert any(problem in found for found in validate({"text": "text", "blocks": blocks}))


@pytest.mark.parametrize(
    ("language", "dropped", "missed"), [("en", "dropped", "below target"), ("zh", "下降", "未达标")]
)
def test_a_drop_above_the_minimum_is_not_called_below_target(language, dropped, missed):
    """0.84 with a target of 0.8 fails for what it was before, and the words say so."""
    drop = verdict("faithfulness", 0.84, level=Level.FAIL, baseline=0.97)
    told = as_terminal(digest(summary(language, Level.FAIL, [drop])))
    assert dropped in told
    assert missed not in told
    assert "0.97" in digest(summary(language, Level.FAIL, [drop]))["text"]
    below = verdict("faithfulness", 0.7, level=Level.FAIL, baseline=0.97)
    assert missed in as_terminal(digest(summary(language, Level.FAIL, [drop, below])))


def test_a_metric_that_is_held_against_nothing_does_not_read_ok():
    """Without target and baseline there is nothing to meet."""
    bare = verdict("mrr", 0.3, minimum=None, baseline=None)
    told = as_terminal(digest(summary("en", Level.OK, [verdict("faithfulness", 0.9), bare])))
    assert "All 1 metrics meet what is expected of them. 1 have neither a target nor a baseline yet." in told
    assert "mrr · live · no target" in told
