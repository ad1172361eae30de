"""The end of a run in a few figures: one object for programs, some lines for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from bursar.events import PlanChosen, Status
from bursar.model.money import format_money
from bursar.model.time import SECOND, Time, format_duration
from bursar.state import RunState

EXIT_CODES: Final[dict[Status, int]] = {
    "done": 0,
    "failed": 3,
    "budget": 4,
    "deadline": 5,
    "interrupted": 130,
    "planned": 0,
}
NOT_INCLUDED: Final = "storage and transfer are not included"
"""Said wherever the cap is shown."""

_FAILURES_SHOWN: Final = 10


class Tasks(msgspec.Struct, frozen=True):
    total: int
    done: int
    failed: int


class Account(msgspec.Struct, frozen=True):
    """Exact decimals, as text."""

    budget: str | None
    committed: str
    currency: str


class Summary(msgspec.Struct, frozen=True):
    """What `--json` prints of a run. `status` is None while it has not ended."""

    run: str
    status: Status | None
    why: str
    tasks: Tasks
    money: Account
    makespan_s: float


def summarise(state: RunState) -> Summary:
    budget = state.ledger.budget
    return Summary(
        run=state.run,
        status=None if state.ended is None else state.ended.status,
        why="" if state.ended is None else state.ended.why,
        tasks=Tasks(state.total, state.done, state.failed),
        money=Account(
            None if budget is None else str(budget),
            str(state.ledger.committed),
            state.market.currency,
        ),
        makespan_s=makespan(state) / SECOND,
    )


def makespan(state: RunState) -> Time:
    """From the run's beginning, or from the choice of its plan, to the last settled task."""
    begin = 0 if state.plan is None else state.plan.at
    return max(0, state.last_settled - begin)


def money_line(state: RunState) -> str:
    """`$0.40 committed of $2.50`, and what that does not include."""
    currency = state.market.currency
    committed = f"{format_money(state.ledger.committed, currency)} committed"
    if state.ledger.budget is None:
        return f"{committed} (nothing here costs money)"
    return f"{committed} of {format_money(state.ledger.budget, currency)} ({NOT_INCLUDED})"


def tell(state: RunState) -> Iterator[str]:
    """The end of a run for people, line by line."""
    ended = state.ended
    status = "running" if ended is None else ended.status
    yield (
        f"{state.run}: {status}. {state.done:,} of {state.total:,} tasks done"
        f" in {format_duration(makespan(state))}, {money_line(state)}"
    )
    if state.plan is not None:
        yield _tell_promise(state, state.plan)
    if ended is not None and ended.why:
        yield f"why: {ended.why}"
    yield from _tell_failures(state)
    if state.created is not None:
        yield f"results: {state.created.settings.get('outputs', 'none')}"
    if status == "planned":
        yield f"choose a plan with: bursar run {state.run} --choose knee"
    if status in ("budget", "interrupted", "deadline"):
        more = {"budget": " --budget MORE", "deadline": " --deadline LATER"}.get(status, "")
        yield f"go on with: bursar resume {state.run}{more}"


def _tell_promise(state: RunState, plan: PlanChosen) -> str:
    """Predicted against actual."""
    currency = state.market.currency
    actual = state.ledger.committed - state.committed_before_plan
    took = format_duration(makespan(state))
    return (
        f"plan '{plan.name}': predicted {format_duration(plan.makespan_p50)}"
        f" (at most {format_duration(plan.makespan_upper)}), took {took};"
        f" predicted {format_money(plan.cost_p50, currency)}"
        f" (at most {format_money(plan.cost_upper, currency)}), cost"
        f" {format_money(actual, currency)}"
    )


def _tell_failures(state: RunState) -> Iterator[str]:
    for task, failure in list(state.failed_tasks.items())[:_FAILURES_SHOWN]:
        code = "" if failure.exit_code is None else f" (exit code {failure.exit_code})"
        yield f"failed: task {task}{code}: {state.describe(task)}"
        yield from (f"    {line}" for line in failure.why.splitlines())
    if len(state.failed_tasks) > _FAILURES_SHOWN:
        yield f"... and {len(state.failed_tasks) - _FAILURES_SHOWN:,} more failed"
    if state.failed_tasks:
        yield f"retry them with: bursar resume {state.run} --retry-failed"
