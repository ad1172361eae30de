"""What an unreliable machine never returns is given up, and what is only long is waited for."""

from __future__ import annotations

from random import Random

from bursar.model.goal import Goal
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE
from bursar.policies.pool_timeout import FIRST
from bursar.policies.provision.hedged import Hedged
from bursar.policies.replicate.silent import Silent
from bursar.state import events as ev
from bursar.state.actions import Cancel, Wake
from bursar.testing import Scene

SPOT = Offer("spot", Money.parse("0.06"), HOUR, pool="unreliable")
SURE = Offer("sure", Money.parse("0.20"), HOUR)


class Watched:
    def __init__(self):
        self.scene = Scene(SPOT, SURE, tasks=40, budget="9")
        hedged = Hedged(self.scene.state.market, Goal(budget=Money.parse("9")))
        self.entry, self.seen = Silent(hedged), 0
        self.hedged = hedged

    def asked(self):
        for event in self.scene.events[self.seen :]:
            for one in (self.hedged, self.entry):
                one.saw(event, self.scene.state)
        self.seen = len(self.scene.events)
        return list(self.entry.replicate(self.scene.state, self.scene.at, Random(0)))

    def results(self, count, time):
        machine = self.scene.machine("sure", 20 * HOUR)
        for task in range(1, count + 1):
            attempt = self.scene.start(task, machine)
            self.asked()
            self.scene.pass_time(time)
            self.scene.end(attempt)
            self.asked()


def cancelled(actions):
    return [action.attempt for action in actions if isinstance(action, Cancel)]


def test_before_anything_is_known_an_attempt_has_an_hour():
    watched = Watched()
    attempt = watched.scene.start(1, watched.scene.machine("spot", 9 * HOUR))
    assert Wake(FIRST) in watched.asked()
    watched.scene.pass_time(FIRST)
    assert cancelled(watched.asked()) == [attempt]


def test_with_results_an_attempt_has_four_times_their_mean():
    watched = Watched()
    watched.results(5, 10 * MINUTE)
    attempt = watched.scene.start(9, watched.scene.machine("spot", 9 * HOUR))
    watched.asked()
    watched.scene.pass_time(39 * MINUTE)
    assert cancelled(watched.asked()) == []
    watched.scene.pass_time(MINUTE)
    assert cancelled(watched.asked()) == [attempt]


def test_an_attempt_on_a_reliable_machine_is_never_given_up():
    watched = Watched()
    watched.results(5, MINUTE)
    watched.scene.start(9, watched.scene.machine("sure", 9 * HOUR))
    watched.asked()
    watched.scene.pass_time(8 * HOUR)
    assert cancelled(watched.asked()) == []


def test_a_task_that_was_given_up_once_has_twice_as_long():
    watched = Watched()
    watched.results(5, 10 * MINUTE)
    first = watched.scene.start(9, watched.scene.machine("spot", 9 * HOUR))
    watched.asked()
    watched.scene.pass_time(40 * MINUTE)
    assert cancelled(watched.asked()) == [first]
    watched.scene.cancel(first)
    watched.scene.end(first, "cancelled")
    second = watched.scene.start(9, watched.scene.machine("spot", 9 * HOUR))
    watched.asked()
    watched.scene.pass_time(79 * MINUTE)
    assert cancelled(watched.asked()) == []
    watched.scene.pass_time(MINUTE)
    assert cancelled(watched.asked()) == [second]


def test_a_task_that_only_proves_long_is_waited_for_where_silence_is_common_too():
    watched, waits = Watched(), []
    scene = watched.scene
    watched.results(5, 10 * MINUTE)
    for task in (6, 7, 8):  # nothing of them comes back
        scene.start(task, scene.machine("spot", 9 * HOUR))
    for _ in range(5):
        began, ended = scene.at, []
        scene.start(9, scene.machine("spot", 9 * HOUR))
        while not ended:
            watched.asked()
            scene.pass_time(MINUTE)
            ended = cancelled(watched.asked())
        waits.append(scene.at - began)
        for attempt in ended:
            scene.tell(ev.CancelOrdered(scene.at, attempt, give_up=True))
            scene.end(attempt, "cancelled")
    assert watched.hedged.is_silent
    assert waits == [40 * MINUTE, 40 * MINUTE, 80 * MINUTE, 80 * MINUTE, 160 * MINUTE]
