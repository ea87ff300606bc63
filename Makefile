# Every command of the project. What it needs is in README.md; no virtual environment has to be active.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
BIN := .venv/bin
# An active environment elsewhere must not take what belongs into .venv.
export VIRTUAL_ENV := $(CURDIR)/.venv
# Containers may ask for no bytecode: each command that the tests start would then compile polars for 0.3 s.
unexport PYTHONDONTWRITEBYTECODE

# wildcard drops files that are deleted but not yet committed.
RUST_SOURCES := $(wildcard $(shell git ls-files --cached --others --exclude-standard crates Cargo.toml Cargo.lock rust-toolchain.toml))
RUST_FILES = $$(git ls-files --cached --others --exclude-standard '*.rs')

# How long `make fuzz` goes on.
FUZZ_MINUTES ?= 10

# About how many changes of the engine `make mutants` tries, of 15,000; and its other options (tools/mutants.py).
SAMPLE ?= 60
MUTANTS ?=

# Options of `make results-check`, see tools/results_check.py.
RESULTS_CHECK ?=

.PHONY: help setup demo wheel test test-programs test-rust compile-tests test-python fuzz bench bench-instructions bench-peers results-check mutants lint format generate member-figures docs docs-links audit lock clean

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: .venv/.native ## Build everything; leaves .venv/bin/flowyard

# Compiling packages to bytecode takes longer than fetching them; Python does it for those that are used.
PIP = $(BIN)/pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt
# What pyproject.toml asks for: `$(NEEDS) dependencies`, or the name of an extra.
NEEDS = $(BIN)/python tools/needs.py

.venv/.maturin: pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Flowyard needs Python 3.11 or newer: make setup PYTHON=python3.11")'
	@$(PIP) maturin
	@touch $@

# What running and papers need. Versions: constraints.txt. The compiler goes first: packages come while it leaves a
# processor idle.
.venv/.runtime: .venv/.maturin
	@nice -n 19 $(PIP) $$($(NEEDS) dependencies) $$($(NEEDS) papers)
	@touch $@

# What tests and linters need on top.
.venv/.dev: .venv/.runtime
	@$(PIP) $$($(NEEDS) dev)
	@touch $@

# In a terminal the compiler says how far it is.
.venv/.compiled: .venv/.maturin $(RUST_SOURCES)
	@if [ -t 2 ]; then $(BIN)/maturin develop --release --locked --skip-install; \
	else tools/quietly.sh $(BIN)/maturin develop --release --locked --skip-install; fi
	@touch $@

# Packages come while the engine compiles. Python files need no build: the install points at python/.
.venv/.native: .venv/.maturin $(RUST_SOURCES)
	@if [ -e $@ ]; then echo "rebuilding the engine: one to five minutes"; \
	else echo "building the engine; the first time takes one to five minutes"; fi
	@$(MAKE) --no-print-directory --jobs=2 .venv/.runtime .venv/.compiled
	@PIP_CONSTRAINT=constraints.txt PIP_QUIET=1 tools/quietly.sh $(BIN)/maturin develop --release --locked
	@touch $@

