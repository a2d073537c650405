# make demo | make test | make check: each installs what it needs into .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)

ifdef UV
install = uv pip install --quiet --python $(BIN)/python
make_venv = uv venv --quiet --python $(PYTHON) $(VENV)
else
install = $(BIN)/python -m pip install --quiet --disable-pip-version-check
make_venv = $(PYTHON) -m venv $(VENV)
endif

.PHONY: demo test quick long search mutants golden servers pictures check bench audit bless clean

# Tests start many processes, and whoever writes no bytecode compiles everything again for each of them.
export PYTHONDONTWRITEBYTECODE =

demo: $(VENV)/.installed-core
	$(BIN)/python examples/demo.py

# Ledgers wait for the disk at every charge; tests need not, where there is memory to spare for files.  Servers that
# tests start, and tests of read-only files, run under other names: they must be let in.
SHM := $(shell test -w /dev/shm && [ "$$(df -k --output=avail /dev/shm | tail -1)" -gt 4000000 ] && echo /dev/shm)
run_tests = folder=$$(mktemp -d $(if $(SHM),-p $(SHM))); chmod 755 $$folder; \
	TMPDIR=$$folder $(BIN)/python -m pytest -q -n 2 --dist worksteal $(1); \
	status=$$?; rm -rf $$folder; exit $$status

# Each process gets half of the tests, in their order, and steals from the end of the other's: the tests of Spark, which
# come early, stay together, so that only one process starts Java.
test: $(VENV)/.installed-test servers
	@$(call run_tests)

# Within a minute: what every answer rests on, from the noise to the command line, without servers.
QUICK := $(addprefix tests/, \
	certified/test_certified_table.py kernel/test_exact.py kernel/test_filter_laws.py curator/test_curator.py \
	ledgers/test_ledger_files.py query/test_sql.py holdout/test_holdout.py ledgers/test_receipts_json.py \
	theorems/test_gdp_filter.py theorems/test_zcdp_filter.py theorems/test_pure_filter.py \
	theorems/test_sensitivity.py theorems/test_rounded_gaussian.py \
	theorems/test_two_sided_geometric.py theorems/test_mechanisms.py theorems/test_subset.py \
	attacks/test_query_attacks.py transports/cli/test_cli_money.py \
	docs/test_theorem_registry.py docs/test_public_surface.py docs/test_architecture.py)

quick: $(VENV)/.installed-test
	@$(call run_tests,$(QUICK))

# The same as test with as many tries of the long ones as their cases ask for: before a release, for half an hour.
long: $(VENV)/.installed-test servers
	@export ADYTON_LONG=1 ADYTON_KILLS=200; $(call run_tests)

# The laws on examples that no run has seen: to be read, not to judge a change by.
search: $(VENV)/.installed-test servers
	@$(call run_tests,--hypothesis-profile search -m hypothesis)

# Changes one operator, constant or check of the kernel at a time, and fails where no test sees it: an hour or two,
# and less the next time.  make mutants ONLY="--module noisy --line 166" for one place; --tests, --quick, --found, --list.
mutants: $(VENV)/.installed-test
	@folder=$$(mktemp -d $(if $(SHM),-p $(SHM))); TMPDIR=$$folder $(BIN)/python tests/mutants.py $(ONLY); \
	status=$$?; rm -rf $$folder; exit $$status

# What the product does, written anew after a change that is meant: tests/golden says what differed.
golden: $(VENV)/.installed-test
	$(BIN)/python tests/golden/write.py

# The tests of Postgres, of Spark and of the web pages need a server, Java and Chromium.  As root on Debian they are
# installed; elsewhere those tests are skipped and say what is missing.
servers:
	@missing=""; \
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || missing=" postgresql"; \
	[ -n "$$JAVA_HOME" ] || command -v java >/dev/null || missing="$$missing default-jre-headless"; \
	command -v chromium >/dev/null || command -v google-chrome >/dev/null || missing="$$missing chromium"; \
	[ -e /usr/share/java/postgresql.jar ] || missing="$$missing libpostgresql-jdbc-java"; \
	if [ -z "$$missing" ]; then \
		:; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		(apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
			apt-get install -y -qq --no-install-recommends $$missing) >/dev/null \
		|| echo "could not install$$missing: their tests will be skipped"; \
	else \
		echo "some tests will be skipped; for them: apt-get install$$missing"; \
	fi

# Every web page, light and dark, wide and narrow, to be looked at.
pictures: $(VENV)/.installed-test servers
	$(BIN)/python tests/pictures.py build/pictures

check: $(VENV)/.installed-check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.installed-test
	$(BIN)/python benchmarks/run.py

# Tries to refute every mechanism and every kind of query; writes what it found.
audit: $(VENV)/.installed-test
	$(BIN)/adyton audit --all --write docs/audit.md

# After reading a theorem page together with its code: make bless ID=GDP-FILTER
bless: $(VENV)/.installed-core
	$(BIN)/python docs/bless.py $(ID)

clean:
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

$(BIN)/python:
	$(make_venv)

$(VENV)/.installed-core: $(BIN)/python pyproject.toml
	$(install) -e .
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed-core
	$(install) -e ".[test,peers,plot,postgres,server]"
	@touch $@

$(VENV)/.installed-check: $(VENV)/.installed-core
	$(install) -e ".[test,peers,plot,postgres,server,check]"
	@touch $@
