# How Words Get Their Vectors. `make help` lists the targets.
# Needs git, make and Python 3.11, 3.12 or 3.13; everything else goes into .venv.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
TORCH := $(shell grep "^torch==" requirements.txt)
UV := $(shell grep "^uv==" requirements.txt)
LESSONS := $(sort $(wildcard notebooks/*.ipynb))

# A Python of your choice: make book PYTHON=python3.12
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	"$$p" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null \
	&& { echo "$$p"; break; }; done)

# TORCH_CPU=1 takes the small CPU-only torch from PyTorch's own index.
ifdef TORCH_CPU
TORCH_FROM := --index-url https://download.pytorch.org/whl/cpu
endif

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1|\2/' | column -t -s '|'

.PHONY: setup
setup: $(READY) ## Make .venv and install everything into it (the other targets do this themselves)

# torch goes first and through pip, which honours an index or a folder of wheels that you have
# configured; uv then installs the rest, and leaves a torch of the right version alone.
$(READY): requirements.txt constraints.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "No Python 3.11, 3.12 or 3.13 found. Install one, or name it: make book PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(BIN)/python || "$(PYTHON)" -m venv $(VENV)
	@echo "Installing into $(VENV) (README, section Installation, says how much and how long)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $(UV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps $(TORCH_FROM) $(TORCH)
	@$(BIN)/uv pip install --quiet --python $(BIN)/python -r requirements.txt -c constraints.txt
	@touch $@

.PHONY: book
book: $(READY) ## Build the book, warnings as errors
	@rm -rf _build/html _build/.doctrees
	@$(BIN)/jupyter-book build . -W --keep-going -n --quiet
	@echo "The book is ready. Open it: $(CURDIR)/_build/html/index.html"

.PHONY: test
test: $(READY) lint unit nbval book test-book ## Run every test

.PHONY: lint
lint: $(READY) ## Check the style of the code
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .

.PHONY: unit
unit: $(READY) ## Run the doctests and unit tests
	@$(BIN)/python -m pytest -q --doctest-modules --doctest-glob='welcome.md' utils tests book/welcome.md --ignore tests/book

.PHONY: nbval
nbval: $(READY) ## Run every lesson again and compare every text output
	@$(BIN)/python -m pytest -q --nbval --nbval-sanitize-with tests/nbval_sanitize.cfg -n 2 --dist loadfile $(LESSONS)

.PHONY: test-book
test-book: $(READY) ## Check the built book as a whole
	@$(BIN)/python -m pytest -q tests/book

.PHONY: run
run: $(READY) ## Run every lesson in place and write its outputs
	@$(BIN)/python tools/run_notebooks.py

.PHONY: lab
lab: $(READY) ## Open the lessons in JupyterLab
	@$(BIN)/jupyter lab notebooks

.PHONY: measure
measure: $(READY) ## Measure each lesson's running time and memory for the status page
	@$(BIN)/python tools/measure_lessons.py

.PHONY: repo-url
repo-url: $(READY) ## Write the repository's address everywhere: make repo-url URL=https://github.com/you/name
	@$(BIN)/python tools/repo_url.py "$(URL)"

# torch stays out of the hashed file, so that its CPU build of the same version is welcome.
.PHONY: lock
lock: ## Write constraints.txt anew from requirements.txt and pyproject.toml
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
		--no-emit-package torch --no-emit-package how-words-get-their-vectors \
		--custom-compile-command "make lock" -o constraints.txt $(LOCK_OPTIONS) requirements.txt

.PHONY: clean
clean: ## Delete what the other targets built, except .venv
	@rm -rf _build dist
