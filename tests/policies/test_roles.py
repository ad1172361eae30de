"""Every entry has all that its role declares, and nothing else is looked for."""

from __future__ import annotations

import ast
from pathlib import Path
from random import Random

import pytest

import bursar
from bursar.beliefs.estimates import GivenRunTimes
from bursar.beliefs.learned import LearnedRunTimes
from bursar.beliefs.samples import SampleLog
from bursar.engine.learners import LearnersByKind
from bursar.engine.roles import (
    Advisor,
    Placer,
    Policy,
    Provisioner,
    Replicator,
    kinds_learned,
    learns,
    learns_at_once,
)
from bursar.model.errors import InputError
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, SECOND
from bursar.policies.place.random import RandomPlacer
from bursar.policies.provision.bats import Bats
from bursar.policies.provision.fixed import Fixed
from bursar.policies.provision.frontier import Frontier
from bursar.policies.registry import BUILT_IN, find, make_entry
from bursar.policies.replicate.none import NoReplicas
from bursar.state.events import AttemptEnded, MachineUp, WorkArrived
from bursar.state.run_times import UNKNOWN
from bursar.testing import Scene

ROLES = {"provisioner": Provisioner, "placer": Placer, "replicator": Replicator}
SMALL = Offer("small", Money.parse("0.10"), HOUR, limit=3)
SOURCE = Path(bursar.__file__).parent
ENTRIES = [(role, name) for role in ROLES for name in BUILT_IN[role]]
GOES_WITH = {
    "fitting": "bats",
    "at-risk": "bats",
    "silent": "hedged",
    "ntdmr": "mixed",
    "pooled": "mixed",
}


def made(role, name):
    offered = {
        "fleet": {"small": 3},
        "market": Market("USD", "undated", (SMALL,)),
        "goal": Goal(),
        "sample_log": SampleLog(),
        "size": 3,
        "runtimes": lambda task, machine: HOUR,
    }
    provisioner = make_entry("provisioner", GOES_WITH.get(name, "fixed"), offered)
    return make_entry(role, name, {**offered, "provisioner": provisioner})


@pytest.mark.parametrize(("role", "name"), ENTRIES)
def test_an_entry_has_all_that_its_role_declares(role, name):
    entry, scene = made(role, name), Scene(SMALL, tasks=3)
    assert isinstance(entry, ROLES[role])
    machine = scene.state.machines[scene.machine("small")]
    if learns(entry):
        for event in scene.events:
            entry.saw(event, scene.state)
    if role == "provisioner":
        assert entry.stays_until(machine) >= machine.until
        known = entry.runtimes or UNKNOWN
        assert known.expected("small") is None, "nothing is known before the first result"
    elif role == "placer":
        assert entry.next_task(scene.state, Random(0)) in (None, 1, 2, 3)
    else:
        assert type(entry.before_placing) is int
        assert type(entry.always) is bool


@pytest.mark.parametrize("role", ROLES)
def test_an_entry_that_lacks_what_its_role_declares_is_refused_in_one_line(role):
    class Bare:
        def provision(self, view, now, rng):
            return []

        def renew(self, machine, view, now):
            return None

        def place(self, view, now, rng):
            return []

        def replicate(self, view, now, rng):
            return []

    entries = {"provisioner": Fixed({}), "placer": RandomPlacer(), "replicator": NoReplicas()}
    with pytest.raises(InputError, match=f"Bare is no {role}: .*; inherit from it") as refused:
        Policy(**{**entries, role: Bare()})
    assert "\n" not in str(refused.value)


def test_an_entry_may_implement_its_role_without_inheriting():
    class Whole:
        on_arrival = False
        on_idle = False

        def learns_from(self):
            return None

        def saw(self, event, state):
            self.last = event

        def saw_before(self, view):
            self.last = None

        def place(self, view, now, rng):
            return []

        def next_task(self, view, rng):
            return None

    entry = Whole()
    assert Policy(Fixed({}), entry, NoReplicas()).placer is entry
    assert learns(entry)
    assert learns_at_once(entry)
    assert not learns(RandomPlacer())


def test_an_entry_is_shown_the_events_that_it_learns_from_unless_it_sees_them_in_another_way():
    class Other(Frontier):
        def saw(self, event, state):
            self.last = event

    class Both(Other):
        def learns_from(self):
            return (WorkArrived,)

    entries = (Frontier(), Other(), Both())
    assert [kinds_learned(entry) for entry in entries] == [(AttemptEnded,), None, (WorkArrived,)]
    by_kind = LearnersByKind(entries)
    assert by_kind[AttemptEnded] == entries[:2]
    assert by_kind[WorkArrived] == entries[1:]
    assert by_kind[MachineUp] == entries[1:2]


def test_a_way_to_learn_at_once_does_not_count_for_one_who_sees_events_in_another_way():
    class Other(Bats):
        def saw(self, event, state):
            self.last = event

    class Both(Other):
        def saw_before(self, view):
            self.last = None

    assert [learns_at_once(entry) for entry in (Bats(), Other(), Both())] == [True, False, True]


@pytest.mark.parametrize("package", ["engine", "policies", "runs", "simulate"])
def test_no_member_of_an_entry_is_looked_up_by_name(package):
    """What is declared can be searched for, and is checked by a type checker."""
    of_others = {"strerror", "last_type", "ps1", "kernel"}
    for path in (SOURCE / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "hasattr"):
                name = node.args[1]
                is_a_field = not isinstance(name, ast.Constant)  # of a struct, or of a module
                assert is_a_field or name.value in of_others, f"{path}:{node.lineno}"


@pytest.mark.parametrize("name", BUILT_IN["advisor"])
def test_an_advisor_inherits_from_its_role_and_learns_unless_it_never_advises(name):
    entry = find("advisor", name)
    assert issubclass(entry, Advisor)
    assert learns(entry.__new__(entry)) == (name != "none")


def test_run_times_that_are_given_are_shown_no_events():
    given = GivenRunTimes([SECOND], {"one": 1.0})
    assert not learns(given)
    assert learns(LearnedRunTimes())
