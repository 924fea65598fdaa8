"""Rubrics: what is shipped, what a file may say, how it is graded, from the file to a loopback judge."""

import asyncio
import json
import os
import re
from pathlib import Path

import pytest
import yaml
from fake_openai import FakeOpenAI, rubric_of, script
from judge_client_fixtures import open_fake_judge
from metrics_fixtures import ScriptedJudge, make_case
from workspace import write_jsonl

from rag_checks import metrics
from rag_checks.errors import ConfigError, JudgeError
from rag_checks.judge.offline import OfflineJudge
from rag_checks.judge.schemas import reply_schema
from rag_checks.judge.validate import read_output
from rag_checks.metrics.catalogue import catalogue, known_metrics, wanted
from rag_checks.metrics.rubrics import Rubric, as_metric, read_rubric, shipped_rubrics
from rag_checks.monitor import Monitor
from rag_checks.monitor_files import load_monitor
from rag_checks.pipeline.files import evaluate_file
from rag_checks.protocols import JudgeRequest, PointVerdict, RubricGrade, Task
from rag_checks.records import Message, Score, ScoreStatus, ToolCall

SHIPPED = {rubric.name: rubric for rubric in shipped_rubrics()}
FOLDER = Path(metrics.__file__).parent / "rubrics" / "shipped"
VERSIONS = Path(__file__).parent / "snapshots" / "rubric_versions.json"
DOCS = Path(__file__).parent.parent / "docs" / "rubrics.md"
ASKED = {
    *("correctness", "relevance", "groundedness", "retrieval_relevance", "answers_the_question"),
    *("references_useful", "context_relevance", "rewrite_quality", "user_sentiment", "fairness_bias"),
    *("process_actionability", "policy_compliance", "emotional_soothing", "resolution_completeness"),
}
OK, NOT_APPLICABLE = ScoreStatus.OK, ScoreStatus.NOT_APPLICABLE

TONE = """\
name: tone
version: 2
title: {en: Tone, zh: 语气}
stage: generation
needs: [response]
question: {en: "Is it polite?", zh: 是否礼貌？}
scale: labels
labels:
  - {score: 1, label: {en: polite, zh: 礼貌}}
  - {score: 0.4, label: {en: cold, zh: 冷淡}, meaning: {en: "no greeting", zh: 没有问候}}
  - {score: 0, label: {en: rude, zh: 无礼}}
"""


def graded(rubric: Rubric, case=None, judge=None, **options) -> Score:
    """The score of one rubric."""
    metric = as_metric(rubric).configured(options)
    case = case or make_case(reference="R.", history=(Message(role="user", content="Hi"),))
    [score] = asyncio.run(metrics.grade_case("run", case, [metric], judge or says("yes")))
    return score


def says(label: str, *met: bool, reason: str = "because") -> ScriptedJudge:
    """A judge that gives this label and these verdicts on points."""
    points = [PointVerdict(id=at, reason=f"r{at}", met=one) for at, one in enumerate(met, start=1)]
    return ScriptedJudge(script={Task.GRADE_RUBRIC: RubricGrade(points=points, reason=reason, label=label)})


def tone(tmp_path: Path, text: str = TONE) -> Path:
    """A rubric file."""
    path = tmp_path / "tone.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_rubrics_that_were_asked_for_are_shipped():
    """Fourteen, none with the name of a metric of the registry."""
    assert set(SHIPPED) == ASKED
    assert not ASKED & set(metrics.names())
    assert {metrics.get(name).name for name in ASKED} == ASKED


@pytest.fixture(scope="module")
def server():
    """One endpoint for the tests of faults."""
    with FakeOpenAI() as running:
        yield running


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_shipped_rubric_is_whole_in_both_languages(path):
    """Read as strictly as any; English and Chinese; the scale runs from 0 to 1; named as its file."""
    rubric = read_rubric(path)
    assert rubric == SHIPPED[rubric.name]
    assert rubric.name == path.stem
    assert rubric.languages == ("en", "zh")
    assert re.search("[一-鿿]", rubric.question.zh or "")
    assert not re.search("[一-鿿]", rubric.question.en or "")
    for language in rubric.languages:
        labels = rubric.labels_in(language)
        assert {0.0, 1.0} <= {score for score, _ in labels.values()}
        if rubric.scale == "one_to_five":
            assert [score for score, _ in labels.values()] == [0, 0.25, 0.5, 0.75, 1]
            assert len({meaning for _, meaning in labels.values()} - {""}) == 5
    assert [s for s, _ in rubric.labels_in("en").values()] == [s for s, _ in rubric.labels_in("zh").values()]


