# The front door. `make` alone prints what there is; CONTRIBUTING.md has the daily loop.
# Each target gets what it needs first, and says nothing when there is nothing to do.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

# What the user wrote, to the letter: a '$' in a prompt is a '$'.
override PROMPT := $(value PROMPT)
override ARGS := $(value ARGS)
MODEL ?= smollm2
override MODEL := $(value MODEL)
export PROMPT MODEL

HEARTH := build/release/bin/hearth
# Setup has been done when a stamp for this very script is there.
SETUP_STAMP := build/setup-$(firstword $(shell sha256sum tools/setup.sh)).stamp

.PHONY: help setup build run serve test test-tsan parity bench bench-engine bench-forms bench-peers bench-server format lint clean

help:
	@echo 'make run PROMPT="..." [MODEL=name-or-path] [ARGS="..."]   answer a prompt; without one, chat'
	@echo 'make serve         answer requests over HTTP on 127.0.0.1:8080 (MODEL, ARGS)'
	@echo 'make test          build and run every test'
	@echo 'make build         build $(HEARTH)'
	@echo 'make setup         install what is missing, or say what to install'
	@echo 'make test-tsan     unit and conformance tests under the thread sanitizer'
	@echo 'make parity        compare the default model with the float32 reference'
	@echo 'make bench         measure speed on this machine (MODEL, ARGS)'
	@echo 'make bench-engine  measure what a long prompt and a cached prefix do to those who wait (MODEL, ARGS)'
	@echo 'make bench-peers   measure speed beside llama.cpp, built for it the first time (MODEL, ARGS)'
	@echo 'make bench-server  put load on a server and measure what it does and costs (MODEL, ARGS)'
	@echo 'make bench-forms   measure the forms that quantized products could take (ARGS)'
	@echo 'make format        lay out every source file'
	@echo 'make lint          clang-tidy on every source file (FILES="src/a.cc ..." for some)'
	@echo 'make clean         delete build/'

setup:
	@tools/setup.sh
	@mkdir -p build && rm -f build/setup-*.stamp && touch $(SETUP_STAMP)

$(SETUP_STAMP):
	@$(MAKE) setup

build: $(SETUP_STAMP)
	@tools/build.sh release hearth

# The model first: a failure there is known before minutes of compiling. Without a prompt it is a chat.
run: $(SETUP_STAMP)
	@[ "$$MODEL" != smollm2 ] || tools/fetch_model.py
	@tools/build.sh release hearth
	@$(HEARTH) run $(ARGS) -- "$$MODEL" $${PROMPT:+"$$PROMPT"}

test: $(SETUP_STAMP)
	@tools/build.sh release
	@tools/fetch_test_data.sh
	@tools/run_tests.sh release

# The Rust crate is not built for this sanitizer, so tests that hold it are left out.
test-tsan: $(SETUP_STAMP)
	@tools/build.sh tsan
	@tools/run_tests.sh tsan --label-regex '^(unit|conformance)$$'

# How far the default model's logits are from the float32 reference, beside llama.cpp's distance.
parity: $(SETUP_STAMP)
	@tools/fetch_model.py
	@tools/build.sh release parity_real_test
	@build/release/bin/parity_real_test --gtest_filter='*Reference:*Peer'

bench: $(SETUP_STAMP)
	@[ "$$MODEL" != smollm2 ] || tools/fetch_model.py
	@tools/build.sh release hearth
	@$(HEARTH) bench "$$MODEL" $(ARGS)

serve: $(SETUP_STAMP)
	@[ "$$MODEL" != smollm2 ] || tools/fetch_model.py
	@tools/build.sh release hearth
	@$(HEARTH) serve "$$MODEL" $(ARGS)

bench-engine: $(SETUP_STAMP)
	@[ "$$MODEL" != smollm2 ] || tools/fetch_model.py
	@tools/build.sh release engine_bench
	@build/release/bin/engine_bench "$$MODEL" $(ARGS)

bench-peers: $(SETUP_STAMP)
	@[ "$$MODEL" != smollm2 ] || tools/fetch_model.py
	@tools/build.sh release hearth
	@bench/peers/peers.py "$$MODEL" $(ARGS)

bench-server: $(SETUP_STAMP)
	@[ "$$MODEL" != smollm2 ] || tools/fetch_model.py
	@tools/build.sh release hearth server_bench
	@bench/server/with_server.sh $(HEARTH) "$$MODEL" build/release/bin/server_bench $(ARGS)

bench-forms: $(SETUP_STAMP)
	@tools/build.sh release forms_bench
	@build/release/bin/forms_bench $(ARGS)

format:
	@tools/format.sh fix

lint: $(SETUP_STAMP)
	@tools/lint.sh $(FILES)

clean:
	@rm -rf build
