"""Rule strings: one line with the numbers and the rule that decided, in the monitor's language."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from rag_checks.monitor import Limits
from rag_checks.records import Language, Level
from rag_checks.text import clean
from rag_checks.verdicts.canaries import Moved
from rag_checks.verdicts.course import BASELINES, Outcome
from rag_checks.verdicts.estimates import Estimate
from rag_checks.verdicts.series import Night

WHOLE = "all"
INTENT = "intent:"

_LONGEST_NAME = 60

_WORDS: dict[Language, dict[str, str]] = {
    "en": {
        "join": "; ",
        "comma": ", ",
        "intent": "intent {name}",
        "target": "target {value:.2f}",
        "allowed": "allowed drop {value:.2f}",
        "dropped": "dropped",
        "nights": "{n} night{s}",
        "against": "{drop} against baseline {value:.2f}",
        "together": "{drop} against baseline {value:.2f}, live and golden together",
        "below_target": "{drop} against target {value:.2f}",
        "below_warning": "{drop} against warning level {value:.2f}",
        "within_noise": "below the target within noise",
        "tolerated": "within the allowed drop",
        "capped": "no target, so watched only",
        "recovering": "recovering: not yet three calm nights",
        "few_nights": "baseline of {n} nights so far, {wanted} wanted",
        "no_baseline": "no baseline yet: {n} of at least 3 nights",
        "judge_changed": "judge changed on {since}, scores before are another series",
        "judge_moved": "judge moved {by} on {n} canaries since {since}, z {z}; taken off the comparison",
        "held": "the judge is under suspicion, waiting for its canaries",
        "version_changed": "metric version changed on {since}, scores before are another series",
        "mixed": "{n} scores by another judge or version are in the mean, not in the comparison",
        "coverage": "coverage {value:.2f} < {wanted:.2f}: {failed} of {total} judgements failed ({kinds})",
        "too_few": "{n} scored, at least {wanted} wanted: {na} of {total} not applicable, {failed} failed",
        "none_apply": "not applicable to all {total} cases",
        "no_cases": "no cases tonight",
        "nothing": "nothing scored: {failed} of {total} judgements failed ({kinds})",
    },
    "zh": {
        "join": "；",
        "comma": "，",
        "intent": "意图 {name}",
        "target": "目标 {value:.2f}",
        "allowed": "允许下降 {value:.2f}",
        "dropped": "下降",
        "nights": "{n} 晚",
        "against": "较基线 {value:.2f} 变化 {drop}",
        "together": "线上与黄金集合计较基线 {value:.2f} 变化 {drop}",
        "below_target": "较目标 {value:.2f} 相差 {drop}",
        "below_warning": "较预警线 {value:.2f} 相差 {drop}",
        "within_noise": "低于目标，但在误差范围内",
        "tolerated": "在允许的降幅之内",
        "capped": "未设目标，仅观察",
        "recovering": "恢复中：尚未连续三晚平稳",
        "few_nights": "基线目前 {n} 晚，需要 {wanted} 晚",
        "no_baseline": "尚无基线：{n} 晚，至少需要 3 晚",
        "judge_changed": "评审模型自 {since} 起更换，之前的分数属于另一序列",
        "judge_moved": "评审模型自 {since} 起在 {n} 个校准样例上偏移 {by}，z {z}；已从比较中扣除",
        "held": "评审模型可疑，等待校准样例确认",
        "version_changed": "指标版本自 {since} 起更换，之前的分数属于另一序列",
        "mixed": "{n} 个分数来自其他评审或版本，计入均值，不参与比较",
        "coverage": "覆盖率 {value:.2f} < {wanted:.2f}：{total} 个评判中 {failed} 个失败（{kinds}）",
        "too_few": "仅 {n} 个得分，至少需要 {wanted} 个：{total} 个中 {na} 个不适用，{failed} 个失败",
        "none_apply": "对全部 {total} 个案例均不适用",
        "no_cases": "今晚没有案例",
        "nothing": "没有得分：{total} 个评判中 {failed} 个失败（{kinds}）",
    },
}


_COMPARED = {
    "baseline": "against",
    "together": "together",
    "target": "below_target",
    "warning": "below_warning",
}


@dataclass(frozen=True)
class Change:
    """A series that began lately because the judge, or only the metric's version, changed."""

    since: date
    nights: int
    judge: bool

    @classmethod
    def between(cls, before: Night, tonight: Night, since_then: Sequence[Night]) -> "Change":
        """The change between the last night of another identity and the run of nights that ends tonight."""
        judges = [night.identity.judge for night in (before, tonight) if night.identity is not None]
        first = since_then[0] if since_then else tonight
        return cls(since=first.night, nights=len(since_then) + 1, judge=len(set(judges)) > 1)


@dataclass(frozen=True)
class Facts:
    """Everything a rule string can mention."""

    metric: str
    intent: str | None
    count: Estimate
    minimum: float | None
    allowed_drop: float | None
    level: Level
    outcome: Outcome
    baseline: float | None
    baseline_nights: int
    wanted_nights: int
    nights_so_far: int
    change: Change | None
    moved: Moved | None
    missing: str | None
    worst_intent: str | None
    mixed: tuple[int, ...]


