"""`bats-fig-3.5`: the fastest schedule with a cushion and without (BaTS thesis, figure 3.5).

Scenario S4-1 after the sampling phase: all 64 machines for $1920 leave three tasks over, for which
$9 may be kept aside. The figures are those of the text beside the figure (section 3.3.3).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import fmean, median
from typing import Final

import msgspec
import numpy as np

from bursar import events as ev
from bursar.beliefs.progress import Progress
from bursar.model.errors import InvariantError
from bursar.model.goal import Goal
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND, Time
from bursar.model.work import Bag
from bursar.plan.choices import Choice, choose
from bursar.plan.knapsack import fastest
from bursar.policies.place.fitting import FittingPlacer
from bursar.policies.place.random import RandomPlacer
from bursar.policies.provision.bats import Bats
from bursar.policies.provision.bats_published import Cushion, PublishedBats
from bursar.policies.registry import Policy
from bursar.policies.replicate.none import NoReplicas
from bursar.reproduce.bats_scenarios import TASKS, scenario
from bursar.reproduce.result import Reproduction, Row, near, same, shown_only, within
from bursar.simulate.distributions import Runtimes, normal
from bursar.simulate.fortune import ModelledFortune, given
from bursar.simulate.run import simulate
from bursar.state import RunState

SEEDS: Final = 30
MARKET: Final = scenario("S4-1")
LEFT: Final = 963
"""Tasks after the sampling phase, as in table 3.2."""
MEAN: Final = 910 * SECOND
"""of the sample and of the tasks left, as in table 3.2"""
SHARE: Final = 0.1
ONE_TASK: Final = 15.0
"""Minutes by which the delay may differ: a bag ends with a task, which is about this long."""

WITH_MINUTES: Final = 236
WITHOUT_MINUTES: Final = 269

Counts = tuple[int, int]


class Ran(msgspec.Struct, frozen=True):
    """One simulated run; `fleets` are its configurations, each with when it was chosen."""

    makespan: Time
    cost: Money
    done: int
    fleets: tuple[tuple[Time, Counts], ...]


class Watch:
    """An observer that notes the configurations."""

    def __init__(self, bats: Bats) -> None:
        self._way = bats.way
        self.fleets: list[tuple[Time, Counts]] = []

    def saw(self, event: ev.AnyEvent, state: RunState) -> None:
        if isinstance(self._way, PublishedBats) and self._way.choice is not None:
            fleet = _counts(self._way.choice.fleet)
            if not self.fleets or self.fleets[-1][1] != fleet:
                self.fleets.append((event.at, fleet))


def _counts(fleet: dict[str, int]) -> Counts:
    return fleet.get("cluster0", 0), fleet.get("cluster1", 0)


def schedule() -> Choice:
    """Sched4: all machines, and what is kept aside for the tasks they leave over."""
    offers = MARKET.offers
    runtimes: dict[str, Time | None] = {offer.name: MEAN for offer in offers}
    found = choose("", offers, runtimes, LEFT, fastest(offers, runtimes, LEFT).cost)
    if found is None:
        raise InvariantError("the cost of all machines buys all machines")
    return found


def published(seed: int, budget: Money, cushion: Cushion | None = None) -> Ran:
    """The algorithm of chapters 2 and 3; the cushion's money is part of the budget."""
    progress, left = _sampled(seed)
    bats = Bats(progress, faithful=True, cushion=cushion)
    return _run(seed, budget, Policy(bats, RandomPlacer(), NoReplicas()), bats, left)


def rolling(seed: int, budget: Money) -> Ran:
    """The default, which keeps no money aside for a given number of tasks."""
    progress, left = _sampled(seed)
    bats = Bats(progress)
    return _run(seed, budget, Policy(bats, FittingPlacer(bats), NoReplicas()), bats, left)


def _sampled(seed: int) -> tuple[Progress, Runtimes]:
    """What the sampling phase knows of both clusters, and the run times that are left."""
    runtimes = normal(np.random.default_rng(seed), TASKS)
    progress = Progress()
    for offer in MARKET.offers:
        progress.learn_sample(offer.name, _moved(runtimes[LEFT:]).tolist())
    return progress, _moved(runtimes[:LEFT])


def _moved(runtimes: Runtimes) -> Runtimes:
    """The run times, each longer or shorter by as much as their mean is off."""
    return np.maximum(1, runtimes + (MEAN - round(float(runtimes.mean()))))


def _run(seed: int, budget: Money, policy: Policy, bats: Bats, runtimes: Runtimes) -> Ran:
    watch = Watch(bats)
    state = simulate(
        MARKET,
        Goal(budget),
        Bag(LEFT),
        policy,
        ModelledFortune(given(runtimes.tolist())),
        seed=seed,
        observers=(watch,),
    )
    return Ran(state.last_settled, state.ledger.committed, state.done, tuple(watch.fleets))


