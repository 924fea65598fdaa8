"""The command `rag-checks`: thin, every command is one call into rag_checks.pipeline.

Exit codes: 0 all well; 1 a target is missed or cannot be judged for lack of data, or a check failed;
2 something a person must fix (configuration, key, file); 3 try again later (judge, Slack or database down).
Where two apply the later one is given: a night with the judge down has no data, and 3 says why.
"""

import json
import sys
import warnings
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from rag_checks import __version__
from rag_checks.errors import (
    ConfigError,
    DeliveryUncertain,
    RagChecksError,
    SlackRejected,
    SlackUnavailable,
    TransientError,
)
from rag_checks.progress import showing_progress

if TYPE_CHECKING:
    from rag_checks.pipeline.rehearse import Estimate

EXIT_QUALITY, EXIT_FIX, EXIT_LATER = 1, 2, 3

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Continuous regression monitor for RAG question-answering bots.",
)
config_app = typer.Typer(no_args_is_help=True, help="Monitor files: check, show, JSON Schema.")
db_app = typer.Typer(no_args_is_help=True, help="The store: state and migrations.")
demo_app = typer.Typer(no_args_is_help=True, help="The built-in demo: history, the night shown, its result.")
dataset_app = typer.Typer(no_args_is_help=True, help="Data sets of other tools: ragas, DeepEval, LangSmith.")
app.add_typer(config_app, name="config")
app.add_typer(db_app, name="db")
app.add_typer(demo_app, name="demo")
app.add_typer(dataset_app, name="dataset")

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)

MonitorArgument = Annotated[
    str, typer.Argument(help="Monitor name (in dags/monitors) or path of its YAML file.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Machine-readable output on stdout, nothing else.")]


def main(args: Sequence[str] | None = None) -> None:
    """Entry point: turns our errors into one message and an exit code.

    Args:
        args: instead of those of the process.
    """
    try:
        app(args)
    except RagChecksError as error:
        err.print(f"error: {error}", style="red", markup=False)
        sys.exit(EXIT_LATER if isinstance(error, TransientError) else EXIT_FIX)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        err.print(f"error: {place}{error.strerror or error}", style="red", markup=False)
        sys.exit(EXIT_FIX)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("rag_checks"):
            raise
        err.print(
            f"error: this command needs the package {error.name!r}: pip install 'rag-checks[monitor]'",
            style="red",
            markup=False,
        )
        sys.exit(EXIT_FIX)


