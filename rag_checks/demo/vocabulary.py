"""The demo bot's word lists and rules, from `vocabulary.yaml`."""

from functools import lru_cache
from importlib.resources import files

import yaml
from pydantic import BaseModel, ConfigDict, field_validator

from rag_checks.records import Language


class Field(BaseModel):
    """A column of the staff table: how it is asked for, what its cells look like, how an answer is worded."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    asked: str
    looks: str
    label: dict[Language, str]
    say: dict[Language, str]


class Kind(BaseModel):
    """A kind of question, and the sign of a sentence that answers one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    asks: str
    shows: str


class Vocabulary(BaseModel):
    """All of `vocabulary.yaml`; what each part means stands there."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    stop: frozenset[str]
    asking: frozenset[str]
    intents: dict[str, tuple[str, ...]]
    synonyms: dict[str, str]
    kinds: tuple[Kind, ...]
    fields: dict[str, Field]

    @field_validator("stop", "asking", mode="before")
    @classmethod
    def _words(cls, value: str) -> list[str]:
        return value.split()

    @field_validator("intents", mode="before")
    @classmethod
    def _keywords(cls, value: dict[str, str]) -> dict[str, list[str]]:
        return {intent: [word.replace("_", " ") for word in words.split()] for intent, words in value.items()}


@lru_cache(maxsize=1)
def vocabulary() -> Vocabulary:
    """The bot's vocabulary."""
    shipped = (files("rag_checks.demo") / "vocabulary.yaml").read_text(encoding="utf-8")
    return Vocabulary.model_validate(yaml.safe_load(shipped))
