"""`bursar plan` of a workflow: nothing of it is run first, its run times are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from bursar.cli.common import home, print_json, print_line, print_table, say
from bursar.cli.plan_table import caps_text, draw_plans, show, show_kinds
from bursar.cli.run import request_of
from bursar.formats.job import Job
from bursar.journal.runs import RunDir
from bursar.model.codec import to_builtins
from bursar.model.errors import InputError
from bursar.model.money import Money, format_money
from bursar.model.time import format_duration, seconds
from bursar.report.plans import plan_list
from bursar.report.summary import EXIT_CODES
from bursar.runs.choosing import default_plan, find_plan
from bursar.runs.planning import keep_workflow_plans, plans_of_workflow
from bursar.state.events import PlansOffered

if TYPE_CHECKING:
    from bursar.runs.compare_planners import Compared


def plan_workflow(job: Job, *, compared: bool, as_json: bool, html: str | None) -> int:
    """Show the plans, what a run would take, and perhaps what other planners would do."""
    market, work = job.load_market(), job.work()
    flow = None if work is None else work.workflow
    if market is None or work is None or flow is None:
        raise InputError("no market: add --market FILE")
    offered = plans_of_workflow(flow, market, work.goal(job.goal()), job.planning())
    try:
        best, why = default_plan(offered, market.currency), ""
    except InputError as error:
        best, why = None, str(error)
    run, lacks = (None, "") if best is None else _keep(job, offered)
    others = []
    if compared:
        from bursar.runs.compare_planners import compare

        others = compare(flow, market, best or find_plan(offered.plans, "knee"), offered.assumed)
    if html is not None:
        draw_plans(html, plan_list(offered, market, flow))
    if as_json:
        shown = to_builtins(plan_list(offered, market, flow, None if run is None else run.name))
        print_json({**shown, "compared": others})
    else:
        show(offered, market, flow)
        if why:
            say(f"{why[0].upper()}{why[1:]}.")
        show_kinds(offered, flow)
        if others:
            _show_compared(others, market.currency)
        if (caps := caps_text(offered, market)) is not None and run is not None:
            say(caps)
    if run is not None and best is not None:
        say(f"saved as plan {run.name}. Run it: bursar run {run.name} --choose {best.name}")
    elif lacks:
        say(f"not saved: {lacks}")
    if best is not None:
        return EXIT_CODES["done"]
    return EXIT_CODES["deadline" if offered.assumed.goal.budget is None else "budget"]


def _keep(job: Job, offered: PlansOffered) -> tuple[RunDir | None, str]:
    """The run that waits for a choice among the plans; None: it could not be run, and why."""
    if (market := job.load_market()) is not None and market.is_free:
        return None, ""
    try:
        request = request_of(job)
        request = msgspec.structs.replace(request, goal=offered.assumed.goal)
        return keep_workflow_plans(home(), request, offered), ""
    except InputError as error:
        return None, str(error)


def _show_compared(others: Sequence[Compared], currency: str) -> None:
    print_line("\nif every task took its mean time:")
    rows = [
        (
            one.planner,
            one.machines or "-",
            "-" if one.makespan_s is None else format_duration(seconds(one.makespan_s)),
            "-" if one.cost is None else format_money(Money.recall(one.cost), currency),
            one.why,
        )
        for one in others
    ]
    print_table(("planner", "machines", "time", "cost", ""), rows, right="time cost")
    say(
        "HEFT and Hybrid.BMCT have all machines ready from the start; bursar rents them when needed"
    )
