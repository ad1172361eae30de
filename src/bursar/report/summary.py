"""The end of a run in a few figures: one object for programs, some lines for people."""

from __future__ import annotations

import time
from collections.abc import Iterator
from html import escape
from typing import Final

import msgspec

from bursar.model.budget_text import format_budget, format_interval
from bursar.model.goal import Budget, Goal
from bursar.model.market import Market
from bursar.model.money import format_money
from bursar.model.text import counted
from bursar.model.time import SECOND, Time, format_duration, seconds
from bursar.state.digest import NO_OUTPUTS, Digest, Promise, digest_of
from bursar.state.events import Status
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

STATUS_TEXT: Final[dict[Status, str]] = {
    "done": "done",
    "failed": "failed",
    "budget": "stopped by its budget",
    "deadline": "stopped by its deadline",
    "interrupted": "interrupted",
    "planned": "planned",
}


class Tasks(msgspec.Struct, frozen=True, omit_defaults=True):
    total: int
    done: int
    failed: int
    blocked: int = 0
    """never to begin, since they need one that failed"""
    cancelled: int = 0
    """of works that were cancelled, or calls that were"""


class Spending(msgspec.Struct, frozen=True, omit_defaults=True):
    """Exact decimals, as text."""

    budget: str | None
    """of the run, or for each interval; None: there is none, or users have one each"""
    committed: str
    currency: str
    every_s: float | None = None
    """the budget is for each interval of so many seconds"""
    committed_in_interval: str | None = None
    """in that of the last event"""

    def limited_to(self, budget: str) -> str:
        """What stands behind the committed money: ` of $2.50`, ` within $0.05/6 s` or nothing."""
        if self.budget is None:
            return ""
        if self.every_s is None:
            return f" of {budget}"
        return f" within {budget}{format_interval(seconds(self.every_s))}"


class Summary(msgspec.Struct, frozen=True):
    """What `--json` prints of a run. `status` is None while it has not ended."""

    run: str
    status: Status | None
    why: str
    tasks: Tasks
    money: Spending
    makespan_s: float

    def _repr_html_(self) -> str:
        """In a notebook: how the run ended."""
        status = "running" if self.status is None else STATUS_TEXT[self.status]
        money = self.money
        done = f"{self.tasks.done:,} of {counted(self.tasks.total, 'task')} done"
        limit = money.limited_to(f"{money.budget} {money.currency}")
        cost = f"{money.committed}{limit or f' {money.currency}'}"
        why = f"<br>{escape(self.why_text)}" if self.why_text else ""
        span = format_duration(round(self.makespan_s * SECOND))
        return f"<b>{escape(self.run)}</b>: {status}. {done} in {span}, {escape(cost)}{why}"

    def svg(self) -> str:
        """Tasks by how they ended, and money of the budget, as a picture."""
        from bursar.report.pictures import summary_svg  # late: it brings much of the page

        return summary_svg(self)

    @property
    def why_text(self) -> str:
        """Why it ended as it did, also where tasks failed."""
        if self.why or not self.tasks.failed:
            return self.why
        blocked = f", and {self.tasks.blocked:,} wait for them" if self.tasks.blocked else ""
        return f"{counted(self.tasks.failed, 'task')} failed{blocked}"


def summarise(state: RunState) -> Summary:
    return summary_of(digest_of(state))


def summary_of(digest: Digest) -> Summary:
    return Summary(
        run=digest.run,
        status=digest.status,
        why=digest.why,
        tasks=Tasks(digest.total, digest.done, digest.failed, digest.blocked, digest.cancelled),
        money=_spending(digest),
        makespan_s=digest.makespan / SECOND,
    )


def _spending(digest: Digest) -> Spending:
    interval = digest.interval
    return Spending(
        None if digest.budget is None else str(digest.budget),
        str(digest.committed),
        digest.currency,
        None if interval is None else interval.every / SECOND,
        None if interval is None else str(interval.committed),
    )


def prices_text(market: Market, *, first: bool = True) -> str:
    """`Prices of 2012-09-21, USD`, and if the command has not yet said it, what they leave out."""
    if market.is_free:
        return f"{FREE[0].upper()}{FREE[1:]}"
    prices = "Undated prices" if market.date == "undated" else f"Prices of {market.date}"
    return f"{prices}, {market.currency}{f'; {NOT_INCLUDED}' if first else ''}"


def goal_money(goal: Goal, currency: str) -> str:
    """`$2.50`, `$5.00/h`, `no budget`, or that of each account."""
    text = {
        name: "no budget" if budget is None else format_budget(budget, currency)
        for name, budget in goal.budgets().items()
    }
    if not goal.accounts:
        return text[""]
    return ", ".join(f"{name} {money}" for name, money in text.items())


def budget_shown(market: Market, goal: Goal) -> str:
    """The cap where it is first shown: `budget $2.50 (storage and transfer are not included)`."""
    if market.is_free:
        return FREE
    money = goal_money(goal, market.currency)
    text = money if goal.budget is None and not goal.accounts else f"budget {money}"
    return f"{text} ({NOT_INCLUDED})"


def money_line(digest: Digest, *, first: bool = True) -> str:
    """`$0.40 committed of $2.50`, and if it is the first to show the cap, what that leaves out."""
    if digest.is_free:
        return FREE
    text = f"{format_money(digest.committed, digest.currency)} committed{_limit(digest)}"
    return f"{text} ({NOT_INCLUDED})" if first else text


