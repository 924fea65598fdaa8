"""The nightly DAGs in real Airflow: one metadata database, one process (the first run costs seconds)."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fake_openai import FakeOpenAI
from store_fixtures import fresh_postgres
from workspace import NIGHT, ZONE, Workspace, make_workspace, table_rows

from rag_checks.pipeline import use_cases as pipeline
from rag_checks.records import Level, OutboxMessage, ScoreStatus
from rag_checks.store import Store

pytestmark = pytest.mark.airflow

ROOT = Path(__file__).parent.parent
LOGICAL_DATE = datetime(NIGHT.year, NIGHT.month, NIGHT.day, tzinfo=ZONE)


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """Monitors: a good one, one without conversations, one that cannot write reports, some broken files."""
    folder = tmp_path_factory.mktemp("monitors")
    space = make_workspace(folder)
    good = space.monitor_file.read_text(encoding="utf-8")
    refused = good.replace("monitor: toy", "monitor: toy_refused")
    refused += "judge: {kind: openai, model: judge-1, base_url: 'http://127.0.0.1:9/v1', retries: 0}\n"
    (folder / "toy_refused.yaml").write_text(refused, encoding="utf-8")
    lost = good.replace("monitor: toy", "monitor: toy_lost").replace("logs/*.jsonl", "nowhere/*.jsonl")
    (folder / "toy_lost.yaml").write_text(lost, encoding="utf-8")
    full = good.replace("monitor: toy", "monitor: toy_full").replace("language: zh", "language: en")
    (folder / "toy_full.yaml").write_text(full, encoding="utf-8")
    space.settings.reports.mkdir(parents=True)
    (space.settings.reports / "toy_full").write_text("a file where a folder should be", encoding="utf-8")
    broken_files = {
        "toy_broken": good.replace("language:", "langauge:"),
        "toy cron": good.replace("monitor: toy", "monitor: toy_cron\nschedule: 30 25 * * *"),
        "toy_again": good,
    }
    for name, text in broken_files.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    home = tmp_path_factory.mktemp("airflow")
    environ = {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
        "AIRFLOW__CORE__UNIT_TEST_MODE": "False",
        "AIRFLOW__API_AUTH__JWT_SECRET": "long-enough-for-the-algorithm-" * 3,
        "RAG_CHECKS_MONITORS": str(folder),
        "RAG_CHECKS_POOL": "",
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
    """A broken file's DAG says what is wrong; the others are as if it were not there."""
    broken = {name: dag.doc_md for name, dag in dags.items() if "broken" in dag.tags}
    assert set(dags) - set(broken) == {
        "rag_watchdog",
        *(f"rag_nightly_toy{kind}" for kind in ("", "_refused", "_lost", "_full")),
    }
    assert set(broken) == {"rag_nightly_toy_broken", "rag_nightly_toy_cron", "rag_nightly_toy_again_twice"}
    assert "did you mean 'language'?" in broken["rag_nightly_toy_broken"]
    assert "'30 25 * * *' is no cron expression" in broken["rag_nightly_toy_cron"]
    assert "another file has this name" in broken["rag_nightly_toy_again_twice"]


def test_the_dag_has_form_doc_tags_retries_and_one_run_at_a_time(dags: dict[str, Any]) -> None:
    """What operators see and rely on."""
    dag = dags["rag_nightly_toy"]
    assert set(dag.params) == {"night", "ask_bot", "alert"}
    assert {"rag_checks", "nightly"} <= set(dag.tags)
    assert "airflow backfill create --dag-id rag_nightly_toy" in dag.doc_md
    assert "+08:00" in dag.doc_md
    assert dag.max_active_runs == 1
    assert not dag.catchup
    assert all(task.retries >= 2 for task in dag.tasks)
    assert all(task.execution_timeout for task in dag.tasks)
    assert {task.pool for task in dag.tasks} == {"default_pool"}
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


def broken_messages(space: Workspace, monitor: str) -> list[OutboxMessage]:
    """The messages that a monitor itself is broken."""
    with Store.open(space.settings.store_url) as store:
        return [m for m in store.messages() if m.kind == "broken" and m.message_id.startswith(f"{monitor}-2")]


