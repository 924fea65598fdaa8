"""One night with rubrics, points, citations and prompts of the team's own, at a loopback judge."""

import json
import re
from pathlib import Path

from fake_openai import FakeOpenAI, data_of, rubric_of
from workspace import FACTS, NIGHT, make_workspace

from rag_checks.judge.prompts import prompts_of
from rag_checks.pipeline.run import run_night
from rag_checks.records import ScoreStatus
from rag_checks.store import Store

OWN = """\
name: names_source
version: 1
title: {zh: 说明出处}
stage: generation
needs: [response]
question: {zh: 回答是否说明出处}
scale: yes_no
"""
PROMPT = Path(prompts_of.__code__.co_filename).parent / "zh" / "grade_rubric.yaml"


def test_a_night_is_graded_by_rubrics(tmp_path, monkeypatch):
    """Each case once by each rubric, points by intent; shown in the report; a second run pays nothing."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-1")
    with FakeOpenAI() as fake:
        space = make_workspace(
            tmp_path,
            changes={
                "judge": {"kind": "openai", "model": "judge-1", "base_url": fake.url, "prompts": "words"},
                "rubrics": ["own/*.yaml"],
                "metrics": ["names_source", "emotional_soothing", "citation_correctness"],
                "metric_options": {
                    "emotional_soothing": {"points": [{"point": "15天", "intents": ["leave", "expenses"]}]}
                },
                "targets": [{"metric": "emotional_soothing", "minimum": 0.5, "minimum_n": 1}],
            },
        )
        answers = FACTS | {"年假有几天": ("年假有15天。[1]请先登录[2]。", "年假有15天。", "leave")}
        (tmp_path / "answers.json").write_text(json.dumps(answers, ensure_ascii=False), encoding="utf-8")
        (tmp_path / "own").mkdir()
        (tmp_path / "own" / "source.yaml").write_text(OWN, encoding="utf-8")
        (tmp_path / "words" / "zh").mkdir(parents=True)
        words = PROMPT.read_text(encoding="utf-8").replace("你要按照", "请按照")
        (tmp_path / "words" / "zh" / "grade_rubric.yaml").write_text(words, encoding="utf-8")
        result = run_night(space.monitor, space.settings, NIGHT)
        sent = list(fake.state.requests)
        run_night(space.monitor, space.settings, NIGHT)
        assert len(fake.state.requests) == len(sent)
    with Store.open(space.settings.store_url) as store:
        graded = store.graded(result.run.eval_run_id)
    scores = {(one.case.case_id, score.metric): score for one in graded for score in one.scores}
    assert {score.status for score in scores.values()} <= {ScoreStatus.OK, ScoreStatus.NOT_APPLICABLE}
    assert scores["golden:g0", "names_source"].value == 1
    leave, other = scores["golden:g2", "emotional_soothing"], scores["golden:g0", "emotional_soothing"]
    assert [row["met"] for row in leave.evidence["points"]] == [True]
    assert "points" not in other.evidence
    assert scores["golden:g2", "citation_correctness"].value == 0.5
    assert scores["golden:g0", "citation_correctness"].status is ScoreStatus.NOT_APPLICABLE
    assert leave.judge.prompt_hash == prompts_of(str(tmp_path / "words")).hash != prompts_of(None).hash
    assert re.fullmatch(r"1-[0-9a-f]{8}\+[0-9a-f]{8}", leave.metric_version)
    asked = [body for body in sent if rubric_of(body) and data_of(body)["question"] == "年假有几天"]
    assert {rubric_of(body)["question"] for body in asked} >= {"回答是否说明出处"}
    assert all(body["messages"][0]["content"].startswith("请按照") for body in asked)
    page = result.report.html.read_text(encoding="utf-8")
    for shown in ("情绪安抚度", "说明出处", "评为“1”", "要求的要点", "没有检索到这一段落"):
        assert shown in page
