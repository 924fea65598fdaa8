"""YAML files that people write: read strictly, every mistake with the line and key it stands at."""

import difflib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError

from rag_checks.errors import ConfigError

Key = tuple[str | int, ...]
"""Where a value stands: keys and positions from the top."""


class Lines(dict[Key, int]):
    """Key path → 1-based line."""

    def near(self, path: Key) -> int:
        """Line of the path, or of its closest parent."""
        while path and path not in self:
            path = path[:-1]
        return self.get(path, 1)


def read_yaml(path: Path) -> tuple[dict[str, Any], Lines]:
    """A mapping and the lines its keys stand at.

    Raises ConfigError: no such file, not UTF-8, not YAML, no mapping, a key given twice.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise ConfigError("no such file", file=str(path)) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"not UTF-8 at byte {error.start}; save it as UTF-8", file=str(path)) from error
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=str(path)) from error
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}: " if mark else ""
        raise ConfigError(f"{place}not YAML: {getattr(error, 'problem', error)}", file=str(path)) from error
    if not isinstance(data, dict) or not isinstance(root, yaml.MappingNode):
        raise ConfigError("expected `key: value` lines at the top level", file=str(path))
    lines = Lines()
    try:
        duplicate = next(_index(root, (), lines), None)
    except RecursionError as error:
        raise ConfigError("an alias contains itself, or it is nested too deeply", file=str(path)) from error
    if duplicate is not None:
        raise ConfigError(
            f"line {lines[duplicate]}: given twice; keep one",
            file=str(path),
            key=dotted(duplicate),
        )
    return data, lines


def _index(node: yaml.Node, path: Key, lines: Lines) -> Iterator[Key]:
    """Fill `lines` for a node and all below it; yields keys given twice."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = (*path, str(key.value))
            known = inner in lines
            lines[inner] = key.start_mark.line + 1
            if known:
                yield inner
            yield from _index(value, inner, lines)
    elif isinstance(node, yaml.SequenceNode):
        for position, value in enumerate(node.value):
            inner_position = (*path, position)
            lines[inner_position] = value.start_mark.line + 1
            yield from _index(value, inner_position, lines)


def described(error: ValidationError, root: type[BaseModel], file: Path, lines: Lines) -> list[str]:
    """What is wrong with a file, a line each: file, line, key, problem."""
    return [
        f"{file}:{lines.near(problem['loc'])}: {dotted(problem['loc'])}: {told(problem, root)}"
        for problem in error.errors(include_url=False)
    ]


def told(problem: Any, root: type[BaseModel], ours: Collection[str] = ()) -> str:
    """One problem of validation in words.

    Args:
        problem: one of `ValidationError.errors()`.
        root: the model of the whole file.
        ours: fields that are no keys of the file.
    """
    if problem["type"] == "extra_forbidden":
        return "unknown key" + suggest(str(problem["loc"][-1]), known_keys(root, problem["loc"], ours))
    if problem["type"] == "missing":
        return "required, but missing"
    if problem["type"] == "model_type":
        keys = ", ".join(known_keys(root, (*problem["loc"], ""), ours))
        return f"expected a mapping with keys of {keys} (got {problem['input']!r})"
    message: str = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "string_type" and isinstance(problem["input"], bool | int | float):
        return f"{message}; put quotes around it (got {problem['input']!r})"
    if isinstance(problem.get("input"), (dict, list)) or problem["type"] == "value_error":
        return message
    return f"{message} (got {problem.get('input')!r})"


def known_keys(root: type[BaseModel], loc: Key, ours: Collection[str] = ()) -> list[str]:
    """The keys allowed where an unknown one was found."""
    models = [root]
    for part in loc[:-1]:
        if isinstance(part, int):
            continue
        inner = [m for model in models if part in model.model_fields for m in _models_in(model, part)]
        models = inner or models
    return [name for model in models for name in model.model_fields if name not in ours]


def _models_in(model: type[BaseModel], field: str) -> list[type[BaseModel]]:
    found: list[type[BaseModel]] = []
    queue: list[Any] = [model.model_fields[field].annotation]
    while queue:
        annotation = queue.pop()
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            found.append(annotation)
        else:
            queue.extend(get_args(annotation))
    return found


def suggest(given: str, known: Sequence[str]) -> str:
    """The end of a message about an unknown name: the nearest known one, or all."""
    alike = {name: difflib.SequenceMatcher(None, given, name).ratio() for name in known}
    best = max(alike.values(), default=0)
    # difflib rates minimun nearer to minimum_n than to minimum; a typo rarely changes the length.
    close = [name for name, ratio in alike.items() if ratio >= max(0.5, best - 0.1)]
    close.sort(key=lambda name: (abs(len(name) - len(given)), -alike[name]))
    return f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(sorted(set(known)))}"


def dotted(path: Key) -> str:
    """A key path as people write it."""
    return ".".join(str(part) for part in path)