def test_the_words_of_the_service_and_the_binary_graders_are_those_people_use():
    """Titles and labels in Chinese as teams say them."""
    titles = {name: SHIPPED[name].title.zh for name in SHIPPED}
    assert titles["process_actionability"] == "流程可操作性"
    assert titles["policy_compliance"] == "政策合规性"
    assert titles["emotional_soothing"] == "情绪安抚度"
    assert titles["resolution_completeness"] == "问题解决完备性"
    assert list(SHIPPED["answers_the_question"].labels_in("zh")) == ["有效回答", "无效回答"]
    assert list(SHIPPED["references_useful"].labels_in("zh")) == ["参考信息有用", "参考信息无用"]
    assert [one for one, _ in SHIPPED["context_relevance"].labels_in("en").values()] == [0, 0.5, 1]


def test_the_version_holds_a_hash_that_only_content_moves(tmp_path):
    """Comments, order and title change nothing; a word of the question does, in every process alike."""
    rubric = read_rubric(tone(tmp_path))
    version = as_metric(rubric).version
    assert version == f"2-{rubric.content_hash}" == "2-ec157eca"
    lines = TONE.splitlines(keepends=True)
    same = "# new\n" + "".join(reversed(lines[:7])) + "".join(lines[7:])
    assert as_metric(read_rubric(tone(tmp_path, same.replace("en: Tone", "en: Manners")))).version == version
    other = as_metric(read_rubric(tone(tmp_path, TONE.replace("polite?", "friendly?"))))
    assert other.version != version


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("title:", "titel:"), "tone.yaml:3: titel: unknown key; did you mean 'title'?"),
        (("version: 2", "version: two"), "tone.yaml:2: version: "),
        (("needs: [response]", "needs: [reponse]"), "tone.yaml:5: needs.0: "),
        (("name: tone", "name: Tone!"), "tone.yaml:1: name: "),
        (("scale: labels", "scale: label"), "tone.yaml:7: scale: "),
        (
            ("scale: labels", "scale: yes_no"),
            "tone.yaml:8: labels: scale labels needs labels, other scales none",
        ),
        (
            ("scale: labels", "scale: one_to_five"),
            "anchors: scale one_to_five needs anchors 1, 2, 3, 4 and 5",
        ),
        (("score: 1,", "score: 10,"), "tone.yaml:9: labels.0.score: "),
        (("zh: 无礼", "zh: 礼貌"), "tone.yaml:8: labels: two labels are the same in zh"),
        ((", zh: 语气", ""), "tone.yaml:3: title: must be written in en and zh, as the question is"),
        (("en: polite,", "en: yes,"), "tone.yaml:9: labels.0.label.en: .*quotes"),
        (
            ('question: {en: "Is it polite?", zh: 是否礼貌？}', "question: {}"),
            "question: write it in en, in zh",
        ),
        (
            ("scale: labels\n", "scale: labels\nwhen_empty: {retrieved_contexts: zero}\n"),
            "is not among needs",
        ),
        (("{en: Tone, zh: 语气}", "语气"), "tone.yaml:3: title: expected a mapping with keys of en, zh"),
        (("score: 0.4", "scores: 0.4"), "labels.1.scores: unknown key; did you mean 'score'?"),
        (("stage: generation\n", ""), "tone.yaml:1: stage: required, but missing"),
        (("zh: 无礼}}\n", "zh: 无礼}}\npoints: [{text: x}]\n"), "points.0.text: unknown key"),
        (("score: 0.4", "score: 1"), None),
        (("score: 1", "score: 0"), None),
    ],
)
def test_a_mistake_is_named_with_file_line_and_key(tmp_path, change, said):
    """Each kind of mistake points at its line and says what would be right; what is no mistake is taken."""
    path = tone(tmp_path, TONE.replace(*change))
    if said is None:
        assert read_rubric(path)
        return
    with pytest.raises(ConfigError, match=said):
        read_rubric(path)


