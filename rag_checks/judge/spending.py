"""The budget of a run: what a judge may still spend, never exceeded by what is in flight."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from rag_checks.errors import ConfigError, JudgeError
from rag_checks.monitor import Budget, Price
from rag_checks.records import Language, Usage

OVER_BUDGET = "over_budget"
_LOOK_AGAIN_S = 0.02
_USED_UP: dict[Language, dict[str, str]] = {
    "en": {
        "whole": "the run's budget is used up",
        "part": "this shard's part of the run's budget is used up",
    },
    "zh": {"whole": "本次运行的预算已用完", "part": "本分片的预算份额已用完"},
}


@dataclass(frozen=True)
class _Amount:
    """Calls, tokens and money, spent or set aside."""

    calls: float = 0
    tokens: float = 0
    money: float = 0

    def __add__(self, other: "_Amount") -> "_Amount":
        return _Amount(self.calls + other.calls, self.tokens + other.tokens, self.money + other.money)


class Spending:
    """What may be spent, and what is.

    A judgement sets aside the most it can cost (the call, one repair of twice the length) before it is asked.
    When that does not fit beside what others have set aside it waits for them; when it does not fit at all,
    nothing more is asked, so that the order of the cases decides what is left out.

    Args:
        budget: the limits.
        price: of the judge's model; needed for a limit of money.
        before: what earlier attempts at the same cases have cost.
        share: part of the budget this process may spend, 0..1.
        language: of what is told when it is used up.

    Raises:
        ConfigError: a limit of money without a price.
    """

    def __init__(
        self,
        budget: Budget,
        price: Price | None,
        *,
        before: Usage,
        share: float = 1.0,
        language: Language = "en",
    ) -> None:
        if budget.money is not None and price is None:
            raise ConfigError("the judge's model has no price; add it to prices", key="budget.money")
        self._price = price or Price(prompt=0, completion=0)
        self._limits = [
            (name, limit * share) for name, limit in budget.model_dump().items() if limit is not None
        ]
        self._before = self._amount(before)
        self._words = _USED_UP[language]["whole" if share == 1.0 else "part"]
        self._set_aside: list[_Amount] = []
        self._over: str | None = None

    @asynccontextmanager
    async def hold(self, prompt: int, reply: int, spent: Callable[[], Usage]) -> AsyncIterator[None]:
        """Set aside the cost of one judgement while it is asked.

        Args:
            prompt: estimated tokens of the request.
            reply: most tokens of a reply.
            spent: what the judge has cost so far.

        Raises:
            JudgeError: kind over_budget.
        """
        most = self._amount(Usage(calls=2, prompt_tokens=2 * prompt + reply, completion_tokens=3 * reply))
        while not self._fits(most, self._amount(spent())):
            if self._over is not None or not self._set_aside:
                self._over = self._over or self._told(self._amount(spent()))
                raise JudgeError(self._over, kind=OVER_BUDGET)
            await asyncio.sleep(_LOOK_AGAIN_S)
        self._set_aside.append(most)
        try:
            yield
        finally:
            self._set_aside.remove(most)

    def _amount(self, usage: Usage) -> _Amount:
        return _Amount(usage.calls, usage.prompt_tokens + usage.completion_tokens, self._price.cost(usage))

    def _fits(self, more: _Amount, spent: _Amount) -> bool:
        if self._over is not None:
            return False
        wanted = sum(self._set_aside, start=self._before + spent + more)
        return all(getattr(wanted, name) <= limit for name, limit in self._limits)

    def _told(self, spent: _Amount) -> str:
        total = self._before + spent
        parts = [f"{getattr(total, name):.6g} of {limit:.6g} {name}" for name, limit in self._limits]
        return f"{self._words} ({', '.join(parts)})"
