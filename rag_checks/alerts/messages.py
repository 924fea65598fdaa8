"""The messages people get, as Slack payloads: pure functions of what is told.

What an on-call engineer needs at 7 a.m. comes first: what fails, where it broke, what to do, the link.
Then who graded it, all numbers, and the worst answers.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from datetime import date
from typing import Any

from rag_checks.alerts.blocks import (
    Block,
    Element,
    bullets,
    code,
    context,
    cut,
    escape,
    header,
    link,
    mentions,
    plain,
    rich,
    section,
    validate,
    words,
)
from rag_checks.alerts.phrases import (
    ICONS,
    LEVELS,
    PHRASES,
    is_uncompared,
    standing,
    standing_of_run,
)
from rag_checks.alerts.table import by_urgency, metrics_table, name_of, number
from rag_checks.alerts.terminal import as_terminal
from rag_checks.records import (
    Finding,
    GradedCase,
    Language,
    Level,
    RunSummary,
    Score,
    ScoreStatus,
    Verdict,
)

__all__ = ["as_terminal", "broken", "digest", "validate"]

Payload = dict[str, Any]

MAX_PROBLEMS = 6
MAX_FINDINGS = 3
MAX_WORST = 5


def digest(summary: RunSummary, *, mention: str | None = None) -> Payload:
    """The one message about a run: `{"text": …, "blocks": […]}`, within every limit of Slack.

    Args:
        summary: everything that is told, in its language.
        mention: whom to call when the run fails, e.g. `<@U123>`; ignored on any other level.
    """
    language = summary.language
    parts = [
        _name(summary),
        str(summary.run.night),
        standing_of_run(summary.level, summary.verdicts, language),
    ]
    blocks: list[Block] = [header(f"{ICONS[summary.level]} {' · '.join(parts)}")]
    called = cut(plain(mention or ""), 500)
    if called and summary.level is Level.FAIL:
        blocks.append({"type": "section", "text": {"type": "mrkdwn", "text": mentions(called)}})
    if summary.run.problem:
        blocks.append(rich(section(words(cut(plain(summary.run.problem), 600, "…"), bold=True))))
    if summary.findings:
        blocks.append(_diagnosis(summary.findings, language))
    blocks.append(_headline(summary))
    if summary.report_url:
        blocks.append(rich(section(link(summary.report_url, PHRASES[language]["report"]))))
    blocks.append(context(_facts(summary)))
    if summary.verdicts:
        title = words(PHRASES[language]["numbers"], bold=True)
        blocks.append(rich(section(title), code(metrics_table(summary.verdicts, language))))
    if summary.worst:
        blocks.append(_worst(summary))
    return {"text": _fallback(summary), "blocks": blocks}


def broken(
    monitor_title: str, language: Language, night: date, what: str, error: str, next_step: str
) -> Payload:
    """The message that the monitor itself failed, so that silence is never taken for health.

    Args:
        monitor_title: the monitor's title.
        language: the monitor's language.
        night: the night that was not checked.
        what: one sentence, in that language.
        error: the error as it was raised; cut to fit.
        next_step: what a person has to do, in that language.
    """
    say = PHRASES[language]
    title = cut(plain(monitor_title), 90)
    what = cut(plain(what), 600, say["more_characters"])
    trace = "\n".join(filter(None, map(plain, error.splitlines())))
    body = [
        section(words(what or "–", bold=True)),
        code(cut(trace or "–", 1500, say["more_characters"])),
        section(
            words(say["next"], bold=True), words(cut(plain(next_step) or "–", 600, say["more_characters"]))
        ),
    ]
    return {
        "text": escape(cut(f"🛠 {title} {night:%m-%d} {say['broken']}{say['colon']}{what}", 400)),
        "blocks": [
            header(f"🛠 {title} · {night} · {say['broken']}"),
            rich(*body),
            context([say["broken_note"]]),
        ],
    }


def _name(summary: RunSummary) -> str:
    return cut(plain(summary.title) or plain(summary.run.monitor), 90)


def _problems(summary: RunSummary) -> list[Verdict]:
    return [verdict for verdict in by_urgency(summary.verdicts) if verdict.level is not Level.OK]


def _headline(summary: RunSummary) -> Block:
    """How many verdicts of each level, then the problems with their numbers and the rule that decided."""
    language = summary.language
    say = PHRASES[language]
    problems = _problems(summary)
    if not summary.verdicts:
        return rich(section(words(say["none"], bold=True)))
    whole = [verdict for verdict in by_urgency(summary.verdicts) if verdict.slice == "all"]
    if not problems:
        return rich(section(words(_all_ok(summary), bold=True)))
    slices = [verdict for verdict in problems if verdict.slice != "all"]
    counts = _counted(whole, language)
    if slices:
        counts += (" | " if counts else "") + say["by_intent"] + _counted(slices, language)
    parts = [
        section(words(counts, bold=True)),
        bullets([_problem(verdict, language) for verdict in problems[:MAX_PROBLEMS]]),
    ]
    return _with_more(parts, len(problems) - MAX_PROBLEMS, language)


def _all_ok(summary: RunSummary) -> str:
    """How many metrics meet what is expected, and how many have nothing to be held against."""
    say = PHRASES[summary.language]
    whole = [verdict for verdict in summary.verdicts if verdict.slice == "all"]
    uncompared = sum(map(is_uncompared, whole))
    told = [say["all_ok"].format(n=len(whole) - uncompared)] if len(whole) > uncompared or not whole else []
    told += [say["uncompared"].format(n=uncompared)] if uncompared else []
    return " ".join(told)


def _counted(verdicts: Sequence[Verdict], language: Language) -> str:
    """How many stand how, in the order given."""
    count = PHRASES[language]["count"]
    counts = Counter(standing(verdict, language) for verdict in verdicts)
    return " · ".join(count.format(n=n, level=stands) for stands, n in counts.items())


def _problem(verdict: Verdict, language: Language) -> Element:
    say = PHRASES[language]
    since = f" ({say['since'].format(date=f'{verdict.since:%m-%d}')})" if verdict.since else ""
    name = f"{ICONS[verdict.level]} {name_of(verdict, language)}"
    rule = re.sub(r"^[\s:：，,]+", "", plain(verdict.rule).removeprefix(verdict.metric))
    rule = cut(rule, 300, say["more_characters"])
    return section(words(name, bold=True), words(f"{since}{say['colon']}{rule}"))


def _diagnosis(findings: Sequence[Finding], language: Language) -> Block:
    say = PHRASES[language]
    parts = [section(words(say["where"], bold=True))]
    items = [
        section(
            words(cut(plain(finding.summary) or plain(finding.cause) or "–", 350, say["more_characters"])),
            words("\n" + say["next"], bold=True),
            words(cut(plain(finding.next_step) or "–", 300, say["more_characters"])),
        )
        for finding in findings[:MAX_FINDINGS]
    ]
    parts.append(bullets(items))
    return _with_more(parts, len(findings) - MAX_FINDINGS, language)


def _facts(summary: RunSummary) -> list[str]:
    """Who graded what: counts, judge, data checks, owner, release and run."""
    say = PHRASES[summary.language]
    run = summary.run
    names = {
        "in_window": "in_window",
        "sampled": "sampled",
        "golden": "golden_count",
        "quarantined": "quarantined",
    }
    counts = [
        say[phrase].format(n=f"{run.counts[key]:,}") for key, phrase in names.items() if key in run.counts
    ]
    where = [say["owner"].format(name=cut(plain(summary.owner), 80))] if summary.owner else []
    where += [say["release"].format(name=cut(plain(run.release), 80))] if run.release else []
    where.append(say["run"].format(id=cut(plain(run.eval_run_id), 120)))
    return [_judge(summary), " · ".join(counts), _checks(summary), " · ".join(where)]


def _judge(summary: RunSummary) -> str:
    say = PHRASES[summary.language]
    judge = summary.run.judge
    if judge is None:
        label = ""
    elif judge.kind == "offline":
        label = say["offline"]
    else:
        label = say["judge"].format(name=cut(plain(judge.returned_model or judge.requested_model), 80))
    note = cut(plain(summary.judge_note or ""), 250)
    return " · ".join(part for part in (label, note) if part)


def _checks(summary: RunSummary) -> str:
    """The data checks when some did not pass; their targets are the verdicts and told above."""
    results = [result for result in summary.expectations if result.purpose != "target"]
    failed = sum(result.success is False for result in results)
    unable = sum(result.success is None for result in results)
    if not failed + unable:
        return ""
    return PHRASES[summary.language]["checks"].format(failed=failed, n=len(results), broken=unable)


def _worst(summary: RunSummary) -> Block:
    cases, language = summary.worst, summary.language
    troubled = {v.metric for v in summary.verdicts if v.level in {Level.FAIL, Level.WATCH}}
    parts = [section(words(PHRASES[language]["worst"], bold=True))]
    parts.append(bullets([_case(graded, troubled, language) for graded in cases[:MAX_WORST]], numbered=True))
    return _with_more(parts, len(cases) - MAX_WORST, language)


def _case(graded: GradedCase, troubled: Collection[str], language: Language) -> Element:
    """Question, answer, what was expected, and the lowest score of what fails, with its reason."""
    say = PHRASES[language]
    item, response = graded.case.item, graded.case.response
    more = say["more_characters"]
    said = plain((response and response.response) or "")
    if not said:
        said = " ".join([say["no_answer"], plain((response and response.error) or "")])
    elements = [
        words(say["question"] + (cut(plain(item.user_input), 150, more) or "–"), bold=True),
        words("\n" + say["answer"] + cut(said.strip(), 200, more)),
    ]
    if item.reference:
        elements.append(words("\n" + say["reference"] + cut(plain(item.reference), 120, more)))
    score = _lowest([s for s in graded.scores if s.metric in troubled]) or _lowest(graded.scores)
    if score:
        value = score.status.value if score.value is None else number(score.value)
        why = cut(plain(score.reason), 200, more)
        line = f"{cut(plain(score.metric), 40)} {value}" + (say["colon"] + why if why else "")
        elements.append(words(f"\n{line}"))
    return section(*elements)


def _lowest(scores: Sequence[Score]) -> Score | None:
    """The score that tells most: the lowest value, else a failure to answer or to grade."""
    graded = [score for score in scores if score.value is not None]
    if graded:
        return min(graded, key=lambda score: (score.value, not score.reason))
    missing = [score for score in scores if score.status is not ScoreStatus.NOT_APPLICABLE]
    return missing[0] if missing else None


def _with_more(parts: list[Element], left_out: int, language: Language) -> Block:
    if left_out > 0:
        parts = [*parts, section(words(PHRASES[language]["more"].format(n=left_out)))]
    return rich(*parts)


def _fallback(summary: RunSummary) -> str:
    """What a notification shows: the level, the monitor, the night and the worst verdicts."""
    say = PHRASES[summary.language]
    start = f"{ICONS[summary.level]} {_name(summary)} {summary.run.night:%m-%d}"
    problems = _problems(summary)
    if not summary.verdicts:
        told = say["none"]
    elif not problems:
        told = _all_ok(summary)
    else:
        told = ", ".join(_short(verdict, summary.language) for verdict in problems[:3])
        if len(problems) > 3:  # noqa: PLR2004 - a notification shows about two lines
            told += " " + say["more"].format(n=len(problems) - 3)
    cause = f" | {plain(summary.findings[0].summary)}" if summary.findings else ""
    return escape(cut(f"{start}{say['colon']}{told}{cause}", 500))


def _short(verdict: Verdict, language: Language) -> str:
    say = PHRASES[language]
    name = cut(plain(verdict.metric), 40)
    if verdict.slice != "all":
        name += f"[{cut(plain(verdict.slice.removeprefix('intent:')), 30)}]"
    # A mean over the few that could be graded would read like a score (P1), so none is told.
    if verdict.value is None or verdict.level in {Level.NO_DATA, Level.JUDGE_CHANGED}:
        return f"{name} {LEVELS[language][verdict.level]} ({verdict.n_ok}/{verdict.n_total})"
    dropped = verdict.minimum is None or verdict.value >= verdict.minimum
    against, limit = ("baseline", verdict.baseline) if dropped else ("target", verdict.minimum)
    return f"{name} {number(verdict.value)}" + (
        f" ({say[against]} {number(limit)})" if limit is not None else ""
    )
