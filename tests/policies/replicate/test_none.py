from __future__ import annotations

from random import Random

from bursar.model.market import Offer
from bursar.model.money import ZERO
from bursar.policies.replicate.none import NoReplicas
from bursar.testing import Scene


def test_every_task_runs_once_at_a_time():
    scene = Scene(Offer("two", ZERO, slots=2), tasks=1)
    scene.start(1, scene.machine())
    assert list(NoReplicas().replicate(scene.state, 0, Random(0))) == []
