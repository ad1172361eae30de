"""`assigned`: each task to a machine of its offer, the most urgent to the oldest."""

from __future__ import annotations

from random import Random

from bursar.model.assigned import Assigned
from bursar.model.market import Offer
from bursar.model.money import ZERO
from bursar.model.work import Work
from bursar.model.workflow import Workflow
from bursar.policies.place.assigned import AssignedPlacer
from bursar.policies.provision.fixed import Fixed
from bursar.policies.provision.prob import Prob
from bursar.state import events as ev
from bursar.testing import Scene

SMALL = Offer("small", ZERO)
LARGE = Offer("large", ZERO, slots=2)
NAMES = ("small", "large")


def flow_of(*runtimes):
    count = len(runtimes)
    return Workflow(
        name="flow",
        names=tuple(f"t{task}" for task in range(count)),
        parents=((),) * count,
        kind_names=("any",),
        kinds=(0,) * count,
        runtimes=runtimes,
    )


class Watched(Scene):
    """A scene that a placer observes, as in a run."""

    def __init__(self, placer, *runtimes, assigned=None):
        self.placer = placer
        super().__init__(SMALL, LARGE, arrivals_open=True)
        self.tell(ev.WorkArrived(0, Work(flow_of(*runtimes))))
        if assigned is not None:
            offers = tuple(map(NAMES.index, assigned))
            reported = ev.PlanChosen(0, "", {}, 0, 0, ZERO, ZERO, assigned=Assigned(NAMES, offers))
            self.tell(reported)

    def tell(self, event):
        super().tell(event)
        self.placer.saw(event, self.state)

    def place(self):
        starts = list(self.placer.place(self.state, self.at, Random(0)))
        for start in starts:
            self.start(start.task, start.machine)
        return [(start.task, start.machine) for start in starts]


def test_a_task_goes_to_a_machine_of_its_offer_only():
    scene = Watched(AssignedPlacer(), 1.0, 2.0, assigned=("small", "large"))
    large = scene.machine("large")
    assert scene.place() == [(2, large)]
    small = scene.machine("small")
    assert scene.place() == [(1, small)]


def test_the_most_urgent_tasks_go_to_the_oldest_machines():
    scene = Watched(AssignedPlacer(), 1.0, 2.0, 3.0, 4.0, assigned=("large",) * 4)
    first, second = scene.rent("large"), scene.rent("large")
    scene.up(second)
    scene.up(first)
    assert scene.place() == [(4, first), (3, first), (2, second), (1, second)]


def test_without_a_plan_a_task_goes_anywhere():
    scene = Watched(AssignedPlacer(), 1.0, 2.0, 3.0)
    small, large = scene.machine("small"), scene.machine("large")
    assert scene.place() == [(3, small), (2, large), (1, large)]


def test_it_shares_the_tasks_of_a_provisioner_that_knows_their_offers():
    prob = Prob()
    placer = AssignedPlacer(prob)
    assert placer.work is prob.work
    scene = Watched(placer, 1.0)
    machine = scene.machine()
    assert scene.place() == [(1, machine)]


def test_it_follows_the_run_itself_beside_another_provisioner():
    scene = Watched(AssignedPlacer(Fixed({"small": 1})), 1.0)
    machine = scene.machine()
    assert scene.place() == [(1, machine)]
