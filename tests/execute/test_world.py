"""How a renter and a runner make one world, and what a resumed run does with what it finds."""

from __future__ import annotations

import pytest
from tests.rent.outliving import OutlivingRenter, Provider

from bursar.engine.loop import Engine
from bursar.engine.renter import Announced, Down, FoundMachine, Refused, RentOrder, Survey, Up
from bursar.engine.roles import Policy
from bursar.engine.runner import Ended, Gone, Joined
from bursar.execute.clock import RunClock
from bursar.execute.local import LocalRunner
from bursar.execute.marks import mark_of
from bursar.execute.world import RealWorld
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import repeated_bag
from bursar.policies.place.random import RandomPlacer
from bursar.policies.provision.fixed import Fixed
from bursar.policies.replicate.none import NoReplicas
from bursar.state import events as ev
from bursar.state.state import RunState
from bursar.testing import Auditor, Scene

SPOT = Offer("spot", Money.parse("0.01"), MINUTE)


class ScriptedRenter:
    """Tells what a test wants, and notes what it is asked."""

    def __init__(self, left):
        self.asked, self.news = [], []
        self.left = left

    def open(self, wake):
        self.wake = wake

    def lead(self, offer):
        return SECOND

    def rent(self, orders):
        self.asked.append(("rent", orders))

    def extend(self, machine, until):
        self.asked.append(("extend", machine, until))

    def release(self, machines):
        self.asked.append(("release", *machines))

    def survey(self):
        return self.left

    def poll(self):
        news, self.news = self.news, []
        return news

    def next_poll(self):
        return None

    def close(self):
        self.asked.append("close")


class ScriptedRunner:
    ahead, stalled = 3, frozenset({7})

    def __init__(self):
        self.asked, self.news = [], []

    def poll(self, until):
        news, self.news = self.news, []
        return news

    def flush(self):
        pass

    def wake(self):
        self.asked.append("wake")

    def close(self):
        self.asked.append("close")

    def __getattr__(self, name):
        return lambda *arguments: self.asked.append((name, *arguments))


class Stand:
    """A world of a scripted renter and runner."""

    def __init__(self, scene=None, left=None, clock=None):
        self.scene = scene or Scene(SPOT, tasks=repeated_bag(("true",), 3), run="r")
        self.renter, self.runner = ScriptedRenter(left or Survey(())), ScriptedRunner()
        clock = clock or RunClock(self.scene.state.now, None)
        self.world = RealWorld(self.scene.state, self.renter, self.runner, clock, "r@1@here")

    def do(self, decision):
        self.scene.tell(decision)
        self.world.perform([decision])

    def rent(self):
        self.do(ev.MachineRented(self.scene.state.now, 1, "spot", HOUR))

    def up(self):
        self.rent()
        self.tell(renter=[Up(1)], runner=[Joined(1)])

    def tell(self, renter=(), runner=()):
        """What the world makes of this news."""
        self.renter.news += renter
        self.runner.news += runner
        happened = self.world.wait(self.world.now())
        for event in happened:
            self.scene.tell(event)
        return happened


def test_a_machine_is_rented_with_its_lease_and_a_token_of_the_run():
    stand = Stand()
    stand.rent()
    order = RentOrder(1, SPOT, HOUR, "r@1@here/1")
    assert stand.renter.asked == [("rent", [order])]
    assert stand.runner.asked == [("join", 1, SPOT, HOUR)]


@pytest.mark.parametrize("first", ["renter", "runner"])
def test_a_machine_is_up_when_it_has_booted_and_joined(first):
    stand = Stand()
    stand.rent()
    news = {"renter": [Up(1)], "runner": [Joined(1)]}
    assert stand.tell(**{first: news.pop(first)}) == []
    (up,) = stand.tell(**news)
    assert isinstance(up, ev.MachineUp)


def test_a_machine_that_is_refused_never_joins():
    stand = Stand()
    stand.rent()
    (down,) = stand.tell(renter=[Refused(1, "none left")])
    assert (down.cause, down.why) == ("refused", "none left")
    assert ("leave", 1, "refused") in stand.runner.asked
    assert stand.tell(runner=[Gone(1, "refused", 0)]) == []


def test_a_machine_that_is_released_is_down_when_both_say_so():
    stand = Stand()
    stand.up()
    stand.do(ev.ReleaseOrdered(stand.scene.state.now, 1))
    assert stand.renter.asked[-1] == ("release", 1)
    assert stand.runner.asked[-1] == ("leave", 1, "released")
    assert stand.tell(renter=[Down(1, "released", 1)]) == []
    (down,) = stand.tell(runner=[Gone(1, "released", 2)])
    assert (down.cause, down.ended) == ("released", 2), "it cost money until the later time"


