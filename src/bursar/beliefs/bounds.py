"""The published bounds: a fleet as one aggregated machine (Oprescu's thesis, chapter 4).

All machines together are modelled as a single sequential machine, to which the central limit
theorem applies. Equation numbers are the thesis's. The model leaves out that tasks cannot be
divided, so its bounds are too low where the last tasks decide (its own figures 4.12 and 4.18 show
that); `prediction` is what bursar shows by default.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.errors import InputError
from bursar.model.market import Offer
from bursar.model.money import ZERO, Money
from bursar.model.time import Time

EVEN: Final = 0.5
"""The confidence of an estimate."""


class Interval(msgspec.Struct, frozen=True):
    low: float
    high: float


class OfferBelief(msgspec.Struct, frozen=True):
    """What a sample says of one offer: its mean, and the deviation with the biased estimator.

    The thesis chose the biased one, "arbitrarily" (section 4.1.4).
    """

    mean: float
    deviation: float
    size: int

    @classmethod
    def of(cls, runtimes: NDArray[np.int64]) -> OfferBelief:
        return cls(float(runtimes.mean()), float(runtimes.std()), len(runtimes))

    def mean_interval(self, confidence: float) -> Interval:
        """Student's t with `size` - 1 degrees of freedom, two-sided (section 4.3.1)."""
        from scipy.special import stdtrit

        reach = float(stdtrit(self._freedom(), (1 + confidence) / 2))
        reach *= self.deviation / sqrt(self.size)
        return Interval(self.mean - reach, self.mean + reach)

    def deviation_interval(self, confidence: float) -> Interval:
        """Chi-square with `size` - 1 degrees of freedom, two-sided (section 4.3.1)."""
        from scipy.special import chdtri

        tail = (1 - confidence) / 2
        return Interval(
            self.deviation * sqrt(self.size / float(chdtri(self._freedom(), tail))),
            self.deviation * sqrt(self.size / float(chdtri(self._freedom(), 1 - tail))),
        )

    def _freedom(self) -> int:
        if self.size < 2:
            raise InputError("a sample of one task has no interval; sample at least two")
        return self.size - 1


class Squad(msgspec.Struct, frozen=True):
    """Slots of one offer and what is believed of it; `count` is the thesis's a_k."""

    count: int
    belief: OfferBelief


class Confidence(msgspec.Struct, frozen=True):
    """The three confidence levels; section 4.5.3 sets each to 0.9."""

    makespan: float = 0.9
    mean: float = 0.9
    deviation: float = 0.9

    @property
    def joint(self) -> float:
        """The least probability with which the bound holds: p_M + p_mu + p_sigma - 2 (4.13)."""
        return max(0.0, self.makespan + self.mean + self.deviation - 2)


class AggregatedMachine(msgspec.Struct, frozen=True):
    """The mean and the deviation of a task's run time on the aggregated machine, with intervals."""

    mean: float
    deviation: float
    mean_interval: Interval
    deviation_interval: Interval


def aggregate(squads: Sequence[Squad], confidence: Confidence) -> AggregatedMachine:
    """Collapse a fleet into one machine: equations 4.4 to 4.6 and 4.9 to 4.11.

    The intervals take for granted that every offer's mean is above zero, also at its lower end.
    """
    counts = np.array([squad.count for squad in squads], dtype=np.float64)
    if counts.sum() < 1:
        raise InputError("a fleet without machines has no bound; give it at least one")
    means = np.array([squad.belief.mean for squad in squads])
    deviations = np.array([squad.belief.deviation for squad in squads])
    mean = [squad.belief.mean_interval(confidence.mean) for squad in squads]
    deviation = [squad.belief.deviation_interval(confidence.deviation) for squad in squads]
    lowest, highest = np.array([i.low for i in mean]), np.array([i.high for i in mean])
    least, most = np.array([i.low for i in deviation]), np.array([i.high for i in deviation])
    if (lowest <= 0).any():
        raise InputError(
            "the sample is too small or too spread for the published bound: a mean run time may be"
            " zero; sample more tasks"
        )
    return AggregatedMachine(
        mean=1 / float((counts / means).sum()),
        deviation=_deviation(counts, means, means, deviations),
        mean_interval=Interval(
            1 / float((counts / lowest).sum()), 1 / float((counts / highest).sum())
        ),
        deviation_interval=Interval(
            _deviation(counts, lowest, highest, least), _deviation(counts, highest, lowest, most)
        ),
    )


