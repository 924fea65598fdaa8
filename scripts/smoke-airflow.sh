#!/usr/bin/env bash
# The nightly DAG under Airflow's real scheduler, in throw-away folders and on a free port; see smoke_airflow.py.
#
# Airflow's own database is a PostgreSQL of the test suite's: on SQLite, `airflow backfill create` beside a
# scheduler at work fails at times with "database is locked", at once, whatever the timeout (a read transaction
# that becomes a write one after somebody else has written).
set -euo pipefail
export PYTHONPATH=tests:${PYTHONPATH:-}
if [ -z "${SMOKE_DATABASE:-}" ]; then
  exec python scripts/with_postgres.py "$0"
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export AIRFLOW_HOME=$folder/airflow RAG_CHECKS_HOME=$folder/rag-checks
AIRFLOW__API__PORT=$(python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export AIRFLOW__API__PORT
# The store is named by an Airflow connection only: every task has to find it there.
export AIRFLOW_CONN_RAG_CHECKS_STORE=sqlite:///$folder/of-the-connection.db
scripts/prepare-airflow.sh
source scripts/airflow-env.sh
python scripts/smoke_airflow.py "$AIRFLOW_CONN_RAG_CHECKS_STORE"
