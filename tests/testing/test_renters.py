"""Every renter of bursar keeps the contract of renters; one that does not is found out."""

from __future__ import annotations

import time

import pytest
from tests.rent.outliving import OutlivingRenter, Provider

from bursar.engine.renter import FoundMachine, Survey
from bursar.model.market import Offer
from bursar.model.money import ZERO, Money
from bursar.model.time import HOUR, SECOND
from bursar.rent.emulated import EmulatedRenter, Saboteur
from bursar.testing import ContractBroken, RenterContract


class Emulated(RenterContract):
    renter = EmulatedRenter

    def make_renter(self, mark, now):
        return self.renter(now)


class TestEmulatedRenter(Emulated):
    pass


class TestEmulatedMachinesThatBoot(Emulated):
    offer = Offer("machine", ZERO, boot=SECOND // 5)


class TestEmulatedMachinesThatMayBeTakenAway(Emulated):
    offer = Offer("machine", Money.parse("0.01"), SECOND, pool="unreliable")
    is_reliable = False

    def make_renter(self, mark, now):
        return EmulatedRenter(now, Saboteur(HOUR, notice=SECOND))


class Outliving(RenterContract):
    outlives = True
    renter = OutlivingRenter

    def setup_method(self):
        self.provider = Provider()

    def make_renter(self, mark, now):
        return self.renter(self.provider, mark, now)


class TestRenterWhoseMachinesOutliveIt(Outliving):
    pass


# --- renters that break the contract -----------------------------------------------------------


class Deaf(EmulatedRenter):
    def rent(self, orders):
        pass


class Sluggish(EmulatedRenter):
    """It waits for the provider."""

    def rent(self, orders):
        time.sleep(1.5)
        super().rent(orders)


class Immortal(EmulatedRenter):
    """Leases mean nothing to it."""

    def _lease(self, machine, until):
        super()._lease(machine, until + HOUR)


class Forgetful(EmulatedRenter):
    """It tells of no release."""

    def release(self, machines):
        super().release(machines)
        self._news.clear()


class Doubled(EmulatedRenter):
    def poll(self):
        return [*super().poll()] * 2


class Slow(EmulatedRenter):
    """It says that releases are quicker than they are."""

    def lead(self, offer):
        return -1


class Boastful(EmulatedRenter):
    def survey(self):
        return Survey([FoundMachine(1, True)])


class Leaking(OutlivingRenter):
    def close(self):
        pass


class Blind(OutlivingRenter):
    """It finds the machines of anybody."""

    def survey(self):
        self._mark = next(iter(self._provider.instances), "/").rpartition("/")[0]
        return super().survey()


class Spendthrift(OutlivingRenter):
    """Every order gets a machine of its own."""

    def rent(self, orders):
        for order in orders:
            token = f"{order.token}#{self._provider.made}"
            super().rent([order._replace(token=token)])


@pytest.mark.parametrize(
    ("renter", "test", "complaint"),
    [
        (Deaf, "every_machine_that_is_ordered_comes_up_or_is_refused", "neither came up"),
        (Sluggish, "every_machine_that_is_ordered_comes_up_or_is_refused", "the loop waits"),
        (Doubled, "every_machine_that_is_ordered_comes_up_or_is_refused", "twice"),
        (Immortal, "no_machine_outlives_its_lease", "stays without a lease"),
        (Forgetful, "a_machine_that_is_released_goes_down_within", "did not go down"),
        (Slow, "a_machine_that_is_released_goes_down_within", "the release took"),
        (Boastful, "a_resumed_run_finds_the_machines_that_live", "claims to have found"),
    ],
)
def test_a_renter_that_breaks_the_contract_is_found_out(renter, test, complaint):
    contract = Emulated()
    contract.renter, contract.longest_wait = renter, 2 * SECOND
    _expect_complaint(contract, test, complaint)


@pytest.mark.parametrize(
    ("renter", "test", "complaint"),
    [
        (Leaking, "a_renter_that_is_closed_leaves_nothing_behind", "is left"),
        (Blind, "the_machines_of_another_run_are_not_found", "of another run"),
        (Spendthrift, "the_same_order_gets_the_same_machine", "there are"),
    ],
)
def test_a_renter_that_loses_sight_of_machines_is_found_out(renter, test, complaint):
    contract = Outliving()
    contract.setup_method()
    contract.renter = renter
    _expect_complaint(contract, test, complaint)


def _expect_complaint(contract, test, complaint):
    (name,) = (one for one in dir(contract) if one.startswith(f"test_{test}"))
    with pytest.raises(ContractBroken, match=complaint):
        getattr(contract, name)()
