#!/usr/bin/env bash
# Install RAG Checks with everything for development into the virtual environment $1.
# uv resolves and installs in seconds; plain pip needs minutes but always works.
set -euo pipefail
venv=$1
python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
  echo "RAG Checks needs Python 3.11 or newer; $python is $("$python" --version 2>&1). Try: make PYTHON=python3.12 …" >&2
  exit 1
}
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv" || {
  echo "The venv module is missing: install it first (Debian, Ubuntu: apt-get install python3-venv)." >&2
  exit 1
}
echo "Installing into .venv (about 900 MB) …"
if uv=$(command -v uv) || { "$venv/bin/python" -m pip install -q --disable-pip-version-check uv 2>/dev/null && uv=$venv/bin/uv; }; then
  "$uv" pip install -q --python "$venv/bin/python" -e '.[dev]' -c constraints.txt
else
  echo "uv is not to be had, using pip: this takes some minutes."
  "$venv/bin/python" -m pip install -q --disable-pip-version-check -e '.[dev]' -c constraints.txt
fi
