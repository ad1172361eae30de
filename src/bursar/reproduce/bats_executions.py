"""Executions that begin after a sampling phase: figures 3.4 and 3.5, and sections 6.2.2 to 6.2.8.

BaTS knows the sample sets of all clusters, and the user has selected a schedule (thesis, figure
2.4). Runs are simulated; what the thesis leaves open is assumed alike in all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Final

import msgspec

from bursar.beliefs.progress import Progress
from bursar.engine.roles import Policy
from bursar.model.fleet import Fleet
from bursar.model.goal import Goal
from bursar.model.market import Market
from bursar.model.money import Money
from bursar.model.time import MINUTE, Time
from bursar.model.work import Bag
from bursar.plan.bag.choices import Choice
from bursar.plan.bag.knapsack import FleetChoice
from bursar.policies.place.fitting import FittingPlacer
from bursar.policies.place.random import RandomPlacer
from bursar.policies.provision.bats import Bats
from bursar.policies.provision.bats_published import Cushion, PublishedBats
from bursar.policies.replicate.none import NoReplicas
from bursar.reproduce.result import Row, between, checked, judged
from bursar.simulate.distributions import Runtimes
from bursar.simulate.faults import ModelledBehaviour, given
from bursar.simulate.run import simulate
from bursar.state import events as ev
from bursar.state.state import RunState

SPREAD: Final = 0.1
SPREAD_REASON: Final = "one run there; runs vary from -10 % to 10 % (thesis, 4.5.5)"
"""The thesis's own words of normal bags, for makespans and costs of single runs."""

MOST: Final = between(0.5, 1.0, "the one run there finished; so must most here")

Counts = tuple[int, ...]
"""Machines of each offer, in the market's order."""


class Sampled(msgspec.Struct, frozen=True):
    """What the sampling phase leaves: the tasks that it did not do, and the sample sets.

    Run times are those on a machine of speed 1; on others they are proportionally shorter.
    """

    market: Market
    left: Runtimes
    sample: Runtimes
    seed: int


class Ran(msgspec.Struct, frozen=True):
    """One simulated run; `fleets` are its configurations, each with when it was chosen."""

    makespan: Time
    cost: Money
    done: int
    fleets: tuple[tuple[Time, Counts], ...] = ()

    @property
    def last_fleet(self) -> Counts:
        return self.fleets[-1][1]


class Watch:
    """An observer that notes the configurations."""

    def __init__(self, bats: Bats, market: Market) -> None:
        self._way = bats.way
        self._market = market
        self.fleets: list[tuple[Time, Counts]] = []

    def saw(self, event: ev.AnyEvent, state: RunState) -> None:
        if isinstance(self._way, PublishedBats) and self._way.choice is not None:
            fleet = counts_of(self._way.choice.fleet, self._market)
            if not self.fleets or self.fleets[-1][1] != fleet:
                self.fleets.append((event.at, fleet))


def counts_of(fleet: Mapping[str, int], market: Market) -> Counts:
    return tuple(fleet.get(offer.name, 0) for offer in market.offers)


def fleet_of(counts: Sequence[int], market: Market) -> Fleet:
    return {o.name: count for o, count in zip(market.offers, counts, strict=True) if count}


def schedule_of(choice: Choice) -> FleetChoice:
    """What an execution follows of a schedule in the list of choices."""
    return FleetChoice(choice.fleet, choice.units, choice.makespan, choice.cost)


def published(
    case: Sampled, budget: Money, selected: FleetChoice, cushion: Cushion | None = None
) -> Ran:
    """The algorithm of chapters 2 and 3; the cushion's money is part of the budget."""
    bats = Bats(_progress(case), faithful=True, cushion=cushion, selected=selected)
    return _run(case, budget, Policy(bats, RandomPlacer(), NoReplicas()), bats)


def rolling(case: Sampled, budget: Money) -> Ran:
    """The default, which keeps no money aside for a given number of tasks."""
    bats = Bats(_progress(case))
    return _run(case, budget, Policy(bats, FittingPlacer(bats), NoReplicas()), bats)


def _progress(case: Sampled) -> Progress:
    progress = Progress()
    for offer in case.market.offers:
        runtimes = (max(1, round(time / offer.speed)) for time in case.sample.tolist())
        progress.learn_sample(offer.name, runtimes)
    return progress


def _run(case: Sampled, budget: Money, policy: Policy, bats: Bats) -> Ran:
    watch = Watch(bats, case.market)
    state = simulate(
        case.market,
        Goal(budget),
        Bag(len(case.left)),
        policy,
        ModelledBehaviour(given(case.left.tolist())),
        seed=case.seed,
        observers=(watch,),
    )
    return Ran(state.last_settled, state.ledger.committed, state.done, tuple(watch.fleets))


# --- figures of many runs -------------------------------------------------------------------------


def minutes(runs: Sequence[Ran]) -> float:
    """The mean makespan of those that did as many tasks as any: of those that finished, if any."""
    most = max(run.done for run in runs)
    return fmean(run.makespan / MINUTE for run in runs if run.done == most)


def cost(runs: Sequence[Ran]) -> float:
    """The mean cost."""
    return fmean(float(run.cost) for run in runs)


def usual(fleets: Sequence[Counts]) -> tuple[Counts, str]:
    """The most frequent fleet, and a note on how frequent it is."""
    fleet, times = Counter(fleets).most_common(1)[0]
    return fleet, f"in {times} of {len(fleets)} runs"


def fleet_text(counts: Sequence[int]) -> str:
    return " + ".join(map(str, counts))


def finished(runs: Sequence[Ran], tasks: int) -> int:
    """Runs that have done all tasks."""
    return sum(run.done == tasks for run in runs)


def finish_row(what: str, runs: Sequence[Ran], tasks: int) -> Row:
    """Whether most runs finish, as the one of the thesis did."""
    done = finished(runs, tasks)
    short = [tasks - run.done for run in runs if run.done < tasks]
    note = f"{done} of {len(runs)}"
    if short:
        note += f"; the others end with {min(short)} to {max(short)} tasks that they cannot pay for"
    return judged(f"{what}: share of runs that finish", 1.0, done / len(runs), MOST, note=note)


def dearest_row(what: str, runs: Sequence[Ran], budget: Money) -> Row:
    """No run exceeds its budget."""
    most = float(max(run.cost for run in runs))
    band = between(0.0, float(budget), "no run exceeds its budget")
    return checked(f"{what}: dearest, $", most, band, note=f"mean {cost(runs):,.4g}")
