"""A simulated workload on machines that come and go."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.simulate.plain_placing import PlainTask, PlainWork
from tests.simulate.test_placing import arrays_of_plain, plain_works

from bursar.model.errors import InputError
from bursar.simulate.placing import FOREVER, WorkloadPlacement, place_workload

FOUR = PlainWork(5, [PlainTask(10, 10) for _ in range(4)])


def test_what_waits_is_started_on_a_machine_as_soon_as_it_is_there():
    placement = WorkloadPlacement(arrays_of_plain([FOUR]), [1.0] * 3, "cpp")
    placement.add_machines([0])
    assert placement.advance(8) == 1
    assert (placement.now, placement.running, placement.waiting) == (8, 1, 3)
    placement.add_machines([2])
    placement.advance(8)
    assert (placement.running, placement.waiting) == (2, 2)
    assert placement.advance(FOREVER) == 0
    schedule = placement.schedule()
    assert schedule.is_whole
    assert schedule.start.tolist() == [5, 8, 15, 18]
    assert schedule.machine.tolist() == [0, 2, 0, 2]


def test_a_machine_that_was_released_gets_nothing_more():
    works = [PlainWork(0, [PlainTask(1, 1)]), FOUR]
    placement = WorkloadPlacement(arrays_of_plain(works), [1.0, 2.0], "backfill")
    placement.add_machines([0, 1])
    placement.advance(3)
    assert placement.idle == [0, 1]
    placement.release_machines([1])
    with pytest.raises(InputError, match="machine 1 is not idle"):
        placement.release_machines([1])
    with pytest.raises(InputError, match="machine 0 is there already"):
        placement.add_machines([0])
    placement.advance(FOREVER)
    schedule = placement.schedule()
    assert sorted(schedule.start[1:].tolist()) == [5, 15, 25, 35]
    assert set(schedule.machine[1:].tolist()) == {0}


@settings(max_examples=60, deadline=None)
@given(
    works=plain_works(),
    placer=st.sampled_from(["backfill", "hr", "owm", "fwp", "stretch", "sr:life=lazy"]),
    step=st.integers(1, 7),
)
def test_a_simulation_that_is_stopped_every_now_and_then_decides_the_same(works, placer, step):
    arrays, speeds = arrays_of_plain(works), [1.0, 2.0, 1.0]
    placement = WorkloadPlacement(arrays, speeds, placer)
    placement.add_machines(range(len(speeds)))
    moment = 0
    while not placement.schedule().is_whole:
        placement.advance(moment)
        moment += step
    found, whole = placement.schedule(), place_workload(arrays, speeds, placer)
    assert found.start.tolist() == whole.start.tolist()
    assert found.machine.tolist() == whole.machine.tolist()
