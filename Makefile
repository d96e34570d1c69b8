# Every target does all its own set-up: virtual environment, build, install. A second run only does what changed.
# Needs python3 (3.11 or later), make and a C++20 compiler; CMake, Ninja and the rest come from PyPI.
#
#   make run        train the digits network of examples/ on real data
#   make examples   all scripts of examples/, one after the other, and a table of what came out
#   make test       the test suite; compares with PyTorch too where it is installed (make torch)
#   make comparisons with PyTorch: only the tests that asked for it when `make test` ran without it
#   make sanitize   the suite on a build with AddressSanitizer and UndefinedBehaviorSanitizer
#   make tsan       the tests of threads under ThreadSanitizer; PYTHON is a free-threaded one, built --with-thread-sanitizer
#   make fuzz       random programs for SECONDS=60, from SEED=1; with SANITIZE=1 on the build of `make sanitize`
#   make libraries  quick starts of libraries built on PyTorch, in an environment where torch is rushlight
#   make bench      benchmarks/compare.py against PyTorch
#   make bench-ops  benchmarks/ops.py: every op of the table at three sizes, against PyTorch
#   make bench-around  benchmarks/around.py: what programs do around the ops, against PyTorch
#   make cuda-check declarations of CUDA's functions against its headers, and every kernel text compiled as CUDA C; no GPU is needed
#   make docs       the documentation site, in build/site: open build/site/index.html
#   make wheel      a wheel in dist/; on Linux a manylinux one
#   make gpu-bundle build/gpu-bundle: what checks rushlight on a machine with a GPU, see docs/how-to/check-a-gpu.md
#   make wasm       the wheel for Pyodide, which runs in browsers, in build/wasm/dist; tools/wasm.py says what that needs
#   make test-wasm  the tests that fit there, in Pyodide under Node: WASM_TESTS_ARGS='--part 5' or paths; with NumPy after `make wasm-numpy`
#   make aarch64    the core for aarch64 by a cross compiler, and its tests under emulation
#   make syntax     every native file read by a compiler for Windows and for macOS
#   make lint       ruff, mypy and clang-format
#   make clean      remove everything that these made
#
# Settings: PYTHON=python3.12   VENV=folder   PYTEST_ARGS='-k engine -x'   BENCH_ARGS='--quick'
#           EXAMPLES_ARGS='vae burgers'   AARCH64_ARGS=tests/kernels/matrix

PYTHON ?= python3
GPU_PYTHON ?= python3.12
VENV ?= .venv
DIST ?= dist
PYTEST_ARGS ?= -n auto --dist worksteal
SANITIZE_ARGS ?= -n auto --dist worksteal
BENCH_ARGS ?=
EXAMPLES_ARGS ?=
AARCH64_ARGS ?=
WASM_TESTS_ARGS ?=
SECONDS ?= 60
SEED ?= 1
FUZZ_ARGS ?=
SANITIZE ?=

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -q --disable-pip-version-check
# Into environment 1, the requirements of extra 2 as pyproject.toml lists them; eval because each is quoted.
EXTRA = eval $(1)/bin/python -m pip install -q --disable-pip-version-check \
  $$($(1)/bin/python tools/setup_venv.py --list $(2))
SOURCES := pyproject.toml CMakeLists.txt README.md LICENSE \
  $(shell find src native -type f -not -name '*.pyc' -not -name '*.so' \
    -not -path '*/__pycache__/*' -not -path '*/.*' 2>/dev/null)
# libstdc++ too: AddressSanitizer looks up __cxa_throw as it starts, and the interpreter is no C++ program.
RUNTIMES = $(foreach library,libasan.so libubsan.so libstdc++.so.6,$(shell $${CXX:-c++} -print-file-name=$(library)))

.PHONY: cuda-check gpu-bundle aarch64 wasm wasm-numpy test-wasm syntax run examples test comparisons sanitize tsan fuzz libraries bench bench-ops bench-around docs lint torch wheel install clean
.DELETE_ON_ERROR:

run: $(VENV)/installed $(VENV)/examples
	$(BIN)/rushlight run examples/digits.py

examples: $(VENV)/installed $(VENV)/examples $(VENV)/transformers
	$(BIN)/python tools/run_examples.py $(EXAMPLES_ARGS)

test: $(VENV)/installed $(VENV)/test $(VENV)/examples
	$(BIN)/python -m pytest $(PYTEST_ARGS)

comparisons: $(VENV)/installed $(VENV)/test $(VENV)/examples $(VENV)/torch
	$(BIN)/python -m pytest --comparisons $(PYTEST_ARGS)

bench: $(VENV)/installed $(VENV)/torch wheel
	$(BIN)/python benchmarks/compare.py $(BENCH_ARGS)

bench-ops: $(VENV)/installed $(VENV)/test $(VENV)/torch
	$(BIN)/python benchmarks/ops.py $(BENCH_ARGS)

