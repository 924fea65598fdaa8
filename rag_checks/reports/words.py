"""The report's own words in English and Chinese."""

from rag_checks.records import Language

WORDS: dict[str, dict[Language, str]] = {
    "night": {"en": "Night", "zh": "日期"},
    "release": {"en": "Release", "zh": "版本"},
    "owner": {"en": "Owner", "zh": "负责人"},
    "unknown": {"en": "unknown", "zh": "未知"},
    "where_it_broke": {"en": "Where it broke", "zh": "问题出在哪里"},
    "next_step": {"en": "Next step", "zh": "下一步"},
    "no_findings": {"en": "Nothing points to a cause tonight.", "zh": "今晚没有发现问题原因。"},
    "verdicts": {"en": "Verdicts", "zh": "判定"},
    "metric": {"en": "Metric", "zh": "指标"},
    "series": {"en": "Series", "zh": "数据"},
    "value": {"en": "Value", "zh": "得分"},
    "interval": {"en": "95 % interval", "zh": "95% 区间"},
    "scored": {"en": "Scored / total", "zh": "已评 / 总数"},
    "failed": {"en": "failed", "zh": "评测失败"},
    "not_applicable": {"en": "not applicable", "zh": "不适用"},
    "target": {"en": "Target", "zh": "目标"},
    "baseline": {"en": "Baseline", "zh": "基线"},
    "verdict": {"en": "Verdict", "zh": "结论"},
    "rule": {"en": "Rule that decided", "zh": "判定依据"},
    "production": {"en": "conversations", "zh": "真实对话"},
    "golden": {"en": "golden set", "zh": "标准评测集"},
    "intent": {"en": "Intent", "zh": "意图"},
    "trends": {"en": "Trends", "zh": "趋势"},
    "trend_key": {
        "en": "Line and band: mean and 95 % interval. Dashed: target. Dotted: baseline. Vertical line:"
        " another release. Points take the colour of the night's verdict.",
        "zh": "折线与色带：均值与 95% 区间；虚线：目标；点线：基线；竖线：版本更换；圆点颜色为当晚结论。",
    },
    "by_intent": {"en": "By intent", "zh": "按意图"},
    "items": {"en": "Items", "zh": "样本明细"},
    "items_note": {"en": "Worst first. Open one to see why.", "zh": "最差的在前，点开查看原因。"},
    "left_out": {"en": "more items are in the store", "zh": "条样本未列出，可在库中查看"},
    "question": {"en": "Question", "zh": "问题"},
    "history": {"en": "Earlier messages", "zh": "上文"},
    "answer": {"en": "Answer", "zh": "回答"},
    "no_answer": {"en": "no answer", "zh": "没有回答"},
    "reference": {"en": "Reference", "zh": "标准答案"},
    "rewritten": {"en": "Searched for", "zh": "改写后的检索词"},
    "contexts": {"en": "Retrieved passages", "zh": "检索到的段落"},
    "no_contexts": {"en": "none", "zh": "无"},
    "not_logged": {"en": "not recorded", "zh": "未记录"},
    "scores": {"en": "Scores", "zh": "评分"},
    "claims": {"en": "Claims and reasons", "zh": "观点与依据"},
    "supported": {"en": "supported", "zh": "有依据"},
    "unsupported": {"en": "not supported", "zh": "无依据"},
    "expectations": {
        "en": "Data expectations (Great Expectations)",
        "zh": "数据预期检查（Great Expectations）",
    },
    "purpose": {"en": "Checks", "zh": "检查项"},
    "observed": {"en": "Observed", "zh": "观测值"},
    "identity": {"en": "Run identity", "zh": "运行信息"},
    "judge": {"en": "Judge", "zh": "评委"},
    "problem": {"en": "The run could not grade what it planned", "zh": "本次运行未能完成评测"},
    "ok": {"en": "ok", "zh": "正常"},
    "watch": {"en": "watch", "zh": "关注"},
    "fail": {"en": "fail", "zh": "不达标"},
    "no_data": {"en": "no data", "zh": "数据不足"},
    "judge_changed": {"en": "judge changed", "zh": "评委变化"},
    "bot_error": {"en": "bot error", "zh": "机器人出错"},
    "judge_error": {"en": "judge error", "zh": "评委出错"},
    "over_budget": {"en": "over budget", "zh": "超出预算"},
    "yes": {"en": "met", "zh": "满足"},
    "no": {"en": "not met", "zh": "不满足"},
    "could_not_run": {"en": "could not run", "zh": "无法执行"},
}

METRICS: dict[str, str] = {
    "faithfulness": "忠实度",
    "answer_relevancy": "答案相关性",
    "answer_correctness": "答案正确性",
    "context_precision": "上下文精确率",
    "context_recall": "上下文召回率",
    "hit_rate": "段落命中率",
    "recall": "段落召回率",
    "mrr": "首个命中排名 MRR",
    "ndcg": "排序质量 nDCG",
    "intent_accuracy": "意图识别准确率",
    "refusal_correctness": "拒答正确性",
    "answer_rate": "有效回答率",
}


def word(key: str, language: Language) -> str:
    """A word of the report in the reader's language; an unknown key is shown as it is."""
    return WORDS[key][language] if key in WORDS else key


def metric_label(metric: str, language: Language) -> str:
    """The metric's name, with its Chinese name for Chinese readers."""
    chinese = METRICS.get(metric)
    return f"{chinese} {metric}" if language == "zh" and chinese else metric
