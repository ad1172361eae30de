"""A study for each of several budgets and deadlines: what would another goal have done?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product

import msgspec

from bursar.model.errors import InputError
from bursar.model.goal import Budget, Goal
from bursar.model.time import SECOND, Time
from bursar.runs.faults import Faults
from bursar.runs.study import RunQuantiles, Subject, study


class SweepRow(msgspec.Struct, frozen=True):
    """What many runs with one goal took and cost."""

    budget: str | None
    """None: no budget"""
    deadline_s: float | None
    runs: int
    finished: float
    """share of the runs that are done within the goal"""
    makespan_s: RunQuantiles | None
    """of those runs; None: there are none"""
    cost: RunQuantiles
    """of all runs"""
    why: str
    """why most of the others ended"""


class Sweep(msgspec.Struct, frozen=True):
    """A row for each goal, in the order in which they were given."""

    currency: str
    rows: list[SweepRow]


def goals_of(budgets: Sequence[Budget | None], deadlines: Sequence[Time | None]) -> list[Goal]:
    """Each budget with each deadline; the same one twice is a slip of the pen."""
    for some in (budgets, deadlines):
        if len(set(some)) < len(some):
            raise InputError("the same budget or deadline is given twice; leave one out")
    return [Goal.within(budget, deadline) for budget, deadline in product(budgets, deadlines)]


def sweep(
    subject_of: Callable[[Goal], Subject],
    goals: Sequence[Goal],
    faults: Faults,
    seeds: Sequence[int],
    watched: Callable[[Sequence[int]], Iterable[int]] = iter,
) -> Sweep:
    """The same runs for each goal: they have the same seeds."""
    rows, currency = [], ""
    for goal in goals:
        subject = subject_of(goal)
        currency = subject.request.market.currency
        runs = study(subject, faults, seeds, watched).runs
        done = [one for one in runs if one.status == "done"]
        others = [one.why_text for one in runs if one.status != "done"]
        rows.append(
            SweepRow(
                budget=None if goal.budget is None else f"{goal.budget}",
                deadline_s=None if goal.deadline is None else goal.deadline / SECOND,
                runs=len(runs),
                finished=len(done) / len(runs),
                makespan_s=RunQuantiles.of(one.makespan_s for one in done) if done else None,
                cost=RunQuantiles.of(float(one.money.committed) for one in runs),
                why=max(sorted(set(others)), key=others.count, default=""),
            )
        )
    return Sweep(currency, rows)
