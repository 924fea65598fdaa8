"""What the alert tests share: run summaries, outbox messages and a small outbox in a SQLite file."""

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from rag_checks.records import (
    Case,
    EvalItem,
    EvalRun,
    ExpectationResult,
    Finding,
    GradedCase,
    JudgeIdentity,
    Level,
    OutboxMessage,
    Response,
    RunSummary,
    Score,
    ScoreStatus,
    Verdict,
)
from rag_checks.store import Store

NOW = datetime(2026, 10, 25, 2, 45, tzinfo=UTC)
NIGHT = date(2026, 10, 24)
OFFLINE = JudgeIdentity(kind="offline", requested_model="offline", prompt_hash="0" * 12)
MODEL = JudgeIdentity(
    kind="openai",
    requested_model="judge-latest",
    returned_model="judge-2026-08",
    prompt_hash="0" * 12,
)


def verdict(metric, value, **changes):
    """A verdict; ok on the live traffic unless told otherwise."""
    fields = {
        "source": "production",
        "level": Level.OK,
        "low": None if value is None else max(0.0, value - 0.05),
        "high": None if value is None else min(1.0, value + 0.05),
        "n_ok": 96,
        "n_failed": 2,
        "n_not_applicable": 2,
        "n_total": 100,
        "coverage": 0.98,
        "minimum": 0.8,
        "baseline": 0.86,
        "baseline_nights": 14,
        "rule": f"{metric} {value}: no lower than its target",
    }
    return Verdict(metric=metric, value=value, **(fields | changes))


def graded(question, answer, **changes):
    """A golden case that retrieved nothing useful, with two scores."""
    fields = {"reference": "张伟是教研部的", "item_id": "item-1", "reason": "回答没有给出部门"} | changes
    item = EvalItem(item_id=fields["item_id"], user_input=question, reference=fields["reference"])
    response = Response(response=answer, error=None if answer is not None else "timeout", error_kind=None)
    case = Case(
        case_id=f"golden:{item.item_id}",
        source="golden",
        item=item,
        response=response,
        language="zh",
        intent="employee_lookup",
    )
    common = {"eval_run_id": "hr_bot-2026-10-24", "case_id": case.case_id, "metric_version": "1"}
    scores = (
        Score(metric="faithfulness", value=0.9, status=ScoreStatus.OK, reason="", **common),
        Score(
            metric="answer_correctness",
            value=0.12,
            status=ScoreStatus.OK,
            reason=fields["reason"],
            **common,
        ),
    )
    return GradedCase(case=case, scores=scores)


def summary(language, level, verdicts, **changes):
    """A run's summary around its verdicts."""
    run = EvalRun(
        eval_run_id="hr_bot-2026-10-24",
        monitor="hr_bot",
        kind="nightly",
        night=NIGHT,
        window_start=datetime(2026, 10, 23, 16, tzinfo=UTC),
        window_end=datetime(2026, 10, 24, 16, tzinfo=UTC),
        release="2.0",
        judge=changes.pop("judge", OFFLINE),
        counts=changes.pop(
            "counts",
            {"read": 420, "in_window": 412, "sampled": 100, "golden": 64, "quarantined": 3},
        ),
        created_at=NOW,
    )
    fields = {
        "title": "员工助手" if language == "zh" else "Employee assistant",
        "owner": "hr-bot team",
        "judge_note": "与人工标注一致率 0.79(κ 0.55,120 条)"
        if language == "zh"
        else "agrees with people on 0.79 of 120 answers (kappa 0.55)",
        "report_url": "https://reports.example.com/hr_bot/2026-10-24.html",
    }
    return RunSummary(language=language, run=run, level=level, verdicts=tuple(verdicts), **(fields | changes))


def ok_night(language):
    """Everything meets its target."""
    return summary(
        language,
        Level.OK,
        [
            verdict("faithfulness", 0.91),
            verdict("answer_relevancy", 0.88, minimum=None),
            verdict("answer_correctness", 0.86, source="golden", n_ok=62, n_total=64, n_not_applicable=0),
            verdict("answer_correctness", 0.9, source="golden", slice="intent:leave", n_ok=12, n_total=12),
        ],
        judge=MODEL,
        judge_note=None,
    )


