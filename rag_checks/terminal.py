"""What the command line shows of a run, a graded file and a check-up."""

from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rag_checks.alerts.phrases import is_drop, is_uncompared
from rag_checks.alerts.terminal import as_terminal
from rag_checks.costs import total
from rag_checks.records import Level, OutboxMessage, RunSummary, Verdict

# Each command's own part of the pipeline is loaded by that command: what is shown here only names it.
if TYPE_CHECKING:
    from rag_checks.pipeline.deliver import ReportFiles
    from rag_checks.pipeline.files import FileResult
    from rag_checks.pipeline.health import Check

_STYLE = {
    Level.OK: "green",
    Level.WATCH: "yellow",
    Level.FAIL: "bold red",
    Level.NO_DATA: "magenta",
    Level.JUDGE_CHANGED: "cyan",
}
_ORDER = [Level.FAIL, Level.NO_DATA, Level.JUDGE_CHANGED, Level.WATCH, Level.OK]


def print_run(
    out: Console, summary: RunSummary, files: "ReportFiles | None", message: OutboxMessage | None
) -> None:
    """Table of metrics, where it broke, the message and the report's path."""
    run = summary.run
    out.print(
        f"\n[bold]{escape(summary.title)}[/] · night {run.night} · release {escape(run.release or 'unknown')}"
        f" · {_styled(summary.level)}"
    )
    counts = run.counts
    out.print(
        f"{counts.get('in_window', 0)} turns in the window, {counts.get('sampled', 0)} sampled,"
        f" {counts.get('golden', 0)} golden items asked, {counts.get('quarantined', 0)} lines quarantined,"
        f" {summary.usage.calls} judge calls, {summary.usage.cached} from the cache"
    )
    if run.kind == "nightly" and not counts.get("asked_live", 1) and not counts.get("golden"):
        out.print("golden set not asked: an older night, a backfill or no bot; --ask-bot asks it today")
    if cost := total(summary.costs):
        tokens = summary.usage.prompt_tokens + summary.usage.completion_tokens
        out.print(f"judge: {tokens:,} tokens, cost {escape(cost)}")
    if run.problem:
        out.print(f"[bold red]{escape(run.problem)}[/]")
    if summary.judge_note:
        out.print(f"[dim]offline judge (string features, no model); {escape(summary.judge_note)}[/]")
    _print_verdicts(out, summary.verdicts)
    if summary.findings:
        out.print("[bold]Where it broke[/]")
        for finding in summary.findings:
            out.print(f"  • {finding.summary}", markup=False)
            out.print(f"    → {finding.next_step}", markup=False, style="dim")
    if message is not None:
        out.print(f"\n[bold]Slack message[/] ({_fate(message)})")
        out.print(as_terminal(message.payload), markup=False, end="")
    if files is not None:
        out.print(f"\nReport: {files.html}", markup=False)


def print_next_steps(out: Console) -> None:
    """What a newcomer does after the demo."""
    out.print(
        "\n[bold]Next[/]\n"
        "  the report above       open it: every item with question, passages, answer, reference, claims\n"
        "  make up                Airflow's pages on 127.0.0.1, with this DAG\n"
        "  your own bot and logs  copy dags/monitors/employee_help.yaml; set bot, conversations and golden;\n"
        "                         then .venv/bin/rag-checks config check and .venv/bin/rag-checks doctor\n"
        "  a real judge           judge: {kind: openai, model: …} in it, and OPENAI_API_KEY, OPENAI_BASE_URL"
    )


def run_json(
    summary: RunSummary, files: "ReportFiles | None", message: OutboxMessage | None
) -> dict[str, Any]:
    """The same for machines."""
    return {
        "run": summary.run.model_dump(mode="json"),
        "level": summary.level,
        "verdicts": [verdict.model_dump(mode="json") for verdict in summary.verdicts],
        "findings": [finding.model_dump(mode="json") for finding in summary.findings],
        "usage": summary.usage.model_dump(),
        "costs": [cost.model_dump(mode="json") for cost in summary.costs],
        "judge_note": summary.judge_note,
        "report": str(files.html) if files else None,
        "message": {"id": message.message_id, "state": message.state} if message else None,
    }


