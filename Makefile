# make run    the example sweep: sample, plan, choice, execution, and why
# make test   linters, types, layers, and the whole test suite
# make peers  installs what tests compare bursar with, where it can; make test does it, too
# make reproduce   every published table and figure, into docs/reproduction.md and docs/reproductions;
#             with ONLY="NAME ..." those alone
# make docs   the documentation as a site, in .site
# make bench  speed, side by side with peers, in one run
# make soak   long runs on ssh, slurm, dask and ec2 (moto) while parts of them fail; with
#             SITES="ssh ..." and SEEDS=1,2 those alone
PYTHON ?= python3
BIN := .venv/bin
# Bytecode is kept, even where the environment forbids it: tests start thousands of processes, and each
# would compile the whole package for itself.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test peers lint reproduce docs bench soak clean

run: .venv/.installed
	rm -rf examples/.bursar/sweep
	cd examples && ../$(BIN)/bursar plan --name sweep --sample-workers 2 --sample-budget 2 sweep.toml
	cd examples && ../$(BIN)/bursar run sweep --choose fastest --budget 8
	cd examples && ../$(BIN)/bursar why sweep | tail -n 12

# Four tests at a time on two processors: one that waits for real processes may starve. What failed runs
# again alone, by name; what fails alone, too, has failed.
test: .venv/.installed peers lint
	$(BIN)/pytest -n 4 --dist worksteal --durations=25 || { test $$? = 1 && echo 'what failed, again, alone:' \
		&& $(BIN)/pytest -v --last-failed --last-failed-no-failures none; }

peers: .venv/.installed
	@sh tests/peers.sh

lint: .venv/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy benchmarks
	$(BIN)/lint-imports
	$(BIN)/pytest -q tests/test_layout.py tests/docs/test_words.py tests/docs/test_readmes.py

reproduce: .venv/.installed
	$(BIN)/python -m bursar.reproduce docs $(ONLY)

docs: .venv/.installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo 'open .site/index.html'

bench: .venv/.installed
	$(BIN)/python -m benchmarks

soak: .venv/.installed peers
	$(BIN)/python -m tests.soak $(SITES) --seeds $(or $(SEEDS),1,2)

.venv/.installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv .site .bursar examples/.bursar
