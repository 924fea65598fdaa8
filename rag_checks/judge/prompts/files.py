"""Reading prompt files: the shipped ones, and a team's own laid over them."""

import difflib
import string
from pathlib import Path
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rag_checks.errors import ConfigError
from rag_checks.judge.validate import VERDICTS
from rag_checks.protocols import OUTPUTS, Task
from rag_checks.records import Language
from rag_checks.yaml_files import described, read_yaml

LANGUAGES: tuple[Language, ...] = get_args(Language)
_FRAME = "frame"
_SHIPPED = Path(__file__).parent
# What each sentence of a frame must hold, and the only things that are filled in.
_FILLED = {"schema_": "schema", "repair": "problem"}
_DELIMITERS = ("<data>", "</data>")


class ExampleRubric(BaseModel):
    """The rubric of an example, as the judge sees it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    question: str
    labels: dict[str, str]
    points: dict[str, str] = Field(default_factory=dict)


class Example(BaseModel):
    """One worked example: data as the judge sees it, and the reply; for a rubric also the rubric."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rubric: ExampleRubric | None = None
    data: dict[str, Any]
    reply: dict[str, Any]


class Prompt(BaseModel):
    """One prompt file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Task
    version: int
    instruction: str = Field(min_length=1)
    examples: tuple[Example, ...]


class Frame(BaseModel):
    """The shared sentences of one language; `{schema}` and `{problem}` are filled in."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    data: str
    example_rubric: str
    example_data: str
    example_reply: str
    reply: str
    rubric: str
    schema_: str
    repair: str


class Name(NamedTuple):
    """A prompt file: language and name without suffix."""

    language: Language
    stem: str


_NAMES = tuple(Name(language, stem) for language in LANGUAGES for stem in (_FRAME, *Task))


def read_files(folder: Path | None) -> dict[Name, tuple[str, Prompt | Frame]]:
    """Text and content of every prompt file; those in `folder` replace the shipped ones.

    Raises:
        ConfigError: listing what is wrong with the files of the folder, one a line.
    """
    own = {} if folder is None else _own(folder)
    problems: list[str] = []
    found: dict[Name, tuple[str, Prompt | Frame]] = {}
    for name in _NAMES:
        path = own.get(name, _SHIPPED / name.language / f"{name.stem}.yaml")
        try:
            content = _read(path, name)
        except ConfigError as error:
            problems.append(str(error))
            continue
        found[name] = path.read_text(encoding="utf-8-sig"), content
    if problems:
        raise ConfigError("\n".join(problems))
    return found


def _own(folder: Path) -> dict[Name, Path]:
    """The prompt files of a team's folder; hidden files and what is no YAML are left alone."""
    if not folder.is_dir():
        raise ConfigError("no such folder", file=str(folder))
    known = {f"{name.language}/{name.stem}.yaml": name for name in _NAMES}
    found: dict[Name, Path] = {}
    for path in sorted(folder.rglob("*.y*ml")):
        place = path.relative_to(folder).as_posix()
        if place.startswith(".") or "/." in place:
            continue
        if place not in known:
            near = difflib.get_close_matches(place, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
            raise ConfigError(f"no prompt has this name; {hint}", file=str(path))
        found[known[place]] = path
    if not found:
        raise ConfigError("holds no prompts; put e.g. zh/check_contexts.yaml into it", file=str(folder))
    return found


def _read(path: Path, name: Name) -> Prompt | Frame:
    data, lines = read_yaml(path)
    model: type[Prompt | Frame] = Frame if name.stem == _FRAME else Prompt
    try:
        content = model.model_validate(data)
    except ValidationError as error:
        raise ConfigError("\n".join(described(error, model, path, lines))) from error
    wrong = _wrong_frame(content) if isinstance(content, Frame) else _wrong_prompt(content, Task(name.stem))
    if wrong:
        raise ConfigError("\n".join(f"{path}:{lines.near(key)}: {problem}" for key, problem in wrong))
    return content


_Problems = list[tuple[tuple[str | int, ...], str]]


def _wrong_frame(frame: Frame) -> _Problems:
    """Sentences without which a judge is not told what it must know."""
    problems: _Problems = []
    if any(delimiter not in frame.data for delimiter in _DELIMITERS):
        problems.append((("data",), "data: must name <data> and </data>, between which the material stands"))
    for key, place in _FILLED.items():
        try:
            fields = {field for _, field, _, _ in string.Formatter().parse(getattr(frame, key))} - {None}
        except ValueError as error:
            problems.append(((key,), f"{key}: {error}; write {{{{ and }}}} for braces"))
            continue
        if fields != {place}:
            problems.append(((key,), f"{key}: must hold {{{place}}} and nothing else in braces"))
    return problems


def _wrong_prompt(prompt: Prompt, task: Task) -> _Problems:
    problems: _Problems = []
    if prompt.name is not task:
        problems.append((("name",), f"name: this file is the prompt of {task.value}"))
    for place, example in enumerate(prompt.examples):
        key = ("examples", place)
        problems += [
            ((*key, part), f"examples.{place}.{part}: {said}") for part, said in _misfit(task, example)
        ]
    return problems


def _misfit(task: Task, example: Example) -> list[tuple[str, str]]:
    """Where an example's reply is not what the task asks for its data."""
    try:
        reply = OUTPUTS[task].model_validate(example.reply)
    except ValidationError as error:
        return [
            ("reply", f"{'.'.join(map(str, one['loc']))}: {one['msg']}")
            for one in error.errors(include_url=False)
        ]
    problems = []
    if reply.model_dump(mode="json", exclude_unset=True) != example.reply:
        problems.append(("reply", f"has keys that a reply to {task.value} has not"))
    given = dict(example.data)
    if (task is Task.GRADE_RUBRIC) != (example.rubric is not None):
        problems.append(
            ("rubric", f"{'needed' if task is Task.GRADE_RUBRIC else 'not used'} for {task.value}")
        )
    if example.rubric is not None:
        given["points"] = example.rubric.points
        if example.reply.get("label") not in example.rubric.labels:
            problems.append(("reply", "label: is none of rubric.labels"))
    for name in VERDICTS:
        if name not in example.reply:
            continue
        numbered = given.get(name)
        ids = sorted(str(verdict["id"]) for verdict in example.reply[name])
        if not isinstance(numbered, dict) or ids != sorted(map(str, numbered)):
            problems.append(("reply", f"{name}: needs exactly the ids of the {name} given"))
    return problems
