"""A study for each of several budgets, deadlines and provisioners: what would another have done?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product

import msgspec

from bursar.model.errors import InputError
from bursar.model.goal import Budget, Goal
from bursar.model.time import SECOND, Time
from bursar.runs.faults import Faults
from bursar.runs.study import RunQuantiles, Subject, study


class SweepCase(msgspec.Struct, frozen=True):
    """What is tried: a goal, and who decides how many machines are rented."""

    goal: Goal
    provisioner: str | None = None
    """None: the one that such a run has by itself"""


class SweepRow(msgspec.Struct, frozen=True):
    """What many runs of one case took and cost."""

    budget: str | None
    """None: no budget"""
    deadline_s: float | None
    provisioner: str | None
    """None: the one that such a run has by itself"""
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
    """A row for each case, in the order in which they were given."""

    currency: str
    rows: list[SweepRow]


def cases_of(
    budgets: Sequence[Budget | None],
    deadlines: Sequence[Time | None],
    provisioners: Sequence[str | None],
) -> list[SweepCase]:
    """Each budget with each deadline and provisioner; the same twice is a slip of the pen."""
    given: Sequence[tuple[str, Sequence[object]]] = (
        ("budget or deadline", budgets),
        ("budget or deadline", deadlines),
        ("provisioner", provisioners),
    )
    for what, some in given:
        if len(set(some)) < len(some):
            raise InputError(f"the same {what} is given twice; leave one out")
    return [
        SweepCase(Goal.within(budget, deadline), provisioner)
        for budget, deadline, provisioner in product(budgets, deadlines, provisioners)
    ]


def sweep(
    subject_of: Callable[[SweepCase], Subject],
    cases: Sequence[SweepCase],
    faults: Faults,
    seeds: Sequence[int],
    watched: Callable[[Sequence[int]], Iterable[int]] = iter,
) -> Sweep:
    """The same runs for each case: they have the same seeds."""
    rows, currency = [], ""
    for case in cases:
        subject, goal = subject_of(case), case.goal
        currency = subject.request.market.currency
        runs = study(subject, faults, seeds, watched).runs
        done = [one for one in runs if one.status == "done"]
        others = [one.why_text for one in runs if one.status != "done"]
        rows.append(
            SweepRow(
                budget=None if goal.budget is None else f"{goal.budget}",
                deadline_s=None if goal.deadline is None else goal.deadline / SECOND,
                provisioner=case.provisioner,
                runs=len(runs),
                finished=len(done) / len(runs),
                makespan_s=RunQuantiles.of(one.makespan_s for one in done) if done else None,
                cost=RunQuantiles.of(float(one.money.committed) for one in runs),
                why=max(sorted(set(others)), key=others.count, default=""),
            )
        )
    return Sweep(currency, rows)
