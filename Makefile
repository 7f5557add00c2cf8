# Everything runs in a virtual environment of its own, .venv, with pinned versions (constraints.txt).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CONFIG ?= configs/kachuful.yaml
DEALS ?= 1000
SEED ?= 1
NAME := $(basename $(notdir $(CONFIG)))
OUT ?= runs/$(NAME)-$(shell date +%Y%m%d-%H%M%S)
AGAINST ?= random,counting
JSON ?= benchmark.json
STAMP := $(VENV)/.installed

.PHONY: help install train test test-slow lint format bench clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14
	@echo 'variables: CONFIG=FILE OUT=FOLDER DEALS=N SEED=N AGAINST=A,B (train), ARGS="..." (train, test, bench), PYTHON=python3.12'

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python >= 3.11 is needed; choose one with make PYTHON=python3.12" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

install: $(STAMP) ## make .venv and install everything into it

train: $(STAMP) ## train CONFIG by self-play, then evaluate the result against AGAINST
	$(BIN)/python scripts/train.py --config $(CONFIG) --out $(OUT) $(ARGS)
	$(BIN)/python scripts/evaluate.py $(OUT) --against $(AGAINST) --deals $(DEALS) --seed $(SEED) --json $(OUT)/evaluation.json
	@echo "Checkpoint: $(OUT)"
	@echo "Curves:     $(BIN)/tensorboard --logdir $(OUT)"

test: $(STAMP) ## run the fast tests
	$(BIN)/python -m pytest -n 2 --dist loadfile $(ARGS)

test-slow: $(STAMP) ## run the slow tests
	$(BIN)/python -m pytest -m slow $(ARGS)

lint: $(STAMP) ## check style, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP) ## format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP) ## measure speeds, write them to JSON
	$(BIN)/python scripts/benchmark.py --json $(JSON) $(ARGS)

clean: ## remove caches and build outputs (not .venv, not runs)
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './.venv/*' -exec rm -rf {} +
