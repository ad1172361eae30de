"""The best schedule of a small workload within a budget per interval, and how far policies are.

    study = study_optimum(workload, OptimumSetting(market=market, budget=budget))

Run times, arrivals and intervals are cut into slots. Policies run by the engine on the very same
slotted workload, without boots, so that what they do is a schedule of the model, too: the best of
them is where the search begins, and each is compared with what it found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from math import gcd
from time import monotonic, process_time
from typing import Final

import msgspec
import numpy as np

from bursar.beliefs.estimates import GivenByOffer
from bursar.model.dag import frozen, topological_order
from bursar.model.errors import InputError, shown
from bursar.model.goal import Budget, Goal
from bursar.model.market import Market, Offer
from bursar.model.time import SECOND, Time, format_duration
from bursar.model.work import Work
from bursar.model.workflow import Workflow
from bursar.model.workload import Arrival, Workload
from bursar.plan.optimum.greedy import greedy
from bursar.plan.optimum.search import Optimum, optimum
from bursar.plan.optimum.slotted import (
    Aim,
    Placed,
    SlottedOffer,
    SlottedSchedule,
    SlottedTask,
    SlottedWorkload,
    completions,
    cost_of,
    problems,
)
from bursar.runs.scaling_study import ScalingSetting, policy_for, suited_placer
from bursar.simulate.faults import traced
from bursar.simulate.scaled import run_scaled

MOST_TASKS: Final = 1000
"""beyond which no search comes to anything"""
ROOM: Final = 1.25
"""intervals that there are, by those that a greedy schedule takes"""
BESIDE: Final = ("react", "pfa", "plf", "scf")


class OptimumSetting(msgspec.Struct, frozen=True):
    """What is searched for, and for how long."""

    market: Market
    budget: Budget
    """for each interval, which is the billing interval, too"""
    slot: Time = 5 * SECOND
    aim: Aim = "lateness"
    seconds: float = 120.0
    within: float = 0.0
    """the search ends once it is known to be as near the best, as a share of what it found"""
    intervals: int | None = None
    """that there are; None: as many as a greedy schedule takes, and some more"""
    beside: tuple[str, ...] = BESIDE
    """autoscalers that are set beside it"""
    times: Mapping[str, Sequence[Time]] = {}
    """by offer, of each task, where its speed does not tell it; none: as the workload has them"""


class SlottedPolicy(msgspec.Struct, frozen=True):
    """What a policy comes to in the same model."""

    name: str
    cost: int | None
    """what was minimised; None: its schedule is none of the model, or does not end in time"""
    response_s: float
    """mean over works"""
    by_optimum: float
    """mean response by that of the best schedule"""


class OptimumStudy(msgspec.Struct, frozen=True):
    """The best schedule, its bound, and policies beside it."""

    works: int
    tasks: int
    slots: int
    aim: Aim
    cost: int
    bound: int
    gap: float
    """how much better the best could be, at the most, as a share of what was found"""
    is_optimal: bool
    seconds: float
    """that policies and the search took"""
    processor_s: float
    """processor time that they took, of all processors together"""
    response_s: float
    """mean over works"""
    bound_response_s: float | None
    """no schedule has a lower mean; None where responses are not what was minimised"""
    policies: tuple[SlottedPolicy, ...]


def study_optimum(workload: Workload, setting: OptimumSetting) -> OptimumStudy:
    """Search, and compare policies with what was found; every constraint is checked."""
    begin, used = monotonic(), process_time()
    small, order = slotted_workload(workload, setting)
    schedules = {name: _policy_schedule(name, workload, setting, order) for name in setting.beside}
    usable = [one for one in schedules.values() if one is not None and not problems(small, one)]
    start = min(usable, key=lambda one: cost_of(small, one, setting.aim), default=None)
    found = optimum(
        small,
        setting.aim,
        seconds=setting.seconds,
        clock=monotonic,
        begun=begin,
        within=setting.within,
        start=start,
    )
    took, used = monotonic() - begin, process_time() - used
    broken = problems(small, found.schedule)
    if broken:
        raise InputError(f"the schedule that was found breaks a rule: {broken[0]}; report this")
    mean = _mean_response(small, found.schedule, setting.slot)
    return OptimumStudy(
        works=len(small.arrivals),
        tasks=len(small.tasks),
        slots=small.horizon,
        aim=setting.aim,
        cost=found.cost,
        bound=found.bound,
        gap=found.gap,
        is_optimal=found.is_optimal,
        seconds=took,
        processor_s=used,
        response_s=mean,
        bound_response_s=_bound_response(small, found, setting),
        policies=tuple(
            _beside(name, schedule, small, setting, mean) for name, schedule in schedules.items()
        ),
    )


def slotted_workload(
    workload: Workload, setting: OptimumSetting
) -> tuple[SlottedWorkload, list[int]]:
    """The workload in slots, and by its tasks their numbers in the workload, from 0.

    Times are rounded up, arrivals to the next slot; parents come before their children.
    """
    arrays, slot = workload.arrays, setting.slot
    if len(arrays) > MOST_TASKS:
        raise InputError(
            f"{workload.name} has {len(arrays):,} tasks; the optimum is for at most"
            f" {MOST_TASKS:,}: use fewer works"
        )
    every = setting.budget.every
    if every is None or every % slot:
        raise InputError(
            f"the budget needs an interval of whole slots of {format_duration(slot)}; write for"
            f" example 30/{3 * slot // SECOND}s"
        )
    offers = setting.market.offers
    _check_one_slot(offers)
    prices = [offer.charge(every).nanos for offer in offers]
    if min(prices) <= 0:
        raise InputError("the optimum within a budget needs offers that cost money; set prices")
    unit = reduce(gcd, prices)
    order = topological_order(arrays.children, arrays.parents.counts()).tolist()
    place_of = {task: place for place, task in enumerate(order)}
    times = slotted_times(workload, setting)
    tasks = tuple(
        SlottedTask(
            int(arrays.work[task]),
            tuple(times[offer.name][task] // slot for offer in offers),
            tuple(sorted(place_of[one] for one in arrays.parents.of(task).tolist())),
        )
        for task in order
    )
    found = SlottedWorkload(
        arrivals=tuple(-(-int(at) // slot) for at in arrays.arrived),
        tasks=tasks,
        offers=tuple(
            SlottedOffer(len(tasks) if o.limit is None else o.limit, price // unit)
            for o, price in zip(offers, prices, strict=True)
        ),
        budget=setting.budget.amount.nanos // unit,
        interval=every // slot,
        intervals=setting.intervals or 1,
    )
    return (found if setting.intervals else _with_room(found, setting.aim)), order


def _check_one_slot(offers: Sequence[Offer]) -> None:
    """Counts of machines say which fleet is paid for only where a machine runs one task at a time.

    With several, it matters which tasks share a machine when an interval ends.
    """
    for offer in offers:
        if offer.slots != 1:
            raise InputError(
                f"the optimum is for machines of one slot; {shown(offer.name)} has {offer.slots}:"
                " set slots = 1"
            )


def slotted_times(workload: Workload, setting: OptimumSetting) -> dict[str, list[Time]]:
    """By offer, what each task of the workload takes, in whole slots of at least one."""
    slot, arrays = setting.slot, workload.arrays
    known = setting.times or workload.times_on(setting.market) or {}
    runtimes, transfers = arrays.runtimes.tolist(), arrays.transfers.tolist()
    return {
        offer.name: [
            max(1, -(-(_time_on(offer, task, time, known) + moved) // slot)) * slot
            for task, (time, moved) in enumerate(zip(runtimes, transfers, strict=True))
        ]
        for offer in setting.market.offers
    }


def _time_on(offer: Offer, task: int, time: Time, known: Mapping[str, Sequence[Time]]) -> Time:
    if offer.name in known:
        return known[offer.name][task]
    return round(time / offer.speed)


def _with_room(small: SlottedWorkload, aim: Aim) -> SlottedWorkload:
    """As many intervals as a greedy schedule takes, and a quarter more."""
    least = max(small.ends) // small.interval + 1
    work = sum(min(task.takes) for task in small.tasks) // small.interval + 1
    for intervals in (least, 2 * least, 4 * least, least + work):
        tried = msgspec.structs.replace(small, intervals=intervals)
        found = greedy(tried, aim)
        if found is not None:
            last = max(completions(tried, found))
            needed = round(ROOM * last / small.interval) + 1
            return msgspec.structs.replace(small, intervals=needed)
    raise InputError("the budget is too small for this workload to end; give more")


# --- policies in the same model ------------------------------------------------------------------


def _policy_schedule(
    name: str, workload: Workload, setting: OptimumSetting, order: list[int]
) -> SlottedSchedule | None:
    """What a policy does with the slotted workload; None: it does not end."""
    market = _without_boots(setting)
    times = slotted_times(workload, setting)
    rounded = _in_slots(workload, times[market.offers[0].name], setting.slot)
    goal = Goal(setting.budget.amount, every=setting.budget.every)
    scaling = ScalingSetting(
        market=market, provisioners=(name,), goal=goal, interval=setting.budget.every
    )
    policy = policy_for(rounded, scaling, name, suited_placer(name), runtimes=GivenByOffer(times))
    run = run_scaled(rounded, market, goal, policy, runtimes=traced(times))
    if not run.schedule.is_whole:
        return None
    places = {offer.name: place for place, offer in enumerate(market.offers)}
    machines, starts = run.schedule.machine.tolist(), run.schedule.start.tolist()
    return [
        Placed(places[run.stays[machines[task]].offer], starts[task] // setting.slot)
        for task in order
    ]


def _without_boots(setting: OptimumSetting) -> Market:
    """Machines that are there at once, billed by the interval."""
    every = setting.budget.every or 0
    offers = tuple(
        msgspec.structs.replace(offer, boot=0, billing=every, minimum=0, price=offer.charge(every))
        for offer in setting.market.offers
    )
    return msgspec.structs.replace(setting.market, offers=offers)


def _in_slots(workload: Workload, times: list[Time], slot: Time) -> Workload:
    """The same works, arriving at slots, with these times."""
    arrivals, first = [], 0
    for place, arrival in enumerate(workload.arrivals):
        work, count = arrival.work, arrival.work.count
        if work.workflow is None:
            raise InputError(f"work {place + 1} of {shown(workload.name)} is a bag; use workflows")
        takes = [time / SECOND for time in times[first : first + count]]
        dag = msgspec.structs.replace(work.workflow.dag, runtimes=frozen(np.array(takes), float))
        changed = Work(Workflow.of(dag), priority=work.priority)
        arrivals.append(Arrival(-(-arrival.at // slot) * slot, changed))
        first += count
    return Workload(tuple(arrivals), workload.name)


def _mean_response(small: SlottedWorkload, schedule: SlottedSchedule, slot: Time) -> float:
    ends: Sequence[int] = completions(small, schedule)
    spans = [end - begin for end, begin in zip(ends, small.arrivals, strict=True)]
    return sum(spans) / len(spans) * slot / SECOND


def _bound_response(
    small: SlottedWorkload, found: Optimum, setting: OptimumSetting
) -> float | None:
    if setting.aim != "response":
        return None
    return found.bound / len(small.arrivals) * setting.slot / SECOND


def _beside(
    name: str,
    schedule: SlottedSchedule | None,
    small: SlottedWorkload,
    setting: OptimumSetting,
    best: float,
) -> SlottedPolicy:
    if schedule is None:
        return SlottedPolicy(name, None, float("nan"), float("nan"))
    mean = _mean_response(small, schedule, setting.slot)
    cost = cost_of(small, schedule, setting.aim)
    return SlottedPolicy(name, cost, mean, mean / best if best else float("nan"))
