from random import Random

import numpy as np
import pytest

from bursar.beliefs.pool import Characterisation, PoolObserver
from bursar.beliefs.reliability import History, Instance, InstanceEnd, LastEnding
from bursar.model.errors import InputError
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO
from bursar.model.time import SECOND
from bursar.model.work import Bag
from bursar.policies.registry import make_policy
from bursar.simulate.faults import ModelledBehaviour, drawn
from bursar.simulate.run import simulate
from bursar.state import events as ev
from bursar.state.state import RunState
from bursar.testing.scene import Scene

SPOT = Offer("spot", ZERO, pool="unreliable")
OWN = Offer("own", ZERO)
WIDE = Offer("wide", ZERO, slots=3, pool="unreliable")


class Watched(Scene):
    """A scene that a book looks at."""

    def __init__(self, *offers, **options):
        self.book = PoolObserver()
        super().__init__(*offers, **options)

    def tell(self, event):
        super().tell(event)
        self.book.saw(event, self.state)

    def fates(self):
        history = self.book.history()
        return [
            (int(sent), int(ended) if fate else None, InstanceEnd(fate))
            for sent, ended, fate in zip(history.sent, history.ended, history.fates, strict=True)
        ]


def test_the_book_tells_what_became_of_each_attempt_on_unreliable_machines():
    scene = Watched(SPOT, OWN, tasks=9, retries=5)
    spots = [scene.machine("spot") for _ in range(4)]
    own = scene.machine("own")
    running = [scene.start(task, machine) for task, machine in enumerate([*spots, own], 1)]
    scene.pass_time(10)
    scene.end(running[0])
    scene.end(running[1], "failed", 1)
    scene.end(running[4])
    scene.pass_time(5)
    scene.down(spots[2], "lost")
    scene.pass_time(1)
    scene.end(running[3], "timeout")
    scene.start(6, spots[0])
    assert scene.fates() == [
        (0, 10, InstanceEnd.RESULT),
        (0, 10, InstanceEnd.LOST),
        (0, 15, InstanceEnd.LOST),
        (0, 16, InstanceEnd.LOST),
        (16, None, InstanceEnd.SILENT),
    ]
    assert (scene.book.reliable_runs, scene.book.reliable_time) == (1, 10)
    assert len(scene.book) == 5


def test_an_attempt_that_we_ended_ourselves_was_withdrawn_unless_its_task_still_needs_it():
    scene = Watched(SPOT, tasks=4)
    machines = [scene.machine() for _ in range(5)]
    won, rival = scene.start(1, machines[0]), scene.start(1, machines[1])
    given_up = scene.start(2, machines[2])
    scene.start(3, machines[3])
    scene.start(4, machines[4])
    scene.pass_time(7)
    scene.end(won)
    for attempt in (rival, given_up):
        scene.cancel(attempt)
        scene.end(attempt, "cancelled")
    scene.release(machines[3])
    scene.down(machines[3])
    scene.down(machines[4], "expired")
    fates = [fate for _, _, fate in scene.fates()]
    assert fates == [
        InstanceEnd.RESULT,
        InstanceEnd.WITHDRAWN,
        InstanceEnd.LOST,
        InstanceEnd.WITHDRAWN,
        InstanceEnd.WITHDRAWN,
    ]


def test_an_attempt_is_kept_with_what_became_of_the_last_one_on_its_machine():
    scene = Watched(SPOT, WIDE, tasks=9, retries=5)
    machine, wide = scene.machine("spot"), scene.machine("wide")
    for task, outcome in ((1, "success"), (2, "failed"), (2, "success")):
        attempt = scene.start(task, machine)
        scene.pass_time(1)
        scene.end(attempt, outcome, 0 if outcome == "success" else 1)
    rival = scene.start(3, machine)
    scene.end(scene.start(3, wide))
    scene.cancel(rival)
    scene.end(rival, "cancelled")
    first, _ = scene.start(4, wide), scene.start(5, machine)
    scene.end(first, "timeout")
    scene.start(4, wide)
    untried, returned, failed = LastEnding
    ones = [untried, returned, failed, returned, untried, returned, returned, failed]
    assert list(scene.book.history().standings) == ones
    scene.down(machine, "lost")
    scene.start(6, scene.machine("spot"))
    assert scene.book.history().standings[-1] == untried, "another machine"


def test_what_a_pause_of_the_run_took_is_no_loss_of_the_pool():
    scene = Watched(SPOT, tasks=2)
    machine = scene.machine()
    scene.start(1, machine)
    scene.pass_time(5)
    scene.tell(ev.StopRequested(scene.at, "interrupted", "test"))
    scene.pass_time(100)
    scene.tell(ev.RunResumed(scene.at))
    scene.down(machine, "lost")
    assert scene.fates() == [(0, 5, InstanceEnd.WITHDRAWN)]


