"""What is missing of a night's input, in the monitor's language."""

from rag_checks.monitor import Monitor
from rag_checks.records import EvalRun, Language
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
    },
    "zh": {
        "join": "；",
        "unreadable": "{read} 行中有 {bad} 行无法读取",
        "damaged": "，{files} 个文件中有 {damaged} 个被截断或损坏",
        "example": "；第一处为 {place}：{reason}",
        "none": "{files} 个文件中没有当天的对话",
        "early": "读取时间早于当天最后一批记录的到达时限（lateness_hours）{early} 分钟：请重新运行这一晚",
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
