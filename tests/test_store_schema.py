"""A database of any age is brought to this code's schema, or refused with the way out."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory
from sqlalchemy import Column, Integer, create_engine, inspect, text
from sqlalchemy.exc import DBAPIError
from store_fixtures import (
    DATABASES,
    fresh_database,
    make_case,
    make_message,
    make_response,
    make_run,
    make_score,
    make_verdict,
)
from store_revisions import ROWS

from rag_checks.errors import ConfigError, StoreError, StoreUnavailable
from rag_checks.store import Store, head_revision, schema_revision, upgrade
from rag_checks.store.engine import Database, parse_url
from rag_checks.store.schema import MIGRATIONS, VERSION_TABLE, revisions
from rag_checks.store.tables import metadata


@pytest.fixture(params=DATABASES)
def store_url(request, tmp_path):
    """An empty database."""
    with fresh_database(request, tmp_path, migrated=False) as url:
        yield url


def execute(url, *statements):
    """Run plain SQL, as another program would; times in it are UTC."""
    engine = create_engine(parse_url(url))
    with engine.begin() as connection:
        if engine.name == "postgresql":
            connection.exec_driver_sql("SET TIME ZONE 'UTC'")
        for statement in statements:
            connection.exec_driver_sql(statement)
    engine.dispose()


def test_an_empty_database_is_opened_at_head(store_url):
    """The first opening makes the tables; the second finds nothing to do."""
    assert schema_revision(store_url) is None
    Store.open(store_url).close()
    assert schema_revision(store_url) == head_revision()
    assert upgrade(store_url) == (head_revision(), head_revision())


def test_revisions_are_the_ones_alembic_finds(store_url):
    """Reading file names and walking Alembic's chain give the same revisions, with one head."""
    script = ScriptDirectory(str(MIGRATIONS))
    assert [step.revision for step in script.walk_revisions()][::-1] == revisions()
    assert script.get_heads() == [head_revision()]


def test_migrations_build_the_tables_that_the_code_uses(store_url):
    """Alembic finds no difference between a migrated database and the tables of the code."""
    upgrade(store_url)
    with create_engine(parse_url(store_url)).connect() as connection:
        options = {"version_table": VERSION_TABLE, "compare_type": True}
        assert compare_metadata(MigrationContext.configure(connection, opts=options), metadata) == []


def test_every_revision_has_rows_to_upgrade():
    """Whoever adds a revision also adds what a database of the one before may hold."""
    assert sorted(ROWS) == revisions()


@pytest.mark.parametrize("revision", revisions())
def test_data_of_every_revision_is_read_at_head(store_url, revision):
    """Rows written under an earlier schema are the same records after the upgrade."""
    assert upgrade(store_url, revision) == (None, revision)
    execute(store_url, *ROWS[revision])
    assert upgrade(store_url) == (revision, head_revision())
    with Store.open(store_url) as store:
        run = "shop-2026-03-01"
        assert store.run(run) == make_run()
        assert store.cases(run) == [make_case(1, response=make_response()), make_case(2)]
        assert store.scores(run) == [make_score(1), make_score(2, value=None, judge=None)]
        assert store.verdicts(run) == [make_verdict()]
        assert store.messages() == [make_message()]


@pytest.mark.parametrize("revision", revisions()[:-1])
def test_an_older_schema_is_refused_with_the_command(store_url, revision):
    """Opening does not migrate data by itself."""
    upgrade(store_url, revision)
    with pytest.raises(StoreError, match=f"has schema {revision}.*rag-checks db upgrade"):
        Store.open(store_url)
    assert schema_revision(store_url) == revision


