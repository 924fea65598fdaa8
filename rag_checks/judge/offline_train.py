"""Fit the offline judge's weights and measure its agreement with people.

    python -m rag_checks.judge.offline_train TRAIN.jsonl --measure NAME=FILE --measure NAME=FILE

writes `offline_model.json` and `offline_agreement.json` beside this module. Training rows hold
question, gold, answer and label (true: people said right). Rows to measure hold the same, or
`reference` for `gold`, or `context` instead of either (then faithfulness is measured); labels are
true/false or "good"/"bad". No set that is measured is fitted.
"""

import argparse
import asyncio
import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_checks.errors import SourceError
from rag_checks.judge import offline_verdicts
from rag_checks.judge.agreement import agreement
from rag_checks.judge.offline import OfflineJudge
from rag_checks.judge.offline_features import FEATURES, aliases, closest_alias, contains, features
from rag_checks.judge.offline_text import analyse
from rag_checks.protocols import JudgeRequest, Task
from rag_checks.text import language_of

if TYPE_CHECKING:
    import numpy as np

HERE = Path(__file__).parent
MODEL_VERSION = "1"
_RIDGE = 1.0
_FOLDS = 5
_LONG, _SENTENCE = 6, 25

Row = dict[str, Any]
Methods = dict[str, list[float | None]]


def read_rows(path: Path) -> list[Row]:
    """Rows of a labelled JSONL file with `label` as bool and `reference` filled from `gold`.

    Raises:
        SourceError: the file is missing, a line is no JSON object or lacks question, answer or label.
    """
    if not path.is_file():
        raise SourceError(f"{path}: no such file; give a JSONL file with question, gold, answer and label")
    rows = []
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            label = {"good": True, "bad": False}.get(row["label"], row["label"])
            rows.append(
                row | {"label": bool(label), "reference": row.get("reference") or row.get("gold", "")}
            )
            row["question"], row["answer"]
        except (ValueError, KeyError, TypeError) as error:
            raise SourceError(f"{path}:{number}: needs question, answer and label ({error!r})") from error
    return rows


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


