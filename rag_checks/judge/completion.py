"""One chat completion as the judge sees it."""

from dataclasses import dataclass
from typing import Any

from rag_checks.errors import JudgeError
from rag_checks.judge.failures import Failure, Rule
from rag_checks.judge.validate import read_output
from rag_checks.protocols import JudgeRequest, Output
from rag_checks.records import Usage


@dataclass(frozen=True)
class Completion:
    """What came back: `text` is None when the model wrote nothing at all."""

    text: str | None
    refusal: str | None
    thinking: bool
    finish_reason: str | None
    model: str | None
    system_fingerprint: str | None
    usage: Usage

    @classmethod
    def of(cls, reply: dict[str, Any]) -> "Completion | Failure":
        """The first choice of a reply's JSON; a failure when it has none that can be read."""
        try:
            choice = reply["choices"][0]
            message = choice["message"]
            text, refusal = message.get("content"), message.get("refusal")
            if not isinstance(text, str | None):  # some gateways send a list of parts
                text = "".join(part.get("text", "") for part in text)
            tokens = reply.get("usage") or {}
            return cls(
                text=text,
                refusal=refusal if isinstance(refusal, str) and refusal else None,
                thinking=bool(message.get("reasoning_content") or message.get("reasoning")),
                finish_reason=choice.get("finish_reason"),
                model=_text(reply.get("model")),
                system_fingerprint=_text(reply.get("system_fingerprint")),
                usage=Usage(
                    calls=1,
                    prompt_tokens=int(tokens.get("prompt_tokens") or 0),
                    completion_tokens=int(tokens.get("completion_tokens") or 0),
                ),
            )
        except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
            message = f"the endpoint's reply has no readable choice ({type(error).__name__}: {error})"
            return Failure("unreadable", Rule.RETRY, message, str(reply))

    def output(self, request: JudgeRequest) -> Output:
        """The validated output.

        Raises:
            JudgeError: kinds content_filter, refusal, truncated, format; `raw` holds the text.
        """
        if self.refusal is not None:
            raise JudgeError("the judge refused to answer", kind="refusal", raw=self.refusal)
        if self.finish_reason == "content_filter":
            raise JudgeError("the content filter stopped the reply", kind="content_filter", raw=self.text)
        truncated = self.finish_reason == "length"
        if self.text is None and not truncated and not self.thinking:
            raise JudgeError("the reply is null, as content filters leave it", kind="content_filter")
        return read_output(request, self.text or "", truncated=truncated)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
