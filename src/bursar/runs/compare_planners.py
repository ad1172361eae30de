"""What planners of the literature make of a workflow: `bursar plan FLOW --compare`.

All take mean run times as certain, and files as shared. HEFT and Hybrid.BMCT place tasks on the
machines of bursar's plan, which are there from the begin; IC-PCP looks for the least cost within
its time; SPSS and DPDS, which know one kind of machine, get its money and time, and the offer that
suits them best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec
import numpy as np

from bursar.model.dag import Dag
from bursar.model.errors import InputError
from bursar.model.fleet import format_fleet
from bursar.model.market import Market
from bursar.model.money import Money, format_money
from bursar.model.plan import Assumed, Plan
from bursar.model.time import SECOND, Time, format_duration
from bursar.model.workflow import Workflow
from bursar.plan.published.bmct import bmct
from bursar.plan.published.dpds import dpds
from bursar.plan.published.ensemble import EnsemblePlan, Member
from bursar.plan.published.icpcp import icpcp
from bursar.plan.published.spss import spss
from bursar.plan.workflow.heft import Network, Placement, heft
from bursar.plan.workflow.packing import Packing, whole_runtimes
from bursar.plan.workflow.schedule import Schedule, microseconds
from bursar.plan.workflow.urgency import urgency
from bursar.runs.known_workflow import KnownWorkflow


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """What one planner would do, if every task took its mean time."""

    planner: str
    machines: str
    makespan_s: float | None
    """None: it has no plan"""
    cost: str | None
    why: str = ""


class _Given(msgspec.Struct, frozen=True):
    dag: Dag
    means: np.ndarray[tuple[int, int], np.dtype[np.float64]]
    """[task, offer] in seconds"""
    market: Market
    """the offers of the columns"""


def compare(flow: Workflow, market: Market, plan: Plan, assumed: Assumed) -> list[Compared]:
    """What others make of a workflow, by what its plan assumed; bursar's plan first."""
    planning, of_task = assumed.planning, plan.assigned
    assert planning is not None and of_task is not None  # noqa: S101
    known = KnownWorkflow.assuming(flow, market, assumed.goal, planning, assumed.measured)
    offers = known.planned_offers
    given = _Given(
        flow.dag,
        known.planned_times.means(),
        Market(market.currency, market.date, offers),
    )
    machines = [plan.fleet.get(offer.name, 0) for offer in offers]
    runtimes = whole_runtimes(given.means[np.arange(len(given.dag)), of_task.tasks])
    packing = Packing(given.dag, urgency(flow), offers)
    own = packing.run(of_task.tasks, machines, runtimes[np.newaxis])
    makespan, cost = int(own.makespans[0]), own.cost(0)
    rows = [_row(f"bursar, {plan.name}", format_fleet(plan.fleet), makespan, cost)]
    rows += [_placed(name, planner, given, machines) for name, planner in _PLACERS.items()]
    rows.append(_by_icpcp(given, makespan))
    budget, deadline = known.goal.budget or cost, known.goal.deadline or makespan
    return [*rows, *_ensembles(given, budget, deadline)]


def _row(planner: str, machines: str, makespan: Time, cost: Money) -> Compared:
    span = makespan / SECOND
    return Compared(planner=planner, machines=machines, makespan_s=span, cost=str(cost))


_PLACERS: dict[str, Callable[..., Placement]] = {"HEFT": heft, "Hybrid.BMCT": bmct}


def _placed(
    name: str, planner: Callable[..., Placement], given: _Given, machines: Sequence[int]
) -> Compared:
    """On these machines, all of which are there from the begin."""
    offer = np.repeat(np.arange(len(machines)), machines)
    network = Network.even(len(machines))
    found = planner(given.dag, given.means, np.zeros(given.dag.edges), offer, network)
    used, place = np.unique(found.machine, return_inverse=True)
    boot = max(given.market.offers[number].boot for number in offer[used])
    begin, end = microseconds(found.begin) + boot, microseconds(found.end) + boot
    return _scheduled(name, Schedule.tight(given.market, offer[used], place, begin, end), given)


def _by_icpcp(given: _Given, deadline: Time) -> Compared:
    network, moved = Network.even(len(given.market.offers)), np.zeros(given.dag.edges)
    try:
        schedule = icpcp(given.dag, given.means, moved, given.market, network, deadline)
    except InputError as error:
        return Compared(planner="IC-PCP", machines="", makespan_s=None, cost=None, why=str(error))
    return _scheduled("IC-PCP", schedule, given)


def _scheduled(name: str, schedule: Schedule, given: _Given) -> Compared:
    counts = np.bincount(schedule.machines, minlength=len(given.market.offers)).tolist()
    fleet = {o.name: n for o, n in zip(given.market.offers, counts, strict=True) if n}
    try:
        schedule.check_limits(given.market)
        why = ""
    except InputError as error:
        why = f"not possible: {error}"
    row = _row(name, format_fleet(fleet), schedule.makespan, schedule.cost(given.market))
    return msgspec.structs.replace(row, why=why)


def _ensembles(given: _Given, budget: Money, deadline: Time) -> Iterator[Compared]:
    """SPSS and DPDS on the offer with which they are done for the least."""
    planners: dict[str, Callable[..., EnsemblePlan]] = {"SPSS": spss, "DPDS": dpds}
    for name, planner in planners.items():
        found: list[tuple[Money, Compared]] = []
        for number, offer in enumerate(given.market.offers):
            alone = Market(given.market.currency, given.market.date, (offer,))
            member = Member(given.dag, np.ascontiguousarray(given.means[:, number]))
            plan = planner([member], offer, budget, deadline)
            if plan.finished:
                one = _Given(given.dag, given.means[:, [number]], alone)
                found.append((plan.schedule.cost(alone), _scheduled(name, plan.schedule, one)))
        if found:
            yield min(found, key=lambda pair: pair[0])[1]
        else:
            money = format_money(budget, given.market.currency)
            time = format_duration(deadline)
            why = f"finds no plan with one kind of machine for {money} in {time}"
            yield Compared(planner=name, machines="", makespan_s=None, cost=None, why=why)
