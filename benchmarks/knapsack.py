"""The fleet for a budget: beside a table of all prices (NumPy), CP-SAT, and trying every fleet.

All get the same market, billed by the hour, at prices in whole cents, and must find fleets of the
same speed and cost. Among equals bursar alone goes on to the fewest machines and the market's
order, most of its time where prices are proportional to speed. Compiling is not counted.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from itertools import product

import msgspec
import numpy as np

from benchmarks.measure import Goal, Line, Result, best_of
from bursar.kernels.knapsack import compiled
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR
from bursar.plan.bag.knapsack import cheapest, fastest, fastest_within

CENT = 10**7
RATES = (1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 15, 16, 18, 20, 24, 30, 36, 40)
"""Tasks in two hours: run times are exact, and speeds are small numbers."""
OURS = "bursar"


class Market(msgspec.Struct, frozen=True):
    """Offers, their run times and rates, the tasks, and a budget between cheapest and fastest."""

    name: str
    offers: Sequence[Offer]
    runtimes: dict[str, int]
    rates: Sequence[int]
    tasks: int
    budget: int
    """in cents"""

    @property
    def prices(self) -> list[int]:
        return [offer.price.nanos // CENT for offer in self.offers]

    @property
    def limits(self) -> list[int]:
        return [offer.limit or 0 for offer in self.offers]

    @property
    def fewest_units(self) -> int:
        """With all machines."""
        return self.units(sum(r * n for r, n in zip(self.rates, self.limits, strict=True)))

    def units(self, rate: int) -> int:
        """Hours for all tasks, entered."""
        return -(-2 * self.tasks // rate)


Answer = tuple[int, int]
"""Rate of the fleet, and its cost in cents."""


def make_market(number: int, machines: int, tasks: int, *, proportional: bool) -> Market:
    rng = random.Random(number)
    rates = [rng.choice(RATES) for _ in range(number)]
    names = [f"offer{index}" for index in range(number)]
    cents = [3 * rate if proportional else rng.randint(1, 400) for rate in rates]
    offers = [
        Offer(name, Money(cent * CENT), limit=machines)
        for name, cent in zip(names, cents, strict=True)
    ]
    runtimes = {name: 2 * HOUR // rate for name, rate in zip(names, rates, strict=True)}
    low, high = (ask(offers, runtimes, tasks).cost.nanos for ask in (cheapest, fastest))
    kind = "proportional" if proportional else "any prices"
    budget = (low + (high - low) // 3) // CENT
    return Market(f"{number} x {machines}, {kind}", offers, runtimes, rates, tasks, budget)


# --- rivals ---------------------------------------------------------------------------------------


def ask_bursar(market: Market) -> Answer:
    budget = Money(market.budget * CENT)
    choice = fastest_within(market.offers, market.runtimes, market.tasks, budget)
    assert choice is not None
    rates = dict(zip(market.runtimes, market.rates, strict=True))
    rate = sum(rates[name] * count for name, count in choice.fleet.items())
    return rate, choice.cost.nanos // CENT


def fill_table(market: Market) -> Answer:
    """The highest rate for every price of an hour, offer by offer, in powers of two machines."""
    best = np.zeros(market.budget // market.fewest_units + 1, dtype=np.int64)
    for price, rate, limit in zip(market.prices, market.rates, market.limits, strict=True):
        left, pieces = limit, 1
        while left:
            taken = min(pieces, left)
            if taken * price < len(best):
                more = best[: -taken * price] + taken * rate
                best[taken * price :] = np.maximum(best[taken * price :], more)
            left, pieces = left - taken, 2 * pieces
    rates = np.maximum(best, 1)
    costs = np.arange(len(best)) * -(-2 * market.tasks // rates)
    affordable = (costs <= market.budget) & (best > 0)
    fastest_rate = best[affordable].max()
    return int(fastest_rate), int(costs[affordable & (best == fastest_rate)].min())


def ask_cp_sat(market: Market) -> Answer:
    """One model for each number of hours, from the fewest."""
    from ortools.sat.python import cp_model

    units = market.fewest_units
    while True:
        model = cp_model.CpModel()
        count = [model.new_int_var(0, limit, "") for limit in market.limits]
        price = sum(p * n for p, n in zip(market.prices, count, strict=True))
        rate = sum(r * n for r, n in zip(market.rates, count, strict=True))
        model.add(price <= market.budget // units)
        model.add(rate * units >= 2 * market.tasks)
        # A step of the rate outweighs any saving.
        model.maximize(rate * (market.budget + 1) - price)
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        if solver.solve(model) == cp_model.OPTIMAL:
            return solver.value(rate), solver.value(price) * units
        units += 1


def try_everything(market: Market) -> Answer:
    best = (0, 0)
    for fleet in product(*(range(limit + 1) for limit in market.limits)):
        rate = sum(r * n for r, n in zip(market.rates, fleet, strict=True))
        if rate:
            cost = market.units(rate) * sum(
                p * n for p, n in zip(market.prices, fleet, strict=True)
            )
            if cost <= market.budget:
                best = max(best, (rate, -cost))
    return best[0], -best[1]


# --- the measuring --------------------------------------------------------------------------------


def measure(rounds: int) -> Result:
    compiled()
    markets = [
        (make_market(3, 24, 5_000, proportional=False), (fill_table, ask_cp_sat, try_everything)),
        (make_market(10, 100, 200_000, proportional=False), (fill_table, ask_cp_sat)),
        (make_market(50, 1000, 9_000_001, proportional=False), (fill_table, ask_cp_sat)),
        (make_market(50, 1000, 9_000_001, proportional=True), (fill_table, ask_cp_sat)),
    ]
    has_solver = find_spec("ortools") is not None
    lines, goals = [], []
    for market, rivals in markets:
        known = [rival for rival in rivals if has_solver or rival is not ask_cp_sat]
        answers = {ask(market) for ask in (ask_bursar, *known)}
        assert len(answers) == 1, f"{market.name}: the answers differ: {answers}"
        turns = {OURS: _repeated(ask_bursar, market)}
        turns |= {NAMES[rival]: _repeated(rival, market, once=True) for rival in known}
        best = best_of(turns, rounds)
        for name, seconds in best.items():
            note = name if name == OURS else f"{name}: {seconds / best[OURS]:.2f} times as long"
            lines.append(Line(market.name, 1000 * seconds, "ms", note))
        most = 100.0 if "proportional" in market.name else 1.0
        goals.append(Goal(market.name, 1000 * best[OURS], "<=", most, "ms"))
    missing = [] if has_solver else ["CP-SAT: pip install ortools"]
    return Result("Fleet knapsack", lines, goals, missing)


NAMES = {fill_table: "table (NumPy)", ask_cp_sat: "CP-SAT", try_everything: "every fleet"}


def _repeated(
    ask: Callable[[Market], Answer], market: Market, *, once: bool = False
) -> Callable[[], float]:
    """The shortest of some tries, in seconds: one is short."""

    def run() -> float:
        shortest = float("inf")
        for _ in range(1 if once else 20):
            began = time.perf_counter()
            ask(market)
            shortest = min(shortest, time.perf_counter() - began)
        return shortest

    return run
