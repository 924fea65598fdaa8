#!/usr/bin/env bash
# Airflow on 127.0.0.1 with the demo DAGs: web pages, scheduler, DAG processor, triggerer.
set -euo pipefail
source scripts/airflow-env.sh
python -c 'import os, sys; sys.path.insert(0, "scripts")
from airflow_local import Trouble, check_port
try: check_port(int(os.environ["AIRFLOW__API__PORT"]))
except Trouble as trouble: sys.exit(str(trouble))'
rag-checks demo history
exec python scripts/airflow_local.py rag_nightly_employee_help "$(rag-checks demo night)"
