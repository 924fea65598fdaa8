"""Prices and budgets: what judging cost, what it may cost, what is left out when it is used up."""

import asyncio
import math
from collections import Counter
from pathlib import Path

import pytest
from fake_openai import FakeOpenAI
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from workspace import NIGHT, Workspace, make_workspace

from rag_checks.costs import costs, total
from rag_checks.errors import JudgeError
from rag_checks.evaluation import in_order
from rag_checks.judge.spending import Spending
from rag_checks.monitor import Budget, Monitor, Price
from rag_checks.pipeline import use_cases as pipeline
from rag_checks.records import Case, EvalItem, JudgeIdentity, Language, Score, ScoreStatus, Usage
from rag_checks.store import Store

RUN_ID = f"toy-nightly-{NIGHT}"
PRICES = {"judge-1": {"prompt": 2.0, "completion": 10.0, "currency": "CNY"}}


def prepared(folder: Path, judge: FakeOpenAI, **changes: object) -> Workspace:
    """A workspace whose judge is the fake endpoint."""
    config = {"kind": "openai", "model": "judge-1", "base_url": judge.url, "max_tokens": 64}
    return make_workspace(folder, changes={"judge": config, "targets": [], "prices": PRICES, **changes})


def grade(space: Workspace) -> tuple[list[Case], list[Score], str | None]:
    """Run the night; its cases, scores and problem."""
    result = pipeline.run_night(space.monitor, space.settings, NIGHT, wanted_alert="no", with_report=False)
    with Store.open(space.settings.store_url) as store:
        return store.cases(RUN_ID), store.scores(RUN_ID), result.run.problem


def spent(judge: FakeOpenAI) -> tuple[int, int, float]:
    """Calls, tokens and money as the endpoint counts them."""
    prompt, completion = judge.state.prompt_tokens, judge.state.calls * 10  # what it says of each reply
    return judge.state.calls, prompt + completion, (prompt * 2 + completion * 10) / 1e6


@pytest.mark.parametrize(
    ("budget", "place"), [({"calls": 30}, 0), ({"tokens": 12000}, 1), ({"money": 0.027}, 2)]
)
def test_a_budget_is_never_exceeded_and_what_is_left_out_is_told(
    tmp_path: Path, budget: dict[str, float], place: int
) -> None:
    """The endpoint never counts more than the limit; every score has a status; golden items came first."""
    with FakeOpenAI() as judge:
        cases, scores, problem = grade(prepared(tmp_path, judge, budget=budget))
        [limit] = budget.values()
        assert 0.5 * limit < spent(judge)[place] <= limit
    status = {case.case_id: {s.status for s in scores if s.case_id == case.case_id} for case in cases}
    over = [case for case in cases if ScoreStatus.OVER_BUDGET in status[case.case_id]]
    assert {case.source for case in over} == {"production"}
    assert all(s.value is None for s in scores if s.status is ScoreStatus.OVER_BUDGET)
    assert not [s for s in scores if s.status is ScoreStatus.JUDGE_ERROR]
    assert problem is not None
    assert "预算已用完" in problem
    assert f"共 {len(cases)} 个案例，线上 {len(over)} 个未能完整评判" in problem


@pytest.mark.parametrize(
    ("language", "share", "told"),
    [("en", 1.0, "the run's budget"), ("en", 0.5, "shard's part"), ("zh", 0.5, "本分片")],
)
def test_a_shard_does_not_call_its_part_the_run_s_budget(language: Language, share: float, told: str) -> None:
    """Whoever reads of 15 of 15 calls must know that the run may spend 30."""
    spending = Spending(Budget(calls=2), None, before=Usage(calls=2), share=share, language=language)

    async def spend() -> None:
        async with spending.hold(10, 10, Usage):
            pass

    with pytest.raises(JudgeError, match=told):
        asyncio.run(spend())


