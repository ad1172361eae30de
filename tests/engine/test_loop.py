from __future__ import annotations

import pytest
from tests.engine.stage import SMALL, Fates, Idle, Stage, Twice, Two

from bursar.engine.guard import MOST_RECORDED
from bursar.engine.roles import Placer
from bursar.model.errors import InvariantError
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag, Work
from bursar.policies.provision.fixed import Fixed
from bursar.state import actions as act
from bursar.state import events as ev

# --- running to the end --------------------------------------------------------------------------


def test_a_run_that_can_be_paid_is_done():
    slow = Fates(dict.fromkeys(range(1, 13), (10 * MINUTE, "success")))
    stage = Stage(tasks=12, budget="0.20", fates=slow)
    assert stage.run() == ev.RunEnded(HOUR, "done")
    assert stage.state.ledger.committed == Money.parse("0.20")
    assert stage.state.last_settled == HOUR


@pytest.mark.parametrize("budget", ["0.19", "0.10"])
def test_a_run_that_cannot_be_paid_stops_by_budget_and_keeps_what_is_done(budget):
    slow = Fates(dict.fromkeys(range(1, 13), (10 * MINUTE, "success")))
    stage = Stage(tasks=12, budget=budget, fates=slow)
    left = Money.parse(budget) - Money.parse("0.10")
    why = f"6 tasks left, and ${left} buys no machine of any offer"
    assert stage.run() == ev.RunEnded(HOUR, "budget", why)
    assert stage.state.done == 6


def test_a_fleet_that_cannot_be_paid_ends_by_budget_though_other_machines_could_be():
    cheap = Offer("cheap", Money.parse("0.01"))
    stage = Stage(SMALL, cheap, budget="0.15", provisioner=Fixed({"small": 1}), tasks=61)
    ended = stage.run()
    assert ended.status == "budget"
    assert ended.why == "1 task left, and $0.05 buys no machine of the fleet"
    assert stage.state.done == 60


def test_a_machine_that_was_asked_for_and_cannot_be_paid_ends_a_run_by_budget():
    fine, hourly = Offer("fine", Money.parse("1"), SECOND), Offer("hourly", Money.parse("1"))
    stage = Stage(fine, hourly, budget="50", provisioner=Fixed({"fine": 1}), lead=90 * SECOND)
    why = "1 task left, and $50.00 does not pay for what the policy wants"
    assert stage.run() == ev.RunEnded(0, "budget", why)


def test_tasks_that_fail_for_good_make_a_failed_run():
    stage = Stage(tasks=2, fates=Fates({1: (MINUTE, "failed")}))
    assert stage.run().status == "failed"
    assert (stage.state.done, stage.state.failed) == (1, 1)


def test_a_run_without_work_ends_at_once():
    assert Stage(tasks=0).run() == ev.RunEnded(0, "done")


def test_a_policy_that_rents_nothing_ends_with_a_reason():
    ended = Stage(tasks=3, provisioner=Idle()).run()
    assert ended == ev.RunEnded(0, "failed", "3 tasks left, but the policy wants no machine")


def test_work_that_arrives_later_is_done_too():
    later = [ev.WorkArrived(3 * HOUR, Work(Bag(2))), ev.ArrivalsEnded(5 * HOUR)]
    stage = Stage(tasks=1, arrivals_end=False, outside=later)
    assert stage.run() == ev.RunEnded(5 * HOUR, "done")
    assert stage.state.done == 3
    assert stage.state.last_settled == 3 * HOUR + MINUTE


def test_what_a_lost_machine_ran_runs_again_elsewhere():
    fates = Fates({1: (2 * MINUTE, "success")}, lives={1: MINUTE})
    stage = Stage(Offer("small", Money.parse("0.10"), limit=1), fates=fates)
    assert stage.run().status == "done"
    assert [e.task for e in stage.events(ev.AttemptStarted)] == [1, 1]
    assert stage.state.ledger.committed == Money.parse("0.20")


