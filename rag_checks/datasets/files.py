"""Data sets in files: loaded, written, converted."""

import json
import warnings
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from rag_checks.datasets import lens
from rag_checks.datasets.shapes import SHAPES, Shape, shape_of, unquoted_lists
from rag_checks.errors import ConfigError, SourceError
from rag_checks.pipeline.items import rows_of
from rag_checks.pipeline.labelled import shortened
from rag_checks.pipeline.writing import write_whole

Row = dict[str, Any]


def load(path: str | PathLike[str], shape: str | None = None) -> list[Row]:
    """The rows of a file, under our field names, as `evaluate` takes them.

    Args:
        path: JSON array, JSONL, CSV or Parquet. (DeepEval's own CSV joins lists with `|`: save JSON there.)
        shape: `ragas`, `deepeval`, `langsmith` or `native`; None: told from each row.

    Raises:
        ConfigError: an unknown shape.
        SourceError: no such file, or rows that cannot be read, named by line.
    """
    wanted = None if shape is None else _shape(shape)
    rows: list[Row] = []
    problems: list[str] = []
    is_csv = ".csv" in Path(path).suffixes
    for line, given in rows_of(Path(path)):
        place = f"{path}:{line}"
        if isinstance(given, str):
            problems.append(f"{place}: {given}")
            continue
        found = wanted or shape_of(given)
        refused = found.refuses(given)
        if refused is not None:
            problems.append(f"{place}: {refused}")
            continue
        rows.append(lens.read(unquoted_lists(given) if is_csv else given, found))
    if problems:
        raise SourceError("\n".join(shortened(problems)))
    return rows


def dump(rows: Sequence[Row], path: str | PathLike[str], shape: str) -> Path:
    """Write rows in a tool's shape; what the shape has no place for goes into its metadata.

    Args:
        rows: as `load` gives them, or any dicts of our fields.
        path: `.jsonl` for a row a line, `.json` for an array.
        shape: as in `load`.

    Raises:
        ConfigError: an unknown shape, or another kind of file.

    Warns of rows that the tool will not load, for want of a question.
    """
    wanted, target = _shape(shape), Path(path)
    written = [lens.write(row, wanted) for row in rows]
    for field in wanted.needs:
        without = [number for number, row in enumerate(rows, start=1) if row.get(field) is None]
        if without:
            warnings.warn(
                f"{len(without)} rows have no {field}, the first is row {without[0]}:"
                f" {shape} cannot load them",
                stacklevel=2,
            )
    if target.suffix not in {".json", ".jsonl"}:
        raise ConfigError("ends in neither .jsonl nor .json, which hold lists without loss", file=str(path))
    text = _text(written, target.suffix, readable=True)
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate of some model's JSON, which only an escape can say
        content = _text(written, target.suffix, readable=False).encode("ascii")
    write_whole(target, content)
    return target


def convert(
    source: str | PathLike[str], target: str | PathLike[str], *, to: str, shape: str | None = None
) -> int:
    """`load` and `dump`; says how many rows there were."""
    _shape(to)
    rows = load(source, shape)
    dump(rows, target, to)
    return len(rows)


def _shape(name: str) -> Shape:
    if name not in SHAPES:
        raise ConfigError(f"unknown shape {name!r}; known: {', '.join(SHAPES)}", key="shape")
    return SHAPES[name]


def _text(rows: Sequence[Row], suffix: str, *, readable: bool) -> str:
    if suffix == ".json":
        return json.dumps(rows, ensure_ascii=not readable, indent=2) + "\n"
    return "".join(json.dumps(row, ensure_ascii=not readable) + "\n" for row in rows)
