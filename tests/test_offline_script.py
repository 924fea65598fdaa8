"""`make judge-agreement`: the script grades labelled sets with any judge and prints what it found."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fake_openai import FakeOpenAI
from offline_fixtures import HashJudge

from rag_checks.errors import JudgeError
from rag_checks.judge.agreement import agreement
from rag_checks.judge.labelled import judged, measure, pooled, read_rows

ROOT = Path(__file__).parent.parent
ENVIRON = {**os.environ, "PYTHONPATH": str(ROOT)}
ROWS = [
    {"question": "年假有几天？", "reference": "年假有5天。", "answer": "5天", "label": "good"},
    {"question": "年假有几天？", "reference": "年假有5天。", "answer": "年假有7天。", "label": "bad"},
    {"question": "Who pays the return?", "gold": "the seller/seller", "answer": "The seller.", "label": True},
    {"question": "Who pays the return?", "gold": "the seller", "answer": "The buyer pays.", "label": False},
]


@pytest.fixture
def labelled_file(tmp_path):
    """A small labelled set in both languages."""
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), "utf-8")
    return path


def run(*arguments, **environ):
    """The script in a process of its own."""
    command = [sys.executable, ROOT / "scripts" / "judge_agreement.py", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=ROOT, env=ENVIRON | environ
    )


def test_the_script_prints_judge_and_plain_methods_by_length_and_language(labelled_file):
    """One table with accuracy, kappa and AUC of the judge beside string matching, and what others reached."""
    done = run(f"mine={labelled_file}")
    assert done.returncode == 0, done.stderr
    for words in ("mine", "gold string", "token recall", "language en", "language zh", "up to 6 tokens"):
        assert words in done.stdout
    assert "GPT-4 0.70" in done.stdout


def test_a_set_that_cannot_be_read_is_one_clear_message(tmp_path):
    """No traceback: the file and what to give."""
    done = run(f"mine={tmp_path / 'none.jsonl'}")
    assert done.returncode == 2
    assert "none.jsonl: no such file" in done.stderr
    assert "Traceback" not in done.stderr


class Failing(HashJudge):
    """Fails every comparison of claims for one answer."""

    async def ask(self, request):
        """As the other judge, but for the buyer."""
        if "buyer" in request.inputs.get("answer", ""):
            raise JudgeError("no", kind="format")
        return await super().ask(request)


def test_judgements_that_failed_are_counted_and_never_zero(labelled_file):
    """Any judge can be measured; a row it could not judge is missing, not a score (P1)."""
    rows = read_rows(labelled_file)
    scores = asyncio.run(judged(Failing(), rows, concurrency=4))
    assert scores["judge"][3] is None
    assert None not in scores["judge"][:3]
    found = agreement(zip(scores["judge"], [row["label"] for row in rows], strict=True))
    assert (found.n, found.n_missing) == (3, 1)
    lines = {(line["slice"], line["method"]): line for line in measure("mine", rows, scores)}
    assert lines["all", "judge"]["n_missing"] == 1
    assert lines["all", "token recall"]["n"] == 4


def test_sets_are_pooled_without_counting_an_answer_twice(labelled_file):
    """A row that stands in two sets counts once."""
    rows = read_rows(labelled_file)
    together, scores = pooled([(rows, {"judge": [1.0, 0.0, 1.0, 0.0]}), (rows[:2], {"judge": [0.5, 0.5]})])
    assert len(together) == len(scores["judge"]) == 4
    assert scores["judge"] == [1.0, 0.0, 1.0, 0.0]


def test_a_model_is_measured_once_and_paid_once(labelled_file, tmp_path):
    """A model at OPENAI_BASE_URL is graded through the same script; a second run asks nothing."""
    with FakeOpenAI() as endpoint:
        environ = {
            "OPENAI_BASE_URL": endpoint.url,
            "OPENAI_API_KEY": "test",
            "RAG_CHECKS_HOME": str(tmp_path),
        }
        first = run("--judge", "some-model", f"mine={labelled_file}", **environ)
        assert first.returncode == 0, first.stderr
        assert "some-model" in first.stdout
        paid = endpoint.state.calls
        assert paid > 0
        second = run("--judge", "some-model", f"mine={labelled_file}", **environ)
        assert second.stdout == first.stdout
        assert endpoint.state.calls == paid
