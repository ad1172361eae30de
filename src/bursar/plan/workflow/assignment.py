"""An offer for every task of a workflow: the fastest within a budget, the cheapest by a deadline.

This is the budget-constrained scheduling of Prob (section 3.1) and its counterpart for deadlines,
with chances instead of expectations where these are asked for. A cost is what the tasks take times
the price of their offers, and what is fixed; billing units and the sharing of machines come later.

What is searched on samples is optimistic about just those samples. So an assignment is judged by
fresh ones, and only they are shown; where these break a chance that was asked for, the search is
repeated with a tighter limit.
"""

from __future__ import annotations

import math
from typing import Final

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from bursar.beliefs.histogram import Histogram
from bursar.kernels.makespan import LANES
from bursar.model.errors import InputError
from bursar.plan.workflow.assignment_search import Floats, Integers, Search, compiled
from bursar.plan.workflow.makespan import SAMPLES, WorkflowTimes

POINTS: Final = 9
TURNS: Final = 6
"""searches with ever tighter limits, before what is asked for is called out of reach"""
ENOUGH: Final = 2
"""assignments that keep a budget with a chance: the first is found with the risk of the cheapest,
not with its own"""
HALVINGS: Final = 6
"""of the range of budgets in which the least one for a deadline is looked for"""
WORK: Final = 2.0e8
"""what a search may do, in tasks and edges run in one lane"""
FEWEST_PASSES: Final = 60
MOST_PASSES: Final = 1500
LANES_TIMES_TASKS: Final = 256_000
FEWEST_LANES: Final = 128
MOST_LANES: Final = 1024
LOOKED_AT: Final = 16
"""lanes that are among the longest, at least, where a percentile is wanted"""
HAIR: Final = 1e-9
CAUTION: Final = 2.0
"""standard errors of a chance, by which it is aimed higher than what is asked for"""


