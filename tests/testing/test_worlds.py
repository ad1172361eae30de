"""Every world of bursar keeps the contract of worlds; one that does not is found out."""

from __future__ import annotations

import time
from random import Random

import pytest
from tests.rent.outliving import OutlivingRenter, Provider

from bursar.execute.calls import Calls
from bursar.execute.clock import RunClock
from bursar.execute.local import LocalRunner
from bursar.execute.marks import mark_of
from bursar.execute.world import RealWorld
from bursar.model.time import HOUR, SECOND
from bursar.model.work import Bag, repeated_bag
from bursar.runs.worlds import local_world
from bursar.simulate.world import SimulatedWorld
from bursar.state import events as ev
from bursar.testing import ContractBroken, ErraticWorld, WorldContract


class Behaviour:
    """Tasks 5 and 6 are slow, task 7 fails."""

    def attempt(self, task, attempt, machine, now):
        return HOUR if task in (5, 6) else SECOND // 10, "failed" if task == 7 else "success"

    def boot(self, machine):
        return machine.offer.boot

    def life(self, machine):
        return None


class Simulated(WorldContract):
    world = SimulatedWorld

    def make_world(self, state):
        return self.world(state, Behaviour())

    def pass_unseen(self, duration):
        pass


class TestSimulatedWorld(Simulated):
    pass


@pytest.mark.parametrize("seed", range(20))
class TestErraticWorld(WorldContract):
    is_reliable = False
    longest_wait = 1000 * SECOND

    @pytest.fixture(autouse=True)
    def seeded(self, seed):
        self.seed = seed

    def make_world(self, state):
        rng = Random(self.seed)
        return ErraticWorld(state, Behaviour(), rng, jumpiness=0.3, lead=SECOND // 4)

    def pass_unseen(self, duration):
        pass


class TestLocalWorld(WorldContract):
    bags = (
        repeated_bag(("true",), 4),
        repeated_bag(("sleep", "60"), 2),
        repeated_bag(("false",), 1),
    )

    @pytest.fixture(autouse=True)
    def place(self, tmp_path):
        self.outputs = tmp_path / "out"

    def make_world(self, state):
        return local_world(state, self.outputs)


class TestLocalWorldOfCalls(TestLocalWorld):
    bags = (Bag(4), Bag(2), Bag(1))

    def make_world(self, state):
        calls = Calls()
        others = {5: (time.sleep, (60,)), 6: (time.sleep, (60,)), 7: (int, ("no number",))}
        for task in range(1, state.total + 1):
            calls.add(task, *others.get(task, (int, (1,))))
        return local_world(state, self.outputs, calls=calls, grace=SECOND // 2)


class TestWorldWhoseMachinesOutliveIt(TestLocalWorld):
    def make_world(self, state):
        clock, mark = RunClock(0, None), mark_of(state)
        renter = OutlivingRenter(Provider(), mark, clock.now)
        runner = LocalRunner(state.run, self.outputs, clock, mark)
        return RealWorld(state, renter, runner, clock, mark)


# --- worlds that break the contract ------------------------------------------------------------


class Deaf(SimulatedWorld):
    def perform(self, decisions):
        pass


class Immortal(SimulatedWorld):
    """Leases mean nothing to it."""

    def _rent(self, decision):
        super()._rent(decision)
        self._leases.clear()


class Backwards(SimulatedWorld):
    skew = 5

    def now(self):
        skew, self.skew = self.skew, 0
        return super().now() + skew


class Hasty(SimulatedWorld):
    def wait(self, until):
        return super().wait(None if until is None else until // 2)


class Stubborn(SimulatedWorld):
    def _cancel(self, decision):
        pass


class Fragile(SimulatedWorld):
    def _cancel(self, decision):
        self._state.attempts[decision.attempt]
        super()._cancel(decision)


class Invented(SimulatedWorld):
    def wait(self, until):
        return [*super().wait(until), ev.StopRequested(self._now, "done", "why not")]


@pytest.mark.parametrize(
    ("world", "test", "complaint"),
    [
        (Deaf, "every_machine_that_is_rented_comes_up_or_goes_down", "neither came up"),
        (Immortal, "no_machine_outlives_its_lease", "stays without a lease"),
        (Backwards, "waiting_ends_at_the_time_it_is_told", "time ran back"),
        (Hasty, "waiting_ends_at_the_time_it_is_told", "waiting ended too early"),
        (Stubborn, "an_attempt_that_is_cancelled_ends_and_its_machine_goes_on", "did not end"),
        (Invented, "nothing_comes_where_nothing_is_under_way", "something happened"),
    ],
)
def test_a_world_that_breaks_the_contract_is_found_out(world, test, complaint):
    contract = Simulated()
    contract.world = world
    with pytest.raises(ContractBroken, match=complaint):
        getattr(contract, f"test_{test}")()


def test_a_world_that_cannot_bear_late_orders_is_found_out():
    contract = Simulated()
    contract.world = Fragile
    with pytest.raises(KeyError):
        contract.test_an_order_to_cancel_what_has_just_ended_is_ignored()
