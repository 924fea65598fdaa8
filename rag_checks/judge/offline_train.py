"""Fit the offline judge's weights and measure its agreement with people.

    python -m rag_checks.judge.offline_train TRAIN.jsonl --measure NAME=FILE --measure NAME=FILE

writes `offline_model.json` and `offline_agreement.json` beside this module. Training rows hold
question, gold, answer and label (true: people said right); `labelled` says what rows to measure hold. No
set that is measured is fitted. The same file gives the same weights.
"""

import argparse
import asyncio
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_checks.judge import offline_verdicts
from rag_checks.judge.agreement import cohens_kappa
from rag_checks.judge.labelled import Methods, Row, judged, lines, measure, plain_methods, read_rows
from rag_checks.judge.offline import OfflineJudge
from rag_checks.judge.offline_features import FEATURES, closest_alias, features

if TYPE_CHECKING:
    import numpy as np

HERE = Path(__file__).parent
MODEL_VERSION = "2"
_RIDGE = 1.0
_FOLDS = 5
_LONG, _SENTENCE = 6, 25


def vector(row: Row) -> list[float]:
    """Features of a row's answer against the accepted form of its reference it meets best."""
    return features(
        row["question"], closest_alias(row["reference"], row["question"], row["answer"]), row["answer"]
    )


def fit(matrix: "np.ndarray", labels: "np.ndarray") -> "np.ndarray":
    """Weights of a ridge-penalised logistic regression by Newton's method; the last one is the bias."""
    import numpy as np  # noqa: PLC0415 - needed to train, never to judge

    wide = np.c_[matrix, np.ones(len(matrix))]
    weights = np.zeros(wide.shape[1])
    ridge = np.eye(len(weights)) * _RIDGE
    ridge[-1, -1] = 0
    for _ in range(100):
        chance = 1 / (1 + np.exp(-wide @ weights))
        gradient = wide.T @ (chance - labels) + ridge @ weights
        hessian = (wide * (chance * (1 - chance))[:, None]).T @ wide + ridge
        step = np.linalg.solve(hessian, gradient)
        weights -= step
        if np.abs(step).max() < 1e-9:  # noqa: PLR2004 - far below the six digits that are stored
            break
    return weights


def with_sentences(rows: Sequence[Row]) -> list[Row]:
    """The rows, and rows with a sentence as reference: a right answer of another system to the same question.

    Golden items have sentences as references; question sets have names and numbers. One set holds both
    this way.
    """
    right: dict[str, list[Row]] = {}
    for row in rows:
        if row["label"] and _LONG < len(row["answer"].split()) <= _SENTENCE:
            right.setdefault(row["question"], []).append(row)
    made = [
        row | {"reference": other["answer"]}
        for row in rows
        for other in right.get(row["question"], ())
        if other is not row
    ]
    return [*rows, *made]


def folds_of(rows: Sequence[Row]) -> list[int]:
    """The fold of each row: its `source`, as questions will come from elsewhere; else its question."""
    sources = sorted({row.get("source", "") for row in rows})
    if len(sources) > 1:
        return [sources.index(row.get("source", "")) for row in rows]
    return [int(hashlib.sha256(row["question"].encode()).hexdigest(), 16) % _FOLDS for row in rows]


def train(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The model file's content, and the agreement of its verdicts in cross-validation (see `folds_of`).

    The threshold is the one with the best kappa in cross-validation, over short and sentence references.
    """
    import numpy as np  # noqa: PLC0415 - needed to train, never to judge

    given = read_rows(path)
    rows = with_sentences(given)
    matrix = np.array([vector(row) for row in rows], dtype=float)
    labels = np.array([row["label"] for row in rows], dtype=float)
    folds = np.array(folds_of(rows))
    chances = np.zeros(len(rows))
    for fold in sorted(set(folds.tolist())):
        weights = fit(matrix[folds != fold], labels[folds != fold])
        chances[folds == fold] = 1 / (1 + np.exp(-np.c_[matrix, np.ones(len(rows))][folds == fold] @ weights))

    def kappa(threshold: float) -> float:
        return cohens_kappa(zip(chances >= threshold, labels > 0, strict=True)) or 0.0

    threshold = max((step / 20 for step in range(6, 15)), key=kappa)
    weights = fit(matrix, labels)
    model = {
        "version": MODEL_VERSION,
        "trained_on": {
            "file": path.name,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "rows": len(given),
            "with_sentence_references": len(rows),
        },
        "threshold": threshold,
        "bias": round(float(weights[-1]), 6),
        "weights": {
            name: round(float(weight), 6) for name, weight in zip(FEATURES, weights[:-1], strict=True)
        },
    }
    # Moved so that the model's threshold falls on 0.5, where all methods are compared.
    moved = [float(chance >= threshold) / 2 + chance / 2 for chance in chances.tolist()[: len(given)]]
    methods: Methods = {"judge": [*moved], **plain_methods(given)}
    return model, list(lines(f"{path.stem}, cross-validated", "verdict", given, methods))


def main() -> None:
    """Fit, measure, write both files and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("train", type=Path, help="labelled JSONL file to fit")
    parser.add_argument(
        "--measure", action="append", default=[], metavar="NAME=FILE", help="labelled file to measure"
    )
    arguments = parser.parse_args()
    model, validated = train(arguments.train)
    _write("offline_model.json", model)
    offline_verdicts.model.cache_clear()
    measured = validated
    for name, _, file in (pair.partition("=") for pair in arguments.measure):
        rows = read_rows(Path(file))
        measured += measure(name, rows, asyncio.run(judged(OfflineJudge(), rows)))
    _write("offline_agreement.json", {"model_version": model["version"], "sets": measured})
    for line in measured:
        interval = f"{line['kappa_low']}..{line['kappa_high']}"
        place = f"{line['set']:20} {line['slice']:24} {line['method']:14} n={line['n']:<4}"
        print(f"{place} accuracy={line['accuracy']} kappa={line['kappa']} ({interval}) auc={line['auc']}")  # noqa: T201 - the command's output


def _write(name: str, content: dict[str, Any]) -> None:
    (HERE / name).write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
