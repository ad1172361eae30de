from __future__ import annotations

from bursar.engine.roles import Policy
from bursar.policies.place.random import RandomPlacer
from bursar.policies.provision.fixed import Fixed
from bursar.policies.replicate.none import NoReplicas
from bursar.state import events as ev
from bursar.testing import Hostile, arriving, calm_case, hard_cases, play


def fixed(case):
    fleet = {offer.name: offer.limit or 2 for offer in case.market.offers}
    return Policy(Fixed(fleet), RandomPlacer(), NoReplicas())


def test_the_same_seed_is_the_same_cases():
    assert list(hard_cases(20, 1)) == list(hard_cases(20, 1))
    assert list(hard_cases(20, 1)) != list(hard_cases(20, 2))


def test_hard_cases_end_in_every_way_a_run_can():
    ends = {play(case, fixed(case)).ended.status for case in hard_cases(60)}
    assert ends == {"done", "failed", "budget", "deadline", "interrupted"}


def test_a_calm_case_is_done():
    state = play(calm_case(), fixed(calm_case()))
    assert state.ended.status == "done"
    assert state.done == 12


def test_a_hostile_policy_is_stopped_by_nobody_but_its_budget():
    hostile = Hostile(1)
    state = play(calm_case(), Policy(hostile, hostile, hostile), most_steps=300)
    assert state.machines_rented > 3
    assert state.ledger.committed <= state.ledger.budget


def test_play_ends_after_so_many_steps():
    assert play(calm_case(), fixed(calm_case()), most_steps=3).ended is None


def test_bags_arrive_one_after_the_other():
    first, second, end = arriving(2, 3, every=10)
    assert (first.at, first.work.count) == (0, 2)
    assert (second.at, second.work.count) == (10, 3)
    assert end == ev.ArrivalsEnded(10)
