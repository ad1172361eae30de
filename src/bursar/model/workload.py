"""Work arriving over time, from several users.

`Workload` is what files, generators and the engine know. `WorkloadArrays` is the same for kernels:
the tasks of all works in one numbering, in the order of arrival.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from bursar.model.errors import InputError
from bursar.model.time import SECOND, Time
from bursar.model.work import Work

if TYPE_CHECKING:
    from bursar.model.workload_arrays import WorkloadArrays


class Arrival(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A work, and when it arrives, since the begin of the run."""

    at: Time
    work: Work


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

    @cached_property
    def arrays(self) -> WorkloadArrays:
        """The same in arrays, which are made once."""
        from bursar.model.workload_arrays import arrays_of

        return arrays_of(self)
