"""`token`: the widest of the next waves of tasks, of each workflow (workload thesis, 4.4.2).

A token goes from wave to wave, as many as a workflow gets through in an interval: the tasks on its
longest path, over how long that path takes, times the interval, rounded up. The widest wave of each
workflow adds to what is wanted, in the order of arrival, until that exceeds the system.
"""

from __future__ import annotations

from math import ceil
from random import Random

from bursar.model.fleet import Fleet
from bursar.model.market import Market, Offer
from bursar.model.time import Time
from bursar.policies.autoscaling import INTERVAL, Autoscaler, Leaving, WantedFleet
from bursar.state.generations import Generations
from bursar.state.view import View
from bursar.state.work_index import CountedWork


class Token(Autoscaler):
    """Looks ahead in workflows."""

    def __init__(
        self,
        market: Market,
        fleet: Fleet | None = None,
        interval: Time = INTERVAL,
        *,
        release: Leaving = "paid",
    ) -> None:
        super().__init__(market, fleet, interval, release=release)
        self._generations = Generations()
        self._waves: dict[int, int] = {}
        """by work, how many it gets through in an interval"""

    def wanted(self, view: View, now: Time, account: str, rng: Random) -> WantedFleet:
        self._generations.look(view)
        size, slots, works = self.size(account), 0, 0
        self._waves = {work.number: self._depth(work, view) for work in self._generations.works()}
        for work in self._generations.works(account):
            slots += self._generations.largest(work, self._waves[work.number])
            works += 1
            if size is not None and slots > size:
                slots = size
                break
        return WantedFleet(
            self.fleet_of(slots, account),
            "the widest of the next waves of each workflow",
            {"target": float(slots), "workflows": float(works)},
        )

    def _depth(self, work: CountedWork, view: View) -> int:
        """Waves within an interval, found once for each work."""
        found = self._waves.get(work.number)
        return waves_of(work, view, self.first_offer, self.interval) if found is None else found


def waves_of(work: CountedWork, view: View, offer: Offer, interval: Time) -> int:
    """The tasks on the longest path of a workflow, by how much of it passes in an interval.

    Run times are those on this offer: the one that is rented first.
    One, where run times are not known.
    """
    flow = work.work.workflow
    if flow is None:
        return 0
    first = work.tasks.start
    expected = [view.runtimes.expected(offer.name, 0, first + place) for place in range(flow.count)]
    if None in expected:
        return 1
    length, steps = [0] * flow.count, [0] * flow.count
    for task in flow.dag.order.tolist():
        best = max(flow.parents[task], key=lambda parent: length[parent], default=None)
        length[task] = (expected[task] or 0) + (0 if best is None else length[best])
        steps[task] = 1 + (0 if best is None else steps[best])
    last = max(range(flow.count), key=lambda task: length[task])
    return ceil(interval * steps[last] / length[last]) if length[last] else flow.count
