# Everything that skm needs, from a fresh clone. `make` lists what there is.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
REQUIREMENTS := $(addprefix requirements/,core.txt baselines.txt learn.txt record.txt web.txt mcp.txt dev.txt docs.txt ros.txt ros-build.txt)
# Their own pins do not install beside ours; what else they need is pinned above.
OTHERS := requirements/safety-gymnasium.txt $(wildcard examples/*/requirements.txt)

.PHONY: help
help:
	@echo "make demo    install what the demo needs into $(VENV), then run a mission through the three nodes"
	@echo "make setup   install everything into $(VENV): for learning, tests, examples"
	@echo "make test    set up, then run all tests"
	@echo "make lint    formatter, linter, type checker, imports between the packages"
	@echo "make test-core   the core's tests in an environment without any ROS package"
	@echo "make test-rest   all tests that test-core does not run"
	@echo "make docs    build the site of the documentation into build/site"
	@echo "make release build and try a release, up to the upload, into build/release"
	@echo "make clean   remove what the above have made"

# Two steps, so that a first look does not wait for PyTorch, compilers of learners and test tools.
$(VENV)/.demo: requirements/demo.txt requirements/core.txt requirements/ros.txt requirements/ros-build.txt tools/install.py pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "skm needs Python 3.11 or newer")'
	@$(PYTHON) tools/install.py $(VENV) demo
	@touch $@

$(VENV)/.installed: $(VENV)/.demo $(REQUIREMENTS) $(OTHERS)
	@$(PYTHON) tools/install.py $(VENV) all $(OTHERS)
	@touch $@

# Both environments at once: `make -j 2 environments`, as CI does.
.PHONY: environments
environments: setup .venv-core/.installed

.PHONY: setup
setup: $(VENV)/.installed
	@$(BIN)/python tools/build_interfaces.py

# A file each at a time on two cores. The nodes' tests come after the others, since some of them measure
# time: they get no third file beside them.
SHARED := -n 2 --dist loadfile --ignore test/ros
NODES := -n 2 --dist loadfile test/ros

# What fails runs once more, in a new process and with nothing beside it, and both runs are printed: a
# machine that stood still for seconds is no defect, and a defect fails again.
define tests
$(1) || { echo "what failed above runs once more:"; $(1) -n 0 --last-failed --last-failed-no-failures none; }
endef

.PHONY: test
test: setup
	@$(call tests,$(BIN)/python -m pytest $(SHARED))
	@$(call tests,$(BIN)/python -m pytest $(NODES))

# What `make test-core` has not run. The core is left out: it may not import ROS (`make lint` checks that),
# so that ROS in the environment makes no difference to it.
CORE_TESTS := test/machine test/sim test/primitives test/web
.PHONY: test-rest
test-rest: setup
	@$(call tests,$(BIN)/python -m pytest $(SHARED) $(addprefix --ignore ,$(CORE_TESTS)))
	@$(call tests,$(BIN)/python -m pytest $(NODES))

.PHONY: demo
demo: $(VENV)/.demo
	@$(BIN)/python tools/build_interfaces.py
	@$(BIN)/skm demo || { echo "skm is installed, and its demo did not succeed: see above. On a busy computer, try again: make demo"; exit 1; }

# The site, with no warning and no broken link. NO_MKDOCS_2_WARNING: a notice of the theme on its successor.
.PHONY: docs
docs: setup
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "the site is in build/site: open build/site/index.html; with search, too:"
	@echo "  $(BIN)/python -m http.server --bind 127.0.0.1 --directory build/site    then http://127.0.0.1:8000"

# Up to the upload: RELEASING.md.
.PHONY: release
release:
	@$(PYTHON) tools/release.py

.PHONY: lint
lint: setup
	@$(BIN)/ruff format --check src test benchmarks tools launch examples
	@$(BIN)/ruff check src test benchmarks tools launch examples
	@$(BIN)/mypy
	@PYTHONPATH=src:benchmarks $(BIN)/lint-imports --no-logo --no-cache

# The core must stand without ROS: its own environment, with none of the ROS wheels. What is the same
# with ROS and without, documents, wheel, repository checks and examples, is left to `make test`.
CORE := .venv-core
.PHONY: test-core
test-core: $(CORE)/.installed
	@$(CORE)/bin/python -c 'import importlib.util as u; assert u.find_spec("rclpy") is None'
	@$(call tests,$(CORE)/bin/python -m pytest test $(SHARED) --ignore test/repository)

$(CORE)/.installed: $(REQUIREMENTS) requirements/safety-gymnasium.txt tools/install.py pyproject.toml
	@$(PYTHON) tools/install.py $(CORE) core requirements/safety-gymnasium.txt
	@touch $@

.PHONY: clean
clean:
	rm -rf $(VENV) $(CORE) build
