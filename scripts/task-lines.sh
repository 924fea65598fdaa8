#!/usr/bin/env bash
# From the log of `airflow dags test` on stdin: one line for each task that ended.
exec sed -nuE "s/.*Task finished.*task_id=([a-z_]+).*/  \1 done/p"