class AssignmentGoal(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Money is in the unit of the prices, times are seconds. Give a budget, a deadline, or both.

    With a budget: the fastest within it, that by the deadline if there is one. With a deadline
    alone: the cheapest by it.
    """

    budget: float | None = None
    budget_chance: float | None = None
    """that the cost stays within the budget; None: the expected cost does"""
    deadline: float | None = None
    deadline_chance: float = 0.9
    """that the makespan stays within the deadline"""
    percentile: float | None = None
    """of the makespan, as a share, that is to be short; None: its mean, or with a deadline the
    percentile that must keep it"""

    def __post_init__(self) -> None:
        if self.budget is None and self.deadline is None:
            raise InputError("nothing limits the choice of offers; give a budget or a deadline")
        for name in ("budget", "deadline"):
            limit = getattr(self, name)
            if limit is not None and not (limit >= 0 and math.isfinite(limit)):
                raise InputError(f"a {name} of {limit:g}; it must be finite and not negative")
        for name in ("budget_chance", "deadline_chance", "percentile"):
            share = getattr(self, name)
            if share is not None and not 0.5 <= share < 1:
                raise InputError(f"a {name} of {share:g}; use 0.5 or more, and less than 1")


class Assignment(msgspec.Struct, frozen=True, eq=False):
    """Which offer each task gets, and what it comes to on samples that were not searched."""

    offers: Integers
    """[task]"""
    makespan: Histogram
    """in seconds"""
    cost: Histogram
    expected_makespan: float
    expected_cost: float
    """exact"""
    chance_within_budget: float | None
    """None: no budget was given"""
    chance_by_deadline: float | None
    samples: int
    """the fresh ones"""
    whole: int
    """times that the search ran the workflow"""
    partial: int
    """changes of single tasks that it judged without doing so"""


class UnreachableError(InputError):
    """What is asked for cannot be had; `nearest` is what can."""

    def __init__(self, message: str, nearest: Assignment) -> None:
        super().__init__(message)
        self.nearest = nearest


def choose(
    workflow: WorkflowTimes,
    prices: ArrayLike,
    goal: AssignmentGoal,
    *,
    fixed_costs: ArrayLike | None = None,
    seed: int = 0,
    samples: int = SAMPLES,
) -> Assignment:
    """Choose offers, at `prices[offer]` a second and `fixed_costs[task]` on any of them.

    Raise UnreachableError where no offers are found that keep the limits.
    """
    problem = _Problem(workflow, prices, fixed_costs, goal, seed, samples)
    if goal.budget is None:
        return _cheapest_by_deadline(problem, goal.deadline or 0.0, goal.deadline_chance)
    if goal.budget_chance is None:
        fastest = _fastest(problem, goal.budget)
    else:
        fastest = _fastest_by_chance(problem, goal.budget, goal.budget_chance)
    if not problem.is_in_time(fastest):
        at = _rounded_up(fastest.makespan.quantile(goal.deadline_chance))
        raise UnreachableError(
            f"a deadline of {goal.deadline:g} s cannot be met within a budget of {goal.budget:g}; "
            f"P{100 * goal.deadline_chance:g} is {at} s, so allow that or more money",
            fastest,
        )
    return fastest


def frontier(
    workflow: WorkflowTimes,
    prices: ArrayLike,
    points: int = POINTS,
    *,
    fixed_costs: ArrayLike | None = None,
    seed: int = 0,
    samples: int = SAMPLES,
) -> list[Assignment]:
    """At most so many assignments from the cheapest to the fastest.

    None beats another in the expected cost and in P50 and P90 of the makespan. More of them lie
    near the cheapest, where a little money saves much time.
    """
    if points < 2:
        raise InputError(f"a frontier of {points} points; it needs at least 2")
    problem = _Problem(workflow, prices, fixed_costs, None, seed, samples)
    search, low = problem.search, problem.search.least_cost()
    high = search.cost(search.means.argmin(axis=1))
    offers, found = problem.cheapest(), list[Assignment]()
    found.append(problem.verified(offers))
    for point in range(1, points):
        budget = low + (high - low) * (point / (points - 1)) ** 2
        starts = problem.starts(budget)
        offers = search.best(budget, problem.passes // points, offers, *starts).offers
        found.append(problem.verified(offers))
    return _undominated(found)


def _undominated(found: list[Assignment]) -> list[Assignment]:
    """Those that no other beats, by ascending cost."""
    kept: list[Assignment] = []
    for one in sorted(found, key=lambda one: (one.expected_cost, one.makespan.quantile(0.5))):
        times = one.makespan.quantile(0.5), one.makespan.quantile(0.9)
        if not any(
            other.makespan.quantile(0.5) <= times[0] and other.makespan.quantile(0.9) <= times[1]
            for other in kept
        ):
            kept.append(one)
    return kept


class _Problem:
    """What is given, checked, and the search on it."""

    def __init__(
        self,
        workflow: WorkflowTimes,
        prices: ArrayLike,
        fixed_costs: ArrayLike | None,
        goal: AssignmentGoal | None,
        seed: int,
        samples: int,
    ) -> None:
        self.workflow, self.goal, self.seed, self.samples = workflow, goal, seed, samples
        self.prices = _row(prices, workflow.offers, "prices", "offers")
        fixed = np.zeros(len(workflow.dag)) if fixed_costs is None else fixed_costs
        self.fixed = _row(fixed, len(workflow.dag), "fixed costs", "tasks")
        if samples < 1:
            raise InputError(f"a distribution of {samples} samples; it needs at least 1")
        self.percentile = _percentile(goal)
        share = 1.0 if self.percentile is None else 2 * (1 - self.percentile)
        lanes = _lanes(len(workflow.dag), share)
        means = workflow.table.mean(axis=1)[workflow.rows]
        self.costs: Floats = means * self.prices + self.fixed[:, None]
        self.variances: Floats = workflow.table.var(axis=1)[workflow.rows] * self.prices**2
        self.search = Search(workflow, self.costs, share, lanes, seed)
        effort = lanes * (len(workflow.dag) + workflow.dag.edges)
        self.passes = int(min(max(WORK / effort, FEWEST_PASSES), MOST_PASSES))

    def cheapest(self) -> Integers:
        """The fastest of the cheapest offers, task by task."""
        costs = self.search.costs
        is_least = costs <= costs.min(axis=1, keepdims=True)
        offers: Integers = np.where(is_least, self.search.means, np.inf).argmin(axis=1)
        return offers

    def starts(self, budget: float) -> list[Integers]:
        """The same offer for all tasks, where that is within the budget; and the cheapest."""
        tasks = len(self.workflow.dag)
        same = [np.full(tasks, offer) for offer in range(self.workflow.offers)]
        return [self.cheapest(), *(one for one in same if self.search.cost(one) <= budget)]

    def sample_costs(self, offers: Integers, seed: int) -> Floats:
        blocks = -(-self.samples // LANES)
        costs = np.full((blocks, LANES), self.fixed.sum())
        rows, rates = self.workflow.rows_of(offers), self.prices[offers]
        table = self.workflow.table
        compiled().sample_costs(table, rows, rates, np.uint64(seed), 0, blocks, costs)
        return costs.ravel()[: self.samples]

    def at_percentile(self, offers: Integers) -> float:
        """The percentile that is to be short, by samples that are used for nothing else."""
        unused = (self.seed - 1) % 2**64
        return float(
            np.quantile(
                self.workflow.sample(offers, self.samples, seed=unused), self.percentile or 0.5
            )
        )

    def verified(self, offers: Integers, turn: int = 0) -> Assignment:
        """Judge by samples that are new in each turn."""
        fresh = (self.seed + 1 + turn) % 2**64
        makespans = self.workflow.sample(offers, self.samples, seed=fresh)
        costs = self.sample_costs(offers, fresh)
        budget = self.goal.budget if self.goal else None
        deadline = self.goal.deadline if self.goal else None
        return Assignment(
            offers=offers,
            makespan=Histogram.from_samples(makespans),
            cost=Histogram.from_samples(costs),
            expected_makespan=float(makespans.mean()),
            expected_cost=float(self.costs[np.arange(len(offers)), offers].sum()),
            chance_within_budget=None if budget is None else float(np.mean(costs <= budget)),
            chance_by_deadline=None if deadline is None else float(np.mean(makespans <= deadline)),
            samples=self.samples,
            whole=self.search.whole,
            partial=self.search.partial,
        )

    def is_in_time(self, one: Assignment) -> bool:
        if self.goal is None or one.chance_by_deadline is None:
            return True
        return one.chance_by_deadline >= self.goal.deadline_chance


def _fastest(problem: _Problem, budget: float) -> Assignment:
    """The fastest whose expected cost is within the budget.

    A percentile is known from few of the lanes. So what has a short mean is a rival, and samples
    decide that neither was chosen by.
    """
    if problem.search.least_cost() > budget:
        cheapest = problem.verified(problem.cheapest())
        raise UnreachableError(
            f"a budget of {budget:g} is too little; the least expected cost is "
            f"{_rounded_up(cheapest.expected_cost)}, so give at least that",
            cheapest,
        )
    search, starts = problem.search, problem.starts(budget)
    offers = search.best(budget, problem.passes, *starts).offers
    if problem.percentile is None:
        return problem.verified(offers)
    search.look_at(1.0)
    rival = search.best(budget, problem.passes, *starts, offers).offers
    return problem.verified(min(offers, rival, key=problem.at_percentile))


def _fastest_by_chance(problem: _Problem, budget: float, share: float) -> Assignment:
    """The fastest whose cost is within the budget with the chance that is asked for.

    The cost of many tasks is near to its mean plus z standard deviations, at a percentile. A task's
    part in that is its mean cost, and its variance times z over twice the standard deviation of
    all; so that is its cost here, where z and the deviation are those of the last assignment.

    What is kept on some samples may have been lucky: it is aimed higher by what chance explains,
    and what keeps the chance alone is taken only where nothing is found that does better.
    """
    search = problem.search
    safe = min(share + CAUTION * math.sqrt(share * (1 - share) / problem.samples), 1.0)
    judged, margin = problem.verified(problem.cheapest()), 0.0
    nearest, kept = judged, list[Assignment]()
    for turn in range(1, TURNS + 1):
        deviation = math.sqrt(
            float(problem.variances[np.arange(len(judged.offers)), judged.offers].sum())
        )
        beyond = max(judged.cost.quantile(safe) - judged.expected_cost, 0.0)
        risk = 0.5 * beyond / deviation**2 if deviation > 0 else 0.0
        search.costs = problem.costs + risk * problem.variances
        limit = budget - 0.5 * beyond - margin
        offers = search.costs.argmin(axis=1)
        if search.cost(offers) <= limit:
            offers = search.best(limit, problem.passes, *problem.starts(limit)).offers
        judged = problem.verified(offers, turn)
        nearest = min(nearest, judged, key=lambda one: one.cost.quantile(share))
        chance = judged.chance_within_budget or 0.0
        if chance >= share:
            kept.append(judged)
        if chance < safe:
            margin += max(judged.cost.quantile(safe) - budget, HAIR * budget)
        elif len(kept) >= ENOUGH:
            break
    if not kept:
        raise UnreachableError(
            f"a budget of {budget:g} is not kept with a chance of {share:g}; "
            f"{_rounded_up(nearest.cost.quantile(share))} is, so give at least that",
            nearest,
        )
    surely = [one for one in kept if (one.chance_within_budget or 0.0) >= safe]
    return min(surely or kept, key=lambda one: search.value(one.offers))


def _cheapest_by_deadline(problem: _Problem, deadline: float, share: float) -> Assignment:
    search = problem.search
    safe = share + math.sqrt(share * (1 - share) / problem.samples)
    fastest = problem.verified(search.means.argmin(axis=1))
    target, low = deadline, search.least_cost()
    on_lanes, at = search.makespan_at(fastest.offers, share), fastest.makespan.quantile(share)
    if at > 0:  # the lanes have their own luck
        target *= on_lanes / at
    for turn in range(1, TURNS + 1):
        offers, low = _cheapest_on_lanes(problem, target, low, min(safe, 1.0))
        judged = problem.verified(offers, turn)
        if problem.is_in_time(judged):
            return judged
        at = judged.makespan.quantile(share)
        target *= min(deadline / at, 1 - HAIR)
        if np.array_equal(offers, fastest.offers):
            break
    if problem.is_in_time(fastest):
        return fastest
    shortest = _rounded_up(fastest.makespan.quantile(share))
    raise UnreachableError(
        f"a deadline of {deadline:g} s cannot be met; with the fastest offers "
        f"P{100 * share:g} is {shortest} s, so allow at least that",
        fastest,
    )


def _cheapest_on_lanes(
    problem: _Problem, deadline: float, low: float, chance: float
) -> tuple[Integers, float]:
    """By halving budgets between `low` and the fastest; and the highest that was not enough.

    The fastest if nothing else will do.
    """
    search, passes = problem.search, problem.passes // 4
    cheapest = problem.cheapest()
    if search.chance_by(cheapest, deadline) >= chance:
        return cheapest, low
    best = search.means.argmin(axis=1)
    if search.chance_by(best, deadline) < chance:
        return best, low
    for _ in range(HALVINGS):
        middle = 0.5 * (low + search.cost(best))
        found = search.best(middle, passes, cheapest)
        if search.chance_by(found.offers, deadline) >= chance:
            best = found.offers
        else:
            low = middle
    return search.trimmed(best, deadline, chance), low


def _percentile(goal: AssignmentGoal | None) -> float | None:
    """Which one is to be short; None: the mean."""
    if goal is None or goal.percentile is not None or goal.deadline is None:
        return goal.percentile if goal else None
    return goal.deadline_chance


def _lanes(tasks: int, share: float) -> int:
    fewest = min(max(FEWEST_LANES, LOOKED_AT / share), MOST_LANES)
    return 4 * round(min(max(LANES_TIMES_TASKS / tasks, fewest), MOST_LANES) / 4)


def _rounded_up(value: float) -> str:
    """What is enough, in six digits."""
    if value <= 0:
        return "0"
    unit = 10.0 ** (math.floor(math.log10(value)) - 5)
    return f"{math.ceil(value / unit) * unit:.6g}"


def _row(values: ArrayLike, count: int, what: str, whose: str) -> Floats:
    row = np.asarray(values, dtype=np.float64)
    if row.shape != (count,):
        raise InputError(f"{row.size} {what} for {count} {whose}; give one for each")
    if not np.all((row >= 0) & np.isfinite(row)):
        raise InputError(f"all {what} must be finite and not negative")
    return row
