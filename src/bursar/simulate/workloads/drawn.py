"""A workflow as a generator draws it: for each task kind, run time, parents and bytes of files."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.dag import Dag, dag_of, frozen
from bursar.simulate.workloads.file_sizes import volumes_of

Floats = NDArray[np.float64]
DIGITS = 6
"""of a run time in seconds: whole microseconds, so that a file holds it exactly"""


class DrawnWorkflow(msgspec.Struct, frozen=True, eq=False):
    """Invariant: parents come before their children; every list has an entry for each task."""

    kind: str
    labels: tuple[str, ...]
    """kinds of tasks, such as mDiffFit"""
    runtimes: Floats
    """seconds at speed 1"""
    parents: tuple[tuple[int, ...], ...]
    volumes: NDArray[np.int64]
    """[task, 0 or 1]: bytes that it reads and writes"""

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def total(self) -> float:
        """Seconds of all tasks together."""
        return float(self.runtimes.sum())

    def normalised(self, total: float) -> DrawnWorkflow:
        """The same, with run times scaled so that all together take so many seconds."""
        return msgspec.structs.replace(self, runtimes=self.runtimes * (total / self.total))

    def dag(self) -> Dag:
        places: dict[str, int] = {}
        kinds = [places.setdefault(label, len(places)) for label in self.labels]
        return msgspec.structs.replace(
            dag_of(self.parents),
            name=self.kind,
            names=tuple(f"{label}_{number}" for number, label in enumerate(self.labels, 1)),
            kind_names=tuple(places),
            kinds=frozen(np.array(kinds), np.int32),
            runtimes=frozen(np.round(self.runtimes, DIGITS), np.float64),
            volumes=frozen(self.volumes, np.int64),
        )


class TaskDrawer:
    """Tasks being drawn, one after the other."""

    def __init__(self, kind: str, rng: np.random.Generator) -> None:
        self.kind, self.rng = kind, rng
        self._labels: list[str] = []
        self._runtimes: list[float] = []
        self._parents: list[tuple[int, ...]] = []
        self._written: list[int | None] = []

    def task(
        self,
        label: str,
        runtime: float,
        parents: Sequence[int] = (),
        written: int | None = None,
    ) -> int:
        """Add a task, and give its number; without bytes written, those of its kind."""
        self._written.append(written)
        self._labels.append(label)
        self._runtimes.append(runtime)
        self._parents.append(tuple(sorted(set(parents))))
        return len(self._labels) - 1

    def around(self, mean: float, deviation: float) -> float:
        """A run time that is symmetric around its mean, and never further off than half of it.

        A beta distribution: nearly normal for a small deviation, uniform for the largest, which is
        0.2886 of the mean.
        """
        share = min((deviation / mean) ** 2, 1 / 12)
        if not share:
            return mean
        shape = (1 / (4 * share) - 1) / 2
        return mean * (0.5 + float(self.rng.beta(shape, shape)))

    def skewed(self, mean: float, deviation: float) -> float:
        """A run time of a gamma distribution."""
        shape = (mean / deviation) ** 2
        return float(self.rng.gamma(shape, mean / shape))

    def done(self) -> DrawnWorkflow:
        runtimes = np.array(self._runtimes)
        volumes = volumes_of(self._labels, self._parents, self._written)
        return DrawnWorkflow(
            self.kind, tuple(self._labels), runtimes, tuple(self._parents), volumes
        )


def composition(rng: np.random.Generator, total: int, parts: int) -> list[int]:
    """A sum of `parts` whole numbers of at least 1, each way of writing it equally likely."""
    cuts = np.sort(rng.choice(total - 1, parts - 1, replace=False)) + 1
    widths: list[int] = np.diff(cuts, prepend=0, append=total).tolist()
    return widths
