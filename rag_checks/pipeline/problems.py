"""What keeps a night's numbers from being whole: its input, its grading. In the monitor's language."""

from collections import Counter
from collections.abc import Sequence

from rag_checks.monitor import Monitor
from rag_checks.records import Case, EvalRun, Language, Score, ScoreStatus
from rag_checks.store import Store

_WORDS: dict[Language, dict[str, str]] = {
    "en": {
        "join": "; ",
        "unreadable": "{bad} of {read} lines could not be read",
        "damaged": ", {damaged} of {files} files are cut or broken",
        "example": "; the first is {place}: {reason}",
        "none": "no conversations of this day in {files} files",
        "early": "read {early} minutes before the day's last lines are due (lateness_hours): "
        "run the night again",
        "and": " and ",
        "golden": "{n} golden",
        "production": "{n} production",
        "over": "{why}: {left} of {total} cases were not graded in full",
        "unreached": "{n} of {total} cases were not graded: no task reached them",
        "ungraded": "{n} of {total} cases were not graded: {why}",
        "no_cases": "no conversations in {window} and nothing to ask",
        "nothing": "0 of {total} cases could be graded: {why}",
        "nothing_applies": "no metric applies to any of them",
    },
    "zh": {
        "join": "；",
        "unreadable": "{read} 行中有 {bad} 行无法读取",
        "damaged": "，{files} 个文件中有 {damaged} 个被截断或损坏",
        "example": "；第一处为 {place}：{reason}",
        "none": "{files} 个文件中没有当天的对话",
        "early": "读取时间早于当天最后一批记录的到达时限（lateness_hours）{early} 分钟：请重新运行这一晚",
        "and": "、",
        "golden": "黄金集 {n} 个",
        "production": "线上 {n} 个",
        "over": "{why}：共 {total} 个案例，{left}未能完整评判",
        "unreached": "{total} 个案例中有 {n} 个未评判：没有任务处理到它们",
        "ungraded": "{total} 个案例中有 {n} 个未评判：{why}",
        "no_cases": "{window} 没有对话，也没有可提问的条目",
        "nothing": "{total} 个案例全部无法评判：{why}",
        "nothing_applies": "没有适用的指标",
    },
}


def input_problem(monitor: Monitor, run: EvalRun, store: Store) -> str | None:
    """Unreadable lines, cut files, lines still to come; None when the conversations are whole."""
    if monitor.conversations is None:
        return None
    say = _WORDS[monitor.language]
    problems = []
    bad, read, damaged = (run.counts.get(name, 0) for name in ("quarantined", "read", "files_damaged"))
    files = run.counts.get("files", 0)
    if damaged or bad > monitor.conversations.max_bad_share * read:
        told = say["unreadable"].format(bad=bad, read=read)
        told += say["damaged"].format(damaged=damaged, files=files) if damaged else ""
        for first in store.quarantine(run.eval_run_id, limit=1):
            told += say["example"].format(place=f"{first.file}:{first.line}", reason=first.reason)
        problems.append(told)
    if not run.counts.get("in_window"):
        problems.append(say["none"].format(files=files))
    if early := run.counts.get("minutes_early", 0):
        problems.append(say["early"].format(early=early))
    return say["join"].join(problems) or None


def joined(language: Language, problems: Sequence[str | None]) -> str | None:
    """All of them in one line; None without any."""
    return _WORDS[language]["join"].join(filter(None, problems)) or None


def grading_problem(
    language: Language,
    run: EvalRun,
    cases: Sequence[Case],
    scores: Sequence[Score],
    missing: Sequence[Score],
) -> str | None:
    """Why cases have no scores, or why there is no score at all; None when all were graded."""
    say = _WORDS[language]
    over = {score.case_id: score for score in scores if score.status is ScoreStatus.OVER_BUDGET}
    if over:
        sources = Counter(case.source for case in cases if case.case_id in over)
        left = say["and"].join(say[source].format(n=count) for source, count in sorted(sources.items()))
        why = next(iter(over.values())).evidence["error"]
        return say["over"].format(why=why, left=left, total=len(cases))
    if missing or any(score.evidence.get("error_kind") == "unavailable" for score in scores):
        ungraded = len({score.case_id for score in missing})
        if run.problem is None:
            return say["unreached"].format(n=ungraded, total=len(cases))
        if not ungraded:
            return run.problem
        return say["ungraded"].format(n=ungraded, total=len(cases), why=run.problem)
    if not any(score.status is ScoreStatus.OK for score in scores):
        return _why_nothing(say, run, cases, scores)
    return None


def _why_nothing(say: dict[str, str], run: EvalRun, cases: Sequence[Case], scores: Sequence[Score]) -> str:
    if not cases:
        window = f"{run.window_start:%Y-%m-%d %H:%M}–{run.window_end:%Y-%m-%d %H:%M %Z}"
        return say["no_cases"].format(window=window)
    failed = {ScoreStatus.JUDGE_ERROR, ScoreStatus.BOT_ERROR, ScoreStatus.OVER_BUDGET}
    reasons = Counter(score.reason for score in scores if score.status in failed)
    why = reasons.most_common(1)[0][0] if reasons else say["nothing_applies"]
    return say["nothing"].format(total=len(cases), why=why)
