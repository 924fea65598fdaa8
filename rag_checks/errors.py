"""Every error rag_checks raises on purpose, and what to do about each.

The tree (the class decides whether a task is retried)::

    RagChecksError
    ├── TransientError            the same call may work later: retry with back-off
    │   ├── JudgeUnavailable      judge endpoint: timeout, refused, 429, 5xx, out of retries
    │   ├── StoreUnavailable      database locked, connection lost
    │   ├── SourceUnavailable     conversations cannot be read just now
    │   ├── SlackUnavailable      Slack: timeout, 429, 5xx
    │   └── RunIncomplete         shards missing or cases left open after evaluation
    ├── PermanentError            trying again changes nothing: a person must act
    │   ├── ConfigError           the monitor file, a flag or an environment variable is wrong
    │   │   └── MissingSecret     a connection or environment variable is not set
    │   ├── JudgeFatal            401/403, unknown model, no quota: no item can be graded
    │   ├── SourceError           no such file, unreadable format
    │   ├── SlackRejected         channel, scope or token is wrong
    │   ├── DeliveryUncertain     a webhook may or may not have delivered: never sent twice
    │   └── StoreError            schema newer than this code, missing migration
    └── ItemError                 one item only: recorded as its status, the run goes on
        ├── JudgeError            this judgement failed for good (kind: format, refusal, content_filter, …)
        └── BotError              the bot did not answer this question (kind: timeout, http, empty, …)
"""

from typing import NamedTuple


class Spent(NamedTuple):
    """What was paid for a judgement that failed; `records.Usage` has the same fields."""

    calls: int
    prompt_tokens: int
    completion_tokens: int


class RagChecksError(Exception):
    """Base of all errors raised on purpose."""


class TransientError(RagChecksError):
    """The same call may work later."""


class PermanentError(RagChecksError):
    """Trying again changes nothing; the message says what a person has to do."""


class ItemError(RagChecksError):
    """One item could not be handled; `kind` is stored with it and the run goes on."""

    def __init__(self, message: str, *, kind: str) -> None:
        super().__init__(message)
        self.kind = kind


class JudgeUnavailable(TransientError):
    """The judge endpoint did not answer within its retries or deadline.

    `spent`: replies paid for before, e.g. the one that was to be repaired; see `JudgeError`.
    """

    spent: Spent | None = None


class StoreUnavailable(TransientError):
    """The database is locked or cannot be reached."""


class SourceUnavailable(TransientError):
    """The conversation source cannot be read just now."""


class SlackUnavailable(TransientError):
    """Slack did not take the message; `retry_after` seconds when Slack named a wait.

    `maybe_delivered`: the request was handed over and no answer came, so the message may be there all
    the same.
    """

    def __init__(
        self, message: str, *, retry_after: float | None = None, maybe_delivered: bool = False
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.maybe_delivered = maybe_delivered


class RunIncomplete(TransientError):
    """Planned cases are missing scores after all shards ended."""


class ConfigError(PermanentError):
    """A setting is wrong: names the file, the key and the fix."""

    def __init__(self, message: str, *, file: str | None = None, key: str | None = None) -> None:
        place = ": ".join(part for part in (file, key) if part)
        super().__init__(f"{place}: {message}" if place else message)
        self.file = file
        self.key = key


class MissingSecret(ConfigError):
    """A secret is neither in the environment nor in an Airflow connection."""


class JudgeFatal(PermanentError):
    """The judge refuses every call (key, model, quota): the run stops at once."""


class SourceError(PermanentError):
    """The conversation source is wrong: no such file, unknown format."""


class SlackRejected(PermanentError):
    """Slack refuses the message for good: channel, scope or token."""


class DeliveryUncertain(PermanentError):
    """A send ended without an answer on a channel that cannot be asked whether it arrived."""


class StoreError(PermanentError):
    """The database schema does not fit this code."""


class JudgeError(ItemError):
    """This judgement failed for good; `raw` keeps what the judge said.

    `spent` is what its calls cost, None when nothing was paid. Several callers may be given the same error:
    who books the cost sets it to None, so that it is booked once.
    """

    spent: Spent | None = None

    def __init__(self, message: str, *, kind: str, raw: str | None = None) -> None:
        super().__init__(message, kind=kind)
        self.raw = raw


class BotError(ItemError):
    """The bot did not give an answer to this question."""