def test_a_night_over_budget_run_again_spends_nothing_and_with_more_it_is_completed(tmp_path: Path) -> None:
    """What was spent counts for the night, not for the attempt."""
    with FakeOpenAI() as judge:
        space = prepared(tmp_path, judge, budget={"calls": 30})
        grade(space)
        before = spent(judge)[0]
        _, scores, _ = grade(space)
        assert spent(judge)[0] <= 30
        assert any(score.status is ScoreStatus.OVER_BUDGET for score in scores)
        text = space.monitor_file.read_text(encoding="utf-8").replace("calls: 30", "calls: 3000")
        space.monitor_file.write_text(text, encoding="utf-8")
        _, scores, problem = grade(space)
        assert before < spent(judge)[0]
    assert problem is None
    assert not [score for score in scores if score.status is ScoreStatus.OVER_BUDGET]


def test_a_run_says_what_it_cost_by_metric(tmp_path: Path) -> None:
    """The sum over metrics is what the endpoint counted, at the file's prices."""
    with FakeOpenAI() as judge:
        space = prepared(tmp_path, judge)
        grade(space)
        summary, _ = pipeline.summarise(space.monitor, space.settings, RUN_ID, with_trends=False)
        probes = len(judge.state.probes)
        calls, _, money = spent(judge)
    assert sum(cost.usage.calls for cost in summary.costs) == calls - probes
    amount = math.fsum(cost.amount or 0 for cost in summary.costs)
    assert amount == pytest.approx(money, rel=0.02)  # the probe is no metric's
    assert total(summary.costs) == f"{amount:.4g} CNY"


def score(model: str, *, returned: str | None = None) -> Score:
    """A paid score."""
    judge = JudgeIdentity(kind="openai", requested_model=model, returned_model=returned, prompt_hash="p")
    usage = Usage(calls=1, prompt_tokens=1_000_000, completion_tokens=100_000)
    return Score(
        eval_run_id="r",
        case_id="c",
        metric="faithfulness",
        metric_version="1",
        value=1.0,
        status=ScoreStatus.OK,
        judge=judge,
        usage=usage,
    )


def test_a_model_without_a_price_is_unknown_and_currencies_are_not_mixed() -> None:
    """Nothing unknown is counted as 0, nothing is converted."""
    prices = {
        "a": Price(prompt=1, completion=2),
        "b": Price(prompt=3, completion=0, currency="CNY"),
        "c-2026": Price(prompt=5, completion=0),
    }
    entries = costs([score("a"), score("b"), score("c", returned="c-2026"), score("d")], prices)
    assert [entry.amount for entry in entries] == [
        pytest.approx(1.2),
        pytest.approx(3),
        pytest.approx(5),
        None,
    ]
    assert total(entries) == "6.2 USD + 3 CNY + unknown (no price for d)"
    assert total([]) is None


def test_a_budget_of_money_needs_the_models_price() -> None:
    """The message says what to add."""
    judge = {"kind": "openai", "model": "m"}
    with pytest.raises(ValidationError, match=r"budget.money needs the price of m; add prices: \{m: …\}"):
        Monitor.model_validate({"monitor": "x", "judge": judge, "budget": {"money": 1}})


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 10_000)), unique=True, max_size=80))
def test_any_beginning_of_the_order_holds_every_stratum_in_proportion(entries: list[tuple[str, int]]) -> None:
    """Within one case of its share, whatever the ids; golden apart; the input's order does not matter."""
    cases = [
        Case(
            case_id=f"production:{stratum}{number}",
            source="production",
            item=EvalItem(item_id=f"{stratum}{number}", user_input="?"),
            language="en",
            stratum=stratum,
        )
        for stratum, number in entries
    ]
    golden = [case.model_copy(update={"source": "golden"}) for case in cases[:3]]
    canaries = [
        case.model_copy(update={"source": "canary", "case_id": f"canary:{case.case_id}"})
        for case in cases[:2]
    ]
    first, ordered = in_order([*cases, *canaries, *golden])
    assert (first, ordered) == in_order([*golden, *canaries, *reversed(cases)])
    assert [case.source for case in first] == ["golden"] * len(golden) + ["canary"] * len(canaries)
    assert first[: len(golden)] == sorted(golden, key=lambda case: case.case_id)
    assert len(ordered) == len(cases)
    sizes = Counter(case.stratum for case in cases)
    for cut in range(len(ordered) + 1):
        seen = Counter(case.stratum for case in ordered[:cut])
        assert all(abs(seen[name] - cut * sizes[name] / len(cases)) <= 1.5 for name in sizes)
