from __future__ import annotations

import sys

import pytest

from bursar.model.errors import InputError
from bursar.policies import registry
from bursar.policies.place.random import RandomPlacer
from bursar.policies.presets import ROUND_ROBIN
from bursar.policies.provision.fixed import Fixed
from bursar.policies.registry import arguments, check_policies, find, make_policy, names
from bursar.policies.replicate.none import NoReplicas

ELSEWHERE = """
from bursar.engine.roles import Advisor, Replicator

class Oldest(Replicator):
    def __init__(self, patience=3):
        self.patience = patience

    def replicate(self, view, now, rng):
        return []

class Impostor:
    pass

class Fleeted:
    def __init__(self, fleet, patience=3):
        self.fleet = fleet

class Greedy:
    def __init__(self, crystal_ball):
        pass

class Oracle(Advisor):
    def __init__(self, provisioner):
        self.provisioner = provisioner
        self.asked = 0

    def question(self, view, now):
        self.asked += 1
        return None

    def answer(self, question):
        return None

SEVEN = 7
"""

ENTRY_POINTS = """
[bursar.replicator]
oldest = elsewhere_policies:Oldest
absent = nowhere_policies:Oldest
nameless = elsewhere_policies:Youngest
seven = elsewhere_policies:SEVEN
greedy = elsewhere_policies:Greedy

[bursar.provisioner]
fleeted = elsewhere_policies:Fleeted

[bursar.placer]
random = elsewhere_policies:Impostor

[bursar.advisor]
oracle = elsewhere_policies:Oracle
seer = elsewhere_policies:Greedy
"""


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A package of somebody else, installed as pip does."""
    (tmp_path / "elsewhere_policies.py").write_text(ELSEWHERE)
    about = tmp_path / "elsewhere_policies-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: elsewhere-policies\nVersion: 1.0")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("elsewhere_policies", None)


def test_a_policy_is_made_of_entries_by_name_with_their_options():
    policy = make_policy(options={"provisioner": {"fleet": {"small": 2}}})
    assert isinstance(policy.provisioner, Fixed)
    assert policy.provisioner.fleet == {"small": 2}
    assert isinstance(policy.placer, RandomPlacer)
    assert isinstance(policy.replicator, NoReplicas)


@pytest.mark.parametrize(
    ("role", "name"),
    [(role, name) for role, entries in registry.BUILT_IN.items() for name in entries],
)
def test_every_entry_that_bursar_names_is_there(role, name):
    assert callable(find(role, name))
    assert name in names(role)


def test_an_entry_of_another_package_is_found_by_its_entry_point(elsewhere):
    assert "oldest" in names("replicator")
    policy = make_policy(
        replicator="oldest",
        options={"provisioner": {"fleet": {}}, "replicator": {"patience": 7}},
    )
    assert type(policy.replicator).__module__ == "elsewhere_policies"
    assert policy.replicator.patience == 7


def test_no_other_package_can_take_the_name_of_an_entry_of_bursar(elsewhere):
    assert find("placer", "random") is RandomPlacer
    assert names("placer").count("random") == 1


def test_an_unknown_entry_is_reported_with_those_there_are(elsewhere):
    with pytest.raises(InputError, match=r"no replicator 'eldest'; there are .*oldest"):
        make_policy(replicator="eldest", options={"provisioner": {"fleet": {}}})


def test_without_that_package_its_entry_is_unknown():
    with pytest.raises(InputError, match="no replicator 'oldest'"):
        find("replicator", "oldest")


def test_an_unknown_role_is_reported_with_the_nearest():
    with pytest.raises(InputError, match=r"no role 'plazer'; did you mean 'placer'\?"):
        find("plazer", "random")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("absent", "cannot be imported: ModuleNotFoundError: No module named 'nowhere_policies'"),
        ("nameless", "cannot be imported: AttributeError: .*Youngest"),
        ("seven", "is elsewhere_policies:SEVEN, which cannot be called"),
    ],
)
def test_an_entry_that_its_package_does_not_hold_is_reported_with_the_package(
    elsewhere, name, problem
):
    with pytest.raises(InputError, match=f"'{name}' of the package elsewhere-policies {problem}"):
        find("replicator", name)


def test_a_provisioner_gets_the_fleet_if_it_has_a_parameter_for_it(elsewhere):
    assert arguments("provisioner", "fleeted", {"fleet": {"a": 1}}) == {"fleet": {"a": 1}}
    assert arguments("replicator", "oldest", {"fleet": {"a": 1}}) == {}


def test_an_entry_that_needs_what_nobody_gives_is_refused(elsewhere):
    with pytest.raises(InputError, match=r"'greedy' needs .*crystal_ball.*it can get provisioner"):
        check_policies({"replicator": "greedy"})


def test_what_only_a_simulation_knows_is_refused_elsewhere():
    with pytest.raises(InputError, match="'perfect' knows true run times: only bursar simulate"):
        check_policies({"replicator": "perfect"})
    check_policies({"replicator": "perfect"}, simulated=True)


@pytest.mark.parametrize(("placer", "provisioner"), [("fitting", "bats"), ("sample", "sample")])
def test_an_entry_that_reads_what_a_provisioner_knows_goes_with_it_alone(placer, provisioner):
    with pytest.raises(InputError, match=f"goes with the provisioner '{provisioner}' only"):
        check_policies({"placer": placer})
    check_policies({"placer": placer, "provisioner": provisioner})


def test_an_entry_is_found_by_the_name_that_older_journals_have():
    assert registry.find("replicator", "insured") is registry.find("replicator", "at-risk")
    assert "insured" not in registry.names("replicator")


def test_entries_that_serve_one_account_are_refused_where_there_are_several():
    check_policies({"provisioner": "fixed", "placer": "fifo", "replicator": "none"}, accounts=2)
    check_policies({"provisioner": "bats", "placer": "random", "replicator": "none"}, accounts=1)
    reported = "the provisioner 'bats' serves one account, and the run has 2; choose fixed"
    with pytest.raises(InputError, match=reported):
        check_policies({"provisioner": "bats", "placer": "fifo", "replicator": "none"}, accounts=2)
    reported = "the placer 'assigned' serves one account, and the run has 3; choose fifo or random"
    with pytest.raises(InputError, match=reported):
        check_policies({"provisioner": "fixed", "placer": "assigned"}, accounts=3)


def test_an_advisor_of_another_package_is_chosen_by_its_name(elsewhere):
    assert {"none", "oracle", "replan", "tail"} <= set(names("advisor"))
    check_policies({**ROUND_ROBIN, "advisor": "oracle"})
    with pytest.raises(InputError, match=r"'seer' needs .*crystal_ball.*it can get provisioner"):
        check_policies({**ROUND_ROBIN, "advisor": "seer"})
    with pytest.raises(InputError, match="no advisor 'sage'; there are none, oracle"):
        check_policies({**ROUND_ROBIN, "advisor": "sage"})
    policy = make_policy(
        advisor="oracle",
        options={"provisioner": {"fleet": {}}, "advisor": {"provisioner": None}},
    )
    (advisor,) = policy.advisors
    assert type(advisor).__module__ == "elsewhere_policies"


@pytest.mark.parametrize(("advisor", "provisioner"), [("tail", "mixed"), ("replan", "prob")])
def test_an_advisor_that_knows_one_provisioner_goes_with_it_alone(advisor, provisioner):
    reported = f"the advisor '{advisor}' goes with the provisioner '{provisioner}' only"
    with pytest.raises(InputError, match=reported):
        check_policies({**ROUND_ROBIN, "advisor": advisor})
    check_policies({**ROUND_ROBIN, "advisor": "none"})
