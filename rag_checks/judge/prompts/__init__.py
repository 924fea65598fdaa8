"""Prompts are files: one per language and task, and a frame with the sentences that every prompt shares.

The data of a request travels as JSON between `<data>` and `</data>`, its `<` and `>` written as JSON escapes:
no text can close the delimiter, end its string, or look like a new message. A rubric is the team's own word,
so it stands with the instruction.
"""

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from rag_checks.judge.parse import cleaned
from rag_checks.judge.prompts.files import LANGUAGES, Frame, Prompt, read_files
from rag_checks.judge.schemas import task_schema
from rag_checks.protocols import JudgeRequest, Task
from rag_checks.records import Language, content_hash

# Part of the hash: raise it when `messages` or `data_json` put the same files and data together differently.
_LAYOUT = 1

__all__ = ["LANGUAGES", "Prompts", "data_json", "prompt_data", "prompts_of"]


class Prompts:
    """All prompts of a judge; `hash` (12 hex digits) changes with anything that a judge is told.

    Args:
        folder: a team's own files, laid over the shipped ones: `zh/check_contexts.yaml`, `en/frame.yaml` …

    Raises:
        ConfigError: a file that is none of the shipped ones, or that cannot be used.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._prompts: dict[tuple[Language, Task], Prompt] = {}
        self._frames: dict[Language, Frame] = {}
        texts: dict[str, str] = {}
        for name, (text, content) in read_files(folder).items():
            texts[f"{name.language}/{name.stem}"] = text
            if isinstance(content, Frame):
                self._frames[name.language] = content
            else:
                self._prompts[name.language, content.name] = content
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
        frame = self._frames[request.language]
        parts = [self._system(request.language, request.task)]
        if request.task is Task.GRADE_RUBRIC:
            parts.append(f"{frame.rubric}\n{data_json(_rubric(request))}")
        if schema is not None:
            parts.append(frame.schema_.format(schema=json.dumps(schema, ensure_ascii=False)))
        return [
            {"role": "system", "content": "\n\n".join(parts)},
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
                if example.rubric is not None:
                    parts.append(
                        f"{frame.example_rubric}\n{data_json(example.rubric.model_dump(exclude_defaults=True))}"
                    )
                parts.append(f"{frame.example_data}\n{data_json(example.data)}")
                parts.append(f"{frame.example_reply}\n{data_json(example.reply)}")
            known = self._systems[language, task] = "\n\n".join(parts)
        return known


@lru_cache(maxsize=1)
def _shipped() -> Prompts:
    return Prompts()


def prompts_of(folder: str | None) -> Prompts:
    """The shipped prompts, or those with a folder's own files laid over them (read anew each time).

    Raises:
        ConfigError: see `Prompts`.
    """
    return _shipped() if folder is None else Prompts(Path(folder))


def _rubric(request: JudgeRequest) -> dict[str, Any]:
    points = request.inputs.get("points")
    return {**request.inputs["rubric"], **({"points": _numbered(points)} if points else {})}


def prompt_data(request: JudgeRequest) -> dict[str, Any]:
    """The inputs as the judge sees them: lists numbered from 1, nothing it does not need.

    For the usefulness of contexts a reference, when there is one, replaces the answer.
    """
    inputs = request.inputs
    data = {key: inputs[key] for key in ("history", "question", "reference") if inputs.get(key)}
    if "answer" in inputs and not (request.task is Task.CHECK_CONTEXTS and inputs.get("reference")):
        data["answer"] = inputs["answer"]
    for key in ("rewritten_query", "tool_calls"):
        if key in inputs:
            data[key] = inputs[key]
    for key in ("contexts", "answer_claims", "reference_claims", "citations"):
        if key in inputs:
            data[key] = _numbered(inputs[key])
    if request.task is Task.CHECK_CONTEXTS:
        data["rate_contexts"] = bool(inputs.get("rate_contexts"))
    return data


def _numbered(entries: Sequence[Any]) -> dict[str, Any]:
    return {str(number): entry for number, entry in enumerate(entries, start=1)}


def data_json(data: dict[str, Any]) -> str:
    """JSON in which no text can close a tag."""
    try:
        encoded = msgspec.json.encode(data)
    except UnicodeEncodeError:  # a lone surrogate: half of an emoji that some log cut in two
        encoded = msgspec.json.encode(cleaned(data))
    return encoded.replace(b"<", b"\\u003c").replace(b">", b"\\u003e").decode()
