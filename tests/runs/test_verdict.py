"""Whether a budget will do, before anything is spent."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag
from bursar.plan.bag.known_fleet import KnownFleet
from bursar.runs.request import Request
from bursar.runs.verdict import chance_within, fleet_before, fleet_in_words, share_in_words, verdict

QUAD = Offer("quad", Money.parse("0.001"), SECOND, MINUTE, 20, 30 * SECOND, 4)
KNOWN = KnownFleet({"quad": 3}, 0.94, 5 * MINUTE, 6 * MINUTE, Money.parse("1"), Money.parse("1.1"))
REQUEST = Request(
    market=Market("USD", "2026-01-01", (QUAD,)),
    goal=Goal(Money.parse("1.2")),
    bag=Bag(60),
    runtime=MINUTE,
    deviation=10 * SECOND,
)


@pytest.mark.parametrize(
    ("chance", "reported"),
    [
        (1.0, "will do (over 99 %)"),
        (0.94, "will probably do (94 %)"),
        (0.3, "will probably not do (30 %)"),
        (0.0, "will not do: about $1.00 is needed"),
    ],
)
def test_a_verdict_has_the_chance(chance, reported):
    assert verdict(replace(KNOWN, chance=chance), "USD") == reported


def test_a_fleet_has_its_time_and_cost():
    reported = fleet_in_words(KNOWN, "USD")
    assert reported == "fleet: 3 quad; time 5.0 min (P90 6.0 min), cost $1.00 (P90 $1.10)"


def test_more_money_has_a_higher_chance():
    chances = [
        fleet_before(replace(REQUEST, goal=Goal(Money.parse(money)))).chance
        for money in ("0.8", "0.97", "1.2")
    ]
    assert chances == sorted(chances)
    assert chances[0] == 0
    assert chances[-1] > 0.95


@pytest.mark.parametrize(
    "change",
    [
        {"runtime": None, "deviation": None},
        {"goal": Goal(Money.parse("1.2"), HOUR)},
        {"goal": Goal(Money.parse("1.2"), every=HOUR)},
        {"fleet": {"quad": 2}},
    ],
)
def test_nothing_is_said_where_nobody_can_know(change):
    assert fleet_before(replace(REQUEST, **change)) is None


@pytest.mark.parametrize(
    ("limit", "chance"), [(10.0, 0.5), (12.0, 0.9), (8.0, 0.1), (100.0, 1.0), (0.0, 0.0)]
)
def test_the_chance_of_a_plan_is_that_of_its_quantiles(limit, chance):
    assert chance_within(10.0, 12.0, limit) == pytest.approx(chance, abs=0.001)


def test_where_the_quantiles_are_one_figure_the_chance_is_no_more_than_they_say():
    assert chance_within(10.0, 10.0, 11.0) == 0.9
    assert chance_within(10.0, 10.0, 9.0) == 0.0
    assert chance_within(10.0, 10.0, 20.0) == 1.0
    assert share_in_words(0.9) == "90 % or more"
