"""Compiled code: loaded only where it pays, kept on disk, and not needed to be kept."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import bursar

SMALL = """
import sys
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.plan.bag.knapsack import cheapest, fastest_within
offers = [Offer("a", Money.parse("0.08"), limit=10), Offer("b", Money.parse("0.16"), limit=10)]
runtimes = {"a": 99_600_000, "b": 51_600_000}
print(cheapest(offers, runtimes, 4841).cost)
print(fastest_within(offers, runtimes, 4841, Money.parse("11.79")).fleet)
print("numba" in sys.modules)
"""

COMPILED = """
import numpy as np
from bursar.plan.published.prob_operations import compiled
add = compiled()
print(add(np.array([1.0, 2.0]), np.array([3.0, 5.0]), 2).tolist())
print(sum(add.stats.cache_hits.values()), sum(add.stats.cache_misses.values()))
"""


def run(code, package, home):
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(package), "HOME": str(home), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split("\n")[:-1]


def install(where: Path) -> Path:
    """A copy of the package, without anything compiled."""
    source = Path(bursar.__file__).parent
    shutil.copytree(source, where / "bursar", ignore=shutil.ignore_patterns("__pycache__"))
    return where


def forbid_writing(package: Path) -> None:
    """A plain file stands where the directory for machine code would be: not even root gets by."""
    shutil.rmtree(package / "bursar" / "kernels" / "__pycache__", ignore_errors=True)
    (package / "bursar" / "kernels" / "__pycache__").write_text("")


def test_a_small_market_needs_no_compiled_code(tmp_path):
    package = install(tmp_path / "site")
    assert run(SMALL, package, tmp_path) == ["10.72", "{'a': 9, 'b': 10}", "False"]


def test_machine_code_is_kept_beside_the_package(tmp_path):
    package = install(tmp_path / "site")
    assert run(COMPILED, package, tmp_path) == ["[4.5, 6.5]", "0 1"]
    assert list((package / "bursar" / "kernels" / "__pycache__").glob("*.nbi"))
    assert run(COMPILED, package, tmp_path) == ["[4.5, 6.5]", "1 0"]


def test_beside_a_read_only_package_it_is_kept_in_the_users_cache(tmp_path):
    package, home = install(tmp_path / "site"), tmp_path / "home"
    home.mkdir()
    forbid_writing(package)
    assert run(COMPILED, package, home) == ["[4.5, 6.5]", "0 1"]
    assert list(home.rglob("*.nbi"))
    assert run(COMPILED, package, home) == ["[4.5, 6.5]", "1 0"]


def test_where_nothing_can_be_kept_it_is_compiled_anew(tmp_path):
    package, home = install(tmp_path / "site"), tmp_path / "home"
    home.write_text("no directory")
    forbid_writing(package)
    for _ in range(2):
        assert run(COMPILED, package, home) == ["[4.5, 6.5]", "0 1"]
