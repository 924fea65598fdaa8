"""The report's words: nothing missing, nothing left over, in both languages."""

import re
from importlib.resources import files
from typing import Any, get_args, get_type_hints

import pytest

from rag_checks import metrics
from rag_checks.records import (
    EvalRun,
    ExpectationResult,
    Feedback,
    Finding,
    Level,
    Message,
    ScoreStatus,
    Verdict,
)
from rag_checks.reports.words import NAMES, WORDS, name, word

PACKAGE = files("rag_checks.reports")


def used_keys():
    """Every key the templates and the modules ask for."""
    templates = "".join(
        path.read_text("utf-8") for path in (PACKAGE / "templates").iterdir() if path.name.endswith(".j2")
    )
    modules = "".join(
        (PACKAGE / module).read_text("utf-8") for module in ("html.py", "evidence.py", "breakdown.py")
    )
    calls = re.findall(r"\bword\((.*?), language", modules)
    return set(re.findall(r"\bt\('([^']+)'\)", templates)) | {
        key for call in calls for key in re.findall(r'"([^"]+)"', call)
    }


def test_every_used_word_is_there():
    """A template that asks for an unknown key would break the report of some night."""
    assert used_keys() - WORDS.keys() == set()


def test_every_word_is_used():
    """Words nobody asks for would be translated for nothing."""
    assert WORDS.keys() - used_keys() == set()


@pytest.mark.parametrize("language", ["zh", "en"])
def test_every_word_is_said_in_both_languages(language):
    """Chinese readers get Chinese, English readers no Chinese."""
    entries = [*WORDS.values(), *(entry for group in NAMES.values() for entry in group.values())]
    for entry in entries:
        assert entry[language].strip()
        assert not re.search(r"[一-鿿，。：]", entry["en"])


def literals(record, field):
    """The values a field of a record may have."""
    hint = get_type_hints(record)[field]
    options: set[Any] = set()
    for argument in get_args(hint):
        options |= set(get_args(argument)) or {argument}
    return options - {type(None)}


def test_every_value_of_a_closed_field_has_a_name():
    """Levels, sources, statuses, stages and the like are never shown raw."""
    closed = {
        "level": {level.value for level in Level},
        "status": {status.value for status in ScoreStatus},
        "source": literals(Verdict, "source"),
        "stage": literals(Finding, "stage"),
        "purpose": literals(ExpectationResult, "purpose"),
        "kind": literals(EvalRun, "kind"),
        "role": literals(Message, "role"),
        "rating": literals(Feedback, "rating"),
        "metric": set(metrics.names()),
    }
    assert {group: values - NAMES[group].keys() for group, values in closed.items()} == {
        group: set() for group in closed
    }


def test_placeholders_agree_between_the_languages():
    """A translation that lost its number would say nothing."""
    for entry in WORDS.values():
        assert re.findall(r"{\w+}", entry["en"]) == re.findall(r"{\w+}", entry["zh"])


def test_unknown_names_are_shown_as_they_are_and_unknown_words_are_errors():
    """A team's own metric has no Chinese name; a missing word is our mistake."""
    assert name("metric", "house_rubric", "zh") == "house_rubric"
    with pytest.raises(KeyError):
        word("no such word", "en")