def print_file(out: Console, result: "FileResult") -> None:
    """Means with interval and coverage, agreement with labels, and what could not be read."""
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("metric", "mean", "95 % interval", "scored", "failed", "not applicable"):
        table.add_column(column, justify="left" if column == "metric" else "right")
    for row in result.metrics:
        table.add_row(
            row.metric,
            _number(row.mean),
            _interval(row.low, row.high),
            f"{row.n_ok}/{row.n_total}",
            str(row.n_failed),
            str(row.n_not_applicable),
        )
    out.print(table)
    if result.agreements:
        labels = Table(box=box.SIMPLE_HEAD, title=f"Agreement with people ({result.label_field})")
        for column in ("metric", "n", "without score", "accuracy", "kappa", "95 % interval", "AUC"):
            labels.add_column(column, justify="left" if column == "metric" else "right")
        for name, agreement in result.agreements.items():
            labels.add_row(
                name,
                str(agreement.n),
                str(agreement.n_missing),
                _number(agreement.accuracy),
                _number(agreement.kappa),
                _interval(agreement.kappa_low, agreement.kappa_high),
                _number(agreement.auc),
            )
        out.print(labels)
    out.print(f"judge: {result.judge_line}", markup=False, style="dim")
    for problem in result.problems:
        out.print(problem, markup=False, style="yellow")


def print_doctor(out: Console, checks: "list[Check]") -> None:
    """One line a check, with the fix where one is needed."""
    marks = {"ok": "[green]✓[/]", "note": "[yellow]•[/]", "bad": "[red]✗[/]"}
    for check in checks:
        out.print(f"{marks[check.state]} {escape(check.subject)}: {escape(check.detail)}")
        if check.fix:
            out.print(f"    → {check.fix}", markup=False)


def _print_verdicts(out: Console, verdicts: tuple[Verdict, ...]) -> None:
    """One table a series, worst metric first, its outstanding intents under it; fits 80 columns."""
    for source, title in (("golden", "Golden set"), ("production", "Conversations")):
        rows = [verdict for verdict in verdicts if verdict.source == source]
        if not rows:
            continue
        table = Table(
            box=box.SIMPLE_HEAD,
            title=title,
            title_justify="left",
            title_style="bold",
            padding=(0, 1, 0, 0),
            show_edge=False,
        )
        for column in ("metric", "value", "interval", "scored", "target", "baseline", "verdict"):
            left = column in {"metric", "verdict"}
            table.add_column(column, justify="left" if left else "right", no_wrap=True)
        metrics = {verdict.metric: _ORDER.index(verdict.level) for verdict in rows if verdict.slice == "all"}
        order = sorted(
            rows, key=lambda v: (metrics.get(v.metric, 0), v.metric, v.slice != "all", _ORDER.index(v.level))
        )
        for verdict in order:
            whole = verdict.slice == "all"
            table.add_row(
                escape(verdict.metric if whole else f"└ {verdict.slice.removeprefix('intent:')}"),
                _number(verdict.value),
                _interval(verdict.low, verdict.high),
                f"{verdict.n_ok}/{verdict.n_total}",
                _number(verdict.minimum),
                _number(verdict.baseline),
                "[dim]no target[/]" if is_uncompared(verdict) else _stands(verdict),
            )
        out.print(table)


def _fate(message: OutboxMessage) -> str:
    if message.state == "printed":
        return "no SLACK_BOT_TOKEN: printed here and saved"
    return f"{message.state} to {message.channel or 'the webhook'}"


def _stands(verdict: Verdict) -> str:
    """The level, and whether a fail is a drop: in few letters, or 80 columns cut the interval."""
    if is_drop(verdict):
        return f"[{_STYLE[verdict.level]}]fail: drop[/]"
    return _styled(verdict.level)


def _styled(level: Level) -> str:
    return f"[{_STYLE[level]}]{level.value}[/]"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _interval(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else f"{low:.2f}–{high:.2f}"
