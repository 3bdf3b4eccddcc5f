# Two commands: `make run` starts Recovery Desk, `make test` runs every test. Both first install what they need
# into .venv, and do nothing where that is done already. Written for GNU make 3.81 and later.

BIN := .venv/bin
PORT ?=
# One more than there are cores: many tests wait for processes.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2) + 1)
PYTHON ?=
# Kept byte code saves each process of a test compiling everything anew, whatever this shell has set.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help run test soak test-fast mutants torture bench lint types screenshots coverage audit-deps lock clean test-needs

help:
	@echo "make run          install, then run everything on this machine, with demo data on an empty database"
	@echo "make test         every test: both databases, Redis, Chromium (a quarter of an hour on two cores)"
	@echo "make soak         the schedule under an outage of Redis, 1,000 conversations of a Chatwoot, the torture's tests"
	@echo "make test-fast    the tests that need neither browser, processes nor PostgreSQL (under a minute)"
	@echo "make lint types   style, imports, templates; static types"
	@echo "make torture      all processes under load, killed at random for 5 minutes; then everything is checked"
	@echo "make bench        the benchmarks, as a table and JSON"
	@echo "make screenshots  pictures of the pages, into screenshots/"
	@echo "make coverage     every test with branch coverage"
	@echo "make mutants      changes the policies and transitions in small ways, and lists what no test noticed"
	@echo "make audit-deps   known faults of the locked dependencies"
	@echo "make lock         compile requirements/*.txt from requirements/*.in"
	@echo "make clean        remove .venv and caches; var/ with its data stays"

run: .venv/.base
	@exec $(BIN)/desk up $(if $(PORT),--port $(PORT))

test: .venv/.test test-needs
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal --ignore tests/soak --ignore tests/torture

# The schedule under an outage of Redis, the torture's own tests, and as many conversations as a Chatwoot has in a day:
# minutes each, and apart from what each change runs.
soak: .venv/.test test-needs
	DESK_TEST_CONVERSATIONS=1000 $(BIN)/python -m pytest -q -s -n 2 tests/soak tests/torture tests/connectors/test_any_order.py

# On SQLite alone, and so without a PostgreSQL.
test-fast: .venv/.test
	DESK_TEST_POSTGRES=unused $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal -m "not slow"

coverage: .venv/.test test-needs
	$(BIN)/python -m coverage run --branch --source models,jobs,desk_ui --parallel-mode -m pytest -q
	$(BIN)/python -m coverage combine -q
	$(BIN)/python -m coverage report --skip-covered --sort cover

# Begun anew each time: what survived once is not asked again by itself. No PostgreSQL is started, since these
# tests run on SQLite alone; mypy is found on the path.
mutants: .venv/.test
	rm -rf mutants
	PATH="$(CURDIR)/$(BIN):$$PATH" DESK_TEST_POSTGRES=unused $(BIN)/mutmut run --max-children $(WORKERS)
	$(BIN)/mutmut results

# DESK_TORTURE_SECONDS is how long the load and the faults last; coming to rest takes a few minutes more.
torture: .venv/.test test-needs
	$(BIN)/python -m tests.torture $(if $(SEED),--seed $(SEED))

bench: .venv/.bench test-needs
	$(BIN)/python -m bench

lint: .venv/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/djlint --lint --quiet desk_ui/templates

types: .venv/.test
	$(BIN)/mypy

screenshots: .venv/.test test-needs
	$(BIN)/python -m tests.browser.screenshots screenshots

audit-deps: .venv/.test
	$(BIN)/pip-audit --strict --require-hashes --disable-pip -r requirements/base.txt
	$(BIN)/pip-audit --strict --require-hashes --disable-pip -r requirements/test.txt
	$(BIN)/pip-audit --strict --require-hashes --disable-pip -r requirements/bench.txt

COMPILE = $(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-header --no-annotate

lock: .venv/.base
	$(COMPILE) requirements/bootstrap.in -o requirements/bootstrap.txt
	$(COMPILE) requirements/base.in -o requirements/base.txt
	$(COMPILE) requirements/test.in -o requirements/test.txt
	$(COMPILE) requirements/bench.in -o requirements/bench.txt

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis test-results mutants *.egg-info build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment. Its stamps: .python (there is one, with uv), .base (what runs), .test (also what tests), .bench
# (also the queues that the benchmarks compare with). What was added stays until make clean.

SYNC = $(BIN)/uv pip sync -q -p $(BIN)/python --compile-bytecode
HAS_TEST = $(if $(wildcard .venv/.test),test)
HAS_BENCH = $(if $(wildcard .venv/.bench),bench)
LINK = $(BIN)/uv pip install -q -p $(BIN)/python --no-deps --no-build-isolation -e .

.venv/.python: requirements/bootstrap.txt
	@sh requirements/environment.sh "$(PYTHON)"
	@touch $@

.venv/.base: .venv/.python requirements/base.txt pyproject.toml
	@echo "Installing the locked dependencies …"
	@$(SYNC) requirements/$(or $(HAS_BENCH),$(HAS_TEST),base).txt
	@$(LINK)
	@touch $@

.venv/.test: .venv/.python requirements/test.txt pyproject.toml
	@echo "Installing the locked dependencies, with those of the tests …"
	@$(SYNC) requirements/$(or $(HAS_BENCH),test).txt
	@$(LINK)
	@touch .venv/.base $@

.venv/.bench: .venv/.test requirements/bench.txt
	@echo "Installing the queues that the benchmarks compare with …"
	@$(SYNC) requirements/bench.txt
	@$(LINK)
	@touch $@

test-needs: .venv/.test
	@sh requirements/test-needs.sh
