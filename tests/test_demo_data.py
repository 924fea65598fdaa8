"""The demo's data: handbook, questions with truth, golden set, logs, timeline, monitor file."""

import hashlib
import json
import re
from collections import Counter
from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import yaml
from demo_fixtures import bot, golden

from rag_checks import text
from rag_checks.demo.chunking import RELEASE_1, RELEASE_2, passages
from rag_checks.demo.handbook import documents, people
from rag_checks.demo.logs import write_logs
from rag_checks.demo.questions import all_questions, facts, is_right
from rag_checks.demo.timeline import (
    DEPLOY_NIGHT,
    FIRST_NIGHT,
    NIGHTS,
    SHOWN_NIGHT,
    deploy,
    deployed_on,
    monitor_text,
    prepare,
)
from rag_checks.monitor import Monitor
from rag_checks.records import Turn


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The whole demo, with the defect, written once."""
    return prepare(tmp_path_factory.mktemp("demo"))


@pytest.fixture(scope="module")
def turns(demo):
    """All turns of the demo's logs by file name."""
    return {
        path.stem: [Turn.model_validate_json(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for path in demo.conversation_files
    }


def test_the_handbook_has_no_real_personal_data():
    """Four-digit extensions, example.com addresses, unique names: nothing that could be someone's."""
    staff = people()
    assert len(staff) == 60
    for column in ("name", "pinyin", "extension", "seat", "email"):
        assert len({person[column] for person in staff}) == len(staff), column
    assert all(re.fullmatch(r"\d{4}", person["extension"]) for person in staff)
    assert all(person["email"].endswith("@example.com") for person in staff)
    everything = "\n".join(p for d in documents() for s in d.sections for p in s.paragraphs)
    assert not re.search(r"1[3-9]\d{9}", everything)
    hosts = re.findall(r"https?://([\w.-]+)", everything)
    assert hosts
    assert all(host.endswith("example.com") for host in hosts)


def test_managers_are_in_the_table():
    """Everybody's manager can be looked up too, except the board."""
    names = {person["name"] for person in people()}
    assert {person["manager"] for person in people()} - names == {"董事会"}


def test_there_are_hundreds_of_distinct_questions_in_two_languages():
    """Several hundred first questions, about a third of those on policies in English, over all intents."""
    questions = all_questions()
    assert len({q.text for q in questions}) == len(questions) > 400
    policies = Counter(q.language for q in questions if q.kind == "policy")
    assert 0.25 < policies["en"] / policies.total() < 0.45
    assert {q.intent for q in questions} == {
        "employee_lookup", "leave", "expenses", "travel", "it_support", "facilities", "onboarding", "payroll",
        "benefits", "security", "training", "small_talk", "other",
    }  # fmt: skip


def test_no_question_gives_its_answer_away():
    """No fragment of a right answer stands in the question that asks for it."""
    for question in all_questions():
        squeezed = text.squeeze(question.text)
        assert not any(text.squeeze(fragment) in squeezed for fragment in question.must), question


def test_the_truth_of_policy_questions_comes_from_their_section():
    """Each fragment of a right answer is in the section of the handbook the fact names, in that language."""
    sections = {
        f"{document.name}#{section.anchor}": "".join(section.paragraphs)
        for document in documents()
        for section in document.sections
    }
    for fact in facts()["policies"]:
        assert all(must in sections[fact["section"]] for must in fact["zh"]["must"]), fact["key"]
        translated = sections.get(fact["section"] + "-en")
        if translated is not None and "en" in fact:
            assert all(must in translated for must in fact["en"]["must"]), fact["key"]


def test_golden_quotes_are_verbatim_and_in_the_named_passages():
    """Each quote is in the handbook file as written, and in the release 1 passage with the given id."""
    folder = Path(__file__).parents[1] / "rag_checks" / "demo" / "handbook"
    everything = "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("*.md"))
    by_id = {passage.passage_id: passage.text for passage in passages(RELEASE_1)}
    for item in golden():
        quotes, ids = item.reference_contexts or (), item.reference_context_ids or ()
        assert len(quotes) == len(ids) == (1 if item.answerable else 0), item.item_id
        for quote, passage_id in zip(quotes, ids, strict=True):
            assert quote in everything, item.item_id
            assert quote in by_id[passage_id], item.item_id


def test_the_golden_set_is_balanced():
    """Enough items, staff lookups, unanswerable ones and both languages; ids are unique."""
    items = golden()
    assert len({item.item_id for item in items}) == len(items) >= 80
    assert sum(item.expected_intent == "employee_lookup" and bool(item.answerable) for item in items) >= 22
    assert sum(item.answerable is False for item in items) >= 8
    english = sum(text.language_of(item.user_input) == "en" for item in items)
    assert 0.25 < english / len(items) < 0.45
    assert all(item.reference and item.expected_intent and item.origin == "manual" for item in items)


def test_release_2_loses_the_quotes_of_golden_staff_lookups_only():
    """Retrieval breaks where the defect is: staff quotes are lost, policy quotes are found as before."""

    def found(release, *, staff):
        items = [i for i in golden() if i.answerable and (i.expected_intent == "employee_lookup") is staff]
        hits = 0
        for item in items:
            contexts = bot(release).answer(item.user_input, item.history)["contexts"]
            hits += text.squeeze(item.reference_contexts[0]) in text.squeeze("\n".join(contexts))
        return hits / len(items)

    assert found(RELEASE_1, staff=True) >= 0.95
    assert found(RELEASE_2, staff=True) <= 0.5
    assert found(RELEASE_2, staff=False) >= found(RELEASE_1, staff=False) - 0.02


def test_logs_are_the_same_byte_for_byte(tmp_path):
    """The same seed writes the same bytes, another seed does not."""

    def digest(name, seed):
        files = write_logs(
            tmp_path / name,
            seed=seed,
            first_night=FIRST_NIGHT,
            nights=3,
            deploy_night=FIRST_NIGHT + timedelta(2),
        )
        return [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]

    assert digest("a", "one") == digest("b", "one")
    assert digest("a", "one") != digest("c", "two")


def test_every_night_has_sixty_to_ninety_turns(turns):
    """Each of the 21 local days has 60 to 90 turns, week-ends at most 70, all inside the day, in order."""
    assert len(turns) == NIGHTS
    zone = ZoneInfo("Asia/Shanghai")
    for day, logged in turns.items():
        assert 60 <= len(logged) <= 90
        assert {str(turn.asked_at.astimezone(zone).date()) for turn in logged} == {day}
        assert [turn.asked_at for turn in logged] == sorted(turn.asked_at for turn in logged)
        if logged[0].asked_at.weekday() >= 5:
            assert len(logged) <= 70


def test_turn_ids_are_unique_and_conversations_short(turns):
    """A turn id names one turn in all the logs; a conversation has one to three turns."""
    logged = [turn for day in turns.values() for turn in day]
    assert len({turn.turn_id for turn in logged}) == len(logged)
    lengths = Counter(Counter(turn.conversation_id for turn in logged).values())
    assert set(lengths) == {1, 2, 3}


def test_follow_up_turns_carry_their_history(turns):
    """The second turn of a conversation has the first question and answer as history."""
    by_id = {turn.turn_id: turn for day in turns.values() for turn in day}
    seconds = [turn for turn in by_id.values() if turn.turn_id.endswith("-2")]
    assert seconds
    for turn in seconds:
        first = by_id[turn.turn_id[:-1] + "1"]
        assert [m.content for m in turn.history] == [first.user_input, first.response]


def test_logged_answers_are_the_bots_own(turns):
    """Asking the logged question again, with its history, gives the logged answer, passages and query."""
    for day in (FIRST_NIGHT, SHOWN_NIGHT):
        for turn in turns[str(day)]:
            again = bot(turn.release).answer(turn.user_input, turn.history)
            assert again["answer"] == turn.response
            assert tuple(again["context_ids"]) == turn.retrieved_context_ids
            assert again["rewritten_query"] == turn.rewritten_query


def test_the_release_changes_on_the_deploy_night_only(turns):
    """Release 1 until the evening before, release 2 from the deploy night; the shown night is its second."""
    for day, logged in turns.items():
        expected = RELEASE_2 if day >= str(DEPLOY_NIGHT) else RELEASE_1
        assert {turn.release for turn in logged} == {expected}
    assert DEPLOY_NIGHT + timedelta(days=1) == SHOWN_NIGHT
    assert max(turns) == str(SHOWN_NIGHT)
    assert deployed_on(DEPLOY_NIGHT - timedelta(days=1)) == RELEASE_1


def test_thumbs_follow_the_truth_with_noise(turns):
    """Wrong answers are disliked far more often than right ones; both kinds of thumbs go to both."""
    truth = {question.text: question for question in all_questions()}
    tally = Counter()
    for day in turns.values():
        for turn in day:
            question = truth.get(turn.user_input)
            if question is not None and question.kind != "small_talk" and not turn.history:
                rating = turn.feedback.rating if turn.feedback else None
                tally[is_right(question, turn.response), rating] += 1
    wrong = sum(n for (right, _), n in tally.items() if not right)
    right = sum(n for (right, _), n in tally.items() if right)
    assert tally[False, "dislike"] / wrong > 0.2
    assert tally[True, "dislike"] / right < 0.05
    assert tally[True, "dislike"] > 0
    assert any(turn.feedback and turn.feedback.comment for day in turns.values() for turn in day)


def test_a_demo_without_the_defect_has_release_1_only(tmp_path):
    """Without the defect no log line and no deployment names release 2."""
    demo = prepare(tmp_path, defect=False)
    assert RELEASE_2 not in "".join(path.read_text(encoding="utf-8") for path in demo.conversation_files)
    assert json.loads(demo.deployed_file.read_text(encoding="utf-8"))["release"] == RELEASE_1


def test_before_the_deploy_night_both_demos_have_the_same_logs(demo, tmp_path):
    """With and without the defect the healthy nights are identical, so the defect is the only difference."""
    quiet = prepare(tmp_path, defect=False)
    same = [
        a.read_bytes() == b.read_bytes()
        for a, b in zip(demo.conversation_files, quiet.conversation_files, strict=True)
    ]
    assert same == [True] * (NIGHTS - 2) + [False] * 2


def test_deploy_moves_the_bot_to_a_night(tmp_path):
    """`deploy` writes which release the bot answers with on that night."""
    before = deploy(tmp_path, DEPLOY_NIGHT - timedelta(days=1)).read_text(encoding="utf-8")
    after = deploy(tmp_path, DEPLOY_NIGHT).read_text(encoding="utf-8")
    assert [json.loads(before)["release"], json.loads(after)["release"]] == [RELEASE_1, RELEASE_2]


def test_the_prepared_monitor_file_needs_no_environment(demo):
    """The file in the demo folder validates and its paths exist relative to it."""
    monitor = Monitor.model_validate(yaml.safe_load(demo.monitor_file.read_text(encoding="utf-8")))
    home = demo.monitor_file.parent
    assert (home / monitor.golden.path).is_file()
    assert len(list(home.glob(monitor.conversations.path))) == NIGHTS
    assert monitor.bot.options == {"deployed": str(home.resolve() / "deployed.json")}
    assert "${" not in demo.monitor_file.read_text(encoding="utf-8").split("monitor: ", 1)[1]


def test_a_home_with_quotes_and_blanks_is_written_rightly(tmp_path):
    """A folder name with a quote, a blank and a hash survives the YAML file."""
    home = tmp_path / 'my "demo" #1'
    monitor = yaml.safe_load(monitor_text(home))
    assert monitor["bot"]["options"]["deployed"] == str(home / "deployed.json")


def test_the_shipped_monitor_file_and_the_dag_folders_are_one():
    """dags/monitors/employee_help.yaml is the file the package ships, and validates as it is."""
    in_dags = Path(__file__).parents[1] / "dags" / "monitors" / "employee_help.yaml"
    assert in_dags.read_text(encoding="utf-8") == monitor_text()
    monitor = Monitor.model_validate(yaml.safe_load(monitor_text()))
    assert monitor.monitor == "employee_help"
    assert monitor.bot.callable == "rag_checks.demo.bot:ask"
