"""`prob-network-cost`: what moving files costs, within the budget (Prob, equation 2).

Equation 2 adds a cost of the network to each task, whatever its offer. So it takes a part of the
budget that no assignment can save. Where the budget and both its bounds include it, as a share of
the way from the cheapest offer to the dearest, it changes nothing; where a budget was meant for
rent alone, it does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.errors import InvariantError
from bursar.reproduce import prob_setting
from bursar.reproduce.prob_execution import EXECUTIONS, WorkflowExecutions
from bursar.reproduce.prob_fig_6 import FASTER
from bursar.reproduce.prob_methods import PROB, WORST, MethodChoice, Methods
from bursar.reproduce.prob_setting import BUDGETS, DATA, ProbCase
from bursar.reproduce.result import Reproduction, Row, between, checked, shown_only

Floats = NDArray[np.float64]

PRICE: Final = 0.01
"""dollars for a gigabyte that crosses the network"""
GIGABYTE: Final = 1e9
PART: Final = 0.1
"""of a budget that the network takes where no price is given"""
ERRORS: Final = 3.0
UNCHANGED: Final = between(0, 0, "the same amount on both sides of equation 2")
ASSUMED: Final = (
    *prob_setting.ASSUMED,
    f"${PRICE} for each GB that a task reads from another one, which EC2 charges between zones; the"
    " paper names no price",
    "at that price the network is more expensive than all machines here; so the last rows of"
    " a budget have"
    f" a price at which it takes {PART:.0%} of the budget, whatever the assignment",
    f"times and costs are means of {EXECUTIONS} executions; the figures of the paper are judged in"
    " prob-fig-6, where the network is free",
)


class Costed(msgspec.Struct, frozen=True, eq=False):
    """The published search under one budget, with the cost of the network and without."""

    case: ProbCase
    label: str
    rent: float
    """the budget, for rent alone"""
    network: float
    free: dict[str, MethodChoice | None]
    """the network costs nothing"""
    included: dict[str, MethodChoice | None]
    """the budget includes it, and so do its bounds"""
    pressed: dict[str, MethodChoice | None]
    """a part of the budget goes to the network"""
    ours: tuple[MethodChoice | None, MethodChoice | None]
    """the product's search, free and included"""


def network_costs(case: ProbCase) -> Floats:
    """[task] in dollars, for what it reads of other tasks."""
    costs: Floats = case.profiles.network / GIGABYTE * PRICE
    return costs


def compare(case: ProbCase) -> Iterator[Costed]:
    costs = network_costs(case)
    plain, costed, total = Methods(case), Methods(case, costs), float(costs.sum())
    for label, share in BUDGETS.items():
        budget = case.budget(share)
        yield Costed(
            case=case,
            label=label,
            rent=budget,
            network=total,
            free=plain.published(budget),
            included=costed.published(budget + total),
            pressed=Methods(case, costs * (PART * budget / total)).published(budget),
            ours=(plain.prob(budget), costed.prob(budget + total)),
        )


def reproduce(
    name: str, folder: Path = DATA, given: Sequence[ProbCase] | None = None, count: int = EXECUTIONS
) -> Reproduction:
    cases = prob_setting.cases(folder) if given is None else given
    return Reproduction(
        name=name,
        title="The cost of the network within the budget",
        source="Prob, equation 2",
        rows=tuple(row for case in cases for row in rows(case, count)),
        assumed=ASSUMED,
    )


def rows(case: ProbCase, count: int = EXECUTIONS) -> Iterator[Row]:
    executions, total = WorkflowExecutions(case, count), float(network_costs(case).sum())
    moved = case.profiles.network.sum() / GIGABYTE
    yield shown_only(f"{case.name}: network, $", None, total, f"{moved:,.1f} GB")
    for one in compare(case):
        yield from _rows(one, executions)


def _rows(one: Costed, executions: WorkflowExecutions) -> Iterator[Row]:
    title, free, included = f"{one.case.name}, {one.label}", one.free[PROB], one.included[PROB]
    if free is None or included is None:
        raise InvariantError(f"{title}: Prob found nothing within its budget")
    what = "tasks with another offer, if the budget and its bounds include the network"
    for whose, before, after in (("published search", free, included), ("ours", *one.ours)):
        if before is None or after is None:
            raise InvariantError(f"{title}: nothing was found within the budget")
        changed = int(np.sum(before.offers != after.offers))
        yield checked(f"{title}, {whose}: {what}", changed, UNCHANGED)
    time = executions.run(free.offers).time
    worst = one.included[WORST]
    paper = FASTER[one.label].get(one.case.name)
    what = f"{title}: Prob is faster than Worst-case, %"
    if worst is None:
        yield shown_only(what, paper, "N/A", "Worst-case finds nothing")
    else:
        slower = executions.run(worst.offers).time
        share = 100 * one.network / (one.rent + one.network)
        note = f"the network is {share:.1f} % of the budget"
        yield shown_only(what, paper, 100 * (1 - time / slower), note)
    yield from _pressed_rows(title, one, executions, time)


def _pressed_rows(
    title: str, one: Costed, executions: WorkflowExecutions, time: float
) -> Iterator[Row]:
    """A tenth of the budget goes to the network."""
    free, pressed, network = one.free[PROB], one.pressed[PROB], PART * one.rent
    if free is None or pressed is None:
        raise InvariantError(f"{title}: Prob found nothing within its budget")
    title = f"{title}, network {PART:.0%} of the budget"
    ignored = executions.run(free.offers).cost + network
    what = f"{title}: spent by Prob that leaves it out, by the budget"
    yield shown_only(what, None, ignored / one.rent, f"${one.rent:.2f}")
    outcome = executions.run(pressed.offers)
    chance = f"{ERRORS:g} standard errors of {len(outcome.costs)} executions"
    band = between(0, 1 + ERRORS * outcome.cost_error / one.rent, chance)
    what = f"{title}: spent by Prob, by the budget"
    note = f"it takes {outcome.time / time:.2f} of the time with a free network"
    yield checked(what, (outcome.cost + network) / one.rent, band, note=note)