def test_what_runs_on_a_machine_that_is_taken_away_is_ended_before_that_is_reported():
    stand = Stand()
    stand.up()
    (announced,) = stand.tell(renter=[Announced(1, MINUTE)])
    assert announced.gone == MINUTE
    assert stand.tell(renter=[Down(1, "lost", 1, "outbid")]) == []
    assert stand.runner.asked[-1] == ("leave", 1, "lost")
    (down,) = stand.tell(runner=[Gone(1, "lost", 1)])
    assert (down.cause, down.why) == ("lost", "outbid")


def test_a_machine_that_the_runner_has_lost_is_given_back_and_paid_until_then():
    stand = Stand()
    stand.up()
    assert stand.tell(runner=[Gone(1, "lost", 1, "it fell silent")]) == []
    assert stand.renter.asked[-1] == ("release", 1)
    (down,) = stand.tell(renter=[Down(1, "released", 5)])
    assert (down.cause, down.ended, down.why) == ("lost", 5, "it fell silent")


def test_a_lease_is_reported_to_both_and_bounds_what_is_charged():
    stand = Stand()
    stand.up()
    stand.do(ev.LeaseExtended(stand.scene.state.now, 1, 2 * HOUR))
    assert stand.renter.asked[-1] == ("extend", 1, 2 * HOUR)
    assert stand.runner.asked[-1] == ("lease", 1, 2 * HOUR)


def test_attempts_are_the_runners_and_end_as_it_says():
    stand = Stand()
    stand.up()
    stand.do(ev.AttemptStarted(stand.scene.state.now, 1, 1, 1))
    assert stand.runner.asked[-1] == ("start", 1, 1, 1, ("true",))
    (ended,) = stand.tell(runner=[Ended(1, "failed", 3, 2, 4, 5, "no")])
    assert ended == ev.AttemptEnded(ended.at, 1, "failed", 3, 2, 4, 5, "no")
    stand.world.settle(1, 1, "failure")
    assert stand.runner.asked[-1] == ("settle", 1, 1, "failure")
    assert (stand.world.ahead, stand.world.stalled) == (3, {7})


def test_each_offer_has_the_lead_of_its_renter_and_what_this_process_is_late():
    stand = Stand()
    assert stand.world.lead(SPOT) == SECOND


def test_the_world_closes_both_once_the_renter_first():
    stand = Stand()
    stand.renter.wake()
    assert stand.runner.asked == ["wake"]
    stand.world.close()
    stand.world.close()
    assert stand.renter.asked == ["close"]
    assert stand.runner.asked == ["wake", "close"]


# --- a run that goes on --------------------------------------------------------------------------


@pytest.fixture
def crashed():
    """Three machines: one works, one is being released, one was up; then nobody executed it."""
    scene = Scene(SPOT, tasks=repeated_bag(("true",), 3), run="r")
    busy, leaving, idle = scene.machine(), scene.machine(), scene.machine()
    scene.start(1, busy)
    scene.release(leaving)
    scene.pass_time(SECOND)
    scene.tell(ev.RunResumed(scene.at))
    assert (busy, leaving, idle) == (1, 2, 3)
    return scene


def take_over(scene, *found, clock=None, **doubts):
    left = Survey([FoundMachine(number, True) for number in found], **doubts)
    stand = Stand(scene, left, clock)
    for event in stand.world.take_over():
        scene.tell(event)
    return stand


def test_machines_that_are_not_found_are_lost_and_charged_to_now(crashed):
    stand = take_over(crashed)
    assert not crashed.state.machines
    downs = [event for event in crashed.events if isinstance(event, ev.MachineDown)]
    why = "gone before the run was resumed"
    assert [(down.machine, down.cause, down.why) for down in downs] == [
        (1, "lost", why),
        (2, "released", why),  # as ordered
        (3, "lost", why),
    ]
    assert all(SECOND <= down.ended <= down.at for down in downs)
    assert stand.renter.asked == []


def test_machines_that_could_not_be_asked_for_are_charged_to_the_ends_of_their_leases(crashed):
    """They may live there: what their leases still pay for is not given back."""
    before = crashed.state.ledger.committed
    take_over(crashed, 3, unasked={"spot": "ada, grace"})
    assert list(crashed.state.machines) == [3]
    downs = [event for event in crashed.events if isinstance(event, ev.MachineDown)]
    why = "it may run on: ada, grace could not be reached when the run was resumed"
    assert [(down.machine, down.ended, down.why) for down in downs] == [
        (1, HOUR, why),
        (2, HOUR, why),
    ]
    assert crashed.state.ledger.committed == before


def test_where_another_offer_could_not_be_asked_what_is_not_found_is_gone(crashed):
    before = crashed.state.ledger.committed
    take_over(crashed, unasked={"another": "ada"})
    assert crashed.state.ledger.committed < before
    downs = [event for event in crashed.events if isinstance(event, ev.MachineDown)]
    assert all(down.ended < MINUTE for down in downs)


