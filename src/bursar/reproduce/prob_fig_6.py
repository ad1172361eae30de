"""`prob-fig-6`: Prob, Average and Worst-case within a budget (Prob, figure 6 and section 6.2).

What is demanded is demanded of the product's search. The published search stands beside it: it
moves all tasks of a level and kind together, so that much of a budget may be left over, for Average
as well, which then keeps it by accident.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from bursar.model.errors import InvariantError
from bursar.reproduce import prob_setting
from bursar.reproduce.plot import Plot, Series
from bursar.reproduce.prob_execution import EXECUTIONS, SEED, Executions, Outcome
from bursar.reproduce.prob_methods import AVERAGE, PROB, PROB_MEAN, WORST, Choice, Methods
from bursar.reproduce.prob_quality import DRAWN, NEAR, least_by_group, mean_makespan, small_rows
from bursar.reproduce.prob_setting import BUDGETS, DATA, PRICES, Case
from bursar.reproduce.result import Reproduction, Row, between, judged, shown_only, within

REPEATED: Final = 20
"""times so many executions; only their costs are drawn"""
KEPT: Final = 98
"""of 100 executions must keep a budget that is a 99th percentile"""
ERRORS: Final = 3.0
"""so many standard errors may a mean be off"""
GROUP_SAMPLES: Final = 256
GROUP_SEED: Final = 7
FASTER: Final[Mapping[str, Mapping[str, float | str]]] = {
    "tight": {"Montage": 51, "CyberShake": "N/A", "Q1": 36, "Q9": "N/A"},
    "loose": {"Montage": 24, "CyberShake": 37, "Q1": 19, "Q9": 26},
}
"""By how much Prob is faster than Worst-case, in per cent."""
TOO_LOW: Final[Mapping[str, float]] = {"Montage": 2, "CyberShake": 14, "Q1": 12, "Q9": 20}
"""By how much Average takes costs for too low under the tight budget, at most, in per cent."""
ASSUMED: Final = (
    *prob_setting.ASSUMED,
    "Prob takes the budget for the 99th percentile of the cost; by expectation, for the mean, as in"
    " equation 2; that mean is kept if it is above the budget by no more than"
    f" {ERRORS:g} standard errors of {EXECUTIONS} executions, and Average breaks it if above by"
    " more",
    "to keep a budget with a chance of 0.99, Prob aims higher by two standard errors of its own"
    f" samples: at exactly 0.99, {KEPT - 1} or fewer of {EXECUTIONS} executions come about in 8 of"
    " 100 cases",
    "bandwidths of tasks being independent, the cost of a thousand tasks hardly varies, and a"
    " method that takes it for 2 % too low breaks the budget in nearly all executions",
)


class Judged(msgspec.Struct, frozen=True, eq=False):
    """A choice and its executions."""

    choice: Choice
    outcome: Outcome


class Compared(msgspec.Struct, frozen=True, eq=False):
    """All methods under one budget; those that found nothing are left out."""

    case: Case
    told: str
    budget: float
    ours: dict[str, Judged]
    published: dict[str, Judged]
    kept: float
    """executions of a hundred in which Prob keeps the budget"""
    repeated: int
    """hundreds of executions of which that is the mean"""

    @property
    def name(self) -> str:
        return f"{self.case.name}, {self.told}"


def compare(case: Case, count: int = EXECUTIONS, repeated: int = REPEATED) -> list[Compared]:
    """All methods under both budgets."""
    methods, executions = Methods(case), Executions(case, count)
    more = [Executions(case, count, SEED + turn) for turn in range(repeated)]
    found = []
    for told, share in BUDGETS.items():
        budget = case.budget(share)
        ours = _judged(methods.ours(budget), executions)
        published = _judged(methods.published(budget), executions)
        if PROB not in ours or PROB_MEAN not in ours:
            raise InvariantError(f"{case.name}, {told}: Prob found nothing within its budget")
        offers = ours[PROB].choice.offers
        kept = np.mean([np.mean(one.costs(offers) <= budget) for one in more])
        found.append(Compared(case, told, budget, ours, published, 100 * float(kept), repeated))
    return found


def _judged(choices: Mapping[str, Choice | None], executions: Executions) -> dict[str, Judged]:
    return {
        name: Judged(choice, executions.run(choice.offers))
        for name, choice in choices.items()
        if choice is not None
    }


def reproduce(name: str, folder: Path = DATA) -> Reproduction:
    return figure(name, [one for case in prob_setting.cases(folder) for one in compare(case)])


def figure(name: str, found: Sequence[Compared], drawn: int = DRAWN) -> Reproduction:
    """All rows, and those on small workflows by so many executions."""
    return Reproduction(
        name=name,
        title="Expected time and cost within a budget: Prob beside Average and Worst-case",
        source="Prob, figure 6 and section 6.2",
        rows=(
            *(row for one in found for row in rows(one)),
            *small_rows(drawn),
            *(row for one in found for row in _group_rows(one)),
        ),
        assumed=ASSUMED,
        plots=tuple(_plots(found)),
    )


# --- rows ----------------------------------------------------------------------------------------


def rows(one: Compared) -> Iterator[Row]:
    budget, prob, mean = one.budget, one.ours[PROB].outcome, one.ours[PROB_MEAN].outcome
    first = round(len(prob.costs) * prob.share_within(budget))
    note = f"${budget:.2f}; {one.kept:.2f} is the mean of {one.repeated} times 100"
    yield within(f"{one.name}: Prob keeps it, of 100 executions", 100, first, KEPT, 100, note)
    slack = ERRORS * mean.cost_error / budget
    what = f"{one.name}: {PROB_MEAN}, mean cost by the budget"
    yield within(what, None, mean.cost / budget, 0.0, 1.0 + slack, "paper: at most 1")
    yield from _rows_of_average(one)
    yield _row_of_worst(one)
    yield _row_of_published(one)


def _rows_of_average(one: Compared) -> Iterator[Row]:
    average = one.ours[AVERAGE]
    outcome, budget = average.outcome, one.budget
    slack = ERRORS * outcome.cost_error / budget
    broken = 100 * (1 - outcome.share_within(budget))
    note = f"it breaks the budget in {broken:.0f} % of the executions; paper: above 1"
    what = f"{one.name}: Average, mean cost by the budget"
    ours, low = outcome.cost / budget, 1.0 + slack
    yield within(what, None, ours, low, 2.0, note)
    if one.told == "tight":
        low = 100 * (1 - average.choice.believed_cost / _expected_cost(one.case, average.choice))
        what = f"{one.name}: Average takes the cost for too low, %"
        yield shown_only(what, TOO_LOW.get(one.case.name), low, "paper: up to")


def _expected_cost(case: Case, choice: Choice) -> float:
    tasks = np.arange(case.graph.tasks)
    return float((case.expected * PRICES)[tasks, choice.offers].sum())


def _row_of_worst(one: Compared) -> Row:
    what = f"{one.name}: Prob is faster than Worst-case, %"
    paper = FASTER[one.told].get(one.case.name)
    prob = one.ours[PROB].outcome.time
    if WORST not in one.ours:
        return shown_only(what, paper, "N/A", f"{prob:,.0f} s; Worst-case finds nothing")
    worst = one.ours[WORST].outcome
    ours = 100 * (1 - prob / worst.time)
    note = f"{prob:,.0f} s; Worst-case spends {100 * worst.cost / one.budget:.0f} % of the budget"
    return judged(what, paper, ours, between(0.0, 100.0, "faster at all"), note=note)


def _row_of_published(one: Compared) -> Row:
    """The published search, in time by the product's with the same demand: the expected cost."""
    what = f"{one.name}: published search of Prob, time by ours"
    found = one.published
    if PROB not in found:
        return shown_only(what, None, "N/A", "it finds nothing")
    prob = found[PROB].outcome
    told = [f"Prob spends {100 * prob.cost / one.budget:.1f} % of the budget"]
    for name in (AVERAGE, WORST):
        if name in found:
            outcome = found[name].outcome
            spent = 100 * outcome.cost / one.budget
            told.append(
                f"{name} {spent:.1f} % and takes {outcome.time / prob.time:.2f} of the time"
            )
        else:
            told.append(f"{name} finds nothing")
    return shown_only(what, None, prob.time / one.ours[PROB_MEAN].outcome.time, ", ".join(told))


def _group_rows(one: Compared) -> Iterator[Row]:
    """Beside all ways to give an offer to each level and kind, where they can all be tried."""
    found = least_by_group(one.case, one.budget, GROUP_SAMPLES, GROUP_SEED)
    if found is None:
        return
    least, ways = found
    offers = one.ours[PROB_MEAN].choice.offers
    ours = mean_makespan(one.case.times, offers, GROUP_SAMPLES, GROUP_SEED)
    what = f"{one.name}: time by the best of all {ways:,} assignments by level and kind"
    yield within(what, None, ours / least, 0.0, NEAR)


# --- plots ---------------------------------------------------------------------------------------


def _plots(found: Sequence[Compared]) -> Iterator[Plot]:
    """Time and cost under each budget; a method that found nothing has no bar."""
    for told in BUDGETS:
        these = [one for one in found if one.told == told]
        for what, by in (("time by that of Prob", _time_by_prob), ("cost by the budget", _spent)):
            yield Plot(
                title=f"Expected {what}, {told} budget",
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


def _time_by_prob(one: Compared, method: str) -> float:
    return one.ours[method].outcome.time / one.ours[PROB].outcome.time


def _spent(one: Compared, method: str) -> float:
    return one.ours[method].outcome.cost / one.budget
