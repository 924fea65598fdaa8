"""From passes to figures: tables for people, results for the table of all benches."""

from dataclasses import dataclass
from statistics import mean, median
from typing import Any

from results import Result
from rich import box
from rich.console import Console
from rich.table import Table

MOST_CALLS, MOST_LATER_CALLS, MOST_TOKENS = 4, 3, 5000


@dataclass(frozen=True)
class Tool:
    """One tool with its passes."""

    name: str
    passes: list[dict[str, Any]]
    items: int

    def of(self, name: str) -> list[dict[str, Any]]:
        """All passes of a name."""
        return [one for one in self.passes if one["name"] == name]


@dataclass(frozen=True)
class Cost:
    """What passes of one kind cost; medians over the repeats.

    Attributes:
        chat, embeddings: calls an item; the one probe of a run is not in it.
        tokens: prompt tokens an item, schemas included.
        cpu_ms: a call, embeddings included.
        cpu_spread: the least and the most of the repeats.
        walls: seconds, each repeat.
        ideal: calls x latency / calls allowed in flight, seconds.
    """

    chat: float
    embeddings: float
    tokens: float
    cpu_ms: float
    cpu_spread: tuple[float, float]
    cpu_item_ms: float
    walls: list[float]
    ideal: float
    in_flight: str
    repeated: int
    load: float

    @classmethod
    def of(cls, passes: list[dict[str, Any]], items: int, in_flight: int, latency_s: float) -> "Cost":
        """The cost of passes."""
        calls = passes[0]["server"]["calls"]
        chat, embeddings = calls.get("chat", 0), calls.get("embeddings", 0)
        per_call = [one["cpu_s"] * 1000 / max(1, chat + embeddings) for one in passes]
        server = passes[0]["server"]
        return cls(
            chat=chat / items,
            embeddings=embeddings / items,
            tokens=server["prompt_tokens"] / items,
            cpu_ms=median(per_call),
            cpu_spread=(min(per_call), max(per_call)),
            cpu_item_ms=median(one["cpu_s"] for one in passes) * 1000 / items,
            walls=sorted(one["wall_s"] for one in passes),
            ideal=(chat + embeddings) * latency_s / in_flight,
            in_flight=f"{server['most_in_flight']} / {server['mean_in_flight']:.0f}",
            repeated=server["repeated_prompts"],
            load=median(one["load"] for one in passes),
        )

    @property
    def wall(self) -> float:
        """Seconds, the median."""
        return median(self.walls)


@dataclass(frozen=True)
class Harm:
    """What faults did to a tool's scores.

    Attributes:
        lost_run: what ended the run as the tool is shipped; None when it went on.
        missing: scores without a value, of `total`.
        changed: scores with a value that differs from the run without faults.
        shift: the largest change of a metric's mean.
    """

    lost_run: str | None
    missing: int
    total: int
    changed: int
    shift: float
    shifted: str

    @classmethod
    def of(cls, tool: Tool) -> "Harm":
        """Compare the faulty pass with the clean one."""
        faulty = tool.of("faults isolated")[0]
        shipped = (tool.of("faults as shipped") or [faulty])[0]
        clean = tool.of("first")[0]["scores"]
        found = faulty["scores"] or {name: [None] * len(column) for name, column in clean.items()}
        pairs = [pair for name in clean for pair in zip(clean[name], found[name], strict=True)]
        both = [(before, after) for before, after in pairs if before is not None and after is not None]
        shifts = {name: _mean(found[name]) - _mean(clean[name]) for name in clean}
        shifted = max(shifts, key=lambda name: abs(shifts[name]))
        return cls(
            lost_run=shipped["raised"],
            missing=sum(before is not None and after is None for before, after in pairs),
            total=len(pairs),
            changed=sum(abs(before - after) > 1e-9 for before, after in both),
            shift=shifts[shifted],
            shifted=shifted,
        )


def _mean(column: list[float | None]) -> float:
    scored = [score for score in column if score is not None]
    return mean(scored) if scored else 0.0


def print_tables(tools: dict[str, Tool], *, in_flight: int, latency_s: float) -> None:
    """Costs with ratios, nights, faults."""
    costs = {
        tool.name: Cost.of(tool.of("first"), tool.items, in_flight, latency_s) for tool in tools.values()
    }
    ours = tools["ours"]
    console = Console(width=118)
    for table in (
        _costs(costs, ours),
        _nights(ours, in_flight, latency_s),
        _faults(list(tools.values())),
    ):
        console.print(table)