# --- rows -----------------------------------------------------------------------------------------


def reproduce(name: str, seeds: int = SEEDS) -> Reproduction:
    chosen = schedule()
    budget, more = chosen.cost, chosen.cost + chosen.cushion
    aside = Cushion(chosen.risk, chosen.cushion)
    cushioned = [published(seed, more, aside) for seed in range(seeds)]
    plain = [published(seed, budget) for seed in range(seeds)]
    delay = _minutes(plain) - _minutes(cushioned)
    rows = [
        same("budget of the fastest schedule, $", "1920.00", str(budget)),
        same("tasks that it leaves over", 3, chosen.risk),
        same("cushion, $", "9.00", str(chosen.cushion)),
        *_rows("with cushion", cushioned, WITH_MINUTES, more),
        within("with cushion: median cost, $", 1920, _median_cost(cushioned), 0, float(budget)),
        _last_fleet("with cushion: fleet at the end", "32 + 32", cushioned),
        *_rows("without", plain, WITHOUT_MINUTES, budget),
        _last_fleet("without: fleet after reconfiguring", "32 + 22", plain),
        _when("without: reconfigured after, min", plain),
        within("delay without cushion, min", 33, delay, 33 - ONE_TASK, 33 + ONE_TASK),
        *_default_rows(budget, more, seeds),
    ]
    return Reproduction(
        name=name,
        title="The fastest schedule of scenario S4-1, with a cushion and without",
        source="BaTS thesis, figure 3.5, figures from section 3.3.3",
        rows=tuple(rows),
        assumed=(
            f"means of {seeds} bags; the thesis has one run of each kind",
            f"{LEFT} tasks are left after the sampling phase, with a mean of 910 s in the sample"
            " and in what is left, as in table 3.2; the run times of each bag are moved to it",
            f"the sample sets hold the {TASKS - LEFT} tasks of the sampling phase, alike on both"
            " clusters, which are equally fast",
            "the cushion is part of the budget that no run may exceed; what the thesis's run would"
            " have spent beyond it is not told, as it did not need it",
            "machines come up at once",
        ),
    )


def _rows(what: str, runs: Sequence[Ran], minutes: int, budget: Money) -> Iterator[Row]:
    yield near(f"{what}: makespan, min", minutes, _minutes(runs), SHARE)
    yield within(f"{what}: runs that finished the bag", 1.0, _finished(runs), 1.0, 1.0)
    most = max(run.cost for run in runs)
    yield within(f"{what}: dearest, $", None, float(most), 0.0, float(budget))
    first = Counter(run.fleets[0][1] for run in runs).most_common(1)[0][0]
    yield same(f"{what}: first fleet", "32 + 32", f"{first[0]} + {first[1]}")


def _last_fleet(what: str, paper: str, runs: Sequence[Ran]) -> Row:
    fleet, times = Counter(run.fleets[-1][1] for run in runs).most_common(1)[0]
    return same(what, paper, f"{fleet[0]} + {fleet[1]}", f"in {times} of {len(runs)} runs")


def _when(what: str, runs: Sequence[Ran]) -> Row:
    """When the run without cushion first changes its fleet; one that never does counts as late."""
    first = [run.fleets[1][0] if len(run.fleets) > 1 else run.makespan for run in runs]
    return within(what, None, max(first) / MINUTE, 0.0, HOUR / MINUTE, "in the first hour")


def _default_rows(budget: Money, more: Money, seeds: int) -> Iterator[Row]:
    """What bursar does by default with the same money."""
    for money in (budget, more):
        runs = [rolling(seed, money) for seed in range(seeds)]
        what = f"default, ${money}"
        yield shown_only(f"{what}: makespan, min", None, _minutes(runs))
        finished, note = _finished(runs), _short(runs, money)
        yield within(f"{what}: runs that finished the bag", None, finished, 1.0, 1.0, note)
        most = max(run.cost for run in runs)
        yield within(f"{what}: dearest, $", None, float(most), 0.0, float(money))


def _short(runs: Sequence[Ran], money: Money) -> str:
    """A note on the runs that left tasks."""
    short = [run for run in runs if run.done < LEFT]
    if not short:
        return ""
    most, unspent = max(LEFT - run.done for run in short), max(money - run.cost for run in short)
    return f"{len(short)} of {len(runs)} runs leave {most} or fewer tasks, with up to ${unspent}"


def _minutes(runs: Sequence[Ran]) -> float:
    return fmean(run.makespan / MINUTE for run in runs)


def _median_cost(runs: Sequence[Ran]) -> float:
    return median(float(run.cost) for run in runs)


def _finished(runs: Sequence[Ran]) -> float:
    return fmean(float(run.done == LEFT) for run in runs)