def test_lost_conversations_are_told_once_in_the_monitors_language(
    dags: dict[str, Any], space: Workspace
) -> None:
    """The plan fails at once, nothing runs after it, the night has one message however often it is run."""
    dag = dags["rag_nightly_toy_lost"]
    found = states(run(dag))
    assert found.pop("plan") == {"failed"}
    assert set().union(*found.values()) == {"upstream_failed"}
    run(dag)
    [message] = broken_messages(space, "toy_lost")
    assert message.message_id == f"toy_lost-{NIGHT}:broken"
    assert message.state == "printed"
    told = json.dumps(message.payload, ensure_ascii=False)
    assert "Airflow 任务 rag_nightly_toy_lost.plan 最终失败" in told
    assert "nowhere/*.jsonl" in told
    assert "/dags/rag_nightly_toy_lost/runs/" in told


def test_a_backfill_that_fails_tells_nobody_unless_asked(space: Workspace) -> None:
    """Thirty failing days of a backfill are no reason for thirty messages."""
    facts = {"logical_date": LOGICAL_DATE, "run_after": LOGICAL_DATE + timedelta(days=9), "night": None}
    told = {"task": "d.plan", "error": "x", "log": "http://127.0.0.1/log"}
    tell = partial(
        pipeline.alert_failed_task, space.monitor, space.settings, run_type="backfill", **facts, **told
    )
    assert tell(wanted="auto") is None
    assert tell(wanted="no", run_type="scheduled") is None
    message = tell(wanted="yes")
    assert message is not None
    assert message.message_id == f"toy-{NIGHT}:broken"


def test_a_broken_store_is_told_too(space: Workspace, tmp_path: Path) -> None:
    """Without a store nothing can be remembered, but somebody hears of it."""
    (tmp_path / "store.db").write_text("this is no database", encoding="utf-8")
    settings = replace(space.settings, home=tmp_path, store_url=f"sqlite:///{tmp_path / 'store.db'}")
    message = pipeline.alert_broken(
        space.monitor, settings, NIGHT, what="plan failed", error="no database", next_step="restore it"
    )
    assert message.state == "printed"
    assert [path.suffix for path in sorted(settings.unsent.iterdir())] == [".json", ".txt"]


def test_a_report_that_cannot_be_written_is_retried_then_told_once(
    dags: dict[str, Any], space: Workspace
) -> None:
    """The verdicts are told all the same; that the report is missing is told too, in English here."""
    dag_run = run(dags["rag_nightly_toy_full"])
    assert states(dag_run)["report"] == {"failed"}
    assert states(dag_run)["alert"] == {"success"}
    [report] = [ti for ti in dag_run.get_task_instances() if ti.task_id == "report"]
    assert report.try_number == 3
    [message] = broken_messages(space, "toy_full")
    assert "The Airflow task rag_nightly_toy_full.report failed for good." in json.dumps(message.payload)
    with Store.open(space.settings.store_url) as store:
        assert [m.kind for m in store.messages(f"toy_full-nightly-{NIGHT}")] == ["digest"]


