"""From verdicts to numbers: the formulas of the metrics, pure and without a judge.

Every function returns a finite number in 0..1 for every input it accepts; what has no value (no claims, no
gold) is the caller's case and raises ValueError here, so that a division by zero can never become a score.
"""

import math
from collections.abc import Sequence


def share(verdicts: Sequence[bool]) -> float:
    """Share of true verdicts. Raises ValueError without any."""
    if not verdicts:
        raise ValueError("the share of no verdicts is undefined")
    return sum(verdicts) / len(verdicts)


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean of numbers in 0..1. Raises ValueError without any."""
    if not values:
        raise ValueError("the mean of no values is undefined")
    return min(1.0, math.fsum(values) / len(values))


def average_precision(useful: Sequence[bool]) -> float:
    """Mean of precision@k over the ranks k of useful passages; 0 when none is useful.

    Args:
        useful: verdict of each passage, best rank first.

    Source: Manning, Raghavan and Schütze, Introduction to Information Retrieval (2008), 8.4; ragas 0.4.3
    computes the same with 1e-10 added to the denominator.
    """
    hits = 0
    precisions = []
    for rank, is_useful in enumerate(useful, start=1):
        if is_useful:
            hits += 1
            precisions.append(hits / rank)
    return mean(precisions) if precisions else 0.0


def factual_f1(*, true_positives: int, false_positives: int, false_negatives: int) -> float:
    """F1 = 2·TP / (2·TP + FP + FN). Raises ValueError when all three are 0.

    Args:
        true_positives: answer claims the reference supports.
        false_positives: answer claims it does not support.
        false_negatives: reference claims the answer does not state.

    Source: ragas 0.4.3 AnswerCorrectness, which is this with b = 1.
    """
    total = 2 * true_positives + false_positives + false_negatives
    if total == 0:
        raise ValueError("F1 over no claims at all is undefined")
    return 2 * true_positives / total


def correctness(f1: float, similarity: float, factual_weight: float) -> float:
    """w·F1 + (1 - w)·similarity, all in 0..1."""
    return factual_weight * f1 + (1 - factual_weight) * similarity


def reciprocal_rank(first_hit: int | None) -> float:
    """1 / rank of the first hit (1-based); 0 for None.

    Source: Voorhees, The TREC-8 Question Answering Track Report (1999).
    """
    return 0.0 if first_hit is None else 1 / first_hit


def normalised_gain(hit_ranks: Sequence[int], missing: int, k: int | None = None) -> float:
    """NDCG with binary gains: DCG of the hits over the DCG of the same passages at the top.

    Args:
        hit_ranks: distinct 1-based ranks at which something new was found.
        missing: gold passages found nowhere; they lengthen the ideal list.
        k: length of the ideal list at most, as trec_eval's `ndcg_cut`; the caller cuts the hits.

    Source: Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, ACM TOIS 20 (2002),
    with the log2(rank + 1) discount and the ideal over all relevant passages, as trec_eval's `ndcg`.
    """
    relevant = len(hit_ranks) + missing
    if relevant == 0:
        raise ValueError("nDCG without any gold passage is undefined")
    ideal = math.fsum(_discount(rank) for rank in range(1, min(relevant, k or relevant) + 1))
    return min(1.0, math.fsum(_discount(rank) for rank in hit_ranks) / ideal)


def _discount(rank: int) -> float:
    return 1 / math.log2(rank + 1)
