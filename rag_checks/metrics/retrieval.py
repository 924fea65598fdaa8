"""Metrics of retrieval by gold passage, without a judge: hit_rate, precision, recall, mrr, ndcg.

Duplicates are removed keeping the first rank; so every value is within 0..1 and `gold={A},
retrieved=[A, A, X]` has recall 1. The option `k` looks at the first k passages only; left out, at all. See
`passages` for what counts as a match.
"""

from collections.abc import Callable

from pydantic import Field

from rag_checks.metrics import scoring
from rag_checks.metrics.exam import Exam
from rag_checks.metrics.passages import Match, match
from rag_checks.metrics.registry import Options, Outcome, metric, say

NEEDS = ("reference_context_ids|reference_contexts", "retrieved_context_ids|retrieved_contexts")


class Depth(Options):
    """How far down the list is looked."""

    k: int | None = Field(None, ge=1, description="Passages from the top; left out: all that were retrieved.")


def _outcome(exam: Exam, depth: Depth, formula: Callable[[Match], float]) -> Outcome:
    whole = match(exam.item, exam.response)
    if whole is None:
        reason = say(
            exam.language,
            zh="标准段落与检索结果没有可比的字段（编号或原文）",
            en="Gold and retrieved passages share no field to compare (ids or texts)",
        )
        return Outcome(None, reason)
    found = whole.at(depth.k)
    first = found.hit_ranks[0] if found.hit_ranks else None
    reason = say(
        exam.language,
        zh=f"{len(found.gold)} 个标准段落检索到 {found.found} 个"
        + (f"，最前排第 {first}" if first else f"（共检索 {found.retrieved} 个）"),
        en=f"{found.found} of {len(found.gold)} gold passages retrieved"
        + (f", the first at rank {first}" if first else f" among {found.retrieved}"),
    )
    rows = [{"id": gold.passage_id, "rank": rank} for gold, rank in zip(found.gold, found.ranks, strict=True)]
    return Outcome(formula(found), reason, {"gold": rows, "k": found.retrieved})


@metric("hit_rate", version="1", stage="retrieval", needs=NEEDS, options=Depth())
async def hit_rate(exam: Exam, depth: Depth) -> Outcome:
    """1 when any gold passage was retrieved, else 0.

    Source: success@k of trec_eval 9, by default with k = all retrieved.
    """
    return _outcome(exam, depth, lambda found: 1.0 if found.found else 0.0)


@metric("precision", version="1", stage="retrieval", needs=NEEDS, options=Depth(), by_default=False)
async def precision(exam: Exam, depth: Depth) -> Outcome:
    """Share of the retrieved passages that are gold; with k, of k.

    Source: Manning, Raghavan and Schütze, Introduction to Information Retrieval (2008), 8.3; P_k of trec_eval
    9, which also divides by k when fewer passages were retrieved; without k as ragas 0.4.3
    `IDBasedContextPrecision`. Nothing retrieved is 0 (ragas: NaN).
    Differs: repeats of a passage count once.
    """
    return _outcome(
        exam, depth, lambda found: len(found.hit_ranks) / (depth.k or found.retrieved) if found.found else 0.0
    )


@metric("recall", version="1", stage="retrieval", needs=NEEDS, options=Depth())
async def recall(exam: Exam, depth: Depth) -> Outcome:
    """Share of the gold passages that were retrieved.

    Source: Manning, Raghavan and Schütze, Introduction to Information Retrieval (2008), 8.3, by
    default with k = all retrieved. Gold passages that one larger chunk holds together are all found by it.
    """
    return _outcome(exam, depth, lambda found: found.found / len(found.gold))


@metric("mrr", version="1", stage="retrieval", needs=NEEDS, options=Depth())
async def mrr(exam: Exam, depth: Depth) -> Outcome:
    """1 / rank of the first gold passage, 0 when none was retrieved; its mean over cases is the MRR.

    Source: Voorhees, The TREC-8 Question Answering Track Report (1999).
    """
    return _outcome(
        exam, depth, lambda found: scoring.reciprocal_rank(found.hit_ranks[0] if found.hit_ranks else None)
    )


@metric("ndcg", version="1", stage="retrieval", needs=NEEDS, options=Depth())
async def ndcg(exam: Exam, depth: Depth) -> Outcome:
    """Discounted gain of the gold passages by rank, divided by the best possible.

    Source: Järvelin and Kekäläinen, ACM TOIS 20 (2002); binary gains, log2(rank + 1), the ideal over all
    gold passages as trec_eval 9 `ndcg`, with k the first k of them as `ndcg_cut` (a bot that retrieves fewer
    passages than there are gold ones is not excused).
    Differs: gold passages found in one and the same chunk count as one passage, so merging chunks costs
    nothing.
    """
    return _outcome(
        exam,
        depth,
        lambda found: scoring.normalised_gain(found.hit_ranks, len(found.gold) - found.found, depth.k),
    )
