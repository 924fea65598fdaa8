"""Which gold passages were retrieved, and at which rank: the matching behind the metrics by passage."""

from dataclasses import dataclass, field
from itertools import zip_longest

from rag_checks import text
from rag_checks.records import EvalItem, Response


@dataclass(frozen=True)
class Gold:
    """A passage that holds the answer: known by its id, by a quote (squeezed), or both."""

    passage_id: str | None
    quote: str | None


@dataclass
class _Passage:
    """A retrieved passage; repeats of the same id were merged into its first rank."""

    passage_id: str | None
    texts: list[str] = field(default_factory=list)

    def holds(self, gold: Gold) -> bool:
        if gold.passage_id is not None and gold.passage_id == self.passage_id:
            return True
        return gold.quote is not None and any(gold.quote in text for text in self.texts)


@dataclass(frozen=True)
class Match:
    """Where the gold was found.

    Attributes:
        ranks: for each gold passage its 1-based rank after removing duplicates, None when not retrieved.
        retrieved: number of distinct retrieved passages (the k of the metrics).
    """

    gold: tuple[Gold, ...]
    ranks: tuple[int | None, ...]
    retrieved: int

    @property
    def hit_ranks(self) -> list[int]:
        """Distinct ranks at which gold was found, ascending."""
        return sorted({rank for rank in self.ranks if rank is not None})

    @property
    def found(self) -> int:
        """Number of gold passages that were retrieved."""
        return sum(rank is not None for rank in self.ranks)

    def at(self, k: int | None) -> "Match":
        """The same when only the first k distinct passages had been retrieved; None: all of them."""
        if k is None:
            return self
        ranks = tuple(rank if rank is not None and rank <= k else None for rank in self.ranks)
        return Match(self.gold, ranks, min(k, self.retrieved))


def match(item: EvalItem, response: Response) -> Match | None:
    """Find the gold passages among the retrieved ones; None when nothing recorded allows to compare them.

    A retrieved passage is gold when its id equals, or when it contains the quote whatever the layout
    (`text.squeeze`), so chunks cut anew still count.
    """
    passages = _passages(response)
    gold = _gold(item, texts_recorded=any(passage.texts for passage in passages))
    if not gold:
        return None
    by_id = any(entry.passage_id is not None for entry in gold) and any(p.passage_id for p in passages)
    by_quote = any(entry.quote for entry in gold) and any(p.texts for p in passages)
    if passages and not (by_id or by_quote):
        return None
    ranks = tuple(
        next((rank for rank, passage in enumerate(passages, start=1) if passage.holds(entry)), None)
        for entry in gold
    )
    return Match(gold, ranks, len(passages))


def _gold(item: EvalItem, *, texts_recorded: bool) -> tuple[Gold, ...]:
    """The gold passages without repeats.

    Ids and quotes of equal number are read as pairs (one passage each). Of unequal number, they cannot be
    paired: the quotes stand for the gold when texts were recorded to look for them in, otherwise the ids
    do.
    """
    ids = [gold_id for gold_id in item.reference_context_ids or () if gold_id]
    # A quote of nothing but signs would be contained in every passage.
    quotes = [squeezed for quote in item.reference_contexts or () if (squeezed := text.squeeze(quote))]
    if len(ids) == len(quotes):
        return tuple(dict.fromkeys(Gold(*pair) for pair in zip(ids, quotes, strict=True)))
    if quotes and (texts_recorded or not ids):
        return tuple(Gold(None, quote) for quote in dict.fromkeys(quotes))
    return tuple(Gold(gold_id, None) for gold_id in dict.fromkeys(ids))


def _passages(response: Response) -> list[_Passage]:
    """Distinct retrieved passages, best first: the same id is the same passage, without ids the same text."""
    merged: dict[tuple[str, str], _Passage] = {}
    ids, contexts = response.retrieved_context_ids or (), response.retrieved_contexts or ()
    for passage_id, context in zip_longest(ids, contexts):
        squeezed = text.squeeze(context or "")
        key = ("id", passage_id) if passage_id else ("text", squeezed)
        passage = merged.setdefault(key, _Passage(passage_id or None))
        if squeezed:
            passage.texts.append(squeezed)
    return list(merged.values())
