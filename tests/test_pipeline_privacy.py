"""Personal data stays out of the store, the judge, the report and the message, wherever it came from (P7)."""

import json
from pathlib import Path

from fake_openai import FakeOpenAI
from workspace import NIGHT, make_workspace, write_jsonl

from rag_checks.pipeline import use_cases as pipeline
from rag_checks.store import Store

PHONE, MAIL, CARD = "13800138000", "zhang.wei@corp.cn", "11010519491231002X"
QUESTION = f"我的手机是{PHONE}，张伟的邮箱是什么"
BOT = f"""
ASKED = __file__ + ".asked"


def ask(item):
    with open(ASKED, "a", encoding="utf-8") as file:
        file.write(item.user_input + "\\n")
    return {{"answer": "邮箱是{MAIL}，证件{CARD}", "contexts": ["张伟 {MAIL} {PHONE}"], "intent": "lookup"}}
"""


def everything_kept(folder: Path) -> str:
    """All bytes of the home folder: store, reports, messages."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return "\n".join(path.read_bytes().decode("utf-8", "replace") for path in files)


def test_a_golden_answer_with_personal_data_is_masked_and_still_right(tmp_path: Path) -> None:
    """The bot sees the question as written; judge, store and report see placeholders; the score is 1."""
    with FakeOpenAI() as judge:
        config = {"kind": "openai", "model": "judge-1", "base_url": judge.url}
        space = make_workspace(tmp_path, changes={"judge": config, "conversations": None, "targets": []})
        bot = next(tmp_path.glob("toy_bot_*.py"))
        bot.write_text(BOT, encoding="utf-8")
        item = {
            "item_id": "g1",
            "user_input": QUESTION,
            "reference": f"张伟的邮箱是{MAIL}",
            "reference_contexts": [f"张伟 {MAIL}"],
            "answerable": True,
        }
        write_jsonl(tmp_path / "golden.jsonl", [item])
        result = pipeline.run_night(space.monitor, space.settings, NIGHT, wanted_alert="yes")
        sent = json.dumps([request["messages"] for request in judge.state.requests], ensure_ascii=False)
    assert Path(f"{bot}.asked").read_text(encoding="utf-8").splitlines() == [QUESTION]
    with Store.open(space.settings.store_url) as store:
        [case] = store.cases(result.run.eval_run_id)
        scores = {score.metric: score for score in store.scores(result.run.eval_run_id)}
    # question, reference, quote; answer with two, passage with two
    assert {name: n for name, n in result.run.counts.items() if name.startswith("masked_") and n} == {
        "masked_phone": 2,
        "masked_email": 4,
        "masked_id_card": 1,
    }
    assert case.item.user_input == "我的手机是<PHONE_1>，张伟的邮箱是什么"
    assert case.item.reference == "张伟的邮箱是<EMAIL_1>"
    assert case.response is not None
    assert case.response.response == "邮箱是<EMAIL_1>，证件<ID_CARD_1>"
    assert case.response.retrieved_contexts == ("张伟 <EMAIL_1> <PHONE_1>",)
    assert scores["hit_rate"].value == 1.0
    for kept in (everything_kept(space.settings.home), sent):
        assert "<EMAIL_1>" in kept or "EMAIL_1" in kept
        assert not [value for value in (PHONE, MAIL, CARD) if value in kept]


def test_a_file_of_answers_is_masked_before_it_is_graded(tmp_path: Path) -> None:
    """Reference and answer share the placeholder; another number is another one; nothing raw is written."""
    rows = [
        {"question": "张伟的手机号", "answer": f"是{PHONE}", "reference": f"张伟的手机号是{PHONE}"},
        {"question": "张伟的手机号", "answer": "是13900139000", "reference": f"张伟的手机号是{PHONE}"},
    ]
    write_jsonl(tmp_path / "rows.jsonl", rows)
    pipeline.evaluate_file(
        tmp_path / "rows.jsonl", metric_names=["answer_correctness"], output=tmp_path / "scores.jsonl"
    )
    written = (tmp_path / "scores.jsonl").read_text(encoding="utf-8")
    right, wrong = (json.loads(line) for line in written.splitlines())
    assert right["value"] > 0.5 > wrong["value"]
    assert not [value for value in (PHONE, "13900139000") if value in written]