def test_the_tail_begins_when_fewer_tasks_remain_than_slots_are_up():
    scene = Watched(WIDE, tasks=5)
    machine = scene.machine()
    for task in (1, 2, 3):
        scene.start(task, machine)
    for attempt in (1, 2):
        scene.pass_time(1)
        scene.end(attempt)
    assert scene.book.tail is None, "three tasks for three slots"
    scene.pass_time(1)
    scene.end(3)
    assert scene.book.tail == 3


def test_only_unreliable_machines_that_are_up_and_stay_count_for_the_tail():
    scene = Watched(WIDE, OWN, tasks=5)
    scene.machine("wide")
    scene.machine("wide")
    assert scene.book.tail == 0
    scene = Watched(WIDE, OWN, tasks=5)
    scene.machine("wide")
    for _ in range(5):
        scene.machine("own")
    leaving = scene.rent("wide")
    scene.release(leaving)
    scene.up(leaving)
    assert scene.book.tail is None
    scene.down(leaving)
    scene.pass_time(3)
    scene.rent("wide")
    assert scene.book.tail is None, "it boots"
    scene.machine("wide")
    assert scene.book.tail == 3


def test_with_more_work_to_come_there_is_no_tail():
    scene = Watched(SPOT, tasks=1, arrivals_open=True)
    scene.machine()
    scene.machine()
    assert scene.book.tail is None


def test_a_simulated_run_is_characterised_as_it_was():
    market = Market("USD", "undated", (Offer("spot", ZERO, limit=20, pool="unreliable"),))
    book = PoolObserver()
    behaviour = ModelledBehaviour(
        drawn(lambda rng: rng.randint(50, 150) * SECOND, 1), failing=0.3, seed=5
    )
    state = simulate(
        market,
        Goal(),
        Bag(3000),
        make_policy(options={"provisioner": {"fleet": {"spot": 20}}}),
        behaviour,
        limits=Limits(retries=100),
        observers=[book],
    )
    found = book.characterise(state.now)
    assert found.gamma.after == pytest.approx(0.7, abs=0.06)
    assert found.mean == pytest.approx(100 * SECOND, rel=0.03)
    assert found.machines == 20
    assert 50 * SECOND <= found.losses[0] <= found.losses[-1] <= 150 * SECOND, "all were told"
    assert (found.instances, found.results) == (len(state.log), 3000)
    assert found.cautions == ()
    assert book.tail is not None
    assert 0.9 * state.now < book.tail < state.now
    midway = book.characterise(state.now // 2)
    assert midway.gamma.after == pytest.approx(0.7, abs=0.06)
    assert midway.results < 1600


def test_events_cost_the_same_however_many_there_were(monkeypatch):
    """A million attempts must fit: columns, and live attempts only by machine."""
    scene = Watched(SPOT, tasks=500)
    monkeypatch.setattr(RunState, "check", lambda state: None)
    machine = scene.machine()
    for task in range(1, 501):
        attempt = scene.start(task, machine)
        scene.pass_time(1)
        scene.end(attempt)
    assert len(scene.book) == 500
    assert sum(map(len, scene.book._rows.values())) == 0


# --- histories that say little -------------------------------------------------------------------


def test_a_history_without_a_result_is_refused_unless_turnaround_times_are_given():
    lost = History.of([Instance(n, until=n + 5) for n in range(9)])
    with pytest.raises(InputError, match=r"none of 9 attempts .* returned a result"):
        Characterisation.from_history(lost)
    reported = Characterisation.from_history(lost, turnarounds=np.array([10, 20]))
    assert reported.mean == 15
    assert reported.gamma.after == pytest.approx(0.05)
    with pytest.raises(InputError, match="nothing was sent"):
        Characterisation.from_instances([])


def test_one_result_is_taken_for_all_and_people_are_reported():
    found = Characterisation.from_instances([Instance(0, 10)])
    assert list(found.turnarounds) == [10]
    assert found.gamma.after == 0.75
    assert any("1 result cannot show" in caution for caution in found.cautions)


def test_a_history_without_losses_is_reported_to_say_little():
    found = Characterisation.from_instances([Instance(n, 10) for n in range(99)])
    assert found.gamma.after == pytest.approx(99.5 / 100)
    assert any("no attempt was lost" in caution for caution in found.cautions)


def test_a_history_shorter_than_a_deadline_is_reported():
    found = Characterisation.from_instances([Instance(n, 10 + n) for n in range(5)], now=12)
    assert found.results == 2
    assert any("shorter than a deadline" in caution for caution in found.cautions)
    rng = Random(1)
    long = [Instance(n, rng.randint(5, 15) if n % 3 else None) for n in range(500)]
    assert Characterisation.from_instances(long).cautions == ()


def test_the_deadline_is_four_mean_turnarounds_unless_it_is_given():
    history = History.of([Instance(n, 10) for n in range(50)])
    assert Characterisation.from_history(history).deadline == 40
    assert Characterisation.from_history(history, deadline=15).deadline == 15
    assert Characterisation.from_history(history, requested=3).machines == 3
