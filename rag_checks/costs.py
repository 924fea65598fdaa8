"""What judging has cost, by judge and metric; a model without a price costs an unknown sum, never 0."""

from collections.abc import Iterable, Mapping

from rag_checks.monitor import Price
from rag_checks.records import Cost, JudgeIdentity, Score, Usage


def costs(scores: Iterable[Score], prices: Mapping[str, Price]) -> list[Cost]:
    """One entry for each judge's model and metric that was paid for, in the order they come."""
    usages: dict[tuple[str, str], Usage] = {}
    priced: dict[str, Price | None] = {}
    for score in scores:
        if score.judge is None or score.judge.kind == "offline" or not score.usage.calls:
            continue
        model = score.judge.returned_model or score.judge.requested_model
        priced[model] = _price(score.judge, prices)
        usages[model, score.metric] = usages.get((model, score.metric), Usage()) + score.usage
    entries = []
    for (model, metric), usage in usages.items():
        price = priced[model]
        amount = None if price is None else price.cost(usage)
        currency = None if price is None else price.currency
        entries.append(Cost(judge=model, metric=metric, usage=usage, amount=amount, currency=currency))
    return entries


def total(entries: Iterable[Cost]) -> str | None:
    """The sum for people, e.g. `0.42 USD + unknown (no price for qwen-max)`; None: nothing was paid for."""
    sums: dict[str, float] = {}
    unknown: dict[str, None] = {}
    for entry in entries:
        if entry.amount is None or entry.currency is None:
            unknown[entry.judge] = None
        else:
            sums[entry.currency] = sums.get(entry.currency, 0.0) + entry.amount
    parts = [f"{amount:.4g} {currency}" for currency, amount in sums.items()]
    if unknown:
        parts.append(f"unknown (no price for {', '.join(unknown)})")
    return " + ".join(parts) or None


def _price(judge: JudgeIdentity, prices: Mapping[str, Price]) -> Price | None:
    """The price of the model that answered, else of the one that was asked for."""
    return prices.get(judge.returned_model or "") or prices.get(judge.requested_model)
