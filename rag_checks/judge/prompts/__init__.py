"""Prompts are files: one per language and task, and a frame with the sentences that every prompt shares.

The data of a request travels as JSON between `<data>` and `</data>`, its `<` and `>` written as JSON escapes:
no text can close the delimiter, end its string, or look like a new message.
"""

import json
from functools import lru_cache
from importlib.resources import files
from typing import Any

import msgspec
import yaml
from pydantic import BaseModel, ConfigDict

from rag_checks.judge.parse import cleaned
from rag_checks.judge.schemas import task_schema
from rag_checks.protocols import JudgeRequest, Task
from rag_checks.records import Language, content_hash

# Part of the hash: raise it when `messages` or `data_json` put the same files and data together differently.
_LAYOUT = 1
LANGUAGES: tuple[Language, ...] = ("en", "zh")


class Example(BaseModel):
    """One worked example: data as the judge sees it, and the reply."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    data: dict[str, Any]
    reply: dict[str, Any]


class Prompt(BaseModel):
    """One prompt file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Task
    version: int
    instruction: str
    examples: tuple[Example, ...]


class Frame(BaseModel):
    """The shared sentences of one language; `{schema}` and `{problem}` are filled in."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    data: str
    example_data: str
    example_reply: str
    reply: str
    schema_: str
    repair: str


class Prompts:
    """All prompts of a judge; `hash` (12 hex digits) changes with anything that a judge is told."""

    def __init__(self) -> None:
        texts: dict[str, str] = {}
        self._prompts: dict[tuple[Language, Task], Prompt] = {}
        self._frames: dict[Language, Frame] = {}
        for language in LANGUAGES:
            texts[f"{language}/frame"] = _read(language, "frame")
            self._frames[language] = Frame.model_validate(yaml.safe_load(texts[f"{language}/frame"]))
            for task in Task:
                text = texts[f"{language}/{task}"] = _read(language, task)
                self._prompts[language, task] = Prompt.model_validate(yaml.safe_load(text))
        schemas = {task: task_schema(task) for task in Task}
        self.hash = content_hash([_LAYOUT, texts, schemas])[:12]
        self._systems: dict[tuple[Language, Task], str] = {}

    def prompt(self, language: Language, task: Task) -> Prompt:
        """The prompt of a task in a language."""
        return self._prompts[language, task]

    def messages(self, request: JudgeRequest, schema: dict[str, Any] | None) -> list[dict[str, str]]:
        """The chat messages of a request.

        Args:
            request: what to ask.
            schema: JSON schema of the reply, to be told when the endpoint cannot be made to keep to it.
        """
        system = self._system(request.language, request.task)
        if schema is not None:
            told = self._frames[request.language].schema_.format(
                schema=json.dumps(schema, ensure_ascii=False)
            )
            system = f"{system}\n\n{told}"
        return [
            {"role": "system", "content": system},
            {"role": "user", "content": f"<data>\n{data_json(prompt_data(request))}\n</data>"},
        ]

    def repair(self, request: JudgeRequest, problem: str) -> str:
        """What the judge is told when its reply cannot be used."""
        return self._frames[request.language].repair.format(problem=problem)

    def _system(self, language: Language, task: Task) -> str:
        """Instruction, rules about data, examples: the same for every request, so endpoints can cache it."""
        known = self._systems.get((language, task))
        if known is None:
            prompt, frame = self._prompts[language, task], self._frames[language]
            parts = [prompt.instruction.strip(), frame.data, frame.reply]
            for example in prompt.examples:
                parts.append(f"{frame.example_data}\n{data_json(example.data)}")
                parts.append(f"{frame.example_reply}\n{data_json(example.reply)}")
            known = self._systems[language, task] = "\n\n".join(parts)
        return known


@lru_cache(maxsize=1)
def shipped_prompts() -> Prompts:
    """The prompts that come with the package, read once."""
    return Prompts()


def prompt_data(request: JudgeRequest) -> dict[str, Any]:
    """The inputs as the judge sees them: lists numbered from 1, nothing it does not need.

    For the usefulness of contexts a reference, when there is one, replaces the answer.
    """
    inputs = request.inputs
    data = {key: inputs[key] for key in ("history", "question", "reference") if inputs.get(key)}
    if "answer" in inputs and not (request.task is Task.CHECK_CONTEXTS and inputs.get("reference")):
        data["answer"] = inputs["answer"]
    for key in ("contexts", "answer_claims", "reference_claims"):
        if key in inputs:
            data[key] = {str(number): text for number, text in enumerate(inputs[key], start=1)}
    if request.task is Task.CHECK_CONTEXTS:
        data["rate_contexts"] = bool(inputs.get("rate_contexts"))
    return data


def data_json(data: dict[str, Any]) -> str:
    """JSON in which no text can close a tag."""
    try:
        encoded = msgspec.json.encode(data)
    except UnicodeEncodeError:  # a lone surrogate: half of an emoji that some log cut in two
        encoded = msgspec.json.encode(cleaned(data))
    return encoded.replace(b"<", b"\\u003c").replace(b">", b"\\u003e").decode()


def _read(language: Language, name: str) -> str:
    return files(__package__).joinpath(language, f"{name}.yaml").read_text(encoding="utf-8")
