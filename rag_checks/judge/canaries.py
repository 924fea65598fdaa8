"""Canaries: frozen questions, passages and answers of known quality, judged again every night (P5).

Their text never changes, so a change of their scores is the judge's doing. A file holds one JSON object a
line; editing a canary makes it another one, so its history starts anew.
"""

from importlib.resources import files
from typing import Literal

import msgspec
from pydantic import ConfigDict, Field, ValidationError

from rag_checks.errors import ConfigError
from rag_checks.monitor import Monitor
from rag_checks.records import Case, EvalItem, Language, Record, Response, content_hash

SHIPPED = "canaries.jsonl"


class Canary(Record):
    """One frozen answer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    canary_id: str = Field(min_length=1)
    language: Language
    quality: Literal["good", "bad", "borderline", "injection"] = Field(
        description="What its author made it to be."
    )
    user_input: str = Field(min_length=1)
    retrieved_contexts: tuple[str, ...]
    response: str = Field(min_length=1)
    reference: str = Field(min_length=1)

    def case(self) -> Case:
        """The canary as something to grade."""
        item_id = f"{self.canary_id}-{content_hash(self.model_dump(mode='json'))[:8]}"
        return Case(
            case_id=f"canary:{item_id}",
            source="canary",
            item=EvalItem(item_id=item_id, user_input=self.user_input, reference=self.reference),
            response=Response(response=self.response, retrieved_contexts=self.retrieved_contexts),
            language=self.language,
            intent=self.quality,
            stratum="canary",
        )


def load_canaries(monitor: Monitor) -> list[Case]:
    """The canaries of a monitor: its own file, or the shipped ones.

    Raises:
        ConfigError: the file is missing, empty, or a line is no canary; names the line.
    """
    own = monitor.canaries.path
    path = monitor.directory / own if own else None
    name = str(path or SHIPPED)
    try:
        text = path.read_text("utf-8") if path else files(__package__).joinpath(SHIPPED).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot be read: {error}", file=name, key="canaries.path") from error
    found: dict[str, Canary] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        canary = _canary(line, name, number)
        if canary.canary_id in found:
            raise ConfigError(
                f"line {number}: {canary.canary_id!r} is there twice", file=name, key="canary_id"
            )
        found[canary.canary_id] = canary
    if not found:
        raise ConfigError("holds no canaries", file=name, key="canaries.path")
    return [canary.case() for canary in found.values()]


def _canary(line: str, name: str, number: int) -> Canary:
    try:
        return Canary.model_validate(msgspec.json.decode(line))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise ConfigError(f"line {number}: {first['msg']}", file=name, key=key or None) from error
    except msgspec.DecodeError as error:
        raise ConfigError(f"line {number} is no JSON: {error}", file=name) from error
