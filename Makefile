# make demo | test | check | bench | docs. The environment lives in .venv/; it is made once and again when
# pyproject.toml or constraints.txt change.

PYTHON ?= python3
BIN := .venv/bin
DATA := $(wildcard ../shared/datasets)
export NGM_DATA := $(or $(NGM_DATA),$(if $(DATA),$(abspath $(DATA))))

.PHONY: demo test check bench docs clean
.DEFAULT_GOAL := help

help:
	@echo "make demo   train with and without the graph on embedded data (under a minute)"
	@echo "make test   run all tests"
	@echo "make check  everything that CI runs: format, lint, types, tests"
	@echo "make bench  speed against a plain epoch and against the number of edges"
	@echo "make docs   build the documentation into site/"

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet -c constraints.txt -e ".[dev,bench,plot,text,walks,examples,export,images,logging]"
	@touch $@

.venv/ready-docs: .venv/ready
	$(BIN)/pip install --quiet -c constraints.txt -e ".[docs]"
	@touch $@

demo: .venv/ready
	@$(BIN)/ngm demo

test: .venv/ready
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2

check: .venv/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(MAKE) test

bench: .venv/ready
	$(BIN)/python benchmarks/epoch.py
	$(BIN)/python benchmarks/linear.py
	$(BIN)/python benchmarks/orders.py
	$(BIN)/python benchmarks/propagation.py
	$(BIN)/python benchmarks/ingest.py --edges 5_000_000
	$(BIN)/python benchmarks/diagnose.py
	$(BIN)/python benchmarks/text.py
	$(BIN)/pip install --quiet -c constraints.txt -e ".[peers]"
	$(BIN)/python benchmarks/knn.py

docs: .venv/ready-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

clean:
	rm -rf .venv site .mypy_cache .ruff_cache .pytest_cache
