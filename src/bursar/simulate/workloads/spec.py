"""What is to be drawn: kinds of workflows, sizes, total run times, arrivals."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from bursar.model.errors import InputError

MOST_WORKS: Final = 10_000_000
LARGEST_SIZE: Final = 100_000
"""tasks of one workflow that is drawn"""


class SizeClass(msgspec.Struct, frozen=True):
    """So large a share of the workflows has a size from `least` to `most`, each equally likely.

    Sizes are even, as the generator of Bharathi et al. gives them, where the limits are.
    """

    share: float
    least: int
    most: int

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.most <= LARGEST_SIZE:
            raise InputError(
                f"sizes from {self.least:,} to {self.most:,}: use 1 to {LARGEST_SIZE:,}, the"
                " smaller one first"
            )
        if not self.share > 0:
            raise InputError(f"the share {self.share:g} of a class of sizes must be above 0")


CLASSES: Final = (
    SizeClass(0.75, 30, 38),
    SizeClass(0.20, 40, 198),
    SizeClass(0.05, 200, 600),
)
"""many small workflows and few large ones (thesis, section 2.4)"""


class GammaStage(msgspec.Struct, frozen=True):
    """A gamma distribution of total run times, and the share of workflows that have it."""

    share: float
    shape: float
    scale: float
    """seconds"""


HYPER_GAMMA: Final = (GammaStage(0.7, 5.0, 501.266), GammaStage(0.3, 45.0, 136.709))
"""a mean of one hour (thesis, section 2.4, after Lublin and Feitelson)"""


class Poisson(msgspec.Struct, frozen=True, tag="poisson"):
    """Independent arrivals: so many a second, or so often that machines are that busy.

    With a utilization, gaps are scaled so that the share of all machines' time that the run times
    of this very workload fill, from 0 to the last arrival, is exact.
    """

    rate: float | None = None
    utilization: float | None = None
    speed: float = 100.0
    """of all machines together: so many machines, where each has speed 1"""

    def __post_init__(self) -> None:
        if (self.rate is None) == (self.utilization is None):
            raise InputError("poisson arrivals have a rate or a utilization; give one of them")
        if not (self.rate is None or 0 < self.rate <= 1e6):
            raise InputError("the rate of arrivals must be above 0, at most 1,000,000 a second")
        if not (self.utilization is None or 0 < self.utilization <= 10):
            raise InputError("the utilization of arrivals must be above 0 and at most 10")


class Traced(msgspec.Struct, frozen=True, tag="traced"):
    """Arrivals as they were recorded, in seconds; the first one is the begin."""

    at: tuple[float, ...]


class Batch(msgspec.Struct, frozen=True, tag="batch"):
    """All works arrive at the begin."""


Arrivals = Poisson | Traced | Batch
Totals = tuple[GammaStage, ...] | float | Literal["generated"]
"""of all tasks of a workflow: drawn; of the workload in the mean, in seconds; as they come"""


class WorkloadSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A workload that is drawn; the same seed gives the same one."""

    kinds: tuple[tuple[str, float], ...]
    """with their shares: workflow by workflow they take turns, so that shares are exact"""
    count: int
    seed: int = 0
    classes: tuple[SizeClass, ...] = CLASSES
    totals: Totals = HYPER_GAMMA
    arrivals: Arrivals = Poisson(utilization=0.9)
    owners: tuple[str, ...] = ()
    """work by work they take turns; none: works have no owner"""
    priorities: tuple[int, int] | None = None
    """from and to, each equally likely; None: all works have the same"""
    bandwidth: float | None = None
    """see `Workload`"""
    name: str = "workload"

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MOST_WORKS:
            raise InputError(f"{self.count:,} workflows; use 1 to {MOST_WORKS:,}")
        if not self.kinds or not self.classes:
            raise InputError("a workload needs at least one kind of workflows and class of sizes")
        for kind, share in self.kinds:
            if not share > 0:
                raise InputError(f"the share {share:g} of {kind} must be above 0")
