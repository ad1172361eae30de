"""The soak in short: a small bag on each kind of machine, while its lines are cut."""

from __future__ import annotations

import pytest

pytest.importorskip("distributed", reason="dask.distributed is not installed: bursar[dask]")

from tests.soak.sites import SITES
from tests.soak.soaking import WAYS, soak_once
from tests.soak.works import SoakBag, SoakFlow


def soak_shortly(name, work, way, sizes, **faults):
    if name == "ec2":
        pytest.importorskip("boto3", reason="boto3 is not installed: bursar[aws]")
        pytest.importorskip("moto", reason="moto is not installed: bursar[dev]")
    if SITES[name].why_not:
        pytest.skip(SITES[name].why_not)
    soak, planned = soak_once(SITES[name], work, 0, WAYS[way], sizes=sizes, **faults)
    assert not soak.wrong, (soak.wrong, planned.reported)
    assert len(soak.verdicts) >= 5


@pytest.mark.parametrize("name", SITES)
def test_lines_that_are_cut_within_the_lease_lose_no_work(name):
    soak_shortly(name, SoakBag, "cuts", {"count": 30}, cut=2.0, every=(0.5, 1.5))


@pytest.mark.parametrize("name", ["ssh", "slurm"])  # the others: test_machines.py, test_ec2.py
def test_parts_of_it_are_killed_and_bursar_too_and_a_resumed_workflow_is_whole(name):
    once = {"cut": 2.0, "every": (0.3, 0.9), "most": 7}  # each kind of fault, and no more
    soak_shortly(name, SoakFlow, "resumed", {"count": 30, "mean": 1.0}, **once)
