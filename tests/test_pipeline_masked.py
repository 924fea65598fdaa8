"""Personal data of golden items, live answers and graded files reaches neither the store nor a judge (P7)."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from fake_openai import FakeOpenAI
from workspace import NIGHT, ZONE, Workspace, make_workspace, write_jsonl

from rag_checks.errors import BotError
from rag_checks.intake.redact import Redactor
from rag_checks.pipeline import use_cases as pipeline
from rag_checks.pipeline.files import evaluate_file
from rag_checks.pipeline.masked import MaskedBot
from rag_checks.pipeline.runs import nightly_run_id
from rag_checks.records import EvalItem, Message, Response
from rag_checks.store import Store

NOW = datetime(2026, 3, 11, 2, 30, tzinfo=ZONE)
RUN = nightly_run_id("toy", NIGHT)
PHONE, ID, OTHER = "13800138000", "11010519491231002X", "13912345678"
ITEM = {
    "item_id": "g-personal",
    "user_input": f"手机号{PHONE}、身份证{ID}属于哪位员工？",
    "reference": f"{PHONE} 属于张伟。",
    "reference_contexts": [f"张伟 教研部 手机 {PHONE}"],
    "history": [{"role": "user", "content": f"我想查 {PHONE}"}],
    "answerable": True,
}


class Scripted:
    """A bot that remembers what it was asked and gives one answer, or fails with one message."""

    def __init__(self, answer: Response | BotError) -> None:
        self.answer = answer
        self.asked: list[EvalItem] = []

    async def ask(self, item: EvalItem) -> Response:
        self.asked.append(item)
        if isinstance(self.answer, BotError):
            raise self.answer
        return self.answer

    async def close(self) -> None:
        """Nothing to free."""


def personal_space(folder: Path, judge_url: str) -> Workspace:
    """A workspace with one golden item about a person, whom the bot finds by the number itself."""
    judge: dict[str, Any] = {"kind": "openai", "model": "judge-1", "base_url": judge_url, "concurrency": 8}
    space = make_workspace(folder, changes={"judge": judge})
    golden = (folder / "golden.jsonl").read_text(encoding="utf-8")
    (folder / "golden.jsonl").write_text(golden + json.dumps(ITEM, ensure_ascii=False) + "\n", "utf-8")
    answers = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    answers[ITEM["user_input"]] = (
        f"号码{PHONE}属于张伟，另一号码是{OTHER}。",
        f"通讯录：张伟 教研部 手机 {PHONE}",
        "lookup",
    )
    (folder / "answers.json").write_text(json.dumps(answers, ensure_ascii=False), encoding="utf-8")
    return space


def test_a_night_masks_golden_items_and_live_answers_yet_asks_the_original(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bot recognises the number it is asked about; judge, store, report and message never see it."""
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    with FakeOpenAI() as judge:
        space = personal_space(tmp_path, judge.url)
        pipeline.run_night(space.monitor, space.settings, NIGHT, now=NOW)
        seen = json.dumps([*judge.state.requests, *judge.state.embedded], ensure_ascii=False)
    with Store.open(space.settings.store_url) as store:
        (case,) = [case for case in store.cases(RUN) if case.item.item_id == "g-personal"]
        scores = {s.metric: s.value for s in store.scores(RUN) if s.case_id == case.case_id}
    assert case.response is not None
    assert case.response.response == "号码<PHONE_1>属于张伟，另一号码是<PHONE_2>。"
    assert case.item.user_input == "手机号<PHONE_1>、身份证<ID_CARD_1>属于哪位员工？"
    assert case.item.reference == "<PHONE_1> 属于张伟。"
    assert scores["hit_rate"] == 1.0
    assert "张伟" in seen
    written = [path.read_bytes() for path in (tmp_path / "home").rglob("*") if path.is_file()]
    for secret in (PHONE, ID, OTHER):
        assert secret not in seen
        assert not [found for found in written if secret.encode() in found]


def test_a_graded_file_is_masked_before_the_judge_sees_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Question, answer and reference of a row share one numbering."""
    path = tmp_path / "answers.jsonl"
    answer = f"{PHONE} 属于张伟，不是 {OTHER}。"
    write_jsonl(path, [{**ITEM, "response": answer, "retrieved_contexts": ITEM["reference_contexts"]}])
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    monkeypatch.setenv("RAG_CHECKS_HOME", str(tmp_path / "home"))
    with FakeOpenAI() as judge:
        monkeypatch.setenv("OPENAI_BASE_URL", judge.url)
        result = evaluate_file(path, judge_name="judge-1", output=tmp_path / "scores.jsonl")
        seen = json.dumps(judge.state.requests, ensure_ascii=False)
    assert result.cases == 1
    assert "PHONE_1" in seen
    assert "PHONE_2" in seen
    written = (tmp_path / "scores.jsonl").read_text(encoding="utf-8")
    for secret in (PHONE, ID, OTHER):
        assert secret not in seen + written


def test_what_the_bot_says_of_its_failure_is_masked() -> None:
    """An error that quotes the question is stored like an answer."""
    item = EvalItem(item_id="a", user_input=f"谁是 {PHONE}")
    failing = Scripted(BotError(f"500: no user {PHONE}", kind="http"))
    with pytest.raises(BotError, match=r"^500: no user <PHONE_1>$") as caught:
        asyncio.run(MaskedBot(failing, None).ask(item))
    assert caught.value.kind == "http"


def test_a_golden_file_that_changed_since_the_plan_is_no_silent_wrong_question(tmp_path: Path) -> None:
    """The bot is not asked about a placeholder; the item says that the night must be planned again."""
    path = tmp_path / "golden.jsonl"
    write_jsonl(path, [ITEM])
    planned, _ = Redactor().mask_item(EvalItem.model_validate(ITEM))
    bot = Scripted(Response(response="ok", answered_at=datetime.now(UTC)))
    asyncio.run(MaskedBot(bot, path).ask(planned))
    assert bot.asked[0].user_input == ITEM["user_input"]
    write_jsonl(path, [{**ITEM, "reference": "不知道"}])
    with pytest.raises(BotError, match="changed since the night was planned"):
        asyncio.run(MaskedBot(bot, path).ask(planned))
    path.unlink()
    with pytest.raises(BotError, match="no such file"):
        asyncio.run(MaskedBot(bot, path).ask(planned))
    assert len(bot.asked) == 1


def test_an_item_masked_before_keeps_its_numbers_to_itself() -> None:
    """A new number in the answer is not taken for the one that was masked in the question."""
    item = EvalItem(
        item_id="a", user_input="谁是 <PHONE_1>", history=(Message(role="user", content="<PHONE_2> 呢"),)
    )
    masked, answer, counts = Redactor().mask_case(item, Response(response=f"是 {OTHER}"))
    assert (masked, answer.response, counts["phone"]) == (item, "是 <PHONE_3>", 1)