def _limit(digest: Digest) -> str:
    """What the committed money was limited to; of an interval, how it stands in this one."""
    currency, budget, interval = digest.currency, digest.budget, digest.interval
    if digest.accounts > 1:
        return f" within the budgets of {counted(digest.accounts, 'account')}"
    if budget is None:
        return " without a budget"
    if interval is None:
        return f" of {format_money(budget, currency)}"
    cap = format_budget(Budget(budget, interval.every), currency)
    if digest.status is not None:
        return f" within {cap}"
    return f", {format_money(interval.committed, currency)} of {cap} in this interval"


ABANDONED: Final = "abandoned"
"""What a run is that has not ended, and is not executed any more."""


def tell(state: RunState, *, first: bool = True, is_abandoned: bool = False) -> Iterator[str]:
    """How a run ended, or how it stands, line by line; `first` if the cap was not shown before."""
    return tell_digest(digest_of(state), first=first, is_abandoned=is_abandoned)


def tell_digest(digest: Digest, *, first: bool = True, is_abandoned: bool = False) -> Iterator[str]:
    """The same, by its digest alone."""
    status = digest.status or "running"
    text = ABANDONED if is_abandoned else "running"
    if digest.status is not None:
        text = STATUS_TEXT[digest.status]
    yield (
        f"{digest.run}: {text}. {digest.done:,} of {counted(digest.total, 'task')} done"
        f" in {_span(digest.elapsed, digest.was_paused)}, {money_line(digest, first=first)}"
    )
    if digest.refill_awaited is not None and not is_abandoned:
        yield refill_text(digest.began, digest.refill_awaited)
    if digest.promise is not None:
        yield _tell_promise(digest, digest.promise)
    if digest.replanned is not None:
        at, why = digest.replanned
        yield f"replanned at {format_duration(at)}: {why}"
    if digest.why:
        yield f"why: {digest.why}"
    yield from _tell_failures(digest)
    yield f"results: {digest.outputs}"
    if status == "planned" and digest.done:
        yield f"choose a plan with: bursar run {digest.run} --choose knee"
    if status in ("budget", "interrupted", "deadline") and not digest.is_of_calls:
        more = {"budget": " --budget MORE", "deadline": " --deadline LATER"}.get(status, "")
        yield f"continue with: {go_on(digest, more)}"


def go_on(digest: Digest, more: str = "") -> str:
    """The command that continues a run."""
    if digest.arrivals_open:
        return f"bursar serve --resume {digest.run}"
    return f"bursar resume {digest.run}{more}"


def refill_text(began: float, refill: Time) -> str:
    """`waits for the next budget at 14:00:00`, as clocks show it; with the day if not today."""
    at = time.localtime(began + refill / SECOND)
    is_today = at[:3] == time.localtime()[:3]
    return time.strftime(
        f"waits for the next budget at %H:%M:%S{'' if is_today else ' on %Y-%m-%d'}", at
    )


def _span(length: Time, was_paused: bool) -> str:
    text = format_duration(length)
    return f"{text} of running time" if was_paused else text


def _tell_promise(digest: Digest, plan: Promise) -> str:
    """Predicted against actual."""
    currency = digest.currency
    if digest.settled < digest.total:
        return (
            f"plan '{plan.name}': predicted {format_duration(plan.makespan_p50)}"
            f" (at most {format_duration(plan.makespan_upper)}) and"
            f" {format_money(plan.cost_p50, currency)}"
            f" (at most {format_money(plan.cost_upper, currency)}); not finished"
        )
    actual = digest.committed - plan.committed_before
    took = _span(digest.makespan, digest.makespan_was_paused)
    return (
        f"plan '{plan.name}': predicted {format_duration(plan.makespan_p50)}"
        f" (at most {format_duration(plan.makespan_upper)}), took {took};"
        f" predicted {format_money(plan.cost_p50, currency)}"
        f" (at most {format_money(plan.cost_upper, currency)}), cost"
        f" {format_money(actual, currency)}"
    )


def _tell_failures(digest: Digest) -> Iterator[str]:
    """Which tasks failed and why, those together that failed alike, and what to do about it."""
    for one in digest.failures:
        code = f"exit code {one.exit_code}" if (one.exit_code or 0) > 0 else ""
        text = f"{f' ({code})' if code else ''}: {one.command}"
        if one.count == 1:
            yield f"failed: task {one.first}{text}"
        else:
            yield f"failed: {counted(one.count, 'task')} alike, such as task {one.first}{text}"
        yield from (f"    {line}" for line in one.why if line != code)
    if more := digest.failed - sum(one.count for one in digest.failures):
        yield f"... and {more:,} more failed"
    if digest.blocked:
        needs = "needs" if digest.blocked == 1 else "need"
        yield f"not started: {counted(digest.blocked, 'task')} that {needs} a failed one"
    if digest.cancelled:
        works, tasks = digest.cancelled_works, counted(digest.cancelled, "task")
        yield f"cancelled: {tasks}" + (f" of {counted(works, 'work')}" if works else "")
    if digest.failed:
        yield from _tell_how_to_retry(digest)


def _tell_how_to_retry(digest: Digest) -> Iterator[str]:
    """Where what commands printed is; calls leave nothing behind unless they wrote files."""
    is_one = digest.failed == 1
    if digest.outputs != NO_OUTPUTS and any(one.has_output for one in digest.failures):
        which = f"/{digest.failures[0].first}" if is_one else ""
        yield f"{'its' if is_one else 'their'} output: {digest.outputs}/failed{which}"
    if not (digest.is_of_calls or digest.arrivals_open):
        them = "it" if is_one else "them"
        yield f"retry {them} with: bursar resume {digest.run} --retry-failed"
