"""The word lists and patterns of `offline_lexicon.toml`, loaded once."""

import re
import tomllib
from functools import cache
from importlib import resources
from typing import Any


@cache
def source() -> str:
    """The file's text; part of the judge's identity."""
    return resources.files("rag_checks.judge").joinpath("offline_lexicon.toml").read_text("utf-8")


@cache
def _content() -> dict[str, Any]:
    return tomllib.loads(source())


def words(name: str) -> frozenset[str]:
    """A list of [words] as a set."""
    return frozenset(_content()["words"][name].split())


def rows(section: str, name: str) -> list[Any]:
    """A list as it stands in the file."""
    return list(_content()[section][name])


def alternatives(section: str, name: str) -> str:
    """The patterns of a list, joined with "|"."""
    return "|".join(rows(section, name))


def pattern(section: str, name: str, flags: int = 0) -> re.Pattern[str]:
    """One regular expression of all patterns of a list."""
    return re.compile(alternatives(section, name), flags)
