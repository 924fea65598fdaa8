"""Reading monitor files: every mistake is named with file, line, key and the fix."""

import os
import re
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rag_checks.errors import ConfigError, MissingSecret
from rag_checks.intake.formats import known_formats
from rag_checks.metrics.catalogue import catalogue, rubric_titles
from rag_checks.monitor import HttpBot, Monitor, OpenAIBot, OpenAIJudge
from rag_checks.yaml_files import Key, Lines, dotted, read_yaml, suggest, told

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_NAME = re.compile(r"""^monitor:\s*["']?(\w+)""", re.MULTILINE)
_OPENAI = "https://api.openai.com/v1"


# Secrets and what connections provide: the bot and the judge fill these in when they are opened, so that no
# secret is in the configuration and DAGs can be read without any connection.
_FILLED_LATE = {("bot", "headers"), ("bot", "url"), ("judge", "extra_headers"), ("judge", "extra_body")}


# What a text that must have a form looks like; nobody reads a pattern.
_FORMS: dict[str | int, str] = {
    "callable": "write module:function, e.g. my_bot:ask",
    "monitor": "write up to 63 small letters, digits and _, a letter first, e.g. shop_help",
}
# Fields of a monitor that are no keys of its file.
_OURS = ("directory", "file")


def load_monitor(path: Path, environ: Mapping[str, str] = os.environ) -> Monitor:
    """Read and check one monitor file.

    `${NAME}` in values is filled from `environ` (bot headers are left for the bot: they are secrets).
    Raises ConfigError listing every problem found, one a line.
    """
    data, lines = read_yaml(path)
    problems: list[str] = []
    data = _expand(data, (), environ, path, lines, problems)
    monitor = None
    try:
        monitor = Monitor.model_validate({**data, "directory": path.parent.resolve(), "file": path})
    except ValidationError as error:
        problems.extend(_describe(error, path, lines))
    if monitor is not None:
        problems.extend(_unknown_metrics(monitor, path, lines))
        problems.extend(_unknown_format(monitor, path, lines))
        problems.extend(_unusable_prompts(monitor, path, lines))
    if problems or monitor is None:
        raise ConfigError("\n".join(problems))
    return monitor


def find_monitor_files(folder: Path) -> list[Path]:
    """The monitor files of a folder, sorted by name."""
    return sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")])


def monitor_file(folder: Path, name_or_path: str) -> Path:
    """The file behind a path, or behind a monitor's name: the file called so, or else the one that says so.

    Raises ConfigError naming the monitors there are.
    """
    if Path(name_or_path).suffix in {".yaml", ".yml"}:
        return Path(name_or_path)
    known = {path: _name_in(path) for path in find_monitor_files(folder)}
    for path, name in known.items():
        if name_or_path in (path.stem, name):
            return path
    if not known:
        where = f"there are no monitor files in {folder}; set RAG_CHECKS_MONITORS, or give the path of a file"
        raise ConfigError(f"no monitor {name_or_path!r}: {where}")
    names = list(dict.fromkeys(known.values()))
    raise ConfigError(f"no monitor {name_or_path!r} in {folder}{suggest(name_or_path, names)}")


def same_names(monitors: Mapping[Path, str]) -> list[str]:
    """What to say about monitors of one name: their runs would overwrite each other."""
    first: dict[str, Path] = {}
    return [
        f"{path}: monitor: {name!r} is the name of {first[name]} too; names must differ"
        for path, name in monitors.items()
        if first.setdefault(name, path) != path
    ]


def missing_secrets(monitor: Monitor, environ: Mapping[str, str] = os.environ) -> list[MissingSecret]:
    """The secrets this monitor needs and the environment lacks, with file, line and key."""
    return [located(secret, monitor) for secret in _missing(monitor, environ)]


def located(secret: MissingSecret, monitor: Monitor) -> MissingSecret:
    """The same error with the file and line of its key, when the monitor was read from a file."""
    if monitor.file is None or secret.file is not None or secret.key is None:
        return secret
    try:
        _, lines = read_yaml(monitor.file)
        place = f"{monitor.file}:{lines.near(tuple(secret.key.split('.')))}"
    except ConfigError:  # changed since it was read: what is missing is missing all the same
        place = str(monitor.file)
    return MissingSecret(str(secret).removeprefix(f"{secret.key}: "), file=place, key=secret.key)


def _missing(monitor: Monitor, environ: Mapping[str, str]) -> list[MissingSecret]:
    missing: list[MissingSecret] = []
    judge = monitor.judge
    if isinstance(judge, OpenAIJudge):
        base_url = judge.base_url or environ.get("OPENAI_BASE_URL") or _OPENAI
        if base_url.rstrip("/") == _OPENAI and not environ.get("OPENAI_API_KEY"):
            missing.append(
                MissingSecret(
                    "the judge needs a key: set OPENAI_API_KEY or the Airflow connection rag_checks_judge,"
                    " or use judge: {kind: offline}",
                    key="judge",
                )
            )
    if isinstance(monitor.bot, OpenAIBot) and monitor.bot.base_url is None:
        own_place = environ.get("RAG_CHECKS_BOT_BASE_URL") or environ.get("OPENAI_BASE_URL")
        if not own_place and not (environ.get("RAG_CHECKS_BOT_API_KEY") or environ.get("OPENAI_API_KEY")):
            missing.append(
                MissingSecret(
                    "the bot needs a key: set RAG_CHECKS_BOT_API_KEY or the connection rag_checks_bot",
                    key="bot",
                )
            )
    missing.extend(
        MissingSecret(f"set {name} in the environment or an Airflow connection", key=key)
        for key, value in _late_values(monitor)
        for name in _VARIABLE.findall(value)
        if not environ.get(name)
    )
    return missing