def test_one_question_one_label_one_value():
    """The label's value is the score; reason, label and version are kept; only needed fields are shown."""
    judge = says("4", reason="The steps are there.")
    score = graded(SHIPPED["process_actionability"], judge=judge)
    assert (score.value, score.status) == (0.75, OK)
    assert score.reason == "Rated '4': The steps are there."
    assert score.evidence == {"label": "4", "label_score": 0.75, "label_reason": "The steps are there."}
    assert score.usage.calls == 1
    asked = judge.asked(Task.GRADE_RUBRIC)
    assert set(asked) == {"rubric", "question", "history", "answer"}
    assert list(asked["rubric"]["labels"]) == ["1", "2", "3", "4", "5"]


@pytest.mark.parametrize("name", sorted(SHIPPED))
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_shipped_rubric_grades_a_full_case(name, language):
    """Best and worst label of each, in each language, with the fields it needs and no others."""
    rubric = SHIPPED[name]
    case = make_case(reference="R.", language=language, history=(Message(role="user", content="Hi"),))
    response = case.response.model_copy(update={"rewritten_query": "leave length", "tool_calls": ()})
    case = case.model_copy(update={"response": response})
    for label, (value, _) in rubric.labels_in(language).items():
        judge = says(label)
        assert graded(rubric, case, judge).value == value
        assert {request.language for request in judge.requests} == {language}
    names = {"response": "answer", "retrieved_contexts": "contexts"}
    assert set(judge.asked(Task.GRADE_RUBRIC)) == {
        *("rubric", "question", "history"),
        *(names.get(need, need) for need in rubric.needs),
    }


def test_fields_that_are_not_recorded_make_it_not_applicable():
    """No reference, no grade of correctness; an unanswerable item has no answer to be effective; no call."""
    judge = says("yes")
    assert graded(SHIPPED["correctness"], make_case(), judge).status is NOT_APPLICABLE
    assert graded(SHIPPED["rewrite_quality"], make_case(), judge).status is NOT_APPLICABLE
    unanswerable = make_case(answerable=False)
    assert graded(SHIPPED["answers_the_question"], unanswerable, judge).status is NOT_APPLICABLE
    assert graded(SHIPPED["relevance"], make_case(question="谢谢"), judge).status is NOT_APPLICABLE
    assert judge.requests == []


@pytest.mark.parametrize(
    ("name", "case", "value"),
    [
        ("answers_the_question", {"answer": " "}, 0.0),
        ("groundedness", {"answer": " "}, None),
        ("groundedness", {"contexts": ()}, 0.0),
        ("policy_compliance", {"contexts": ("", " ")}, None),
        ("references_useful", {"contexts": ()}, 0.0),
        ("fairness_bias", {"answer": ""}, None),
    ],
)
def test_what_is_empty_is_not_asked_about(name, case, value):
    """The rubric says what an empty answer or retrieval is worth; the judge is not paid for it."""
    judge = says("yes")
    score = graded(SHIPPED[name], make_case(**case), judge)
    assert (score.value, score.status) == (value, OK if value is not None else NOT_APPLICABLE)
    assert judge.requests == []


def test_the_offline_judge_grades_no_rubric():
    """Not applicable with the reason, also where a rule would have decided; asked directly it refuses."""
    for case in (make_case(), make_case(answer="")):
        score = graded(SHIPPED["answers_the_question"], case, OfflineJudge())
        assert score.status is NOT_APPLICABLE
        assert "no model" in score.reason
    request = JudgeRequest(task=Task.GRADE_RUBRIC, language="en", inputs={})
    with pytest.raises(JudgeError) as caught:
        asyncio.run(OfflineJudge().ask(request))
    assert caught.value.kind == "unsupported"


POINTS = ["包含报销单链接", {"point": "说明需要二级主管审批", "intents": ["报销", "Expenses"]}]


@pytest.mark.parametrize(
    ("label", "met", "value"),
    [
        ("5", (True, True), 1.0),
        ("5", (True, False), 0.5),
        ("2", (True, True), 0.25),
        ("5", (False, False), 0.0),
    ],
)
def test_the_value_is_the_weaker_of_label_and_points(label, met, value):
    """Points are checked one by one; the evidence names each with its verdict."""
    case = make_case(language="zh").model_copy(update={"intent": "expenses "})
    judge = says(label, *met)
    score = graded(SHIPPED["process_actionability"], case, judge, points=POINTS)
    assert score.value == value
    assert [row["met"] for row in score.evidence["points"]] == list(met)
    assert score.evidence["points"][0]["point"] == "包含报销单链接"
    assert f"2 条要点中满足 {sum(met)} 条" in score.reason
    assert judge.asked(Task.GRADE_RUBRIC)["points"] == ["包含报销单链接", "说明需要二级主管审批"]


