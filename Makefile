# Thin rules; the steps are in scripts/. `make VENV=/path/to/venv book` uses an environment as it is; its
# packages must be those of requirements.txt, unless LOCK=off says that others are meant.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
JOBS ?= 2
LOCK ?= on
NAME ?=
ID ?=
ARGS ?=

BIN := $(VENV)/bin
RUN := $(BIN)/python -m scripts
export LOCK
export PYTHONPATH := $(CURDIR)/src
# one BLAS thread per process: chapters and tests run side by side
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
# what Python has compiled is kept: a build and its tests start some hundred processes
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help environment book test again lab data chapter preview paper bench claims test-claim mutate lint report pdf sync clean \
	weekly corners seeds branches

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /make \1\t/' | expand -t 20

environment:
ifeq ($(origin VENV),file)
	@$(PYTHON) scripts/environment.py $(VENV)
endif
	@$(RUN) lock

book: environment ## build the book into _build/html
	@$(RUN) book --jobs $(JOBS)

# ARGS=--cov counts branches, which doubles the time: once a week (make weekly)
test: book ## run all tests, the site's in a browser too
	@$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal $(ARGS)

again: book ## build a second time, in a folder that is removed or in AGAIN=..., and compare byte for byte
	@$(RUN) again "$(AGAIN)"

# beside the user's own settings JupyterLab reads scripts/lab/jupyter_server_config.py
lab: environment ## open JupyterLab on the notebooks
	@JUPYTER_CONFIG_PATH="$(CURDIR)/scripts/lab$${JUPYTER_CONFIG_PATH:+:$$JUPYTER_CONFIG_PATH}" \
		$(BIN)/python -m jupyter lab --notebook-dir notebooks $(ARGS)

data: environment ## download the papers' data, checked by checksum
	@$(BIN)/python -m dplit.notebook.datasets

chapter: environment ## run one chapter into a page beside the book: NAME=erm ARGS="-p epsilon 1"
	@$(RUN) chapter "$(NAME)" $(ARGS)

preview: environment ## the book as it is written now, in seconds; of the chapters NAME=erm alone may run
	@$(RUN) preview $(NAME)

paper: environment ## run all chapters (or NAME=...) at the papers' scale, archive into results/
	@$(RUN) paper --jobs $(JOBS) $(NAME)

bench: environment ## time the package against its peers
	@$(BIN)/python -m benchmarks $(ARGS)

claims: environment ## check the registry of claims alone, in seconds
	@$(RUN) claims

test-claim: environment ## say which cells and tests check a claim ID=erm-thm2, and run the tests
	@$(RUN) test-claim "$(ID)"

mutate: environment ## break every claimed function, or NAME=arithmetic: tests must fail
	@$(RUN) mutate $(NAME) $(ARGS)

lint: environment ## ruff and mypy
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy --strict src

report: environment ## print sizes of the code; nothing fails by them
	@$(RUN) report

# a part that fails stops none of the others
PARTS ?= again pdf corners seeds branches mutate paper
weekly: book ## what takes hours, all of it or PARTS="again pdf corners seeds branches mutate paper"
	@$(MAKE) --keep-going $(PARTS)

corners: # parameters at their corners, audits under thirty seeds, each page, fold and print of the book
	@$(MAKE) test ARGS="-m weekly"

branches:
	@$(MAKE) test ARGS=--cov

SEEDS ?= 1 2 3
SEEDED = $(shell grep -l '^seed: int' notebooks/*.md)
seeds: book
	@failed=0; for name in $(basename $(notdir $(SEEDED))); do for seed in $(SEEDS); do \
		$(RUN) chapter $$name -p seed $$seed || failed=1; done; done; exit $$failed

pdf: environment ## build the book and print it into _build/pdf/dplit.pdf (needs chromium)
	@$(RUN) pdf --jobs $(JOBS)

sync: environment ## write every notebooks/*.ipynb from its .md
	@$(RUN) sync

clean: ## remove what the build made, not the environment
	rm -rf _build book/chapters book/reference
