"""The demo bot: two releases, one of which cannot look people up."""

import json
import re
from collections import defaultdict

import pytest
from demo_fixtures import bot, questions_of, right_share

from rag_checks.demo.answering import is_refusal
from rag_checks.demo.bot import ask
from rag_checks.demo.chunking import RELEASE_1, RELEASE_2, RELEASES, WINDOW, passages
from rag_checks.demo.handbook import documents, people
from rag_checks.demo.retrieval import Bm25, terms
from rag_checks.demo.understanding import guess_intent, rewrite
from rag_checks.errors import ConfigError
from rag_checks.records import EvalItem, Message


def test_release_1_knows_the_department_and_release_2_does_not():
    """The classic failure: 张伟是哪个部门的 is answered by release 1 and refused by release 2."""
    good = bot(RELEASE_1).answer("张伟是哪个部门的")
    bad = bot(RELEASE_2).answer("张伟是哪个部门的")
    assert good["answer"] == "张伟是教研部的。"
    assert good["context_ids"][0] == "staff#zhang-wei"
    assert is_refusal(bad["answer"])
    assert "教研部" not in "".join(bad["contexts"])


def test_english_question_is_answered_in_english_from_the_table():
    """The bilingual row gives an English answer to an English question."""
    answer = bot(RELEASE_1).answer("Which department is Zhang Wei in?")["answer"]
    assert answer == "Zhang Wei is in the Curriculum department."


def test_release_1_finds_every_department():
    """At least 85 % of department lookups hold exactly the person's department, in both languages."""
    assert right_share(RELEASE_1, questions_of("staff", "department")) >= 0.85


@pytest.mark.parametrize("fact", ["department", "extension", "seat", "email", "manager"])
def test_release_2_loses_most_staff_lookups_but_not_all(fact):
    """The cut table loses a clear majority of the lookups of each common column, and keeps a few."""
    share = right_share(RELEASE_2, questions_of("staff", fact))
    assert 0.02 < share < 0.45


def test_other_intents_do_not_suffer_from_release_2():
    """Over all policy questions release 2 is at most 5 points worse; release 1 is good, not perfect."""
    questions = questions_of("policy")
    before, after = right_share(RELEASE_1, questions), right_share(RELEASE_2, questions)
    assert after >= before - 0.05
    assert 0.85 <= before < 1


def test_no_single_policy_intent_collapses_in_release_2():
    """No intent but the employee lookup loses more than ten points."""
    by_intent = defaultdict(list)
    for question in questions_of("policy"):
        by_intent[question.intent].append(question)
    for intent, questions in by_intent.items():
        assert right_share(RELEASE_2, questions) >= right_share(RELEASE_1, questions) - 0.10, intent


@pytest.mark.parametrize("release", RELEASES)
def test_unknown_things_are_refused_in_words(release):
    """Most questions the handbook cannot answer are refused, in the question's language."""
    assert right_share(release, questions_of("unanswerable")) >= 0.8
    assert bot(release).answer("公司股票代码是多少")["answer"].startswith("抱歉")
    assert bot(release).answer("Will it rain tomorrow?")["answer"].startswith("Sorry")


def test_every_name_finds_its_row():
    """For each of the people, the bare name retrieves their own row first, however the dictionary cuts it."""
    index = Bm25(passages(RELEASE_1))
    for person in people():
        own = "staff#" + person["pinyin"].lower().replace(" ", "-")
        assert index.search(rewrite(f"{person['name']}的分机"))[0][0].passage_id == own


def test_names_the_dictionary_does_not_know_keep_their_character_pairs():
    """欧阳明月 is cut wrongly by the dictionary, but its pairs are indexed; 张伟 is there once."""
    assert {"欧阳", "阳明", "明月"} <= set(terms("欧阳明月"))
    assert terms("张伟").count("张伟") == 1


def test_bm25_prefers_rare_terms_and_limits_the_passages():
    """The passage with the rare word wins; never more than k come back; nothing in common gives nothing."""
    index = Bm25(passages(RELEASE_1))
    found = index.search("婚假 申请", k=3)
    assert found[0][0].passage_id == "leave#marriage"
    assert len(found) == 3
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
    assert index.search("zzz qqq") == []


@pytest.mark.parametrize("release", RELEASES)
def test_passage_ids_are_unique_and_nothing_of_the_handbook_is_lost(release):
    """Ids name one passage each; glued together the passages still hold every paragraph of prose."""
    cut = passages(release)
    assert len({passage.passage_id for passage in cut}) == len(cut)
    whole = "\n".join(passage.text for passage in cut)
    for document in documents():
        for section in document.sections:
            for paragraph in section.paragraphs:
                if not paragraph.startswith("|"):
                    assert paragraph in whole


