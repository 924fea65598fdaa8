#!/usr/bin/env python3
"""Backfill two past nights of the demo twice, then run one live whose task is killed; look at the store."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from airflow_local import LocalAirflow, Trouble, say
from workspace import table_rows

from rag_checks.demo import timeline
from rag_checks.pipeline.use_cases import run_night
from rag_checks.settings import Settings
from rag_checks.store import Store

ZONE = ZoneInfo("Asia/Shanghai")
DAG = f"rag_nightly_{timeline.MONITOR}"
NIGHTS = (date(2026, 10, 19), date(2026, 10, 20))
RUN_WITHIN_S = 210  # a killed task waits up to a minute for its next try
Problems = list[str]
started = time.monotonic()


def main() -> None:
    """Run the steps; exit 1 with every failed expectation."""
    store_url = sys.argv[1]
    home = Path(os.environ["AIRFLOW_HOME"])
    timeline.prepare(Path(os.environ["RAG_CHECKS_HOME"]) / "demo")
    problems: Problems = []
    services = ["api-server", "scheduler", "dag-processor"]
    try:
        with LocalAirflow(home, int(os.environ["AIRFLOW__API__PORT"]), services) as airflow:
            airflow.wait_for_dag(DAG)
            airflow.call("PATCH", f"/api/v2/dags/{DAG}", {"is_paused": False})
            tell("Airflow is up")
            once = backfill(airflow, problems, "none", 0)
            nights_are_right(store_url, problems)
            before = table_rows(store_url)
            tell("backfilling the same nights again")
            backfill(airflow, problems, "completed", once)
            after = table_rows(store_url)
            for table in sorted({*before, *after}):
                expect(
                    problems, before.get(table) == after.get(table), f"{table}: rows changed when repeated"
                )
            expect(problems, not after["outbox"], "a backfill told somebody")
            live_run(airflow, store_url, problems)
            errors = airflow_cli("dags", "list-import-errors", "--output", "json")
            expect(problems, errors.endswith("[]"), f"import errors: {errors}")
    except Trouble as trouble:
        problems.append(str(trouble))
    if problems:
        sys.exit("\n".join(f"FAILED: {problem}" for problem in problems))
    tell("all as expected")


def backfill(airflow: LocalAirflow, problems: Problems, reprocess: str, tries_before: int) -> int:
    """Create the backfill of NIGHTS and wait for it; returns the sum of its tasks' tries."""
    options = {
        "--dag-id": DAG,
        "--from-date": f"{NIGHTS[0]}T00:00+08:00",
        "--to-date": f"{NIGHTS[-1]}T23:59+08:00",
        "--max-active-runs": "1",
        "--reprocess-behavior": reprocess,
    }
    airflow_cli("backfill", "create", *[part for pair in options.items() for part in pair])
    runs = wait_for_runs(airflow, "backfill", len(NIGHTS))
    wait_for_backfill(airflow)
    expect(
        problems,
        {run["state"] for run in runs} == {"success"},
        f"backfilled runs: {[run['state'] for run in runs]}",
    )
    tries = sum(task["try_number"] for run in runs for task in tasks_of(airflow, run["dag_run_id"]))
    expect(problems, tries > tries_before, "the repeated backfill ran no task")
    tell(f"backfill of {len(NIGHTS)} nights done")
    return tries


def nights_are_right(store_url: str, problems: Problems) -> None:
    """Each night holds conversations of its own local day only, production cases only, and is a backfill."""
    with Store.open(store_url) as store:
        runs = {run.night: run for run in store.runs(timeline.MONITOR)}
        expect(problems, set(runs) == set(NIGHTS), f"nights graded: {sorted(map(str, runs))}")
        for night, run in runs.items():
            cases = store.cases(run.eval_run_id)
            days = {case.response.answered_at.astimezone(ZONE).date() for case in cases}
            scores = store.scores(run.eval_run_id)
            expect(problems, run.backfill, f"{night}: not marked as a backfill")
            expect(problems, run.status == "done", f"{night}: status {run.status}")
            expect(problems, len(cases) > 0 and len(scores) > 0, f"{night}: nothing was graded")
            expect(problems, {case.source for case in cases} == {"production"}, f"{night}: asked the bot")
            expect(problems, days == {night}, f"{night}: holds conversations of {sorted(map(str, days))}")
        expect(problems, not store.messages(), "a backfill told somebody")


