"""Who follows the plan of an autoscaler: what is planned, where it is planned, and nothing else."""

from __future__ import annotations

from random import Random

import pytest
from tests.policies.test_work_per_event import watched

from bursar.engine.roles import Policy
from bursar.model.errors import InputError
from bursar.model.goal import Account, Budget, Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import MINUTE, SECOND
from bursar.model.work import Bag, Work
from bursar.model.workflow_builder import WorkflowBuilder
from bursar.policies.place.follow import FollowPlacer
from bursar.policies.presets import check_together
from bursar.policies.provision.plf import PlanningFirst
from bursar.policies.provision.scf import ScalingFirst
from bursar.policies.replicate.none import NoReplicas
from bursar.simulate.faults import ModelledBehaviour, traced
from bursar.simulate.run import simulate
from bursar.state import events as ev
from bursar.state.actions import Start
from bursar.testing import Scene

SMALL = Offer("small", Money.parse("1"), MINUTE, limit=4)
LARGE = Offer("large", Money.parse("5"), MINUTE, limit=4, slots=3, boot=20 * SECOND)


def test_follow_starts_what_is_planned_where_it_is_planned_and_nothing_else():
    placer, state = FollowPlacer(), _scene_state()
    decision = ev.ScaleDecided(0, {"small": 2}, 3, 1, lines={"1": (2,), "small+1": (1,)})
    placer.saw(decision, state)
    assert list(placer.place(state, 0, Random(0))) == [Start(2, 1)]
    rented = ev.MachineRented(0, 2, "small", MINUTE)
    for event in (rented, ev.MachineUp(0, 2)):
        state.apply(event)
        placer.saw(event, state)
    assert list(placer.place(state, 0, Random(0))) == [Start(1, 2)]
    assert list(placer.place(state, 0, Random(0))) == [], "task 3 is in no plan"


def test_follow_learns_from_the_journal_what_was_planned_before_a_resume():
    decision = ev.ScaleDecided(0, {"small": 1}, 3, 1, lines={"1": (3, 1)})
    again, state = FollowPlacer(), _scene_state()
    again.saw(decision, state)
    assert list(again.place(state, 0, Random(0))) == [Start(3, 1)]


def _scene_state():
    """Three tasks are ready, and one small machine is up."""
    scene = Scene(SMALL, LARGE, tasks=3, arrivals_open=True)
    scene.machine("small")
    return scene.state


def test_follow_goes_with_autoscalers_that_plan():
    check_together({"provisioner": "plf", "placer": "follow"})
    with pytest.raises(InputError, match="'follow' goes with the provisioner 'plf'"):
        check_together({"provisioner": "react", "placer": "follow"})


def planned(*lines):
    return ev.ScaleDecided(0, {"small": len(lines)}, 3, 1, lines=dict(lines))


def test_a_machine_goes_on_once_the_task_that_it_waited_for_is_done():
    scene, placer = Scene(SMALL, arrivals_open=True), FollowPlacer()
    scene.tell(ev.WorkArrived(0, chain()))
    first, second = scene.machine("small"), scene.machine("small")
    placer.saw(planned(("1", (1,)), ("2", (2, 3))), scene.state)

    def place():
        return list(placer.place(scene.state, scene.at, Random(0)))

    assert place() == [Start(1, first)]
    attempt = scene.start(1, first)
    assert place() == [], "task 2 needs the first"
    scene.end(attempt)
    assert place() == [Start(2, second)]


def test_a_machine_goes_on_with_its_next_task_where_the_one_that_waits_was_cancelled():
    scene, placer = Scene(SMALL, arrivals_open=True), FollowPlacer()
    scene.tell(ev.WorkArrived(0, chain()))
    scene.tell(ev.WorkArrived(0, Work(Bag(1))))
    machine = scene.machine("small")
    placer.saw(planned(("1", (2, 4))), scene.state)
    assert list(placer.place(scene.state, scene.at, Random(0))) == []
    scene.tell(ev.WorkCancelled(scene.at, 1))
    assert list(placer.place(scene.state, scene.at, Random(0))) == [Start(4, machine)]


def chain():
    builder = WorkflowBuilder("chain")
    for task, needs in enumerate(((), ("0",), ("1",))):
        builder.task(str(task), needs=needs)
    return Work(Work.of_dag(builder.build()).tasks)


def looks_beside(idle):
    """At machines, while one does task after task, and others have none or wait for theirs."""
    scene, placer = Scene(SMALL, arrivals_open=True), FollowPlacer()
    scene.tell(ev.WorkArrived(0, chain()))
    for _ in range(idle):
        scene.machine("small")
    placer.saw(planned(("1", (1,)), ("2", (3,)), ("3", (2,))), scene.state)
    looks = []
    for task, machine in ((1, 1), (2, 3), (3, 2)):
        machines = watched(scene.state)
        assert list(placer.place(scene.state, scene.at, Random(0))) == [Start(task, machine)]
        looks.append(machines.looks)
        scene.end(scene.start(task, machine))
    return looks[1:]


def test_machines_that_have_nothing_to_do_are_not_looked_at():
    assert looks_beside(300) == looks_beside(5)


class Events:
    def __init__(self):
        self.all = []

    def saw(self, event, state):
        self.all.append(event)


class LooksAtAll(FollowPlacer):
    """At every machine that is idle, at every event."""

    def _to_look_at(self, view):
        return list(view.idle)


def works(rng, count):
    """Workflows of random forms that two users bring."""
    for number in range(count):
        builder = WorkflowBuilder(f"w{number}")
        for task in range(rng.randint(1, 9)):
            needs = rng.sample(range(task), rng.randint(0, min(3, task)))
            builder.task(str(task), needs=[str(one) for one in needs])
        work = Work(Work.of_dag(builder.build()).tasks, rng.choice(("ann", "bob")))
        yield ev.WorkArrived(number * 25 * SECOND, work)


@pytest.mark.parametrize("entry", [PlanningFirst, ScalingFirst])
@pytest.mark.parametrize("seed", range(6))
def test_what_starts_is_what_would_start_if_all_idle_machines_were_looked_at(entry, seed):
    rng = Random(seed)
    arrivals = list(works(rng, 12))
    count = sum(one.work.count for one in arrivals)
    times = {
        name: [rng.randint(2, 90) * SECOND for _ in range(count)] for name in ("small", "large")
    }
    market = Market("USD", "undated", (SMALL, LARGE))
    accounts = tuple(Account(name, Budget(Money.parse("30"), MINUTE)) for name in ("ann", "bob"))

    def journal(placer):
        events = Events()
        policy = Policy(entry(market), placer, NoReplicas())
        lives = {"small": 2 * MINUTE, "large": 5 * MINUTE}
        behaviour = ModelledBehaviour(traced(times), failing=0.05, mean_life=lives, seed=seed)
        simulate(market, Goal(accounts=accounts), arrivals, policy, behaviour, observers=[events])
        return events.all

    assert journal(FollowPlacer()) == journal(LooksAtAll())
