"""`--dry-run`: what grading would cost, close to what it does cost, and nothing is asked or stored."""

import json
from pathlib import Path

import pytest
from fake_openai import FakeOpenAI
from typer.testing import CliRunner
from workspace import NIGHT, Workspace, make_workspace, write_jsonl

from rag_checks.cli import app
from rag_checks.judge.splitting import estimate_tokens
from rag_checks.pipeline import use_cases as pipeline
from rag_checks.pipeline.rehearse import Estimate, estimate_night
from rag_checks.store.schema import VERSION_TABLE

PRICES = {"judge-1": {"prompt": 2.0, "completion": 10.0, "currency": "CNY"}}


def prepared(folder: Path, judge: FakeOpenAI, **changes: object) -> Workspace:
    """A workspace whose judge is the fake endpoint, with two canaries."""
    config = {"kind": "openai", "model": "judge-1", "base_url": judge.url}
    return make_workspace(folder, changes={"judge": config, "targets": [], "prices": PRICES, **changes})


def estimated(space: Workspace) -> Estimate:
    """The estimate of the night."""
    return estimate_night(space.monitor, space.settings, NIGHT, ask_bot=True)


def really(judge: FakeOpenAI) -> tuple[int, int]:
    """Calls that were judgements, and the tokens of their prompts as we count them."""
    asked = [one["messages"] for one in judge.state.requests if "<data>" in json.dumps(one["messages"])]
    return len(asked), sum(estimate_tokens(part["content"]) for one in asked for part in one)


def test_it_is_close_to_what_the_night_takes_and_asks_nobody(tmp_path: Path) -> None:
    """Calls within a tenth, prompt tokens within a quarter, of the same night graded for real afterwards."""
    with FakeOpenAI() as judge:
        space = prepared(tmp_path, judge)
        before = estimated(space)
        assert judge.state.calls == 0
        assert not Path(space.folder / "home" / "reports").exists()
        pipeline.run_night(space.monitor, space.settings, NIGHT, wanted_alert="no", with_report=False)
        calls, tokens = really(judge)
    assert before.cases == {"golden": 7, "production": 12}
    assert before.usage.calls == pytest.approx(calls, rel=0.1)
    assert before.usage.prompt_tokens == pytest.approx(tokens, rel=0.25)


def test_what_was_paid_for_is_not_counted_again(tmp_path: Path) -> None:
    """After a night of logged turns the same night costs nothing more."""
    with FakeOpenAI() as judge:
        space = prepared(tmp_path, judge, golden={})
        first = estimated(space)
        pipeline.run_night(space.monitor, space.settings, NIGHT, wanted_alert="no", with_report=False)
        again = estimated(space)
    assert first.usage.calls > 0
    assert again.usage.calls == 0
    assert again.usage.cached > 0


def test_money_is_told_and_an_unknown_price_is_unknown(tmp_path: Path) -> None:
    """A model without a price costs an unknown sum, never 0."""
    with FakeOpenAI() as judge:
        told = "\n".join(estimated(prepared(tmp_path / "a", judge)).as_lines())
        unknown = "\n".join(estimated(prepared(tmp_path / "b", judge, prices={})).as_lines())
    assert "CNY" in told
    assert "unknown (no price for judge-1)" in unknown


def test_a_budget_that_is_too_small_says_what_it_leaves_out(tmp_path: Path) -> None:
    """Golden items first, so the sample is what is cut."""
    with FakeOpenAI() as judge:
        whole = estimated(prepared(tmp_path / "a", judge)).usage.calls
        cut = estimated(prepared(tmp_path / "b", judge, budget={"calls": whole - 5}))
        fits = estimated(prepared(tmp_path / "c", judge, budget={"calls": whole}))
    assert cut.left_out is not None
    assert set(cut.left_out) == {"production"}
    assert fits.left_out == {}
    assert "fits the budget" in fits.as_lines()


def test_the_command_shows_it_and_stores_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`run --dry-run`, for people and for programs; no key is needed to estimate."""
    with FakeOpenAI() as judge:
        space = prepared(tmp_path, judge)
        for name, value in space.settings.environ.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        arguments = ["run", str(space.monitor_file), "--night", str(NIGHT), "--ask-bot", "--dry-run"]
        people = CliRunner().invoke(app, arguments)
        programs = CliRunner().invoke(app, [*arguments, "--json"])
        assert judge.state.calls == 0
    assert people.exit_code == 0
    assert "judge calls" in people.output
    assert json.loads(programs.output)["usage"]["calls"] > 0
    stored = {table: rows for table, rows in space.rows().items() if table != VERSION_TABLE}
    assert not any(stored.values())


def test_a_file_is_estimated_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`evaluate --dry-run` with a model; the offline judge costs nothing."""
    rows = [{"question": f"q{n}?", "answer": "It is 5.", "ground_truth": "It is 5."} for n in range(3)]
    write_jsonl(tmp_path / "rows.jsonl", rows)
    monkeypatch.setenv("RAG_CHECKS_HOME", str(tmp_path / "home"))
    file = str(tmp_path / "rows.jsonl")
    found = CliRunner().invoke(app, ["evaluate", file, "--judge", "judge-1", "--dry-run", "--json"])
    assert json.loads(found.output)["usage"]["calls"] == 3 * 3
    rubric = ["evaluate", file, "--judge", "judge-1", "--metrics", "correctness", "--dry-run", "--json"]
    assert json.loads(CliRunner().invoke(app, rubric).output)["usage"]["calls"] == 3
    free = CliRunner().invoke(app, ["evaluate", file, "--dry-run"])
    assert "nothing to pay for" in free.output
