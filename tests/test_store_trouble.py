"""Several writers, killed writers, locked, lost and full databases: nothing is half written, all is told."""

import resource
import sqlite3
import time
from contextlib import contextmanager
from itertools import chain

import psycopg
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import IntegrityError
from store_fixtures import (
    DATABASES,
    NOW,
    fresh_database,
    fresh_postgres,
    make_case,
    make_message,
    make_response,
    make_run,
    make_score,
    make_verdict,
)
from store_processes import (
    answer_all,
    claim,
    flip_verdicts,
    open_and_put,
    plan_again,
    run_together,
    save_golden,
    start,
    write_scores,
)

from rag_checks.errors import StoreUnavailable, TransientError
from rag_checks.store import Store, head_revision, schema_revision, shown_address
from rag_checks.store.engine import parse_url

RUN = "shop-2026-03-01"


@pytest.fixture(params=DATABASES)
def store_url(request, tmp_path):
    """A database with tables and without data."""
    with fresh_database(request, tmp_path) as url:
        yield url


@pytest.fixture(params=DATABASES)
def empty_url(request, tmp_path):
    """A database without tables."""
    with fresh_database(request, tmp_path, migrated=False) as url:
        yield url


@pytest.fixture
def store(store_url):
    """An open store with a run of ten cases."""
    with Store.open(store_url) as opened:
        opened.save_run(make_run())
        opened.plan_cases(RUN, [make_case(number) for number in range(10)])
        yield opened


@pytest.fixture
def sqlite_store(tmp_path):
    """An open SQLite store with a run of one case, that waits a tenth of a second for locks; its file."""
    file = tmp_path / "store.db"
    with Store.open(f"sqlite:///{file}", lock_timeout_s=0.1) as opened:
        opened.save_run(make_run())
        opened.plan_cases(RUN, [make_case(1)])
        yield opened, file


@pytest.fixture
def postgres_store(postgres_url):
    """An open PostgreSQL store with a run, that waits a tenth of a second for locks; its URL."""
    with fresh_postgres(postgres_url) as url, Store.open(url, lock_timeout_s=0.1) as opened:
        opened.save_run(make_run())
        yield opened, url


def test_several_processes_may_open_an_empty_store_at_once(empty_url):
    """All succeed: one makes the tables, the others wait for it."""
    run_together(open_and_put, *[(empty_url, str(number)) for number in range(5)])
    assert schema_revision(empty_url) == head_revision()
    with Store.open(empty_url) as store:
        assert [store.reply_cache().get(str(number)) for number in range(5)] == [
            {"by": str(number)} for number in range(5)
        ]


def test_writers_in_several_processes_lose_nothing(store_url, store):
    """Three processes write scores and replies while a fourth plans the run again: every row is there."""
    run_together(_work, *[(store_url, metric) for metric in ("a", "b", "c", None)])
    assert [(score.case_id, score.metric, score.value) for score in store.scores(RUN)] == [
        (f"golden:q{number}", metric, 0.5) for number in range(10) for metric in "abc"
    ]
    assert all(store.reply_cache().get(f"golden:q{number}:1") is not None for number in range(10))


def _work(url, metric):
    return plan_again(url, RUN, 6) if metric is None else write_scores(url, RUN, metric, 2)


def test_planning_while_answers_arrive_loses_none(store_url, store):
    """A planning task that is retried beside a running evaluation leaves its answers alone."""
    run_together(_plan_or_answer, (store_url, True), (store_url, False))
    assert [case.response for case in store.cases(RUN)] == [make_response()] * 10


def _plan_or_answer(url, plans):
    return plan_again(url, RUN, 6) if plans else answer_all(url, RUN, make_response())


def test_golden_versions_from_several_processes_are_all_kept(store_url, store):
    """Four processes save four contents at once: versions 1 to 4, none overwritten."""
    versions = run_together(save_golden, *[(store_url, "shop", make_case(n).item) for n in range(4)])
    assert sorted(versions) == [1, 2, 3, 4]
    for number, version in enumerate(versions):
        assert store.golden("shop", version).items == (make_case(number).item,)


def test_of_several_processes_one_gets_a_message(store_url, store):
    """Each of ten messages is claimed by exactly one process."""
    names = [f"m{number}" for number in range(10)]
    for name in names:
        store.outbox().enqueue(make_message(name))
    got = run_together(claim, *[(store_url, names, NOW)] * 3)
    assert sorted(chain(*got)) == names


