# Everything one does to work on Gossamer. Needs Python 3.11 or newer; the first target run makes .venv.
PYTHON := .venv/bin/python
ARGS ?=
# Test processes. Many tests wait for most of their time (delays, leases), so that three just keep two processors busy.
JOBS ?= 3

.DEFAULT_GOAL := help
.PHONY: help setup test bare check lint format bench chaos lock reference golden screenshots

help:  ## List these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

setup:  ## Make or refresh .venv, with the tools for working on Gossamer
	@./gossamer --dev

test: setup  ## Run the tests: make test ARGS="-k urls"
	@# In the order of folders: the longest tests come early, so that at the end nobody waits for one of them.
	$(PYTHON) -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder $(ARGS)

bare: setup  ## Run a selection as on a machine with nothing but Python, make and git: make bare ARGS="tests/fetch"
	$(PYTHON) tools/bare_path.py $(ARGS)

check: lint test  ## Everything a change must pass: lint, then test

lint: setup  ## Formatting, lint, types, who imports whom
	$(PYTHON) -m ruff format --check
	$(PYTHON) -m ruff check
	$(PYTHON) -m mypy
	$(PYTHON) .venv/bin/lint-imports

format: setup  ## Format the code and mend what can be mended mechanically
	$(PYTHON) -m ruff check --fix
	$(PYTHON) -m ruff format

bench: setup  ## Run the benchmarks: make bench ARGS="--help"
	$(PYTHON) -m bench $(ARGS)

chaos: setup  ## Inflict faults on crawls, all in short, or one in full: make chaos ARGS="kills"
	$(PYTHON) -m chaos $(ARGS)

reference: setup  ## Write docs/reference anew from the code
	$(PYTHON) tools/reference.py

golden: setup  ## Write tests/golden anew, where crawls shall differ from now on: make golden ARGS="redirects"
	$(PYTHON) -m tests.golden $(ARGS)

screenshots: setup  ## Take the pictures in docs/images again; needs Chromium
	$(PYTHON) tools/screenshots.py

lock:  ## Write the lock files anew from pyproject.toml: make lock ARGS="--upgrade" for newer versions
	$${GOSSAMER_PYTHON:-python3} tools/lock.py $(ARGS)
