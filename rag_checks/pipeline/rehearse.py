"""What a night, or a file, would cost before anything is spent: nothing is asked, nothing is kept."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import chain, cycle
from pathlib import Path
from typing import Any

from rag_checks.costs import costs, total
from rag_checks.evaluation import fitting, in_order
from rag_checks.judge.rehearsal import Rehearsal
from rag_checks.metrics import Metric, grade_case
from rag_checks.metrics.catalogue import wanted as wanted_metrics
from rag_checks.monitor import Budget, Monitor, OpenAIJudge, Price
from rag_checks.pipeline.files import wanted_in_file
from rag_checks.pipeline.labelled import read_table
from rag_checks.pipeline.plan import (
    canary_cases,
    collect_night,
    golden_cases,
    golden_items,
    production_cases,
)
from rag_checks.records import Case, Cost, Response, Score, Usage
from rag_checks.settings import Settings
from rag_checks.store import Store


@dataclass(frozen=True)
class Estimate:
    """What grading some cases would take.

    Attributes:
        cases: how many, by source.
        usage: calls and estimated tokens; `cached` replies cost nothing.
        costs: by judge and metric, in money where the model has a price.
        left_out: cases that the budget would leave out, by source; None without a budget.
    """

    cases: dict[str, int]
    usage: Usage
    costs: list[Cost]
    left_out: dict[str, int] | None

    def as_lines(self) -> list[str]:
        """For people."""
        cases = ", ".join(f"{count} {source}" for source, count in self.cases.items()) or "no cases"
        prompts, replies = self.usage.prompt_tokens, self.usage.completion_tokens
        lines = [
            f"{cases}: {self.usage.calls:,} judge calls, {self.usage.cached:,} replies from the cache",
            f"about {prompts:,} prompt tokens and {replies:,} of replies, {prompts + replies:,} together",
            f"cost: {total(self.costs) or 'nothing to pay for'}",
        ]
        if self.left_out is not None:
            left = ", ".join(f"{count} {source}" for source, count in self.left_out.items())
            lines.append(f"the budget leaves out {left}" if left else "fits the budget")
        return lines

    def as_json(self) -> dict[str, Any]:
        """For other programs."""
        return {
            "cases": self.cases,
            "usage": self.usage.model_dump(),
            "costs": [cost.model_dump(mode="json") for cost in self.costs],
            "left_out": self.left_out,
        }


def estimate_night(
    monitor: Monitor, settings: Settings, night: date, *, ask_bot: bool, now: datetime | None = None
) -> Estimate:
    """What `run_night` would cost; the bot is not asked, nothing is stored.

    A golden item nobody has asked yet is taken to be answered with its reference, from passages like those of
    the night's logged turns.

    Raises:
        ConfigError, SourceError, SourceUnavailable: as planning the night would.
        StoreUnavailable, StoreError: the cache cannot be read.
    """
    if not isinstance(monitor.judge, OpenAIJudge):
        return Estimate({}, Usage(), [], None)
    logged = production_cases(collect_night(monitor, night, now or datetime.now(UTC)), monitor.shards)
    with Store.open(settings.store_url) as store:
        golden = []
        if ask_bot and monitor.bot is not None:
            stored = store.golden(monitor.golden_name) if monitor.golden.path is None else None
            items = stored.items if stored else ()
            if monitor.golden.path is not None:
                items = tuple(golden_items(monitor.directory / monitor.golden.path))
            golden = _as_if_asked(golden_cases(items, monitor.shards), logged)
        return estimate_cases(
            [*golden, *canary_cases(monitor), *logged],
            wanted_metrics(monitor),
            Rehearsal(monitor.judge, cache=store.reply_cache()),
            monitor,
            occasion=night.toordinal(),
        )


def estimate_file(
    path: Path,
    *,
    metric_names: Sequence[str] = (),
    rubric_files: Sequence[Path] = (),
    mapping: Mapping[str, str] | None = None,
    judge_name: str,
    limit: int | None = None,
) -> Estimate:
    """What `evaluate_file` would cost; see there for arguments and errors."""
    if judge_name == "offline":
        return Estimate({}, Usage(), [], None)
    wanted = wanted_in_file(metric_names, rubric_files)
    table = read_table(path, mapping or {}, None, limit)
    config = OpenAIJudge(kind="openai", model=judge_name)
    with Store.open(Settings.from_env().store_url) as store:
        judge = Rehearsal(config, cache=store.reply_cache())
        return estimate_cases(table.cases, wanted, judge, Monitor(monitor="file", judge=config))


def estimate_cases(
    cases: Sequence[Case], metrics: Sequence[Metric], judge: Rehearsal, monitor: Monitor, *, occasion: int = 0
) -> Estimate:
    """What grading these answered cases would take, in the order a run spends on them."""
    graded = asyncio.run(_graded(list(chain.from_iterable(in_order(cases))), metrics, judge, occasion))
    scores = [score for _, found in graded for score in found]
    price = monitor.prices.get(judge.identity.requested_model)
    return Estimate(
        cases=dict(Counter(case.source for case in cases)),
        usage=sum((score.usage for score in scores), start=Usage()),
        costs=costs(scores, monitor.prices),
        left_out=None if monitor.budget is None else _left_out(graded, monitor.budget, price),
    )


async def _graded(
    cases: Sequence[Case], metrics: Sequence[Metric], judge: Rehearsal, occasion: int
) -> list[tuple[Case, list[Score]]]:
    return [
        (
            case,
            await grade_case(
                "dry-run",
                case,
                fitting(metrics, case),
                judge,
                repeat=occasion if case.source == "canary" else 0,
            ),
        )
        for case in cases
    ]


def _left_out(
    graded: Sequence[tuple[Case, Sequence[Score]]], budget: Budget, price: Price | None
) -> dict[str, int]:
    """Cases after the one that reaches a limit, by source."""
    spent, left = Usage(), Counter[str]()
    for case, scores in graded:
        spent = sum((score.usage for score in scores), start=spent)
        amounts = {
            "calls": spent.calls,
            "tokens": spent.prompt_tokens + spent.completion_tokens,
            "money": price.cost(spent) if price else 0.0,
        }
        limits = {name: limit for name, limit in budget.model_dump().items() if limit is not None}
        if any(amounts[name] > limit for name, limit in limits.items()):
            left[case.source] += 1
    return dict(left)


def _as_if_asked(golden: Sequence[Case], logged: Sequence[Case]) -> list[Case]:
    """Golden cases answered with their reference, from the passages of logged turns in turn."""
    logged_passages = [case.response.retrieved_contexts for case in logged if case.response]
    passages = cycle(list(filter(None, logged_passages)) or [()])
    return [
        case.model_copy(
            update={
                "response": Response(
                    response=case.item.reference or case.item.user_input,
                    retrieved_contexts=next(passages) or case.item.reference_contexts or (),
                    intent=case.item.expected_intent,
                )
            }
        )
        for case in golden
    ]