def test_a_world_with_nothing_more_to_tell_is_not_asked_for_ever():
    stage = Stage(tasks=0, arrivals_end=False)
    with pytest.raises(InvariantError, match="nothing more can happen"):
        stage.run()
    assert stage.reported[-1] == ("close", None)


# --- the roles -----------------------------------------------------------------------------------


class Asked(Idle):
    """Notes who is asked what, and asks for one machine and one attempt."""

    roles = ("provision", "place", "replicate")

    def __init__(self):
        self.asked = []

    def provision(self, view, now, rng):
        self.asked.append(("provision", now, len(view.machines)))
        return [] if view.machines else [act.Rent("small")]

    def place(self, view, now, rng):
        self.asked.append(("place", now, len(view.ready)))
        return [act.Start(view.ready[0], view.idle[0])]

    def replicate(self, view, now, rng):
        self.asked.append(("replicate", now, len(view.attempts)))
        return []


def test_the_roles_are_asked_in_turn_and_each_sees_what_the_one_before_achieved():
    policy = Asked()
    machine = Offer("small", Money.parse("0.10"), slots=2, boot=SECOND)
    stage = Stage(machine, tasks=1, provisioner=policy, placer=policy, replicator=policy)
    stage.run()
    assert policy.asked == [
        ("provision", 0, 0),  # nothing is idle yet
        ("provision", SECOND, 1),
        ("place", SECOND, 1),
        ("replicate", SECOND, 1),  # all is placed, and a slot is free
    ]


def test_replicas_wait_until_everything_ready_is_placed():
    class Hesitant(Asked):
        def place(self, view, now, rng):
            super().place(view, now, rng)
            return [act.Start(view.ready[0], view.idle[0])] if not view.attempts else []

    policy = Hesitant()
    machine = Offer("small", Money.parse("0.10"), slots=2)
    Stage(machine, tasks=2, provisioner=policy, placer=policy, replicator=policy).run()
    times = {role: [at for asked, at, _ in policy.asked if asked == role] for role in policy.roles}
    assert times["place"] == [0, MINUTE]
    assert times["replicate"] == [MINUTE], "the second task is placed then"


def test_what_a_role_asks_for_it_asked_for_before_any_of_it_was_done():
    class Lazy(Idle):
        def place(self, view, now, rng):
            for machine in view.idle:
                yield act.Start(view.ready[0], machine)

    stage = Stage(tasks=2, placer=Lazy())
    stage.engine.step(())
    stage.engine.step(stage.world.wait(None))
    started = stage.events(ev.AttemptStarted)
    assert [e.machine for e in started] == [1, 2]
    assert len({e.task for e in started}) == 1


def test_the_first_success_wins_and_its_rivals_are_cancelled():
    fates = Fates({1: (HOUR, "success"), 2: (MINUTE, "success")})
    stage = Stage(tasks=1, fates=fates, provisioner=Two(), replicator=Twice())
    assert stage.run() == ev.RunEnded(MINUTE, "done")
    (cancel,) = stage.performed(ev.CancelOrdered)
    assert cancel == ev.CancelOrdered(MINUTE, 1, "attempt 2 finished first")
    assert stage.state.winners[1] == 2
    assert stage.fates() == [(1, 2, "keep"), (1, 1, "drop")]


def test_of_two_successes_in_the_same_instant_the_first_reported_wins():
    stage = Stage(tasks=1, provisioner=Two(), replicator=Twice())
    assert stage.run() == ev.RunEnded(MINUTE, "done")
    assert stage.state.winners[1] == 1
    assert stage.fates() == [(1, 1, "keep"), (1, 2, "drop")]


