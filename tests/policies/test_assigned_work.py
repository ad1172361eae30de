"""The ready tasks of workflows: by offer, the most urgent first, and exactly those."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from bursar.model.assigned import Assigned
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO
from bursar.model.time import HOUR
from bursar.model.work import Bag, Work
from bursar.model.workflow import Workflow
from bursar.plan.workflow.urgency import urgency
from bursar.policies.assigned_work import AssignedWork
from bursar.state import events as ev
from bursar.state.state import RunState
from bursar.state.task_status import READY
from bursar.testing import Scene

WIDE = Offer("wide", ZERO, slots=50)
NARROW = Offer("narrow", ZERO)


def flow_of(parents, runtimes=None, priorities=None):
    count = len(parents)
    return Workflow(
        name="flow",
        names=tuple(f"t{task}" for task in range(count)),
        parents=tuple(map(tuple, parents)),
        kind_names=("any",),
        kinds=(0,) * count,
        runtimes=tuple(runtimes or (1.0,) * count),
        priorities=priorities,
    )


def plan(*offers, work=1):
    """The offer of each task of a work, by name."""
    names, fleet = ("wide", "narrow"), {"wide": 1, "narrow": 1}
    assigned = Assigned(names, tuple(names.index(offer) for offer in offers))
    return ev.PlanChosen(0, "plan", fleet, 0, 0, ZERO, ZERO, assigned=assigned, work=work)


class Watched(Scene):
    """A scene whose ready tasks are followed."""

    def __init__(self, flow, **conditions):
        self.work = AssignedWork()
        super().__init__(WIDE, NARROW, arrivals_open=True, **conditions)
        self.tell(ev.WorkArrived(0, Work(flow)))

    def tell(self, event):
        super().tell(event)
        self.work.saw(event, self.state)
        self.work.look(self.state)

    def taken(self, offer):
        found = []
        while (task := self.work.ready.take(offer)) is not None:
            found.append(task)
        return found


def test_the_longer_way_to_the_end_is_more_urgent():
    assert urgency(flow_of([[], [], [1]], [5.0, 1.0, 9.0])) == [2, 0, 1]
    assert urgency(flow_of([[], [], [1]], [50.0, 1.0, 9.0])) == [0, 1, 2]


def test_equals_begin_in_the_order_in_which_they_were_given():
    assert urgency(flow_of([[], [], []])) == [0, 1, 2]


def test_a_priority_comes_before_the_longest_way():
    assert urgency(flow_of([[], [], [1]], priorities=(7, 0, 7))) == [0, 2, 1]


def test_tasks_count_alike_where_a_time_is_not_known():
    assert urgency(flow_of([[], [], [1]], [99.0, None, None])) == [1, 0, 2]


def test_tasks_are_taken_by_offer_the_most_urgent_first():
    scene = Watched(flow_of([[], [], [], []], [1.0, 3.0, 2.0, 4.0]))
    scene.tell(plan("wide", "wide", "narrow", "wide"))
    assert sorted(scene.work.ready.groups()) == ["narrow", "wide"]
    assert scene.taken("wide") == [4, 2, 1]
    assert list(scene.work.ready.groups()) == ["narrow"]
    assert scene.taken("narrow") == [3]


def test_without_a_plan_every_task_is_for_any_machine():
    scene = Watched(flow_of([[], []], [1.0, 3.0]))
    assert scene.work.ready.count("wide") == 0
    assert scene.taken(None) == [2, 1]


def test_what_comes_after_the_plan_is_for_any_machine():
    scene = Watched(flow_of([[]]))
    scene.tell(plan("wide"))
    scene.tell(ev.WorkArrived(0, Work(Bag(2))))
    assert scene.taken(None) == [2, 3]
    assert scene.taken("wide") == [1]


def test_works_with_different_plans_are_kept_apart():
    scene = Watched(flow_of([[], []]))
    scene.tell(ev.WorkArrived(0, Work(Bag(1))))
    scene.tell(ev.WorkArrived(0, Work(flow_of([[], []]))))
    scene.tell(plan("wide", "narrow"))
    scene.tell(plan("narrow", "wide", work=3))
    assert sorted(scene.taken("wide")) == [1, 5]
    assert sorted(scene.taken("narrow")) == [2, 4]
    assert scene.taken(None) == [3]


def test_another_assignment_of_one_work_leaves_the_others_as_they_are():
    scene = Watched(flow_of([[]]))
    scene.tell(ev.WorkArrived(0, Work(flow_of([[]]))))
    for work in (1, 2):
        scene.tell(plan("wide", work=work))
    changed = Assigned(("narrow",), (0,))
    scene.tell(ev.AssignmentChanged(0, changed, {"narrow": 1}, work=2))
    assert scene.taken("wide") == [1]
    assert scene.taken("narrow") == [2]


def test_a_task_is_there_once_what_it_needs_is_done():
    scene = Watched(flow_of([[], [], [0, 1]]))
    scene.tell(plan("wide", "wide", "narrow"))
    machine = scene.machine()
    attempts = [scene.start(scene.work.ready.take("wide"), machine) for _ in range(2)]
    scene.end(attempts[0])
    assert scene.work.ready.count("narrow") == 0
    scene.end(attempts[1])
    assert scene.taken("narrow") == [3]


def test_the_end_of_a_replica_that_lost_makes_nothing_ready_twice():
    scene = Watched(flow_of([[], [0]]))
    scene.tell(plan("wide", "wide"))
    machine = scene.machine("wide")
    task = scene.work.ready.take("wide")
    winner, rival = scene.start(task, machine), scene.start(task, machine)
    scene.end(winner)
    scene.end(rival, "cancelled")
    assert scene.taken("wide") == [2]


def test_a_task_that_failed_or_was_lost_is_there_again():
    scene = Watched(flow_of([[], []]), retries=1)
    scene.tell(plan("wide", "narrow"))
    machine = scene.machine("wide")
    scene.end(scene.start(scene.work.ready.take("wide"), machine), "failed")
    assert scene.work.ready.count("wide") == 1
    scene.start(scene.work.ready.take("wide"), machine)
    scene.down(machine, "lost")
    assert scene.taken("wide") == [1]


def test_a_task_that_is_to_be_tried_again_is_there_again():
    scene = Watched(flow_of([[], [0]]))
    scene.tell(plan("wide", "wide"))
    scene.end(scene.start(scene.work.ready.take("wide"), scene.machine()), "failed")
    assert scene.work.ready.count("wide") == 0
    scene.tell(ev.RetryRequested(0, (1,)))
    assert scene.taken("wide") == [1]


def test_moved_tasks_keep_their_order_among_those_that_are_there():
    scene = Watched(flow_of([[], [], []], [1.0, 2.0, 3.0]))
    scene.tell(plan("narrow", "wide", "narrow"))
    scene.work.move("narrow", "wide")
    assert scene.work.ready.count("narrow") == 0
    assert scene.taken("wide") == [3, 2, 1]


def test_moved_tasks_go_back_to_their_offer_when_a_machine_is_down():
    scene = Watched(flow_of([[], []]))
    scene.tell(plan("narrow", "wide"))
    machine = scene.machine("wide")
    scene.work.move("narrow", "wide")
    scene.down(machine, "lost")
    assert (scene.work.ready.count("narrow"), scene.work.ready.count("wide")) == (1, 1)


def test_another_assignment_sorts_what_is_ready():
    scene = Watched(flow_of([[], []]))
    scene.tell(plan("wide", "wide"))
    names = ("narrow", "wide")
    scene.tell(ev.AssignmentChanged(0, Assigned(names, (0, 1)), {"narrow": 1, "wide": 1}))
    assert scene.taken("narrow") == [1]
    assert scene.taken("wide") == [2]


@st.composite
def flows(draw):
    tasks = draw(st.integers(1, 10))
    parents = [draw(st.sets(st.integers(0, task - 1), max_size=2)) for task in range(1, tasks)]
    return flow_of([(), *map(sorted, parents)])


@given(flows(), st.randoms(use_true_random=False))
def test_it_holds_the_ready_tasks_whoever_starts_them(flow, rng):
    """As after a crash, when what was taken is told by the journal; or with another placer."""
    scene = Watched(flow, retries=9)
    offers = ("wide", "narrow")
    scene.tell(plan(*(rng.choice(offers) for _ in range(flow.count))))
    machine, live = scene.machine("wide"), []
    for _ in range(3 * flow.count):
        if live and rng.random() < 0.5:
            live.remove(attempt := rng.choice(live))
            scene.end(attempt, rng.choice(("success", "success", "failed")))
        elif live and rng.random() < 0.2:
            task = scene.state.log.task[rng.choice(live)]
            live.append(scene.start(task, machine))  # a replica, also of what is done by now
        elif scene.state.ready:
            live.append(scene.start(rng.choice(list(scene.state.ready)), machine))
        elif live and rng.random() < 0.3:
            scene.down(machine, "lost")
            machine, live = scene.machine("wide"), []
        ready = [task for task in range(1, flow.count + 1) if scene.state.status[task] == READY]
        assert sorted(scene.work.ready._group_of) == ready
        assert sum(map(scene.work.ready.count, offers)) == len(ready)
    taken = [task for offer in offers for task in scene.taken(offer)]
    assert sorted(taken) == ready


def test_many_ready_tasks_do_not_slow_down_another_placer():
    def seconds(tasks, started=1000):
        state, work = RunState(), AssignedWork()
        market = Market("USD", "undated", (Offer("wide", ZERO, slots=started),))
        opening = ev.RunCreated(0, "run", market, Goal(), Limits(), 0, {}, {}, 0.0)
        arrival = ev.WorkArrived(0, Work(flow_of([[]] * tasks)))
        machine = (ev.MachineRented(0, 1, "wide", HOUR), ev.MachineUp(0, 1))
        last = range(tasks, tasks - started, -1)
        starts = [ev.AttemptStarted(0, n, task, 1) for n, task in enumerate(last, 1)]
        for event in (opening, arrival, *machine):
            state.apply(event)
            work.look(state)
        began = time.process_time()
        for start in starts:
            state.apply(start)
            work.look(state)
        assert work.ready.take(None) == 1
        return time.process_time() - began

    assert seconds(50_000) < 20 * min(seconds(2_000) for _ in range(5))