def test_a_point_of_another_intent_is_not_asked_for():
    """An answer about leave need not name the approver of expenses; without any point the label decides."""
    case = make_case(language="zh").model_copy(update={"intent": "请假"})
    judge = says("5", True)
    assert graded(SHIPPED["process_actionability"], case, judge, points=POINTS).value == 1
    assert judge.asked(Task.GRADE_RUBRIC)["points"] == ["包含报销单链接"]
    judge = says("3")
    score = graded(SHIPPED["process_actionability"], case, judge, points=POINTS[1:])
    assert score.value == 0.5
    assert "points" not in judge.asked(Task.GRADE_RUBRIC)


def test_points_are_part_of_the_version():
    """Other points, another series; long ones do not make the version unreadable."""
    plain = as_metric(SHIPPED["process_actionability"])
    first, second = (plain.configured({"points": points}) for points in (POINTS, POINTS[:1]))
    assert len({plain.version, first.version, second.version}) == 3
    assert len(first.version) < 80
    with pytest.raises(ConfigError, match=r"metric_options.process_actionability.points.*intent"):
        plain.configured({"points": [{"point": "x", "intent": ["y"]}]})


def test_a_verdict_too_few_on_points_is_an_error():
    """Nothing is guessed about a point the judge left out, nor about a label that is none."""
    case = make_case()
    rubric = SHIPPED["process_actionability"]
    for judge in (says("5", True), says("excellent", True, True)):
        score = graded(rubric, case, judge, points=["a", "b"])
        assert (score.value, score.status) == (None, ScoreStatus.JUDGE_ERROR)


def test_a_rubric_in_one_language_is_asked_in_it(tmp_path):
    """A Chinese team writes Chinese only: English cases are asked in Chinese, and told of in English."""
    text = re.sub(r"\ben: [^,}]+, ", "", TONE)
    rubric = read_rubric(tone(tmp_path, text))
    judge = says("冷淡")
    score = graded(rubric, make_case(language="en"), judge)
    assert score.value == 0.4
    assert score.reason.startswith("Rated")
    assert [request.language for request in judge.requests] == ["zh"]


def test_tool_calls_can_be_shown():
    """A rubric of an agent sees what was called with which arguments."""
    rubric = SHIPPED["relevance"].model_copy(update={"name": "calls", "needs": ("tool_calls",)})
    case = make_case()
    calls = (ToolCall(name="lookup", arguments={"id": 1}),)
    case = case.model_copy(update={"response": case.response.model_copy(update={"tool_calls": calls})})
    judge = says("yes")
    assert graded(rubric, case, judge).value == 1
    assert judge.asked(Task.GRADE_RUBRIC)["tool_calls"] == [{"name": "lookup", "arguments": {"id": 1}}]


REQUEST = JudgeRequest(
    task=Task.GRADE_RUBRIC,
    language="zh",
    inputs={
        "question": "q",
        "answer": "a",
        "rubric": {"question": "?", "labels": {"是": "", "否": ""}},
        "points": ["p1"],
    },
)
GRADES = REQUEST.model_copy(
    update={"inputs": {"question": "q", "rubric": {"question": "?", "labels": {"1": "", "2": "x"}}}}
)


@pytest.mark.parametrize(
    ("request_", "given", "label"),
    [
        (REQUEST, "是", "是"),
        (REQUEST, " 是 ", "是"),
        (REQUEST, True, "是"),
        (REQUEST, "No", "否"),
        (REQUEST, "是的", None),
        (REQUEST, None, None),
        (REQUEST, "5", None),
        (GRADES, 2, "2"),
        (GRADES, 2.0, "2"),
        (GRADES, "２", "2"),
        (GRADES, 1.5, None),
        (GRADES, 3, None),
        (GRADES, True, None),
        (GRADES, "2/5", None),
        (GRADES, float("nan"), None),
        (GRADES, ["2"], None),
    ],
)
def test_a_label_is_read_and_never_guessed(request_, given, label):
    """Other case or width, a number for its digits and true for yes are the label; all else is an error."""
    reply = json.dumps({"points": [{"id": 1, "reason": "r", "met": True}], "reason": "r", "label": given})
    if label is None:
        with pytest.raises(JudgeError) as caught:
            read_output(request_, reply, truncated=False)
        assert caught.value.kind == "format"
        return
    assert read_output(request_, reply, truncated=False).label == label