def _costs(costs: dict[str, Cost], ours: Tool) -> Table:
    mine = costs[ours.name]
    others = {name: cost for name, cost in costs.items() if name != ours.name}
    table = Table(box=box.SIMPLE_HEAD, title=f"Five metrics, {ours.items} items")
    for column in ("", *costs, *(f"{name.split()[0]} ÷ ours" for name in others)):
        table.add_column(column, justify="right" if column else "left")

    def row(what: str, show: Any, ratio: Any = None) -> None:
        ratios = [f"{ratio(cost) / ratio(mine):.1f}" if ratio else "" for cost in others.values()]
        table.add_row(what, *map(show, costs.values()), *ratios)

    row("calls an item, chat + embeddings", lambda c: f"{c.chat:g} + {c.embeddings:g}", lambda c: c.chat)
    row("prompt tokens an item", lambda c: f"{c.tokens:.0f}", lambda c: c.tokens)
    row("CPU a call, ms", lambda c: f"{c.cpu_ms:.2f}", lambda c: c.cpu_ms)
    row("  least and most", lambda c: "{:.2f}-{:.2f}".format(*c.cpu_spread))
    row("CPU an item, ms", lambda c: f"{c.cpu_item_ms:.1f}", lambda c: c.cpu_item_ms)
    row("wall time, s", lambda c: f"{c.wall:.1f}", lambda c: c.wall)
    row("  least and most", lambda c: f"{c.walls[0]:.1f}-{c.walls[-1]:.1f}")
    row("share of ideal", lambda c: f"{c.ideal / c.wall:.0%}")
    row("in flight, most / mean", lambda c: c.in_flight)
    row("prompts sent again", lambda c: str(c.repeated))
    row("load average at the start", lambda c: f"{c.load:.1f}")
    return table


def _nights(ours: Tool, in_flight: int, latency_s: float) -> Table:
    names = {
        "first": "first night",
        "later": "a later night, all answers new",
        "unchanged": "answers unchanged",
        "embeddings": "first night, similarity from the endpoint's embeddings",
    }
    table = Table(box=box.SIMPLE_HEAD, title=f"{ours.name}, night by night")
    for column in ("", "calls an item", "prompt tokens an item", "wall, s"):
        table.add_column(column, justify="right" if column else "left")
    for name, what in names.items():
        cost = Cost.of(ours.of(name), ours.items, in_flight, latency_s)
        calls = f"{cost.chat:g} + {cost.embeddings:g}" if cost.embeddings else f"{cost.chat:g}"
        table.add_row(what, calls, f"{cost.tokens:.0f}", f"{cost.wall:.1f}")
    return table


def _faults(tools: list[Tool]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title="10 % of the calls fail, in every way")
    for column in ("", *(tool.name for tool in tools)):
        table.add_column(column, justify="right" if column else "left", max_width=34)
    harms = [Harm.of(tool) for tool in tools]
    table.add_row("run as shipped", *(f"lost: {h.lost_run[:60]}" if h.lost_run else "whole" for h in harms))
    table.add_row("then, each failure kept from the others:")
    table.add_row("scores without a value", *(f"{h.missing} of {h.total}" for h in harms))
    table.add_row("scores changed, nothing said", *(str(h.changed) for h in harms))
    table.add_row("largest change of a mean", *(f"{h.shift:+.3f} {h.shifted}" for h in harms))
    return table


def results(tools: dict[str, Tool], missing: dict[str, str]) -> list[Result]:
    """The figures with targets, and the ratios."""
    ours = tools["ours"]
    costs = {key: Cost.of(tool.of("first"), tool.items, 1, 1) for key, tool in tools.items()}
    mine = costs["ours"]
    later, again = (Cost.of(ours.of(name), ours.items, 1, 1) for name in ("later", "unchanged"))
    harm = Harm.of(ours)
    statuses = ours.of("faults isolated")[0]["statuses"]
    told, wanted = sum(statuses.values()), harm.total
    found = [
        Result("calls an item", f"{mine.chat:g}", f"at most {MOST_CALLS}", mine.chat <= MOST_CALLS),
        Result(
            "prompt tokens an item",
            f"{mine.tokens:.0f}",
            f"at most {MOST_TOKENS}",
            mine.tokens <= MOST_TOKENS,
        ),
        Result(
            "calls an item, later nights",
            f"{later.chat:g}",
            f"at most {MOST_LATER_CALLS}",
            later.chat <= MOST_LATER_CALLS,
        ),
        Result("calls an item, unchanged", f"{again.chat:g}", "none", again.chat == 0),
        Result("10 % faults: scores changed, silently", str(harm.changed), "none", harm.changed == 0),
        Result("10 % faults: scores with a status", str(told), str(wanted), told == wanted),
        *(Result(f"  {status}", str(count)) for status, count in statuses.items()),
        Result("10 % faults: run", "lost" if harm.lost_run else "whole", "whole", harm.lost_run is None),
    ]
    for key, cost in costs.items():
        if key != "ours":
            name = tools[key].name
            found += [
                Result(f"{name} ÷ ours: calls", f"{cost.chat / mine.chat:.1f}"),
                Result(f"{name} ÷ ours: tokens", f"{cost.tokens / mine.tokens:.1f}"),
                Result(f"{name} ÷ ours: CPU an item", f"{cost.cpu_item_ms / mine.cpu_item_ms:.1f}"),
                Result(f"{name} ÷ ours: wall time", f"{cost.wall / mine.wall:.1f}"),
            ]
    return found + [Result(f"{name}: not measured", "not installed") for name in missing]
