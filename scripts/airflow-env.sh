# Sourced: database and secrets of this checkout's Airflow.

# SQLite's own 5 s of waiting for another writer are too few on a busy machine: `airflow backfill create`
# failed with "database is locked" beside a scheduler at work.
export AIRFLOW__DATABASE__SQL_ALCHEMY_CONN=sqlite:///$AIRFLOW_HOME/airflow.db?timeout=60

# Made once, readable by its owner only. Airflow's own default key for signing logins is too short for the
# algorithm it uses.
mkdir -p "$AIRFLOW_HOME"
secrets=$AIRFLOW_HOME/secrets.env
if [ ! -s "$secrets" ]; then
  (
    umask 077
    python - >"$secrets" <<'PY'
import base64, secrets
print(f"export AIRFLOW__API_AUTH__JWT_SECRET={secrets.token_hex(32)}")
print(f"export AIRFLOW__API__SECRET_KEY={secrets.token_hex(32)}")
print(f"export AIRFLOW__CORE__FERNET_KEY={base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()}")
PY
  )
fi
source "$secrets"
