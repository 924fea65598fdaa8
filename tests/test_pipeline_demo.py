"""The demo is honest: the monitor finds the defect by itself, in the right place, and is quiet without it."""

import shutil
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from multiprocessing import get_context
from pathlib import Path

import pytest

from rag_checks.demo import timeline
from rag_checks.errors import ConfigError
from rag_checks.pipeline import use_cases as pipeline
from rag_checks.pipeline.demo import load_history, shown_night
from rag_checks.pipeline.runs import nightly_run_id
from rag_checks.records import Level, RunSummary
from rag_checks.store import Store
from rag_checks.verdicts.drift import worst_level

MONITORS = Path(__file__).parent.parent / "dags" / "monitors"
NIGHTS = [timeline.FIRST_NIGHT + timedelta(days=day) for day in range(timeline.NIGHTS)]
HEALTHY_NIGHTS = [night for night in NIGHTS if night < timeline.DEPLOY_NIGHT]


class Interrupted(Exception):
    """Somebody pressed Ctrl-C before the deployment."""


@dataclass
class Demo:
    """One variant of the demo with its shown night run."""

    settings: pipeline.Settings
    defect: bool

    def night(self, night: date) -> RunSummary:
        """What people were told about a night."""
        monitor = self.settings.monitor(timeline.MONITOR)
        run = nightly_run_id(timeline.MONITOR, night)
        return pipeline.summarise(monitor, self.settings, run, with_trends=False)[0]


def settings_of(home: Path) -> pipeline.Settings:
    """The settings `make demo` has, in a home of its own."""
    return pipeline.Settings.from_env({"RAG_CHECKS_HOME": str(home), "RAG_CHECKS_MONITORS": str(MONITORS)})


def finished(home: Path, *, defect: bool) -> Demo:
    """The history taken up where it ended, then the shown night."""
    settings = settings_of(home)
    history = load_history(settings, defect=defect)
    assert history.nights_run == len(NIGHTS) - 1 - len(HEALTHY_NIGHTS)
    morning_after = datetime.combine(
        timeline.SHOWN_NIGHT + timedelta(days=1), time(2), tzinfo=history.monitor.zone
    )
    pipeline.run_night(history.monitor, settings, timeline.SHOWN_NIGHT, now=morning_after)
    return Demo(settings, defect)


@pytest.fixture(scope="module")
def demos(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Demo]:
    """Both variants by whether they have the defect.

    Until the deployment they are the same to the byte, so those nights are run once: the history is
    interrupted there, its home copied, and each variant goes on from it, one in a process of its own.
    """
    home = tmp_path_factory.mktemp("demo") / "home"

    def until_deployment(step: str) -> None:
        if str(timeline.DEPLOY_NIGHT) in step:
            raise Interrupted

    with pytest.raises(Interrupted):
        load_history(settings_of(home), progress=until_deployment)
    copy = home.with_name("healthy")
    shutil.copytree(home, copy)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as beside:
        healthy = beside.submit(finished, copy, defect=False)
        return {True: finished(home, defect=True), False: healthy.result()}


def test_every_night_before_the_deployment_is_ok_and_blames_nobody(demos: dict[bool, Demo]) -> None:
    """Three weeks of chance raise no alarm."""
    monitor = demos[True].settings.monitor(timeline.MONITOR)
    with Store.open(demos[True].settings.store_url) as store:
        runs = [store.run(nightly_run_id(timeline.MONITOR, night)) for night in HEALTHY_NIGHTS]
        ids = [run.eval_run_id for run in runs if run is not None and run.problem is None]
        levels = [worst_level(store.verdicts(run), monitor) for run in ids]
        findings = [finding.summary for run in ids for finding in store.findings(run)]
    assert levels == [Level.OK] * len(HEALTHY_NIGHTS)
    assert findings == []


def test_the_shown_night_finds_the_defect_where_it_is(demos: dict[bool, Demo]) -> None:
    """Looking up people lost its passages on the night of the deployment: said first, and by numbers."""
    summary = demos[True].night(timeline.SHOWN_NIGHT)
    assert summary.level is Level.FAIL
    first, *others = summary.findings
    assert (first.cause, first.stage, first.intent) == ("retrieval_missed", "retrieval", "employee_lookup")
    assert first.since == timeline.DEPLOY_NIGHT
    assert first.release == timeline.deployed_on(timeline.SHOWN_NIGHT)
    assert first.n_cases > sum(other.n_cases for other in others if other.intent != "employee_lookup")
    assert first.case_ids


def test_the_failing_verdicts_are_those_the_defect_explains(demos: dict[bool, Demo]) -> None:
    """The intent's own hit rate fails; no other intent's does."""
    verdicts = demos[True].night(timeline.SHOWN_NIGHT).verdicts
    failing = {(v.metric, v.slice) for v in verdicts if v.level is Level.FAIL}
    assert ("hit_rate", "intent:employee_lookup") in failing
    assert {slice_ for _, slice_ in failing} <= {"all", "intent:employee_lookup"}


def test_without_the_defect_the_shown_night_is_quiet(demos: dict[bool, Demo]) -> None:
    """The same nights, the old release: all is well and nobody is blamed."""
    for night in (timeline.DEPLOY_NIGHT, timeline.SHOWN_NIGHT):
        summary = demos[False].night(night)
        assert (summary.level, summary.findings) == (Level.OK, ())


@pytest.mark.parametrize("defect", [True, False])
def test_the_numbers_come_from_really_asking_and_grading(demos: dict[bool, Demo], *, defect: bool) -> None:
    """Sampled turns and golden answers of that night's release are in the store, each scored."""
    run = nightly_run_id(timeline.MONITOR, timeline.SHOWN_NIGHT)
    with Store.open(demos[defect].settings.store_url) as store:
        graded = store.graded(run)
    sources = [case.case.source for case in graded]
    assert sources.count("production") == 60
    assert sources.count("golden") >= 60
    releases = {case.case.response.release for case in graded if case.case.response}
    assert releases == {timeline.deployed_on(timeline.SHOWN_NIGHT, defect=defect)}


def test_what_is_shown_is_the_message_and_the_report_of_that_night(demos: dict[bool, Demo]) -> None:
    """One message, printed because there is no Slack token, and one report file, both naming the cause."""
    summary, files, message = shown_night(demos[True].settings)
    assert message is not None
    assert message.state == "printed"
    cause = summary.findings[0].summary
    assert cause in files.html.read_text(encoding="utf-8")
    assert "employee_lookup" in str(message.payload)
    assert files.trend.read_bytes().startswith(b"\x89PNG")


def test_a_second_history_keeps_every_night(demos: dict[bool, Demo]) -> None:
    """Loading again grades nothing: `make demo` twice shows the same."""
    before = demos[False].night(timeline.SHOWN_NIGHT)
    history = load_history(demos[False].settings, defect=False)
    assert (history.nights_run, history.nights_kept) == (0, len(NIGHTS) - 1)
    assert demos[False].night(timeline.SHOWN_NIGHT) == before


def test_the_other_demo_is_not_mixed_into_a_store(demos: dict[bool, Demo]) -> None:
    """Kept nights of one variant and logs of the other would be a demo of nothing."""
    with pytest.raises(ConfigError, match="RAG_CHECKS_HOME"):
        load_history(demos[False].settings, defect=True)
