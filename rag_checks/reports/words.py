"""The report's own words in Chinese and English.

Levels and the names of the two series are those of the messages: who opens the report has just read one.
"""

from rag_checks.alerts.phrases import LEVELS, PHRASES
from rag_checks.metrics.rubrics import shipped_rubrics
from rag_checks.records import Language, Level

Words = dict[str, dict[Language, str]]

WORDS: Words = {
    "colon": {"en": ": ", "zh": "："},
    # the head
    "night": {"en": "Night", "zh": "日期"},
    "release": {"en": "Release", "zh": "版本"},
    "owner": {"en": "Owner", "zh": "负责人"},
    "unknown": {"en": "unknown", "zh": "未知"},
    "unnamed": {"en": "(blank)", "zh": "（空白）"},
    "offline_judge": {"en": "offline, no model", "zh": "离线，未使用模型"},
    "all_ok": {
        "en": "All metrics meet what is expected of them.",
        "zh": "所有指标均符合预期。",
    },
    "none_compared": {
        "en": "Nothing was held against these numbers: there is no target and no baseline yet.",
        "zh": "这些数值尚未与任何标准比较：既未设目标，也还没有基线。",
    },
    "no_verdicts": {"en": "No verdict: nothing was graded.", "zh": "没有结论：没有任何内容得到评分。"},
    "since": {"en": "since {date}", "zh": "自 {date} 起"},
    "begin": {"en": "Since", "zh": "开始于"},
    "problem": {"en": "The run could not grade everything it planned", "zh": "本次运行未能完成全部评分"},
    # what is wrong and where
    "where": {"en": "Where it broke", "zh": "问题出在哪里"},
    "next_step": {"en": "Next step", "zh": "下一步"},
    "examples": {"en": "Examples", "zh": "示例"},
    "failing_cases": {"en": "failing cases", "zh": "失败案例"},
    "stage": {"en": "Stage", "zh": "环节"},
    "no_cause": {
        "en": "No single cause stands out. Start with the metrics below and the worst items.",
        "zh": "没有突出的单一原因。请先看下面的指标和最差的案例。",
    },
    "what": {"en": "Not as expected", "zh": "不符合预期的指标"},
    "more_below": {"en": "… and {n} more in the table", "zh": "另有 {n} 项见下表"},
    "worst_intent": {"en": "Worst intent", "zh": "最差意图"},
    # the table of verdicts
    "verdicts": {"en": "All verdicts", "zh": "全部结论"},
    "verdict": {"en": "Verdict", "zh": "结论"},
    "metric": {"en": "Metric", "zh": "指标"},
    "value": {"en": "Value", "zh": "得分"},
    "interval": {"en": "95 % interval", "zh": "95% 区间"},
    "target": {"en": "Target", "zh": "目标"},
    "baseline": {"en": "Baseline", "zh": "基线"},
    "scored": {"en": "Scored / all", "zh": "已评 / 全部"},
    "failed": {"en": "failed", "zh": "失败"},
    "not_applicable": {"en": "not applicable", "zh": "不适用"},
    "table_note": {
        "en": "Worst first. Under each line: the rule that decided it. Value: mean with 95 % interval.",
        "zh": "最差的在前；每行下方是判定依据。得分为均值与 95% 区间。",
    },
    # trends
    "trends": {"en": "Trends", "zh": "趋势"},
    "key_line": {"en": "mean of the night", "zh": "当晚均值"},
    "key_band": {"en": "95 % interval", "zh": "95% 区间"},
    "key_target": {"en": "target", "zh": "目标"},
    "key_baseline": {"en": "baseline", "zh": "基线"},
    "key_release": {"en": "another release", "zh": "版本更换"},
    "latest": {"en": "latest", "zh": "最新"},
    # the breakdown by intent
    "by_intent": {"en": "By intent", "zh": "按意图"},
    "intent": {"en": "Intent", "zh": "意图"},
    "cases": {"en": "Cases", "zh": "案例"},
    "intent_note": {
        "en": "Mean, under it how many were scored of those it applies to. Shaded: a verdict of this intent.",
        "zh": "均值；下方为适用案例中已评的数量。底色表示该意图有单独结论。",
    },
    "was": {"en": "was", "zh": "基线"},
    # items
    "items": {"en": "Cases, worst first", "zh": "案例明细（最差的在前）"},
    "items_note": {"en": "Open one to see why.", "zh": "点开查看原因。"},
    "left_out": {
        "en": "{n} more cases are in the store: this file would grow too large.",
        "zh": "另有 {n} 个案例未列出（以免文件过大），可在库中查看。",
    },
    "id": {"en": "Id", "zh": "编号"},
    "question": {"en": "Question", "zh": "问题"},
    "history": {"en": "Earlier messages", "zh": "上文"},
    "answer": {"en": "Answer", "zh": "回答"},
    "blank_answer": {"en": "the answer is empty", "zh": "回答为空"},
    "no_answer": {"en": "The bot did not answer", "zh": "机器人没有作答"},
    "not_asked": {"en": "not asked", "zh": "未提问"},
    "reference": {"en": "Reference", "zh": "参考答案"},
    "unanswerable": {
        "en": "Known to be unanswerable: the bot should say it does not know.",
        "zh": "已知无法回答：机器人应当说明不知道。",
    },
    "expected_intent": {"en": "Expected intent", "zh": "应有意图"},
    "bot_intent": {"en": "Intent by the bot", "zh": "机器人判断的意图"},
    "rewritten": {"en": "Rewritten query", "zh": "改写后的查询"},
    "tools": {"en": "Tools called", "zh": "调用的工具"},
    "feedback": {"en": "User feedback", "zh": "用户反馈"},
    "latency": {"en": "Latency", "zh": "耗时"},
    "contexts": {"en": "Retrieved passages", "zh": "检索到的段落"},
    "no_contexts": {"en": "nothing was retrieved", "zh": "没有检索到任何段落"},
    "not_recorded": {"en": "not recorded", "zh": "未记录"},
    "useful": {"en": "useful", "zh": "有用"},
    "not_useful": {"en": "not useful", "zh": "无用"},
    "scores": {"en": "Scores and reasons", "zh": "评分与理由"},
    "more_characters": {"en": "… (+{n} characters)", "zh": "…（还有 {n} 字）"},
    # inside the evidence of scores
    "gold_passage": {"en": "passage {n}", "zh": "段落 {n}"},
    "rank": {"en": "rank {n}", "zh": "第 {n} 位"},
    "not_retrieved": {"en": "not retrieved", "zh": "未检索到"},
    "true": {"en": "yes", "zh": "是"},
    "false": {"en": "no", "zh": "否"},
    # expectations
    "expectations": {"en": "Data checks (Great Expectations)", "zh": "数据检查（Great Expectations）"},
    "check": {"en": "Check", "zh": "检查"},
    "observed": {"en": "Observed", "zh": "观测值"},
    "result": {"en": "Result", "zh": "结果"},
    "met": {"en": "met", "zh": "通过"},
    "not_met": {"en": "not met", "zh": "未通过"},
    "could_not_run": {"en": "could not run", "zh": "无法运行"},
    # identity
    "identity": {"en": "Run identity", "zh": "运行信息"},
    "run": {"en": "Run", "zh": "运行"},
    "window": {"en": "Window", "zh": "时间窗口"},
    "backfill": {"en": "backfill: logged turns only", "zh": "回填：只评已记录的对话"},
    "judge": {"en": "Judge", "zh": "评审"},
    "fingerprint": {"en": "fingerprint", "zh": "指纹"},
    "prompts": {"en": "prompts", "zh": "提示词"},
    "golden_version": {"en": "Golden set", "zh": "黄金集"},
    "version": {"en": "version", "zh": "版本"},
    "metric_versions": {"en": "Metric versions", "zh": "指标版本"},
    "counts": {"en": "Counts", "zh": "数量"},
    "usage": {"en": "Judge calls", "zh": "评审调用"},
    "cost": {"en": "Cost", "zh": "费用"},
    "calls": {"en": "calls", "zh": "次调用"},
    "cached": {"en": "from the cache", "zh": "次来自缓存"},
    "tokens_in": {"en": "tokens in", "zh": "输入 token"},
    "tokens_out": {"en": "tokens out", "zh": "输出 token"},
    "config": {"en": "Configuration", "zh": "配置"},
}

