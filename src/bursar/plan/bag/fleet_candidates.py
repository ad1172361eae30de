"""Fleets that may be worth having: a few hundred of the billions there are.

- the cheapest cover for each of many finishing times: machines in the order of what they cost for
  the work they do by then, and each offer in turn for what is left over;
- plain fleets: one offer at any count, two offers, half of every offer, everything;
- the fleets next to one that is good: a machine more, a machine less, one for another.

No fleet has a machine that the tasks do not need: without any one of them there are fewer slots
than tasks. Such a fleet is rented whole by every provisioner that follows it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bursar.kernels.fleets import FleetBag
from bursar.plan.bag.fleet_judge import Floats, Integers, SampledBag

FINISHING_TIMES: Final = 70
COUNTS: Final = 40
"""of machines of one offer that are tried, all where there are no more"""
PAIRED_OFFERS: Final = 7
"""Offers of which two at a time are tried."""
PAIRED_COUNTS: Final = 10
MOST_ENUMERATED: Final = 600
"""Where there are no more fleets than this in all, all are candidates."""
LONGEST_QUANTILE: Final = 0.2
"""So many slots of a fleet have a task left that is longer than the one assumed."""


class QuickEstimate:
    """Time and cost of fleets by a formula: good enough to leave out what is far too bad.

    Slots work until the bag is empty, as the law of renewals says, then each does the rest of its
    task.
    """

    def __init__(self, sampled: SampledBag, bag: FleetBag) -> None:
        offers = sampled.offers
        self.tasks = sampled.tasks
        self.slots = bag.slots.astype(np.float64)
        self.boot, self.least = bag.boot.astype(np.float64), bag.least.astype(np.float64)
        self.billing = bag.billing.astype(np.float64)
        self.price = np.array([offer.price.nanos for offer in offers], dtype=np.float64)
        self.mean = bag.mean.mean(axis=1)
        self.ahead = (bag.variance.mean(axis=1) / self.mean**2 + 1) / 2
        self.last_of_machine = np.array(
            [
                _mean_of_longest(rows, offer.slots)
                for rows, offer in zip(bag.residuals, offers, strict=True)
            ]
        )
        self.residuals = np.sort(bag.residuals.reshape(len(offers), -1), axis=1)
        needed = -(-sampled.tasks // bag.slots)
        self.most = np.array(
            [
                need if offer.limit is None else min(offer.limit, need)
                for offer, need in zip(offers, needed, strict=True)
            ],
            dtype=np.int64,
        )

    def empty(self, counts: Integers) -> Floats:
        """When the last task is taken."""
        rate = counts * self.slots / self.mean
        gain = counts * self.slots * self.ahead
        found = np.full(len(counts), np.inf)
        for _ in range(3):
            works = self.boot < found[:, None]
            lost = rate * self.boot * works
            found = (self.tasks - (gain * works).sum(axis=1) + lost.sum(axis=1)) / np.maximum(
                (rate * works).sum(axis=1), 1e-30
            )
        empty: Floats = np.maximum(found, 0.0)
        return empty

    def bounds(self, counts: Integers) -> Floats:
        """`[fleet, (time, cost)]`."""
        empty = np.maximum(self.empty(counts)[:, None], self.boot)
        ends = empty + self.last_of_machine
        cost = (counts * self.charges(ends)).sum(axis=1)
        slots = np.maximum(counts * self.slots, 1.0)
        rank = (self.residuals.shape[1] * (1 - LONGEST_QUANTILE / slots)).astype(np.int64)
        rank = np.minimum(rank, self.residuals.shape[1] - 1)
        longest = self.residuals[np.arange(len(self.boot))[None, :], rank]
        time = np.where(counts > 0, empty + longest, 0.0).max(axis=1)
        return np.stack([time, cost], axis=1)

    def charges(self, stay: Floats) -> Floats:
        """What machines of each offer cost that stay for so long."""
        charged: Floats = self.price * np.ceil(np.maximum(stay, self.least) / self.billing)
        return charged

    def is_needed(self, counts: Integers) -> NDArray[np.bool_]:
        """Fleets within the limits in which the tasks need every machine."""
        slots = counts * self.slots
        smallest = np.where(counts > 0, self.slots, np.inf).min(axis=1)
        found: NDArray[np.bool_] = (
            (counts >= 0).all(axis=1)
            & (counts <= self.most).all(axis=1)
            & (counts > 0).any(axis=1)
            & (slots.sum(axis=1) - smallest < self.tasks)
        )
        return found


def _mean_of_longest(rows: Integers, slots: int) -> float:
    """What is left of the longest task of a machine, on average."""
    machines = rows.shape[1] // slots
    shaped = rows[:, : machines * slots].reshape(len(rows), machines, slots)
    return float(shaped.max(axis=2).mean())


def all_fleets(quick: QuickEstimate, most_fleets: int) -> Integers | None:
    """Every fleet there is; None: there are more than this."""
    total = 1
    for most in quick.most:
        total *= int(most) + 1
        if total > most_fleets:
            return None
    grid = np.indices([int(most) + 1 for most in quick.most]).reshape(len(quick.most), -1)
    return _needed(quick, grid.T)


def first_fleets(quick: QuickEstimate) -> Integers:
    """Covers and plain fleets."""
    rows = [*_covers(quick), *_of_one_offer(quick), *_of_two_offers(quick)]
    rows += [quick.most, (quick.most + 1) // 2, quick.most // 2, _trimmed(quick, quick.most)]
    return _needed(quick, np.array(rows, dtype=np.int64))


def single_machines(quick: QuickEstimate) -> Integers:
    """One machine of each offer by itself: no list leaves out that it might do."""
    return _needed(quick, np.eye(len(quick.most), dtype=np.int64))


def neighbours(quick: QuickEstimate, counts: Integers) -> Integers:
    """A machine more or less of each offer, some more at a time, and one offer for another."""
    offers = len(quick.most)
    one = np.eye(offers, dtype=np.int64)
    rows = []
    for fleet in counts:
        used = np.flatnonzero(fleet)
        steps = np.maximum(1, fleet // 8)
        rows += [fleet[None] + one, fleet[None] - one[used]]
        rows += [fleet[None] + one * steps, fleet[None] - (one * steps)[used]]
        for offer in used:
            fair = np.maximum(1, np.rint(quick.slots[offer] / quick.slots)).astype(np.int64)
            rows += [fleet[None] - one[offer] + one, fleet[None] - one[offer] + one * fair]
            fair = np.maximum(1, np.rint(quick.slots / quick.slots[offer])).astype(np.int64)
            rows.append(fleet[None] - fair[:, None] * one[offer] + one)
    return _needed(quick, np.concatenate(rows)) if rows else counts


def _needed(quick: QuickEstimate, counts: Integers) -> Integers:
    """Fleets in which the tasks need every machine; some may stand twice."""
    return counts[quick.is_needed(counts)]


def _trimmed(quick: QuickEstimate, counts: Integers) -> Integers:
    """Without the machines that the tasks do not need; the slowest to come up leave first."""
    fleet = counts.copy()
    for offer in np.argsort(-(quick.boot + quick.mean), kind="stable"):
        spare = float(fleet @ quick.slots) - quick.tasks
        surplus = int(max(0.0, spare) // quick.slots[offer])
        fleet[offer] -= min(int(fleet[offer]), surplus)
    return fleet


def _of_one_offer(quick: QuickEstimate) -> Iterator[Integers]:
    for offer, most in enumerate(quick.most):
        for count in _some_counts(int(most), COUNTS):
            fleet = np.zeros(len(quick.most), dtype=np.int64)
            fleet[offer] = count
            yield fleet


def _of_two_offers(quick: QuickEstimate) -> Iterator[Integers]:
    """Pairs of the offers that do a task for the least money."""
    worth = np.argsort(quick.price / quick.billing / quick.slots * quick.mean, kind="stable")
    best = [int(offer) for offer in worth if quick.most[offer]][:PAIRED_OFFERS]
    counts = {offer: _some_counts(int(quick.most[offer]), PAIRED_COUNTS) for offer in best}
    for place, one in enumerate(best):
        for other in best[place + 1 :]:
            for some in counts[one]:
                for more in counts[other]:
                    fleet = np.zeros(len(quick.most), dtype=np.int64)
                    fleet[one], fleet[other] = some, more
                    yield fleet


def _some_counts(most: int, tried: int) -> list[int]:
    """From one machine to all, in equal ratios."""
    if most <= tried:
        return list(range(1, most + 1))
    return sorted({round(most ** (step / (tried - 1))) for step in range(tried)})


def _covers(quick: QuickEstimate) -> Iterator[Integers]:
    """For each finishing time, machines by their cost for the work that they do by then."""
    most = _trimmed(quick, quick.most)
    soonest = float(quick.bounds(most[None])[0, 0])
    alone = single_machines(quick)
    latest = float(quick.bounds(alone)[:, 0].max()) if len(alone) else soonest
    for end in np.geomspace(max(soonest, 1.0), max(latest, soonest, 1.0), FINISHING_TIMES):
        stay = end - quick.last_of_machine / 2
        work = quick.slots * ((stay - quick.boot) / quick.mean + quick.ahead - 0.5)
        cost = quick.charges(np.full(len(work), end))
        order = [
            int(offer)
            for offer in np.argsort(cost / np.maximum(work, 1e-9), kind="stable")
            if work[offer] > 0 and quick.most[offer]
        ]
        yield from _cover(quick, order, work)


def _cover(quick: QuickEstimate, order: list[int], work: Floats) -> Iterator[Integers]:
    """The best offers as far as they go, and one of the others for what they leave over."""
    fleet = np.zeros(len(quick.most), dtype=np.int64)
    left = float(quick.tasks)
    for place, offer in enumerate(order):
        whole = int(min(quick.most[offer], left // work[offer]))
        fleet[offer] = whole
        left -= whole * work[offer]
        if left <= 0:
            yield fleet.copy()
            return
        if whole < quick.most[offer]:
            for last in order[place:]:
                more = int(np.ceil(left / work[last]))
                if fleet[last] + more <= quick.most[last]:
                    filled = fleet.copy()
                    filled[last] += more
                    yield filled
            if whole:
                yield fleet.copy()
            return
