# Everything here needs only make and Python 3.11 or newer. `make` alone lists the targets.

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.set-up
EXTRAS := all,redis-server,postgres-server
GROUP := --group dev
DEMO := .venv-demo
FULL := .venv-full
FULL_STAMP := $(FULL)/.set-up
OLDEST := .oldest
OLDEST_STAMP := $(OLDEST)/.set-up
OLDEST_HOSTS := .oldest-hosts
OLDEST_HOSTS_STAMP := $(OLDEST_HOSTS)/.set-up
HOSTS := $(addprefix tests/hosts/test_,deepagents.py google_adk.py media.py openai_agents.py pydantic_ai.py)
MODELS := .models
PYTHONS := $(strip $(PYTHON) python3.13 python3.12 python3.11 python3)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start hundreds of processes: what one of them has compiled the next finds. What is never imported need not be
# compiled at all, so pip is told not to.
export PYTHONDONTWRITEBYTECODE :=
MAKEFLAGS += --no-print-directory

# Files of tests run side by side, one process a core. What langchain-tests and LangChain bring along for pytest is left
# out: it takes seconds to load, in every process, and a little of each test.
# A process that dies is replaced once: its test would be tried again and again.
SPREAD := --numprocesses auto --dist loadfile --max-worker-restart 1 $(addprefix -p no:,anyio codspeed langsmith_plugin socket syrupy)