bench-around: $(VENV)/installed $(VENV)/torch
	$(BIN)/python benchmarks/around.py $(BENCH_ARGS)

libraries: $(VENV)-libraries/installed
	$(VENV)-libraries/bin/python libraries/run.py

# The pages' code runs first, and draws their pictures; warnings of the build are errors. Where the wheel for browsers can be made,
# programs run on the pages.
docs: $(VENV)/installed $(VENV)/docs $(VENV)/watch
	@if lacking=$$($(BIN)/python tools/wasm.py --here); then $(MAKE) wasm; else echo "no program will run on the pages: $$lacking"; fi
	$(BIN)/python tools/docs_examples.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "the site: build/site/index.html"

cuda-check: $(VENV)/installed $(VENV)/cuda-check
	$(BIN)/python tools/cuda_headers.py
	$(BIN)/python tools/cuda_check.py

aarch64: $(VENV)/ready
	$(BIN)/python tools/aarch64.py $(AARCH64_ARGS)

wasm: build/wasm/.made
build/wasm/.made: $(VENV)/ready $(VENV)/wasm $(SOURCES) tools/wasm.py $(wildcard tools/browser/*)
	$(BIN)/python tools/wasm.py
	@touch $@

wasm-numpy: build/wasm/.made
	$(BIN)/python tools/wasm_numpy.py

test-wasm: build/wasm/.made
	$(BIN)/python tools/wasm_tests.py $(WASM_TESTS_ARGS)

syntax: $(VENV)/ready $(VENV)/syntax
	$(BIN)/python tools/other_systems.py

lint: $(VENV)/ready $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	rm -rf build/flat && mkdir -p build/flat/rushlight
	ln -s $(CURDIR)/src/rushlight/* $(CURDIR)/src/rushlight/rooms/* build/flat/rushlight
	rm build/flat/rushlight/rooms
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run -Werror $$(find native -name '*.h' -o -name '*.cpp')

install: $(VENV)/installed
torch: $(VENV)/torch

# On Linux auditwheel names the oldest systems on which the wheel runs, by what the core asks of theirs.
wheel: $(DIST)/.made
$(DIST)/.made: $(VENV)/ready $(VENV)/wheel $(SOURCES)
	rm -rf $(DIST) build/wheel && mkdir -p $(DIST) build/wheel
	CMAKE_ARGS="$$(cat $(VENV)/cmake-args) $$CMAKE_ARGS" $(BIN)/python tools/building.py \
	  $(BIN)/python -m pip wheel -q --disable-pip-version-check --no-build-isolation --no-deps -w build/wheel .
	@if [ "$$(uname)" = Linux ]; then \
	  PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m auditwheel repair -w $(DIST) build/wheel/*.whl; \
	else mv build/wheel/*.whl $(DIST); fi
	@echo "the wheel: $$(ls $(DIST)/*.whl)"
	@touch $@

# For a machine with a GPU and Python 3.12, which need not have a compiler or a network.
gpu-bundle:
	$(MAKE) wheel PYTHON=$(GPU_PYTHON) VENV=$(VENV)-gpu DIST=build/gpu-wheel
	$(VENV)-gpu/bin/python tools/gpu_bundle.py build/gpu-wheel/*.whl

# Files in the environment stand for what has been put into it, so that removing it forgets them too.
$(VENV)/ready: tools/setup_venv.py pyproject.toml
	$(PYTHON) tools/setup_venv.py $(VENV)
	@touch $@

# Without build isolation the build folder stays valid, and Ninja compiles only what changed.
$(VENV)/installed: $(VENV)/ready $(SOURCES)
	@echo "building rushlight: some minutes the first time, then only what changed"
	CMAKE_ARGS="$$(cat $(VENV)/cmake-args) $$CMAKE_ARGS" $(BIN)/python tools/building.py \
	  $(PIP) --no-build-isolation --no-deps .
	@touch $@

$(VENV)/test $(VENV)/examples $(VENV)/transformers $(VENV)/dev $(VENV)/docs $(VENV)/watch $(VENV)/wheel $(VENV)/syntax $(VENV)/cuda-check $(VENV)/wasm: \
  $(VENV)/%: $(VENV)/ready
	$(call EXTRA,$(VENV),$*)
	@touch $@

$(VENV)/torch: $(VENV)/ready
	$(call EXTRA,$(VENV),compare)
	@touch $@

# The interpreter itself is not instrumented, so the runtimes are preloaded; PYTHONMALLOC=malloc lets
# AddressSanitizer see every Python object's bounds; leaks are not counted (CPython keeps much until exit:
# the suite counts leaks over training steps itself). The first error ends its process, with exit code 99 so
# that no test takes it for an exception; --capture=sys lets its report through to the terminal.
SANITIZED = LD_PRELOAD="$(RUNTIMES)" PYTHONMALLOC=malloc \
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=6000:exitcode=99:quarantine_size_mb=2 \
	UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1:exitcode=99 \
	$(VENV)-sanitize/bin/python

sanitize: $(VENV)-sanitize/installed $(VENV)-sanitize/test
	$(SANITIZED) -m pytest -p no:cacheprovider --capture=sys $(SANITIZE_ARGS)

# Such a Python: `./configure --disable-gil --with-thread-sanitizer --prefix=... && make install`. It is slow: bytecode is compiled first,
# and of the test extra only what the tests of threads need is installed. GCC's runtime up to 13 wants `setarch -R make tsan PYTHON=...`.
# One test is left out: its stack of 28,000 frames is beyond the runtime, which waits for itself.
# TSAN_SUPPRESSIONS: a file for CPython's own races (Tools/tsan/suppressions_free_threading.txt of its source).
TSAN_SUPPRESSIONS ?=
TSAN_ARGS ?= tests/autograd/test_sharing_between_threads.py tests/autograd/test_deep_and_threads.py \
  tests/native/test_changes_under_way.py tests/native/test_storage.py tests/autograd/test_modes.py \
  --deselect tests/autograd/test_deep_and_threads.py::test_a_graph_that_runs_itself_again_ends_in_an_error
tsan: $(VENV)-tsan/installed
	TSAN_OPTIONS=exitcode=99:suppressions=$(TSAN_SUPPRESSIONS) \
	$(VENV)-tsan/bin/python -m pytest -p no:cacheprovider --capture=sys $(TSAN_ARGS)

$(VENV)-tsan/ready: tools/setup_venv.py pyproject.toml
	$(PYTHON) tools/setup_venv.py $(VENV)-tsan
	$(VENV)-tsan/bin/python -m pip install -q --disable-pip-version-check pytest
	@touch $@

$(VENV)-tsan/installed: $(VENV)-tsan/ready native/tsan.cmake $(SOURCES)
	@echo "building rushlight with ThreadSanitizer"
	CMAKE_ARGS="$$(cat $(VENV)-tsan/cmake-args) $$CMAKE_ARGS" \
	$(VENV)-tsan/bin/python -m pip install -q --disable-pip-version-check --no-build-isolation --no-deps \
	  -C build-dir=build/tsan/{wheel_tag} -C cmake.define.CMAKE_PROJECT_INCLUDE=$(CURDIR)/native/tsan.cmake \
	  -C cmake.define.RUSHLIGHT_IPO=OFF -C install.strip=false .
	@touch $@

fuzz: $(if $(SANITIZE),$(VENV)-sanitize/installed $(VENV)-sanitize/test,$(VENV)/installed $(VENV)/test)
	$(if $(SANITIZE),$(SANITIZED),$(BIN)/python) tests/fuzz --seconds $(SECONDS) --seed $(SEED) $(FUZZ_ARGS)

$(VENV)-libraries/ready: tools/setup_venv.py pyproject.toml
	$(PYTHON) tools/setup_venv.py $(VENV)-libraries
	@touch $@

# `as-torch on` before the libraries: pip then counts their requirement of torch as met.
$(VENV)-libraries/installed: $(VENV)-libraries/ready $(DIST)/.made libraries/requirements.txt
	$(VENV)-libraries/bin/python -m pip install -q --disable-pip-version-check --force-reinstall --no-deps $(DIST)/*.whl
	$(call EXTRA,$(VENV)-libraries,run)
	$(VENV)-libraries/bin/rushlight as-torch on
	$(VENV)-libraries/bin/python -m pip install -q --disable-pip-version-check -r libraries/requirements.txt
	@touch $@

$(VENV)-sanitize/ready: tools/setup_venv.py pyproject.toml
	$(PYTHON) tools/setup_venv.py $(VENV)-sanitize
	@touch $@

$(VENV)-sanitize/test: $(VENV)-sanitize/ready
	$(call EXTRA,$(VENV)-sanitize,test)
	@touch $@

$(VENV)-sanitize/installed: $(VENV)-sanitize/ready $(SOURCES)
	@echo "building rushlight with sanitizers"
	CMAKE_ARGS="$$(cat $(VENV)-sanitize/cmake-args) $$CMAKE_ARGS" $(VENV)-sanitize/bin/python tools/building.py \
	$(VENV)-sanitize/bin/python -m pip install -q --disable-pip-version-check --no-build-isolation --no-deps \
	  -C build-dir=build/sanitize/{wheel_tag} -C cmake.build-type=RelWithDebInfo \
	  -C cmake.define.RUSHLIGHT_SANITIZE=ON -C install.strip=false .
	@touch $@

clean:
	rm -rf $(VENV) $(VENV)-sanitize $(VENV)-tsan $(VENV)-libraries $(VENV)-gpu .venv-ci* build dist examples/out .pytest_cache .mypy_cache .ruff_cache .hypothesis docs/pictures/*.html
	find src tests benchmarks tools examples -name __pycache__ -type d -prune -exec rm -rf {} +
