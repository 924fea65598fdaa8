"""What an endpoint can do: found once by small probing calls, then remembered.

Structured output goes down a ladder: json_schema, json_object, text. A probe asks for something that a free
model would answer otherwise, so a parameter that is accepted but ignored shows. The outcome depends on the
endpoint only, never on load or on the texts graded, so that it may be part of the judge's identity.
"""

import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from rag_checks import monitor
from rag_checks.judge.completion import Completion
from rag_checks.judge.failures import Failure, Rule
from rag_checks.judge.parse import strict_object

Rung = Literal["json_schema", "json_object", "text"]
LADDER: tuple[Rung, ...] = ("json_schema", "json_object", "text")
Complete = Callable[[dict[str, Any]], Awaitable[Completion | Failure]]

_LIMITS = ("max_tokens", "max_completion_tokens", None)
_STRUCTURE = re.compile(
    r"response_?format|json_?schema|json_?object|structured output|grammar|guided", re.IGNORECASE
)
# Twice, so that one odd reply does not cost the structured output of a whole run.
_PROBES = 2
_PROBE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "ok": {"type": "boolean"}},
    "required": ["reason", "ok"],
    "additionalProperties": False,
}
_PROBE_TEXT: dict[Rung, str] = {
    "json_schema": "Greet the reader in one short sentence.",
    # json_object mode demands the word JSON in the prompt; free models then write fences around their JSON.
    "json_object": 'Greet the reader. Answer with a JSON object such as {"reason": "hello", "ok": true}.',
    "text": "Greet the reader in one short sentence.",
}
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Capabilities:
    """What is sent to an endpoint because it takes it."""

    structured_output: Rung
    temperature: bool
    seed: bool
    token_limit: str | None

    @classmethod
    def hoped_for(cls, config: monitor.OpenAIJudge) -> "Capabilities":
        """Everything the settings ask for."""
        rung = config.structured_output
        return cls(
            structured_output="json_schema" if rung == "auto" else rung,
            temperature=config.temperature is not None,
            seed=config.seed is not None,
            token_limit=_LIMITS[0],
        )

    def fields(self, config: monitor.OpenAIJudge, schema: dict[str, Any], max_tokens: int) -> dict[str, Any]:
        """The request's fields besides model and messages."""
        fields: dict[str, Any] = {}
        if self.structured_output == "json_schema":
            fields["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "reply", "strict": True, "schema": schema},
            }
        elif self.structured_output == "json_object":
            fields["response_format"] = {"type": "json_object"}
        if self.temperature:
            fields["temperature"] = config.temperature
        if self.seed:
            fields["seed"] = config.seed
        if self.token_limit:
            fields[self.token_limit] = max_tokens
        return fields | config.extra_body

    def without(self, failure: Failure) -> "Capabilities | None":
        """What is left when the endpoint names something it rejects; None when it names nothing sent."""
        if failure.kind != "rejected":
            return None
        said = failure.detail
        if self.structured_output != "text" and _STRUCTURE.search(said):
            return self.one_rung_down()
        if self.temperature and "temperature" in said:
            return replace(self, temperature=False)
        if self.token_limit and self.token_limit in said:
            return replace(self, token_limit=_LIMITS[_LIMITS.index(self.token_limit) + 1])
        if self.seed and re.search(r"\bseed\b", said):
            return replace(self, seed=False)
        return None

    def peeled(self) -> "Capabilities | None":
        """One thing less, for an endpoint that rejects without saying what; None when nothing is left."""
        if self.structured_output != "text":
            return self.one_rung_down()
        if self.seed:
            return replace(self, seed=False)
        if self.temperature:
            return replace(self, temperature=False)
        if self.token_limit:
            return replace(self, token_limit=_LIMITS[_LIMITS.index(self.token_limit) + 1])
        return None

    def one_rung_down(self) -> "Capabilities":
        """The next weaker structured output."""
        return replace(self, structured_output=LADDER[LADDER.index(self.structured_output) + 1])


async def probe(config: monitor.OpenAIJudge, complete: Complete) -> Capabilities | Failure:
    """Find what the endpoint can do: one small call when it can do everything.

    Args:
        config: what is asked for; a structured output other than auto is only checked, not replaced.
        complete: sends the fields of one chat completion; transient failures are its own to retry.

    Returns:
        The capabilities, or the failure of the plainest request that the settings allow.
    """
    able = Capabilities.hoped_for(config)
    odd = 0
    while True:
        message = {"role": "user", "content": _PROBE_TEXT[able.structured_output]}
        reply = await complete(
            {"messages": [message]} | able.fields(config, _PROBE_SCHEMA, config.max_tokens)
        )
        if isinstance(reply, Failure):
            if reply.kind == "content_filter" and odd + 1 < _PROBES:
                odd += 1  # a greeting offends nobody: a filter that fires on it is having a bad moment
                continue
            narrower = able.without(reply) or (able.peeled() if reply.kind == "rejected" else None)
            if narrower is None:
                return reply
            if narrower.structured_output != able.structured_output and config.structured_output != "auto":
                return replace(
                    reply,
                    rule=Rule.FATAL,
                    message=f"judge.structured_output is {config.structured_output}, which the endpoint does"
                    f" not take; set it to auto ({reply.message})",
                )
            able, odd = narrower, 0
            continue
        if able.structured_output == "text" or config.structured_output != "auto" or _obeyed(able, reply):
            _log.info("judge endpoint: %s", able)
            return able
        odd += 1
        if odd == _PROBES:
            able, odd = able.one_rung_down(), 0


def _obeyed(able: Capabilities, reply: Completion) -> bool:
    """Whether a probe's reply has the shape asked for, strictly."""
    content = strict_object((reply.text or "").strip())
    return content is not None and (
        able.structured_output == "json_object" or content.keys() == _PROBE_SCHEMA["properties"].keys()
    )
