#!/usr/bin/env bash
# From the log of `airflow dags test` on stdin: one line for each task that ended.
exec sed -nuE \
  -e 's/.*\[DAG TEST\] end task task_id=([a-z_]+) map_index=-1 .*/  \1 done/p' \
  -e 's/.*\[DAG TEST\] end task task_id=([a-z_]+) map_index=([0-9]+) .*/  \1, shard \2 done/p'
