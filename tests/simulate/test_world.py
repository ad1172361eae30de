from __future__ import annotations

import pytest

from bursar.model.market import Offer
from bursar.model.money import ZERO
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.simulate.world import SimulatedWorld
from bursar.state import events as ev
from bursar.testing import Scene

OFFER = Offer("small", ZERO, boot=5 * SECOND, slots=2)


class Known:
    """A behaviour that a test can look up: task `n` takes `n` minutes."""

    def __init__(self, boot=5 * SECOND, life=None, outcome="success", notice=0, silent=()):
        self.boot = lambda machine: boot
        self.life = lambda machine: life
        self.notice = lambda machine: notice
        self._outcome = outcome
        self._silent = silent

    def attempt(self, task, attempt, machine, now):
        return None if task in self._silent else task * MINUTE, self._outcome


class Play:
    """A scene in a simulated world: decisions are told and performed, events told as they come."""

    def __init__(self, behaviour=None, tasks=3, timeout=None):
        self.scene = Scene(OFFER, tasks=tasks, timeout=timeout)
        self.world = SimulatedWorld(self.scene.state, behaviour or Known())

    def do(self, *decisions):
        for decision in decisions:
            self.scene.tell(decision)
        self.world.perform(decisions)

    def rent(self, stay=HOUR):
        number = self.scene.state.machines_rented + 1
        self.do(ev.MachineRented(self.world.now(), number, "small", self.world.now() + stay))
        return number

    def start(self, task, machine):
        attempt = len(self.scene.state.log) + 1
        self.do(ev.AttemptStarted(self.world.now(), attempt, task, machine))
        return attempt

    def wait(self, until=None):
        happened = list(self.world.wait(until))
        for event in happened:
            if self.scene.state.expects(event):
                self.scene.tell(event)
        return happened


@pytest.fixture
def play():
    return Play()


def test_a_machine_comes_up_when_it_has_booted(play):
    machine = play.rent()
    assert play.wait() == [ev.MachineUp(5 * SECOND, machine)]
    assert play.world.now() == 5 * SECOND


def test_a_machine_that_never_comes_up_is_reported_at_once():
    play = Play(Known(boot=None))
    machine = play.rent()
    assert play.wait() == [ev.MachineDown(0, machine, "refused", why="it never came up")]


def test_a_machine_is_lost_when_its_life_is_over():
    play = Play(Known(life=MINUTE))
    machine = play.rent()
    play.wait()
    assert play.wait() == [ev.MachineDown(MINUTE, machine, "lost")]


@pytest.mark.parametrize("outcome", ["success", "failed"])
def test_an_attempt_ends_as_foreseen(outcome):
    play = Play(Known(boot=0, outcome=outcome))
    machine = play.rent()
    play.wait()
    attempt = play.start(2, machine)
    assert play.wait() == [ev.AttemptEnded(2 * MINUTE, attempt, outcome, 2 * MINUTE)]


def test_the_clock_jumps_to_what_happens_next_or_to_where_it_is_reported(play):
    play.rent()
    assert play.wait(2 * SECOND) == []
    assert play.world.now() == 2 * SECOND
    assert len(play.wait(HOUR)) == 1
    assert play.world.now() == 5 * SECOND
    assert play.wait(5 * SECOND) == []
    assert play.world.now() == 5 * SECOND


def test_time_never_runs_back(play):
    play.wait(MINUTE)
    assert play.wait(SECOND) == []
    assert play.world.now() == MINUTE


def test_what_happens_at_the_same_time_comes_together_and_in_order(play):
    machines = [play.rent(), play.rent()]
    assert play.wait() == [ev.MachineUp(5 * SECOND, machine) for machine in machines]
    attempts = [play.start(1, machines[0]), play.start(1, machines[1])]
    assert [event.attempt for event in play.wait()] == attempts


def test_nothing_comes_where_nothing_is_under_way(play):
    assert play.wait() == []
    assert play.world.now() == 0


def test_what_comes_from_outside_happens_at_its_time(play):
    stop = ev.StopRequested(7, "interrupted", "enough")
    play.world.schedule(stop)
    assert play.wait() == [stop]
    assert play.world.now() == 7


def test_a_released_machine_goes_down_at_once_with_what_runs_on_it(play):
    machine = play.rent()
    play.wait()
    play.start(3, machine)
    play.wait(MINUTE)
    play.do(ev.ReleaseOrdered(MINUTE, machine))
    assert play.wait() == [ev.MachineDown(MINUTE, machine, "released")]
    assert list(play.scene.state.attempts) == []