def _print_version(value: bool) -> None:
    if value:
        out.print(f"rag-checks {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


NoCacheOption = Annotated[
    bool, typer.Option("--no-cache", help="Ask for every judgement anew and keep none; scores stay.")
]


@app.command()
def run(
    monitor: MonitorArgument,
    night: Annotated[
        str | None, typer.Option(help="Day to grade, YYYY-MM-DD in the monitor's zone; default: yesterday.")
    ] = None,
    backfill: Annotated[bool, typer.Option(help="Grade logged turns only; never alert.")] = False,
    ask_bot: Annotated[
        bool | None,
        typer.Option("--ask-bot/--no-ask-bot", help="Ask the golden questions; default: last night only."),
    ] = None,
    alert: Annotated[bool, typer.Option(help="Tell the owning team.")] = True,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Only estimate calls, tokens and cost; nothing is asked or stored."),
    ] = False,
    no_cache: NoCacheOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run one night: sample, ask, grade, decide, report and tell. Works without Airflow."""
    _require_monitor_extra()
    from rag_checks.pipeline.plan import asks_live  # noqa: PLC0415 - `--help` must not wait for the pipeline
    from rag_checks.pipeline.run import run_night  # noqa: PLC0415
    from rag_checks.pipeline.runs import nightly_run_id  # noqa: PLC0415
    from rag_checks.pipeline.summary import summarise  # noqa: PLC0415
    from rag_checks.settings import Settings  # noqa: PLC0415
    from rag_checks.terminal import print_run, run_json  # noqa: PLC0415

    settings = Settings.from_env()
    loaded = settings.monitor(monitor)
    today = datetime.now(loaded.zone).date()
    day = _day(night) or today - timedelta(days=1)
    if day > today:
        raise ConfigError(f"{day} has not come yet in {loaded.time_zone}", key="--night")
    if ask_bot is None:
        ask_bot = asks_live(loaded, day, backfill=backfill)
    if dry_run:
        from rag_checks.pipeline.rehearse import estimate_night  # noqa: PLC0415

        _show_estimate(estimate_night(loaded, settings, day, ask_bot=ask_bot), as_json=as_json)
        return
    files, message = None, None
    problem: RagChecksError | None = None
    with showing_progress(err) as step:
        try:
            result = run_night(
                loaded,
                settings,
                day,
                backfill=backfill,
                ask_bot=ask_bot,
                use_cache=not no_cache,
                wanted_alert="auto" if alert else "no",
                step=step,
                progress=step.count,
            )
            files, message, problem = result.report, result.message, result.outage
        except (SlackUnavailable, SlackRejected, DeliveryUncertain) as error:
            problem = error  # telling comes last: what there is to tell is stored, and shown here
    summary, _ = summarise(loaded, settings, nightly_run_id(loaded.monitor, day))
    if as_json:
        _print_json(run_json(summary, files, message))
    else:
        print_run(out, summary, files, message)
    if problem is not None:
        raise problem
    raise typer.Exit(_exit_code(summary.level))


@app.command()
def report(
    monitor: MonitorArgument,
    night: Annotated[str | None, typer.Option(help="YYYY-MM-DD; default: the latest run.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Write the HTML report of a stored run again, and show its verdicts."""
    _require_monitor_extra()
    from rag_checks.pipeline.deliver import report as write_report  # noqa: PLC0415
    from rag_checks.pipeline.runs import find_run  # noqa: PLC0415
    from rag_checks.pipeline.summary import summarise  # noqa: PLC0415
    from rag_checks.settings import Settings  # noqa: PLC0415
    from rag_checks.terminal import print_run, run_json  # noqa: PLC0415

    settings = Settings.from_env()
    loaded = settings.monitor(monitor)
    eval_run_id = find_run(loaded, settings, _day(night))
    files = write_report(loaded, settings, eval_run_id)
    summary, _ = summarise(loaded, settings, eval_run_id)
    if as_json:
        _print_json(run_json(summary, files, None))
    else:
        print_run(out, summary, files, None)
    raise typer.Exit(_exit_code(summary.level))


@app.command()
def evaluate(
    file: Annotated[
        Path, typer.Argument(help="JSONL, JSON array, CSV or Parquet of questions with answers.")
    ],
    metrics: Annotated[str, typer.Option(help="Comma-separated; default: all that apply.")] = "",
    rubric: Annotated[
        list[Path] | None, typer.Option(help="YAML file of a rubric of your own to grade; repeatable.")
    ] = None,
    mapping: Annotated[
        list[str] | None, typer.Option("--map", help="FIELD=COLUMN, e.g. reference=gold; repeatable.")
    ] = None,
    labels: Annotated[
        str | None, typer.Option(help="Column with people's labels (true/false): prints agreement.")
    ] = None,
    judge: Annotated[str, typer.Option(help="offline, or a model name at OPENAI_BASE_URL.")] = "offline",
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N rows that can be read.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write scores as JSONL.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only estimate calls and tokens; nothing is asked.")
    ] = False,
    no_cache: NoCacheOption = False,
    as_json: JsonOption = False,
) -> None:
    """Grade any file of questions and answers, and compare with people's labels."""
    names = [name.strip() for name in metrics.split(",") if name.strip()]
    if dry_run:
        from rag_checks.pipeline.rehearse import estimate_file  # noqa: PLC0415

        estimate = estimate_file(
            file,
            metric_names=names,
            rubric_files=rubric or [],
            mapping=_mapping(mapping or []),
            judge_name=judge,
            limit=limit,
        )
        _show_estimate(estimate, as_json=as_json)
        return
    from rag_checks.pipeline.files import evaluate_file  # noqa: PLC0415
    from rag_checks.terminal import print_file  # noqa: PLC0415

    with showing_progress(err) as step:
        result = evaluate_file(
            file,
            metric_names=names,
            rubric_files=rubric or [],
            mapping=_mapping(mapping or []),
            label_field=labels,
            judge_name=judge,
            limit=limit,
            output=output,
            use_cache=not no_cache,
            progress=step.count,
        )
    if as_json:
        _print_json(result.as_json())
    else:
        print_file(out, result)
    if result.error is not None:
        raise result.error


