"""Laws that hold for every policy, market and faults: money, tasks and machine time."""

from __future__ import annotations

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.engine.roles import Policy
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.policies.place.random import RandomPlacer
from bursar.policies.provision.fixed import Fixed
from bursar.policies.replicate.none import NoReplicas
from bursar.state import events as ev
from bursar.testing import Case, Hostile, arriving, play

offers = st.builds(
    Offer,
    name=st.just("?"),
    price=st.integers(10**8, 10**10).map(Money),
    billing=st.sampled_from([SECOND, 7 * SECOND, MINUTE, 17 * MINUTE, HOUR]),
    minimum=st.sampled_from([0, 0, MINUTE, 61 * SECOND]),
    limit=st.one_of(st.none(), st.integers(0, 5)),
    boot=st.sampled_from([0, 3 * SECOND, 5 * MINUTE]),
    slots=st.integers(1, 3),
    speed=st.sampled_from([0.5, 1.0, 3.0]),
    pool=st.sampled_from(["reliable", "unreliable"]),
)
stops = st.builds(
    ev.StopRequested,
    at=st.integers(2 * HOUR, 5 * HOUR),
    status=st.just("interrupted"),
    why=st.just("enough"),
    now=st.booleans(),
)


@st.composite
def cases(draw):
    kinds = draw(st.lists(offers, min_size=1, max_size=3))
    named = [msgspec.structs.replace(o, name=f"offer{i}") for i, o in enumerate(kinds)]
    charges = [offer.entry_charge.nanos for offer in named]
    most = min(30 * max(charges), 2_000 * min(charges))  # beyond, a hopeless task is tried for ever
    runtimes = draw(st.lists(st.integers(1, 40 * MINUTE), min_size=1, max_size=25))
    first = draw(st.integers(1, len(runtimes)))
    every = draw(st.sampled_from([0, MINUTE, 2 * HOUR]))
    lost = draw(st.lists(st.sampled_from(named), max_size=1))
    return Case(
        market=Market("USD", "2026-01-01", tuple(named)),
        goal=Goal(
            Money(draw(st.integers(0, most))),
            draw(st.one_of(st.none(), st.integers(SECOND, 3 * HOUR))),
        ),
        limits=Limits(draw(st.integers(0, 2)), draw(st.sampled_from([None, 10 * MINUTE]))),
        runtimes=tuple(runtimes),
        outside=(
            *arriving(first, len(runtimes) - first, every=every),
            *draw(st.lists(stops, max_size=1)),
        ),
        failing=draw(st.sampled_from([0.0, 0.2])),
        mean_life={offer.name: draw(st.sampled_from([10 * SECOND, HOUR])) for offer in lost},
        jumpiness=draw(st.sampled_from([0.0, 0.1, 0.5])),
        lead=draw(st.sampled_from([0, SECOND // 4, 90 * SECOND])),
        slow={named[0].name: draw(st.sampled_from([0, SECOND, 5 * MINUTE]))},
        notice=draw(st.sampled_from([0, 5 * SECOND, 2 * MINUTE])),
        scarcity=draw(st.sampled_from([0.0, 0.3, 0.8])),
        silence=draw(st.sampled_from([0.0, 0.3])),
        seed=draw(st.integers(0, 10**6)),
    )


def fixed(case):
    fleet = {offer.name: offer.limit or 3 for offer in case.market.offers}
    return Policy(Fixed(fleet), RandomPlacer(), NoReplicas())


@settings(max_examples=1000)
@given(cases())
def test_no_policy_breaks_the_laws(case):
    hostile = Hostile(case.seed)
    play(case, Policy(hostile, hostile, hostile), most_steps=150)


@settings(max_examples=1000)
@given(cases())
def test_no_market_and_no_misfortune_breaks_the_laws_or_leaves_a_machine(case):
    state = play(case, fixed(case), most_steps=50_000)
    assert state.ended is not None
    assert not state.machines
