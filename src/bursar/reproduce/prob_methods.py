"""The methods that Prob's evaluation compares, each with two searches.

One search is the product's, which moves single tasks and is what a plan of bursar comes from. The
other is the published one. Prob, Average and Worst-case differ only in the times they believe in.
"""

from __future__ import annotations

import time
from functools import cached_property
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.plan.published.prob_paths import Paths, preprocess
from bursar.plan.published.prob_problem import Problem
from bursar.plan.published.prob_search import search
from bursar.plan.published.prob_times import Distributions, Scalars, T, Times
from bursar.plan.workflow.assignment import AssignmentGoal, UnreachableError, choose
from bursar.plan.workflow.makespan import WorkflowTimes
from bursar.reproduce.prob_setting import PRICES, ProbCase, of_average, of_worst_case

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

PROB: Final = "Prob"
"""the budget as a 99th percentile of the cost"""
PROB_MEAN: Final = "Prob, by expectation"
AVERAGE: Final = "Average"
WORST: Final = "Worst-case"
CHANCE: Final = 0.99


class MethodChoice(msgspec.Struct, frozen=True, eq=False):
    """What a method chose, what it believes that to cost, and the seconds it took to choose."""

    offers: Integers
    believed_cost: float
    seconds: float


class Methods:
    """All methods, for one workflow; moving files is free unless said otherwise."""

    def __init__(self, case: ProbCase, network_costs: Floats | None = None) -> None:
        self.case, self._network_costs = case, network_costs

    @cached_property
    def paths(self) -> Paths:
        return preprocess(self.case.dag)

    @cached_property
    def _average(self) -> WorkflowTimes:
        return self.case.seen_by(of_average)

    @cached_property
    def _worst(self) -> WorkflowTimes:
        return self.case.seen_by(of_worst_case)

    def ours(self, budget: float) -> dict[str, MethodChoice | None]:
        """By the product's search; None: no offers keep the budget, as the method sees it."""
        mean = AssignmentGoal(budget=budget)
        return {
            PROB: self.prob(budget, CHANCE),
            PROB_MEAN: self.prob(budget),
            AVERAGE: self._ours(self._average, mean),
            WORST: self._ours(self._worst, mean),
        }

    def prob(self, budget: float, chance: float | None = None) -> MethodChoice | None:
        """The fastest whose cost keeps the budget with this chance; None: in the mean."""
        return self._ours(self.case.times, AssignmentGoal(budget=budget, budget_chance=chance))

    def published(self, budget: float) -> dict[str, MethodChoice | None]:
        """By the published search, with all its techniques."""
        problem, on = self.case.problem(budget, self._network_costs), self.case.performances
        return {
            PROB: self._published(problem, Distributions(on)),
            AVERAGE: self._published(problem, Scalars.average(on)),
            WORST: self._published(problem, Scalars.worst(on)),
        }

    def _published(self, problem: Problem, times: Times[T]) -> MethodChoice | None:
        began = time.perf_counter()
        found = search(problem, times, paths=self.paths)
        taken = time.perf_counter() - began
        return None if found is None else MethodChoice(found.offers, found.expected_cost, taken)

    def _ours(self, times: WorkflowTimes, goal: AssignmentGoal) -> MethodChoice | None:
        began = time.perf_counter()
        try:
            found = choose(times, PRICES, goal, fixed_costs=self._network_costs)
        except UnreachableError:
            return None
        return MethodChoice(found.offers, found.expected_cost, time.perf_counter() - began)