# Every notebook, the site and the inspector in a browser, servers that are killed, attacks, growing logs, the benchmarks.
LONG := $(wildcard tests/long tests/*/long)

# Where processes share the cores, the threads of models and matrices only wait for one another.
test test-engines test-oldest test-full: export OMP_NUM_THREADS := 1

# Of the tests of the adapters, what says nothing of a framework's version: long runs, paging, and what both adapters do
# alike. LangChain 1.2.15 merges the schemas of a state in the order of
# a set, so that the reducer which test_every_turn_reaches_the_model gives holds at random there.
OTHERWISE := paging or event_script or evaluation_methods or every_turn_reaches

# The stamp holds the folder that it was made in: in a copied tree the environment would still import the original.
# A missing or broken environment is made again, and so is one of an older pyproject.toml.
STALE := $(shell test "$$(cat $(STAMP) 2>/dev/null)" = "$(CURDIR)" && $(BIN)/python -c '' 2>/dev/null || echo again)
FULL_STALE := $(shell test "$$(cat $(FULL_STAMP) 2>/dev/null)" = "$(CURDIR)" && $(FULL)/bin/python -c '' 2>/dev/null || echo again)

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help venv setup setup-browser setup-fonts setup-pooler setup-oldest setup-full models again demo docs screenshots dist test test-engines test-oldest test-full check lint format types imports bench clean clean-models

help:
	@echo "make demo       two days of a user, then ten months of another: what is found, and what the model reads"
	@echo "                (ARGS=--explain for every score, STORE=file keeps the memory)"
	@echo "make test       the tests                    (ARGS='-k recall' for some of them, ARGS=--cov for coverage)"
	@echo "make test-engines  the tests with Postgres, Redis and Milvus, which are started for them, and with killed processes"
	@echo "make test-oldest  the tests of the adapters with the oldest versions that they admit"
	@echo "make test-full  that, what takes long (notebooks, browser, killed servers, attacks), and what is tested with real"
	@echo "                models, in $(FULL): 3 GB on disk, 1.4 GB downloaded once"
	@echo "make check      ruff, ruff format, mypy, pyright, import-linter"
	@echo "make docs       the documents as a site in site/, warnings as errors               (ARGS=serve shows them)"
	@echo "make screenshots  the pictures in docs/assets: README, inspector, demo; in headless Chromium, 3 minutes"
	@echo "make dist       wheels and sdist in dist/, tried in clean environments with each extra alone (20 minutes)"
	@echo "make bench      how to measure retrieval, compression, prompts        (DATA=folder measures them)"
	@echo "make setup      make the environment in $(VENV); the targets above do it when they need it"
	@echo "make setup-pooler   PgBouncer from Debian for the tests of Postgres behind it"
	@echo "make setup-browser  Chromium from Debian for the tests in a browser; setup-fonts: letters of the pictures"
	@echo "make clean      remove the environments, caches and reports; make clean-models: what was downloaded for test-full"

setup: $(STAMP)
	@echo "== $(VENV) is up to date"

# The tests in a browser take Debian's; elsewhere install one by hand, or they are skipped.
setup-browser:
	@command -v chromium >/dev/null || { \
		echo "== installing Chromium"; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; \
	}

# The letters of the pictures, Chinese ones among them.
setup-fonts:
	@fc-list 2>/dev/null | grep -q NotoSansCJK || { \
		echo "== installing the Noto fonts"; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
			fontconfig fonts-noto-core fonts-noto-cjk; \
	} || echo "== without the Noto fonts the pictures have other letters"

# PgBouncer from Debian; elsewhere install it by hand, or its tests are skipped (they fail with HYBRID_MEMORY_POOLER=required).
setup-pooler:
	@PATH="$$PATH:/usr/sbin" command -v pgbouncer >/dev/null || { \
		echo "== installing PgBouncer"; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends pgbouncer; \
	} || echo "== without PgBouncer its tests are skipped"

setup-full: $(FULL_STAMP)
	@echo "== $(FULL) is up to date"

setup-oldest: $(OLDEST_STAMP) $(OLDEST_HOSTS_STAMP)
	@echo "== $(OLDEST) and $(OLDEST_HOSTS) are up to date"

# The tests fetch what is not there yet.
models: $(FULL_STAMP)
	@echo "== fetching the weights for test-full into $(MODELS)"
	@$(FULL)/bin/python tests/full/weights.py

$(STAMP): pyproject.toml $(STALE)
	@set -e; \
	$(MAKE) venv; \
	echo "== upgrading pip"; \
	$(BIN)/python -m pip install -qq --upgrade "pip>=25.1"; \
	echo "== installing the package with $(EXTRAS) $(GROUP) (a few minutes when nothing is cached)"; \
	$(BIN)/python -m pip install -qq --no-compile --editable ".[$(EXTRAS)]" $(GROUP); \
	echo "== $$($(BIN)/python -m pip list --format=freeze | wc -l | tr -d ' ') packages installed"; \
	printf '%s' "$(CURDIR)" > $@

venv:
	@set -e; \
	if ! $(BIN)/python -c 'import pip' 2>/dev/null || test "$$(cat $(STAMP) 2>/dev/null || echo "$(CURDIR)")" != "$(CURDIR)"; then \
		found=; \
		for python in $(PYTHONS); do \
			if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found=$$python; break; fi; \
		done; \
		if test -z "$$found"; then \
			echo "no Python 3.11 or newer found (tried $(PYTHONS)):"; \
			echo "install one, or name it: make setup PYTHON=/path/to/python3"; \
			exit 1; \
		fi >&2; \
		echo "== making $(VENV) with $$($$found -c 'import sys; print(sys.executable, sys.version.split()[0])')"; \
		$$found -m venv --clear $(VENV) || { \
			echo "$$found cannot make environments: install its venv module (Debian, Ubuntu: apt install python3-venv)" >&2; \
			exit 1; \
		}; \
	fi

# Without the environment of the developers it makes one with what the demo needs, in a minute or two.
demo:
	@test -e $(STAMP) || $(MAKE) setup VENV=$(DEMO) EXTRAS=local,langchain,llamaindex GROUP=
	@echo "== the demo: examples/demo.py"
	@$$(test -e $(STAMP) && echo $(BIN) || echo $(DEMO)/bin)/python examples/demo.py $(if $(STORE),--store "$(STORE)") $(ARGS)

docs: $(STAMP)
	@echo "== the documents: mkdocs"
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs $(or $(ARGS),build) --strict

screenshots: $(STAMP) setup-browser setup-fonts
	@echo "== pictures of README and inspector into docs/assets: docs/screenshots.py"
	@$(BIN)/python docs/screenshots.py $(ARGS)
	@echo "== what the demo prints into docs/assets/demo.svg: docs/recording.py"
	@$(BIN)/python docs/recording.py

dist: $(STAMP)
	@echo "== wheel and sdist: tests/release/smoke.py"
	@$(BIN)/python tests/release/smoke.py

test: $(STAMP)
	@echo "== the tests: pytest -m 'not engines'"
	@$(BIN)/python -m pytest -q $(SPREAD) -m "not engines" $(ARGS)

test-engines: $(STAMP) setup-pooler
	@echo "== the tests with servers and killed processes: pytest -m engines"
	@$(BIN)/python -m pytest -q $(SPREAD) -m engines $(ARGS)

# Installed in front of what the environment has: an environment of their own would take minutes and half a gigabyte.
test-oldest: $(OLDEST_STAMP) $(OLDEST_HOSTS_STAMP)
	@echo "== the tests of the adapters, with the oldest versions: pytest tests/langchain tests/llamaindex tests/adapters"
	@PYTHONPATH=$(OLDEST) $(BIN)/python -m pytest -q $(SPREAD) -k "not ($(OTHERWISE))" tests/langchain tests/llamaindex tests/adapters $(ARGS)
	@echo "== the tests of the other hosts, with the oldest versions: pytest tests/hosts"
	@PYTHONPATH=$(OLDEST_HOSTS) $(BIN)/python -m pytest -q $(SPREAD) -W ignore::DeprecationWarning -W ignore::UserWarning $(HOSTS) $(ARGS)

$(OLDEST_STAMP): $(STAMP)
	@echo "== installing the oldest versions into $(OLDEST)"
	@rm -rf $(OLDEST)
	@$(BIN)/python -m pip install -qq --no-compile --no-deps --target $(OLDEST) --group oldest
	@touch $@

# The oldest deep agents want a newer LangChain than the oldest.
$(OLDEST_HOSTS_STAMP): $(STAMP)
	@echo "== installing the oldest hosts into $(OLDEST_HOSTS)"
	@rm -rf $(OLDEST_HOSTS)
	@$(BIN)/python -m pip install -qq --no-compile --no-deps --target $(OLDEST_HOSTS) --group oldest-hosts
	@touch $@

test-full: test-oldest $(FULL_STAMP)
	@echo "== what takes long: pytest $(LONG)"
	@$(BIN)/python -m pytest -q $(SPREAD) $(LONG) $(ARGS)
	@echo "== what is recalled and what an agent can do with it, not worse than expected: benchmarks/lives"
	@$(BIN)/python benchmarks/lives --only en_bernie zh3_yiming --check
	@echo "== what an agent must finish: benchmarks/acting"
	@$(BIN)/python benchmarks/acting --systems ours --check
	@echo "== the tests with real models: pytest tests/full"
	@$(FULL)/bin/python -m pytest -q $(SPREAD) --dist load --maxschedchunk 1 --timeout 1200 -o faulthandler_timeout=1300 --durations=5 tests/full tests/models/test_by_name.py $(ARGS)

# An environment of its own: with PyTorch installed the checks and the other tests would see other packages.
# It takes the Python of the other, which may still be installed meanwhile.
$(FULL_STAMP): pyproject.toml $(FULL_STALE)
	@set -e; \
	test -x $(BIN)/python || $(MAKE) venv; \
	if test "$$(cat $@ 2>/dev/null)" != "$(CURDIR)" || ! $(FULL)/bin/python -c 'import pip' 2>/dev/null; then \
		echo "== making $(FULL)"; \
		$(BIN)/python -m venv --clear $(FULL); \
	fi; \
	$(FULL)/bin/python -m pip install -qq --upgrade "pip>=25.1"; \
	echo "== installing PyTorch, LLMLingua and llama.cpp there (a few minutes when nothing is cached)"; \
	$(FULL)/bin/python -m pip install -qq --no-compile --editable ".[all,redis-server,postgres-server,chdb,llmlingua]" --group test --group full; \
	printf '%s' "$(CURDIR)" > $@

check: lint format types imports
	@echo "== all checks passed"

lint: $(STAMP)
	@echo "== ruff check"
	@$(BIN)/python -m ruff check .

format: $(STAMP)
	@echo "== ruff format --check"
	@$(BIN)/python -m ruff format --check .

# For the Python that runs here, not the oldest: its packages may be typed in newer syntax (NumPy 2.5 from 3.12 on).
types: $(STAMP)
	@echo "== mypy --strict"
	@$(BIN)/python -m mypy --python-version "$$($(BIN)/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
	@echo "== pyright, of programs that use the package: tests/release/typed.py"
	@$(BIN)/python tests/release/typed.py --tools pyright

imports: $(STAMP)
	@echo "== lint-imports"
	@$(BIN)/lint-imports --no-logo

ifdef DATA
bench: $(STAMP)
	@echo "== what an agent can do with a memory: benchmarks/lives"
	@$(BIN)/python benchmarks/lives --json lives.json
	@echo "== retrieval quality: benchmarks/retrieval.py"
	@$(BIN)/python benchmarks/retrieval.py --data "$(DATA)" --json retrieval.json
	@echo "== long conversations: benchmarks/compression"
	@$(BIN)/python benchmarks/compression --data "$(DATA)" --json compression.json
	@echo "== a model that manages its memory: benchmarks/paging"
	@$(BIN)/python benchmarks/paging --json paging.json
	@echo "== methods side by side: benchmarks/methods.py"
	@$(BIN)/python benchmarks/methods.py --data "$(DATA)" --json methods.json
	@echo "== tasks that an agent must finish: benchmarks/acting"
	@$(BIN)/python benchmarks/acting --json acting.json
	@echo "== attacks on memory: benchmarks/poisoning"
	@$(BIN)/python benchmarks/poisoning --json poisoning.json
	@echo "== four figures before and after: benchmarks/original_case.py"
	@$(BIN)/python benchmarks/original_case.py --data "$(DATA)" --json original_case.json
	@echo "== written: lives, retrieval, compression, paging, methods, acting, poisoning, original_case (.json)"
else
bench:
	@echo "The benchmarks read conversation sets with labelled evidence from a folder (*.jsonl.gz)."
	@echo
	@echo "  make bench DATA=folder                                  all of them; takes four hours"
	@echo "  $(BIN)/python benchmarks/retrieval.py --data folder     recall, hit rate and MRR per set; --sets, --limit"
	@echo "  $(BIN)/python benchmarks/compression --data folder      prompts and summaries of long chats; --parts, --limit"
	@echo
	@echo "  $(BIN)/python benchmarks/pasted.py --data folder        questions beside a long pasted text; --sets, --chars"
	@echo "  $(BIN)/python benchmarks/methods.py --data folder       what methods of compression keep; --sets, --limit, --words"
	@echo "  $(BIN)/python benchmarks/original_case.py --data folder four figures before and after; --sets, --limit"
	@echo "  $(BIN)/python benchmarks/peers --data folder            other memories beside this one, in .venv-peers; --parts, --only"
	@echo
	@echo "These need no data:"
	@echo
	@echo "  $(BIN)/python benchmarks/lives                          what an agent can do with the memory of a life; --only, --check"
	@echo "  $(BIN)/python benchmarks/acting                         tasks that an agent must finish; --tasks, --systems, --show"
	@echo "  $(BIN)/python benchmarks/paging                         what a model that manages its memory finds; --parts"
	@echo "  $(BIN)/python benchmarks/poisoning                      attacks on an agent's memory; --cases, --systems, --show"
	@echo "  $(BIN)/python benchmarks/peers --parts speed            recall, writing, memory and disk by engine; --sizes, --only"
	@echo "  $(BIN)/python benchmarks/faults crowd                   many users at once in one process; --users, --minutes, --url"
	@echo "  $(BIN)/python benchmarks/round_trips.py                 how often a verb waits for a Postgres server"
	@echo "  $(BIN)/python benchmarks/mutants.py                     whether the tests notice small faults; --count, --rooms"
endif

clean:
	@echo "== removing $(VENV), $(DEMO), $(FULL), $(OLDEST), $(OLDEST_HOSTS), caches and reports"
	@rm -rf $(VENV) $(DEMO) $(FULL) $(OLDEST) $(OLDEST_HOSTS) .venv-peers dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .benchmarks .coverage
	@rm -f retrieval.json speed.json compression.json paging.json methods.json acting.json poisoning.json original_case.json
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

clean-models:
	@echo "== removing $(MODELS)"
	@rm -rf $(MODELS)