def train(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The model file's content, and the agreement of its verdicts in cross-validation by question.

    The threshold is the one with the best kappa in cross-validation.
    """
    import numpy as np  # noqa: PLC0415 - needed to train, never to judge

    given = read_rows(path)
    rows = with_sentences(given)
    matrix = np.array([vector(row) for row in rows], dtype=float)
    labels = np.array([row["label"] for row in rows], dtype=float)
    folds = np.array([int(hashlib.sha256(row["question"].encode()).hexdigest(), 16) % _FOLDS for row in rows])
    chances = np.zeros(len(rows))
    for fold in range(_FOLDS):
        weights = fit(matrix[folds != fold], labels[folds != fold])
        chances[folds == fold] = 1 / (1 + np.exp(-np.c_[matrix, np.ones(len(rows))][folds == fold] @ weights))

    def kappa(threshold: float) -> float:
        pairs = zip(chances.tolist(), (labels > 0).tolist(), strict=True)
        return agreement(pairs, threshold=threshold).kappa or 0.0

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
    shifted = [float(chance >= threshold) / 2 + chance / 2 for chance in chances.tolist()[: len(given)]]
    methods: Methods = {"offline judge": [*shifted], **plain_methods(given)}
    return model, list(lines(f"{path.stem}, cross-validated", "verdict", given, methods))


async def correctness(judge: OfflineJudge, row: Row) -> float:
    """answer_correctness as the product prints it: 0.75 F1 of the claim verdicts + 0.25 similarity."""
    language = language_of(row["question"] + row["answer"])
    given = {key: row[key] for key in ("question", "answer", "reference")}
    answer: Any = (
        await judge.ask(JudgeRequest(task=Task.ANALYSE_ANSWER, language=language, inputs=given))
    ).output
    reference: Any = (
        await judge.ask(JudgeRequest(task=Task.ANALYSE_REFERENCE, language=language, inputs=given))
    ).output
    claims = {"answer_claims": answer.claims, "reference_claims": reference.claims}
    compared: Any = (
        await judge.ask(JudgeRequest(task=Task.COMPARE_CLAIMS, language=language, inputs=given | claims))
    ).output
    hits = sum(verdict.supported for verdict in compared.answer_claims)
    wrong = (
        len(compared.answer_claims)
        - hits
        + sum(not verdict.supported for verdict in compared.reference_claims)
    )
    (similarity,) = await judge.similarity([(row["answer"], row["reference"])], language)
    return 0.75 * (hits / (hits + 0.5 * wrong) if hits else 0.0) + 0.25 * similarity


async def faithfulness(judge: OfflineJudge, row: Row) -> float | None:
    """Share of the answer's claims that the context supports; None without claims."""
    language = language_of(row["question"] + row["answer"])
    analysed: Any = (
        await judge.ask(JudgeRequest(task=Task.ANALYSE_ANSWER, language=language, inputs=row))
    ).output
    inputs = {"question": row["question"], "contexts": [row["context"]], "answer_claims": analysed.claims}
    checked: Any = (
        await judge.ask(JudgeRequest(task=Task.CHECK_CONTEXTS, language=language, inputs=inputs))
    ).output
    verdicts = [verdict.supported for verdict in checked.answer_claims]
    return sum(verdicts) / len(verdicts) if verdicts else None


def gold_string(row: Row) -> float:
    """1 when an accepted form of the reference stands word for word in the answer, else 0."""
    return float(any(contains(analyse(row["answer"]), analyse(form)) for form in aliases(row["reference"])))


def token_recall(row: Row) -> float:
    """Share of the content words and numbers of the closest form of the reference that the answer has."""
    said = analyse(row["answer"])
    found = 0.0
    for form in map(analyse, aliases(row["reference"])):
        hits = sum(word in said.content_set for word in form.content) + sum(
            map(said.has_quantity, form.quantities)
        )
        found = max(found, hits / max(len(form.content) + len(form.quantities), 1))
    return found


def slices(rows: Sequence[Row]) -> Iterator[tuple[str, list[int]]]:
    """Named parts of a set: all, short and long answers, halves and kinds of a contrast set."""
    yield "all", list(range(len(rows)))
    if "kind" not in rows[0]:
        sizes = [len(analyse(row["answer"]).words) for row in rows]
        yield f"answer up to {_LONG} words", [at for at, size in enumerate(sizes) if size <= _LONG]
        yield f"answer over {_LONG} words", [at for at, size in enumerate(sizes) if size > _LONG]
    for key in ("half", "kind"):
        for value in sorted({row[key] for row in rows if key in row}):
            yield f"{key} {value}", [at for at, row in enumerate(rows) if row[key] == value]


def plain_methods(rows: Sequence[Row]) -> Methods:
    """Scores of the two methods everybody tries first."""
    return {
        "gold string": [gold_string(row) for row in rows],
        "token recall": [token_recall(row) for row in rows],
    }


def lines(name: str, metric: str, rows: Sequence[Row], methods: Methods) -> Iterator[dict[str, Any]]:
    """Agreement of each method with the labels of a set, by slice."""
    for part, chosen in slices(rows):
        for method, scores in methods.items():
            figures = agreement([(scores[at], rows[at]["label"]) for at in chosen]).model_dump()
            yield {
                "set": name,
                "metric": metric,
                "language": language_of(rows[0]["question"]),
                "slice": part,
                "method": method,
                **{
                    key: round(value, 4) if isinstance(value, float) else value
                    for key, value in figures.items()
                },
            }


def measure(name: str, rows: list[Row]) -> Iterator[dict[str, Any]]:
    """Agreement of the offline judge, and of plain methods, on one labelled set, by slice."""
    judge = OfflineJudge()
    grounded = "context" in rows[0]

    async def grade() -> list[float | None]:
        return [await (faithfulness if grounded else correctness)(judge, row) for row in rows]

    scores = asyncio.run(grade())
    if not grounded:
        yield from lines(name, "answer_correctness", rows, {"offline judge": scores} | plain_methods(rows))
        return
    yield from lines(name, "faithfulness", rows, {"offline judge": scores})
    # People labelled whole answers: one unsupported claim makes an answer unfaithful.
    whole: list[float | None] = [None if score is None else float(score == 1) for score in scores]
    yield from lines(name, "faithfulness of all claims", rows, {"offline judge": whole})


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
    measured = validated + [
        line
        for name, _, file in (pair.partition("=") for pair in arguments.measure)
        for line in measure(name, read_rows(Path(file)))
    ]
    _write("offline_agreement.json", {"model_version": model["version"], "sets": measured})
    for line in measured:
        interval = f"{line['kappa_low']}..{line['kappa_high']}"
        place = f"{line['set']:20} {line['slice']:24} {line['method']:14} n={line['n']:<4}"
        print(f"{place} accuracy={line['accuracy']} kappa={line['kappa']} ({interval}) auc={line['auc']}")  # noqa: T201 - the command's output


def _write(name: str, content: dict[str, Any]) -> None:
    (HERE / name).write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
