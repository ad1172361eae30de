"""Works that are done are forgotten where the journal can tell them again."""

from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR
from bursar.model.work import Work, make_bag
from bursar.model.workflow import Workflow
from bursar.state import events as ev
from bursar.testing import Scene

SMALL = Offer("small", Money.parse("0.10"))


def bag(name, count=2):
    return make_bag(["fit", name], [[str(n)] for n in range(count)])


def chain(name):
    return Workflow(
        name=name,
        names=("a", "b"),
        parents=((), (0,)),
        kind_names=("k",),
        kinds=(0, 0),
        commands=(("first", name), ("second", name)),
        runtimes=(1.0, 1.0),
    )


class Told:
    """The journal of a scene, which can be asked for what arrived."""

    def __init__(self, scene):
        self.scene, self.works, self.asked = scene, {2: Work(bag("first"))}, []
        scene.state.work.recall = self.recall
        self.machine = scene.machine(stay=100 * HOUR)

    def arrive(self, work):
        self.scene.tell(ev.WorkArrived(self.scene.at, Work(work)))
        self.works[self.scene.state.events] = Work(work)
        return self.scene.state.total - work.count

    def recall(self, number):
        self.asked.append(number)
        return self.works[number]

    def run(self, *tasks, outcome="success"):
        for task in tasks:
            self.scene.end(self.scene.start(task, self.machine), outcome)


def scene_of(**conditions):
    return Told(Scene(SMALL, tasks=bag("first"), **{"budget": "100", **conditions}))


def kept(reported):
    return sorted(reported.scene.state.work._kept)


def test_a_work_is_forgotten_when_its_last_task_is_done():
    reported = scene_of()
    reported.arrive(bag("second"))
    reported.run(1)
    assert kept(reported) == [0, 1]
    reported.run(2)
    assert kept(reported) == [1]
    reported.run(3, 4)
    assert kept(reported) == []
    reported.scene.state.check()


def test_who_asks_for_a_forgotten_one_gets_it_from_the_journal():
    reported = scene_of()
    before = reported.arrive(chain("one"))
    reported.arrive(bag("third"))
    reported.run(*range(1, 7))
    state = reported.scene.state
    assert state.command(before + 2) == ("second", "one")
    assert state.command(before + 1) == ("first", "one")
    assert len(reported.asked) == 1, "what was asked for last is at hand"
    assert [before for before, _ in state.work] == [0, 2, 4]
    assert state.work[1:][0] == (2, Work(chain("one")))
    assert state.work[-1][0] == 4


def test_a_work_with_a_failed_task_stays():
    reported = scene_of(retries=0)
    reported.run(1)
    reported.run(2, outcome="failed")
    assert kept(reported) == [0]
    reported.scene.tell(ev.RetryRequested(reported.scene.at, (2,)))
    reported.run(2)
    assert kept(reported) == []
    reported.scene.state.check()


def test_without_a_journal_nothing_is_forgotten():
    reported = scene_of()
    reported.scene.state.work.recall = None
    reported.run(1, 2)
    assert kept(reported) == [0]


def test_who_waits_for_whom_is_forgotten_with_a_workflow():
    reported = scene_of()
    before = reported.arrive(chain("one"))
    reported.run(before + 1)
    assert reported.scene.state.precedence.children(before + 1) == [before + 2]
    reported.run(before + 2)
    assert reported.scene.state.precedence.children(before + 1) == ()
    reported.scene.state.check()
