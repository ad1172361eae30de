"""On markets too large to try everything: the same answers as an exact integer solver."""

from __future__ import annotations

import random
from math import lcm

import pytest
from ortools.sat.python import cp_model

from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.plan.bag.knapsack import cheapest, cheapest_within, fastest, fastest_within

CENT = 10**7


class Solver:
    """The knapsacks of all steps, given to CP-SAT one by one; offers are billed alike."""

    def __init__(self, offers, runtimes, tasks):
        period = lcm(*runtimes.values())
        self.offers = offers
        self.speeds = [each.slots * (period // runtimes[each.name]) for each in offers]
        self.work = tasks * period
        self.unit = offers[0].billing

    def fastest_within(self, budget):
        """Speed and cost: the first step that can be paid for."""
        everything = sum(v * o.limit for v, o in zip(self.speeds, self.offers, strict=True))
        units = -(-self.work // (self.unit * everything))
        while True:
            needed = -(-self.work // (self.unit * units))
            speed = self._solve(lambda price, speed: -speed, budget // units, needed)
            if speed is not None:
                price = self._solve(lambda price, speed: price, budget // units, -speed)
                return -speed, price * units
            units += 1

    def cheapest_within(self, units):
        """The least cost at any step up to a number of units."""
        least = []
        for number in range(1, units + 1):
            needed = -(-self.work // (self.unit * number))
            price = self._solve(lambda price, speed: price, 10**18, needed)
            if price is not None:
                least.append(price * number)
        return min(least)

    def _solve(self, objective, most_price, least_speed):
        model = cp_model.CpModel()
        count = [model.new_int_var(0, each.limit, each.name) for each in self.offers]
        price = sum(o.price.nanos // CENT * n for o, n in zip(self.offers, count, strict=True))
        speed = sum(v * n for v, n in zip(self.speeds, count, strict=True))
        model.add(price <= most_price // CENT)
        model.add(speed >= least_speed)
        model.minimize(objective(price, speed))
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        status = solver.solve(model)
        if status == cp_model.INFEASIBLE:
            return None
        assert status == cp_model.OPTIMAL
        found = round(solver.objective_value)
        return found * CENT if objective(1, 0) else found


def market(seed, number, limit, *, proportional, billing=HOUR):
    """Run times divide two hours, so that speeds are small integers."""
    rng = random.Random(seed)
    offers, runtimes = [], {}
    for index in range(number):
        name = f"offer{index}"
        rate = rng.choice([1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 15, 16, 18, 20, 24, 30, 36, 40])
        runtimes[name] = 2 * HOUR // rate
        cents = 3 * rate if proportional else rng.randint(1, 400)
        offers.append(Offer(name, Money(cents * CENT), billing, 0, rng.randint(1, limit)))
    return offers, runtimes


def between(offers, runtimes, tasks, shares):
    """Budgets from that of the cheapest fleet to that of the fastest, in per cent of the way."""
    low = cheapest(offers, runtimes, tasks).cost.nanos
    high = fastest(offers, runtimes, tasks).cost.nanos
    return [(low + (high - low) * share // 100) // CENT * CENT for share in shares]


def reported(choice, solver):
    names = [each.name for each in solver.offers]
    counts = [choice.fleet.get(name, 0) for name in names]
    speed = sum(v * n for v, n in zip(solver.speeds, counts, strict=True))
    return speed, choice.cost.nanos


@pytest.mark.parametrize("proportional", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_the_fastest_fleet_for_a_budget_is_that_of_the_solver(seed, proportional):
    offers, runtimes = market(seed, 12, 100, proportional=proportional)
    tasks = 20_000 + 7 * seed
    solver = Solver(offers, runtimes, tasks)
    for budget in between(offers, runtimes, tasks, (30, 83, 97)):
        choice = fastest_within(offers, runtimes, tasks, Money(budget))
        assert reported(choice, solver) == solver.fastest_within(budget)


@pytest.mark.parametrize("proportional", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_cheapest_fleet_by_a_deadline_is_that_of_the_solver(seed, proportional):
    offers, runtimes = market(seed, 12, 100, proportional=proportional)
    tasks = 20_000 + 7 * seed
    solver = Solver(offers, runtimes, tasks)
    units = 2 + -(-fastest(offers, runtimes, tasks).makespan // HOUR)
    choice = cheapest_within(offers, runtimes, tasks, units * HOUR)
    assert choice.makespan <= units * HOUR
    assert choice.cost.nanos == solver.cheapest_within(units)
    assert reported(choice, solver) == solver.fastest_within(choice.cost.nanos)


@pytest.mark.parametrize("seed", range(3))
def test_fifty_offers_of_a_thousand_machines_at_prices_proportional_to_speed(seed):
    """Where nothing is better value than anything else, no fleet can be ruled out at a glance."""
    offers, runtimes = market(seed, 50, 1000, proportional=True)
    tasks = 1_000_003
    solver = Solver(offers, runtimes, tasks)
    for budget in between(offers, runtimes, tasks, (20, 80)):
        choice = fastest_within(offers, runtimes, tasks, Money(budget))
        assert reported(choice, solver) == solver.fastest_within(budget)


def test_billed_by_the_second_a_hundred_thousand_units_are_not_walked_one_by_one():
    """The least cost is that of the best value for every second of it: nothing can be cheaper."""
    offers, runtimes = market(1, 20, 50, proportional=False, billing=SECOND)
    tasks = 3_000_000
    choice = cheapest(offers, runtimes, tasks)
    assert choice.makespan > 100_000 * SECOND
    fluid = min(each.price.nanos * tasks * runtimes[each.name] // SECOND for each in offers)
    assert fluid <= choice.cost.nanos <= fluid * 1.0001
    deadline = 2 * fastest(offers, runtimes, tasks).makespan
    soon = cheapest_within(offers, runtimes, tasks, deadline)
    assert soon.makespan <= deadline
    assert soon == fastest_within(offers, runtimes, tasks, soon.cost)
    assert cheapest_within(offers, runtimes, tasks, soon.makespan) == soon
    dearer = fastest_within(offers, runtimes, tasks, Money(soon.cost.nanos - 1))
    assert dearer.makespan > deadline > 10 * MINUTE