def test_an_attempt_that_measures_is_not_cancelled_by_a_success():
    class Measure(Twice):
        def replicate(self, view, now, rng):
            return [
                act.Start(start.task, start.machine, measure=True)
                for start in super().replicate(view, now, rng)
            ]

    fates = Fates({2: (3 * MINUTE, "success")})
    later = [ev.ArrivalsEnded(5 * MINUTE)]
    stage = Stage(
        provisioner=Two(),
        replicator=Measure(),
        arrivals_end=False,
        outside=later,
        fates=fates,
    )
    stage.run()
    assert stage.performed(ev.CancelOrdered) == []
    assert stage.state.log.runtime[2] == 3 * MINUTE
    assert (1, 1, "keep") in stage.fates()
    assert (1, 2, "drop") in stage.fates()


def test_the_output_of_a_failure_is_kept_only_when_the_task_failed_for_good():
    fates = Fates({1: (MINUTE, "failed"), 2: (MINUTE, "timeout")})
    stage = Stage(tasks=1, retries=1, fates=fates)
    assert stage.run().status == "failed"
    assert stage.fates() == [(1, 1, "drop"), (1, 2, "failure")]


def test_the_output_of_an_attempt_that_only_measures_is_dropped_even_if_the_task_failed():
    class Measures(Idle):
        def place(self, view, now, rng):
            todo = [act.Start(1, 1), act.Start(1, 1, measure=True), act.Start(2, 1)]
            return todo[view.failed + view.done + (now > MINUTE) :][:1]

    fates = Fates({1: (MINUTE, "failed"), 2: (MINUTE, "failed")})
    offer = Offer("small", Money.parse("0.10"), limit=1)
    stage = Stage(offer, tasks=2, fates=fates, placer=Measures())
    stage.run()
    assert stage.fates() == [(1, 1, "failure"), (1, 2, "drop"), (2, 3, "keep")]


def test_late_news_of_what_is_gone_is_dropped():
    stage = Stage(tasks=1)
    stage.engine.step(())
    before = len(stage.events())
    stage.engine.step([ev.AttemptEnded(0, 7, "success"), ev.MachineDown(0, 9, "lost")])
    assert len(stage.events()) == before


# --- stopping ------------------------------------------------------------------------------------


def test_a_gentle_stop_lets_attempts_finish_and_starts_nothing_more():
    stop = ev.StopRequested(30 * SECOND, "interrupted", "Ctrl-C")
    stage = Stage(tasks=5, outside=[stop])
    assert stage.run() == ev.RunEnded(MINUTE, "interrupted", "Ctrl-C")
    assert stage.state.done == len(stage.state.log) == 2


def test_an_immediate_stop_releases_everything_at_once():
    stop = ev.StopRequested(30 * SECOND, "interrupted", "Ctrl-C", now=True)
    stage = Stage(tasks=5, outside=[stop])
    assert stage.run() == ev.RunEnded(30 * SECOND, "interrupted", "Ctrl-C")
    assert stage.state.done == 0
    assert len(stage.state.ready) == 5


def test_a_second_stop_ends_what_the_first_let_go_on():
    first = ev.StopRequested(20 * SECOND, "interrupted", "Ctrl-C")
    second = ev.StopRequested(30 * SECOND, "interrupted", "Ctrl-C twice", now=True)
    ended = Stage(tasks=5, outside=[first, second]).run()
    assert ended == ev.RunEnded(30 * SECOND, "interrupted", "Ctrl-C twice")


def test_a_stop_that_lets_the_last_task_finish_is_a_run_that_is_done():
    stop = ev.StopRequested(30 * SECOND, "interrupted", "Ctrl-C")
    assert Stage(tasks=2, outside=[stop]).run() == ev.RunEnded(MINUTE, "done")


def test_while_a_run_stops_only_machines_at_work_are_kept():
    offer = Offer("second", Money.parse("0.01"), SECOND, limit=2)
    fates = Fates({1: (HOUR, "success"), 2: (10 * SECOND, "success")})
    stop = ev.StopRequested(SECOND, "interrupted", "Ctrl-C")
    stage = Stage(offer, tasks=3, budget="100", fates=fates, outside=[stop])
    ended = stage.run()
    assert (ended.at, ended.status) == (HOUR, "interrupted")
    idle, busy = stage.events(ev.ReleaseOrdered)
    assert {idle.reason, busy.reason} == {"the run is stopping"}
    assert (idle.at < 11 * MINUTE, busy.at) == (True, HOUR)


