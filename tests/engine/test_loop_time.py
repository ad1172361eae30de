"""The engine and time: leases, waking, and what is on record before anything is done."""

from __future__ import annotations

from itertools import pairwise

import pytest
from tests.engine.stage import Fates, Idle, Stage

from bursar.model.errors import PolicyError
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.policies.provision.fixed import Fixed
from bursar.state import actions as act
from bursar.state import events as ev

# --- leases --------------------------------------------------------------------------------------


def test_a_lease_ends_or_goes_on_as_the_provisioner_says():
    class Reluctant(Fixed):
        def renew(self, machine, view, now):
            keep = now < 2 * HOUR
            return act.Extend(machine.id, "yes") if keep else act.Release(machine.id, reason="no")

    fates = Fates({1: (150 * MINUTE, "success")})
    offer = Offer("small", Money.parse("0.10"), limit=1)
    stage = Stage(offer, fates=fates, provisioner=Reluctant({"small": 1}))
    stage.run()
    assert [e.until for e in stage.events(ev.LeaseExtended)] == [2 * HOUR]
    assert stage.events(ev.ReleaseOrdered)[0] == ev.ReleaseOrdered(2 * HOUR, 1, "no")
    assert stage.state.log.task[2] == 1, "its task went back to the bag"


def test_a_machine_about_which_nonsense_is_said_ends_with_its_lease():
    class Confused(Fixed):
        def renew(self, machine, view, now):
            return act.Extend(machine.id + 7)

    fates = Fates({1: (2 * HOUR, "success")})
    stage = Stage(fates=fates, budget="0.10", provisioner=Confused({"small": 1}))
    ended = stage.run()
    assert (ended.at, ended.status) == (HOUR, "budget")
    assert stage.events(ev.ReleaseOrdered) == [ev.ReleaseOrdered(HOUR, 1, "its paid time ends")]


def test_a_machine_that_cannot_be_paid_any_longer_is_released_in_time():
    stage = Stage(tasks=1, fates=Fates({1: (2 * HOUR, "success")}), budget="0.15")
    ended = stage.run()
    assert (ended.at, ended.status) == (HOUR, "budget")
    (released,) = stage.events(ev.ReleaseOrdered)
    assert released.reason == "its next unit costs $0.10, $0.05 is left"


# --- waking --------------------------------------------------------------------------------------


def test_a_policy_is_asked_again_when_it_wants_to_be():
    class Patient(Fixed):
        def __init__(self):
            super().__init__({"small": 1})
            self.asked = []

        def provision(self, view, now, rng):
            self.asked.append(now)
            return [act.Wake(HOUR)] if now < HOUR else super().provision(view, now, rng)

    policy = Patient()
    stage = Stage(tasks=1, provisioner=policy)
    assert stage.run() == ev.RunEnded(HOUR + MINUTE, "done")
    assert policy.asked[:2] == [0, HOUR]


def test_a_time_that_has_come_wakes_nobody():
    class Restless(Fixed):
        def provision(self, view, now, rng):
            yield from super().provision(view, now, rng)
            yield act.Wake(now)
            yield act.Wake(now - 5)

    stage = Stage(tasks=1, provisioner=Restless({"small": 1}))
    assert stage.run() == ev.RunEnded(MINUTE, "done")
    assert {e.why for e in stage.events(ev.ActionRefused)} == {"that time has come already"}


class Slow(Fixed):
    """Takes time to answer when it is asked first, as where something is compiled."""

    def __init__(self, world_of, wake=None):
        super().__init__({"small": 1})
        self.world_of, self.wake, self.asked = world_of, wake, []

    def provision(self, view, now, rng):
        self.asked.append(now)
        if len(self.asked) == 1:
            self.world_of().thinks = 90 * MINUTE
            if self.wake is not None:
                return [act.Wake(self.wake)]
        return super().provision(view, now, rng)


class SlowStage(Stage):
    """A world whose clock goes on while an entry thinks."""

    def __init__(self, **options):
        super().__init__(**options)
        self.world.thinks = 0
        now = self.world.now
        self.world.now = lambda: max(now(), self.world.thinks)


def test_a_machine_is_paid_from_when_a_slow_policy_has_answered():
    stage = SlowStage(tasks=1, provisioner=Slow(lambda: stage.world))
    stage.engine.step(())
    (rented,) = stage.events(ev.MachineRented)
    assert (rented.at, rented.until) == (90 * MINUTE, 150 * MINUTE)


def test_a_time_that_came_while_a_policy_was_thinking_wakes_it_at_once():
    stage = SlowStage(tasks=1, provisioner=Slow(lambda: stage.world, wake=HOUR))
    stage.engine.step(())
    assert not stage.events(ev.ActionRefused)
    assert stage.engine.next_look() == 90 * MINUTE + 1


