"""plan_work: the list of `bursar plan` in Python, and a run of one of its choices.

plans = plan_work(["./simulate.sh", "{}"], range(200), "market.toml", budget="4")
plans                       # in a notebook: drawn, and as a table
summary = plans.run("knee")
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import chdir
from decimal import Decimal
from typing import overload

from bursar.formats.market import given_market
from bursar.journal.runs import Home, RunDir
from bursar.model.budget_text import budget_in
from bursar.model.dag import Dag
from bursar.model.errors import InputError
from bursar.model.goal import Goal
from bursar.model.market import Market
from bursar.model.money import Money
from bursar.model.plan import Plan
from bursar.model.plan_options import CONFIDENCE, PlanOptions
from bursar.model.time import parse_duration
from bursar.model.work import Work, make_bag
from bursar.model.workflow_builder import WorkflowBuilder
from bursar.report.plans import PlanList, plan_list
from bursar.report.summary import Summary, summarise
from bursar.runs.choosing import Chooser
from bursar.runs.planning import (
    Asked,
    keep_workflow_plans,
    open_planned,
    plans_of_workflow,
    sample_cap,
)
from bursar.runs.request import Request
from bursar.runs.session import Session


class OfferedPlans(Sequence[Plan]):
    """Plans from cheapest to fastest, none beaten by another; kept for a choice."""

    def __init__(self, run: RunDir, shown: PlanList) -> None:
        self._run, self._shown = run, shown

    @property
    def name(self) -> str:
        """The run that keeps them, for `bursar run NAME` and a choice."""
        return self._run.name

    def __len__(self) -> int:
        return len(self._shown.plans)

    @overload
    def __getitem__(self, place: int) -> Plan: ...
    @overload
    def __getitem__(self, place: slice) -> list[Plan]: ...
    def __getitem__(self, place: int | slice) -> Plan | list[Plan]:
        return self._shown.plans[place]

    @property
    def cautions(self) -> list[str]:
        """Why the bounds may not hold."""
        return self._shown.cautions

    def run(
        self, choice: str, *, budget: str | None = None, deadline: str | None = None
    ) -> Summary:
        """Run a choice to its end: its name, `knee`, or its number from 1."""
        chooser = Chooser(str(choice), budget, deadline)
        with Session.take_up(self._run, chooser=chooser) as session, chdir(session.directory):
            session.execute()
            return summarise(session.state)

    def __repr__(self) -> str:
        names = ", ".join(plan.name for plan in self._shown.plans)
        return f"OfferedPlans({self.name}: {names})"

    def _repr_html_(self) -> str:
        return self._shown._repr_html_()

    def svg(self) -> str:
        """The plans on the plane of time and money, as a picture."""
        return self._shown.svg()


def plan_work(
    work: Sequence[str] | WorkflowBuilder | Dag,
    arguments: Iterable[object] | None = None,
    market: Market | str | os.PathLike[str] | None = None,
    *,
    budget: str | int | Decimal | Money | None = None,
    deadline: str | None = None,
    confidence: float = CONFIDENCE,
    choices: int = 0,
    sample_workers: int = 1,
    sample_budget: str | int | Decimal | Money | None = None,
    name: str | None = None,
    seed: int | None = None,
) -> OfferedPlans:
    """Plans for a bag (a command and its arguments) or a workflow, as `bursar plan` makes them.

    A bag is sampled: some of its tasks run on every offer now, within `sample_budget`, and their
    results are kept. A workflow is planned from its known run times.
    """
    if market is None:
        raise InputError("plans need a market: give its file, or a Market")
    known = given_market(market)
    money = None if budget is None else budget_in(known.currency, budget)
    goal = Goal.within(money, None if deadline is None else parse_duration(deadline))
    home = Home.of(os.environ)
    if isinstance(work, WorkflowBuilder | Dag):
        return _of_workflow(home, work, known, goal, confidence, name, seed)
    if isinstance(work, str):
        raise InputError("a command is a list of words: ['./simulate.sh', '{}']")
    if arguments is None:
        raise InputError("a bag needs arguments: a list with one for each task")
    bag = make_bag(work, [_row(one) for one in arguments])
    spent = sample_cap(known, sample_workers)
    if sample_budget is not None:
        spent = budget_in(known.currency, sample_budget).amount
    if goal.budget is not None:
        spent = min(spent, goal.budget)
    request = Request(
        market=known,
        goal=Goal(None if known.is_free else spent),
        bag=bag,
        policies={"provisioner": "sample", "placer": "sample"},
        sample_workers=sample_workers,
        name=name,
        seed=seed,
    )
    with Session.begin(home, request) as session:
        session.execute()
        run = session.run_dir
    with open_planned(run) as planned:
        offered = planned.offer(Asked(goal, choices, confidence))
    return OfferedPlans(run, plan_list(offered, known, None, run.name))


def _row(argument: object) -> list[str]:
    if isinstance(argument, tuple | list):
        return [str(one) for one in argument]
    return [str(argument)]


def _of_workflow(
    home: Home,
    work: WorkflowBuilder | Dag,
    market: Market,
    goal: Goal,
    confidence: float,
    name: str | None,
    seed: int | None,
) -> OfferedPlans:
    arriving = Work.of_dag(work.build() if isinstance(work, WorkflowBuilder) else work)
    flow = arriving.workflow
    assert flow is not None  # noqa: S101
    planning = PlanOptions(confidence=confidence, seed=seed or 0)
    offered = plans_of_workflow(flow, market, arriving.goal(goal), planning)
    request = Request(
        market=market,
        goal=offered.assumed.goal,
        work=arriving,
        planning=planning,
        name=name,
        seed=seed,
    )
    run = keep_workflow_plans(home, request, offered)
    return OfferedPlans(run, plan_list(offered, market, flow, run.name))