def _late_values(monitor: Monitor) -> Iterator[tuple[str, str]]:
    """Key and text of all that is filled in only when bot and judge are opened."""
    if isinstance(monitor.bot, HttpBot):
        yield "bot.url", monitor.bot.url
        for header, value in monitor.bot.headers.items():
            yield f"bot.headers.{header}", value
    if isinstance(monitor.judge, OpenAIJudge):
        for header, value in monitor.judge.extra_headers.items():
            yield f"judge.extra_headers.{header}", value


def json_schema() -> dict[str, Any]:
    """JSON Schema of a monitor file, for editors."""
    schema = Monitor.model_json_schema(mode="validation")
    for name in _OURS:
        schema["properties"].pop(name, None)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _name_in(path: Path) -> str:
    """The monitor's name as its file says, well-formed or not; the file's name where that cannot be told."""
    try:
        found = _NAME.search(path.read_text(encoding="utf-8-sig", errors="replace"))
    except OSError:
        return path.stem
    return found.group(1) if found else path.stem


def _expand(
    value: Any,
    path: Key,
    environ: Mapping[str, str],
    file: Path,
    lines: Lines,
    problems: list[str],
) -> Any:
    if path[:2] in _FILLED_LATE:
        return value
    if isinstance(value, dict):
        return {k: _expand(v, (*path, str(k)), environ, file, lines, problems) for k, v in value.items()}
    if isinstance(value, list):
        return [_expand(v, (*path, i), environ, file, lines, problems) for i, v in enumerate(value)]
    if isinstance(value, date):  # YAML reads 2026-03-01 without quotes as a date; all our dates are texts
        return value.isoformat()
    if not isinstance(value, str):
        return value

    def fill(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in environ:
            problems.append(
                f"{file}:{lines.near(path)}: {dotted(path)}: ${{{name}}} is not set; export {name} first"
            )
        return environ.get(name, "")

    return _VARIABLE.sub(fill, value)


def _describe(error: ValidationError, file: Path, lines: Lines) -> Iterator[str]:
    for problem in error.errors(include_url=False):
        path = _yaml_path(problem["loc"], lines)
        message = told(problem, Monitor, _OURS)
        if problem["type"] in {"union_tag_invalid", "union_tag_not_found"}:
            context = problem.get("ctx", {})
            path = (*path, "kind")
            message = f"kind must be one of {context.get('expected_tags', 'the known kinds')}" + (
                suggest(str(context["tag"]), re.findall(r"'(\w+)'", context.get("expected_tags", "")))
                if "tag" in context
                else ""
            )
        elif problem["type"] == "string_pattern_mismatch" and path[-1] in _FORMS:
            message = f"{_FORMS[path[-1]]} (got {problem.get('input')!r})"
        yield f"{file}:{lines.near(path)}: {dotted(path)}: {message}"


def _yaml_path(loc: Key, lines: Lines) -> Key:
    """The location without the union tags pydantic puts into it (`bot.http.url` is `bot.url`)."""
    path: Key = ()
    for position, part in enumerate(loc):
        is_tag = position == 1 and loc[0] in {"bot", "judge"} and (*path, part) not in lines
        if not is_tag:
            path = (*path, part)
    return path


def _unknown_metrics(monitor: Monitor, file: Path, lines: Lines) -> Iterator[str]:
    places: list[tuple[Key, str]] = [(("metrics", i), name) for i, name in enumerate(monitor.metrics)]
    places += [(("targets", i, "metric"), target.metric) for i, target in enumerate(monitor.targets)]
    try:
        known = list(catalogue(monitor))
        own = rubric_titles(monitor).keys() if monitor.rubrics else set()
    except ConfigError as error:
        # A wrong rubric names its own file; the monitor's line is the one that brings it in.
        key = ("rubrics",) if error.key is None or error.file else tuple(error.key.split("."))
        yield f"{file}:{lines.near(key)}: {error}"
        return
    if own and own.isdisjoint(monitor.metrics):
        names = ", ".join(own)
        yield f"{file}:{lines.near(('rubrics',))}: rubrics: none is graded; name them in metrics: {names}"
    for path, name in places:
        if name not in known:
            suggestion = suggest(name, known)
            yield f"{file}:{lines.near(path)}: {dotted(path)}: unknown metric {name!r}{suggestion}"


def _unknown_format(monitor: Monitor, file: Path, lines: Lines) -> Iterator[str]:
    known = ("auto", *known_formats())
    if monitor.conversations is not None and monitor.conversations.format not in known:
        place = ("conversations", "format")
        given = monitor.conversations.format
        wrong = f"unknown format {given!r}{suggest(given, known)}"
        yield f"{file}:{lines.near(place)}: {dotted(place)}: {wrong}"


def _unusable_prompts(monitor: Monitor, file: Path, lines: Lines) -> Iterator[str]:
    folder = monitor.judge.prompts if isinstance(monitor.judge, OpenAIJudge) else None
    if folder is None:
        return
    from rag_checks.judge.prompts import prompts_of  # noqa: PLC0415 - few monitors have prompts of their own

    try:
        prompts_of(str(monitor.directory / folder))
    except ConfigError as error:
        yield f"{file}:{lines.near(('judge', 'prompts'))}: judge.prompts: {error}"
