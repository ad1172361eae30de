"""What is expected of running tasks is the same whole number, compiled or not."""

from __future__ import annotations

import sys
from random import Random

import numpy as np
import pytest

from bursar.beliefs.unified import UnifiedRuntimes
from bursar.kernels.compiling import is_loaded
from bursar.model.time import HOUR

OFFERS = ("a", "b", "c", "unknown")


def learned(rng, count, largest):
    found = UnifiedRuntimes()
    for _ in range(count):
        found.learn(rng.choice(OFFERS[:3]), rng.randrange(1, largest))
    return found


@pytest.mark.parametrize("count", [0, 3, 700])
@pytest.mark.parametrize("largest", [1_000, HOUR, 10**6 * HOUR])
def test_totals_are_the_same_without_the_kernel(count, largest, monkeypatch):
    import numba  # noqa: F401

    rng = Random(count)
    runtimes = learned(rng, count, largest)
    elapsed = np.array([0, *(rng.randrange(2 * largest) for _ in range(300))])
    sources = np.array([rng.randrange(len(OFFERS)) for _ in elapsed])
    assert is_loaded()
    for _ in range(2):  # the second time with times that came one by one
        compiled = runtimes.elsewhere(OFFERS, sources, elapsed, elapsed)
        with monkeypatch.context() as without:
            without.delitem(sys.modules, "numba")
            plain = runtimes.elsewhere(OFFERS, sources, elapsed, elapsed)
        assert compiled.here.tolist() == plain.here.tolist()
        for name in OFFERS:
            assert compiled.on(name).tolist() == plain.on(name).tolist()
        for _ in range(20):
            runtimes.learn(rng.choice(OFFERS[:3]), rng.randrange(1, largest))


def test_they_are_what_is_expected_of_each_task():
    rng = Random(1)
    runtimes = learned(rng, 200, HOUR)
    elapsed = np.array([rng.randrange(HOUR) for _ in range(50)])
    sources = np.array([rng.randrange(3) for _ in elapsed])
    found = runtimes.elsewhere(OFFERS, sources, elapsed, elapsed)
    for row, (place, time) in enumerate(zip(sources.tolist(), elapsed.tolist(), strict=True)):
        assert found.here[row] == runtimes.expected_total(OFFERS[place], time)
        assert found.on("a")[row] == runtimes.expected_total(OFFERS[place], time, on="a")