def _deviation(
    counts: NDArray[np.float64],
    near: NDArray[np.float64],
    far: NDArray[np.float64],
    deviations: NDArray[np.float64],
) -> float:
    """The root of S1 + S2 - S3, divided by the machines (4.5 and 4.11).

    For a bound, `near` are the means at the same end of their intervals as the bound, `far` those
    at the other end; for the estimate both are the means themselves.
    """
    machines, rate = float(counts.sum()), float((counts / near).sum())
    s1 = float((counts * near).sum()) / rate
    s2 = float((counts / far * deviations**2).sum()) / rate
    s3 = (machines / float((counts / far).sum())) ** 2
    return sqrt(max(0.0, s1 + s2 - s3)) / machines


class PublishedBound(msgspec.Struct, frozen=True):
    """An estimate and its upper bound, which hold jointly with probability `confidence` or more."""

    makespan: Time
    """N times the aggregated mean (4.7)"""
    makespan_bound: Time
    """(4.12)"""
    cost: Money
    """all machines stay for the makespan (2.2)"""
    cost_bound: Money
    """all machines stay for the bound of the makespan (section 4.5)"""
    confidence: float
    """(4.13)"""


def published_bound(
    parts: Sequence[tuple[Offer, int, NDArray[np.int64]]],
    tasks: int,
    confidence: Confidence | None = None,
) -> PublishedBound:
    """The bound for so many tasks on a fleet: offers, machines of each, and run times seen there.

    A machine with several slots counts as several in the model, and once in the cost. Boot times
    are not in the model.
    """
    from scipy.special import ndtri

    levels = confidence or Confidence()
    squads = [Squad(n * offer.slots, OfferBelief.of(sample)) for offer, n, sample in parts if n]
    machine = aggregate(squads, levels)
    luck = float(ndtri(levels.makespan)) * sqrt(tasks)
    makespan = ceil(tasks * machine.mean)
    bound = ceil(tasks * machine.mean_interval.high + luck * machine.deviation_interval.high)
    return PublishedBound(
        makespan,
        bound,
        sum((offer.charge(makespan) * count for offer, count, _ in parts), ZERO),
        sum((offer.charge(bound) * count for offer, count, _ in parts), ZERO),
        levels.joint,
    )


class PublishedPrediction:
    """What the thesis promises of a fleet: the estimates, and bounds for any joint confidence.

    Each of the three levels gets a third of the doubt, so that p_M + p_mu + p_sigma - 2 is the
    confidence asked for (4.13).
    """

    cautions: tuple[str, ...] = ()

    def __init__(self, parts: Sequence[tuple[Offer, int, NDArray[np.int64]]], tasks: int) -> None:
        self._parts = parts
        self._tasks = tasks

    def makespan(self, confidence: float = 0.5) -> Time:
        """The bound; for an even chance the estimate."""
        found = self._bound(confidence)
        return found.makespan if confidence <= EVEN else found.makespan_bound

    def cost(self, confidence: float = 0.5) -> Money:
        found = self._bound(confidence)
        return found.cost if confidence <= EVEN else found.cost_bound

    def _bound(self, confidence: float) -> PublishedBound:
        level = 1 - (1 - max(EVEN, confidence)) / 3
        return published_bound(self._parts, self._tasks, Confidence(level, level, level))
