# Everything a newcomer needs. `make help` lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV := $(CURDIR)/.venv
BIN := $(VENV)/bin
PORT ?= 8080

# Airflow lives inside the checkout and never sees the user's own home.
export AIRFLOW_HOME := $(CURDIR)/.airflow
export AIRFLOW__CORE__DAGS_FOLDER := $(CURDIR)/dags
export AIRFLOW__CORE__LOAD_EXAMPLES := False
export AIRFLOW__API__HOST := 127.0.0.1
export AIRFLOW__API__PORT := $(PORT)
export AIRFLOW__USAGE_DATA_COLLECTION__ENABLED := False
export RAG_CHECKS_HOME := $(CURDIR)/.rag-checks
export RAG_CHECKS_MONITORS := $(CURDIR)/dags/monitors
export RAG_CHECKS_POOL := rag_checks_judge

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

# The stamp names the checkout's path: an environment that was moved with it has the old path in its scripts.
INSTALLED := $(VENV)/installed-$(shell printf %s "$(CURDIR)" | cksum | cut -d' ' -f1)

$(INSTALLED): constraints.txt pyproject.toml
	@PYTHON=$(PYTHON) scripts/install.sh $(VENV)
	@touch $@

.PHONY: install
install: $(INSTALLED) ## virtual environment with everything, from constraints.txt

$(AIRFLOW_HOME)/ready: $(INSTALLED)
	@PATH=$(BIN):$$PATH scripts/prepare-airflow.sh
	@touch $@

.PHONY: demo
demo: $(AIRFLOW_HOME)/ready ## one night of the demo monitor through Airflow: offline, no key needed
	@PATH=$(BIN):$$PATH scripts/demo.sh

.PHONY: up
up: $(AIRFLOW_HOME)/ready ## Airflow on 127.0.0.1 with the demo DAGs
	@PATH=$(BIN):$$PATH scripts/up.sh

.PHONY: test
# One file's tests stay in one process: Airflow's share a metadata database, and its first run costs 20 s.
test: $(INSTALLED) ## the test suite, in two processes
	@env -u AIRFLOW_HOME -u RAG_CHECKS_HOME -u RAG_CHECKS_MONITORS -u RAG_CHECKS_POOL $(BIN)/python -m pytest -q -n 2 --dist loadfile $(ARGS)

.PHONY: smoke-airflow
smoke-airflow: $(INSTALLED) ## backfills and a triggered night under Airflow's real scheduler; some minutes
	@PATH=$(BIN):$$PATH scripts/smoke-airflow.sh

.PHONY: check
check: $(INSTALLED) ## linters, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

.PHONY: bench
bench: $(INSTALLED) ## throughput and cost against the targets and against ragas and DeepEval; some minutes
	@$(BIN)/python bench/run.py

JUDGE ?= offline
SETS ?=
.PHONY: judge-agreement
judge-agreement: $(INSTALLED) ## agreement with people's labels; JUDGE=offline, a model or a monitor file; SETS="name=file …"
	@env -u RAG_CHECKS_MONITORS $(BIN)/python scripts/judge_agreement.py --judge $(JUDGE) $(SETS)

.PHONY: judge-train
judge-train: $(INSTALLED) ## refit the offline judge: TRAIN=labelled.jsonl; SETS="name=file …" are measured, not fitted
	@test -n "$(TRAIN)" || { echo "say which file: make judge-train TRAIN=evouna_train_6000.jsonl (docs/data.md)"; exit 2; }
	@$(BIN)/python -m rag_checks.judge.offline_train $(TRAIN) $(addprefix --measure ,$(SETS))

.PHONY: bench-peers
bench-peers: $(INSTALLED) ## only ragas and DeepEval on the same work, three times; 7 minutes
	@$(BIN)/python bench/bench_peers.py --repeats 3 $(ARGS)

.PHONY: smoke-llm
smoke-llm: $(INSTALLED) ## a real little model grades through the judge client; a minute, 200 MB
	@$(BIN)/python bench/smoke_llm.py $(ARGS)

.PHONY: bench-verdicts
bench-verdicts: $(INSTALLED) ## false alarms and detection of the verdicts in simulated worlds; about ten minutes
	@$(BIN)/python bench/bench_verdicts.py $(ARGS)

.PHONY: constraints
constraints: ## pin the newest versions that fit together (needs uv); run the tests afterwards
	uv pip compile -q --universal --python-version 3.11 --upgrade --no-header --no-annotate \
		--no-emit-index-url --no-emit-find-links --extra dev pyproject.toml -o constraints.txt

.PHONY: clean
clean: ## remove the virtual environment, the Airflow home and the demo's data
	rm -rf $(VENV) .bench $(AIRFLOW_HOME) $(RAG_CHECKS_HOME) .pytest_cache .mypy_cache .ruff_cache
