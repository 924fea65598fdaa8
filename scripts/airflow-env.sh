# Sourced: database and secrets of this checkout's Airflow.

# Never a database that the user's own environment names. SQLite's own 5 s of waiting for another writer are
# too few on a busy machine.
export AIRFLOW__DATABASE__SQL_ALCHEMY_CONN=${SMOKE_DATABASE:-sqlite:///$AIRFLOW_HOME/airflow.db?timeout=60}
export AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_ASYNC=${SMOKE_DATABASE_ASYNC:-sqlite+aiosqlite:///$AIRFLOW_HOME/airflow.db?timeout=60}

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
