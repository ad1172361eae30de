"""One entry and one exit for every workflow, where it has several."""

import numpy as np

from bursar.reproduce.workflows_artificial import with_artificial_tasks
from bursar.simulate.placing import place_workload
from bursar.simulate.workloads.generate import generate
from bursar.simulate.workloads.spec import SizeClass, WorkloadSpec


def test_every_work_has_one_entry_and_one_exit_and_takes_as_long_as_before():
    kinds = (("montage", 1.0), ("sipht", 1.0))
    arrays = generate(WorkloadSpec(kinds=kinds, count=8, classes=(SizeClass(1, 30, 38),))).arrays
    found = with_artificial_tasks(arrays)
    works = len(arrays.arrived)
    for ends in (found.parents.counts() == 0, found.children.counts() == 0):
        assert (np.bincount(found.work[ends], minlength=works) == 1).all()
    assert found.runtimes.sum() == arrays.runtimes.sum()
    many = [1.0] * 500
    before, after = (place_workload(one, many, "cpp") for one in (arrays, found))
    for work in range(works):
        mine, same = (range(*one.first[work : work + 2]) for one in (arrays, found))
        assert before.end[mine].max() == after.end[same].max()
