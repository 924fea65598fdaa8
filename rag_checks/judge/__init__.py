"""Who grades: the OpenAI-compatible client, the offline judge, prompts."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

from rag_checks import monitor
from rag_checks.protocols import Judge, JudgeRequest, ReplyCache, Task

if TYPE_CHECKING:
    from rag_checks.judge.offline_embeddings import LocalEmbeddings
    from rag_checks.judge.spending import Spending


def open_judge(
    config: monitor.OfflineJudge | monitor.OpenAIJudge,
    *,
    directory: Path = Path(),
    cache: ReplyCache | None = None,
    spending: "Spending | None" = None,
) -> Judge:
    """The judge of a monitor. Close it when done.

    Args:
        config: the monitor's judge section; see `transport.Endpoint` for what the environment adds.
        directory: where the monitor file lies; `judge.prompts` starts there.
        cache: where paid replies are kept; the offline judge needs none.
        spending: the budget; the offline judge costs nothing.

    Raises:
        MissingSecret: the endpoint needs a key and none is set.
        ConfigError: the base URL is not one, a prompt of the team's own cannot be used, or the package with
            the embeddings is not installed.
    """
    from rag_checks.judge.offline import OfflineJudge  # noqa: PLC0415 - only a judge that is used is loaded

    if isinstance(config, monitor.OfflineJudge):
        return OfflineJudge(_local_embeddings() if config.embeddings else None)
    offline = OfflineJudge()
    from rag_checks.judge.client import OpenAIJudge  # noqa: PLC0415 - the openai SDK is slow to import

    if config.prompts is not None:
        config = config.model_copy(update={"prompts": str(directory / config.prompts)})
    return OpenAIJudge(config, cache=cache, similarity=offline.similarity, spending=spending)


def _local_embeddings() -> "LocalEmbeddings":
    from rag_checks.judge.offline_embeddings import LocalEmbeddings  # noqa: PLC0415 - an extra

    return LocalEmbeddings()


async def check(judge: Judge) -> list[str]:
    """Try a judge with one tiny task and one similarity, and say what was found, a line each.

    Use a judge without a cache, or the reply may come from there.

    Raises:
        JudgeFatal, JudgeUnavailable, JudgeError: it cannot grade; the message says what to do.
    """
    inputs = {"question": "Where is the canteen?", "reference": "The canteen is on the second floor."}
    started = time.monotonic()
    reply = await judge.ask(JudgeRequest(task=Task.ANALYSE_REFERENCE, language="en", inputs=inputs))
    seconds = time.monotonic() - started
    await judge.similarity([("second floor", "floor two")], "en")
    who = reply.identity
    lines = [f"{who.kind} judge {who.requested_model} answered in {seconds:.1f} s"]
    if who.endpoint:
        lines.append(f"endpoint {who.endpoint}, returned model {who.returned_model or 'not named'}")
    lines += [f"{name}: {'not sent' if value is None else value}" for name, value in who.parameters.items()]
    return lines