@app.command()
def doctor(
    monitor: Annotated[str | None, typer.Argument(help="One monitor; default: all.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Check store, monitor files, sources, judge, bot and Slack, and say what is wrong and how to mend it."""
    from rag_checks.pipeline.health import doctor as examine  # noqa: PLC0415
    from rag_checks.settings import Settings  # noqa: PLC0415
    from rag_checks.terminal import print_doctor  # noqa: PLC0415

    findings = examine(Settings.from_env(), monitor)
    if as_json:
        _print_json([finding.as_json() for finding in findings])
    else:
        print_doctor(out, findings)
    raise typer.Exit(EXIT_QUALITY if any(finding.state == "bad" for finding in findings) else 0)


@app.command()
def watch(
    monitor: Annotated[str | None, typer.Argument(help="One monitor; default: all.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Tell the teams whose last due night was not delivered. For cron, best on another machine."""
    _require_monitor_extra()
    from rag_checks.pipeline.watch import watch_all  # noqa: PLC0415
    from rag_checks.settings import Settings  # noqa: PLC0415

    looked_at = watch_all(Settings.from_env(), monitor)
    if as_json:
        _print_json([one.as_json() for one in looked_at])
    else:
        for one in looked_at:
            out.print(one.as_line(), markup=False, highlight=False)
    raise typer.Exit(EXIT_QUALITY if any(one.bad for one in looked_at) else 0)


@config_app.command("check")
def config_check(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Files or folders; default: dags/monitors.")
    ] = None,
) -> None:
    """Check monitor files; every mistake is named with file, line, key and fix."""
    from rag_checks.monitor_files import (  # noqa: PLC0415
        find_monitor_files,
        load_monitor,
        missing_secrets,
        same_names,
    )
    from rag_checks.settings import Settings  # noqa: PLC0415

    settings = Settings.from_env()
    if not files and not settings.monitors.is_dir():
        raise ConfigError(
            "no such folder; set RAG_CHECKS_MONITORS, or name files or folders", file=str(settings.monitors)
        )
    paths: list[Path] = []
    for place in files or [settings.monitors]:
        paths += find_monitor_files(place) if place.is_dir() else [place]
    if not paths:
        raise ConfigError("no monitor files found", file=str(files[0] if files else settings.monitors))
    broken = False
    names: dict[Path, str] = {}
    for path in dict.fromkeys(paths):
        try:
            loaded = load_monitor(path, settings.environ)
        except ConfigError as error:
            broken = True
            err.print(str(error), style="red", markup=False)
            continue
        names[path] = loaded.monitor
        missing = missing_secrets(loaded, settings.environ)
        for secret in missing:
            err.print(str(secret), style="yellow", markup=False)
        broken = broken or bool(missing)
        out.print(f"{path}: {loaded.monitor}: " + ("secrets missing" if missing else "ok"), markup=False)
    for problem in same_names(names):
        broken = True
        err.print(problem, style="red", markup=False)
    raise typer.Exit(EXIT_FIX if broken else 0)


@config_app.command("schema")
def config_schema() -> None:
    """Print the JSON Schema of monitor files, for editors."""
    from rag_checks.monitor_files import json_schema  # noqa: PLC0415

    _print_json(json_schema())


@config_app.command("show")
def config_show(monitor: MonitorArgument) -> None:
    """Print a monitor with every default filled in."""
    from rag_checks.settings import Settings  # noqa: PLC0415

    _print_json(Settings.from_env().monitor(monitor).model_dump(mode="json", exclude={"directory"}))


@db_app.command("upgrade")
def db_upgrade() -> None:
    """Bring the store to this version's schema."""
    from rag_checks.settings import Settings  # noqa: PLC0415
    from rag_checks.store import upgrade  # noqa: PLC0415

    before, after = upgrade(Settings.from_env().store_url)
    out.print(f"schema {before or 'empty'} → {after}")


@db_app.command("status")
def db_status() -> None:
    """Show the store's schema and this version's."""
    from rag_checks.settings import Settings  # noqa: PLC0415
    from rag_checks.store import head_revision, schema_revision  # noqa: PLC0415

    have, want = schema_revision(Settings.from_env().store_url), head_revision()
    newer = have is not None and have > want
    fix = "install the version that wrote it" if newer else "run: rag-checks db upgrade"
    out.print(f"schema {have or 'empty'}, this version needs {want}" + ("" if have == want else f"; {fix}"))
    raise typer.Exit(0 if have == want else EXIT_FIX)


@db_app.command("purge-replies")
def db_purge_replies(
    older_than_days: Annotated[int, typer.Option(min=0, help="Replies kept longer than this are deleted.")],
) -> None:
    """Delete old replies of judges; what needs them again is paid again. Scores and evidence stay."""
    from rag_checks.settings import Settings  # noqa: PLC0415
    from rag_checks.store import Store  # noqa: PLC0415

    with Store.open(Settings.from_env().store_url) as store:
        gone = store.purge_replies(datetime.now(UTC) - timedelta(days=older_than_days))
    out.print(f"{gone} replies deleted")


@demo_app.command("history")
def demo_history(
    defect: Annotated[bool, typer.Option(help="Deploy the release with the real defect.")] = True,
) -> None:
    """Write the demo bot's logs and run every night before the shown one; nights already done are kept."""
    _require_monitor_extra()
    from rag_checks.pipeline.demo import load_history  # noqa: PLC0415
    from rag_checks.settings import Settings  # noqa: PLC0415

    with showing_progress(err) as step:
        history = load_history(Settings.from_env(), defect=defect, progress=step)
    out.print(
        f"Demo history: {history.nights_run} nights graded now, {history.nights_kept} were there already."
    )


@demo_app.command("night")
def demo_night() -> None:
    """Print the day the demo shows."""
    from rag_checks.demo.timeline import SHOWN_NIGHT  # noqa: PLC0415

    out.print(SHOWN_NIGHT.isoformat())


@demo_app.command("show")
def demo_show() -> None:
    """Show what the demo's night found, and what to do next."""
    _require_monitor_extra()
    from rag_checks.pipeline.demo import shown_night  # noqa: PLC0415
    from rag_checks.settings import Settings  # noqa: PLC0415
    from rag_checks.terminal import print_next_steps, print_run  # noqa: PLC0415

    summary, files, message = shown_night(Settings.from_env())
    print_run(out, summary, files, message)
    print_next_steps(out)


@dataset_app.command("convert")
def dataset_convert(
    source: Annotated[Path, typer.Argument(help="JSON array, JSONL, CSV or Parquet.")],
    target: Annotated[Path, typer.Argument(help="FILE.jsonl or FILE.json.")],
    to: Annotated[str, typer.Option(help="ragas, deepeval, langsmith or native (our names).")],
    shape: Annotated[
        str | None, typer.Option("--from", help="The same names; default: told from each row.")
    ] = None,
) -> None:
    """Convert a data set from one tool's shape to another's; nothing is lost on the way."""
    from rag_checks.datasets import convert  # noqa: PLC0415 - `--help` must not wait for it

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        rows = convert(source, target, to=to, shape=shape)
    for warning in told:
        err.print(str(warning.message), style="yellow", markup=False)
    out.print(f"{target}: {rows} rows", markup=False)


def _require_monitor_extra() -> None:
    """Before anything else is imported: those imports are what would fail."""
    from rag_checks.pipeline.extras import require_monitor_extra  # noqa: PLC0415

    require_monitor_extra()


def _day(text: str | None) -> date | None:
    if text is None:
        return None
    try:
        # Python also takes 20260310 and 2026-W10-2, which nobody means.
        return datetime.strptime(text, "%Y-%m-%d").date()  # noqa: DTZ007 - a day has no zone
    except ValueError as error:
        raise ConfigError(f"{text!r} is not a day; write YYYY-MM-DD", key="--night") from error


def _mapping(pairs: list[str]) -> dict[str, str]:
    mapping = {}
    for pair in pairs:
        name, equals, column = pair.partition("=")
        if not equals or not name or not column:
            raise ConfigError(f"{pair!r}: write FIELD=COLUMN, e.g. reference=gold", key="--map")
        mapping[name.strip()] = column.strip()
    return mapping


def _show_estimate(estimate: "Estimate", *, as_json: bool) -> None:
    if as_json:
        _print_json(estimate.as_json())
        return
    for line in estimate.as_lines():
        out.print(line, markup=False, highlight=False)


def _exit_code(level: str) -> int:
    return EXIT_QUALITY if level in {"fail", "no_data", "judge_changed"} else 0


def _print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n")


if __name__ == "__main__":
    main()