def test_a_policy_may_stop_a_run_and_says_so_once():
    class Quits(Fixed):
        def provision(self, view, now, rng):
            yield from super().provision(view, now, rng)
            if now:
                yield act.Stop("no plan is good enough", "planned")

    machine = Offer("small", Money.parse("0.10"), slots=3)
    fates = Fates({number: (number * MINUTE, "success") for number in (1, 2, 3)})
    stage = Stage(machine, tasks=5, fates=fates, provisioner=Quits({"small": 1}))
    ended = stage.run()
    assert stage.state.done == 3, "what ran was allowed to finish"
    assert (ended.status, ended.why) == ("planned", "no plan is good enough")
    assert len(stage.events(ev.StopRequested)) == 1


def test_a_list_that_a_policy_changes_while_it_is_carried_out_is_carried_out_whole():
    class Remembers(Fixed):
        """Keeps what it asked for until it happened."""

        def __init__(self):
            super().__init__({"small": 2})
            self.open = [act.Rent("small", reason="one"), act.Rent("small", reason="another")]

        def provision(self, view, now, rng):
            return self.open

        def saw(self, event, view):
            if isinstance(event, ev.MachineRented):
                self.open.pop(0)

    slow = Offer("small", Money.parse("0.10"), boot=SECOND, limit=2)
    stage = Stage(slow, tasks=2, provisioner=Remembers())
    stage.run()
    assert [event.at for event in stage.events(ev.MachineRented)] == [0, 0]


def test_at_the_deadline_everything_stops():
    stage = Stage(tasks=5, deadline=90 * SECOND)
    assert stage.run() == ev.RunEnded(90 * SECOND, "deadline", "the deadline has passed")
    assert stage.state.done == 2


def test_what_is_done_by_the_deadline_is_done():
    assert Stage(tasks=2, deadline=MINUTE).run() == ev.RunEnded(MINUTE, "done")


# --- refusals ------------------------------------------------------------------------------------


class Ahead(Idle):
    """A placer that names tasks ahead, whatever the guard says."""

    def __init__(self, task=None):
        self.task, self.picked = task, 0

    def place(self, view, now, rng):
        return [act.Start(view.ready[0], machine) for machine in view.idle][:1]

    def next_task(self, view, rng):
        self.picked += 1
        assert self.picked < 1_000, "it is asked without end"
        return view.ready[0] if self.task is None else self.task


def test_a_stop_is_not_held_up_by_tasks_that_would_be_started_ahead():
    stop = ev.StopRequested(SECOND, "interrupted", "Ctrl-C")
    placer = Ahead()
    stage = Stage(tasks=30_000, placer=placer, outside=[stop], ahead=2)
    assert stage.run().status == "interrupted"
    assert stage.events(ev.ActionRefused) == []


@pytest.mark.parametrize("task", [0, 1, 10**9, True, "1"])
def test_a_start_ahead_that_is_refused_for_whatever_reason_is_not_asked_for_again(task):
    """Task 1 is done by then."""
    stop = ev.StopRequested(3 * MINUTE, "interrupted", "Ctrl-C")
    placer = Ahead(task)
    stage = Stage(tasks=200, placer=placer, outside=[stop], ahead=2)
    assert stage.run().status == "interrupted"
    assert placer.picked < 50
    assert len(stage.events(ev.ActionRefused)) < 10


def test_a_policy_cannot_fill_a_journal_with_refusals():
    class Pesters(Fixed, Placer):
        def place(self, view, now, rng):
            return [act.Start(task, 99) for task in view.ready]

    entry = Pesters({"small": 1})
    stop = ev.StopRequested(HOUR, "interrupted", "Ctrl-C")
    stage = Stage(tasks=5_000, provisioner=entry, placer=entry, outside=[stop])
    stage.run()
    assert len(stage.events(ev.ActionRefused)) == MOST_RECORDED
