"""`prob-fig-6`: Prob, Average and Worst-case within a budget (Prob, figure 6 and section 6.2).

Judged is the published search. It moves all tasks of a level and kind together, so that much of a
budget may be left over, for Average as well, which then keeps it by accident. The product's search
stands beside it, with demands of our own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from bursar.model.errors import InvariantError
from bursar.report.plot import Plot, Series
from bursar.reproduce import prob_setting
from bursar.reproduce.prob_execution import EXECUTIONS, SEED, ExecutionOutcome, WorkflowExecutions
from bursar.reproduce.prob_methods import AVERAGE, PROB, PROB_MEAN, WORST, MethodChoice, Methods
from bursar.reproduce.prob_quality import (
    DRAWN,
    NEAR_BEST,
    least_by_group,
    mean_makespan,
    small_rows,
)
from bursar.reproduce.prob_setting import BUDGETS, DATA, ProbCase, of_average
from bursar.reproduce.result import (
    Band,
    Reproduction,
    Row,
    between,
    checked,
    judged,
    rounded,
    same,
    shown_only,
)

REPEATED: Final = 20
"""times so many executions; only their costs are drawn"""
KEPT: Final = 98
"""of 100 executions must keep a budget that is a 99th percentile"""
NONE_FOUND: Final = "N/A"
"""Worst-case finds nothing within the budget"""
UNPRINTED: Final = "neither the histograms nor what the workflows move are printed"
ERRORS: Final = 3.0
"""so many standard errors may a mean be off"""
GROUP_SAMPLES: Final = 256
GROUP_SEED: Final = 7
FASTER: Final[Mapping[str, Mapping[str, int | str]]] = {
    "tight": {"Montage": 51, "CyberShake": "N/A", "Q1": 36, "Q9": "N/A"},
    "loose": {"Montage": 24, "CyberShake": 37, "Q1": 19, "Q9": 26},
}
"""By how much Prob is faster than Worst-case, in per cent."""
TOO_LOW: Final[Mapping[str, int]] = {"Montage": 2, "CyberShake": 14, "Q1": 12, "Q9": 20}
"""By how much Average takes costs for too low under the tight budget, at most, in per cent."""
ASSUMED: Final = (
    *prob_setting.ASSUMED,
    "the published search takes the budget for the mean of the cost (equation 2); ours for its 99th"
    " percentile, and by expectation for the mean",
    f"a mean is within the budget if it is above it by no more than {ERRORS:g} standard errors of"
    f" {EXECUTIONS} executions, and Average breaks it if above by more",
    "to keep a budget with a chance of 0.99, Prob aims higher by two standard errors of its own"
    f" samples: at exactly 0.99, {KEPT - 1} or fewer of {EXECUTIONS} executions come about in 8 of"
    " 100 cases",
    "bandwidths of tasks being independent, the cost of a thousand tasks hardly varies, and a"
    " method that takes it for 2 % too low breaks the budget in nearly all executions",
)


class Judged(msgspec.Struct, frozen=True, eq=False):
    """A choice and its executions."""

    choice: MethodChoice
    outcome: ExecutionOutcome


class ComparedMethods(msgspec.Struct, frozen=True, eq=False):
    """All methods under one budget; those that found nothing are left out."""

    case: ProbCase
    label: str
    budget: float
    ours: dict[str, Judged]
    published: dict[str, Judged]
    kept: float
    """executions of a hundred in which Prob keeps the budget"""
    repeated: int
    """hundreds of executions of which that is the mean"""

    @property
    def name(self) -> str:
        return f"{self.case.name}, {self.label}"


def compare(
    case: ProbCase, count: int = EXECUTIONS, repeated: int = REPEATED
) -> list[ComparedMethods]:
    """All methods under both budgets."""
    methods, executions = Methods(case), WorkflowExecutions(case, count)
    more = [WorkflowExecutions(case, count, SEED + turn) for turn in range(repeated)]
    found = []
    for label, share in BUDGETS.items():
        budget = case.budget(share)
        ours = _judged(methods.ours(budget), executions)
        published = _judged(methods.published(budget), executions)
        if PROB not in ours or PROB_MEAN not in ours:
            raise InvariantError(f"{case.name}, {label}: Prob found nothing within its budget")
        offers = ours[PROB].choice.offers
        kept = np.mean([np.mean(one.costs(offers) <= budget) for one in more])
        found.append(
            ComparedMethods(case, label, budget, ours, published, 100 * float(kept), repeated)
        )
    return found


def _judged(
    choices: Mapping[str, MethodChoice | None], executions: WorkflowExecutions
) -> dict[str, Judged]:
    return {
        name: Judged(choice, executions.run(choice.offers))
        for name, choice in choices.items()
        if choice is not None
    }


def reproduce(name: str, folder: Path = DATA) -> Reproduction:
    return figure(name, [one for case in prob_setting.cases(folder) for one in compare(case)])


def figure(name: str, found: Sequence[ComparedMethods], drawn: int = DRAWN) -> Reproduction:
    """All rows, and those on small workflows by so many executions."""
    return Reproduction(
        name=name,
        title="Expected time and cost within a budget: Prob beside Average and Worst-case",
        source="Prob, figure 6 and section 6.2",
        rows=(
            *published_rows(found),
            *(row for one in found for row in rows(one)),
            *small_rows(drawn),
            *(row for one in found for row in _group_rows(one)),
        ),
        assumed=ASSUMED,
        plots=tuple(_plots(found)),
    )


# --- the published search ------------------------------------------------------------------------


def published_rows(found: Sequence[ComparedMethods]) -> Iterator[Row]:
    for one in found:
        yield from _published_rows(one)
    broken = [one.name for one in found if _is_broken(one)]
    yield judged(
        "published search: settings in which Average breaks the budget",
        "some",
        len(broken),
        between(1, len(found), "cross marks in figures 6a and 6b, not told which"),
        note=", ".join(broken),
        why="much of a budget is left over, as the tasks of a level and kind move together",
    )


def _is_broken(one: ComparedMethods) -> bool:
    """Whether Average's mean cost is above the budget, by more than chance."""
    if AVERAGE not in one.published:
        return False
    outcome = one.published[AVERAGE].outcome
    return outcome.cost > one.budget + ERRORS * outcome.cost_error


