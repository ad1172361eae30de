"""run_workflow: a workflow of Python's `Workflow` on the market's machines, within a budget.

flow = WorkflowBuilder("variants")
flow.task("split", run=["./split", "genome.fa"], writes=["a.fa"], runtime=30)
flow.task("align", run="./align a.fa > a.bam", reads=["a.fa"], runtime=60)
summary = run_workflow(flow, "market.toml", budget="2.50")
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from decimal import Decimal

from bursar.execute.staging import SHARED
from bursar.formats.job_keys import read_confidence
from bursar.formats.market import given_market
from bursar.journal.runs import Home
from bursar.model.budget_text import budget_in
from bursar.model.dag import Dag
from bursar.model.deviation import read_deviation
from bursar.model.errors import InputError
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market
from bursar.model.money import Money
from bursar.model.option_words import PYTHON
from bursar.model.plan_options import CONFIDENCE, PlanOptions
from bursar.model.time import parse_duration
from bursar.model.work import Work
from bursar.model.workflow_builder import WorkflowBuilder
from bursar.report.summary import Summary, summarise
from bursar.runs.request import Request
from bursar.runs.session import Session, with_plan


def run_workflow(
    workflow: WorkflowBuilder | Dag,
    market: Market | str | os.PathLike[str] | None = None,
    budget: str | int | Decimal | Money | None = None,
    *,
    deadline: str | None = None,
    choose: str | None = None,
    confidence: float = CONFIDENCE,
    deviation: float | None = None,
    files: str = SHARED,
    fleet: Mapping[str, int] | None = None,
    retries: int = 0,
    timeout: str | None = None,
    name: str | None = None,
    seed: int | None = None,
) -> Summary:
    """Run a workflow to its end; the arguments are the options of `bursar run FLOW`.

    The summary tells how it ended: `status` is `done`, `failed`, `budget`, `deadline` or
    `interrupted`. A mistake that shows before anything runs raises a `BursarError`.
    """
    dag = workflow.build() if isinstance(workflow, WorkflowBuilder) else workflow
    work = Work.of_dag(dag)
    until = None if deadline is None else parse_duration(deadline)
    known = given_market(market)
    money = None if budget is None else budget_in(known.currency, budget)
    request = Request(
        market=known,
        goal=work.goal(Goal.within(money, until)),
        limits=Limits(retries, None if timeout is None else parse_duration(timeout)),
        work=work,
        files=files,
        fleet=fleet,
        planning=PlanOptions(
            confidence=_checked("confidence", read_confidence, confidence),
            deviation=None
            if deviation is None
            else _checked("deviation", read_deviation, deviation),
            seed=seed or 0,
        ),
        name=name,
        seed=seed,
        asked=PYTHON,
    )
    with Session.begin(Home.of(os.environ), with_plan(request, choose)) as session:
        session.execute()
        return summarise(session.state)


def _checked(name: str, read: Callable[[float], float], value: float) -> float:
    try:
        return read(value)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
