"""Events of the run as a whole: it is created, taken up, steered and ended."""

from __future__ import annotations

from typing import Final

import msgspec

from bursar.state import events as ev
from bursar.state.facts import RunFacts
from bursar.state.ledger import Ledger

MOST_FORECASTS: Final = 120


def run_created(state: RunFacts, event: ev.RunCreated) -> None:
    state.created = event
    state.run = event.run
    state.market = event.market
    state.goal = event.goal
    state.limits = event.limits
    state.ledger = Ledger(event.goal.budgets())
    state.periods.append((event.at, event))


def files_found(state: RunFacts, event: ev.FilesFound) -> None:
    state.files_found = (state.files_found or set()) | set(event.names)
    state.file_links |= event.links


def arrivals_ended(state: RunFacts, event: ev.ArrivalsEnded) -> None:
    state.arrivals_open = False


def goal_changed(state: RunFacts, event: ev.GoalChanged) -> None:
    state.goal = event.goal
    state.ledger.change(event.goal.budgets())


def work_planned(state: RunFacts, event: ev.PlanEvent) -> None:
    plans = state.plans_of(event.work)
    state.plans[event.work] = plans.after(event, state.ledger.committed)


def budget_refilled(state: RunFacts, event: ev.BudgetRefilled) -> None:
    """The ledger knows by the time what is left."""


def scale_decided(state: RunFacts, event: ev.ScaleDecided) -> None:
    """Told for those who ask why; the machines are rented and released by other events."""


def forecast_made(state: RunFacts, event: ev.ForecastMade) -> None:
    """Kept with those before; when there are very many, every other goes."""
    if len(state.forecasts) >= MOST_FORECASTS:
        del state.forecasts[1::2]
    state.forecasts.append(event)


def stop_requested(state: RunFacts, event: ev.StopRequested) -> None:
    state.stopping = event


def run_resumed(state: RunFacts, event: ev.RunResumed) -> None:
    state.pauses.append((state.now, event.at))
    state.periods.append((event.at, event))
    if event.outputs and state.created is not None:
        options = msgspec.structs.replace(state.created.made_with, outputs=event.outputs)
        state.created = msgspec.structs.replace(state.created, options=options)
    state.stopping = None
    state.ended = None
    state.refusals.clear()


def run_ended(state: RunFacts, event: ev.RunEnded) -> None:
    state.ended = event


def action_refused(state: RunFacts, event: ev.ActionRefused) -> None:
    """A refusal changes nothing but the record."""
