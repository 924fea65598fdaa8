#!/usr/bin/env bash
# One night of the demo monitor, through Airflow. Everything shown was computed just now.
set -euo pipefail
source scripts/airflow-env.sh
dag=rag_nightly_employee_help
log=$AIRFLOW_HOME/demo.log

rag-checks demo history
night=$(rag-checks demo night)

echo "Running the DAG $dag for the night of $night through Airflow (its log: ${log#"$PWD"/}) …"
airflow dags reserialize >"$log" 2>&1 || { tail -n 20 "$log" >&2; exit 1; }
conf="{\"night\": \"$night\", \"ask_bot\": \"yes\", \"alert\": \"yes\"}"
# The logical date lies in the night: the demo's schedule has ended, and a run after its end would have no task.
airflow dags test "$dag" "${night}T12:00:00+08:00" --conf "$conf" >>"$log" 2>&1 &
running=$!
trap 'kill $running 2>/dev/null || true' INT TERM
# What the log says while it runs, one line a finished task.
tail -n +1 -F --pid=$running "$log" 2>/dev/null | scripts/task-lines.sh || true
wait $running || { tail -n 30 "$log" >&2; echo "The DAG failed; its log is $log" >&2; exit 1; }

grep -q "end task task_id=alert" "$log" || { tail -n 30 "$log" >&2; echo "The DAG ended without its last task; its log is $log" >&2; exit 1; }

rag-checks demo show
