"""Run times that a placer knows: right, wrong, learned or none (workflow thesis, section 3.2).

| error | what is known of a task that takes d |
|---|---|
| `none` | d |
| `static:F` | F d |
| `random-1:F` | d times a factor of its workflow, uniform up to 2 F |
| `random-2:F` | uniform up to 2 F seconds, whatever d is |
| `unknown` | nothing: every task counts as one second |
| `learned` | nothing at first; then what tasks of its kind took that have ended |
"""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.errors import InputError, instead_of, shown
from bursar.model.learning import UNKNOWN_TIME
from bursar.model.numbers import parse_number
from bursar.model.time import SECOND
from bursar.model.workload_arrays import WorkloadArrays

Longs = NDArray[np.int64]

UNKNOWN: Final = "unknown"
LEARNED: Final = "learned"
WITH_FACTOR: Final = ("static", "random-1", "random-2")
ERRORS: Final = ("none", *WITH_FACTOR, UNKNOWN, LEARNED)


class EstimateError(msgspec.Struct, frozen=True):
    """A kind of error, and how large it is.

    Invariant: a kind that has no factor has the factor 1.
    """

    kind: str = "none"
    factor: float = 1.0

    def __str__(self) -> str:
        return f"{self.kind}:{self.factor:g}" if self.kind in WITH_FACTOR else self.kind

    @property
    def is_learned(self) -> bool:
        """Whether run times are learned while tasks end."""
        return self.kind == LEARNED

    def estimates(self, arrays: WorkloadArrays, rng: np.random.Generator) -> Longs:
        """By task, in microseconds at speed 1; at least one.

        Where run times are learned: what is known before any task has ended.
        """
        if self.kind in (UNKNOWN, LEARNED):
            return np.full(len(arrays), UNKNOWN_TIME, np.int64)
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
    """A kind, with its factor if it has one: `none`, `learned`, `random-1:2`."""
    kind, _, factor = text.strip().partition(":")
    if kind not in ERRORS:
        raise InputError(f"no error of estimates {shown(kind)}; {instead_of(kind, ERRORS)}")
    if (kind in WITH_FACTOR) != bool(factor):
        lack = "has no factor" if factor else "needs a factor"
        raise InputError(f"{shown(text)}: {kind} {lack}; write for example none or random-1:2")
    return EstimateError(kind, parse_number(factor, 1e-6, 1e6) if factor else 1.0)
