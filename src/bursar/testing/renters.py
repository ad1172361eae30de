"""The contract of a renter: what a real world relies on, wherever the machines come from.

Make a subclass under a name that pytest collects, and say how to make the renter:

    class TestMyRenter(RenterContract):
        def make_renter(self, mark, now):
            return MyRenter(mark, now)

Time is real: `now` is the clock of a run that has just begun.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event

from bursar.engine.renter import Down, FoundMachine, Refused, Renter, RenterNews, RentOrder, Up
from bursar.execute.clock import RunClock
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import SECOND, Time
from bursar.testing.broken import expect
from bursar.testing.metronome import Metronome


class RenterContract:
    """Each test makes a renter of its own and closes it."""

    offer: Offer = Offer("machine", Money.parse("0.01"), SECOND, limit=3)
    stay: Time = SECOND
    """a short lease, but longer than a machine boots"""
    longest_wait: Time = 20 * SECOND
    """for anything that must happen"""
    quick: Time = SECOND // 4
    """No order and no poll takes longer, apart from what load adds: the loop waits for it."""
    outlives: bool = False
    """whether machines live on when the process that rented them is gone"""
    is_reliable: bool = True
    """whether machines stay to the end of their leases"""

    @property
    def ample(self) -> Time:
        """A lease that ends after anything that must happen."""
        return 3 * self.longest_wait

    def make_renter(self, mark: str, now: Callable[[], Time]) -> Renter:
        """The renter of the run with this mark; the same run may have had another before."""
        raise NotImplementedError

    def test_every_machine_that_is_ordered_comes_up_or_is_refused(self) -> None:
        with self._drill() as drill:
            ordered = [drill.rent(self.ample) for _ in range(3)]
            drill.until(
                lambda: all(drill.is_decided(machine) for machine in ordered),
                "a machine neither came up nor was refused",
            )

    def test_a_machine_that_is_released_goes_down_within_the_lead_of_its_offer(self) -> None:
        with self._drill() as drill:
            machine = drill.machine(self.ample)
            lead, ordered = drill.renter.lead(self.offer), drill.now()
            drill.order(drill.renter.release, [machine])
            drill.until(lambda: machine in drill.down, "the machine did not go down")
            took = drill.down[machine].at - ordered
            expect(took <= lead, f"the release took {took} us, the lead is {lead}")
            if self.is_reliable:
                cause = drill.down[machine].cause
                expect(cause == "released", f"it went down because it was {cause}")

    def test_a_machine_may_be_released_before_it_is_up(self) -> None:
        with self._drill() as drill:
            machine = drill.rent(self.ample)
            drill.order(drill.renter.release, [machine])
            drill.until(lambda: drill.is_over(machine), "the machine did not go down")

    def test_no_machine_outlives_its_lease(self) -> None:
        with self._drill() as drill:
            machine = drill.machine(self.stay)
            until = drill.ordered[machine].until
            drill.until(lambda: machine in drill.down, "the machine stays without a lease")
            ended = drill.down[machine].at
            expect(ended <= until, f"it ended {ended - until} us after its lease")

    def test_a_machine_ends_with_its_lease_even_if_nobody_looks(self) -> None:
        with self._drill() as drill:
            machine = drill.machine(self.stay)
            until = drill.ordered[machine].until
            time.sleep(2 * self.stay / SECOND)
            drill.until(lambda: machine in drill.down, "the machine stays without a lease")
            ended = drill.down[machine].at
            expect(ended <= until, f"it ended {ended - until} us after its lease")

    def test_a_machine_whose_lease_is_extended_stays(self) -> None:
        with self._drill() as drill:
            machine = drill.machine(self.stay)
            before = drill.ordered[machine].until
            drill.order(drill.renter.extend, machine, before + self.ample)
            # no runner tells the machine of it here, so it may end by its own clock a little later
            soon = before + min(self.stay // 2, SECOND)
            drill.until(lambda: drill.now() > soon, "time does not pass")
            if self.is_reliable:
                expect(machine not in drill.down, "it ended with the lease of before")

    def test_orders_about_a_machine_that_is_gone_are_ignored(self) -> None:
        with self._drill() as drill:
            machine = drill.machine(self.ample)
            drill.order(drill.renter.release, [machine])
            drill.until(lambda: machine in drill.down, "the machine did not go down")
            drill.order(drill.renter.extend, machine, drill.now() + self.stay)
            drill.order(drill.renter.release, [machine])
            drill.look(drill.now() + self.stay // 4)

    def test_a_resumed_run_finds_the_machines_that_live(self) -> None:
        with self._drill() as drill:
            machine = drill.machine(self.ample)
            with self._drill(drill.mark, drill.clock) as second:
                found = self._found(second.renter)
                if not self.outlives:
                    expect(not found, f"it claims to have found {found}")
                    return
                expect([one.machine for one in found] == [machine], f"it found {found}")
                expect(found[0].is_up, "it does not know that the machine is up")
                second.ordered[machine] = drill.ordered[machine]
                second.order(second.renter.extend, machine, second.now() + 2 * self.ample)
                second.order(second.renter.release, [machine])
                second.until(lambda: machine in second.down, "it cannot release what it found")

    def test_the_same_order_gets_the_same_machine(self) -> None:
        if not self.outlives:
            return
        with self._drill() as drill, self._drill(drill.mark, drill.clock) as second:
            drill.machine(self.ample)
            second.ordered |= drill.ordered
            second.order(second.renter.rent, [drill.ordered[1]])
            found = self._found(self.make_renter(drill.mark, drill.now))
            expect([one.machine for one in found] == [1], f"there are {found}")

    def test_the_machines_of_another_run_are_not_found(self) -> None:
        with self._drill() as drill:
            drill.machine(self.ample)
            with self._drill() as other:
                found = self._found(other.renter)
                expect(not found, f"{found} is of another run")

    def test_a_renter_that_is_closed_leaves_nothing_behind(self) -> None:
        with self._drill() as drill:
            drill.machine(self.ample)
            drill.rent(self.ample)
            drill.renter.close()
            left = self._found(self.make_renter(drill.mark, drill.now))
            expect(not left, f"{left} is left")

    def _found(self, renter: Renter) -> Sequence[FoundMachine]:
        """What a survey finds where everything can be asked."""
        found, unasked, _ = renter.survey()
        expect(not unasked, f"it could not ask {unasked}, though nothing is cut off")
        return found

    @contextmanager
    def _drill(self, mark: str = "", clock: RunClock | None = None) -> Iterator[_RenterDrill]:
        drill = _RenterDrill(self, mark or f"contract@{uuid.uuid4().hex[:8]}", clock)
        try:
            yield drill
        finally:
            drill.close()


class _RenterDrill:
    """A renter driven by hand; what it tells must be possible."""

    def __init__(self, contract: RenterContract, mark: str, clock: RunClock | None) -> None:
        self._contract = contract
        self.mark = mark
        self.clock = clock or RunClock(0, None)
        self.now = self.clock.now
        self.renter = contract.make_renter(mark, self.now)
        self._metronome = Metronome(self.now)
        self._woken = Event()
        self.renter.open(self._woken.set)
        self.ordered: dict[int, RentOrder] = {}
        self.up: set[int] = set()
        self.refused: set[int] = set()
        self.down: dict[int, Down] = {}

    def close(self) -> None:
        self._metronome.close()
        self.renter.close()

    # --- ordering; whatever takes long would hold up the loop ------------------------------------

    def order(self, give: Callable[..., object], *values: object) -> None:
        began = self.now()
        give(*values)
        self._was_quick("an order", began)

    def _was_quick(self, what: str, began: Time) -> None:
        took = self.now() - began
        most = self._contract.quick + self._metronome.lateness(began)
        expect(took <= most, f"{what} took {took} us, and the loop waits")

    def rent(self, stay: Time) -> int:
        number = len(self.ordered) + 1
        until = self.now() + stay
        order = RentOrder(number, self._contract.offer, until, f"{self.mark}/{number}")
        self.ordered[number] = order
        self.order(self.renter.rent, [order])
        return number

    def machine(self, stay: Time) -> int:
        """A machine that is up."""
        number = self.rent(stay)
        self.until(lambda: number in self.up, "the machine did not come up")
        return number

    # --- looking ---------------------------------------------------------------------------------

    def until(self, holds: Callable[[], bool], complaint: str) -> None:
        last = self.now() + self._contract.longest_wait
        while not holds():
            expect(self.now() < last, complaint)
            self.look(min(last, self.now() + self._contract.stay // 4))

    def look(self, until: Time) -> None:
        """Poll when the renter wants it or wakes; at `until` look whether it forgot to."""
        due = self.renter.next_poll()
        end = until if due is None else min(until, due)
        self._woken.wait(max(0, end - self.now()) / SECOND)
        self._woken.clear()
        began = self.now()
        news = self.renter.poll()
        self._was_quick("a poll", began)
        for one in news:
            self._hear(one)

    def _hear(self, news: RenterNews) -> None:
        machine = news.machine
        expect(machine in self.ordered, f"nobody ordered this machine: {news}")
        expect(not self.is_over(machine), f"the machine was gone before: {news}")
        if isinstance(news, Up):
            expect(machine not in self.up, f"machine {machine} came up twice")
            self.up.add(machine)
        elif isinstance(news, Refused):
            expect(machine not in self.up, f"machine {machine} was up, and refused then")
            self.refused.add(machine)
        elif isinstance(news, Down):
            expect(news.at <= self.now(), f"it has not happened yet: {news}")
            self.down[machine] = news

    def is_over(self, machine: int) -> bool:
        return machine in self.refused or machine in self.down

    def is_decided(self, machine: int) -> bool:
        return machine in self.up or self.is_over(machine)
