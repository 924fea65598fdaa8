"""Where it broke: causes of single cases, and shares of the new failures."""

from datetime import timedelta

import pytest
from verdict_worlds import START, monitor, row

from rag_checks.records import Case, EvalItem, GradedCase, Level, Response, Score, ScoreStatus, Verdict
from rag_checks.verdicts.diagnosis import CAUSES, cause_of, diagnose, failing_share


def graded(number=0, *, release="2", intent="lookup", source="golden", response=None, item=None, **values):
    """A case with scores by metric; None stands for a bot error."""
    case_id = f"{source}:i{number}"
    answer = response or Response(response="…", release=release, retrieved_contexts=("a",))
    facts = {"item_id": f"i{number}", "user_input": "?", "answerable": True} | (item or {})
    case = Case(
        case_id=case_id,
        source=source,
        item=EvalItem(**facts),
        response=answer,
        language="en",
        intent=intent,
    )
    scores = tuple(
        Score(
            eval_run_id="r",
            case_id=case_id,
            metric=metric,
            metric_version="1",
            value=value,
            status=ScoreStatus.BOT_ERROR if value is None else ScoreStatus.OK,
        )
        for metric, value in values.items()
    )
    return GradedCase(case=case, scores=scores)


def verdict(level=Level.FAIL, **fields):
    """A failing golden verdict of answer_correctness."""
    settings = {
        "metric": "answer_correctness",
        "source": "golden",
        "level": level,
        "n_ok": 1,
        "n_failed": 0,
        "n_not_applicable": 0,
        "n_total": 1,
        "z": -5.0,
        "since": START + timedelta(days=15),
        "rule": "",
    }
    return Verdict(**(settings | fields))


RIGHT = {"hit_rate": 1.0, "mrr": 1.0, "faithfulness": 1.0, "answer_rate": 1.0, "answer_correctness": 0.1}


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"faithfulness": None}, "no_answer"),
        ({"response": Response(response=None, error="timeout")}, "no_answer"),
        ({"intent_accuracy": 0.0, "hit_rate": 0.0}, "wrong_intent"),
        ({"intent_accuracy": 0.0, "hit_rate": 1.0}, "generation_wrong"),
        ({"hit_rate": 0.0, "answer_rate": 0.0}, "retrieval_missed"),
        ({"mrr": 0.2, "faithfulness": 0.1}, "ranked_low"),
        ({"faithfulness": 0.2}, "unfaithful"),
        ({"answer_rate": 0.0}, "refused"),
        ({"item": {"answerable": False}, "refusal_correctness": 0.0}, "made_up"),
        ({}, "generation_wrong"),
    ],
)
def test_the_first_broken_stage_is_blamed(changes, cause):
    """Each pattern of stage numbers has one cause, the first stage that did not do its part."""
    assert cause_of(graded(**(RIGHT | changes))) == cause


def test_context_recall_stands_in_for_hit_rate():
    """Without known passage ids, contexts that support nothing of the reference mean retrieval missed."""
    assert cause_of(graded(context_recall=0.0, answer_correctness=0.0)) == "retrieval_missed"
    assert cause_of(graded(context_recall=1.0, answer_correctness=0.0)) == "generation_wrong"


def test_retrieving_nothing_is_missing_it():
    """Contexts recorded and empty are a retrieval failure; contexts not recorded prove nothing."""
    empty = Response(response="I do not know", retrieved_contexts=())
    unknown = Response(response="I do not know")
    assert cause_of(graded(response=empty, answer_rate=0.0)) == "retrieval_missed"
    assert cause_of(graded(response=unknown, answer_rate=0.0)) == "refused"


def test_every_cause_has_words_in_both_languages():
    """Names and next steps exist in Chinese and English."""
    for cause in CAUSES.values():
        assert all(cause.name[language] and cause.next_step[language] for language in ("zh", "en"))


def history(nights=16, release_2_from=15):
    """Golden rows: i0..i9 right, i99 always wrong; release 2 from a night on."""
    return [
        row(
            number,
            0.0 if item == 99 else 1.0,
            metric="answer_correctness",
            source="golden",
            item_id=f"i{item}",
            release="2" if number >= release_2_from else "1",
        )
        for number in range(nights)
        for item in (*range(10), 99)
    ]


def test_share_of_baseline_nights_failed():
    """An item that always failed has share 1, one that never did 0; tonight is not counted."""
    share = failing_share(history(), monitor(), START + timedelta(days=15))
    assert share["i99"] == 1
    assert share["i0"] == 0


