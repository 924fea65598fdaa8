"""How far a judge's scores agree with people's labels, and what was measured for the offline judge."""

import json
import random
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from pydantic import Field

from rag_checks.records import Language, Record

THRESHOLD = 0.5
LANDMARKS = (
    "kappa with people on 1,486 longer open answers (other rows than those above): gold string 0.53,"
    " BEM 0.62, GPT-4 0.70, two people with each other 0.74"
)
"""What others reached, as published; those rows are not part of this project."""
_RESAMPLES = 1000
_Cells = tuple[int, int, int, int]  # true positives, false positives, false negatives, true negatives


class Agreement(Record):
    """Scores against labels at one threshold. Rows without a score are counted, never taken for zero (P1)."""

    n: int = Field(description="Labelled rows that have a score.")
    n_missing: int = Field(description="Labelled rows without one; outside every figure below.")
    threshold: float = THRESHOLD
    true_positive: int = Field(description="Score >= threshold, label true.")
    false_positive: int
    false_negative: int
    true_negative: int
    accuracy: float | None = Field(description="0..1; None without rows.")
    kappa: float | None = Field(description="Cohen's kappa, -1..1; None unless both labels occur.")
    kappa_low: float | None = Field(description="Lower end of its 95 % interval.")
    kappa_high: float | None
    auc: float | None = Field(description="Area under the ROC curve, 0..1; None unless both labels occur.")


