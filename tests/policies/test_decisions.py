"""Fixed seeds give the same decisions, however they are computed."""

from __future__ import annotations

from hashlib import sha256
from random import Random

import pytest

from bursar.engine.roles import Policy
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag
from bursar.policies.registry import make_entry
from bursar.simulate.faults import ModelledBehaviour, given
from bursar.simulate.run import simulate
from bursar.state import events as ev

TASKS, EACH = 150, 20
DECIDED = (
    ev.MachineRented, ev.ReleaseMarked, ev.ReleaseOrdered, ev.AttemptStarted, ev.CancelOrdered,
    ev.ActionRefused, ev.StopRequested,
)  # fmt: skip
TOLD = ("at", "attempt", "task", "machine", "offer")


class Digest:
    """A journal of which only a digest of the decisions is kept."""

    def __init__(self):
        self.hash = sha256()

    def append(self, event):
        if isinstance(event, DECIDED):
            reported = [getattr(event, field, None) for field in TOLD]
            self.hash.update(repr((type(event).__name__, *reported)).encode())

    def commit(self, safely=False):
        pass


def market(billing, slots):
    hour = billing / HOUR
    prices = [Money.parse(f"{price * hour:.9f}") for price in (0.08, 0.15, 0.24)]
    return Market("USD", "undated", (
        Offer("small", prices[0], billing, limit=EACH, slots=slots),
        Offer("mid", prices[1], billing, limit=EACH, boot=40 * SECOND, speed=1.7),
        Offer("large", prices[2], billing, limit=EACH, boot=90 * SECOND, speed=2.5, slots=slots),
    ))  # fmt: skip


def decisions(replicator, seed, budget=None, billing=HOUR, deadline=None, slots=1, **faults):
    rng = Random(seed)
    times = [int(rng.lognormvariate(0, 0.6) * 5 * MINUTE) + 1 for _ in range(TASKS)]
    bats = make_entry("provisioner", "bats", {})
    others = {"provisioner": bats}
    policy = Policy(
        bats, make_entry("placer", "fitting", others), make_entry("replicator", replicator, others)
    )
    behaviour = ModelledBehaviour(given(times), seed=seed, **faults)
    goal = Goal(None if budget is None else Money.parse(budget), deadline)
    digest = Digest()
    simulate(market(billing, slots), goal, Bag(TASKS), policy, behaviour, seed=seed, journal=digest)
    return digest.hash.hexdigest()[:12]


FAULTY = {"budget": "20", "billing": 10 * MINUTE, "slots": 2, "failing": 0.1,
          "mean_life": {"mid": HOUR // 2}}  # fmt: skip
CASES = [
    (replicator, seed, conditions)
    for replicator in ("at-risk", "stochastic-random", "stochastic", "random", "migrate")
    for seed, conditions in ((1, {"budget": "6"}), (2, {"budget": "3.5"}), (5, FAULTY))
]
CASES.append(("at-risk", 3, {"billing": MINUTE, "deadline": 2 * HOUR}))
EXPECTED = [
    "1831b82ccb43", "a016780260b8", "70ab9d2c8528",
    "1831b82ccb43", "a016780260b8", "97683568e9e7",
    "ab1e82162d66", "ab876369cc91", "fc6da7e9a5a1",
    "709c24703eb0", "7d93840d494c", "97683568e9e7",
    "9edb9c4560f1", "70548a3acddc", "fc6da7e9a5a1",
    "fe0152a305b0",
]  # fmt: skip
"""Recorded before attempts were looked at in arrays."""


@pytest.mark.parametrize(
    ("case", "expected"), list(zip(CASES, EXPECTED, strict=True)), ids=lambda case: str(case)[:40]
)
def test_the_decisions_are_those_of_the_first_implementation(case, expected):
    replicator, seed, conditions = case
    assert decisions(replicator, seed, **conditions) == expected
