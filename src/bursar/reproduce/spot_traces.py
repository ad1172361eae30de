"""`spot-traces`: bursar's strategy on real spot machines, beside two rules that users have today.

Each pool of seats comes from recorded traces of what was available (the data of "Can't Be Late",
NSDI 2024). The engine runs the same bag there from the same moments of the trace under each rule:

- bursar: `mixed`, `pooled` and `ntdmr`, deciding by makespan * cost of the whole bag;
- spot with retry: spot machines only; a lost task is sent again, and waits where none is available;
- spot, then on-demand: a task is tried once on spot; if that is lost, or if none is available, it
  gets an on-demand machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import log
from pathlib import Path
from random import Random
from statistics import fmean, median
from typing import Final

import msgspec

from bursar.engine.roles import Placer, Policy, Provisioner
from bursar.engine.world import Observer
from bursar.formats.spot_trace import read_spot_trace
from bursar.model.errors import InputError, InvariantError
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.text import counted
from bursar.model.time import HOUR, LONGEST, MINUTE, SECOND, Time
from bursar.model.work import Bag
from bursar.policies.advise.tail import TailAdvisor
from bursar.policies.place.pooled import PooledPlacer
from bursar.policies.provision.mixed import Mixed
from bursar.policies.replicate.none import NoReplicas
from bursar.policies.replicate.ntdmr import Ntdmr
from bursar.report.plot import Plot, Series
from bursar.reproduce.result import Reproduction, Row, between, checked, shown_only
from bursar.simulate.faults import ModelledBehaviour, given
from bursar.simulate.run import simulate
from bursar.simulate.spot_trace import SpotTrace, TracedMachines
from bursar.state import events as ev
from bursar.state.actions import Extend, Release, Rent, Start
from bursar.state.view import Machine, View

DATA: Final = Path("../shared/data/spot")
"""From the directory of the project."""
PREFERENCE: Final = "makespan*cost"
OFFSETS: Final = 8
"""Moments of a trace at which a bag begins."""
TASKS_PER_SEAT: Final = 20
FEWEST_TASKS: Final = 60
MEAN: Final = 30 * MINUTE
SPREAD: Final = 0.5
"""The standard deviation of run times is about this part of their mean."""
ON_DEMAND: Final = Money.parse("0.0009")
SPOT: Final = Money.parse("0.0003")
"""For a second: $3.24 and $1.08 an hour, about those of a V100 machine."""
BOOT: Final = MINUTE
NOTICE: Final[Mapping[str, Time]] = {"aws": 2 * MINUTE, "gcp": 30 * SECOND}
OURS: Final = "bursar"
RETRY: Final = "spot with retry"
FALLBACK: Final = "spot, then on-demand"
RULES: Final = (OURS, RETRY, FALLBACK)
ZONE_OFFSETS: Final = 3
ZONE_SEED: Final = 1_000
"""Moments and run times of single zones are none of those that pools have."""
BETTER: Final = 0.97
"""Bursar is to be at least so much better than the rule that leaves spot for what was lost."""
SCARCE: Final = 0.6
"""A pool of which less is there is called scarce."""
HIGHEST: Final = 4.0
"""Bars of the plot are cut off there."""
ASSUMED: Final = (
    "single-node traces of one type and date are one pool of as many seats; those with 4 and 16"
    " nodes are pools of their own; at its end a trace begins again",
    f"{OFFSETS} bags a pool, the same for each rule, from the same moments of the traces",
    f"bursar was developed on these pools; each zone of them alone, with one seat, {ZONE_OFFSETS}"
    " other moments and other run times, was looked at only to judge; that zones are to be 3 %"
    " better was demanded before, but the row that checks it was written after their median was"
    " seen",
    f"{TASKS_PER_SEAT} tasks a seat, at least {FEWEST_TASKS}; log-normal run times with a mean of"
    " 30 minutes and a deviation of half of it, which belong to the task wherever it runs",
    "spot at $1.08 an hour, a third of $3.24 on demand; by the second, at least a minute; a minute"
    " of boot is paid for; at most as many on-demand machines as seats",
    "losses are announced 2 minutes ahead by AWS, 30 seconds by GCP",
)


# --- the data ------------------------------------------------------------------------------------


class SpotPool(msgspec.Struct, frozen=True):
    """Seats of one type of machine, recorded at one time by one cloud."""

    name: str
    traces: tuple[SpotTrace, ...]
    notice: Time

    @property
    def seats(self) -> int:
        return sum(trace.seats for trace in self.traces)

    @property
    def length(self) -> Time:
        return min(trace.length for trace in self.traces)

    @property
    def share(self) -> float:
        """How much of the seats was there, on average."""
        means = (sum(trace.available) / len(trace.available) for trace in self.traces)
        return sum(means) / self.seats

    @property
    def losses(self) -> float:
        """Of a seat in an hour while it is there."""
        lost, hours = 0, 0.0
        for trace in self.traces:
            steps = zip(trace.available, trace.available[1:], strict=False)
            lost += sum(max(0, before - after) for before, after in steps)
            hours += sum(trace.available) * trace.gap / HOUR
        return lost / hours


def trace_files(pattern: str, folder: Path = DATA) -> list[Path]:
    """The recorded traces of this name; at least one."""
    paths = sorted(folder.glob(pattern))
    if not paths:
        raise InputError(
            f"{folder}: no spot traces; get those of Can't Be Late (NSDI 2024) and put them there"
        )
    return paths


def read_pools(folder: Path = DATA) -> list[SpotPool]:
    """Single-node traces of one type and date are one pool; those of several nodes one each."""
    grouped: dict[str, list[Path]] = {}
    for path in trace_files("*_*-node_*.json", folder):
        _, nodes, where, zone, kind = path.stem.split("_", 4)
        cloud, _, date = where.partition("-")
        name = f"{cloud} {date} {kind}"
        if nodes != "1-node":
            name = f"{name} {zone}, {nodes.removesuffix('-node')} nodes"
        grouped.setdefault(name, []).append(path)
    return [
        SpotPool(name, tuple(map(read_spot_trace, some)), NOTICE.get(name.split()[0], 0))
        for name, some in grouped.items()
    ]


# --- the rules -----------------------------------------------------------------------------------


class SpotThenOnDemand(Provisioner, Placer):
    """Provisions and places: spot first, on-demand for what was lost or finds no spot machine."""

    def __init__(self, seats: int) -> None:
        self._seats = seats
        """spot machines to have, and at most as many of the others"""
        self._tried: set[int] = set()
        """tasks that were sent once: whatever of them is ready was lost"""

    def saw(self, event: ev.AnyEvent, state: View) -> None:
        if isinstance(event, ev.AttemptStarted):
            self._tried.add(event.task)

    def provision(self, view: View, now: Time, rng: Random) -> Iterator[Rent | Release]:
        free = Counter(view.machines[number].offer.name for number in view.idle)
        booting = Counter(one.offer.name for one in view.machines.values() if one.up is None)
        lost = sum(task in self._tried for task in view.ready)
        fresh = len(view.ready) - lost
        standing = view.fleet.get("spot", 0)
        for _ in range(min(fresh - free["spot"] - booting["spot"], self._seats - standing)):
            yield Rent("spot", reason="for a task that was not tried yet")
        missing = self._seats - standing if "spot" in view.refusals else 0
        sure = view.fleet.get("on-demand", 0)
        wanted = lost + min(missing - sure + free["on-demand"] + booting["on-demand"], fresh)
        wanted -= free["on-demand"] + booting["on-demand"]
        for _ in range(min(wanted, self._seats - sure)):
            yield Rent("on-demand", reason="for what was lost, or finds no spot machine")
        yield from self._save(view, now)

    def _save(self, view: View, now: Time) -> Iterator[Release]:
        for number in view.idle:
            machine = view.machines[number]
            if machine.refunds(now) and self._task_for(machine, list(view.ready), view) is None:
                yield Release(number, at_once=True, reason="idle")

    def renew(self, machine: Machine, view: View, now: Time) -> Extend | Release:
        has_task = self._task_for(machine, list(view.ready), view) is not None
        is_used = machine.attempts or machine.up is None or has_task
        return Extend(machine.id) if is_used else Release(machine.id, reason="idle")

    def place(self, view: View, now: Time, rng: Random) -> Iterator[Start]:
        ready = sorted(view.ready)
        for number in view.idle:
            task = self._task_for(view.machines[number], ready, view)
            if task is not None:
                ready.remove(task)
                yield Start(task, number)

    def _task_for(self, machine: Machine, ready: Sequence[int], view: View) -> int | None:
        """What was lost goes to on-demand machines alone."""
        lost = (task for task in ready if task in self._tried)
        fresh = (task for task in ready if task not in self._tried)
        if machine.offer.name == "spot":
            return next(fresh, None)
        return next(lost, next(fresh, None) if "spot" in view.refusals else None)


def _market(seats: int, *, spot_only: bool = False) -> Market:
    spot = Offer("spot", SPOT, SECOND, MINUTE, seats, BOOT, pool="unreliable")
    sure = Offer("on-demand", ON_DEMAND, SECOND, MINUTE, seats, BOOT)
    return Market("USD", "undated", (spot,) if spot_only else (spot, sure))


def _policy(rule: str, market: Market, seats: int, seed: int) -> Policy:
    if rule == FALLBACK:
        both = SpotThenOnDemand(seats)
        return Policy(both, both, NoReplicas())
    fleet = {offer.name: seats for offer in market.offers}
    mixed = Mixed(market, fleet, timeout=LONGEST if rule == RETRY else None)
    advisors = () if rule == RETRY else (TailAdvisor(mixed, PREFERENCE, seed=seed),)
    return Policy(mixed, PooledPlacer(), Ntdmr(mixed), advisors)


# --- the runs ------------------------------------------------------------------------------------


class TracedOutcome(msgspec.Struct, frozen=True):
    """Of a bag, or the means over several."""

    makespan: float
    """hours"""
    cost: float
    product: float


def run_times(tasks: int, seed: int) -> list[Time]:
    """Log-normal, so that some tasks take far longer than most."""
    rng, sigma = Random(seed), log(1 + SPREAD**2) ** 0.5
    middle = log(MEAN) - sigma**2 / 2
    return [max(1, round(rng.lognormvariate(middle, sigma))) for _ in range(tasks)]


def execute(
    rule: str, pool: SpotPool, offset: Time, seed: int, observers: Sequence[Observer] = ()
) -> TracedOutcome:
    """Run a bag under a rule, from a moment of the pool's traces on."""
    market = _market(pool.seats, spot_only=rule == RETRY)
    policy = _policy(rule, market, pool.seats, seed)
    tasks = max(FEWEST_TASKS, TASKS_PER_SEAT * pool.seats)
    below = ModelledBehaviour(given(run_times(tasks, seed)))
    behaviour = TracedMachines(below, {"spot": pool.traces}, offset=offset, notice=pool.notice)
    state = simulate(market, Goal(), Bag(tasks), policy, behaviour, seed=seed, observers=observers)
    if state.done < tasks:
        raise InvariantError(f"{rule} on {pool.name}: {state.done} of {tasks} tasks were done")
    makespan, cost = state.last_settled / HOUR, float(state.ledger.committed)
    return TracedOutcome(makespan, cost, makespan * cost)


