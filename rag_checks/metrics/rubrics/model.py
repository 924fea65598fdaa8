"""What a rubric's file says."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from rag_checks.records import Language, Stage, content_hash
from rag_checks.text import normalise
from rag_checks.yaml_files import Key

Said = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Need = Literal["response", "retrieved_contexts", "reference", "history", "rewritten_query", "tool_calls"]
Emptiable = Literal["response", "retrieved_contexts"]

_YES_NO: dict[Language, tuple[str, str]] = {"en": ("yes", "no"), "zh": ("是", "否")}
_GRADES = (1, 2, 3, 4, 5)


class _Part(BaseModel):
    """Base of all parts: unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Words(_Part):
    """A text in English, in Chinese, or in both."""

    en: Said | None = None
    zh: Said | None = None

    @property
    def languages(self) -> tuple[Language, ...]:
        """The languages it is written in."""
        return tuple(language for language in _YES_NO if self.said(language))

    def said(self, language: Language) -> str:
        """The text in a language; empty when it is not written in it."""
        return (self.zh if language == "zh" else self.en) or ""


class Label(_Part):
    """One label of a scale."""

    label: Words
    score: float = Field(ge=0, le=1)
    meaning: Words | None = None


class Point(_Part):
    """One thing an answer must have; with `intents`, only answers to questions of these intents."""

    point: Said
    intents: tuple[Said, ...] = ()

    def concerns(self, intent: str) -> bool:
        """Whether it is asked of a case of this intent (case, width and outer space aside)."""
        return not self.intents or normalise(intent) in map(normalise, self.intents)


def _point(value: Any) -> Any:
    return {"point": value} if isinstance(value, str) else value


Points = tuple[Annotated[Point, BeforeValidator(_point)], ...]
"""Required points; in YAML a point is a text, or `{point, intents}`."""


class Rubric(_Part):
    """A question to the judge and a scale for its answer."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,62}$")
    version: int = Field(ge=1)
    title: Words
    stage: Stage
    needs: tuple[Need, ...] = Field(description="Beside the user's question and what was said before it.")
    question: Words
    scale: Literal["yes_no", "one_to_five", "labels"]
    anchors: dict[int, Words] = Field(default_factory=dict, description="What 1 to 5 mean.")
    labels: tuple[Label, ...] = ()
    points: Points = ()
    answerable_only: bool = Field(False, description="Items known to be unanswerable are not graded.")
    when_empty: dict[Emptiable, Literal["zero", "not_applicable"]] = Field(
        default_factory=dict, description="What an empty needed field is worth; zero when left out."
    )

    @property
    def languages(self) -> tuple[Language, ...]:
        """The languages it can be asked in."""
        return self.question.languages

    @property
    def content_hash(self) -> str:
        """8 hex digits over all that can change a score; the title cannot."""
        return content_hash(self.model_dump(mode="json", exclude={"title"}))[:8]

    def labels_in(self, language: Language) -> dict[str, tuple[float, str]]:
        """Label → score and meaning, in the order of the scale."""
        if self.scale == "yes_no":
            yes, no = _YES_NO[language]
            return {yes: (1.0, ""), no: (0.0, "")}
        if self.scale == "one_to_five":
            return {str(grade): ((grade - 1) / 4, self.anchors[grade].said(language)) for grade in _GRADES}
        return {
            one.label.said(language): (one.score, one.meaning.said(language) if one.meaning else "")
            for one in self.labels
        }

    def misfits(self) -> Iterator[tuple[Key, str]]:
        """Where the parts do not fit together: key and what is wrong."""
        if not self.languages:
            yield ("question",), "write it in en, in zh, or in both"
        for key, words in self._all_words():
            if words.languages != self.languages:
                yield key, f"must be written in {' and '.join(self.languages)}, as the question is"
        wanted = _GRADES if self.scale == "one_to_five" else ()
        if sorted(self.anchors) != list(wanted):
            yield ("anchors",), "scale one_to_five needs anchors 1, 2, 3, 4 and 5, other scales none"
        yield from self._wrong_labels()
        for name in self.when_empty:
            if name not in self.needs:
                yield ("when_empty", name), "is not among needs"

    def _wrong_labels(self) -> Iterator[tuple[Key, str]]:
        if bool(self.labels) != (self.scale == "labels"):
            yield ("labels",), "scale labels needs labels, other scales none"
        if len({one.score for one in self.labels}) == 1:
            yield ("labels",), "needs at least two labels of different scores"
        for language in self.languages:
            said = [normalise(one.label.said(language)) for one in self.labels]
            if len(set(said)) < len(said):
                yield ("labels",), f"two labels are the same in {language}"

    def _all_words(self) -> Iterator[tuple[Key, Words]]:
        yield ("title",), self.title
        for grade, anchor in self.anchors.items():
            yield ("anchors", str(grade)), anchor
        for place, one in enumerate(self.labels):
            yield ("labels", place, "label"), one.label
            if one.meaning is not None:
                yield ("labels", place, "meaning"), one.meaning