def test_the_schema_holds_the_label_to_the_scale_and_the_reason_first():
    """Reason before label, reason before each point's verdict; no list of points where none were given."""
    schema = reply_schema(REQUEST)
    assert list(schema["properties"]) == ["points", "reason", "label"] == schema["required"]
    assert list(schema["properties"]["points"]["items"]["properties"]) == ["id", "reason", "met"]
    assert schema["properties"]["label"] == {"type": "string", "enum": ["是", "否"]}
    assert list(reply_schema(GRADES)["properties"]) == ["reason", "label"]


def test_a_monitor_brings_its_own_rubrics(tmp_path):
    """Named by glob beside the file, graded where named, with points; also as a target."""
    (tmp_path / "rubrics").mkdir()
    tone(tmp_path / "rubrics")
    path = tmp_path / "m.yaml"
    path.write_text(
        "monitor: m\nrubrics: ['rubrics/*.yaml']\nmetrics: [tone, answer_rate]\n"
        "metric_options: {tone: {points: [thanks]}}\ntargets: [{metric: tone, minimum: 0.5}]\n",
        encoding="utf-8",
    )
    monitor = load_monitor(path, {})
    assert [metric.name for metric in wanted(monitor)] == ["tone", "answer_rate"]
    assert "points" in wanted(monitor)[0].version
    assert not {"tone", *ASKED} & {m.name for m in wanted(monitor.model_copy(update={"metrics": []}))}
    moved = monitor.model_copy(update={"rubrics": [str(tmp_path / "rubrics" / "*.yaml")]})
    assert [metric.name for metric in wanted(moved)] == ["tone", "answer_rate"]
    assert moved.config_hash == monitor.config_hash


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rubrics: [nowhere.yaml]\n", "m.yaml:2: rubrics: no file matches 'nowhere.yaml'"),
        ("rubrics: [bad.yaml]\n", "(?s)m.yaml:2: .*bad.yaml:3: titel: unknown key"),
        ("rubrics: [taken.yaml]\n", "m.yaml:2: .*taken.yaml: name: 'hit_rate' is taken"),
        ("rubrics: [again.yaml]\n", "m.yaml:2: .*'relevance' is taken"),
        ("rubrics: [unused.yaml]\n", "m.yaml:2: rubrics: none is graded; name them in metrics: tone"),
        ("metrics: [answers_question]\n", "m.yaml:2: metrics.0: .*did you mean 'answers_the_question'"),
        ("metric_options: {relevance: {point: [x]}}\n", "m.yaml:2: metric_options.relevance.point"),
    ],
)
def test_what_is_wrong_with_a_rubric_is_told_when_the_monitor_is_read(tmp_path, text, said):
    """The line of the monitor, and file, line and key of the rubric."""
    tone(tmp_path, TONE.replace("title:", "titel:")).rename(tmp_path / "bad.yaml")
    tone(tmp_path, TONE.replace("name: tone", "name: hit_rate")).rename(tmp_path / "taken.yaml")
    tone(tmp_path, TONE.replace("name: tone", "name: relevance")).rename(tmp_path / "again.yaml")
    tone(tmp_path).rename(tmp_path / "unused.yaml")
    path = tmp_path / "m.yaml"
    path.write_text(f"monitor: m\n{text}", encoding="utf-8")
    with pytest.raises(ConfigError, match=said):
        load_monitor(path, {})