def test_failed_judgements_are_no_past_failures():
    """A night on which the judge failed says nothing bad about an item."""
    past = [row(0, None, status="judge_error", metric="answer_correctness", source="golden", item_id="i1")]
    assert failing_share(past, monitor(), START + timedelta(days=1)) == {"i1": 0.0}


def test_findings_are_shares_of_new_failures():
    """Old failures are no news; new ones are counted by cause and intent, with release and start."""
    past = history()
    tonight = [graded(n, **(RIGHT | {"hit_rate": 0.0, "answer_correctness": n / 100})) for n in range(5)]
    tonight += [graded(n, intent="it", **(RIGHT | {"faithfulness": 0.0})) for n in (5, 6)]
    tonight += [graded(99, **RIGHT), graded(7, **(RIGHT | {"answer_correctness": 0.9}))]
    share = failing_share(past, monitor(), START + timedelta(days=15))
    found = diagnose(tonight, share, [verdict()], monitor(), past)
    assert [(f.cause, f.intent, f.n_cases, f.n_failing) for f in found] == [
        ("retrieval_missed", "lookup", 5, 7),
        ("unfaithful", "it", 2, 7),
    ]
    first = found[0]
    assert (first.stage, first.release, first.since) == ("retrieval", "2", START + timedelta(days=15))
    assert (
        first.summary
        == "5 of 7 new failures: retrieved nothing relevant, intent lookup, since release 2 (2026-03-17)"
    )
    assert first.case_ids == ("golden:i0", "golden:i1", "golden:i2", "golden:i3", "golden:i4")
    assert "chunking" in first.next_step


def test_findings_speak_chinese():
    """The summary is in the monitor's language."""
    found = diagnose(
        [graded(**(RIGHT | {"hit_rate": 0.0}))], {}, [verdict()], monitor(language="zh"), history()
    )
    assert (
        found[0].summary == "1 个新增失败中 1 个：没有检索到相关段落，意图 lookup，自版本 2（2026-03-17）起"
    )
    assert "切分" in found[0].next_step


def test_without_a_new_release_the_date_is_told():
    """When the baseline had the same release, the start comes from the verdict of that intent."""
    own = verdict(slice="intent:lookup", since=START + timedelta(days=12))
    found = diagnose([graded(release="1", **RIGHT)], {}, [verdict(), own], monitor(), history())
    assert found[0].release is None
    assert found[0].summary.endswith("since 2026-03-14")


def test_no_trouble_no_findings():
    """A night whose verdicts are ok is not diagnosed, whatever fails as usual."""
    assert diagnose([graded(**RIGHT)], {}, [verdict(Level.OK)], monitor()) == []


def test_logged_turns_count_where_production_is_in_trouble():
    """Production failures count when a production verdict is bad, and then only of the intents it names."""
    tonight = [
        graded(1, source="production", intent="lookup", hit_rate=0.0, answer_rate=0.0),
        graded(2, source="production", intent="it", answer_rate=0.0),
    ]
    assert diagnose(tonight, {}, [verdict()], monitor()) == []
    whole = verdict(source="production")
    assert {f.intent for f in diagnose(tonight, {}, [whole], monitor())} == {"lookup", "it"}
    cell = verdict(source="production", slice="intent:lookup")
    assert {f.intent for f in diagnose(tonight, {}, [whole, cell], monitor())} == {"lookup"}


def test_an_unknown_intent_is_not_named():
    """Cases without an intent are a group of their own without a name."""
    found = diagnose([graded(intent="unknown", **RIGHT)], {}, [verdict(since=None)], monitor())
    assert found[0].intent is None
    assert found[0].summary == "1 of 1 new failures: had what it needed and answered wrongly"


def test_one_cause_of_one_release_is_one_finding_over_all_intents():
    """A retriever that is down floods nobody; intents are listed, most cases first, and capped."""
    spread = {"lookup": 1, "it": 2, "hr": 1, "pay": 1, "travel": 1}
    tonight = [
        graded(number, intent=intent, **(RIGHT | {"answer_correctness": 0.0, "hit_rate": 0.0}))
        for number, intent in enumerate(name for name, n in spread.items() for _ in range(n))
    ]
    (found,) = diagnose(tonight, {}, [verdict(since=None)], monitor())
    assert (found.intent, found.n_cases, found.n_failing) == (None, 6, 6)
    assert found.summary.endswith("intents it 2, hr 1, lookup 1 and 2 more")
