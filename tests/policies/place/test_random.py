from __future__ import annotations

from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from bursar.model.market import Offer
from bursar.model.money import ZERO
from bursar.policies.place.random import RandomPlacer
from bursar.testing import Scene

ONE = Offer("one", ZERO)
TWO = Offer("two", ZERO, slots=2)


@given(st.integers(0, 6), st.integers(0, 3), st.integers(0, 3), st.integers(0, 99))
def test_every_free_slot_gets_a_task_of_its_own_while_there_are_any(tasks, ones, twos, seed):
    scene = Scene(ONE, TWO, tasks=tasks + 1)
    busy = scene.machine("two")
    scene.start(tasks + 1, busy)
    slots = Counter({busy: 1})
    for offer, count in (("one", ones), ("two", twos)):
        for _ in range(count):
            slots[scene.machine(offer)] = scene.state.market[offer].slots
    starts = list(RandomPlacer().place(scene.state, 0, Random(seed)))
    assert len(starts) == min(tasks, slots.total())
    assert len({start.task for start in starts}) == len(starts)
    assert all(start.task in scene.state.ready for start in starts)
    assert Counter(start.machine for start in starts) <= slots


def test_tasks_are_chosen_at_random_so_that_the_first_are_a_fair_sample():
    scene = Scene(ONE, tasks=4)
    scene.machine()
    picks = Counter(
        start.task
        for seed in range(400)
        for start in RandomPlacer().place(scene.state, 0, Random(seed))
    )
    assert set(picks) == {1, 2, 3, 4}
    assert min(picks.values()) > 60


def test_nothing_is_placed_where_nothing_is_ready_or_idle():
    assert list(RandomPlacer().place(Scene(ONE, tasks=3).state, 0, Random(0))) == []
    scene = Scene(ONE)
    scene.machine()
    assert list(RandomPlacer().place(scene.state, 0, Random(0))) == []
