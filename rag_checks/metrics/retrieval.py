"""Metrics of retrieval by gold passage, without a judge: hit_rate, recall, mrr, ndcg.

k is all that was retrieved, after duplicates were removed keeping the first rank; so every value is within
0..1 and `gold={A}, retrieved=[A, A, X]` has recall 1. See `passages` for what counts as a match.
"""

from collections.abc import Callable

from rag_checks.metrics import scoring
from rag_checks.metrics.exam import Exam
from rag_checks.metrics.passages import Match, match
from rag_checks.metrics.registry import Outcome, metric, say

NEEDS = ("reference_context_ids|reference_contexts", "retrieved_context_ids|retrieved_contexts")


def _outcome(exam: Exam, formula: Callable[[Match], float]) -> Outcome:
    found = match(exam.item, exam.response)
    if found is None:
        reason = say(
            exam.language,
            zh="标准段落与检索结果没有可比的字段（编号或原文）",
            en="Gold and retrieved passages share no field to compare (ids or texts)",
        )
        return Outcome(None, reason)
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


@metric("hit_rate", version="1", stage="retrieval", needs=NEEDS)
async def hit_rate(exam: Exam) -> Outcome:
    """1 when any gold passage was retrieved, else 0.

    Source: success@k of trec_eval 9 with k = all retrieved.
    """
    return _outcome(exam, lambda found: 1.0 if found.found else 0.0)


@metric("recall", version="1", stage="retrieval", needs=NEEDS)
async def recall(exam: Exam) -> Outcome:
    """Share of the gold passages that were retrieved.

    Source: Manning, Raghavan and Schütze, Introduction to Information Retrieval (2008), 8.3, with k = all
    retrieved. Gold passages that one larger chunk holds together are all found by it.
    """
    return _outcome(exam, lambda found: found.found / len(found.gold))


@metric("mrr", version="1", stage="retrieval", needs=NEEDS)
async def mrr(exam: Exam) -> Outcome:
    """1 / rank of the first gold passage, 0 when none was retrieved; its mean over cases is the MRR.

    Source: Voorhees, The TREC-8 Question Answering Track Report (1999).
    """
    return _outcome(
        exam, lambda found: scoring.reciprocal_rank(found.hit_ranks[0] if found.hit_ranks else None)
    )


@metric("ndcg", version="1", stage="retrieval", needs=NEEDS)
async def ndcg(exam: Exam) -> Outcome:
    """Discounted gain of the gold passages by rank, divided by the best possible.

    Source: Järvelin and Kekäläinen, ACM TOIS 20 (2002); binary gains, log2(rank + 1), the ideal over all
    gold passages as trec_eval 9 `ndcg` (a bot that retrieves fewer passages than there are gold ones is not
    excused).
    Differs: gold passages found in one and the same chunk count as one passage, so merging chunks costs
    nothing.
    """
    return _outcome(
        exam, lambda found: scoring.normalised_gain(found.hit_ranks, len(found.gold) - found.found)
    )
