# The only entrance. `make` explains the targets; each is a line or three, longer things have a name in tools/.
.DEFAULT_GOAL := help
SHELL := bash
BIN := .venv/bin
export PATH := $(CURDIR)/.venv/bin:$(PATH)
PYTEST := $(BIN)/python -m pytest
# Python keeps what it compiled, whatever the machine says: else every service compiles every library at each start.
unexport PYTHONDONTWRITEBYTECODE
# Most tests wait for real servers most of their time: five lanes fill two cores. Fewer need less memory (1.5 GB each).
LANES := 5

.PHONY: help setup demo demo-kafka test test-fast lint format types contracts cover lock up down status logs bench extraction faults reliability slow wheels docs clean

help: ## explain the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F':.*## ' '{printf "  \033[1m%-14s\033[0m %s\n", $$1, $$2}'

setup: ## make .venv from requirements.lock (does nothing when it is current)
	@tools/setup

demo: setup ## crawl a small site that is served here, and show what was found, what was refused and why
	@tools/demo

demo-kafka: setup ## show the example pair at work on the local stack: real Kafka, nothing but Python
	@tools/demo-kafka

test: setup ## run every test but the long ones (make faults, make slow), on a real Kafka, PostgreSQL and Valkey
	@$(PYTEST) tests -m "not slow and not paced" -n $(LANES) --dist loadscope --durations 25 --durations-min 15 $(ARGS); many=$$?; \
	$(PYTEST) tests/e2e -m "paced and not slow" $(ARGS); paced=$$?; \
	for code in $$many $$paced; do case $$code in 0|5) ;; *) exit 1 ;; esac; done  # 5: ARGS select none of them

test-fast: setup ## run only what needs no server: unit and repository tests, seconds
	$(PYTEST) tests/unit tests/repo -m "not slow" -q

cover: setup ## run the tests without servers, and report the lines that no test runs (ONLY="tests/unit/jobs": of these)
	$(PYTEST) $(or $(ONLY),tests/unit tests/repo) -m "not slow" -q --cov=strider --cov-report=term-missing:skip-covered $(ARGS)

lint: setup ## check style, format and types
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(MAKE) --no-print-directory types
	$(BIN)/strider schemas check

format: setup ## format the code and sort the imports
	$(BIN)/ruff format . && $(BIN)/ruff check --fix .

types: setup ## check types, strictly
	$(BIN)/mypy $(wildcard libs/*/src services/*/src examples/*/src cli/src)

contracts: setup ## write what is generated from schemas/, settings and tests
	$(BIN)/python tools/generated.py

lock: setup ## resolve requirements.lock again
	@tools/lock

up: setup ## start Kafka, PostgreSQL, Valkey and all services here
	$(BIN)/strider up

down: setup ## stop what `make up` started
	$(BIN)/strider down

status: setup ## show every part and service
	$(BIN)/strider status

logs: setup ## follow the logs of all processes, or of one: make logs s=kafka
	$(BIN)/strider logs -f $(s)

bench: setup ## measure; writes docs/performance.md and .json (BENCH=short: quick, writes nothing; ONLY="urls pipeline": these parts)
	$(BIN)/python -m tests.bench $(if $(filter short,$(BENCH)),--short,) $(if $(ONLY),--only $(ONLY),)

extraction: setup ## measure main text, pagination and products on others' pages; writes docs/extraction.md
	$(BIN)/python -m tests.bench.extraction

faults: setup ## the long fault tests: kills, pauses, floods; prints what was lost and repeated; more made-up crawls
	$(PYTEST) tests/faults -s --timeout 1200
	$(PYTEST) tests/e2e -q -m slow
	$(PYTEST) tests/unit -q -m slow

reliability: setup ## run the tests that docs/reliability.md names, and write it with their figures (LONG=1: the long ones too)
	@mkdir -p .strider && rm -f .strider/figures.jsonl
	FIGURES_FILE=$(CURDIR)/.strider/figures.jsonl $(PYTEST) tests -m "fault$(if $(LONG),, and not slow)" -n $(LANES) --dist loadscope --timeout 1200 $(ARGS)
	$(BIN)/python tools/reliability.py --collect .strider/figures.jsonl

hostile: setup ## every attack of a hostile producer on the running pipeline; `make test` runs most of them
	$(PYTEST) tests/e2e/hostile_producer -s $(ARGS)

slow: setup ## the long tests that `make test` leaves out: a Redis cluster, millions of entries, frozen fetchers (hours)
	$(PYTEST) tests/contract tests/integration -m slow --timeout 7200 --durations 0 $(ARGS)

wheels: setup ## build every member as a wheel into dist/, and try them in a clean environment
	@tools/wheels

docs: contracts ## write the generated pages (requirements, topics, settings)

clean: ## remove what can be made again (the data of the local stack stays: strider down --wipe)
	rm -rf dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .venv .strider/tools
