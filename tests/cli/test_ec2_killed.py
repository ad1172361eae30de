"""bursar is killed while EC2 fails every fifth call: nothing leaks, whether it is resumed or not.

BURSAR_FAULT_KILLS says how many seeds there are.
"""

from __future__ import annotations

import json
import os
import time
from random import Random

import pytest

pytest.importorskip("boto3", reason="boto3 is not installed: bursar[aws]")
pytest.importorskip("moto", reason="moto is not installed: bursar[dev]")

from tests.dask_cluster import eventually
from tests.ec2_cloud import SECONDLY
from tests.workplace import expected

SEEDS = range(int(os.environ.get("BURSAR_FAULT_KILLS", "1")))
SHARE = 0.2
BUDGET = 0.05
"""of two machines with a slot less than ten minutes each"""
TASKS = 16


def start_and_kill(cloud, seed, moment):
    """bursar, under faults, up to a moment: when it rents, or when tasks run."""
    cloud.proxy.draw(seed, SHARE, first=1)
    if moment == "renting":
        cloud.proxy.once = ["lost"]  # EC2 has rented, and bursar never hears of it
    words = ("sh task.sh 0.8 {}", ":::", *map(str, range(1, TASKS + 1)))
    where = ("--on", "ec2", "--listen", "127.0.0.1", "--market", "ec2.toml")
    goal = ("--budget", str(BUDGET), "--fleet", "small=2", "--retries", "20")
    run = cloud.start("run", *where, *goal, "--name", "bag", *words)
    if moment == "renting":
        is_asked = cloud.moto.living if seed % 2 else lambda: cloud.proxy.calls["RunInstances"]
        assert eventually(is_asked, 60), "nothing is rented"
    else:
        assert eventually(cloud.tasks, 120), "no task runs"
        time.sleep(Random(seed).uniform(0, 1.5))  # all of them take six seconds
    run.kill()
    run.communicate()


def faults_happened(cloud):
    """Whether there were calls, and the first of each kind failed."""
    calls, failed = cloud.proxy.calls, cloud.proxy.failed
    return calls["RunInstances"] and calls.keys() == failed.keys()


def committed(cloud):
    return float(json.loads(cloud.call("status", "bag", "--json"))["money"]["committed"])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("moment", ["renting", "working"])
def test_killed_under_faults_and_resumed_nothing_leaks_and_nothing_is_lost(cloud, seed, moment):
    start_and_kill(cloud, seed, moment)
    resumed = cloud.start("resume", "bag")
    printed, _ = resumed.communicate(timeout=200)
    assert resumed.returncode == 0, printed
    assert cloud.proxy.failed["TerminateInstances"]
    assert faults_happened(cloud)
    assert cloud.outputs("bag") == expected(TASKS)
    assert not cloud.moto.living()
    assert eventually(lambda: not cloud.processes_of_machines(), 10)
    assert len(cloud.costs()) == len(cloud.player.played)
    assert sum(cloud.costs().values()) <= committed(cloud) + 1e-9 <= BUDGET


@pytest.mark.parametrize("seed", SEEDS)
def test_killed_under_faults_and_not_resumed_all_ends_by_the_leases(cloud, seed):
    start_and_kill(cloud, seed, "working")
    assert faults_happened(cloud)
    assert cloud.moto.living()
    reserved = committed(cloud)
    cloud.player.rate = 300.0
    assert eventually(lambda: not cloud.moto.living(), 60)
    assert eventually(lambda: not cloud.processes_of_machines(), 10)
    assert reserved <= BUDGET
    for machine in cloud.player.played:
        minutes = [int(order.removeprefix("+")) for order in machine.orders if order != "now"]
        assert max(minutes) * 60 * SECONDLY <= reserved, "its switch is set beyond what is paid"
