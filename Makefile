# Each target works on a fresh clone: it makes .venv and installs what it needs. tools/ holds the work.
#   make run     look at this host's fabric, or at a shipped capture where there is none
#   make test    all tests, those of `make test-rxe` with them
#   make check   formatting, lint, types, import rules
#   make test-rxe, bench, dist, clean
# PYTHON=/path/to/python3 picks the interpreter that .venv is made of, ARGS="-k ibstat -x" is given to pytest.

# A cluster's module system sets these for some other Python.
unexport PYTHONPATH PYTHONHOME

SETUP = sh tools/python.sh tools/environment.py
VENV_PYTHON = .venv/bin/python

.PHONY: run test test-rxe check bench dist clean

run:
	@$(SETUP) run
	@$(VENV_PYTHON) tools/show.py $(FROM)

# In CI a missing system package is an error; elsewhere it is named, and what does not need it still runs.
test:
	@sh tools/python.sh tools/system_packages.py tests || test -z "$$CI"
	@$(SETUP) dev
	@$(VENV_PYTHON) -m pytest -n 2 $(ARGS)
	@test -n "$(ARGS)" || $(VENV_PYTHON) tools/rxe-guest/lane.py

# The tests that need RDMA devices, in a guest that has two; its kernel is built once (8 minutes) and kept in ~/.cache.
test-rxe:
	@$(SETUP) dev
	@$(VENV_PYTHON) tools/rxe-guest/lane.py --required $(ARGS)

check:
	@$(SETUP) dev
	$(VENV_PYTHON) -m ruff format --check .
	$(VENV_PYTHON) -m ruff check .
	$(VENV_PYTHON) -m mypy
	$(VENV_PYTHON) -m mypy tools benchmarks
	$(VENV_PYTHON) .venv/bin/lint-imports

bench:
	@$(SETUP) dev
	@$(VENV_PYTHON) tools/system_packages.py infiniband-diags ibsim
	$(VENV_PYTHON) benchmarks/run.py

# A wheel and a source archive in dist/.
dist:
	@$(SETUP) dev
	$(VENV_PYTHON) -m build

clean:
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache sys-*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