def _published_rows(one: ComparedMethods) -> Iterator[Row]:
    found, title = one.published, f"{one.name}, published search"
    if PROB not in found:
        raise InvariantError(f"{one.name}: the published search found nothing within its budget")
    prob = found[PROB].outcome
    slack = ERRORS * prob.cost_error / one.budget
    yield judged(
        f"{title}: Prob, mean cost by the budget",
        "at most 1",
        prob.cost / one.budget,
        between(0, 1 + slack, f"{ERRORS:g} standard errors of {len(prob.costs)} executions"),
        note=f"${one.budget:.2f}",
    )
    yield _row_of_worst(f"{title}: Prob is faster than Worst-case, %", one)
    if one.label == "tight" and one.case.name in TOO_LOW:
        paper = TOO_LOW[one.case.name]
        yield judged(
            f"{title}: Average takes the cost for too low, up to, %",
            paper,
            most_too_low(one.case),
            rounded(paper, 1),
            note="of all tasks on one offer, the greatest",
            why=UNPRINTED,
        )
    if AVERAGE in found:
        average = found[AVERAGE].outcome
        note = f"it takes {average.time / prob.time:.2f} of the time of Prob"
        what = f"{title}: Average, mean cost by the budget"
        yield shown_only(what, None, average.cost / one.budget, note)


def _row_of_worst(what: str, one: ComparedMethods) -> Row:
    paper = FASTER[one.label].get(one.case.name)
    prob = one.published[PROB].outcome
    if WORST not in one.published:
        why = f"Worst-case finds nothing within this budget; {UNPRINTED}"
        return same(what, paper, NONE_FOUND, f"{prob.time:,.0f} s", why=why)
    worst = one.published[WORST].outcome
    ours = 100 * (1 - prob.time / worst.time)
    note = f"{prob.time:,.0f} s; Worst-case spends {100 * worst.cost / one.budget:.0f} % of it"
    if not isinstance(paper, int):
        return same(what, paper, round(ours), note, why=UNPRINTED)
    band = _saving_band(paper, prob, worst)
    return judged(what, paper, ours, band, note=note, why=UNPRINTED)


def _saving_band(paper: float, prob: ExecutionOutcome, worst: ExecutionOutcome) -> Band:
    """Two errors of the ratio of two means, by how much single executions vary, and rounding."""
    varied = sum((one.times.std(ddof=1) / one.time) ** 2 for one in (prob, worst))
    error = (100 - paper) * (varied / len(prob.times)) ** 0.5
    reach = 0.5 + 2 * float(error)
    reason = f"printed to 1 %, and 2 standard errors of {len(prob.times)} executions"
    return between(paper - reach, paper + reach, reason)