def failing_night(language):
    """The retriever lost the staff table."""
    zh = language == "zh"
    intent = {"source": "golden", "slice": "intent:employee_lookup", "n_ok": 22, "n_total": 22}
    whole = {"source": "golden", "n_ok": 62, "n_failed": 2, "n_not_applicable": 0, "n_total": 64}
    fail = {"level": Level.FAIL, "since": date(2026, 10, 22)}
    return summary(
        language,
        Level.FAIL,
        [
            verdict("faithfulness", 0.89),
            verdict(
                "answer_relevancy",
                0.83,
                level=Level.WATCH,
                rule="answer_relevancy 0.83 [0.78, 0.88], warning 0.85",
            ),
            verdict(
                "answer_correctness",
                0.62,
                rule="answer_correctness 0.62 [0.57, 0.67], target 0.80; 3 nights, z −5.1",
                **whole,
                **fail,
            ),
            verdict(
                "context_recall",
                0.58,
                rule="context_recall 0.58 [0.53, 0.63], target 0.80; 3 nights, z −6.0",
                **whole,
                **fail,
            ),
            verdict(
                "answer_correctness",
                0.17,
                rule="answer_correctness 0.17 [0.12, 0.22], target 0.80; 1 night, z −7.3",
                **intent,
                **fail,
            ),
            verdict("answer_correctness", 0.9, source="golden", slice="intent:leave", n_ok=12, n_total=12),
            verdict(
                "intent_accuracy",
                None,
                level=Level.NO_DATA,
                n_ok=0,
                n_total=0,
                n_failed=0,
                n_not_applicable=0,
                coverage=None,
                rule="intent_accuracy: the bot logged no intent",
            ),
        ],
        findings=(
            Finding(
                cause="retrieval_missed",
                stage="retrieval",
                intent="employee_lookup",
                release="2.0",
                since=date(2026, 10, 22),
                n_cases=18,
                n_failing=23,
                summary="23 个新失败中有 18 个:没有检索到任何相关段落,意图 employee_lookup,自版本 2.0 起"
                if zh
                else "18 of 23 new failures retrieved nothing relevant, intent employee_lookup, since 2.0",
                next_step="对比版本 2.0 与 1.4 的切分结果:员工表的行是否还和表头在同一段"
                if zh
                else "Compare the chunks of 2.0 and 1.4: are staff table rows still with their header?",
            ),
        ),
        worst=(
            graded("张伟是哪个部门的?", "抱歉,没有找到相关信息。"),
            graded(
                "Which department is Li Na in?",
                "Li Na works in Finance.",
                item_id="item-2",
                reference="Li Na is in Teaching Research.",
                reason="names another department than the reference",
            ),
            graded("王芳的直属上级是谁?", None, item_id="item-3", reference="陈晨", reason=""),
        ),
        expectations=(
            ExpectationResult(
                expectation="expect_column_values_to_not_be_null", purpose="coverage", success=False
            ),
            ExpectationResult(
                expectation="expect_column_values_to_be_between", purpose="range", success=None
            ),
            ExpectationResult(
                expectation="expect_column_mean_to_be_between", purpose="target", success=False
            ),
        ),
    )


def no_data_night(language):
    """The judge answered too rarely to say anything."""
    rule = "faithfulness: 3 of 100 cases scored, coverage 0.03 is under 0.90 (97 judge_error)"
    return summary(
        language,
        Level.NO_DATA,
        [
            verdict(
                "faithfulness",
                1.0,
                level=Level.NO_DATA,
                n_ok=3,
                n_failed=97,
                n_not_applicable=0,
                coverage=0.03,
                rule=rule,
            ),
        ],
        report_url=None,
        counts={"in_window": 412, "sampled": 100, "golden": 0, "quarantined": 0},
    )


def message(payload, **changes):
    """A pending outbox message."""
    fields = {
        "message_id": "hr_bot-2026-10-24:digest",
        "eval_run_id": "hr_bot-2026-10-24",
        "kind": "digest",
        "channel": "rag-alerts",
        "payload": payload,
        "created_at": NOW,
    }
    return OutboxMessage(**(fields | changes))


class StoreOutbox:
    """The store's outbox in a file of its own; what a dead sender claimed may be taken at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._store = Store.open(f"sqlite:///{path}")
        outbox = self._store.outbox(stale_after=timedelta(0))
        self.enqueue, self.claim, self.update = outbox.enqueue, outbox.claim, outbox.update

    def get(self, message_id: str) -> OutboxMessage:
        """The stored message."""
        return next(one for one in self._store.messages() if one.message_id == message_id)


def canonical(payload) -> str:
    """A payload as stored in a snapshot."""
    return json.dumps(payload, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
