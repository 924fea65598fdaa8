"""What messages say, in Chinese and English."""

from collections.abc import Iterable

from rag_checks.records import Language, Level, Verdict

ICONS = {
    Level.OK: "✅",
    Level.WATCH: "⚠️",
    Level.FAIL: "❌",
    Level.NO_DATA: "❔",
    Level.JUDGE_CHANGED: "⚖️",
}

# Most urgent first: a failing target, then what makes the verdicts doubtful, then what may become a problem.
URGENCY = [Level.FAIL, Level.JUDGE_CHANGED, Level.NO_DATA, Level.WATCH, Level.OK]

LEVELS: dict[Language, dict[Level, str]] = {
    "en": {
        Level.OK: "ok",
        Level.WATCH: "watch",
        Level.FAIL: "below target",
        Level.NO_DATA: "cannot tell",
        Level.JUDGE_CHANGED: "judge changed",
    },
    "zh": {
        Level.OK: "达标",
        Level.WATCH: "留意",
        Level.FAIL: "未达标",
        Level.NO_DATA: "无法判断",
        Level.JUDGE_CHANGED: "评审有变",
    },
}

_DROPPED: dict[Language, str] = {"en": "dropped", "zh": "下降"}
_UNCOMPARED: dict[Language, str] = {"en": "no target", "zh": "未设目标"}


def is_uncompared(verdict: Verdict) -> bool:
    """Whether nothing was held against a metric: neither a minimum nor, yet, a baseline."""
    return verdict.level is Level.OK and verdict.minimum is None and verdict.baseline is None


def standing(verdict: Verdict, language: Language) -> str:
    """The level of a verdict in words: a fail above the minimum is a drop, an ok without limits is none."""
    if is_uncompared(verdict):
        return _UNCOMPARED[language]
    return _DROPPED[language] if is_drop(verdict) else LEVELS[language][verdict.level]


def standing_of_run(level: Level, verdicts: Iterable[Verdict], language: Language) -> str:
    """The level of a run in words: dropped when all that fails are drops."""
    failing = [verdict for verdict in verdicts if verdict.level is Level.FAIL]
    if level is Level.FAIL and failing and all(map(is_drop, failing)):
        return _DROPPED[language]
    return LEVELS[language][level]


def is_drop(verdict: Verdict) -> bool:
    """A failing metric that is not below its minimum can only have dropped below its baseline."""
    above = verdict.minimum is None or (verdict.value is not None and verdict.value >= verdict.minimum)
    below_baseline = verdict.baseline is not None and (verdict.value or 0.0) < verdict.baseline
    return verdict.level is Level.FAIL and above and below_baseline


PHRASES: dict[Language, dict[str, str]] = {
    "en": {
        "colon": ": ",
        "count": "{n} {level}",
        "by_intent": "by intent: ",
        "more": "… (+{n} more)",
        "more_characters": "… (+{n} characters)",
        "production": "live",
        "golden": "golden set",
        "target": "target",
        "baseline": "baseline",
        "since": "since {date}",
        "all_ok": "All {n} metrics meet what is expected of them.",
        "uncompared": "{n} have neither a target nor a baseline yet.",
        "none": "There is no verdict: nothing was graded.",
        "where": "Where it broke",
        "next": "Next: ",
        "numbers": "All numbers",
        "columns": "value|95% range|target|base|scored",
        "slices_ok": "… (by intent: {n} more, all ok)",
        "worst": "Worst answers",
        "question": "Q: ",
        "answer": "A: ",
        "reference": "Expected: ",
        "no_answer": "(no answer)",
        "report": "Open the report",
        "owner": "owner {name}",
        "run": "run {id}",
        "release": "release {name}",
        "judge": "judge {name}",
        "offline": "offline judge (no model)",
        "in_window": "{n} turns in the window",
        "sampled": "{n} sampled",
        "golden_count": "{n} golden",
        "quarantined": "{n} quarantined",
        "checks": "{failed} of {n} data checks failed, {broken} could not run",
        "broken": "the monitor itself is broken",
        "broken_note": "This says nothing about the bot: last night was not checked.",
    },
    "zh": {
        "colon": "：",
        "count": "{n} 项{level}",
        "by_intent": "按意图：",
        "more": "…（还有 {n} 条）",
        "more_characters": "…（还有 {n} 字）",
        "production": "线上",
        "golden": "黄金集",
        "target": "目标",
        "baseline": "基线",
        "since": "自 {date} 起",
        "all_ok": "{n} 项指标全部符合预期。",
        "uncompared": "{n} 项尚无目标和基线。",
        "none": "没有结论：没有任何内容得到评分。",
        "where": "问题出在哪里",
        "next": "下一步：",
        "numbers": "全部数字",
        "columns": "得分|95% 区间|目标|基线|已评分",
        "slices_ok": "…（另有 {n} 项按意图的结果均达标）",
        "worst": "最差的回答",
        "question": "问：",
        "answer": "答：",
        "reference": "应为：",
        "no_answer": "（没有回答）",
        "report": "打开报告",
        "owner": "负责人 {name}",
        "run": "运行 {id}",
        "release": "版本 {name}",
        "judge": "评审模型 {name}",
        "offline": "离线评审（不用模型）",
        "in_window": "窗口内对话 {n} 轮",
        "sampled": "抽样 {n}",
        "golden_count": "黄金集 {n}",
        "quarantined": "隔离 {n}",
        "checks": "{n} 项数据检查中 {failed} 项未通过、{broken} 项无法运行",
        "broken": "监控本身出了故障",
        "broken_note": "这不说明机器人有问题：昨晚没有完成检查。",
    },
}
