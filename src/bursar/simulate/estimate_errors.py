"""Run times that a placer knows, right or wrong (workflow thesis, section 3.2).

| error | what is known of a task that takes d |
|---|---|
| `none` | d |
| `static:F` | F d |
| `random-1:F` | d times a factor of its workflow, uniform up to 2 F |
| `random-2:F` | uniform up to 2 F seconds, whatever d is |
"""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.errors import InputError, instead_of, shown
from bursar.model.numbers import parse_number
from bursar.model.time import SECOND
from bursar.model.workload_arrays import WorkloadArrays

Longs = NDArray[np.int64]

ERRORS: Final = ("none", "static", "random-1", "random-2")


class EstimateError(msgspec.Struct, frozen=True):
    """A kind of error, and how large it is."""

    kind: str = "none"
    factor: float = 1.0

    def __str__(self) -> str:
        return self.kind if self.kind == "none" else f"{self.kind}:{self.factor:g}"

    def estimates(self, arrays: WorkloadArrays, rng: np.random.Generator) -> Longs:
        """By task, in microseconds at speed 1; at least one."""
        times = arrays.taken.astype(np.float64)
        if self.kind == "static":
            times = times * self.factor
        elif self.kind == "random-1":
            # 1 - random() is above 0, so that no estimate vanishes
            factors = 2 * self.factor * (1 - rng.random(len(arrays.arrived)))
            times = times * factors[arrays.work]
        elif self.kind == "random-2":
            times = 2 * self.factor * SECOND * (1 - rng.random(len(arrays)))
        found: Longs = np.maximum(np.rint(times), 1).astype(np.int64)
        return np.where(arrays.taken == 0, 0, found) if self.kind == "none" else found


def parse_error(text: str) -> EstimateError:
    """`none`, or a kind with its factor: `random-1:2`."""
    kind, _, factor = text.strip().partition(":")
    if kind not in ERRORS:
        raise InputError(f"no error of estimates {shown(kind)}; {instead_of(kind, ERRORS)}")
    if (kind == "none") == bool(factor):
        lack = "has no factor" if factor else "needs a factor"
        raise InputError(f"{shown(text)}: {kind} {lack}; write for example none or random-1:2")
    return EstimateError(kind, parse_number(factor, 1e-6, 1e6)) if factor else EstimateError()
