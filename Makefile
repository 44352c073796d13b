# make demo | test | coverage | check | floors | bench | docs. The environment lives in .venv/; it is made once and again
# when pyproject.toml or constraints.txt change.

PYTHON ?= python3
BIN := .venv/bin
DATA := $(wildcard ../shared/datasets)
export NGM_DATA := $(or $(NGM_DATA),$(if $(DATA),$(abspath $(DATA))))

# Tests start dozens of processes: where bytecode is not kept, each of them compiles its modules, and pytest rewrites all
# tests in each of its processes.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test coverage check floors bench docs clean
.DEFAULT_GOAL := help

help:
	@echo "make demo   train with and without the graph on embedded data (under a minute)"
	@echo "make test   run all tests"
	@echo "make coverage  run all tests and say which lines of ngm/ none of them ran"
	@echo "make check  everything that CI runs: format, lint, types, tests"
	@echo "make floors the core of the tests on the lowest versions that pyproject.toml admits (PYTHON=... for another Python)"
	@echo "make bench  all ratios of speed and memory with their targets, met or not, from the kept results"
	@echo "make docs   build the documentation into site/"

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet -c constraints.txt -e ".[dev,bench,plot,text,walks,examples,export,images,logging,ray]"
	@touch $@

.venv/ready-docs: .venv/ready
	$(BIN)/pip install --quiet -c constraints.txt -e ".[docs]"
	@touch $@

demo: .venv/ready
	@$(BIN)/ngm demo --overwrite

test: .venv/ready
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal

# Lines that ran in the processes of pytest: commands and scripts that tests start in processes of their own do not count.
coverage: .venv/ready
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal --cov --cov-report=term-missing

check: .venv/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(MAKE) test

# The lowest versions that pyproject.toml admits, in an environment of their own: .ci/lowest_versions reads them, so there
# is no second list. Of what those packages need in turn pip takes the newest. torch comes with its accelerator packages
# (2.7 GB): the lowest version is on the package index with them only, and does not import without. Core are the modules
# below: what a user's code goes through, without reproductions, examples, browser, kills, and exports, which ask for a
# newer torch. Old packages beside new ones warn of what will be removed one day; those warnings are no errors here.
FLOORS := .venv-floors/bin
CORE := test_paper test_public_api test_graph io/test_graph_folder io/test_graph_data test_graph_conversion \
	io/tables/test_ingest cli/test_ingest io/tables/test_table io/tables/test_stream test_distances \
	propagation/test_kernel ordering/test_blocks test_sampling test_sampling_memory test_objective \
	networks/test_networks test_training test_metrics propagation/test_label_propagation \
	estimators/test_classifier estimators/test_regressor \
	test_targets estimators/test_validation estimators/test_persistence estimators/test_resume \
	recipes/test_recipes build/test_knn build/test_knn_options build/test_sparse build/test_text \
	text/test_word_vectors estimators/test_text_estimators text/test_tokens networks/test_lstm \
	networks/test_charcnn test_processor inputs/test_walks inputs/test_inputs test_logs report/test_report \
	report/test_page cli/test_train cli/test_predict estimators/test_sklearn_contract datasets/test_datasets \
	datasets/test_pickles io/test_fetch test_doors estimators/test_model_export_torch

.venv-floors/ready: pyproject.toml
	rm -rf .venv-floors
	$(PYTHON) -m venv .venv-floors
	$(FLOORS)/pip install --quiet --no-deps -e .
	$(FLOORS)/python .ci/lowest_versions dev text walks logging >.venv-floors/requirements.txt
	$(FLOORS)/pip install --quiet --prefer-binary -r .venv-floors/requirements.txt
	@touch $@

floors: .venv-floors/ready
	OMP_NUM_THREADS=1 $(FLOORS)/python -m pytest -n 2 -W default::DeprecationWarning -W default::FutureWarning \
		-W default::PendingDeprecationWarning $(CORE:%=tests/%.py)

# Prints what is kept in benchmarks/results; a row that is not measured names the command that measures and keeps it.
bench: .venv/ready
	@$(BIN)/python benchmarks/table.py

docs: .venv/ready-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

clean:
	rm -rf .venv .venv-floors .venv-peers site .mypy_cache .ruff_cache .pytest_cache
