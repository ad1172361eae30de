"""The chosen fleet is the best of all fleets: all are tried, in plain integers, and compared."""

from __future__ import annotations

from itertools import product
from math import lcm

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.plan.bag import knapsack_bounded
from bursar.plan.bag.knapsack import cheapest, cheapest_within, fastest, fastest_within
from bursar.plan.bag.knapsack_market import FleetMarket

BILLING = {
    "by the hour": lambda draw: (HOUR, 0),
    "by the second": lambda draw: (SECOND, MINUTE),
    "by the minute, with a minimum": lambda draw: (MINUTE, draw(st.integers(0, 5 * MINUTE))),
    "each its own": lambda draw: (
        draw(st.sampled_from([SECOND, 7 * SECOND, MINUTE, HOUR])),
        draw(st.sampled_from([0, 0, 61 * SECOND, HOUR, HOUR + 1])),
    ),
}

whole_runtimes = st.integers(1, 40).map(lambda minutes: minutes * MINUTE)
any_runtimes = st.integers(1, 40 * MINUTE)
whole_prices = st.integers(0, 9).map(lambda amount: amount * 10**9)
any_prices = st.integers(1, 2 * 10**9)


@st.composite
def markets(draw):
    """Up to four offers with up to six machines each, alike or not, and a number of tasks."""
    number = draw(st.integers(1, 4))
    billing = BILLING[draw(st.sampled_from(sorted(BILLING)))]
    prices = draw(st.sampled_from(["whole", "any", "proportional", "nearly proportional"]))
    runtimes = draw(st.sampled_from([whole_runtimes, any_runtimes]))
    offers, times = [], {}
    for index in range(number):
        name = f"offer{index}"
        slots = draw(st.sampled_from([1, 1, 2, 3, 8]))
        times[name] = draw(runtimes)
        if prices == "whole":
            price = draw(whole_prices)
        elif prices == "any":
            price = draw(any_prices)
        else:
            times[name] = 12 * MINUTE // draw(st.sampled_from([1, 2, 3, 4]))
            price = slots * 12 * MINUTE // times[name] * 10**8
            price += draw(st.integers(-9, 9)) if prices == "nearly proportional" else 0
        unit, minimum = billing(draw)
        limit = draw(st.integers(0, 6 if number < 4 else 4))
        offers.append(Offer(name, Money(price), unit, minimum, limit, slots=slots))
    if not any(each.limit for each in offers):
        offers[0] = Offer("offer0", offers[0].price, limit=1)
    return offers, times, draw(st.one_of(st.integers(1, 60), st.integers(1, 5000)))