@pytest.fixture
def clean_environ() -> Iterator[None]:
    """Puts the environment back: connections are laid over it."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.mark.usefixtures("clean_environ")
@pytest.mark.parametrize(
    ("name", "connection", "expected"),
    [
        ("store", "sqlite:////srv/checks/store.db", {"RAG_CHECKS_STORE": "sqlite:////srv/checks/store.db"}),
        (
            "store",
            "postgres://checks:p%40ss@db:5433/checks?sslmode=require",
            {"RAG_CHECKS_STORE": "postgresql://checks:p%40ss@db:5433/checks?sslmode=require"},
        ),
        (
            "judge",
            '{"conn_type": "http", "host": "https://j/v1", "password": "key-1", "extra": {"OPENAI_X": "1"}}',
            {"OPENAI_BASE_URL": "https://j/v1", "OPENAI_API_KEY": "key-1", "OPENAI_X": "1"},
        ),
        (
            "judge",
            "http://:key-1234@127.0.0.1:9000/compatible%2Fv1",
            {"OPENAI_BASE_URL": "http://127.0.0.1:9000/compatible/v1", "OPENAI_API_KEY": "key-1234"},
        ),
        (
            "bot",
            '{"conn_type": "http", "schema": "https", "host": "bot", "password": "key-1234"}',
            {"RAG_CHECKS_BOT_BASE_URL": "https://bot", "RAG_CHECKS_BOT_API_KEY": "key-1234"},
        ),
        (
            "slack",
            '{"conn_type": "slackwebhook", "host": "https://hooks.slack.com/services", "password": "T/B/X"}',
            {"SLACK_WEBHOOK_URL": "https://hooks.slack.com/services/T/B/X"},
        ),
        ("slack", '{"conn_type": "slack", "password": "xoxb-1234"}', {"SLACK_BOT_TOKEN": "xoxb-1234"}),
        (
            "s3",
            '{"conn_type": "aws", "login": "id-1234", "password": "key-1234", "extra": {"AWS_REGION": "cn"}}',
            {"AWS_ACCESS_KEY_ID": "id-1234", "AWS_SECRET_ACCESS_KEY": "key-1234", "AWS_REGION": "cn"},
        ),
    ],
)
def test_connections_become_the_variables_that_libraries_read(
    space: Workspace, name: str, connection: str, expected: dict[str, str]
) -> None:
    """However the connection is written; what it leaves out is not set."""
    from rag_checks_connections import environment  # noqa: PLC0415 - lies beside the DAG files

    before = dict(os.environ)
    conn = f"AIRFLOW_CONN_RAG_CHECKS_{name.upper()}"
    os.environ[conn] = connection
    found = environment()
    assert {key: found[key] for key in set(found) - set(before) - {conn}} == expected
    assert os.environ.items() >= expected.items()


@pytest.mark.usefixtures("clean_environ")
def test_secrets_are_taken_from_airflow_variables_under_their_libraries_names() -> None:
    """A variable wins over the environment, a connection over the variable."""
    from rag_checks_connections import environment  # noqa: PLC0415 - on the path only with the DAGs' fixtures

    os.environ["SLACK_BOT_TOKEN"] = "of-the-environment"
    os.environ["AIRFLOW_VAR_SLACK_BOT_TOKEN"] = "of-the-variable"
    os.environ["AIRFLOW_VAR_OPENAI_API_KEY"] = "of-the-variable"
    os.environ["AIRFLOW_CONN_RAG_CHECKS_JUDGE"] = json.dumps(
        {"conn_type": "http", "password": "of-the-connection"}
    )
    found = environment()
    assert (found["SLACK_BOT_TOKEN"], found["OPENAI_API_KEY"]) == ("of-the-variable", "of-the-connection")


@pytest.mark.usefixtures("clean_environ")
def test_store_and_judge_of_connections_are_used_by_every_task(
    dags: dict[str, Any], space: Workspace, tmp_path: Path
) -> None:
    """The night's rows are in the connection's store, graded by the connection's judge."""
    with FakeOpenAI() as judge:
        space.monitor_file.with_name("toy_refused.yaml").write_text(
            space.monitor_file.read_text(encoding="utf-8").replace("monitor: toy", "monitor: toy_refused")
            + "judge: {kind: openai, model: judge-1}\n",
            encoding="utf-8",
        )
        os.environ["AIRFLOW_CONN_RAG_CHECKS_STORE"] = f"sqlite:///{tmp_path / 'of the connection.db'}"
        os.environ["AIRFLOW_CONN_RAG_CHECKS_JUDGE"] = json.dumps(
            {"conn_type": "http", "host": judge.url, "password": "key-of-the-connection"}
        )
        address = judge.url
        dag_run = run(dags["rag_nightly_toy_refused"])
    assert all(found == {"success"} for found in states(dag_run).values())
    with Store.open(f"sqlite:///{tmp_path / 'of the connection.db'}") as store:
        record = store.run(f"toy_refused-nightly-{NIGHT}")
        assert record is not None
        assert record.judge is not None
        assert record.judge.endpoint == address
    assert judge.state.headers[0]["authorization"] == "Bearer key-of-the-connection"


KILLED = """
import json, sys
from datetime import datetime
from airflow.dag_processing.dagbag import DagBag
sys.path.insert(0, sys.argv[1])
dag = DagBag(sys.argv[1]).dags["rag_nightly_toy_refused"]
dag.test(logical_date=datetime.fromisoformat(sys.argv[2]), run_conf=json.loads(sys.argv[3]))
"""