def test_a_file_is_graded_by_a_rubric_over_the_wire(tmp_path, monkeypatch):
    """From a YAML file to scores: one call a row at a loopback judge, cached the second time."""
    rows = [
        {"question": "怎么报销？", "answer": "在报销单链接提交，经二级主管审批。"},
        {"question": "怎么报销？", "answer": "请联系财务。"},
    ]
    write_jsonl(tmp_path / "answers.jsonl", rows)
    points = "points: [报销单链接, 二级主管]\n"
    with FakeOpenAI() as fake:
        monkeypatch.setenv("OPENAI_BASE_URL", fake.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-1")
        monkeypatch.setenv("RAG_CHECKS_HOME", str(tmp_path / "home"))
        for _ in range(2):
            result = evaluate_file(
                tmp_path / "answers.jsonl",
                rubric_files=[tone(tmp_path, TONE + points)],
                judge_name="judge-1",
                output=tmp_path / "scores.jsonl",
            )
        sent = fake.state.requests
    assert [(row.metric, row.n_ok, row.mean) for row in result.metrics] == [("tone", 2, 0.5)]
    assert len(sent) == 2
    assert rubric_of(sent[0]) == {
        "question": "是否礼貌？",
        "labels": {"礼貌": "", "冷淡": "没有问候", "无礼": ""},
        "points": {"1": "报销单链接", "2": "二级主管"},
    }
    assert sent[0]["response_format"]["json_schema"]["schema"]["properties"]["label"]["enum"][0] == "礼貌"
    scores = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    assert [score["value"] for score in scores] == [1.0, 0.0]
    assert scores[0]["evidence"]["label"] == "礼貌"


def test_a_changed_word_of_a_shipped_rubric_is_seen_in_review():
    """Every version is kept here: another one starts a new series for everybody who grades with it."""
    versions = {name: as_metric(rubric).version for name, rubric in SHIPPED.items()}
    if os.environ.get("UPDATE_SNAPSHOTS") == "1":
        VERSIONS.write_text(json.dumps(versions, indent=1) + "\n", encoding="utf-8")
    assert versions == json.loads(VERSIONS.read_text(encoding="utf-8"))


HARMLESS = ["fenced", "prose", "think", "single_quotes", "trailing_comma", "full_width", "list", "parts"]
HARMLESS += ["string_bools", "zh_bools", "number_bools", "429", "500", "disconnect"]
MENDED = ["malformed", "empty", "missing_verdict", "duplicate_id", "unknown_id", "score_bools", "two_answers"]
MENDED += ["missing_field", "truncated"]
LOST = {
    "refusal": "refusal",
    "refusal_text": "refusal",
    "filter_400": "content_filter",
    "too_long": "context_too_long",
}


@pytest.mark.parametrize("metric", ["emotional_soothing", "citation_correctness"])
@pytest.mark.parametrize("mode", [*HARMLESS, *MENDED, *LOST])
def test_no_fault_of_a_judge_changes_a_value(server, metric, mode):
    """A fault on the first reply: the same value, mended at most once, or an error of its kind."""
    metric = known_metrics()[metric]
    if metric.options:
        metric = metric.configured({"points": ["sorry", "soon"]})
    case = make_case(answer="We are sorry [1]. It comes soon [1].", contexts=("We are sorry. No.",))
    server.reset().faults = script(mode)
    judge = open_fake_judge(server)
    [score] = asyncio.run(metrics.grade_case("run", case, [metric], judge))
    if mode in LOST:
        assert (score.status, score.value) == (ScoreStatus.JUDGE_ERROR, None)
        assert score.evidence["error_kind"] == LOST[mode]
        return
    assert (score.status, score.value) == (OK, {"emotional_soothing": 0.0}.get(metric.name, 0.5))
    assert (score.evidence.get("flags") == ["repaired"]) == (mode in MENDED)


@pytest.mark.parametrize("mode", ["json_schema", "json_object"])
def test_an_endpoint_without_schemas_grades_rubrics_too(mode):
    """Down the ladder the labels are told in the prompt."""
    with FakeOpenAI() as fake:
        fake.state.rejects = ("json_schema",) if mode == "json_object" else ("json_schema", "json_object")
        score = graded(SHIPPED["emotional_soothing"], make_case(), open_fake_judge(fake))
        assert (score.status, score.value) == (OK, 0.0)
        assert '"enum"' in fake.state.requests[0]["messages"][0]["content"]


def test_the_worked_examples_of_the_page_work(tmp_path):
    """The rubric loads, the monitor snippets are valid and name it."""
    blocks = re.findall(r"```yaml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    parts = [yaml.safe_load(block) for block in blocks]
    [rubric] = [block for block in blocks if block.startswith("name:")]
    (tmp_path / "rubrics").mkdir()
    (tmp_path / "rubrics" / "handover.yaml").write_text(rubric, encoding="utf-8")
    for part in (part for part in parts if "name" not in part and "judge" not in part):
        monitor = Monitor(monitor="m", directory=tmp_path, **part)
        assert {metric.name for metric in wanted(monitor)} >= set(part.get("metrics", []))
        assert catalogue(monitor)
    assert set(Rubric.model_fields) == set(re.findall(r"^\| `(\w+)` \|", DOCS.read_text(), re.MULTILINE))


def test_no_rubric_takes_the_name_of_another(tmp_path):
    """Two files of one name are told, whichever comes first."""
    first = tone(tmp_path)
    second = tmp_path / "other.yaml"
    second.write_text(TONE, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"other.yaml: name: 'tone' is taken"):
        known_metrics([first, second])
