"""`bats-table-2.1`: round robin and BaTS in five scenarios (BaTS thesis, table 2.1, section 2.3.4).

1,000 tasks of N(15, 5) minutes on two clusters of 32 machines. The published algorithm is held
against the printed figures, and `bats` as it is by default against round robin and the budgets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
import numpy as np

from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, Time
from bursar.model.work import Bag
from bursar.policies.place.fitting import FittingPlacer
from bursar.policies.place.random import RandomPlacer
from bursar.policies.provision.bats import Bats
from bursar.policies.provision.bats_published import PublishedBats
from bursar.policies.provision.fixed import Fixed
from bursar.policies.registry import Policy
from bursar.policies.replicate.insured import Insured
from bursar.policies.replicate.none import NoReplicas
from bursar.reproduce.result import Reproduction, Row, near, shown_only, within
from bursar.simulate.distributions import normal
from bursar.simulate.fortune import ModelledFortune, given
from bursar.simulate.run import simulate
from bursar.state import RunState

TASKS: Final = 1_000
SEEDS: Final = 30
DEFAULT_SEEDS: Final = range(700, 716)
"""Bags on which the default is tried: others than those on which its constants were chosen."""
MACHINES: Final = 32
SHARE: Final = 0.10
"""How far from the printed figure makespan and cost may be."""
SLOWER: Final = 1.05
"""How much slower than round robin the default may be with the money of round robin."""


class Printed(msgspec.Struct, frozen=True):
    """A row of the table, with the makespan of the text, in minutes."""

    experiment: str
    budget: int | None
    minutes: float
    cost: int
    fleet: tuple[int, int]


class Scenario(msgspec.Struct, frozen=True):
    """What cluster 1 costs and how fast it is; cluster 0 costs $3 and has a speed of one."""

    price: int
    speed: int
    tight: int
    """1.1 times B_min, as the text has it; where that failed the table prints a larger budget"""
    rows: tuple[Printed, ...]


SCENARIOS: Final = {
    "S4-1": Scenario(
        12,
        1,
        1128,
        (
            Printed("RR", None, 246 + 16 / 60, 2034, (32, 32)),
            Printed("BaTS_RR", 2034, 279 + 48 / 60, 2034, (32, 25)),
            Printed("BaTS_Bmin", 1128, 446 + 46 / 60, 1116, (32, 1)),
        ),
    ),
    "S4-3": Scenario(
        12,
        3,
        931,
        (
            Printed("RR", None, 133 + 10 / 60, 1062, (32, 32)),
            Printed("BaTS_RR", 1062, 170 + 5 / 60, 1062, (30, 18)),
            Printed("BaTS_Bmin", 1015, 176 + 26 / 60, 1014, (30, 16)),
        ),
    ),
    "S1-1": Scenario(
        3,
        1,
        831,
        (
            Printed("RR", None, 246 + 15 / 60, 810, (32, 32)),
            Printed("BaTS_RR", 810, 293 + 17 / 60, 804, (32, 20)),
            Printed("BaTS_Bmin", 831, 284 + 23 / 60, 828, (32, 22)),
        ),
    ),
    "S3-4": Scenario(
        9,
        4,
        653,
        (
            Printed("RR", None, 110 + 6 / 60, 768, (32, 32)),
            Printed("BaTS_RR", 768, 108 + 47 / 60, 744, (32, 32)),
            Printed("BaTS_Bmin", 653, 118 + 9 / 60, 651, (1, 32)),
        ),
    ),
    "S1-4": Scenario(
        3,
        4,
        284,
        (
            Printed("RR", None, 110 + 5 / 60, 384, (32, 32)),
            Printed("BaTS_RR", 384, 111 + 28 / 60, 372, (32, 32)),
            Printed("BaTS_Bmin", 309, 116 + 42 / 60, 309, (11, 32)),
        ),
    ),
}


class Ran(msgspec.Struct, frozen=True):
    """One simulated run. `fleet` is the first configuration after the sampling phase."""

    makespan: Time
    cost: Money
    done: int
    fleet: tuple[int, int]


def market(scenario: Scenario) -> Market:
    return Market(
        "USD",
        "2010",
        (
            Offer("cluster0", Money.parse(3), HOUR, limit=MACHINES),
            Offer(
                "cluster1",
                Money.parse(scenario.price),
                HOUR,
                limit=MACHINES,
                speed=float(scenario.speed),
            ),
        ),
    )


def round_robin(scenario: Scenario, seed: int) -> Ran:
    fleet = {offer.name: MACHINES for offer in market(scenario).offers}
    policy = Policy(Fixed(fleet), RandomPlacer(), NoReplicas())
    return _ran(_simulated(scenario, None, policy, seed), fleet)


def published(scenario: Scenario, budget: Money, seed: int) -> Ran:
    bats = Bats(faithful=True)
    state = _simulated(scenario, budget, Policy(bats, RandomPlacer(), NoReplicas()), seed)
    way = bats.way
    first = way.first if isinstance(way, PublishedBats) else None
    return _ran(state, {} if first is None else first.fleet)


def rolling(scenario: Scenario, budget: Money, seed: int) -> Ran:
    bats = Bats()
    policy = Policy(bats, FittingPlacer(bats), Insured(bats))
    return _ran(_simulated(scenario, budget, policy, seed), {})


def _simulated(scenario: Scenario, budget: Money | None, policy: Policy, seed: int) -> RunState:
    runtimes = normal(np.random.default_rng(seed), TASKS).tolist()
    return simulate(
        market(scenario),
        Goal(budget),
        Bag(TASKS),
        policy,
        ModelledFortune(given(runtimes)),
        seed=seed,
    )


def _ran(state: RunState, fleet: dict[str, int]) -> Ran:
    counts = (fleet.get("cluster0", 0), fleet.get("cluster1", 0))
    return Ran(state.last_settled, state.ledger.committed, state.done, counts)


# --- rows -----------------------------------------------------------------------------------------


def reproduce(name: str, seeds: int = SEEDS) -> Reproduction:
    rows: list[Row] = []
    better: list[Row] = []
    for title, scenario in SCENARIOS.items():
        robins = [round_robin(scenario, seed) for seed in range(seeds)]
        for printed in scenario.rows:
            rows.extend(_printed_rows(title, scenario, printed, robins))
        better.extend(_default_rows(title, scenario, DEFAULT_SEEDS[:seeds]))
    return Reproduction(
        name=name,
        title="Round robin and BaTS in five scenarios",
        source="BaTS thesis, table 2.1, makespans from section 2.3.4",
        rows=(*rows, *better),
        assumed=(
            f"means of {seeds} bags (the default: {len(DEFAULT_SEEDS[:seeds])} others); the thesis"
            " has one, whose tasks take some 15.2 minutes on average (see the makespans of B_min)",
            "machines come up at once; the thesis's took a while, which it does not print",
            "eta is the paid time that fits no task: ATU - up_e mod ATU - ft / v",
            "a fleet is the first configuration after the sampling phase, the most frequent one;"
            " in S1-1 the clusters are alike and may be swapped",
        ),
    )


def _printed_rows(
    title: str, scenario: Scenario, printed: Printed, robins: Sequence[Ran]
) -> Iterator[Row]:
    """Makespan, cost and fleet of one experiment beside the printed ones."""
    what = f"{title} {printed.experiment}"
    runs, finished = robins, ""
    if printed.budget is not None:
        budget = Money.parse(printed.budget)
        runs = [published(scenario, budget, seed) for seed in range(len(robins))]
        what = f"{what} (${printed.budget})"
        most = max(run.cost for run in runs)
        finished = _short(runs)
        yield within(f"{what}: dearest, $", None, float(most), 0.0, float(budget))
    yield near(f"{what}: makespan, min", round(printed.minutes, 2), _minutes(runs), SHARE, finished)
    yield near(f"{what}: cost, $", float(printed.cost), _cost(runs), SHARE)
    fleet, times = Counter(run.fleet for run in runs).most_common(1)[0]
    yield shown_only(
        f"{what}: fleet",
        f"{printed.fleet[0]} + {printed.fleet[1]}",
        f"{fleet[0]} + {fleet[1]}",
        f"in {times} of {len(runs)} runs",
    )


def _default_rows(title: str, scenario: Scenario, seeds: Sequence[int]) -> Iterator[Row]:
    """The default with the money of round robin, bag by bag, and with 1.1 times B_min."""
    robins = [round_robin(scenario, seed) for seed in seeds]
    runs = [rolling(scenario, robin.cost, seed) for seed, robin in zip(seeds, robins, strict=True)]
    ratios = [run.makespan / robin.makespan for run, robin in zip(runs, robins, strict=True)]
    dearer = sum(run.cost > robin.cost for run, robin in zip(runs, robins, strict=True))
    what = f"{title} default, budget of RR"
    note = f"slowest {max(ratios):.2f}"
    yield within(f"{what}: makespan / RR", None, _mean(ratios), 0.0, SLOWER, note)
    yield within(f"{what}: runs dearer than RR", None, dearer, 0, 0)
    yield within(f"{what}: finished", None, _finished(runs), 1.0, 1.0, _short(runs))
    tight = [rolling(scenario, Money.parse(scenario.tight), seed) for seed in seeds]
    what = f"{title} default, ${scenario.tight}"
    yield within(f"{what}: finished", None, _finished(tight), 1.0, 1.0, _short(tight))
    yield shown_only(f"{what}: makespan, min", None, _minutes(tight))
    yield shown_only(f"{what}: cost, $", None, _cost(tight))


def _mean(figures: Sequence[float]) -> float:
    return sum(figures) / len(figures)


def _minutes(runs: Sequence[Ran]) -> float:
    return _mean([run.makespan / MINUTE for run in runs])


def _cost(runs: Sequence[Ran]) -> float:
    return _mean([float(run.cost) for run in runs])


def _short(runs: Sequence[Ran]) -> str:
    """A note on the runs that could not pay for all tasks."""
    left = [TASKS - run.done for run in runs if run.done < TASKS]
    if not left:
        return ""
    return f"{len(left)} of {len(runs)} runs end without money, with at most {max(left)} tasks left"


def _finished(runs: Sequence[Ran]) -> float:
    return _mean([float(run.done == TASKS) for run in runs])
