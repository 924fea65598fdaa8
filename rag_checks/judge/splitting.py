"""Requests that are longer than the judge's context window: split by contexts, never cut silently.

Contexts are dealt to several requests in their order; a claim is supported when one part supports it. A claim
that needs passages from two parts can be missed, so such a reply is flagged `contexts_split`.
"""

from collections.abc import Sequence

from rag_checks.errors import JudgeError
from rag_checks.protocols import ClaimVerdict, ContextCheck, ContextVerdict, JudgeReply, JudgeRequest, Task
from rag_checks.records import Usage

SPLIT_FLAG = "contexts_split"


def estimate_tokens(text: str) -> int:
    """Tokens of a text, estimated without a tokenizer: 4 latin or 1.4 CJK characters a token."""
    if text.isascii():
        return len(text) // 4 + 1
    wide = (len(text.encode("utf-8", "replace")) - len(text)) // 2
    return int((len(text) - wide) / 4 + wide / 1.4) + 1


def split_by_contexts(request: JudgeRequest, *, size: int, budget: int) -> list[JudgeRequest]:
    """Parts of a request that fit the budget.

    Args:
        request: what is asked.
        size: estimated tokens of the whole request.
        budget: most tokens one request may have.

    Returns:
        Requests with the contexts dealt out in order; the request itself when it fits.

    Raises:
        JudgeError: kind context_too_long, when no split makes it fit.
    """
    if size <= budget:
        return [request]
    contexts: list[str] = request.inputs.get("contexts") or []
    sizes = [estimate_tokens(text) for text in contexts]
    room = budget - (size - sum(sizes))
    if request.task is not Task.CHECK_CONTEXTS or not sizes or max(sizes) > room:
        raise JudgeError(
            f"about {size} tokens do not fit the judge's context window, which leaves {budget} beside the"
            " reply; raise judge.context_window if the model takes more",
            kind="context_too_long",
        )
    groups: list[list[str]] = [[]]
    filled = 0
    for text, length in zip(contexts, sizes, strict=True):
        if groups[-1] and filled + length > room:
            groups.append([])
            filled = 0
        groups[-1].append(text)
        filled += length
    return [request.model_copy(update={"inputs": request.inputs | {"contexts": group}}) for group in groups]


def merge(parts: Sequence[JudgeRequest], replies: Sequence[JudgeReply]) -> JudgeReply:
    """One reply from the replies to the parts, in order."""
    checks = [reply.output for reply in replies if isinstance(reply.output, ContextCheck)]
    contexts: list[ContextVerdict] = []
    offset = 0
    for part, check in zip(parts, checks, strict=True):
        contexts += [verdict.model_copy(update={"id": verdict.id + offset}) for verdict in check.contexts]
        offset += len(part.inputs["contexts"])
    output = ContextCheck(
        answer_claims=_best([check.answer_claims for check in checks]),
        reference_claims=_best([check.reference_claims for check in checks]),
        contexts=contexts,
    )
    flags = {flag: None for reply in replies for flag in reply.flags} | {SPLIT_FLAG: None}
    usage = sum((reply.usage for reply in replies), Usage())
    return replies[-1].model_copy(update={"output": output, "usage": usage, "flags": tuple(flags)})


def _best(lists: Sequence[Sequence[ClaimVerdict]]) -> list[ClaimVerdict]:
    """For each claim the first supporting verdict among the parts, or the first part's."""
    return [
        next((verdict for verdict in verdicts if verdict.supported), verdicts[0])
        for verdicts in zip(*lists, strict=True)
    ]