def test_a_killed_writer_leaves_all_or_nothing(store_url, store):
    """Kill -9 while 300 verdicts are replaced: they are all of one level then, and writing goes on."""
    verdicts = [make_verdict(f"metric{number}") for number in range(300)]
    for pause_s in (0.0, 0.013, 0.031, 0.047):
        process, connection = start(flip_verdicts, store_url, RUN, verdicts)
        connection.recv()
        time.sleep(pause_s)
        process.kill()
        process.join()
        stored = store.verdicts(RUN)
        assert len(stored) == 300
        assert len({verdict.level for verdict in stored}) == 1
    store.save_verdicts(RUN, verdicts[:1])
    assert store.verdicts(RUN) == verdicts[:1]
    if store_url.startswith("sqlite"):
        with create_engine(parse_url(store_url)).connect() as connection:
            assert connection.execute(text("PRAGMA integrity_check")).scalar() == "ok"
            assert connection.execute(text("PRAGMA foreign_key_check")).all() == []


def test_a_locked_sqlite_file_is_unavailable_and_then_works_again(sqlite_store):
    """Every kind of write says so after its wait; reading goes on; nothing of the failed write is left."""
    store, file = sqlite_store
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    writes = [
        lambda: store.save_run(make_run(status="done")),
        lambda: store.save_scores([make_score(1)]),
        lambda: store.reply_cache().put("k", {}),
        lambda: store.outbox().enqueue(make_message()),
    ]
    for write in writes:
        with pytest.raises(
            StoreUnavailable, match=r"store\.db is not available: another process holds its lock"
        ):
            write()
    assert store.run(RUN) == make_run()
    assert store.reply_cache().get("k") is None
    other.execute("ROLLBACK")
    for write in writes:
        write()
    assert store.scores(RUN) == [make_score(1)]
    other.close()


def test_an_open_store_is_opened_again_while_it_is_locked(sqlite_store):
    """Opening a store that fits needs no lock: the web page works while a run writes."""
    _, file = sqlite_store
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with Store.open(f"sqlite:///{file}", lock_timeout_s=0.1) as store:
        assert store.run(RUN) == make_run()
    other.close()


@pytest.mark.postgres
def test_a_locked_postgres_table_is_unavailable(postgres_store):
    """Waiting for a lock ends."""
    store, url = postgres_store
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE runs")
        with pytest.raises(StoreUnavailable, match="lock timeout"):
            store.save_run(make_run())
    store.save_run(make_run(status="done"))
    assert store.run(RUN).status == "done"


@pytest.mark.postgres
def test_a_lost_postgres_connection_is_unavailable_in_the_middle_and_replaced_after(postgres_store):
    """A server that closes all connections: what ran fails as transient, what comes next works."""
    store, url = postgres_store
    kill = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE pid <> pg_backend_pid() AND datname = current_database()"""
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(kill)
        assert store.run(RUN) == make_run()
        with store._database.read() as connection:
            other.execute(kill)
            with pytest.raises(StoreUnavailable, match="terminating connection"):
                connection.execute(text("SELECT 1"))
    assert store.run(RUN) == make_run()


@contextmanager
def file_size_limit(size):
    """No file of this process grows beyond `size` bytes: what a full disk does, without filling one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_unavailable_and_leaves_what_was_there(sqlite_store):
    """The write that does not fit is undone; with room again it succeeds."""
    store, _ = sqlite_store
    store.save_scores([make_score(1)])
    long = make_score(1, evidence={"text": "长" * 2_000_000})
    with file_size_limit(1_000_000), pytest.raises(StoreUnavailable, match="disk"):
        store.save_scores([long])
    assert store.scores(RUN) == [make_score(1)]
    store.save_scores([long])
    assert store.scores(RUN) == [long]


def test_broken_rules_are_not_called_unavailable(store):
    """No retry mends a score without its case: the database's own error comes through, without the data."""
    with pytest.raises(IntegrityError) as caught:
        store.save_scores([make_score(99, reason="张伟的工资")])
    assert not isinstance(caught.value, TransientError)
    assert "张伟" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["postgresql://u:hunter22@h/db", "postgresql://u@h/db?password=hunter22&sslpassword=hunter22"]
)
def test_no_secret_of_a_store_url_is_ever_shown(url):
    """Neither a password in its usual place nor one in the query."""
    assert "hunter22" not in shown_address(url)
    assert "h/db" in shown_address(url)