def agreement(
    pairs: Iterable[tuple[float | None, bool]],
    *,
    threshold: float = THRESHOLD,
    groups: Sequence[Hashable] | None = None,
) -> Agreement:
    """Compare scores with labels (true: people said good).

    Args:
        pairs: score in 0..1 (None when it could not be given) and label of each row.
        threshold: scores from here on say "good".
        groups: of each row, what makes rows depend on each other (their question); None: nothing does.

    Returns:
        Accuracy po = (TP+TN)/n; kappa = (po - pe)/(1 - pe) with chance agreement pe from the margins (Cohen
        1960); its 95 % interval by the percentile bootstrap over groups (Efron 1979; 1,000 resamples with
        a fixed seed; perfect agreement therefore has an interval of width 0); AUC by the Mann-Whitney
        statistic, ties counting half.
    """
    rows = list(pairs)
    scored = [(score, label) for score, label in rows if score is not None]
    by_group: dict[Hashable, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for group, (score, label) in zip(groups or range(len(rows)), rows, strict=True):
        if score is not None:
            by_group[group][_cell(score >= threshold, label)] += 1
    drawn = Counter((tp, fp, fn, tn) for tp, fp, fn, tn in by_group.values())
    tp, fp, fn, tn = total = _sum(drawn)
    n = len(scored)
    low, high = _kappa_interval(drawn)
    return Agreement(
        n=n,
        n_missing=len(rows) - n,
        threshold=threshold,
        true_positive=tp,
        false_positive=fp,
        false_negative=fn,
        true_negative=tn,
        accuracy=(tp + tn) / n if n else None,
        kappa=_kappa(total),
        kappa_low=low,
        kappa_high=high,
        auc=_auc(scored),
    )


def cohens_kappa(pairs: Iterable[tuple[bool, bool]]) -> float | None:
    """Cohen's kappa of an opinion with the label of each row; None unless both labels occur."""
    cells = Counter(_cell(bool(one), bool(other)) for one, other in pairs)
    return _kappa((cells[0], cells[1], cells[2], cells[3]))


def _cell(said: bool, label: bool) -> int:
    return {(True, True): 0, (True, False): 1, (False, True): 2, (False, False): 3}[said, label]


def _sum(groups: Mapping[_Cells, int]) -> _Cells:
    """All cells of groups that occur so many times, added up."""
    tp, fp, fn, tn = (sum(cells[at] * times for cells, times in groups.items()) for at in range(4))
    return tp, fp, fn, tn


def _kappa(cells: _Cells) -> float | None:
    tp, fp, fn, tn = cells
    n = tp + fp + fn + tn
    if not tp + fn or not fp + tn:  # with one label kappa is 0 whatever is said
        return None
    observed = (tp + tn) / n
    chance = ((tp + fp) * (tp + fn) + (fn + tn) * (fp + tn)) / n**2
    return (observed - chance) / (1 - chance)


def _kappa_interval(groups: Counter[_Cells]) -> tuple[float | None, float | None]:
    """The 2.5 % and 97.5 % points of kappa over resampled groups; kappa itself lies within."""
    kappa = _kappa(_sum(groups))
    if kappa is None:
        return None, None
    draw = random.Random(0)  # a fixed seed: the same rows give the same interval
    kinds, times = zip(*sorted(groups.items()), strict=True)  # in the same order whatever the rows'
    found = sorted(
        value
        for _ in range(_RESAMPLES)
        if (value := _kappa(_sum(Counter(draw.choices(kinds, times, k=groups.total()))))) is not None
    )
    low, high = found[round(0.025 * (len(found) - 1))], found[round(0.975 * (len(found) - 1))]
    return min(low, kappa), max(high, kappa)


def _auc(scored: list[tuple[float, bool]]) -> float | None:
    positives = sum(label for _, label in scored)
    negatives = len(scored) - positives
    if not positives or not negatives:
        return None
    ordered = sorted(scored, key=lambda row: row[0])
    rank_sum, at = 0.0, 0
    while at < len(ordered):
        end = at
        while end < len(ordered) and ordered[end][0] == ordered[at][0]:
            end += 1
        middle_rank = (at + 1 + end) / 2
        rank_sum += middle_rank * sum(label for _, label in ordered[at:end])
        at = end
    return (rank_sum - positives * (positives + 1) / 2) / (positives * negatives)


@cache
def measured_agreement() -> dict[str, Any]:
    """What `offline_train` measured for the shipped offline judge, from `offline_agreement.json`.

    Keys: `model_version`; `sets`: a list of {set, metric, language, slice, method} and the fields of
    `Agreement`, as `labelled.lines` gives them. `method` is "judge", a part of it ("judge, similarity",
    "judge, all claims"), or for comparison "gold string", "token recall" or "token precision".
    """
    text = resources.files("rag_checks.judge").joinpath("offline_agreement.json").read_text("utf-8")
    return json.loads(text)  # type: ignore[no-any-return]


def agreement_note(language: Language) -> str:
    """What the offline judge is worth: what was measured, on which sets, and that the rest was not."""
    found = {
        (row["set"], row["metric"], row["slice"]): row
        for row in measured_agreement()["sets"]
        if row["method"] == "judge"
    }
    people = _kappa_text(found["evouna-500", "answer_correctness", "all"])
    own = _kappa_text(found["contrast-zh", "answer_correctness", "half B"])
    grounded = _kappa_text(found["begin-wow-500", "faithfulness", "all"])
    if language == "zh":
        return (
            f"与标注的一致性 kappa：答案正确性 {people}（EVOUNA-500，人工标注）、"
            f"{own}（自建中文对照集的保留半）；忠实度 {grounded}（BEGIN，人工标注），只是信号；其他指标未测量"
        )
    return (
        f"kappa with labels: answer correctness {people} (EVOUNA-500, people's), {own} (held-out half of our"
        f" own Chinese contrast set); faithfulness {grounded} (BEGIN, people's), a signal only; others not"
        " measured"
    )


def _kappa_text(row: Mapping[str, Any]) -> str:
    return f"{row['kappa']:.2f} [{row['kappa_low']:.2f}, {row['kappa_high']:.2f}]"


def agreement_table() -> str:
    """Markdown table of `measured_agreement`: sets, answer lengths and halves; methods side by side."""
    rows: dict[tuple[str, str, str], dict[str, dict[str, Any]]] = {}
    for line in measured_agreement()["sets"]:
        if not line["slice"].startswith("kind "):
            rows.setdefault((line["set"], line["metric"], line["slice"]), {})[line["method"]] = line
    head = "| set | part | n | offline judge: kappa (95 %) | AUC | similarity: AUC | gold string | tokens |"
    text = [head, "|---|---|---|---|---|---|---|---|"]
    for (name, metric, part), methods in rows.items():
        similar = _figure(methods.get("judge, similarity", {}).get("auc"))
        tokens = methods.get("token recall") or methods["token precision"]
        others = [_figure(methods.get("gold string", {}).get("kappa")), _figure(tokens["kappa"])]
        for method in ("judge", "judge, all claims"):
            if own := methods.get(method):
                interval = (
                    f"{_figure(own['kappa'])} ({_figure(own['kappa_low'])} to {_figure(own['kappa_high'])})"
                )
                what = metric + method.removeprefix("judge")
                cells = [
                    f"{name}, {what}",
                    part,
                    str(own["n"]),
                    interval,
                    _figure(own["auc"]),
                    similar,
                    *others,
                ]
                text.append(f"| {' | '.join(cells)} |")
    return "\n".join(text)


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
