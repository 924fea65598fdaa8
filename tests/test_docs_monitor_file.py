"""docs/monitor-file.md: its tables are the model's, its examples load."""

import json
import re
import types
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest
from annotated_types import Ge, Gt, Le, Lt, MinLen
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from rag_checks.monitor import Monitor, Section
from rag_checks.monitor_files import load_monitor, missing_secrets

PAGE = Path(__file__).parent.parent / "docs" / "monitor-file.md"
HEAD = ("key", "type", "default", "range", "meaning")
WORDS = {str: "text", int: "whole number", float: "number", bool: "true or false", Any: "any JSON"}
WORDS[date] = "date"
SIGNS = {Ge: ("≥", "ge"), Gt: (">", "gt"), Le: ("≤", "le"), Lt: ("<", "lt")}


def sections(model: type[BaseModel] = Monitor) -> Iterator[type[BaseModel]]:
    """The model and all sections inside it, each once, in the order of the file."""
    seen = []
    queue = [model]
    while queue:
        current = queue.pop(0)
        if current in seen:
            continue
        seen.append(current)
        for field in current.model_fields.values():
            queue += inner_models(field.annotation)
    yield from seen


def inner_models(annotation: Any) -> list[type[BaseModel]]:
    """The sections an annotation mentions."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return [annotation]
    return [model for part in get_args(annotation) for model in inner_models(part)]


def rows(model: type[BaseModel]) -> list[tuple[str, str, str, str]]:
    """Key, type, default and range of each key that may stand in a file."""
    return [
        (f"`{name}`", type_of(field.annotation), default_of(field), range_of(field))
        for name, field in model.model_fields.items()
        if not field.exclude
    ]


def type_of(annotation: Any) -> str:
    """A type in words."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return type_of(parts[0])
    if origin is Literal:
        return " · ".join(f"`{part}`" for part in parts)
    if origin in (Union, types.UnionType):
        words = [type_of(part) for part in parts if part is not type(None)]
        return " or ".join(dict.fromkeys([*words, *(["null"] if type(None) in parts else [])]))
    if origin in (list, dict):
        return f"{'list' if origin is list else 'mapping'}: {type_of(parts[-1])}"
    return "section" if inner_models(annotation) else WORDS[annotation]


def default_of(field: FieldInfo) -> str:
    """The default as YAML would say it."""
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, Section):
        return "its defaults"
    return f"`{json.dumps(value, ensure_ascii=False)}`"


def range_of(field: FieldInfo) -> str:
    """Limits of a value; those of the items where the key is a union or a list are found too."""
    found = [*field.metadata, *metadata_of(field.annotation)]
    words = [f"{SIGNS[type(m)][0]} {getattr(m, SIGNS[type(m)][1]):g}" for m in found if type(m) in SIGNS]
    words += [f"at least {m.min_length} characters" for m in found if isinstance(m, MinLen)]
    patterns = [pattern for m in found if (pattern := getattr(m, "pattern", None))]
    return ", ".join([*words, *(f"`{pattern}`" for pattern in patterns)]) or "–"


def metadata_of(annotation: Any) -> Iterator[Any]:
    """Everything `Annotated` says inside an annotation."""
    if get_origin(annotation) is Annotated:
        for note in get_args(annotation)[1:]:
            yield from note.metadata if isinstance(note, FieldInfo) else [note]
    for part in get_args(annotation):
        if get_origin(annotation) is not Literal:
            yield from metadata_of(part)


def tables(page: str) -> dict[str, list[tuple[str, ...]]]:
    """The page's tables by the model named in the comment above each."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for name, table in re.findall(r"<!-- keys of (\w+) -->\n\n((?:\|.*\n)+)", page):
        cells = [
            tuple(cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1])
            for line in table.splitlines()
        ]
        assert cells[0] == HEAD, name
        found[name] = cells[2:]
    return found


def examples() -> list[str]:
    """The YAML blocks of the page that are whole monitor files."""
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return [block for block in blocks if re.search(r"^monitor:", block, re.MULTILINE)]


def test_every_section_has_its_table() -> None:
    """A new section of rag_checks.monitor must be described."""
    assert sorted(tables(PAGE.read_text(encoding="utf-8"))) == sorted(model.__name__ for model in sections())


@pytest.mark.parametrize("model", list(sections()), ids=lambda model: model.__name__)
def test_the_table_says_what_the_model_says(model: type[BaseModel]) -> None:
    """Keys, types, defaults and ranges are those of the code, and each key has a meaning."""
    table = tables(PAGE.read_text(encoding="utf-8"))[model.__name__]
    assert [row[:4] for row in table] == rows(model)
    assert all(len(row[4]) > 5 for row in table)


@pytest.mark.parametrize("number", range(2))
def test_the_examples_load_when_their_variables_are_set(tmp_path: Path, number: int) -> None:
    """People copy examples: a key that was renamed must break this test."""
    path = tmp_path / "example.yaml"
    path.write_text(examples()[number], encoding="utf-8")
    names = set(re.findall(r"\$\{(\w+)\}", examples()[number])) | {"OPENAI_API_KEY"}
    loaded = load_monitor(path, dict.fromkeys(names, "set"))
    assert loaded.targets
    assert missing_secrets(loaded, dict.fromkeys(names, "set")) == []


def test_the_http_example_is_the_case_people_have() -> None:
    """A Chinese bot over HTTP, its key not in the file, a real judge."""
    assert "kind: http" in examples()[1]
    assert "language: zh" in examples()[1]
    assert "Bearer ${" in examples()[1]


def test_no_table_row_is_lost_on_a_changed_model() -> None:
    """The generator sees unions, lists, mappings, limits and patterns."""
    found = {key: (kind, default, limits) for key, kind, default, limits in rows(Monitor)}
    assert found["`shards`"] == ("whole number", "`2`", "≥ 1, ≤ 64")
    assert found["`bot`"] == ("section or null", "`null`", "–")
    assert found["`targets`"] == ("list: section", "`[]`", "–")
    assert found["`monitor`"][1:] == ("required", "`^[a-z][a-z0-9_]{0,62}$`")
    assert "`directory`" not in found
