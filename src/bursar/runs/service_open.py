"""Opening a service: begun, or continued under its name.

The same request twice is the same service: after a crash it is enough to start it again.
"""

from __future__ import annotations

import os

from bursar.execute.staging import SHARED
from bursar.journal.runs import Home, RunDir
from bursar.model.errors import InputError, shown
from bursar.model.goal import Goal
from bursar.runs.recall import outline_of
from bursar.runs.request import Request
from bursar.runs.service import Service, ServiceListener


def open_service(request: Request, listener: ServiceListener) -> Service:
    """The service that is asked for; one of this name that is there goes on."""
    found = [run for run in Home.of(os.environ).list() if run.name == request.name]
    if not found or found[0].never_began():
        return Service.begin(request, listener)
    request.check()
    goal = _new_goal(found[0], request)
    return Service.resume(found[0].name, goal=goal, listener=listener)


def _new_goal(run: RunDir, request: Request) -> Goal | None:
    """The budgets that are asked for now; None: they are as they were.

    All else must be as it was: the journal tells of machines and decisions of that market.
    """
    outline = outline_of(run)
    created = outline.created
    assert created is not None  # noqa: S101
    made, asked = created.made_with, request.options()
    for what, before, now in (
        ("market", created.market, request.market),
        ("policies", created.policies, request.all_policies()),
        ("limits", created.limits, request.limits),
        ("machines", (made.site, made.fleet), (asked.site, asked.fleet)),
        ("files", made.files or SHARED, request.files),
    ):
        if before != now:
            raise InputError(
                f"run {run.name} was started with other {what}: choose another name, or continue"
                f" it as it was: bursar serve --resume {run.name}"
            )
    kept = {one.name for one in request.goal.accounts}
    for one in outline.goal.accounts:
        if one.name not in kept:
            raise InputError(f"run {run.name} has a user {shown(one.name)}, too: name all of them")
    return None if outline.goal == request.goal else request.goal