def most_too_low(case: ProbCase) -> float:
    """By how much Average's costs are below the expected ones, at most, in per cent.

    The greatest of all tasks on one offer: no mixture of them is further off.
    """
    seen = case.seen_by(of_average)
    static = seen.table.mean(axis=1)[seen.rows].sum(axis=0)
    return float(100 * (1 - static / case.expected.sum(axis=0)).max())


# --- the product's search ------------------------------------------------------------------------


def rows(one: ComparedMethods) -> Iterator[Row]:
    budget, prob, mean = one.budget, one.ours[PROB].outcome, one.ours[PROB_MEAN].outcome
    first = round(len(prob.costs) * prob.share_within(budget))
    note = f"${budget:.2f}; {one.kept:.2f} is the mean of {one.repeated} times 100"
    what = f"{one.name}: Prob keeps it, of 100 executions"
    yield checked(what, first, between(KEPT, 100, "a chance of 0.99 in 100 executions"), note=note)
    slack = ERRORS * mean.cost_error / budget
    what = f"{one.name}: {PROB_MEAN}, mean cost by the budget"
    chance = f"{ERRORS:g} standard errors of {len(mean.costs)} executions"
    yield checked(what, mean.cost / budget, between(0, 1 + slack, chance))
    yield _row_of_average(one)
    yield from _rows_beside(one)


def _row_of_average(one: ComparedMethods) -> Row:
    average = one.ours[AVERAGE]
    outcome, budget = average.outcome, one.budget
    slack = ERRORS * outcome.cost_error / budget
    broken = 100 * (1 - outcome.share_within(budget))
    believed = 100 * average.choice.believed_cost / budget
    return checked(
        f"{one.name}: Average, mean cost by the budget",
        outcome.cost / budget,
        between(1 + slack, 2, f"above 1 by {ERRORS:g} standard errors: it is too low by nature"),
        note=f"it breaks the budget in {broken:.0f} % of the executions; it believes {believed:.1f}"
        " % of it",
    )


def _rows_beside(one: ComparedMethods) -> Iterator[Row]:
    """The product's search beside Worst-case, and beside the published search."""
    prob = one.ours[PROB].outcome.time
    if WORST in one.ours:
        worst = one.ours[WORST].outcome
        note = f"{prob:,.0f} s; Worst-case spends {100 * worst.cost / one.budget:.0f} % of it"
        band = between(0, 100, "faster at all")
        what = f"{one.name}: Prob is faster than Worst-case, %"
        yield checked(what, 100 * (1 - prob / worst.time), band, note=note)
    ratio = one.published[PROB].outcome.time / one.ours[PROB_MEAN].outcome.time
    yield shown_only(f"{one.name}: published search of Prob, time by ours", None, ratio)


def _group_rows(one: ComparedMethods) -> Iterator[Row]:
    """Beside all ways to give an offer to each level and kind, where they can all be tried."""
    found = least_by_group(one.case, one.budget, GROUP_SAMPLES, GROUP_SEED)
    if found is None:
        return
    least, ways = found
    offers = one.ours[PROB_MEAN].choice.offers
    ours = mean_makespan(one.case.times, offers, GROUP_SAMPLES, GROUP_SEED)
    what = f"{one.name}: time by the best of all {ways:,} assignments by level and kind"
    yield checked(what, ours / least, NEAR_BEST)


# --- plots ---------------------------------------------------------------------------------------


def _plots(found: Sequence[ComparedMethods]) -> Iterator[Plot]:
    """Time and cost under each budget; a method that found nothing has no bar."""
    for label in BUDGETS:
        these = [one for one in found if one.label == label]
        for what, by in (("time by that of Prob", _time_by_prob), ("cost by the budget", _spent)):
            yield Plot(
                title=f"Expected {what}, {label} budget",
                across="workflow",
                upward=what,
                series=tuple(
                    Series(
                        method,
                        tuple(
                            (float(place), by(one, method))
                            for place, one in enumerate(these)
                            if method in one.ours
                        ),
                        "bars",
                    )
                    for method in (PROB, AVERAGE, WORST)
                ),
                categories=tuple(one.case.name for one in these),
            )


def _time_by_prob(one: ComparedMethods, method: str) -> float:
    return one.ours[method].outcome.time / one.ours[PROB].outcome.time


def _spent(one: ComparedMethods, method: str) -> float:
    return one.ours[method].outcome.cost / one.budget
