#!/usr/bin/env bash
# Install RAG Checks with everything for development into the virtual environment $1.
# uv resolves and installs in seconds; plain pip needs minutes but always works.
# Running it again after an interruption goes on where it stopped.
set -euo pipefail
venv=$1
python=${PYTHON:-python3}
place=$venv/place # for which path the environment was made: its scripts name it
log=$venv/install.log

fail() {
  printf '%s\n' "$@" >&2
  exit 1
}

# Run a command with its output in the log and a dot every five seconds, for people and for CI's idle timer.
quietly() {
  local status=0
  (while sleep 5; do printf . >&2; done) &
  ticker=$!
  "$@" >>"$log" 2>&1 || status=$?
  stop_ticker
  return $status
}
stop_ticker() {
  [ -z "${ticker:-}" ] || { kill "$ticker" && wait "$ticker"; } 2>/dev/null || true
  ticker=
}
trap stop_ticker EXIT

command -v "$python" >/dev/null || fail "There is no $python. Install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3.12 …"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  fail "RAG Checks needs Python 3.11 or newer; $python is $("$python" --version 2>&1). Name a newer one: make PYTHON=python3.12 …"

uv=$(command -v uv || true)
works() { # the environment has a Python, and what installs into it
  "$venv/bin/python" -c '' 2>/dev/null && { [ -n "$uv" ] || "$venv/bin/python" -c 'import pip' 2>/dev/null; }
}
if [ -e "$venv" ]; then
  [ -e "$venv/pyvenv.cfg" ] || [ -z "$(ls -A "$venv")" ] || fail "$venv is there and is not a virtual environment: move it away."
  if [ "$(cat "$place" 2>/dev/null)" != "$venv" ] || ! works; then
    echo "The virtual environment is unfinished, was moved or lost its Python: making it anew." >&2
    rm -rf "$venv"
  fi
fi

if [ ! -e "$place" ]; then
  mkdir -p "$venv"
  if [ -n "$uv" ]; then
    "$uv" venv -q --allow-existing --python "$python" "$venv"
  else
    "$python" -m venv "$venv" >>"$log" 2>&1 || {
      rm -rf "$venv"
      fail "$python cannot make virtual environments: its venv module is not complete." \
        "Install it (Debian, Ubuntu: apt-get install python3-venv) or uv, then run make again."
    }
  fi
  printf '%s\n' "$venv" >"$place"
fi

if [ -z "$uv" ] && quietly "$venv/bin/python" -m pip install --disable-pip-version-check uv; then
  uv=$venv/bin/uv
fi
if [ -n "$uv" ]; then
  printf 'Installing about 190 packages into %s with uv ' "${venv##*/}" >&2
  install=("$uv" pip install --python "$venv/bin/python")
else
  printf 'Installing about 190 packages into %s with pip, as uv is not to be had: some minutes ' "${venv##*/}" >&2
  install=("$venv/bin/python" -m pip install --disable-pip-version-check)
fi
quietly "${install[@]}" -e '.[dev]' -c constraints.txt || {
  echo >&2
  tail -n 15 "$log" >&2
  fail "Installing failed; the whole output is in $log. Run make again to go on."
}
echo " done." >&2