def test_release_1_gives_each_row_the_header_and_release_2_only_the_first():
    """The defect as described: one header for the whole table, rows cut at a fixed width."""
    header = "| 姓名 Name |"
    rows = [
        p for p in passages(RELEASE_1) if p.passage_id.startswith("staff#") and p.passage_id != "staff#intro"
    ]
    windows = [p for p in passages(RELEASE_2) if p.passage_id.startswith("staff@")]
    assert len(rows) == len(people())
    assert all(header in row.text for row in rows)
    assert sum(header in window.text for window in windows) == 1
    assert {len(window.text) for window in windows[1:-1]} == {WINDOW}


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("张伟的邮箱是什么", "employee_lookup"),
        ("年假有几天", "leave"),
        ("Where do I file an expense claim?", "expenses"),
        ("VPN 连不上怎么办", "it_support"),
        ("How do I book a meeting room?", "facilities"),
        ("谢谢", "small_talk"),
        ("附近哪家火锅好吃", "other"),
    ],
)
def test_intents_are_guessed(question, intent):
    """Keywords decide the intent in both languages."""
    assert guess_intent(question) == intent


def test_rewriting_drops_politeness_and_resolves_follow_ups():
    """The logged query is complete without the history: the person, or the topic, is put in."""
    history = [
        Message(role="user", content="王芳是哪个部门的"),
        Message(role="assistant", content="王芳是教研部的。"),
    ]
    assert rewrite("麻烦查一下王芳的分机，谢谢") == "王芳的分机 Wang Fang"
    assert rewrite("那英文名呢", history).startswith("王芳 那英文名呢")
    assert rewrite("那高鹏呢", history).startswith("高鹏是哪个部门的")
    assert rewrite("会议室怎么预订", history) == "会议室怎么预订"


def test_a_follow_up_about_another_topic_asks_the_same_of_it():
    """那病假呢 after a question about annual leave asks for the days of sick leave."""
    history = [Message(role="user", content="年假有几天"), Message(role="assistant", content="10 天。")]
    assert "12 天" in bot(RELEASE_1).answer("那病假呢", history)["answer"]


def test_small_talk_retrieves_nothing():
    """A greeting is answered politely, with contexts recorded as empty."""
    answered = bot(RELEASE_1).answer("你好")
    assert (answered["intent"], answered["contexts"], answered["context_ids"]) == ("small_talk", [], [])
    assert not is_refusal(answered["answer"])


@pytest.mark.parametrize(
    "question", ["", "   ", "？？？", "a" * 5000, "\x00\ud83d", "|张伟|", "${HOME} {name}"]
)
def test_odd_questions_get_an_answer_in_words(question):
    """Whatever is asked, the bot answers something and does not fall over."""
    for release in RELEASES:
        assert bot(release).answer(question)["answer"]


def test_ask_follows_the_deployment_file(tmp_path, monkeypatch):
    """`deployed` is read at each question, absolute, relative or through the environment."""
    item = EvalItem(item_id="1", user_input="张伟是哪个部门的")
    path = tmp_path / "deployed.json"
    path.write_text(json.dumps({"release": RELEASE_1}), encoding="utf-8")
    first = ask(item, deployed=str(path))
    path.write_text(json.dumps({"release": RELEASE_2}), encoding="utf-8")
    monkeypatch.setenv("DEMO_HOME", str(tmp_path))
    second = ask(item, deployed="${DEMO_HOME}/deployed.json")
    monkeypatch.chdir(tmp_path)
    third = ask(item, deployed="deployed.json")
    assert [first.release, second.release, third.release] == [RELEASE_1, RELEASE_2, RELEASE_2]
    assert first.response == "张伟是教研部的。"
    assert first.latency_ms is not None
    assert first.latency_ms > 0


def test_ask_hands_the_history_to_the_bot():
    """An item's history makes a follow-up question answerable."""
    history = (Message(role="user", content="任海波坐哪儿"), Message(role="assistant", content="E301。"))
    item = EvalItem(item_id="1", user_input="那他是哪个部门的", history=history)
    assert ask(item, release=RELEASE_1).response == "任海波是财务部的。"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "exactly one"),
        ({"deployed": "x", "release": RELEASE_1}, "exactly one"),
        ({"release": "release-9"}, "release-1, release-2"),
        ({"deployed": "nowhere/deployed.json"}, "nowhere/deployed.json"),
        ({"deployed": "${RAG_CHECKS_NOT_SET}/deployed.json"}, "is not set"),
    ],
)
def test_wrong_options_are_told_clearly(options, words):
    """Each wrong option is a ConfigError that says what to mend."""
    with pytest.raises(ConfigError, match=re.escape(words)):
        ask(EvalItem(item_id="1", user_input="你好"), **options)


@pytest.mark.parametrize("content", ["", "not json", "[]", "{}", '"release-1"'])
def test_a_broken_deployment_file_is_named(tmp_path, content):
    """A file that is not like {"release": …} is named in the error."""
    path = tmp_path / "deployed.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError, match=re.escape(str(path))):
        ask(EvalItem(item_id="1", user_input="你好"), deployed=str(path))