def on_postgres(space: Workspace, url: str, judge: FakeOpenAI) -> None:
    """Let the monitor toy_refused keep its rows in PostgreSQL and ask this judge."""
    space.monitor_file.with_name("toy_refused.yaml").write_text(
        space.monitor_file.read_text(encoding="utf-8").replace("monitor: toy", "monitor: toy_refused")
        + "judge: {kind: openai, model: judge-1, concurrency: 2}\n",
        encoding="utf-8",
    )
    os.environ["AIRFLOW_CONN_RAG_CHECKS_STORE"] = url
    os.environ["AIRFLOW_CONN_RAG_CHECKS_JUDGE"] = json.dumps(
        {"conn_type": "http", "host": judge.url, "password": "test"}
    )


@pytest.mark.postgres
@pytest.mark.usefixtures("clean_environ")
def test_a_dag_run_killed_while_grading_on_postgresql_ends_as_if_nothing_had_happened(
    dags: dict[str, Any], space: Workspace, postgres_url: str
) -> None:
    """SIGKILL in the middle of `evaluate`, the run again: same rows, nothing kept paid again, told once."""
    dag = dags["rag_nightly_toy_refused"]
    with FakeOpenAI() as judge:
        with fresh_postgres(postgres_url) as url:
            on_postgres(space, url, judge)
            assert all(found == {"success"} for found in states(run(dag)).values())
            undisturbed, calls = table_rows(url), len(judge.state.requests)
        judge.reset()
        judge.state.latency_s = 0.1
        with fresh_postgres(postgres_url) as url:
            on_postgres(space, url, judge)
            conf = json.dumps({"night": NIGHT.isoformat(), "ask_bot": "yes", "alert": "yes"})
            arguments = [str(ROOT / "dags"), LOGICAL_DATE.isoformat(), conf]
            with subprocess.Popen(
                [sys.executable, "-c", KILLED, *arguments], start_new_session=True
            ) as dying:
                until = time.monotonic() + 60
                while len(judge.state.requests) < calls // 2 and dying.poll() is None:
                    assert time.monotonic() < until
                    time.sleep(0.02)
                os.killpg(dying.pid, signal.SIGKILL)
            kept, before = len(table_rows(url)["replies"]), len(judge.state.requests)
            assert 0 < kept < calls
            judge.state.latency_s = 0.0
            assert all(found == {"success"} for found in states(run(dag)).values())
            assert table_rows(url) == undisturbed
            assert len(judge.state.requests) - before == calls - kept
            with Store.open(url) as store:
                assert [message.state for message in store.messages()] == ["printed"]


@pytest.mark.postgres
@pytest.mark.usefixtures("clean_environ")
def test_a_night_on_postgres_ends_like_the_same_night_without_airflow(
    dags: dict[str, Any], space: Workspace, postgres_url: str
) -> None:
    """Both shards write to one server; the rows are those of `rag-checks run`, told once, repeated or not."""
    with fresh_postgres(postgres_url, migrated=False) as url, fresh_postgres(postgres_url) as other:
        os.environ["RAG_CHECKS_STORE"] = url
        for _ in range(2):
            dag_run = run(dags["rag_nightly_toy"])
            assert all(found == {"success"} for found in states(dag_run).values())
        alone = replace(space.settings, store_url=other)
        pipeline.run_night(space.monitor, alone, NIGHT, wanted_alert="yes")
        rows = table_rows(url)
        assert rows["expectations"]
        assert [row for row in rows["outbox"] if "printed" in row] == rows["outbox"]
        assert len(rows["outbox"]) == 1
        assert rows == table_rows(other)


def test_the_watchdog_tells_of_nights_that_are_overdue(dags: dict[str, Any], space: Workspace) -> None:
    """One task a file: months after its last night the toy is told as overdue; unreadable files are red."""
    dag_run = dags["rag_watchdog"].test(logical_date=LOGICAL_DATE)
    found = {task.rendered_map_index: str(task.state) for task in dag_run.get_task_instances()}
    toy = {state for name, state in found.items() if name.endswith("toy.yaml")}
    assert toy == {"success"}
    assert "failed" in found.values()
    with Store.open(space.settings.store_url) as store:
        overdue = [
            message for message in store.messages() if "rag-checks run toy --night" in str(message.payload)
        ]
    assert len(overdue) == 1