def test_a_run_whose_policy_waits_for_nothing_ends_when_its_money_buys_nothing():
    class Waits(Idle):
        def provision(self, view, now, rng):
            return [act.Wake(now + HOUR)]

    ended = Stage(tasks=1, budget="0.05", provisioner=Waits()).run()
    assert ended == ev.RunEnded(0, "budget", "1 task left, and $0.05 buys no machine of any offer")


def test_the_next_look_is_at_the_first_of_wakes_leases_and_deadline():
    class Wakes(Fixed):
        def provision(self, view, now, rng):
            yield from super().provision(view, now, rng)
            yield act.Wake(3 * HOUR)

    stage = Stage(tasks=1, deadline=2 * HOUR, provisioner=Wakes({"small": 1}))
    assert stage.engine.next_look() == 2 * HOUR
    stage.engine.step(())
    assert stage.engine.next_look() == HOUR
    stage.engine.record(ev.MachineDown(0, 1, "lost"))
    assert stage.engine.next_look() == 2 * HOUR
    stage.engine.record(ev.StopRequested(0, "interrupted", "Ctrl-C"))
    assert stage.engine.next_look() == 3 * HOUR


# --- recording -----------------------------------------------------------------------------------


def test_what_the_world_does_is_committed_before():
    stage = Stage(tasks=6, retries=1, fates=Fates({2: (MINUTE, "failed")}, lives={1: 150 * SECOND}))
    stage.run()
    pending, committed = [], []
    for kind, what in stage.reported:
        if kind == "append":
            pending.append(what)
        elif kind == "commit":
            committed += pending
            pending = []
        elif kind == "perform":
            assert what in committed
        elif kind == "settle":
            assert any(isinstance(e, ev.AttemptEnded) and e.attempt == what[1] for e in committed)
    assert pending == []
    assert isinstance(committed[-1], ev.RunEnded)
    assert stage.performed(ev.Event)


def test_results_are_in_place_before_anything_new_begins():
    stage = Stage(Offer("small", Money.parse("0.10"), limit=1), tasks=3)
    stage.run()
    acts = [kind for kind, _ in stage.reported if kind in ("settle", "perform")]
    # the machine, then three tasks, each settled before the next is begun, then the release
    assert acts == ["perform", "perform", *["settle", "perform"] * 3]


def test_money_moves_only_after_a_safe_commit_and_others_are_cheap():
    stage = Stage(tasks=4)
    stage.run()
    commits = [index for index, (kind, _) in enumerate(stage.reported) if kind == "commit"]
    kinds = set()
    for begin, end in pairwise([-1, *commits]):
        events = [e for kind, e in stage.reported[begin + 1 : end] if kind == "append"]
        moves_money = any(isinstance(e, ev.MONEY_EVENTS) for e in events)
        assert stage.reported[end][1] == moves_money
        kinds.add(moves_money)
    assert kinds == {True, False}


def test_observers_see_every_event_after_it_was_applied():
    seen = []

    class Observer:
        def saw(self, event, state):
            assert state.now == event.at
            seen.append((event, len(state.machines)))

    stage = Stage(observers=[Observer()])
    stage.run()
    assert [event for event, _ in seen] == stage.events()
    assert next(count for event, count in seen if isinstance(event, ev.MachineRented)) == 1


@pytest.mark.parametrize("role", ["provision", "place", "replicate", "renew"])
def test_machines_are_given_back_and_the_run_ends_when_an_entry_raises(role):
    def fail(*_):
        raise ZeroDivisionError("a bug in a policy")

    provisioner, other = Fixed({"small": 2}), Idle()
    target = provisioner if role in ("provision", "renew") else other
    setattr(target, role, fail)
    stage = Stage(
        Offer("small", Money.parse("0.10"), slots=2),
        tasks=1,
        fates=Fates({1: (2 * HOUR, "success")}),
        provisioner=provisioner,
        placer=other if role == "place" else None,
        replicator=other,
    )
    with pytest.raises(
        PolicyError, match="is faulty: ZeroDivisionError: a bug in a policy"
    ) as reported:
        stage.engine.run()
    assert isinstance(reported.value.__cause__, ZeroDivisionError)
    assert stage.reported[-1] == ("close", None)
    assert stage.state.ended.status == "failed"
    assert "ZeroDivisionError: a bug in a policy" in stage.state.ended.why
    assert not stage.state.machines


def test_nothing_is_done_that_could_not_be_written():
    stage = Stage(tasks=1)

    def fail(*, safely):
        raise OSError("the disk is full")

    stage.journal.commit = fail
    with pytest.raises(OSError, match="the disk is full"):
        stage.engine.run()
    assert stage.performed(ev.Event) == []
    assert stage.reported[-1] == ("close", None)
