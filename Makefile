# The commands for working on Gossamer. They need Python 3.11 or newer; the first one makes .venv.
PYTHON := .venv/bin/python
ARGS ?=
# Test processes. Many tests spend most of their time waiting (delays, leases): three keep two processors busy.
JOBS ?= 3

.DEFAULT_GOAL := help
.PHONY: help setup test bare check lint format bench profile compare chaos fuzz audit lock reference site real golden screenshots slow-plots

help:  ## List these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

setup:  ## Make or refresh .venv, with the tools for working on Gossamer
	@./gossamer --dev

test: setup  ## Run the tests: make test ARGS="-k urls"
	@# In the order of folders: the longest tests run early, so that the run does not end with one of them alone.
	$(PYTHON) -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder $(ARGS)

bare: setup  ## Run a selection as on a machine with nothing but Python, make and git: make bare ARGS="tests/fetch"
	$(PYTHON) tools/bare_path.py $(ARGS)

check: lint test  ## Everything a change must pass: lint, then test

lint: setup  ## Formatting, lint, types, who imports whom
	$(PYTHON) -m ruff format --check
	$(PYTHON) -m ruff check
	$(PYTHON) -m mypy
	$(PYTHON) .venv/bin/lint-imports

format: setup  ## Format the code, and fix what ruff can fix
	$(PYTHON) -m ruff check --fix
	$(PYTHON) -m ruff format

bench: setup  ## Run the benchmarks: make bench ARGS="--help"
	$(PYTHON) -m bench $(ARGS)

profile: setup  ## Write a flame graph of each process to profile/: make profile ARGS="--web large"
	$(PYTHON) -m bench profile $(ARGS)

compare: setup  ## Compare crawlers by a server's log, in one table: make compare ARGS="--crawler gossamer --crawler scrapy"
	$(PYTHON) -m compare $(ARGS)

chaos: setup  ## Inflict faults on crawls, all in short, or one in full: make chaos ARGS="kills"
	$(PYTHON) -m chaos $(ARGS)

fuzz: setup  ## Search for inputs that break a reader of foreign bytes, ten minutes each: make fuzz ARGS="--seconds 60 robots"
	$(PYTHON) -m tests.fuzz $(ARGS)

audit:  ## Look for known holes in the versions that the lock files pin; needs the internet
	$${GOSSAMER_PYTHON:-python3} tools/audit.py

reference: setup  ## Generate docs/reference from the code
	$(PYTHON) tools/reference.py

site: setup  ## Build the documentation as a site, in build/site
	$(PYTHON) tools/site.py

real: setup  ## Compare crawls of real manuals with wget, by hand on Debian 12: make real ARGS="--sites git,sqlite"
	$(PYTHON) tools/real_manuals.py $(ARGS)

golden: setup  ## Rewrite tests/golden after an intended change of crawls: make golden ARGS="redirects"
	$(PYTHON) -m tests.golden $(ARGS)

screenshots: setup  ## Take the pictures in docs/images again; needs Chromium
	$(PYTHON) -m tools.screenshots

slow-plots: setup  ## Draw what planted causes of a slow crawl look like, for docs/operations.md; 15 minutes
	$(PYTHON) -m tools.slow_plots

lock:  ## Generate the lock files from pyproject.toml: make lock ARGS="--upgrade" for newer versions
	$${GOSSAMER_PYTHON:-python3} tools/lock.py $(ARGS)