def test_a_newer_schema_is_refused_and_left_alone(store_url):
    """Neither opening nor upgrading touches what a later version wrote."""
    Store.open(store_url).close()
    execute(store_url, f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
    with pytest.raises(StoreError, match="schema 9999, newer than"):
        Store.open(store_url)
    with pytest.raises(StoreError, match="schema 9999, newer than"):
        upgrade(store_url)
    assert schema_revision(store_url) == "9999"


def test_a_database_of_something_else_is_refused_untouched(store_url):
    """Tables of our names that we did not make are not written into."""
    execute(store_url, "CREATE TABLE runs (id INTEGER)")
    with pytest.raises(StoreError, match=r"did not make \(runs\)"):
        Store.open(store_url)
    with create_engine(parse_url(store_url)).connect() as connection:
        assert inspect(connection).get_table_names() == ["runs"]


def test_the_store_lives_beside_airflow(store_url):
    """A database that is under Alembic for another program keeps its version table."""
    execute(
        store_url,
        "CREATE TABLE alembic_version (version_num VARCHAR(32))",
        "INSERT INTO alembic_version VALUES ('airflow')",
    )
    Store.open(store_url).close()
    with create_engine(parse_url(store_url)).connect() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == "airflow"


def test_an_upgrade_that_fails_leaves_the_database_as_it_was(store_url):
    """All steps or none: where the second revision fails on a taken name, the first is undone too."""
    execute(store_url, "CREATE TABLE other (a INTEGER)", "CREATE INDEX ix_scores_history ON other (a)")
    with pytest.raises(DBAPIError, match="already exists"):
        upgrade(store_url)
    assert schema_revision(store_url) is None
    with create_engine(parse_url(store_url)).connect() as connection:
        assert inspect(connection).get_table_names() == ["other"]
    execute(store_url, "DROP INDEX ix_scores_history")
    assert upgrade(store_url) == (None, head_revision())


def test_a_migration_that_rebuilds_a_table_keeps_what_refers_to_it(store_url):
    """SQLite rebuilds a table by dropping it; cases and scores of its runs must survive that."""
    with Store.open(store_url) as store:
        store.save_run(make_run())
        store.plan_cases("shop-2026-03-01", [make_case(1)])
        store.save_scores([make_score(1)])
        database = Database(store_url, migrating=True)
        with database.write() as connection:
            operations = Operations(MigrationContext.configure(connection))
            with operations.batch_alter_table("runs", recreate="auto") as batch:
                batch.add_column(Column("extra", Integer))
                batch.drop_column("code_version")
        database.close()
        assert len(store.cases("shop-2026-03-01")) == 1
        assert store.scores("shop-2026-03-01") == [make_score(1)]


def test_asking_for_the_revision_makes_no_file(tmp_path):
    """Looking at a store that is not there leaves nothing behind."""
    assert schema_revision(f"sqlite:///{tmp_path}/none/store.db") is None
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_made(tmp_path):
    """SQLite alone would fail on it; names with spaces, percent signs and Chinese are fine."""
    file = tmp_path / "夜 间 100%" / "b" / "store.db"
    Store.open(f"sqlite:///{file}").close()
    assert file.exists()


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    """The message names the folder."""
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"folder .*file cannot be made"):
        Store.open(f"sqlite:///{tmp_path}/file/store.db")


def test_a_file_that_is_no_database_is_told(tmp_path):
    """A text file is left as it is."""
    (tmp_path / "store.db").write_text("not a database, " * 100)
    with pytest.raises(StoreError, match="not a SQLite database"):
        Store.open(f"sqlite:///{tmp_path}/store.db")
    assert (tmp_path / "store.db").read_text().startswith("not a database")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("mysql://host/db", "cannot be kept in 'mysql'"),
        ("store.db", "cannot be read"),
        ("sqlite://", "names no file"),
        ("sqlite:///:memory:", "names no file"),
    ],
)
def test_a_wrong_url_says_what_to_write(url, message):
    """The error shows the two schemes that work."""
    with pytest.raises(ConfigError, match=message) as caught:
        Store.open(url)
    assert "sqlite:///PATH" in str(caught.value)


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_all_spellings_of_postgresql_use_one_driver(scheme):
    """Also the one that Airflow writes."""
    assert parse_url(f"{scheme}://u@h/d").drivername == "postgresql+psycopg"


def test_an_unreachable_server_is_unavailable_and_its_password_is_not_shown():
    """Nobody listens on port 1."""
    with pytest.raises(StoreUnavailable) as caught:
        Store.open("postgresql://me:geheim@127.0.0.1:1/db")
    assert "127.0.0.1" in str(caught.value)
    assert "geheim" not in str(caught.value)


def test_importing_the_store_is_light():
    """Alembic, psycopg and the heavy libraries stay out until they are needed."""
    code = "import sys, rag_checks.store; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    loaded = set(done.stdout.split())
    assert not loaded & {"alembic", "psycopg", "pandas", "numpy", "openai", "slack_sdk", "great_expectations"}
