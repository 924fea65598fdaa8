#!/usr/bin/env bash
# Airflow standalone on 127.0.0.1 with the demo DAGs: scheduler, triggerer, web pages.
set -euo pipefail
source scripts/airflow-secrets.sh
rag-checks demo history
passwords=$AIRFLOW_HOME/simple_auth_manager_passwords.json.generated
(
  until [ -s "$passwords" ] && python - "$AIRFLOW__API__PORT" 2>/dev/null <<'PY'
import sys, urllib.request
urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/api/v2/monitor/health", timeout=2)
PY
  do sleep 1; done
  python - "$passwords" "$AIRFLOW__API__PORT" <<'PY'
import json, sys
for user, password in json.load(open(sys.argv[1], encoding="utf-8")).items():
    print(f"\n  Airflow is up: http://127.0.0.1:{sys.argv[2]}   user: {user}   password: {password}\n", flush=True)
PY
) &
exec airflow standalone >"$AIRFLOW_HOME/standalone.log" 2>&1
