"""Which offer for which task, with a budget: the problem that Prob is shown with (section 3.1)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from bursar.beliefs.histogram import Histogram
from bursar.beliefs.performance import Performance, Profile
from bursar.model.dag import Dag
from bursar.model.errors import InputError
from bursar.model.time import SECOND
from bursar.plan.published.prob_operations import Tally
from bursar.plan.workflow.shape import levels

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Problem(msgspec.Struct, frozen=True, eq=False):
    """Give each task one offer, such that the expected makespan is least (equations 1 to 3).

    The expected cost, each task's time by the price of its offer and what moving its files costs,
    must not exceed the budget. These are estimates, as floats of one currency; nothing is charged
    by them.
    """

    dag: Dag
    kinds: Integers
    """[task]: tasks of one kind run the same program"""
    profiles: Sequence[Profile]
    """[task]"""
    performances: Sequence[Performance]
    """[offer]"""
    prices_per_second: Floats
    """[offer]"""
    network_costs: Floats
    """[task]: whatever its offer"""
    budget: float

    def __post_init__(self) -> None:
        for name, kind in (
            ("kinds", np.int64),
            ("prices_per_second", np.float64),
            ("network_costs", np.float64),
        ):
            row = np.ascontiguousarray(getattr(self, name), dtype=kind)
            msgspec.structs.force_setattr(self, name, row)
        _check(self)

    @property
    def tasks(self) -> int:
        return len(self.dag)

    @property
    def offers(self) -> int:
        return len(self.performances)

    def rows(self) -> Floats:
        """[task, what]: seconds of processor at speed 1, bytes of disk, bytes of network."""
        rows = [(one.work / SECOND, one.disk_bytes, one.network_bytes) for one in self.profiles]
        return np.array(rows, dtype=np.float64)

    def levels(self) -> Integers:
        """[task]: the most edges on a way to it."""
        return levels(self.dag).astype(np.int64)

    def with_budget(self, budget: float) -> Problem:
        return msgspec.structs.replace(self, budget=budget)


class Solution(msgspec.Struct, frozen=True, eq=False):
    """An assignment within the budget, as the method that found it sees it."""

    offers: Integers
    """[task]"""
    expected_time: float
    """seconds"""
    expected_cost: float
    distribution: Histogram
    """of the makespan, in seconds"""
    tally: Tally
    """what it took to find it"""


def by_level_and_kind(problem: Problem) -> Integers:
    """[task]: its group, where tasks of one level and kind move together, for large workflows."""
    pairs = np.column_stack([problem.levels(), problem.kinds])
    return np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def checked_groups(groups: ArrayLike, tasks: int) -> Integers:
    found = np.asarray(groups, dtype=np.int64)
    if found.shape != (tasks,):
        raise InputError(f"{found.size} groups for {tasks} tasks; give one for each")
    if not np.array_equal(np.unique(found), np.arange(found.max(initial=-1) + 1)):
        raise InputError("groups must be numbered from 0 on, without a gap")
    return found


def _check(problem: Problem) -> None:
    tasks, offers = problem.tasks, problem.offers
    if tasks == 0:
        raise InputError("a workflow without tasks; give it at least one")
    for what, given in (
        ("kinds", problem.kinds),
        ("profiles", problem.profiles),
        ("network costs", problem.network_costs),
    ):
        if len(given) != tasks:
            raise InputError(f"{len(given)} {what} for {tasks} tasks; give one for each")
    if len(problem.prices_per_second) != offers:
        prices = len(problem.prices_per_second)
        raise InputError(f"{prices} prices for {offers} offers; give one for each")
    for row in (problem.prices_per_second, problem.network_costs):
        if not np.all((row >= 0) & np.isfinite(row)):
            raise InputError("every price and cost must be finite and not negative")
    if math.isnan(problem.budget) or problem.budget < 0:
        raise InputError(f"a budget of {problem.budget:g}; it must not be negative")
    if any(min(one.work, one.disk_bytes, one.network_bytes) < 0 for one in problem.profiles):
        raise InputError("a task cannot take less than no time; check its profile")