def missing(count: Estimate, limits: Limits, language: Language) -> str | None:
    """Which denominator is missing for a verdict, in words; None when there is enough to decide.

    Coverage comes before n: that judgements failed says more than that few were left.
    """
    words = _WORDS[language]
    numbers = {
        "failed": count.n_failed,
        "na": count.n_not_applicable,
        "n": count.n_ok,
        "kinds": words["comma"].join(f"{kind} {number}" for kind, number in count.failures.items()),
    }
    coverage = count.coverage
    if coverage is None:
        return words["none_apply" if count.n_total else "no_cases"].format(total=count.n_total)
    applicable = count.n_ok + count.n_failed
    if not count.n_ok:
        return words["nothing"].format(total=applicable, **numbers)
    if limits.minimum_coverage is not None and coverage < limits.minimum_coverage:
        return words["coverage"].format(
            value=coverage, wanted=limits.minimum_coverage, total=applicable, **numbers
        )
    if limits.minimum_n is not None and count.n_ok < limits.minimum_n:
        return words["too_few"].format(wanted=limits.minimum_n, total=count.n_total, **numbers)
    return None


def sentence(facts: Facts, language: Language) -> str:
    """The rule, e.g. `faithfulness 0.81 [0.77, 0.84], target 0.85; 7 nights, … z −4.6; intent returns`."""
    words = _WORDS[language]
    parts = [_head(facts, words)]
    if facts.missing is not None:
        parts.append(facts.missing)
        return words["join"].join(parts)
    decided = _test(facts, words)
    if decided:
        parts.append(decided)
    parts.extend(_remarks(facts, words))
    return words["join"].join(parts)


def _head(facts: Facts, words: dict[str, str]) -> str:
    count = facts.count
    name = facts.metric
    if facts.intent is not None:
        name += words["comma"] + words["intent"].format(name=one_line(facts.intent))
    if count.mean is not None and count.low is not None and count.high is not None:
        name += f" {count.mean:.2f} [{count.low:.2f}, {count.high:.2f}]"
    if facts.minimum is not None:
        name += words["comma"] + words["target"].format(value=facts.minimum)
    if facts.allowed_drop is not None:
        name += words["comma"] + words["allowed"].format(value=facts.allowed_drop)
    return name


def _test(facts: Facts, words: dict[str, str]) -> str | None:
    test = facts.outcome.test
    if test is None:
        return None
    shift = test.shift
    drop = signed(shift.deviation, 2)
    fails_by_drop = test.kind in BASELINES and facts.outcome.level is Level.FAIL
    pieces = (
        *([words["dropped"]] if fails_by_drop else []),
        words["nights"].format(n=shift.nights, s="" if shift.nights == 1 else "s"),
        words[_COMPARED[test.kind]].format(drop=drop, value=shift.expected),
        f"z {signed(shift.z, 1)}",
    )
    return words["comma"].join(pieces)


def _remarks(facts: Facts, words: dict[str, str]) -> list[str]:
    """What qualifies the decision, most important first."""
    outcome, count = facts.outcome, facts.count
    remarks = [*_about_the_judge(facts, words), *_about_the_baseline(facts, words)]
    if outcome.recovering:
        remarks.append(words["recovering"])
    if outcome.level is Level.FAIL and facts.level is Level.WATCH:
        remarks.append(words["capped"])
    if outcome.tolerated:
        remarks.append(words["tolerated"])
    if outcome.level is Level.OK and facts.minimum is not None and (count.mean or 0.0) < facts.minimum:
        remarks.append(words["within_noise"])
    if sum(facts.mixed[1:]):
        remarks.append(words["mixed"].format(n=sum(facts.mixed[1:])))
    if facts.worst_intent is not None:
        remarks.append(words["intent"].format(name=one_line(facts.worst_intent)))
    return remarks


def _about_the_judge(facts: Facts, words: dict[str, str]) -> Iterator[str]:
    if facts.change is not None and facts.baseline_nights < facts.wanted_nights:
        key = "judge_changed" if facts.change.judge else "version_changed"
        yield words[key].format(since=facts.change.since.isoformat())
    if facts.moved is not None:
        yield words["judge_moved"].format(
            by=signed(facts.moved.deviation, 2),
            n=facts.moved.canaries,
            since=facts.moved.since.isoformat(),
            z=signed(facts.moved.z, 1),
        )
    if facts.outcome.held:
        yield words["held"]


def _about_the_baseline(facts: Facts, words: dict[str, str]) -> Iterator[str]:
    if facts.baseline is None:
        yield words["no_baseline"].format(n=facts.nights_so_far)
    elif facts.baseline_nights < facts.wanted_nights:
        yield words["few_nights"].format(n=facts.baseline_nights, wanted=facts.wanted_nights)


def one_line(name: str) -> str:
    """A name from outside, fit for one line: cleaned, white space collapsed, cut to 60 characters."""
    text = " ".join(clean(name).split())
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"


def signed(number: float, digits: int) -> str:
    """A number with its sign, a true minus, and no minus zero."""
    text = f"{number:+.{digits}f}"
    if not text.strip("+-0."):
        return f"{0:.{digits}f}"
    return text.replace("-", "−")
