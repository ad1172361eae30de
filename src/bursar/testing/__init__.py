"""For authors of policies and worlds: adversaries and contract tests to run against them."""

from bursar.testing.auditor import Auditor
from bursar.testing.broken import ContractBroken
from bursar.testing.cases import Case, arriving, calm_case, hard_cases, play
from bursar.testing.entries import (
    check_advisor,
    check_placer,
    check_policy,
    check_provisioner,
    check_replicator,
)
from bursar.testing.erratic import ErraticWorld
from bursar.testing.hostile import Hostile
from bursar.testing.renters import RenterContract
from bursar.testing.run_times import check_run_times
from bursar.testing.runners import RunnerContract
from bursar.testing.scene import Scene
from bursar.testing.worlds import WorldContract

__all__ = [
    "Auditor",
    "Case",
    "ContractBroken",
    "ErraticWorld",
    "Hostile",
    "RenterContract",
    "RunnerContract",
    "Scene",
    "WorldContract",
    "arriving",
    "calm_case",
    "check_advisor",
    "check_placer",
    "check_policy",
    "check_provisioner",
    "check_replicator",
    "check_run_times",
    "hard_cases",
    "play",
]
