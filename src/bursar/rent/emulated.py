"""The emulated market: machines of a market file, made up on this computer.

Boot times, limits, leases and losses are as an offer has them; the processors are ours, and a
runner's warden ends what runs. Nothing is left of such a machine when this process ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Final, Literal, Protocol

from bursar.engine.renter import Announced, Down, Refused, RenterNews, RentOrder, Survey, Up
from bursar.execute.timers import Timers
from bursar.model.market import Offer
from bursar.model.text import counted
from bursar.model.time import SECOND, Time

LEAD: Final[Time] = SECOND // 4
"""to tell the warden of a lease, on a computer that has time for it"""
TAKEN: Final = "the spot machine was taken away"


class Losses(Protocol):
    """How long machines stay before they are taken away, as those of unreliable offers are."""

    notice: Time
    """how long before that it is announced; 0: not at all"""

    def life(self, machine: int, offer: Offer) -> Time | None:
        """Since it was rented; None: it is not taken away."""
        ...


class Saboteur:
    """Machines of unreliable offers live exponentially long; the others are left alone.

    The life of a machine depends on the seed and its number alone.
    """

    def __init__(self, mean_life: Time, *, notice: Time = 0, seed: int = 0) -> None:
        self.mean_life = mean_life
        self.notice = notice
        """how long before a loss it is announced; 0: not at all"""
        self._seed = seed

    def life(self, machine: int, offer: Offer) -> Time | None:
        if offer.pool == "reliable":
            return None
        rng = Random(f"{self._seed}/{machine}")
        return 1 + round(rng.expovariate(1 / self.mean_life))


class EmulatedRenter:
    """Rents by the clock: `now` tells the time of the run."""

    def __init__(
        self, now: Callable[[], Time], losses: Losses | None = None, lead: Time = LEAD
    ) -> None:
        """`lead`: what it takes to tell a runner's machine of its lease."""
        self._now = now
        self._lead = lead
        self._losses = losses
        self._orders: dict[int, RentOrder] = {}
        """machines that are not down, as they were ordered"""
        self._counts: Counter[str] = Counter()
        """of these, by offer"""
        self._leases: dict[int, Time] = {}
        """and when their leases end"""
        self._timers = Timers()
        """when a machine has booted, its loss is announced, it is lost, and its lease ends"""
        self._news: list[RenterNews] = []

    def open(self, wake: Callable[[], None]) -> None:
        """All that happens is known ahead, or ordered: nobody needs to be woken."""

    def lead(self, offer: Offer) -> Time:
        return self._lead

    def rent(self, orders: Sequence[RentOrder]) -> None:
        for order in orders:
            offer = order.offer
            if offer.limit is not None and self._counts[offer.name] >= offer.limit:
                why = f"the limit of {counted(offer.limit, 'machine')} is reached"
                self._news.append(Refused(order.machine, why))
            elif order.machine not in self._orders:
                self._begin(order)

    def _begin(self, order: RentOrder) -> None:
        number, offer, now = order.machine, order.offer, self._now()
        self._orders[number] = order
        self._counts[offer.name] += 1
        self._lease(number, order.until)
        if offer.boot:
            self._timers.set(("boot", number), now + offer.boot)
        else:
            self._news.append(Up(number))
        life = None if self._losses is None else self._losses.life(number, offer)
        if self._losses is not None and life is not None:
            self._timers.set(("lose", number), now + life)
            if 0 < self._losses.notice <= life:
                self._timers.set(("announce", number), now + life - self._losses.notice)

    def extend(self, machine: int, until: Time) -> None:
        if machine in self._orders and self._now() <= self._leases[machine]:
            self._lease(machine, until)

    def _lease(self, machine: int, until: Time) -> None:
        self._leases[machine] = until
        self._timers.set(("lease", machine), until)

    def release(self, machines: Sequence[int]) -> None:
        now = self._now()
        for machine in machines:
            if machine in self._orders:
                self._end(machine, "released", now)

    def survey(self) -> Survey:
        """Machines of an earlier process ended with it."""
        return Survey(())

    def poll(self) -> Sequence[RenterNews]:
        for what, machine in self._timers.due(self._now()):
            if machine in self._orders:
                self._let_happen(what, machine)
        if not self._news:
            return ()
        news, self._news = self._news, []
        return news

    def next_poll(self) -> Time | None:
        return 0 if self._news else self._timers.next()

    def close(self) -> None:
        """What runs on the machines is ended by the runner, which closes, too."""
        self.release(list(self._orders))

    def _let_happen(self, what: str, machine: int) -> None:
        now = self._now()
        if what == "boot":
            self._news.append(Up(machine))
        elif what == "announce" and self._losses is not None:
            self._news.append(Announced(machine, now + self._losses.notice))
        elif what == "lose":
            self._end(machine, "lost", now, TAKEN)
        else:
            self._end(machine, "expired", now)

    def _end(
        self, machine: int, cause: Literal["released", "lost", "expired"], now: Time, why: str = ""
    ) -> None:
        until = self._leases.pop(machine)
        self._counts[self._orders.pop(machine).offer.name] -= 1
        for what in ("boot", "announce", "lose", "lease"):
            self._timers.discard((what, machine))
        self._news.append(Down(machine, cause, min(now, until), why))
