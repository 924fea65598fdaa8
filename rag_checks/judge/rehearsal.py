"""A judge that only counts: what a real one would be asked, and about how long its replies would be.

Prompts are the real ones. What the cache holds is taken from there and costs nothing, as it would. Claims,
which nobody knows before a model was asked, are those the offline judge finds; reasons are taken to be as
long as the prompts allow.
"""

import json
import os
from collections.abc import Mapping, Sequence

from rag_checks import monitor
from rag_checks.judge.client import OpenAIJudge
from rag_checks.judge.offline import OfflineJudge
from rag_checks.judge.splitting import estimate_tokens, merge
from rag_checks.protocols import JudgeReply, JudgeRequest, Output, PointVerdict, ReplyCache, RubricGrade, Task
from rag_checks.records import JudgeIdentity, Language, Usage

_REASON_TOKENS = 27
"""20 words, the most the prompts ask for; 0.75 words a token."""


class Rehearsal:
    """See `protocols.Judge`; nothing is sent anywhere, no key is needed.

    Args:
        config: the monitor's judge section.
        cache: what is paid for already.
        environ: environment variables; default `os.environ`.
    """

    def __init__(
        self,
        config: monitor.OpenAIJudge,
        *,
        cache: ReplyCache | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        environ = os.environ if environ is None else environ
        signed_in = {"OPENAI_API_KEY": "rehearsal", **environ}
        self._embeds = config.embedding_model is not None
        self._judge = OpenAIJudge(config, cache=cache, environ=signed_in)
        self._offline = OfflineJudge()
        self._said: dict[str, Output] = {}

    @property
    def identity(self) -> JudgeIdentity:
        """Who would be asked."""
        return self._judge.identity

    async def ask(self, request: JudgeRequest) -> JudgeReply:
        """A reply of about the right length, with the usage a real one would have.

        Raises:
            JudgeError: kind context_too_long, as it would be.
        """
        parts = self._judge.parts(request)
        replies = [await self._answer(part) for part in parts]
        return replies[0] if len(replies) == 1 else merge(parts, replies)

    async def similarity(self, pairs: Sequence[tuple[str, str]], language: Language) -> list[float]:
        """The offline judge's; what an embedding model takes is not counted."""
        return await self._offline.similarity(pairs, language)

    async def close(self) -> None:
        """Nothing to free."""

    async def _answer(self, request: JudgeRequest) -> JudgeReply:
        kept = self._judge.kept(request)
        if kept is not None:
            return kept
        key = self._judge.key(request)
        if key in self._said:
            return JudgeReply(output=self._said[key], identity=self.identity, usage=Usage(cached=1))
        # No label is better than another here: only the length of the reply counts.
        said = _any_grade(request) if request.task is Task.GRADE_RUBRIC else await self._said_offline(request)
        self._said[key] = said
        usage = Usage(calls=1, prompt_tokens=self._judge.size(request), completion_tokens=_length(said))
        return JudgeReply(output=said, identity=self.identity, usage=usage)

    async def _said_offline(self, request: JudgeRequest) -> Output:
        return (await self._offline.ask(request)).output


def _any_grade(request: JudgeRequest) -> RubricGrade:
    points = [
        PointVerdict(id=at, reason="", met=True) for at, _ in enumerate(request.inputs.get("points", ()), 1)
    ]
    return RubricGrade(points=points, reason="", label=next(iter(request.inputs["rubric"]["labels"])))


def _length(output: Output) -> int:
    """Tokens of a model's reply that says the same, reasons written out."""
    said = output.model_dump(mode="json")
    lists = [values for values in said.values() if isinstance(values, list)]
    verdicts = [one for values in lists for one in values if isinstance(one, dict)]
    for one in verdicts:
        one.pop("reason", None)
    reasons = len(verdicts) + ("reason" in said)
    return estimate_tokens(json.dumps(said, ensure_ascii=False)) + _REASON_TOKENS * reasons
