"""CPython's own tests of executors, with BudgetExecutor as the executor.

They come with some installs of Python 3.11 as `test.test_concurrent_futures`; Debian has them in
`libpython3.11-testsuite`, which `make peers` unpacks. `CPYTHON_TESTS` may name the file. What they
state of the classes ExecutorTest, WaitTests, AsCompletedTests and ExecutorShutdownTest holds but
for the differences below, each of which docs/python.md names. `tests/test_executor_contract.py`
states the same in our words, for installs without them.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import unittest
from importlib import import_module
from pathlib import Path

import pytest

from bursar import BudgetExecutor

NAME = "test_concurrent_futures"
DEBIAN = f"usr/lib/python3.11/test/{NAME}.py"
PLACES = (Path(__file__).parents[1] / ".venv/peers/cpython", Path("/"))
"""where Debian's package may have been unpacked (see peers.sh), or is installed"""
CLASSES = ("ExecutorTest", "WaitTests", "AsCompletedTests", "ExecutorShutdownTest")
DIFFERENCES = {
    # No call has begun when it cancels, since no machine is up yet: all 50 are cancelled.
    "test_cancel_futures": "`shutdown(cancel_futures=True)` at once",
    # The error is a RunOver, which is a RuntimeError, so the traceback has another name in it.
    "test_submit_after_interpreter_shutdown": "`submit` after the end",
}
"""Tests that do not pass, and what docs/python.md calls the difference; each is tried, so that none
stands here that passes.
"""


def _suite():
    """CPython's module of tests, wherever it is."""
    try:
        return import_module(f"test.{NAME}")
    except (ImportError, unittest.SkipTest):
        pass
    named = os.environ.get("CPYTHON_TESTS")
    paths = [Path(named)] if named else [place / DEBIAN for place in PLACES]
    path = next((path for path in paths if path.is_file()), None)
    if sys.version_info[:2] != (3, 11) or path is None:
        return None
    sys.path.append(str(path.parent))  # for the workers, too
    return import_module(NAME)


SUITE = _suite()
MISSING = (
    "CPython's own tests are not here: install libpython3.11-testsuite, or set CPYTHON_TESTS to"
    " the file test_concurrent_futures.py of Python 3.11"
)


def test_the_suite_of_cpython_is_there():
    if SUITE is None:
        pytest.skip(MISSING)
    assert all(_class(name) is not None for name in CLASSES)


@pytest.mark.parametrize("difference", DIFFERENCES.values())
def test_each_difference_is_documented(difference):
    page = (Path(__file__).parents[1] / "docs" / "python.md").read_text()
    _, _, table = page.partition("## Differences from `ProcessPoolExecutor`")
    assert f"\n| {difference} | " in table.partition("\n## ")[0]


def _class(name: str):
    """A class of the suite; since 3.12 it is a package, with a module for each."""
    for module in (SUITE, *_modules()):
        if hasattr(module, name):
            return getattr(module, name)
    return None


def _modules():
    if not hasattr(SUITE, "__path__"):
        return
    for name in ("executor", "test_wait", "test_as_completed", "test_shutdown"):
        yield import_module(f"{SUITE.__name__}.{name}")


def _run_python(*arguments: str, **_: object):
    """As CPython's `assert_python_ok`, but the program gets its executor from here."""
    *options, program = arguments
    for old, new in (
        ("from concurrent.futures import BudgetExecutor", "from bursar import BudgetExecutor"),
        ("BudgetExecutor(5)", "BudgetExecutor(max_workers=5)"),
        (f"from test.{NAME} import", f"from {SUITE.__name__} import"),
    ):
        program = program.replace(old, new)
    done = subprocess.run(
        [sys.executable, *options, program],
        capture_output=True,
        timeout=120,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    return done.returncode, done.stdout, done.stderr


def _names() -> list[tuple[str, str]]:
    if SUITE is None:
        return []
    loader = unittest.TestLoader()
    return [(name, test) for name in CLASSES for test in loader.getTestCaseNames(_class(name))]


@pytest.mark.parametrize(("name", "test"), _names())
def test_cpython(name, test, tmp_path, monkeypatch):
    monkeypatch.setenv("BURSAR_HOME", str(tmp_path))
    kind = _class(name)
    monkeypatch.setattr(
        sys.modules[kind.__module__], "assert_python_ok", _run_python, raising=False
    )
    mixin = type("BudgetMixin", (SUITE.ExecutorMixin,), {"executor_type": BudgetExecutor})
    case = type(f"Budget{name}", (mixin, kind, SUITE.BaseTestCase), {})
    result = unittest.TestResult()
    gc.freeze()  # some collect all garbage again and again: only what they make is looked at
    case(test).run(result)
    problems = [text for _, text in (*result.errors, *result.failures)]
    if test in DIFFERENCES:
        assert problems, f"{test} passes: it is no difference any more"
    else:
        assert not problems, "\n".join(problems)
