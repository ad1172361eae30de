"""Runs at an EC2 that fails in all ways that we know leak no instance and no money.

A run is the engine with its guard, a renter that is used in real runs, and a runner that does
nothing but wait: what is at stake is money, not tasks. BURSAR_FAULT_RUNS says how many there are.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from random import Random
from types import SimpleNamespace

import pytest

pytest.importorskip("boto3", reason="boto3 is not installed: bursar[aws]")
pytest.importorskip("moto", reason="moto is not installed: bursar[dev]")

from tests.ec2_cloud import IMAGE
from tests.fault_proxy import FaultProxy

from bursar.engine.loop import Engine
from bursar.engine.roles import Policy
from bursar.engine.runner import Ended, Gone, Joined
from bursar.execute.clock import RunClock
from bursar.execute.remote.security import make_credentials
from bursar.execute.world import RealWorld
from bursar.model.market import Offer, Place
from bursar.model.money import ZERO, Money
from bursar.model.time import MINUTE, SECOND
from bursar.model.work import Bag
from bursar.policies.place.random import RandomPlacer
from bursar.policies.provision.fixed import Fixed
from bursar.policies.replicate.none import NoReplicas
from bursar.rent.ec2 import Ec2Renter
from bursar.rent.ec2_api import RUN_TAG, Ec2Api, run_tag
from bursar.testing import Auditor, Scene

RUNS = int(os.environ.get("BURSAR_FAULT_RUNS", "6"))
AT_ONCE = 6
SHARE = 0.2
PLACE = Place(instance_type="c5.large", image=IMAGE)
HOURLY = Money.parse("0.00002362")
SURE = Offer("sure", HOURLY, SECOND, minimum=MINUTE, slots=2, limit=5, place=PLACE)
SPOT = Offer(
    "spot", Money.parse("0.00001"), SECOND, minimum=MINUTE, slots=2, pool="unreliable", place=PLACE
)
BUDGET = "0.03"
"""some six machines to begin with"""
CLUSTER = SimpleNamespace(
    credentials=make_credentials(),
    scheduler=SimpleNamespace(config=SimpleNamespace(host="127.0.0.1")),
)


class WaitingRunner:
    """Attempts take a moment, and machines join and go when they are asked to."""

    ahead = 0
    stalled = frozenset()

    def __init__(self, now, rng):
        self._now, self._rng = now, rng
        self._due = []
        """(when, what it tells, of which machine)"""
        self._machines = {}
        self._bell = threading.Event()

    def join(self, machine, offer, until):
        self._machines[machine] = until
        self._due.append((self._now(), Joined(machine), machine))

    def lease(self, machine, until):
        if machine in self._machines:
            self._machines[machine] = until

    def leave(self, machine, cause):
        if self._machines.pop(machine, None) is not None:
            self._due = [one for one in self._due if one[2] != machine]
            self._due.append((self._now(), Gone(machine, cause, self._now()), machine))

    def start(self, attempt, task, machine, command):
        ended = self._now() + round(self._rng.uniform(0.05, 0.4) * SECOND)
        if machine in self._machines:
            self._due.append((ended, Ended(attempt, "success"), machine))

    def stop(self, attempt):
        raise AssertionError("nobody asked for that")

    def flush(self):
        pass

    def poll(self, until):
        end = min((when for when, _, _ in self._due), default=self._now() + SECOND)
        end = end if until is None else min(end, until)
        self._bell.wait(max(0, end - self._now()) / SECOND)
        self._bell.clear()
        now = self._now()
        ready = [what for when, what, _ in self._due if when <= now]
        self._due = [one for one in self._due if one[0] > now]
        return ready

    def wake(self):
        self._bell.set()

    def settle(self, task, attempt, fate):
        pass

    def close(self):
        pass


@pytest.fixture(autouse=True)
def environment(moto, monkeypatch):
    for name, value in moto.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("bursar.rent.ec2.LOOK_OFTEN", 0.3)
    monkeypatch.setattr("bursar.rent.ec2.LOOK_SELDOM", 0.6)
    monkeypatch.setattr("bursar.rent.ec2.RETRY", 0.5)


def run_under_faults(moto, seed, home):
    """What ended, what the ledger says, and what the provider does."""
    proxy = FaultProxy(moto.port, seed=seed, share=SHARE, quota=6, capacity=4, boot=0.3)
    scene = Scene(SURE, SPOT, tasks=Bag(40), budget=BUDGET, retries=20, run=f"faulty-{seed}")
    auditor = Auditor()
    for event in scene.events:
        auditor.saw(event, scene.state)
    clock, mark = RunClock(0, None), f"faulty@{seed}@{time.time()}"
    market = scene.state.market
    home.mkdir()
    renter = Ec2Renter(
        "faulty", mark, clock.now, CLUSTER, market, home, api=Ec2Api(endpoint=proxy.url)
    )
    world = RealWorld(scene.state, renter, WaitingRunner(clock.now, Random(seed)), clock, mark)
    taker = threading.Thread(target=_take_some, args=(moto, proxy, mark, Random(seed)))
    taker.start()
    policy = Policy(Fixed({"sure": 5, "spot": 3}), RandomPlacer(), NoReplicas())
    ended = Engine(scene.state, policy, world, observers=[auditor]).run()
    taker.join()
    proxy.close()
    mine = [one for one in moto.instances() if _is_of(one, mark)]
    living = [one for one in mine if one["State"]["Name"] != "terminated"]
    true_cost = sum((_cost(one) for one in mine), ZERO)
    return SimpleNamespace(
        seed=seed,
        status=ended.status,
        why=ended.why,
        committed=scene.state.ledger.committed,
        true_cost=true_cost,
        instances=len(mine),
        living=living,
        faults=proxy.faults,
        events=auditor.events,
    )


def _take_some(moto, proxy, mark, rng):
    """A spot machine of the run is taken away now and then, with notice or without."""
    for _ in range(2):
        time.sleep(rng.uniform(0.5, 2.0))
        spots = [one for one in moto.instances("running") if _is_of(one, mark)]
        spots = [one["InstanceId"] for one in spots if one.get("InstanceLifecycle") == "spot"]
        if spots:
            taken = rng.choice(sorted(spots))
            proxy.interrupt(taken)
            time.sleep(rng.choice((0.0, 1.0)))
            proxy.take(taken)


def _is_of(instance, mark):
    tags = {tag["Key"]: tag["Value"] for tag in instance.get("Tags", ())}
    return tags.get(RUN_TAG) == run_tag(mark)


def _cost(instance):
    """What Amazon would charge, by moto's own record, some rounding of seconds aside."""
    offer = SPOT if instance.get("InstanceLifecycle") == "spot" else SURE
    said = instance["StateTransitionReason"].partition("(")[2].removesuffix(" UTC)")
    if not said:
        return offer.charge(MINUTE)
    ended = datetime.strptime(f"{said} +0000", "%Y-%m-%d %H:%M:%S %z")
    stay = (ended - instance["LaunchTime"]).total_seconds() - 1
    return offer.charge(max(0, round(stay * SECOND)))


def test_runs_under_faults_leak_no_instance_and_never_exceed_the_budget(moto, tmp_path):
    with ThreadPoolExecutor(AT_ONCE) as pool:
        runs = list(
            pool.map(lambda seed: run_under_faults(moto, seed, tmp_path / str(seed)), range(RUNS))
        )
    faults = sum((run.faults for run in runs), start=Counter())
    for run in runs:
        reported = f"seed {run.seed}: {run.status}, {run.why}, {run.faults}"
        print(reported, run.instances, run.committed, run.true_cost)
        assert not run.living, reported
        assert run.true_cost <= run.committed <= Money.parse(BUDGET), reported
        assert run.status in ("done", "budget"), reported
    assert any(run.status == "done" for run in runs)
    assert faults.total() >= RUNS, faults