class Tried:
    """A fleet that was tried: the same estimates, written down once more."""

    def __init__(self, offers, runtimes, tasks, counts):
        period = lcm(*(runtimes[each.name] for each in offers))
        slots = [each.slots * (period // runtimes[each.name]) for each in offers]
        self.speed = sum(count * rate for count, rate in zip(counts, slots, strict=True))
        self.makespan = -(-tasks * period // self.speed)
        charges = [each.charge(self.makespan).nanos for each in offers]
        self.cost = sum(count * charge for count, charge in zip(counts, charges, strict=True))
        self.machines = sum(counts)
        self.counts = counts
        pairs = zip(offers, counts, strict=True)
        self.fleet = {each.name: count for each, count in pairs if count}

    @property
    def by_speed(self):
        return self.speed, -self.cost, -self.machines, self.counts

    @property
    def by_cost(self):
        return -self.cost, self.speed, -self.machines, self.counts


def try_all(offers, runtimes, tasks):
    counts = product(*(range(each.limit + 1) for each in offers))
    return [Tried(offers, runtimes, tasks, each) for each in counts if any(each)]


def assert_is(choice, tried):
    if tried is None:
        assert choice is None
    else:
        assert (choice.fleet, choice.makespan, choice.cost.nanos) == (
            tried.fleet,
            tried.makespan,
            tried.cost,
        )


@pytest.fixture(params=["plain", "compiled"])
def form(request, monkeypatch):
    """Small problems are solved in plain Python until compiled code is loaded."""
    is_loaded = request.param == "compiled"
    monkeypatch.setattr(knapsack_bounded, "is_loaded", lambda: is_loaded)


@pytest.mark.usefixtures("form")
class TestAgainstAllFleets:
    """Budgets and deadlines are those of some fleet, one less, and one more."""

    @settings(max_examples=400)
    @given(markets(), st.data())
    def test_the_fastest_within_a_budget_is_the_fastest_of_all_that_cost_no_more(
        self, market, data
    ):
        fleets = try_all(*market)
        some = data.draw(st.sampled_from(fleets)).cost
        for budget in (some - 1, some, some + 1):
            paid = [each for each in fleets if each.cost <= budget]
            best = max(paid, key=lambda each: each.by_speed, default=None)
            assert_is(fastest_within(*market, Money(budget)), best)

    @settings(max_examples=400)
    @given(markets(), st.data())
    def test_the_cheapest_by_a_deadline_is_the_cheapest_of_all_that_end_by_then(self, market, data):
        fleets = try_all(*market)
        some = data.draw(st.sampled_from(fleets)).makespan
        for deadline in (some - 1, some, some + 1):
            early = [each for each in fleets if each.makespan <= deadline]
            best = max(early, key=lambda each: each.by_cost, default=None)
            assert_is(cheapest_within(*market, deadline), best)

    @settings(max_examples=400)
    @given(markets())
    def test_the_cheapest_and_the_fastest_are_the_first_and_the_last_of_all(self, market):
        fleets = try_all(*market)
        assert_is(cheapest(*market), max(fleets, key=lambda each: each.by_cost))
        assert_is(fastest(*market), max(fleets, key=lambda each: each.by_speed))

    @settings(max_examples=200)
    @given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 6), st.integers(1, 6), st.data())
    def test_work_that_fills_whole_units_exactly_is_paid_for_exactly(self, a, b, m, n, data):
        """Run times divide the hour, tasks are chosen so that the fleet ends on the hour."""
        offers = [
            Offer("a", Money(data.draw(st.integers(1, 99))), HOUR, limit=m),
            Offer("b", Money(data.draw(st.integers(1, 99))), HOUR, limit=n),
        ]
        runtimes = {"a": 5 * MINUTE * a, "b": 5 * MINUTE * b}
        period = lcm(a, b)
        tasks = 12 * (m * (period // a) + n * (period // b))
        for number in (tasks - 1, tasks, tasks + 1):
            if number:
                fleets = try_all(offers, runtimes, number)
                everything = max(fleets, key=lambda each: each.by_speed)
                if number == tasks:
                    assert everything.makespan == period * HOUR
                budget = Money(everything.cost)
                assert_is(fastest_within(offers, runtimes, number, budget), everything)
                assert_is(
                    cheapest(offers, runtimes, number), max(fleets, key=lambda each: each.by_cost)
                )


@settings(max_examples=400)
@given(markets())
def test_a_fleet_cheaper_than_the_best_value_alone_takes_no_longer_than_was_reported(given_market):
    market = FleetMarket(*given_market)
    if not market.priced or market.free_speed:
        return
    fleets = try_all(*given_market)
    known = max(each.cost for each in fleets) // market.quantum
    least, longest = market.try_best_value(market.slowest(), known)
    cheaper = [each.makespan for each in fleets if each.cost < least * market.quantum]
    assert max(cheaper, default=0) <= longest


@settings(max_examples=300)
@given(markets(), st.data())
def test_no_fleet_takes_less_time_than_could_be_paid_if_all_were_divisible(given_market, data):
    market = FleetMarket(*given_market)
    if not market.priced:
        return
    fleet = data.draw(st.sampled_from(try_all(*given_market)))
    full = sum(fleet.fleet.get(each.name, 0) == each.limit for each in given_market[0])
    if market.free_speed and full < len(given_market[0]):
        return  # machines that cost nothing are always counted
    money = fleet.cost // market.quantum
    assert market.could_pay(fleet.makespan, money)
    assert market.could_pay(2 * fleet.makespan, money)