def test_a_machine_that_may_come_up_yet_is_charged_to_the_end_of_its_lease(crashed):
    """It was being started: one that had been up, and is not found, is gone."""
    crashed.tell(ev.MachineRented(crashed.at, 4, "spot", HOUR))
    take_over(crashed, may_start=True)
    downs = [event for event in crashed.events if isinstance(event, ev.MachineDown)]
    ends = {down.machine: down.ended for down in downs}
    assert ends.pop(4) == HOUR
    assert all(ended < MINUTE for ended in ends.values())
    assert "it was being started" in downs[-1].why


def test_a_machine_that_lives_is_adopted_with_its_lease_and_charge(crashed):
    before = crashed.state.ledger.amount_of(1)
    stand = take_over(crashed, 1)
    (machine,) = crashed.state.machines.values()
    assert (machine.id, machine.until, machine.up) == (1, HOUR, None)
    assert crashed.state.ledger.amount_of(1) == before
    assert 1 in crashed.state.ready, "nobody knows that its attempt still runs"
    assert stand.renter.asked == [("extend", 1, HOUR)]
    assert stand.runner.asked == [("join", 1, SPOT, HOUR)]
    (up,) = stand.tell(runner=[Joined(1)])
    assert isinstance(up, ev.MachineUp)
    assert 1 in crashed.state.idle


def test_an_adopted_machine_that_still_boots_is_up_when_the_renter_says_so(crashed):
    stand = Stand(crashed, Survey([FoundMachine(3, False)]))
    for event in stand.world.take_over():
        crashed.tell(event)
    assert stand.tell(runner=[Joined(3)]) == []
    (up,) = stand.tell(renter=[Up(3)])
    assert up.machine == 3


def test_a_machine_that_was_to_go_and_one_that_nobody_knows_are_ended(crashed):
    stand = take_over(crashed, 2, 9)
    assert stand.renter.asked == [("release", 2, 9)]
    assert not crashed.state.machines
    down = next(e for e in crashed.events if isinstance(e, ev.MachineDown) and e.machine == 2)
    assert down.ended == HOUR, "it lives, so that it may cost all that was paid for it"
    assert down.cause == "released", "nobody took it away"


def test_a_machine_whose_lease_is_about_to_end_is_not_kept():
    scene = Scene(SPOT, run="r")
    scene.machine(stay=SECOND)
    scene.tell(ev.RunResumed(scene.at))
    stand = take_over(scene, 1)
    assert stand.renter.asked == [("release", 1)]
    assert not scene.state.machines


def test_nothing_is_adopted_by_a_clock_that_was_set_back(crashed):
    clock = RunClock(crashed.at, (0, ev.Clocks(4e9, "", 0)))
    assert clock.is_doubtful
    stand = take_over(crashed, 1, clock=clock)
    assert stand.renter.asked == [("release", 1)]
    assert all(event.ended == HOUR for event in crashed.events if isinstance(event, ev.MachineDown))


def test_a_run_goes_on_with_the_machines_of_a_process_that_crashed(tmp_path):
    """Its first process vanishes without a word; the second rents nothing."""
    offer = Offer("cloud", Money.parse("0.01"), MINUTE, limit=2)
    scene = Scene(offer, tasks=repeated_bag(("true",), 20), budget="1", run="outliving")
    provider, clock = Provider(), RunClock(0, None)

    first = _world(scene.state, provider, clock, tmp_path / "first")
    journal = Journal(scene.events)
    engine = Engine(scene.state, _policy(), first, journal)
    engine.step(())
    engine.step(first.wait(engine.next_look()))
    first._runner.close()  # what a crash leaves: the machines, and nothing that runs

    state, auditor = RunState(), Auditor()
    for event in journal.events:
        state.apply(event)
        auditor.saw(event, state)
    second = _world(state, provider, clock, tmp_path / "second")
    again = Engine(state, _policy(), second, observers=[auditor])
    again.record(ev.RunResumed(second.now()))
    for event in second.take_over():
        again.record(event)
    state.check()
    assert [machine.up for machine in state.machines.values()] == [None, None]
    assert again.run().status == "done"
    assert provider.made == state.machines_rented == 2, "no machine was rented again"
    assert not provider.instances, "machines were left behind"


class Journal:
    def __init__(self, events):
        self.events = list(events)

    def append(self, event):
        self.events.append(event)

    def commit(self, *, safely):
        pass


def _policy():
    return Policy(Fixed({"cloud": 2}), RandomPlacer(), NoReplicas())


def _world(state, provider, clock, outputs):
    mark = mark_of(state)
    renter = OutlivingRenter(provider, mark, clock.now)
    runner = LocalRunner(state.run, outputs, clock, mark)
    return RealWorld(state, renter, runner, clock, mark)
