"""The strategies of works, each its own."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bursar.model.market import Offer
from bursar.model.money import ZERO
from bursar.model.strategy import Strategy
from bursar.model.time import MINUTE
from bursar.model.work import Bag, Work
from bursar.policies.work_strategies import WorkStrategies
from bursar.state import events as ev
from bursar.testing import Scene

GIVEN, *OTHERS = (Strategy(copies, MINUTE, MINUTE, 0.1) for copies in range(4))


class Watched(Scene):
    def __init__(self, counts, given=None):
        self.strategies = WorkStrategies(given)
        super().__init__(Offer("small", ZERO, slots=99), tasks=0, arrivals_open=True)
        for count in counts:
            self.tell(ev.WorkArrived(0, Work(Bag(count))))

    def tell(self, event):
        super().tell(event)
        self.strategies.saw(event, self.state)


def test_a_work_without_a_strategy_has_the_one_that_was_given():
    scene = Watched([1, 1], GIVEN)
    assert scene.strategies.in_force == (GIVEN,)
    scene.tell(ev.StrategyChosen(0, OTHERS[0], work=2))
    assert [scene.strategies.of(task) for task in (1, 2)] == [GIVEN, OTHERS[0]]
    assert scene.strategies.in_force == (GIVEN, OTHERS[0])


def test_what_has_no_strategy_yet_is_in_force_as_none():
    scene = Watched([1, 1])
    scene.tell(ev.StrategyChosen(0, OTHERS[0], work=1))
    assert scene.strategies.in_force == (OTHERS[0], None)


@given(
    st.lists(st.integers(1, 3), min_size=1, max_size=4),
    st.lists(st.tuples(st.sampled_from(OTHERS), st.integers(1, 4), st.booleans()), max_size=9),
    st.randoms(use_true_random=False),
)
def test_each_task_has_the_last_strategy_of_its_work(counts, reported, rng):
    scene, last = Watched(counts, GIVEN), {}
    machine = scene.machine()
    for strategy, work, ends in reported:
        if work <= len(counts):
            scene.tell(ev.StrategyChosen(0, strategy, work=work))
            last[work] = strategy
        if ends and scene.state.ready:
            scene.end(scene.start(rng.choice(list(scene.state.ready)), machine))
        open_works = {scene.state.work_of(task) for task in scene.state.ready}
        for task in scene.state.ready:
            assert scene.strategies.of(task) == last.get(scene.state.work_of(task), GIVEN)
        if open_works:
            assert set(scene.strategies.in_force) == {last.get(n, GIVEN) for n in open_works}
