"""Canaries: frozen answers, judged anew every night, seen by the verdicts and by nobody else (P5)."""

import json
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fake_openai import FakeOpenAI
from workspace import NIGHT, Workspace, make_workspace, write_jsonl

from rag_checks.errors import ConfigError
from rag_checks.judge.canaries import load_canaries
from rag_checks.monitor import Monitor
from rag_checks.pipeline import use_cases as pipeline
from rag_checks.pipeline.summary import summarise
from rag_checks.store import Store

LINE = {
    "canary_id": "k1",
    "language": "en",
    "quality": "good",
    "user_input": "When is payday?",
    "retrieved_contexts": ["Payday is the 15th of each month."],
    "response": "Payday is the 15th.",
    "reference": "Payday is the 15th of each month.",
}


def prepared(folder: Path, judge: FakeOpenAI, **changes: Any) -> Workspace:
    """A workspace with a model judge and two canaries of its own."""
    write_jsonl(
        folder / "own.jsonl", [LINE, LINE | {"canary_id": "k2", "quality": "bad", "response": "Never."}]
    )
    config = {"kind": "openai", "model": "judge-1", "base_url": judge.url}
    settings = {"judge": config, "targets": [], "canaries": {"path": "own.jsonl"}, "sample": {"size": 2}}
    return make_workspace(folder, nights=2, changes={**settings, **changes})


def run(space: Workspace, back: int = 0) -> str:
    """Run a night; its id."""
    night = NIGHT - timedelta(days=back)
    return pipeline.run_night(space.monitor, space.settings, night, wanted_alert="no").run.eval_run_id


def test_those_that_ship_are_forty_or_more_of_every_kind_in_both_languages() -> None:
    """Good, bad, borderline and injected answers, as many in Chinese as in English."""
    cases = load_canaries(Monitor(monitor="any"))
    assert len({case.case_id for case in cases}) == len(cases) >= 40
    kinds = Counter((case.language, case.intent) for case in cases)
    assert set(kinds) == {
        (language, kind) for language in ("en", "zh") for kind in ("good", "bad", "borderline", "injection")
    }
    assert max(kinds.values()) == min(kinds.values())


def test_an_edited_canary_is_another_one(tmp_path: Path) -> None:
    """Its id holds its text: scores of a changed answer never continue the old one's history."""
    ids = []
    for response in ("Payday is the 15th.", "Payday is the 16th."):
        write_jsonl(tmp_path / "own.jsonl", [LINE | {"response": response}])
        monitor = Monitor(monitor="any", canaries={"path": "own.jsonl"}, directory=tmp_path)
        ids += [case.item.item_id for case in load_canaries(monitor)]
    assert len(set(ids)) == 2


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([json.dumps(LINE), "{"], "line 2 is no JSON"),
        ([json.dumps(LINE), json.dumps(LINE)], "line 2: 'k1' is there twice"),
        ([json.dumps({**LINE, "quality": "fine"})], "line 1"),
        ([""], "holds no canaries"),
    ],
)
def test_a_bad_file_names_the_line(tmp_path: Path, lines: list[str], told: str) -> None:
    """A person can find what to mend."""
    (tmp_path / "own.jsonl").write_text("\n".join(lines), encoding="utf-8")
    monitor = Monitor(monitor="any", canaries={"path": "own.jsonl"}, directory=tmp_path)
    with pytest.raises(ConfigError, match=told):
        load_canaries(monitor)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """The path is part of the message."""
    monitor = Monitor(monitor="any", canaries={"path": "gone.jsonl"}, directory=tmp_path)
    with pytest.raises(ConfigError, match=r"gone\.jsonl"):
        load_canaries(monitor)


def test_every_night_judges_them_anew_and_a_night_run_again_does_not(tmp_path: Path) -> None:
    """Past the cache, but kept for the night: a run that is repeated, or died, pays once (P3)."""
    with FakeOpenAI() as judge:
        space = prepared(tmp_path, judge)
        calls = []
        for back in (1, 1, 0):
            before = judge.state.calls
            run(space, back)
            calls.append(judge.state.calls - before)
        asked = [json.dumps(request["messages"]) for request in judge.state.requests]
    assert calls[1] == 0
    assert sum("Payday is the 15th." in text and "Never." not in text for text in asked) >= 2
    assert calls[2] >= 2 * 3  # two frozen answers, at least three calls each, although all was asked before


def test_nobody_else_sees_them(tmp_path: Path) -> None:
    """They are in no mean, verdict, expectation, drill-down or count of cases; their cost is in the run's."""
    with FakeOpenAI() as judge:
        space = prepared(tmp_path, judge)
        eval_run_id = run(space)
        with_calls = judge.state.calls
    with Store.open(space.settings.store_url) as store:
        cases, scores = store.cases(eval_run_id), store.scores(eval_run_id)
        stored = store.run(eval_run_id)
    frozen = {case.case_id for case in cases if case.source == "canary"}
    summary, graded = summarise(space.monitor, space.settings, eval_run_id)
    assert len(frozen) == 2
    assert {score.metric for score in scores if score.case_id in frozen} == {
        score.metric for score in scores if score.judge is not None
    }
    assert not frozen & {case.case.case_id for case in graded}
    assert {verdict.source for verdict in summary.verdicts} == {"production", "golden"}
    assert {expectation.source for expectation in summary.expectations} <= {"production", "golden", None}
    assert max(verdict.n_total for verdict in summary.verdicts) <= len(cases) - 2
    assert stored is not None
    assert stored.counts["planned"] == len(cases) - 2
    assert stored.counts["canaries"] == 2
    assert summary.usage.calls <= with_calls
    assert sum(score.usage.calls for score in scores if score.case_id in frozen) > 0


def test_the_offline_judge_needs_none(tmp_path: Path) -> None:
    """It cannot move without its identity changing."""
    space = make_workspace(tmp_path, changes={"canaries": {"enabled": True}})
    eval_run_id = run(space)
    with Store.open(space.settings.store_url) as store:
        assert not [case for case in store.cases(eval_run_id) if case.source == "canary"]
