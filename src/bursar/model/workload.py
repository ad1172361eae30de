"""Work arriving over time, from several users.

`Workload` is what files, generators and the engine know. `WorkloadArrays` is the same for kernels:
the tasks of all works in one numbering, in the order of arrival.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from bursar.model.errors import InputError, shown
from bursar.model.market import Market
from bursar.model.time import SECOND, Time
from bursar.model.work import Work

if TYPE_CHECKING:
    from bursar.model.workload_arrays import WorkloadArrays


class Arrival(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A work, and when it arrives, since the begin of the run."""

    at: Time
    work: Work
    times: Mapping[str, tuple[Time, ...]] = {}
    """by offer, what each task takes there; none: its run time, by the speed of the offer"""


class Workload(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """Works in the order in which they arrive.

    Invariant: arrivals are sorted by time, and none is before 0.
    """

    arrivals: tuple[Arrival, ...]
    name: str = "workload"
    bandwidth: float | None = None
    """bytes a second at which a machine reads the files of a task before it runs, and writes them
    afterwards; None: files take no time"""

    def __post_init__(self) -> None:
        last = 0
        for number, arrival in enumerate(self.arrivals, 1):
            if arrival.at < last:
                before = "the begin" if number == 1 else f"work {number - 1}"
                raise InputError(
                    f"work {number} arrives at {arrival.at / SECOND:g} s, before {before};"
                    " sort works by their arrival"
                )
            last = arrival.at

    @property
    def tasks(self) -> int:
        return sum(arrival.work.count for arrival in self.arrivals)

    def times_on(self, market: Market) -> dict[str, list[Time]] | None:
        """By offer, what each task of all works takes; None: no work tells it by offer."""
        if not any(arrival.times for arrival in self.arrivals):
            return None
        found: dict[str, list[Time]] = {offer.name: [] for offer in market.offers}
        runtimes, first = self.arrays.runtimes.tolist(), 0
        for number, arrival in enumerate(self.arrivals, 1):
            after = first + arrival.work.count
            for offer in market.offers:
                if not arrival.times:
                    found[offer.name] += [round(t / offer.speed) for t in runtimes[first:after]]
                elif offer.name in arrival.times:
                    found[offer.name] += arrival.times[offer.name]
                else:
                    raise InputError(
                        f"work {number} of {shown(self.name)} tells run times of some offers, but"
                        f" not of {shown(offer.name)}; add them to its times"
                    )
            first = after
        return found

    @cached_property
    def arrays(self) -> WorkloadArrays:
        """The same in arrays, which are made once."""
        from bursar.model.workload_arrays import arrays_of

        return arrays_of(self)