def compare(
    pool: SpotPool, offsets: int = OFFSETS, rules: Sequence[str] = RULES, first_seed: int = 0
) -> dict[str, TracedOutcome]:
    """By rule, the mean over bags that begin at moments spread over the traces by chance."""
    begins = [int(Random(f"{pool.name}/{one}").random() * pool.length) for one in range(offsets)]
    found = {
        rule: [execute(rule, pool, begin, seed) for seed, begin in enumerate(begins, first_seed)]
        for rule in rules
    }
    return {rule: _mean(outcomes) for rule, outcomes in found.items()}


def single_zones(pools: Sequence[SpotPool]) -> list[SpotPool]:
    """Each zone of which a single machine was recorded, as a pool with one seat."""
    return [
        SpotPool(f"fresh {pool.name} zone {place}", (trace,), pool.notice)
        for pool in pools
        if len(pool.traces) > 1
        for place, trace in enumerate(pool.traces)
    ]


def _mean(outcomes: Sequence[TracedOutcome]) -> TracedOutcome:
    return TracedOutcome(
        fmean(one.makespan for one in outcomes),
        fmean(one.cost for one in outcomes),
        fmean(one.product for one in outcomes),
    )


# --- the table -----------------------------------------------------------------------------------


def reproduce(name: str, folder: Path = DATA, offsets: int = OFFSETS) -> Reproduction:
    pools = read_pools(folder)
    found = {pool.name: compare(pool, offsets) for pool in pools}
    alone = {
        zone.name.removeprefix("fresh "): compare(
            zone, min(offsets, ZONE_OFFSETS), (OURS, FALLBACK), ZONE_SEED
        )
        for zone in single_zones(pools)
    }
    return Reproduction(
        name=name,
        title="Makespan * cost on real spot machines: bursar's strategy beside two rules of users",
        source="traces of Can't Be Late, NSDI 2024; no figure of a paper",
        rows=(
            *_overall(found.values()),
            *_of_zones({zone: _ratio(one, FALLBACK) for zone, one in alone.items()}),
            *(row for pool in pools for row in _rows(pool, found[pool.name])),
        ),
        assumed=ASSUMED,
        plots=(_plot(found),),
    )