def test_a_cancelled_attempt_ends_at_once(play):
    machine = play.rent()
    play.wait()
    attempt = play.start(3, machine)
    play.wait(MINUTE)
    play.do(ev.CancelOrdered(MINUTE, attempt))
    assert play.wait() == [ev.AttemptEnded(MINUTE, attempt, "cancelled", MINUTE - 5 * SECOND)]


def test_a_cancel_that_comes_too_late_is_ignored(play):
    machine = play.rent()
    play.wait()
    attempt = play.start(1, machine)
    play.scene.pass_time(play.world.now())
    play.scene.cancel(attempt)
    play.scene.end(attempt)
    play.world.perform([ev.CancelOrdered(play.world.now(), attempt)])
    assert play.world.wait(MINUTE) == []
    assert [type(event) for event in play.world.wait(None)] == [ev.MachineDown]


def test_nothing_happens_when_a_cancelled_attempt_would_have_ended(play):
    machine = play.rent()
    play.wait()
    attempt = play.start(3, machine)
    play.wait(MINUTE)
    play.do(ev.CancelOrdered(MINUTE, attempt))
    play.wait()
    assert [type(event) for event in play.wait()] == [ev.MachineDown]


def test_a_machine_may_stay_to_the_very_end_of_its_lease_and_no_longer(play):
    machine = play.rent(stay=MINUTE)
    play.wait()
    play.start(1, machine)  # ends five seconds after the lease
    assert play.wait(MINUTE) == []
    assert machine in play.scene.state.machines
    assert play.wait(MINUTE + 1) == [ev.MachineDown(MINUTE, machine, "expired", ended=MINUTE)]
    assert play.world.now() == MINUTE


def test_a_lease_that_ends_while_nothing_else_is_under_way_ends(play):
    machine = play.rent(stay=MINUTE)
    play.wait()
    assert play.wait() == [ev.MachineDown(MINUTE, machine, "expired", ended=MINUTE)]


def test_a_lease_that_is_extended_at_its_end_goes_on(play):
    machine = play.rent(stay=MINUTE)
    play.wait()
    attempt = play.start(1, machine)
    play.wait(MINUTE)
    play.do(ev.LeaseExtended(MINUTE, machine, 2 * MINUTE))
    (ended,) = play.wait()
    assert ended == ev.AttemptEnded(MINUTE + 5 * SECOND, attempt, "success", MINUTE)
    assert play.wait() == [ev.MachineDown(2 * MINUTE, machine, "expired", ended=2 * MINUTE)]


def test_an_attempt_whose_host_falls_silent_never_ends_by_itself():
    play = Play(Known(silent={1}))
    machine = play.rent()
    play.wait()
    attempt = play.start(1, machine)
    assert play.wait(59 * MINUTE) == []
    play.do(ev.CancelOrdered(59 * MINUTE, attempt))
    (ended,) = play.wait()
    assert (ended.attempt, ended.outcome) == (attempt, "cancelled")


def test_a_silent_attempt_ends_with_its_machine():
    play = Play(Known(silent={1}))
    machine = play.rent(stay=MINUTE)
    play.wait()
    play.start(1, machine)
    assert [type(event) for event in play.wait()] == [ev.MachineDown]
    assert 1 in play.scene.state.ready


@pytest.mark.parametrize("silent", [(), {3}])
def test_an_attempt_that_takes_longer_than_it_may_times_out(silent):
    play = Play(Known(silent=silent), timeout=2 * MINUTE)
    machine = play.rent()
    play.wait()
    attempt = play.start(3, machine)
    at, why = 5 * SECOND + 2 * MINUTE, "timed out after 2.0 min"
    assert play.wait() == [ev.AttemptEnded(at, attempt, "timeout", 2 * MINUTE, why=why)]


def test_an_attempt_that_takes_as_long_as_it_may_ends_as_foreseen():
    play = Play(timeout=2 * MINUTE)
    machine = play.rent()
    play.wait()
    attempt = play.start(2, machine)
    (ended,) = play.wait()
    assert ended == ev.AttemptEnded(5 * SECOND + 2 * MINUTE, attempt, "success", 2 * MINUTE)


def test_a_loss_is_announced_as_long_before_as_the_behaviour_says():
    play = Play(Known(life=10 * MINUTE, notice=2 * MINUTE))
    machine = play.rent()
    play.wait()
    assert play.wait() == [ev.LossAnnounced(8 * MINUTE, machine, 10 * MINUTE)]
    assert play.wait() == [ev.MachineDown(10 * MINUTE, machine, "lost")]


def test_a_loss_that_comes_too_soon_is_not_announced():
    play = Play(Known(life=MINUTE, notice=2 * MINUTE))
    machine = play.rent()
    play.wait()
    assert play.wait() == [ev.MachineDown(MINUTE, machine, "lost")]
