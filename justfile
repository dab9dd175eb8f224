# Tasks of a contributor: `just` lists them. `pip install -e '.[dev]'` brings `just`.
python := ".venv/bin/python"

# List the tasks
default:
    @just --list

# Create .venv and install everything for development
setup:
    python3 -m venv .venv
    .venv/bin/pip install --quiet -e '.[dev]'

# The default tests, or those given: `just test tests/plant -k watchdog`
test *args:
    {{python}} -m pytest -q -n 4 --dist worksteal {{args}}

# The slow tests: every pace, every signal, long runs
slow *args:
    {{python}} -m pytest -q -n 2 -m slow {{args}}

# The default tests with examples of hypothesis that were never tried
hunt *args:
    {{python}} -m pytest -q -n 2 --dist worksteal --hypothesis-profile=random {{args}}

# Kill and suspend processes at random; more by LINKWORK_CHAOS_TRIALS
chaos *args:
    {{python}} -m pytest -m chaos -s {{args}}

# Random sessions of the simulated service for an hour: `just explore --resume explored.json` continues
explore *args:
    {{python}} -m linkwork explore scara --minutes 60 --seeds 100000 --workers 2 {{args}}

# Format, lint, types, import contracts
lint:
    .venv/bin/ruff check --fix .
    .venv/bin/ruff format .
    .venv/bin/mypy
    .venv/bin/lint-imports

# What every change must pass, as CI does
ci:
    .ci/run

# Tests with the oldest versions of dependencies that pyproject.toml allows
oldest *args:
    .ci/oldest {{args}}

# Wheels for x86-64 and aarch64
wheels:
    .ci/wheels

# Kernel tests with address and undefined behaviour checks, some ten minutes
sanitize:
    LINKWORK_CFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=undefined -g" ASAN_OPTIONS=detect_leaks=0 \
      LD_PRELOAD="$(cc -print-file-name=libasan.so) $(cc -print-file-name=libubsan.so)" \
      {{python}} -m pytest tests/multibody --ignore tests/multibody/test_translator.py

# Lines of the product that the tests run, in the test process alone
coverage *args:
    {{python}} -m pytest -q --cov=linkwork --cov-report=term:skip-covered {{args}}

# Serve the documentation at http://127.0.0.1:8000
docs:
    .venv/bin/mkdocs serve

# Build the documentation, with every warning as an error
docs-build:
    .venv/bin/mkdocs build --strict
