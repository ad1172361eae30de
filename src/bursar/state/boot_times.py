"""What machines of an offer take from their order until they are up, as this run has seen it.

A market file promises a boot time. What a machine really takes may be another thing: a job of
Slurm waits in a queue. The promise counts as one machine; an offer without one has no promise.
"""

from __future__ import annotations

from typing import Final

import msgspec

from bursar.model.market import Offer
from bursar.model.time import Time

RECENT: Final = 16
"""The mean is of about this many machines: queues grow and shrink."""


class SeenBoots(msgspec.Struct, frozen=True, array_like=True):
    """What machines of one offer took."""

    mean: Time
    count: int
    """machines that it is of, at most RECENT"""


class BootTimes(msgspec.Struct):
    """Kept by the events of machines; the same events give the same times."""

    seen: dict[str, SeenBoots] = {}
    """by offer, where a machine came up"""
    booting: dict[str, dict[int, Time]] = {}
    """by offer, the machines that this process ordered and that are not up, and since when"""

    def begin(self, machine: int, offer: Offer, now: Time) -> None:
        self.booting.setdefault(offer.name, {})[machine] = now

    def end(self, machine: int, offer: Offer, now: Time) -> None:
        """It is up. Nothing is learned from one that was not seen to begin."""
        since = self.booting.get(offer.name, {}).pop(machine, None)
        if since is not None:
            before = self._known(offer)
            count = min(before.count + 1, RECENT)
            mean = before.mean + (now - since - before.mean) // count
            self.seen[offer.name] = SeenBoots(mean, count)

    def forget(self, machine: int, offer: Offer) -> None:
        """It is gone, or another process has taken it over."""
        self.booting.get(offer.name, {}).pop(machine, None)

    def expected(self, offer: Offer, now: Time) -> Time:
        """For a machine that is ordered now.

        Those that boot for longer than the mean count with their age: they take at least that.
        """
        known = self._known(offer)
        total, count = known.mean * known.count, known.count
        for since in self.booting.get(offer.name, {}).values():
            if now - since <= known.mean:
                break  # those behind it were ordered later
            total += now - since
            count += 1
        return total // count if count else 0

    def left(self, machine: int, offer: Offer, rented: Time, now: Time) -> Time:
        """Until a machine that boots is up; one that is late may be late for as long again."""
        age = now - self.booting.get(offer.name, {}).get(machine, rented)
        return abs(self._known(offer).mean - age)

    def _known(self, offer: Offer) -> SeenBoots:
        found = self.seen.get(offer.name)
        return SeenBoots(offer.boot, int(offer.boot > 0)) if found is None else found
