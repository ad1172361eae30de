"""The end of a run in a few figures: one object for programs, some lines for people."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from bursar.model.market import Market
from bursar.model.money import Money, format_money
from bursar.model.text import counted, cut
from bursar.model.time import SECOND, Time, format_duration
from bursar.model.work import Bag
from bursar.state.events import PlanChosen, Status
from bursar.state.state import RunState

EXIT_CODES: Final[dict[Status, int]] = {
    "done": 0,
    "failed": 3,
    "budget": 4,
    "deadline": 5,
    "interrupted": 130,
    "planned": 0,
}
NOT_INCLUDED: Final = "storage and transfer are not included"
"""Said once in a command, where the cap is first shown."""
FREE: Final = "free of charge"
"""Said instead where there is nothing to cap."""

STATUS_TOLD: Final[dict[Status, str]] = {
    "done": "done",
    "failed": "failed",
    "budget": "stopped by its budget",
    "deadline": "stopped by its deadline",
    "interrupted": "interrupted",
    "planned": "planned",
}

_FAILURES_SHOWN: Final = 10


class Tasks(msgspec.Struct, frozen=True, omit_defaults=True):
    total: int
    done: int
    failed: int
    blocked: int = 0
    """never to begin, since they need one that failed"""


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
        tasks=Tasks(state.total, state.done, state.failed, state.blocked),
        money=Account(
            None if budget is None else str(budget),
            str(state.ledger.committed),
            state.market.currency,
        ),
        makespan_s=makespan(state) / SECOND,
    )


def makespan(state: RunState) -> Time:
    """From the run's beginning, or from the choice of its plan, to the last settled task.

    Time in which nobody executed the run does not count.
    """
    begin = state.begun
    return max(0, state.last_settled - begin - paused(state, begin, state.last_settled))


def elapsed(state: RunState) -> Time:
    """From the run's beginning, its sample included, to the last that is known of it.

    Time in which nobody executed the run does not count.
    """
    return state.now - paused(state, 0, state.now)


def paused(state: RunState, begin: Time, end: Time) -> Time:
    """How much of a stretch of time nobody executed the run."""
    return sum(max(0, min(to, end) - max(since, begin)) for since, to in state.pauses)


def prices_told(market: Market, *, first: bool = True) -> str:
    """`Prices of 2012-09-21, USD`, and if the command has not yet said it, what they leave out."""
    if market.is_free:
        return f"{FREE[0].upper()}{FREE[1:]}"
    prices = "Undated prices" if market.date == "undated" else f"Prices of {market.date}"
    return f"{prices}, {market.currency}{f'; {NOT_INCLUDED}' if first else ''}"


def budget_told(market: Market, budget: Money | None) -> str:
    """The cap where it is first shown: `budget $2.50 (storage and transfer are not included)`."""
    if market.is_free:
        return FREE
    told = "no budget" if budget is None else f"budget {format_money(budget, market.currency)}"
    return f"{told} ({NOT_INCLUDED})"


def money_line(state: RunState, *, first: bool = True) -> str:
    """`$0.40 committed of $2.50`, and if it is the first to show the cap, what that leaves out."""
    if state.market.is_free:
        return FREE
    currency, budget = state.market.currency, state.ledger.budget
    cap = "without a budget" if budget is None else f"of {format_money(budget, currency)}"
    told = f"{format_money(state.ledger.committed, currency)} committed {cap}"
    return f"{told} ({NOT_INCLUDED})" if first else told


ABANDONED: Final = "abandoned"
"""What a run is that has not ended, and is not executed any more."""


def tell(state: RunState, *, first: bool = True, is_abandoned: bool = False) -> Iterator[str]:
    """How a run ended, or how it stands, line by line; `first` if the cap was not shown before."""
    ended = state.ended
    status = "running" if ended is None else ended.status
    told = ABANDONED if is_abandoned else "running"
    if ended is not None:
        told = STATUS_TOLD[ended.status]
    yield (
        f"{state.run}: {told}. {state.done:,} of {counted(state.total, 'task')} done"
        f" in {_tell_elapsed(state)}, {money_line(state, first=first)}"
    )
    if state.plan is not None:
        yield _tell_promise(state, state.plan)
    if state.assignment is not None:
        yield f"replanned at {format_duration(state.assignment.at)}: {state.assignment.why}"
    if ended is not None and ended.why:
        yield f"why: {ended.why}"
    yield from _tell_failures(state)
    if state.created is not None:
        yield f"results: {state.created.settings.get('outputs', 'none')}"
    if status == "planned" and state.done:
        yield f"choose a plan with: bursar run {state.run} --choose knee"
    if status in ("budget", "interrupted", "deadline") and not state.is_of_calls:
        more = {"budget": " --budget MORE", "deadline": " --deadline LATER"}.get(status, "")
        yield f"go on with: bursar resume {state.run}{more}"


def _tell_elapsed(state: RunState) -> str:
    told = format_duration(elapsed(state))
    return f"{told} of running time" if paused(state, 0, state.now) else told


def _tell_makespan(state: RunState) -> str:
    """Since the choice of the plan."""
    told = format_duration(makespan(state))
    resumed = paused(state, state.begun, state.last_settled)
    return f"{told} of running time" if resumed else told


def _tell_promise(state: RunState, plan: PlanChosen) -> str:
    """Predicted against actual."""
    currency = state.market.currency
    if state.settled < state.total:
        return (
            f"plan '{plan.name}': predicted {format_duration(plan.makespan_p50)}"
            f" (at most {format_duration(plan.makespan_upper)}) and"
            f" {format_money(plan.cost_p50, currency)}"
            f" (at most {format_money(plan.cost_upper, currency)}); not finished"
        )
    actual = state.ledger.committed - state.committed_before_plan
    return (
        f"plan '{plan.name}': predicted {format_duration(plan.makespan_p50)}"
        f" (at most {format_duration(plan.makespan_upper)}), took {_tell_makespan(state)};"
        f" predicted {format_money(plan.cost_p50, currency)}"
        f" (at most {format_money(plan.cost_upper, currency)}), cost"
        f" {format_money(actual, currency)}"
    )


def _tell_failures(state: RunState) -> Iterator[str]:
    groups = _alike(state)
    for tasks in groups[:_FAILURES_SHOWN]:
        failure = state.failed_tasks[tasks[0]]
        code = f"exit code {failure.exit_code}" if (failure.exit_code or 0) > 0 else ""
        told = f"{f' ({code})' if code else ''}: {cut(state.describe(tasks[0]))}"
        if len(tasks) == 1:
            yield f"failed: task {tasks[0]}{told}"
        else:
            yield f"failed: {counted(len(tasks), 'task')} alike, such as task {tasks[0]}{told}"
        yield from (f"    {cut(line)}" for line in failure.why.splitlines() if line != code)
    if groups[_FAILURES_SHOWN:]:
        yield f"... and {sum(map(len, groups[_FAILURES_SHOWN:])):,} more failed"
    if state.blocked:
        needs = "needs" if state.blocked == 1 else "need"
        yield f"not begun: {counted(state.blocked, 'task')} that {needs} a failed one"
    if state.failed_tasks:
        yield from _tell_kept_failures(state)
    if state.failed_tasks and not state.is_of_calls:
        them = "it" if len(state.failed_tasks) == 1 else "them"
        yield f"retry {them} with: bursar resume {state.run} --retry-failed"


def _alike(state: RunState) -> list[list[int]]:
    """Failed tasks, those together that ended alike but for numbers and their own arguments.

    What befell most tasks comes first.
    """
    groups: dict[tuple[int | None, str], list[int]] = {}
    for task, failure in sorted(state.failed_tasks.items()):
        why = failure.why
        for word in sorted(_arguments(state, task), key=len, reverse=True):
            if word in why:
                why = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", "{}", why)
        groups.setdefault((failure.exit_code, re.sub(r"\d+", "0", why)), []).append(task)
    return sorted(groups.values(), key=len, reverse=True)


def _arguments(state: RunState, task: int) -> set[str]:
    """Words that are a task's own."""
    work, index = state.locate(task)
    rows = work.rows if isinstance(work, Bag) else None
    return {*state.command(task)[1:], *(rows[index] if rows else ())} - {""}


def _tell_kept_failures(state: RunState) -> Iterator[str]:
    """Where what commands printed is; calls leave nothing behind unless they wrote files."""
    outputs = None if state.created is None else state.created.settings.get("outputs")
    commands = [task for task in state.failed_tasks if state.command(task)]
    if outputs is None or not commands:
        return
    if len(commands) == 1:
        yield f"its output: {outputs}/failed/{commands[0]}"
    else:
        yield f"their output: {outputs}/failed"
