"""Works that arrive over time, as values and in arrays."""

from __future__ import annotations

import numpy as np
import pytest

from bursar.model.errors import InputError
from bursar.model.time import SECOND
from bursar.model.work import Bag, Work
from bursar.model.workflow_builder import WorkflowBuilder
from bursar.model.workload import Arrival, Workload


def diamond(seconds):
    flow = WorkflowBuilder("diamond")
    flow.task("a", runtime=seconds)
    flow.task("b", needs=["a"], runtime=2 * seconds)
    flow.task("c", needs=["a"], runtime=3 * seconds)
    flow.task("d", needs=["b", "c"], runtime=seconds)
    return Work.of_dag(flow.build())


def test_the_tasks_of_all_works_have_one_numbering():
    workload = Workload((Arrival(0, diamond(1)), Arrival(5 * SECOND, diamond(2))))
    arrays = workload.arrays
    assert workload.tasks == len(arrays) == 8
    assert arrays.first.tolist() == [0, 4, 8]
    assert arrays.work.tolist() == [0] * 4 + [1] * 4
    assert (arrays.runtimes // SECOND).tolist() == [1, 2, 3, 1, 2, 4, 6, 2]
    assert arrays.children.of(0).tolist() == [1, 2]
    assert arrays.children.of(4).tolist() == [5, 6]
    assert arrays.parents.of(7).tolist() == [5, 6]
    assert arrays.arrived.tolist() == [0, 5 * SECOND]


def test_arrays_of_a_workload_cannot_be_written():
    arrays = Workload((Arrival(0, diamond(1)),)).arrays
    with pytest.raises(ValueError, match="read-only"):
        arrays.runtimes[0] = np.int64(1)


def test_an_empty_workload_has_no_tasks():
    assert len(Workload(()).arrays) == 0


def test_works_that_are_not_sorted_by_arrival_are_refused():
    with pytest.raises(InputError, match="work 2 arrives at 1 s, before work 1; sort"):
        Workload((Arrival(2 * SECOND, diamond(1)), Arrival(SECOND, diamond(1))))


def test_a_task_without_a_run_time_is_named():
    workload = Workload((Arrival(0, diamond(1)), Arrival(0, Work(Bag(count=3)))))
    with pytest.raises(InputError, match="work 2 of workload, a bag, has tasks without a run time"):
        _ = workload.arrays


def moving():
    """A task that writes 30 MB, which another reads."""
    flow = WorkflowBuilder("moving")
    flow.task("make", runtime=4, writes={"part": 30_000_000})
    flow.task("use", runtime=4, reads={"part": 30_000_000})
    return Work.of_dag(flow.build())


def test_files_take_time_only_with_a_bandwidth():
    arrivals = (Arrival(0, moving()),)
    assert not Workload(arrivals).arrays.transfers.any()
    arrays = Workload(arrivals, bandwidth=10e6).arrays
    assert (arrays.transfers / SECOND).tolist() == [3, 3]
    assert (arrays.taken / SECOND).tolist() == [7, 7]


def test_bytes_that_were_measured_count_before_the_sizes_of_files():
    flow = WorkflowBuilder("measured")
    flow.task("a", runtime=1, writes={"part": 30_000_000}, volume=(5_000_000, 5_000_000))
    workload = Workload((Arrival(0, Work.of_dag(flow.build())),), bandwidth=10e6)
    assert (workload.arrays.transfers / SECOND).tolist() == [1]


def test_a_bandwidth_without_any_size_of_a_file_is_refused():
    with pytest.raises(InputError, match="has a bandwidth, but no task with files of a known size"):
        _ = Workload((Arrival(0, diamond(1)),), bandwidth=1e6).arrays
