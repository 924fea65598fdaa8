"""Kill -9 at any point of a night, run it again: same rows, nothing stored paid twice, one message (P3)."""

import json
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kill_fixtures import AGAIN, CONCURRENCY, AskedJudge, Nights, place
from store_fixtures import fresh_postgres

PROCESSES = 2
# The report is no store's matter, and its charts take half of a night's time: one test has them.
QUICK = {"with_report": False}
Death = dict[str, Any]


@dataclass
class Whole:
    """A night without any accident: its rows, its judgements, and the tables of each commit."""

    rows: dict[str, list[tuple[Any, ...]]]
    asked: list[str]
    commits: list[str]


@pytest.fixture(scope="module")
def judge() -> Iterator[AskedJudge]:
    """One endpoint for all nights: its address is part of who graded."""
    with AskedJudge() as fake:
        yield fake


@pytest.fixture(scope="module")
def nights() -> Iterator[Nights]:
    """Processes that run nights."""
    running = Nights(PROCESSES)
    yield running
    running.close()


def undisturbed(
    folder: Path, judge: AskedJudge, nights: Nights, store_url: str | None = None, **more: Any
) -> Whole:
    """The night as it should be."""
    journal = folder / "journal.json"
    with place(folder, judge, nights, store_url=store_url) as here:
        code, asked = here.run(journal=str(journal), **more)
        assert code == 0
        return Whole(here.rows(), asked, json.loads(journal.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def whole(judge: AskedJudge, nights: Nights, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """The undisturbed night on SQLite, whose empty store gets its tables first."""
    return undisturbed(tmp_path_factory.mktemp("undisturbed"), judge, nights, **QUICK)


def what_differs(
    folder: Path,
    judge: AskedJudge,
    nights: Nights,
    whole: Whole,
    death: Death,
    *,
    store_url: str | None = None,
    **more: Any,
) -> list[str]:
    """Die, run again an hour later, and say what is not as in the undisturbed night."""
    with place(folder, judge, nights, store_url=store_url) as here:
        killed, first = here.run(**death, **more)
        stored = here.replies()
        code, second = here.run(now=AGAIN, **more)
        if (killed, code) != (-signal.SIGKILL, 0):
            return [f"{death}: ended with {killed}, then with {code}"]
        found = []
        if len(here.slack.messages) != 1:
            return [f"{death}: {len(here.slack.messages)} messages"]
        rows = here.rows()
        found += [f"{death}: {table} differs" for table in whole.rows if rows[table] != whole.rows[table]]
        if set(first + second) != set(whole.asked) or len(second) != len(whole.asked) - stored:
            found.append(f"{death}: {stored} judgements were stored, {len(second)} paid by the second run")
        if len(first) - stored > CONCURRENCY:
            found.append(f"{death}: {len(first) - stored} calls were in flight")
        return found


def test_the_undisturbed_night_has_something_to_compare(whole: Whole) -> None:
    """Rows in every table that a death could hurt, each judgement paid once, commits of every kind."""
    tables = (
        "scores",
        "cases",
        "verdicts",
        "findings",
        "expectations",
        "outbox",
        "replies",
        "judges",
        "runs",
    )
    assert all(whole.rows[table] for table in tables)
    assert len(set(whole.asked)) == len(whole.asked) == len(whole.rows["replies"])
    assert {part for kind in whole.commits for part in kind.split("+")} >= {*tables, "golden_sets"}


def test_killed_before_any_commit_the_night_ends_as_if_nothing_had_happened(
    tmp_path: Path, judge: AskedJudge, nights: Nights, whole: Whole
) -> None:
    """Every state the store can be left in; after writes to the outbox too, where Slack is in between."""
    deaths = [("before", number) for number in range(1, len(whole.commits) + 1)]
    deaths += [("after", n) for n, kind in enumerate(whole.commits, 1) if kind == "outbox"]
    deaths.append(("after", len(whole.commits)))
    assert len(deaths) > 25
    with ThreadPoolExecutor(PROCESSES) as threads:
        found = threads.map(
            lambda death: what_differs(
                tmp_path / "-".join(map(str, death)), judge, nights, whole, {"die_on": death}, **QUICK
            ),
            deaths,
        )
        assert [fault for faults in found for fault in faults] == []


def test_killed_around_the_report_the_night_ends_as_if_nothing_had_happened(
    tmp_path: Path, judge: AskedJudge, nights: Nights
) -> None:
    """With the report and its picture, which the message carries."""
    whole = undisturbed(tmp_path, judge, nights)
    for step in ("writing", "telling"):
        assert what_differs(tmp_path / step, judge, nights, whole, {"die_at": step}) == []


@pytest.mark.postgres
def test_killed_on_postgres_the_night_ends_as_if_nothing_had_happened(
    tmp_path: Path, judge: AskedJudge, nights: Nights, postgres_url: str
) -> None:
    """One death at the last commit of each kind: the server undoes what was not committed."""
    with fresh_postgres(postgres_url) as url:
        whole = undisturbed(tmp_path / "undisturbed", judge, nights, url, **QUICK)
    last = {kind: number for number, kind in enumerate(whole.commits, 1)}
    assert {"scores", "replies", "verdicts", "findings", "expectations", "outbox", "cases"} <= set(last)

    def differs(number: int) -> list[str]:
        with fresh_postgres(postgres_url) as url:
            death = {"die_on": ("before", number)}
            return what_differs(tmp_path / f"{number}", judge, nights, whole, death, store_url=url, **QUICK)

    with ThreadPoolExecutor(PROCESSES) as threads:
        assert [fault for faults in threads.map(differs, last.values()) for fault in faults] == []


def test_a_finished_night_run_again_pays_nothing_and_tells_nobody(
    tmp_path: Path, judge: AskedJudge, nights: Nights, whole: Whole
) -> None:
    """The second run of a night is free."""
    with place(tmp_path, judge, nights) as here:
        assert here.run(**QUICK)[0] == 0
        assert here.run(now=AGAIN, **QUICK) == (0, [])
        assert here.rows() == whole.rows
        assert len(here.slack.messages) == 1
