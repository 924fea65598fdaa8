"""What a monitor may name and set: the catalogue, options, versions."""

import asyncio
from collections.abc import Iterator

import pytest
from metrics_fixtures import make_case

from rag_checks import metrics
from rag_checks.errors import ConfigError
from rag_checks.judge.offline import OfflineJudge
from rag_checks.metrics.catalogue import catalogue, wanted
from rag_checks.metrics.registry import Options, Outcome
from rag_checks.monitor import Monitor


class Share(Options):
    """Options of the metric below."""

    value: float = 0.5


@pytest.fixture(autouse=True)
def constant() -> Iterator[None]:
    """A metric with an option, graded only where it is named."""

    @metrics.metric("constant", version="1", stage="outcome", needs=(), options=Share(), by_default=False)
    async def _constant(_exam: object, options: Share) -> Outcome:
        return Outcome(options.value, "")

    yield
    del metrics.REGISTRY["constant"]


def graded(monitor: Monitor) -> dict[str, tuple[float | None, str]]:
    """Value and version of each score of one case."""
    scores = asyncio.run(metrics.grade_case("run", make_case(), wanted(monitor), OfflineJudge()))
    return {score.metric: (score.value, score.metric_version) for score in scores}


def test_options_reach_the_metric_and_its_version() -> None:
    """A changed option gives another number under another version, the default keeps the plain one."""
    plain = Monitor(monitor="m", metrics=["constant"])
    changed = plain.model_copy(update={"metric_options": {"constant": {"value": 0.25}}})
    same = plain.model_copy(update={"metric_options": {"constant": {"value": 0.5}}})
    assert graded(plain) == graded(same) == {"constant": (0.5, "1")}
    assert graded(changed) == {"constant": (0.25, '1{"value": 0.25}')}


def test_a_metric_that_costs_extra_is_graded_only_where_it_is_named() -> None:
    """A monitor that lists no metrics gets the default ones; the catalogue has all."""
    monitor = Monitor(monitor="m")
    assert "constant" in catalogue(monitor)
    assert "constant" not in {metric.name for metric in wanted(monitor)}
    assert {metric.name for metric in wanted(monitor)} == {metric.name for metric in metrics.defaults()}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"constant": {"valeu": 1}}, "metric_options.constant.valeu: .*options of constant: value"),
        ({"constant": {"value": "much"}}, "metric_options.constant.value: "),
        ({"hit_rate": {"depth": 1}}, "metric_options.hit_rate.*depth|hit_rate takes no options"),
        ({"constnat": {}}, "did you mean 'constant'"),
    ],
)
def test_a_wrong_option_is_named(given: dict[str, dict[str, object]], said: str) -> None:
    """The message names the metric, the option and what it takes."""
    with pytest.raises(ConfigError, match=said):
        catalogue(Monitor(monitor="m", metric_options=given))
