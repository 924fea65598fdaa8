"""The nightly DAGs in real Airflow: one metadata database, one process (the first run costs seconds)."""

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from workspace import NIGHT, ZONE, Workspace, make_workspace

from rag_checks.records import Level, ScoreStatus
from rag_checks.store import Store

pytestmark = pytest.mark.airflow

ROOT = Path(__file__).parent.parent
LOGICAL_DATE = datetime(NIGHT.year, NIGHT.month, NIGHT.day, tzinfo=ZONE)


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """Three monitors: a good one, one whose judge refuses every call, one whose file is broken."""
    folder = tmp_path_factory.mktemp("monitors")
    space = make_workspace(folder)
    good = space.monitor_file.read_text(encoding="utf-8")
    refused = good.replace("monitor: toy", "monitor: toy_refused").replace("run_deadline", "run_deadline")
    refused += "judge: {kind: openai, model: judge-1, base_url: 'http://127.0.0.1:9/v1', retries: 0}\n"
    (folder / "toy_refused.yaml").write_text(refused, encoding="utf-8")
    (folder / "toy_broken.yaml").write_text(good.replace("language:", "langauge:"), encoding="utf-8")
    home = tmp_path_factory.mktemp("airflow")
    environ = {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
        "AIRFLOW__CORE__UNIT_TEST_MODE": "False",
        "AIRFLOW__API_AUTH__JWT_SECRET": "long-enough-for-the-algorithm-" * 3,
        "RAG_CHECKS_MONITORS": str(folder),
        "RAG_CHECKS_HOME": str(space.settings.home),
    }
    before = dict(os.environ)
    os.environ.update(environ)
    for command in (["db", "migrate"], ["dags", "reserialize"]):
        subprocess.run([sys.executable, "-m", "airflow", *command], check=True, capture_output=True)
    sys.path.insert(0, str(ROOT / "dags"))
    try:
        yield space
    finally:
        sys.path.remove(str(ROOT / "dags"))
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture(scope="module")
def dags(space: Workspace) -> dict[str, Any]:
    """The DAGs Airflow finds."""
    from airflow.dag_processing.dagbag import DagBag  # noqa: PLC0415 - needs AIRFLOW_HOME set first

    bag = DagBag(str(ROOT / "dags"))
    assert bag.import_errors == {}
    for dag in bag.dags.values():
        for task in dag.tasks:
            task.retry_delay = timedelta(seconds=0)
    return dict(bag.dags)


def run(dag: Any, **conf: Any) -> Any:
    """One DAG run of the night, live and told unless said otherwise."""
    return dag.test(
        logical_date=LOGICAL_DATE,
        run_conf={"night": NIGHT.isoformat(), "ask_bot": "yes", "alert": "yes", **conf},
    )


def states(dag_run: Any) -> dict[str, set[str]]:
    """task_id → states of its instances."""
    found: dict[str, set[str]] = {}
    for instance in dag_run.get_task_instances():
        found.setdefault(instance.task_id, set()).add(str(instance.state))
    return found


def test_every_monitor_file_has_a_dag_and_a_broken_one_hides_no_other(dags: dict[str, Any]) -> None:
    """The broken file's DAG says what is wrong; the others are as if it were not there."""
    assert set(dags) == {"rag_nightly_toy", "rag_nightly_toy_refused", "rag_nightly_toy_broken"}
    broken = dags["rag_nightly_toy_broken"]
    assert "did you mean 'language'?" in broken.doc_md
    assert "broken" in broken.tags


def test_the_dag_has_form_doc_tags_retries_and_one_run_at_a_time(dags: dict[str, Any]) -> None:
    """What operators see and rely on."""
    dag = dags["rag_nightly_toy"]
    assert set(dag.params) == {"monitor", "night", "ask_bot", "alert"}
    assert {"rag_checks", "nightly"} <= set(dag.tags)
    assert "airflow backfill create --dag-id rag_nightly_toy" in dag.doc_md
    assert dag.max_active_runs == 1
    assert not dag.catchup
    assert all(task.retries >= 2 for task in dag.tasks)
    assert [task.task_id for task in dag.topological_sort()] == [
        "plan",
        "evaluate",
        "reconcile",
        "check",
        "report",
        "alert",
    ]


def test_a_night_runs_through_airflow_to_verdicts_report_and_message(
    dags: dict[str, Any], space: Workspace
) -> None:
    """Every task succeeds, evaluation is mapped over both shards, everything is in the store."""
    dag_run = run(dags["rag_nightly_toy"])
    assert set(states(dag_run)) == {"plan", "evaluate", "reconcile", "check", "report", "alert"}
    assert all(found == {"success"} for found in states(dag_run).values())
    run_id = f"toy-nightly-{NIGHT}"
    with Store.open(space.settings.store_url) as store:
        record = store.run(run_id)
        assert record is not None
        assert record.status == "done"
        assert {case.shard for case in store.cases(run_id)} == {0, 1}
        assert all(score.status is not ScoreStatus.JUDGE_ERROR for score in store.scores(run_id))
        assert [message.state for message in store.messages(run_id)] == ["printed"]
    assert (space.settings.reports / "toy" / f"{run_id}.html").exists()


def test_repeating_the_dag_run_changes_no_row(dags: dict[str, Any], space: Workspace) -> None:
    """A cleared or repeated run is idempotent (P3)."""
    run(dags["rag_nightly_toy"])
    before = space.rows()
    run(dags["rag_nightly_toy"])
    assert space.rows() == before


def test_a_judge_that_refuses_every_call_ends_in_no_data_and_people_are_told(
    dags: dict[str, Any], space: Workspace
) -> None:
    """The shards fail, the night still ends: every case counted as failed, the message names the reason."""
    dag_run = run(dags["rag_nightly_toy_refused"])
    found = states(dag_run)
    assert "success" not in found["evaluate"]
    assert found["alert"] == {"success"}
    run_id = f"toy_refused-nightly-{NIGHT}"
    with Store.open(space.settings.store_url) as store:
        record = store.run(run_id)
        verdicts = store.verdicts(run_id)
        messages = store.messages(run_id)
    assert record is not None
    assert record.problem is not None
    targeted = [v for v in verdicts if v.metric in {"faithfulness", "answer_correctness"}]
    assert {v.level for v in targeted} == {Level.NO_DATA}
    assert all(v.n_failed > 0 for v in targeted)
    assert len(messages) == 1


def test_no_conversation_text_crosses_xcom(dags: dict[str, Any], space: Workspace) -> None:
    """Only ids and counts are exchanged between tasks (P6)."""
    from airflow.models.xcom import XComModel  # noqa: PLC0415
    from airflow.utils.session import create_session  # noqa: PLC0415

    run(dags["rag_nightly_toy"])
    with create_session() as session:
        values = [str(row.value) for row in session.query(XComModel).all()]
    assert values
    assert not any("张伟" in value or "password" in value for value in values)