SOURCES: Words = {
    name: {"en": PHRASES["en"][name], "zh": PHRASES["zh"][name]} for name in ("production", "golden")
}

NAMES: dict[str, Words] = {
    "level": {level.value: {"en": LEVELS["en"][level], "zh": LEVELS["zh"][level]} for level in Level},
    "source": SOURCES,
    "status": {
        "ok": {"en": "scored", "zh": "已评"},
        "not_applicable": {"en": "not applicable", "zh": "不适用"},
        "judge_error": {"en": "judge error", "zh": "评审出错"},
        "bot_error": {"en": "bot error", "zh": "机器人出错"},
        "over_budget": {"en": "over budget", "zh": "超出预算"},
    },
    "stage": {
        "intent": {"en": "intent", "zh": "意图识别"},
        "rewrite": {"en": "rewriting", "zh": "查询改写"},
        "retrieval": {"en": "retrieval", "zh": "检索"},
        "generation": {"en": "generation", "zh": "生成"},
        "outcome": {"en": "outcome", "zh": "整体结果"},
    },
    "purpose": {
        "completeness": {"en": "all rows there", "zh": "行数完整"},
        "range": {"en": "values in range", "zh": "取值范围"},
        "coverage": {"en": "share scored", "zh": "已评占比"},
        "target": {"en": "target", "zh": "目标"},
    },
    "kind": {
        "nightly": {"en": "nightly", "zh": "每晚"},
        "release": {"en": "release", "zh": "发布对比"},
        "rescore": {"en": "rescore", "zh": "重新评分"},
        "file": {"en": "file", "zh": "文件"},
    },
    "role": {
        "user": {"en": "user", "zh": "用户"},
        "assistant": {"en": "bot", "zh": "机器人"},
        "system": {"en": "system", "zh": "系统"},
    },
    "rating": {"like": {"en": "liked", "zh": "赞"}, "dislike": {"en": "disliked", "zh": "踩"}},
    "metric": {
        "faithfulness": {"en": "faithfulness", "zh": "忠实度"},
        "answer_relevancy": {"en": "answer_relevancy", "zh": "答案相关性"},
        "answer_correctness": {"en": "answer_correctness", "zh": "答案正确性"},
        "answer_similarity": {"en": "answer_similarity", "zh": "答案相似度"},
        "factual_correctness": {"en": "factual_correctness", "zh": "事实正确性"},
        "noise_robustness": {"en": "noise_robustness", "zh": "抗噪声能力"},
        "precision": {"en": "precision", "zh": "段落精确率"},
        "context_precision": {"en": "context_precision", "zh": "上下文精确率"},
        "context_recall": {"en": "context_recall", "zh": "上下文召回率"},
        "hit_rate": {"en": "hit_rate", "zh": "段落命中率"},
        "recall": {"en": "recall", "zh": "段落召回率"},
        "mrr": {"en": "mrr", "zh": "首个命中排名"},
        "ndcg": {"en": "ndcg", "zh": "排序质量"},
        "intent_accuracy": {"en": "intent_accuracy", "zh": "意图准确率"},
        "refusal_correctness": {"en": "refusal_correctness", "zh": "拒答正确性"},
        "answer_rate": {"en": "answer_rate", "zh": "有效回答率"},
        "citation_correctness": {"en": "citation_correctness", "zh": "引用正确率"},
        **{
            rubric.name: {"en": rubric.name, "zh": rubric.title.said("zh") or rubric.name}
            for rubric in shipped_rubrics()
        },
    },
    "evidence": {
        "faithfulness.claims": {
            "en": "Claims of the answer: do the passages support them?",
            "zh": "回答的陈述：段落是否支持？",
        },
        "context_recall.claims": {
            "en": "Claims of the reference: are they in the passages?",
            "zh": "参考答案的陈述：段落中有没有？",
        },
        "answer_claims": {
            "en": "Claims of the answer: does the reference support them?",
            "zh": "回答的陈述：参考答案是否支持？",
        },
        "reference_claims": {
            "en": "Claims of the reference: does the answer state them?",
            "zh": "参考答案的陈述：回答是否说到？",
        },
        "citation_correctness.citations": {
            "en": "Citations of the answer: does the cited passage support the sentence?",
            "zh": "回答中的引用：所引段落是否支持该句？",
        },
        "points": {"en": "Required points", "zh": "要求的要点"},
        "label": {"en": "rated", "zh": "评为"},
        "label_score": {"en": "worth", "zh": "对应得分"},
        "label_reason": {"en": "why", "zh": "理由"},
        "claims": {"en": "Claims", "zh": "陈述"},
        "questions": {
            "en": "Questions this answer would answer, and how similar they are to the one asked",
            "zh": "由回答反推的问题，及其与原问题的相似度",
        },
        "gold": {"en": "Passages that hold the answer", "zh": "含答案的段落"},
        "f1": {"en": "factual F1", "zh": "事实 F1"},
        "similarity": {"en": "similarity", "zh": "相似度"},
        "k": {"en": "passages retrieved", "zh": "检索段落数"},
        "measured_by": {"en": "measured by", "zh": "衡量依据"},
        "noncommittal": {"en": "evades", "zh": "回避作答"},
        "answerable": {"en": "answerable", "zh": "可以回答"},
        "refused": {"en": "refused", "zh": "拒答"},
        "expected": {"en": "expected", "zh": "应为"},
        "logged": {"en": "logged", "zh": "记录为"},
        "error_kind": {"en": "kind of error", "zh": "错误类型"},
        "error": {"en": "error", "zh": "错误"},
        "raw": {"en": "what the judge said", "zh": "评审原话"},
        "flags": {"en": "remarks", "zh": "备注"},
    },
    "count": {
        "read": {"en": "lines read", "zh": "读取行数"},
        "quarantined": {"en": "quarantined", "zh": "隔离"},
        "duplicates": {"en": "duplicates", "zh": "重复"},
        "in_window": {"en": "turns in the window", "zh": "窗口内对话轮次"},
        "sampled": {"en": "sampled", "zh": "抽样"},
        "golden": {"en": "golden items asked", "zh": "黄金集提问"},
        "planned": {"en": "cases planned", "zh": "计划案例"},
        "ungraded": {"en": "cases not graded", "zh": "未评案例"},
        "scores_ok": {"en": "scores", "zh": "得分数"},
        "scores_failed": {"en": "failed scores", "zh": "失败评分"},
    },
}


def word(key: str, language: Language) -> str:
    """A word of the report in the reader's language. Raises KeyError for a key that is not in `WORDS`."""
    return WORDS[key][language]


def name(group: str, key: str, language: Language) -> str:
    """The name of a value from a group of `NAMES`; a value the group does not know is shown as it is."""
    known = NAMES[group].get(key)
    return known[language] if known else key
