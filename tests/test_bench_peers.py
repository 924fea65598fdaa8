"""The bench against the peers: its endpoint, its faults, its arithmetic, and what it shows of RAG Checks."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parent.parent / "bench"
sys.path[:0] = [str(BENCH), str(BENCH / "peers")]

from faults import KINDS, REPLY, Faults, spoilt  # noqa: E402 - the path comes first
from figures import Cost, Harm, Tool  # noqa: E402 - the path comes first
from items import items  # noqa: E402 - the path comes first
from schema_walk import PASSAGES, schema_of, walk  # noqa: E402 - the path comes first

METRICS = ("answer_correctness", "answer_relevancy", "faithfulness", "context_precision", "context_recall")


@pytest.fixture(scope="module")
def passes() -> dict[str, dict]:
    """RAG Checks' driver on forty items: a first night, a later one, the same again, and one with faults."""
    wanted = [
        {"name": "first", "store": "nights"},
        {"name": "later", "store": "nights", "night": 1},
        {"name": "unchanged", "store": "nights", "night": 1},
        {"name": "faults isolated", "fault_rate": 0.1},
    ]
    command = [sys.executable, str(BENCH / "peers" / "fake_judge.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
            job = {"url": url, "items": 40, "latency": 0.0, "concurrency": 16, "passes": wanted}
            driver = [sys.executable, str(BENCH / "peers" / "drive_ours.py"), json.dumps(job)]
            done = subprocess.run(driver, capture_output=True, text=True, check=False, timeout=60)
        finally:
            server.terminate()
    assert done.returncode == 0, done.stderr
    return {one["name"]: one for one in json.loads(done.stdout)["passes"]}


def test_five_metrics_cost_four_calls_then_three_then_none(passes) -> None:
    """The reference's claims are kept for good, and what did not change is not asked again."""
    calls = {name: one["server"]["calls"] for name, one in passes.items()}
    assert calls["first"] == {"probe": 1, "chat": 160}
    assert calls["later"] == {"probe": 1, "chat": 120}
    assert calls["unchanged"] == {}
    assert passes["first"]["server"]["prompt_tokens"] / 40 <= 5000


def test_faults_of_every_kind_lose_no_run_and_change_no_score(passes) -> None:
    """A tenth of the calls fails in every way: scores are as without faults, or missing and told (P1)."""
    hurt = Harm.of(Tool("ours", list(passes.values()), 40))
    assert sum(passes["faults isolated"]["server"]["faults"].values()) >= 10
    assert hurt.lost_run is None
    assert hurt.total == 200
    assert hurt.changed == 0
    statuses = passes["faults isolated"]["statuses"]
    assert sum(statuses.values()) == hurt.total
    assert hurt.missing == hurt.total - statuses["ok"]
    assert set(statuses) <= {"ok", "judge_error", "not_applicable"}
    assert hurt.missing < 30


def test_harm_tells_missing_scores_from_changed_ones() -> None:
    """One score lost, one changed, and the mean that moved most is named."""
    clean = {name: [0.5, 0.5] for name in METRICS}
    faulty = clean | {"faithfulness": [None, 0.5], "context_precision": [0.5, 9.5]}
    tool = Tool(
        "a peer",
        [
            {"name": "first", "scores": clean},
            {"name": "faults as shipped", "scores": None, "raised": "ValidationError: x"},
            {"name": "faults isolated", "scores": faulty, "raised": None},
        ],
        2,
    )
    assert Harm.of(tool) == Harm("ValidationError: x", 1, 10, 1, 4.5, "context_precision")


def test_cost_is_the_median_over_repeats() -> None:
    """One slow repeat is in the spread, not in the figure."""
    server = {
        "calls": {"chat": 40, "embeddings": 10, "probe": 1},
        "prompt_tokens": 500,
        "most_in_flight": 7,
        "mean_in_flight": 3.4,
        "repeated_prompts": 2,
    }
    runs = [
        {"cpu_s": cpu, "wall_s": wall, "load": 1.0, "server": server}
        for cpu, wall in ((1, 2), (9, 8), (2, 3))
    ]
    cost = Cost.of(runs, 10, 5, 0.2)
    assert (cost.chat, cost.embeddings, cost.tokens) == (4, 1, 50)
    assert (cost.cpu_ms, cost.cpu_spread) == (40, (20, 180))
    assert (cost.wall, cost.walls, cost.ideal) == (3, [2, 3, 8], 2)


def test_faults_hit_the_same_prompts_in_any_order_and_the_kinds_take_turns() -> None:
    """A run can be repeated, another try has its own luck, and forty faults are two of each kind."""
    prompts = [f"prompt {number}" for number in range(400)]
    one, other = Faults(0.1), Faults(0.1)
    hit = {prompt for prompt in prompts if one.draw(prompt)}
    assert hit == {prompt for prompt in reversed(prompts) if other.draw(prompt)}
    assert set(one.drawn) == set(KINDS)
    assert max(one.drawn.values()) - min(one.drawn.values()) <= 1
    assert hit - {prompt for prompt in prompts if one.draw(prompt)}
    assert Faults(0).draw("prompt 1") is None


@pytest.mark.parametrize("kind", [kind for kind in REPLY if kind not in {"null", "refusal"}])
def test_every_fault_of_a_reply_changes_its_text(kind) -> None:
    """A fault that does nothing would flatter everyone."""
    output = {"claims": ["It opens."], "verdicts": [{"id": 1, "verdict": "yes", "score": 3, "ok": True}]}
    assert spoilt(output, kind) != spoilt(output, None)


def test_peers_get_replies_of_the_shape_they_ask_for() -> None:
    """A schema sent beside the prompt, one printed in it, and one shown as an example."""
    schema = {"type": "object", "properties": {"verdicts": {"type": "array", "items": {"$ref": "#/$defs/V"}}}}
    schema["$defs"] = {"V": {"type": "object", "properties": {"verdict": {"enum": ["yes", "no"]}}}}
    sent = {"response_format": {"type": "json_schema", "json_schema": {"schema": schema}}}
    prompt = "Given the input and retrieval context"
    verdicts = walk(schema_of(sent, prompt), prompt)["verdicts"]
    assert len(verdicts) == PASSAGES
    assert all(one["verdict"] in {"yes", "no"} for one in verdicts)
    assert schema_of({}, f"Reply like {json.dumps(schema)} now") == schema
    shown = walk(schema_of({}, 'Example: {"score": 7, "reason": "so"}'), prompt)
    assert 0 <= shown["score"] <= 10
    assert isinstance(shown["reason"], str)


def test_items_are_the_same_every_time_and_a_later_night_has_new_answers() -> None:
    """Half Chinese, five passages, only the answer moves on."""
    first, later = items(10), items(10, night=1)
    assert first == items(10)
    assert [one["language"] for one in first[:2]] == ["en", "zh"]
    assert {len(one["contexts"]) for one in first} == {PASSAGES}
    for one, other in zip(first, later, strict=True):
        assert one["answer"] != other["answer"]
        assert one | {"answer": ""} == other | {"answer": ""}