# Zig links against the symbols of an old glibc: 2.17 is the oldest that Rust supports. It also links for other
# processors. Only the wheel of this machine's processor can be tried here.
WHEEL_TARGETS ?= x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu
wheel: .venv/.maturin ## Build the source distribution and wheels for Linux (glibc 2.17) on x86-64 and aarch64 in dist/, and try one
	@$(PIP) $$($(NEEDS) wheel)
	PATH="$(CURDIR)/$(BIN):$$PATH" tools/build_wheels.sh $(WHEEL_TARGETS)
	tools/try_wheel.sh $(BIN)/python dist/*_$$(uname -m).whl

demo: ## Build, run the demo, write out/demo/report.html
	@started=$$(date +%s); \
	$(MAKE) --no-print-directory setup; \
	built=$$(date +%s); \
	$(BIN)/python -m flowyard.demo; \
	ended=$$(date +%s); \
	echo "set-up $$((built - started)) s, demo $$((ended - built)) s"

test: test-rust test-python ## Run all tests

# Tests that need one of these are skipped without it.
test-programs: ## Install the programs of others that tests open our files with (Debian, Ubuntu; as root)
	apt-get install --quiet --quiet --no-install-recommends chromium tshark > /dev/null

# The binding has no tests here, but named beside the others it gives their packages the features of `make setup`:
# all three commands then share one release build of the engine. --tests leaves examples in comments out, of which there
# are none: to look for them takes five seconds.
test-rust:
	cargo test --locked --quiet --tests -p flowyard-sim
	cargo test --locked --quiet --release -p flowyard-sim -p flowyard-python --test golden
	cargo test --locked --quiet --release --tests -p flowyard-tables -p flowyard-yardstick -p flowyard-python

# Compilers leave a processor idle for a good part of their time: CI compiles these beside `make setup`.
compile-tests: ## Compile the Rust tests
	cargo test --locked --quiet --tests --no-run -p flowyard-sim

test-python: .venv/.dev setup
	$(BIN)/python -m pytest --quiet -r s --numprocesses=auto --dist=loadfile --no-loadscope-reorder \
		--durations=20 --durations-min=1

fuzz: .venv/.dev setup ## Fuzz the parsers and random runs for FUZZ_MINUTES (10), with random seeds
	tools/fuzz.sh $(FUZZ_MINUTES)

bench: setup ## Measure speed and memory against the targets; writes docs/benchmarks.md
	$(BIN)/flowyard bench --write docs/benchmarks.md

bench-instructions: ## Count the engine's instructions per packet-hop; needs valgrind
	$(PYTHON) tools/count_instructions.py

bench-peers: setup ## Compare results and speed with ns-3, which apt-get installs (Debian, Ubuntu); PEERS="recovery" for some; PEER_HTSIM=checkout for htsim, PEER_UEC=checkout for uet-htsim, PEER_NETSYS=checkout for NetSys/simulator, PEER_HPCC=checkout for the simulator of HPCC's authors, PEER_CONWEAVE=checkout for that of ConWeave's, too; KERNEL=1: with Linux' TCP instead, as root
ifdef KERNEL
	$(BIN)/python benches/peers/kernel/kernel_table.py --kernel
else
	$(BIN)/python benches/peers/ns3/main.py $(PEERS)
endif
ifdef PEER_HTSIM
	$(BIN)/python benches/peers/htsim/pairs.py $(PEER_HTSIM)
endif
ifdef PEER_UEC
	$(BIN)/python benches/peers/htsim/uec.py $(PEER_UEC)
endif
ifdef PEER_NETSYS
	$(BIN)/python benches/peers/netsys/mean_times.py $(PEER_NETSYS)
endif
ifdef PEER_HPCC
	$(BIN)/python benches/peers/hpcc/flow_by_flow.py $(PEER_HPCC)
endif
ifdef PEER_CONWEAVE
	$(BIN)/python benches/peers/conweave/conweave_flows.py $(PEER_CONWEAVE)
endif

results-check: setup ## Make the cheap published figures again, in ten minutes, and compare; RESULTS_CHECK="--figure NDP-F6"
	$(BIN)/python tools/results_check.py $(RESULTS_CHECK)

# Minutes per change: the engine and its tests compile anew.
mutants: ## Change the engine in SAMPLE (60) places, one at a time, and list the changes that no test notices; needs cargo-mutants
	$(PYTHON) tools/mutants.py --sample $(SAMPLE) $(MUTANTS)

# mypy has one thread, and what it remembers depends on its options: two at a time, each with a folder of its own.
lint: .venv/.dev setup ## Check format, lints and types
	rustfmt --check --edition 2024 $(RUST_FILES)
	cargo clippy --locked --quiet --workspace --all-targets -- -D warnings
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --check --quiet
	$(BIN)/mypy --cache-dir .mypy_cache/tests $(RELAXED) python/tests & tests=$$!; \
	$(BIN)/mypy || { wait $$tests; exit 1; }; wait $$tests

# Fixtures give tests their types only at run time.
RELAXED := --allow-untyped-defs --allow-incomplete-defs --allow-untyped-calls \
	--disable-error-code=index --disable-error-code=operator

# By file, because modules that a list names stand inside a macro, where cargo fmt does not look.
format: .venv/.dev ## Format all code
	rustfmt --edition 2024 $(RUST_FILES)
	$(BIN)/ruff check --fix --quiet
	$(BIN)/ruff format --quiet

generate: .venv/.dev setup ## Write what is made from the code: the schema, the Python classes, the reference, CITATION.cff
	$(BIN)/flowyard schema > schema/.new && mv schema/.new schema/scenario.schema.json
	$(BIN)/flowyard cite --cff > CITATION.cff
	$(BIN)/python tools/generate_python.py
	$(BIN)/python tools/generate_reference.py

# Fifteen seconds. Tests compare the sentences.
member-figures: .venv/.dev setup ## Draw the figures of transports, queues, balancers and controllers, and write the sentences below them
	$(BIN)/python tools/member_figures.py

.venv/.docs: .venv/.runtime
	@$(PIP) $$($(NEEDS) docs)
	@touch $@

# Pictures come first, three minutes when none is there. Warnings are errors: a link to a page or a heading that is not
# there is one.
docs: .venv/.docs setup ## Draw the pictures, and build the documentation as a site: out/docs/index.html
	$(BIN)/python tools/draw_figures.py
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --nitpicky --jobs auto -c docs -d out/.doctrees . out/docs
	@echo out/docs/index.html

docs-links: .venv/.docs ## Check the links that lead out of the documentation; needs the network
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going -b linkcheck -c docs -d out/.doctrees . out/docs-links

# --strict: a package that the database does not know is an error, not a pass.
audit: .venv/.maturin ## Look up known vulnerabilities of all dependencies; needs the network, see CONTRIBUTING.md
	test -x .venv/audit/bin/pip-audit || ($(PYTHON) -m venv .venv/audit && .venv/audit/bin/pip install --quiet pip-audit)
	.venv/audit/bin/pip-audit --strict --no-deps --disable-pip -r constraints.txt
	test -x .venv/audit/bin/cargo-audit || cargo install --quiet --locked --root .venv/audit cargo-audit
	.venv/audit/bin/cargo-audit audit --deny warnings

lock: .venv/.dev ## Write the versions of the Python packages in use to constraints.txt
	$(BIN)/pip freeze --exclude flowyard > constraints.txt

clean: ## Remove what make made, except results in out/
	rm -rf .venv target dist python/flowyard/*.so
	find python -name __pycache__ -prune -exec rm -rf {} +