def _ratio(outcomes: Mapping[str, TracedOutcome], rule: str) -> float:
    return outcomes[OURS].product / outcomes[rule].product


def _overall(found: Collection[Mapping[str, TracedOutcome]]) -> Iterator[Row]:
    for rule in RULES[1:]:
        mean = fmean(_ratio(outcomes, rule) for outcomes in found)
        note = f"mean over {counted(len(found), 'pool')} of the ratio of makespan * cost"
        band = between(0, 1, "no worse than the rule, over all pools")
        yield checked(f"all pools: {OURS} by {rule}", mean, band, note=note)


def _of_zones(ratios: Mapping[str, float]) -> Iterator[Row]:
    name = f"zones one by one: {OURS} by {FALLBACK}"
    worst = max(ratios, key=lambda zone: ratios[zone])
    yield checked(
        f"{name}, median",
        median(ratios.values()),
        between(0, BETTER, f"at least {1 - BETTER:.0%} better, on pools not looked at before"),
        note=f"{counted(len(ratios), 'zone')}; mean {fmean(ratios.values()):.3f}",
    )
    yield shown_only(f"{name}, worst zone", None, ratios[worst], worst)


def _rows(pool: SpotPool, outcomes: Mapping[str, TracedOutcome]) -> Iterator[Row]:
    there = f"{counted(pool.seats, 'seat')}, {pool.share:.0%} there"
    for rule in RULES:
        one = outcomes[rule]
        note = f"{one.makespan:.1f} h, ${one.cost:.1f}"
        yield shown_only(f"{pool.name}: {rule}, $ * h", None, round(one.product), note)
    for rule in RULES[1:]:
        ratio = _ratio(outcomes, rule)
        note = f"{there}, {pool.losses:.2f} losses an hour of each{_reason(pool, ratio)}"
        yield shown_only(f"{pool.name}: {OURS} by {rule}", None, ratio, note)


def _reason(pool: SpotPool, ratio: float) -> str:
    """Why it does not win, where it does not."""
    if ratio < 1:
        return ""
    if pool.share < SCARCE:
        return "; much runs on demand under both, and the pool is judged by what it gave so far"
    rare = "nothing is ever lost" if not pool.losses else "losses are rare"
    return f"; {rare}, but a task four times as long as most may be taken for lost"


def _plot(found: Mapping[str, Mapping[str, TracedOutcome]]) -> Plot:
    best = {pool: min(one.product for one in rules.values()) for pool, rules in found.items()}
    return Plot(
        title="Makespan * cost on real spot machines; 1 is the best rule of a pool",
        across="pool, in the order of the table",
        upward="makespan * cost by that of the best",
        series=tuple(
            Series(
                rule,
                tuple(
                    (float(place), rules[rule].product / best[pool])
                    for place, (pool, rules) in enumerate(found.items())
                ),
                "bars",
            )
            for rule in RULES
        ),
        categories=tuple(str(place) for place in range(1, len(found) + 1)),
        top=HIGHEST,
    )
