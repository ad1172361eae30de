"""A workload simulated with several autoscalers and placers, all on the same works.

    study = study_scaling(workload, ScalingSetting(market=market, provisioners=("react", "plan")))

Each run goes to its end, compiled where that is the same as by the engine. It is compared with the
same workload on machines that are all always up (`ALWAYS_UP`), which no account has to rent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import add
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.estimates import GivenByOffer, GivenRunTimes
from bursar.beliefs.learned import LearnedRunTimes
from bursar.engine.roles import Policy
from bursar.model.errors import InputError, instead_of, shown
from bursar.model.fleet import Fleet
from bursar.model.goal import Goal
from bursar.model.market import Market
from bursar.model.time import SECOND, Time
from bursar.model.workload import Workload
from bursar.policies.presets import SUITED
from bursar.policies.provision.fixed import Fixed
from bursar.policies.registry import (
    check_policies,
    make_entry,
    make_placer,
    plain_name,
    with_retries,
)
from bursar.policies.replicate.none import NoReplicas
from bursar.report.ranking import Scores, rank
from bursar.runs.faults import Faults
from bursar.runs.scaling_figures import ALWAYS_UP, FigureReader, ScaledWorkload, moments_of
from bursar.simulate.estimate_errors import UNKNOWN, EstimateError
from bursar.simulate.faults import Runtimes, traced
from bursar.simulate.placing import RULES, place_workload
from bursar.simulate.scaled import ScaledRun, demand_at, run_scaled
from bursar.simulate.workload_schedule import WorkloadSchedule
from bursar.simulate.world import Behaviour
from bursar.state.run_times import RunTimes, UnknownRunTimes

Longs = NDArray[np.int64]
STEP: Final[Time] = 10 * SECOND
"""between the moments at which demand and supply are compared"""
PLACER: Final = "backfill"
"""as in chapter 4"""


class ScalingSetting(msgspec.Struct, frozen=True):
    """What is tried."""

    market: Market
    provisioners: tuple[str, ...]
    placers: tuple[str, ...] = ()
    """none: what suits each provisioner"""
    goal: Goal = Goal()
    fleet: Fleet | None = None
    """the most machines of each offer; None: the limits of the offers"""
    interval: Time | None = None
    """between decisions; None: that of the provisioner"""
    error: EstimateError = EstimateError()
    """of the run times that entries know, if they know any"""
    faults: Faults = Faults()
    """what goes wrong with attempts and machines"""
    seed: int = 0
    step: Time = STEP

    def pairs(self) -> list[tuple[str, str]]:
        """Each provisioner with each placer, or with the one that suits it."""
        return [
            (provisioner, placer)
            for provisioner in self.provisioners
            for placer in (self.placers or (suited_placer(provisioner),))
        ]

    def limits(self) -> dict[str, int | None]:
        """By offer, the most machines that there can be; None: no limit."""
        found: dict[str, int | None] = {}
        for offer in self.market.offers:
            asked = None if self.fleet is None else self.fleet.get(offer.name, 0)
            known = [limit for limit in (offer.limit, asked) if limit is not None]
            found[offer.name] = min(known, default=None)
        return found

    def size(self) -> int | None:
        """Slots of the system; None: there is no limit."""
        slots = [
            None if limit is None else limit * self.market[name].slots
            for name, limit in self.limits().items()
        ]
        return None if None in slots else sum(one for one in slots if one is not None)


class ScalingStudy(msgspec.Struct, frozen=True):
    """All runs, and last the one whose machines are always up."""

    works: int
    tasks: int
    size: int
    """slots of the system"""
    step_s: float
    runs: tuple[ScaledWorkload, ...]

    def scores(self) -> dict[str, Scores]:
        """By the names of the runs (workload thesis, 4.8)."""
        return rank({run.name: run.figures() for run in self.runs}, ALWAYS_UP)


def suited_placer(provisioner: str) -> str:
    """The placer of a provisioner for which none was named."""
    return SUITED.get(plain_name(provisioner), {}).get("placer", PLACER)


def study_scaling(
    workload: Workload,
    setting: ScalingSetting,
    watched: Callable[[Sequence[tuple[str, str]]], Iterator[tuple[str, str]]] = iter,
) -> ScalingStudy:
    """Simulate all; `watched` gives the pairs of names one by one, and sees how it goes."""
    _check(workload, setting)
    arrays, times = workload.arrays, workload.times_on(setting.market)
    known = None
    if setting.error.kind != "none":
        known = setting.error.estimates(arrays, np.random.default_rng(setting.seed))
    runs = []
    for provisioner, placer in watched(setting.pairs()):
        policy = policy_for(workload, setting, provisioner, placer, known)
        runs.append(
            run_scaled(
                workload,
                setting.market,
                setting.goal,
                policy,
                runtimes=None if times is None else traced(times),
                behaviour=_behaviour_for(setting),
                seed=setting.seed,
            )
        )
    size = setting.size() or max(_most_demand(run, setting.step) for run in runs)
    base = always_up(workload, setting, size)
    reader = FigureReader(workload, setting.market, setting.goal, size, setting.step, base)
    pairs = zip(setting.pairs(), runs, strict=True)
    read = [reader.of(*names, run) for names, run in pairs]
    return ScalingStudy(
        len(arrays.arrived),
        len(arrays),
        size,
        setting.step / SECOND,
        (*read, reader.of_base(base_placer(setting))),
    )


def _behaviour_for(setting: ScalingSetting) -> Callable[[Runtimes], Behaviour] | None:
    """What goes wrong; None: nothing does."""
    faults = setting.faults
    if faults.is_none:
        return None
    return lambda times: faults.behaviour(setting.market, times, setting.seed)


def _check(workload: Workload, setting: ScalingSetting) -> None:
    if setting.error.kind != "none" and workload.times_on(setting.market) is not None:
        raise InputError(
            f"{workload.name} has run times by offer, which are known as they are; ask for no"
            " errors of estimates"
        )
    accounts = [account.name for account in setting.goal.accounts]
    setting.faults.check_market(setting.market, lambda name: f"--{name.replace('_', '-')}")
    for provisioner, placer in setting.pairs():
        policies = {"provisioner": provisioner, "placer": placer, "replicator": "none"}
        check_policies(policies, simulated=True, accounts=max(1, len(accounts)))
    for number, arrival in enumerate(workload.arrivals, 1):
        owner = arrival.work.owner
        if accounts and owner not in accounts:
            whose = f"belongs to {shown(owner)}" if owner else "has no owner"
            raise InputError(
                f"work {number} of {workload.name} {whose}, who has no budget;"
                f" {instead_of(owner, accounts)}"
            )
    cheapest = setting.market.cheapest_entry
    for name, budget in setting.goal.budgets().items():
        if budget is not None and budget.amount < cheapest:
            whose = f" of {name}" if name else ""
            raise InputError(
                f"the budget{whose}, {budget.amount}, buys no machine: the cheapest costs"
                f" {cheapest}; raise it"
            )


def policy_for(
    workload: Workload,
    setting: ScalingSetting,
    provisioner: str,
    placer: str,
    known: Longs | None = None,
    runtimes: RunTimes | None = None,
) -> Policy:
    """The entries of these names; `known` are run times with errors, in place of true ones.

    `runtimes` take the place of what the setting says of run times.
    """
    offered = {"market": setting.market, "fleet": setting.fleet, "goal": setting.goal}
    if setting.interval is not None:
        offered["interval"] = setting.interval  # type: ignore[assignment]
    autoscaler = make_entry("provisioner", provisioner, offered)
    made = make_placer(placer, {}, len(setting.goal.accounts))
    return Policy(
        autoscaler,
        with_retries(made, autoscaler, setting.market),
        NoReplicas(),
        runtimes=runtimes or _runtimes_for(workload, setting, known),
    )


def _runtimes_for(workload: Workload, setting: ScalingSetting, known: Longs | None) -> RunTimes:
    """What entries know of run times."""
    if setting.error.is_learned:
        return LearnedRunTimes()
    if setting.error.kind == UNKNOWN:
        return UnknownRunTimes()
    if by_offer := _known_by_offer(workload, setting.market):
        return by_offer
    speeds = {offer.name: offer.speed for offer in setting.market.offers}
    times = workload.arrays.taken if known is None else known
    return GivenRunTimes(times.tolist(), speeds)


def _known_by_offer(workload: Workload, market: Market) -> GivenByOffer | None:
    """Run times by offer with transfers of files, if the workload has such times."""
    times = workload.times_on(market)
    if times is None:
        return None
    moved = workload.arrays.transfers.tolist()
    return GivenByOffer({name: list(map(add, own, moved)) for name, own in times.items()})


def base_placer(setting: ScalingSetting) -> str:
    """The first placer that is compiled."""
    return next((one for one in setting.placers if plain_name(one) in RULES), PLACER)


def always_up(workload: Workload, setting: ScalingSetting, size: int) -> WorkloadSchedule:
    """The same workload on machines that are all there from the begin; compiled where speeds tell.

    Run times by offer are for the engine: a fleet that is rented at once, and never leaves.
    """
    times = workload.times_on(setting.market)
    if times is not None:
        return _always_up_by_offer(workload, setting, size, times)
    speeds: list[float] = []
    for offer in setting.market.offers:
        limit = setting.limits()[offer.name]
        count = size - len(speeds) if limit is None else limit * offer.slots
        speeds += [offer.speed] * max(0, count)
    return place_workload(workload.arrays, speeds, base_placer(setting), seed=setting.seed)


def _always_up_by_offer(
    workload: Workload, setting: ScalingSetting, size: int, times: Mapping[str, Sequence[Time]]
) -> WorkloadSchedule:
    fleet = {name: size if most is None else most for name, most in setting.limits().items()}
    offers = tuple(
        msgspec.structs.replace(offer, boot=0, limit=fleet[offer.name])
        for offer in setting.market.offers
    )
    market = msgspec.structs.replace(setting.market, offers=offers)
    policy = Policy(
        Fixed(fleet),
        make_placer(base_placer(setting), {}, 0),
        NoReplicas(),
        runtimes=_known_by_offer(workload, market),
    )
    alone = [
        msgspec.structs.replace(a, work=msgspec.structs.replace(a.work, owner=""))
        for a in workload.arrivals
    ]
    shared = msgspec.structs.replace(workload, arrivals=tuple(alone))
    return run_scaled(
        shared, market, Goal(), policy, runtimes=traced(times), seed=setting.seed
    ).schedule


def _most_demand(run: ScaledRun, step: Time) -> int:
    every = np.ones(len(run.eligible), dtype=bool)
    moments = moments_of(run.schedule, step)
    return max(1, int(demand_at(moments, run.eligible, run.schedule.end, every).max()))