def live_run(airflow: LocalAirflow, store_url: str, problems: Problems) -> None:
    """Trigger the demo's shown night by hand and kill a task of it; it ends as if nothing had happened."""
    night = timeline.SHOWN_NIGHT
    undisturbed = night_without_airflow(store_url)
    tell("the same night was run without Airflow, for comparison")
    conf = {"night": night.isoformat(), "ask_bot": "yes", "alert": "yes"}
    airflow_cli("dags", "trigger", DAG, "--conf", json.dumps(conf))
    killed = kill_a_grading_task(airflow, store_url)
    [run] = wait_for_runs(airflow, "manual", 1)
    shards = [task for task in tasks_of(airflow, run["dag_run_id"]) if task["task_id"] == "evaluate"]
    tries = {task["map_index"]: task["try_number"] for task in shards}
    expect(problems, tries[killed] > 1, f"the killed shard was tried {tries[killed]} times")
    rows = table_rows(store_url)
    for table in sorted(undisturbed):
        expect(problems, rows[table] == undisturbed[table], f"{table}: rows differ after a task was killed")
    expect(problems, run["state"] == "success", f"triggered run: {run['state']}")
    with Store.open(store_url) as store:
        messages = store.messages()
        stored = {run.night: run for run in store.runs(timeline.MONITOR)}.get(night)
        sources = {case.source for case in store.cases(stored.eval_run_id)} if stored else set()
    told = [(message.kind, message.state) for message in messages]
    expect(problems, told == [("digest", "printed")], f"messages: {told}")
    expect(problems, sources == {"production", "golden"}, f"{night}: cases of {sorted(sources)}")
    expect(problems, stored is not None and not stored.backfill, f"{night}: marked as a backfill")
    tell(f"night {night} run by hand, messages: {told}")


def night_without_airflow(store_url: str) -> dict[str, list[Any]]:
    """The rows of the live night in a copy of the store, run in this process."""
    copy = Path(os.environ["RAG_CHECKS_HOME"]) / "undisturbed.db"
    stored = store_url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(stored)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    settings = Settings.from_env({**os.environ, "RAG_CHECKS_STORE": f"sqlite:///{copy}"})
    monitor = settings.monitor(f"{os.environ['RAG_CHECKS_MONITORS']}/{timeline.MONITOR}.yaml")
    run_night(monitor, settings, timeline.SHOWN_NIGHT, wanted_alert="yes")
    return table_rows(settings.store_url)


def kill_a_grading_task(airflow: LocalAirflow, store_url: str) -> int:
    """SIGKILL an evaluate task once some, not all, cases are graded; returns its shard. Raises Trouble."""
    until = time.monotonic() + RUN_WITHIN_S
    while time.monotonic() < until:
        time.sleep(0.2)
        graded, planned = progress(store_url)
        if not 0 < graded < planned:
            continue
        [run] = airflow.call("GET", f"/api/v2/dags/{DAG}/dagRuns?run_type=manual")["dag_runs"]
        for task in tasks_of(airflow, run["dag_run_id"]):
            if task["task_id"] == "evaluate" and task["state"] == "running" and task["pid"]:
                os.kill(task["pid"], signal.SIGKILL)
                tell(f"killed shard {task['map_index']} with {graded} of {planned} cases graded")
                return int(task["map_index"])
    raise Trouble(f"no evaluate task could be killed half-way within {RUN_WITHIN_S} s")


def progress(store_url: str) -> tuple[int, int]:
    """Cases of the live night that have scores, and all of them."""
    with Store.open(store_url) as store:
        runs = {run.night: run.eval_run_id for run in store.runs(timeline.MONITOR)}
        if timeline.SHOWN_NIGHT not in runs:
            return 0, 0
        graded = store.graded(runs[timeline.SHOWN_NIGHT])
    return sum(bool(case.scores) for case in graded), len(graded)


def tasks_of(airflow: LocalAirflow, dag_run_id: str) -> list[dict[str, Any]]:
    """The task instances of a run."""
    answer = airflow.call("GET", f"/api/v2/dags/{DAG}/dagRuns/{dag_run_id}/taskInstances")
    return list(answer["task_instances"])


def wait_for_runs(airflow: LocalAirflow, kind: str, count: int) -> list[dict[str, Any]]:
    """All runs of a kind once none is queued or running. Raises Trouble when that takes too long."""
    until = time.monotonic() + RUN_WITHIN_S
    while time.monotonic() < until:
        airflow.check()
        runs = airflow.call("GET", f"/api/v2/dags/{DAG}/dagRuns?run_type={kind}")["dag_runs"]
        if len(runs) >= count and all(run["state"] in {"success", "failed"} for run in runs):
            return list(runs)
        time.sleep(1)
    raise Trouble(
        f"{kind} runs did not end within {RUN_WITHIN_S} s: {[(r['dag_run_id'], r['state']) for r in runs]}"
    )


def wait_for_backfill(airflow: LocalAirflow) -> None:
    """Until Airflow has noted that the backfill is over: before, it refuses the next. Raises Trouble."""
    until = time.monotonic() + RUN_WITHIN_S
    while time.monotonic() < until:
        backfills = airflow.call("GET", f"/api/v2/backfills?dag_id={DAG}")["backfills"]
        if all(backfill["completed_at"] for backfill in backfills):
            return
        time.sleep(1)
    raise Trouble(f"the backfill's runs are done, but it is not, after {RUN_WITHIN_S} s")


def airflow_cli(*arguments: str) -> str:
    """Run `airflow …`; its standard output. Raises Trouble when it fails."""
    done = subprocess.run(["airflow", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Trouble(f"airflow {' '.join(arguments)}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout.strip()


def expect(problems: Problems, fact: bool, otherwise: str) -> None:
    """Note what is not as it should be, and go on."""
    if not fact:
        problems.append(otherwise)
        tell(f"FAILED: {otherwise}")


def tell(what: str) -> None:
    """Progress with the seconds since the start."""
    say(f"{time.monotonic() - started:5.0f} s  {what}")


if __name__ == "__main__":
    main()
