"""A workflow in a study: its plan, the run times of its tasks, and the compiled simulation."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.errors import InputError
from bursar.model.money import Money
from bursar.model.release import is_long
from bursar.model.time import SECOND, Time
from bursar.model.work import Work
from bursar.plan.workflow.packing import Packing, whole_runtimes
from bursar.plan.workflow.urgency import urgency
from bursar.policies.presets import PROB
from bursar.report.summary import Spending, Summary, Tasks
from bursar.runs.choosing import choice_of, plan_to_follow
from bursar.runs.known_workflow import KnownWorkflow
from bursar.runs.request import Request
from bursar.simulate.faults import Runtimes
from bursar.state.view import Machine

AT_ONCE: Final = 4_000_000
"""tasks that are simulated in one go: their run times must fit in memory"""
SHORT_OF_MONEY: Final = 0.9
"""With short billing units some money is committed ahead: a run that costs more than this share of
the budget may be held up by it."""


def prepared(request: Request, work: Work, choose: str | None) -> tuple[Request, KnownWorkflow]:
    """The request with the workflow and its plan, and what they were made of."""
    request = msgspec.structs.replace(request, work=work, goal=work.goal(request.goal))
    assert request.flow is not None  # noqa: S101
    known = KnownWorkflow.of(request.flow, request.market, request.goal, request.planning)
    if request.is_to_be_planned:
        request.check_money()
        plan = plan_to_follow(known.offer_plans(), choose, request.market.currency)
        request = msgspec.structs.replace(request, plan=choice_of(plan))
    elif choose is not None:
        choice, fleet = request.asked.option("choose"), request.asked.option("fleet")
        raise InputError(f"{choice} needs machines that cost money and no {fleet}")
    return request, known


def _luck(known: KnownWorkflow, seed: int) -> NDArray[np.int64]:
    """By task, which of the equally likely run times it has, on whatever offer."""
    bins, tasks = known.times.table.shape[1], known.flow.count
    return np.random.default_rng(seed).integers(0, bins, tasks)


def runtimes_of(known: KnownWorkflow, slower: float) -> Callable[[int], Runtimes]:
    """By the seed of a run; so many times longer than was planned for."""
    table, rows = known.times.table, known.times.rows
    column = {offer.name: number for number, offer in enumerate(known.offers)}

    def drawn(seed: int) -> Runtimes:
        luck = _luck(known, seed).tolist()

        def runtime(task: int, machine: Machine) -> Time:
            row = rows[task - 1, column[machine.offer.name]]
            return max(1, round(float(table[row, luck[task - 1]]) * slower * SECOND))

        return runtime

    return drawn


# --- without the engine --------------------------------------------------------------------------


def by_kernel(request: Request, known: KnownWorkflow, seeds: Sequence[int]) -> dict[int, Summary]:
    """The runs, by seed, that the compiled simulation does as the engine would.

    It knows what `prob` does while money suffices; other runs are left to the engine.
    """
    plan, goal = request.plan, request.goal
    if plan is None or plan.assigned is None or request.all_policies() != PROB:
        return {}
    if goal.deadline is not None or request.limits.timeout is not None:
        return {}
    found: dict[int, Summary] = {}
    for part in _parts(seeds, max(1, AT_ONCE // known.flow.count)):
        found.update(_packed(known, plan.assigned.tasks, plan.fleet, part, goal.budget))
    return found


def _parts(seeds: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    for first in range(0, len(seeds), size):
        yield seeds[first : first + size]


def _packed(
    known: KnownWorkflow,
    assigned: Sequence[int],
    fleet: dict[str, int],
    seeds: Sequence[int],
    budget: Money | None,
) -> Iterator[tuple[int, Summary]]:
    offers, times, flow = known.planned_offers, known.planned_times, known.flow
    rows = times.rows[np.arange(flow.count), assigned]
    luck = np.array([_luck(known, seed) for seed in seeds])
    runtimes = whole_runtimes(times.table[rows, luck])
    packing = Packing(flow.dag, urgency(flow), offers)
    machines = [fleet.get(offer.name, 0) for offer in offers]
    runs = packing.run(assigned, machines, runtimes, threads=os.cpu_count() or 1)
    share = 1.0 if all(map(is_long, offers)) else SHORT_OF_MONEY
    for number, seed in enumerate(seeds):
        cost = runs.cost(number)
        if budget is None or cost.nanos <= share * budget.nanos:
            yield (
                seed,
                Summary(
                    run="simulated",
                    status="done",
                    why="",
                    tasks=Tasks(flow.count, flow.count, 0),
                    money=Spending(
                        None if budget is None else str(budget), str(cost), known.market.currency
                    ),
                    makespan_s=int(runs.makespans[number]) / SECOND,
                ),
            )
