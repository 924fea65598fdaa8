#!/usr/bin/env bash
# Make the checkout's own Airflow home: metadata database, secrets of this machine, the judge's pool.
set -euo pipefail
source scripts/airflow-env.sh
echo "Preparing Airflow …"
log=$AIRFLOW_HOME/prepare.log
{ airflow db migrate && airflow pools set "$RAG_CHECKS_POOL" 2 "judge calls of RAG Checks"; } >"$log" 2>&1 || {
  tail -n 20 "$log" >&2
  echo "Airflow could not be prepared; the whole output is in $log" >&2
  exit 1
}
