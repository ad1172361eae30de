"""The digest: what lists of runs tell of a run, small enough to be written with every commit."""

from __future__ import annotations

from typing import Final

import msgspec

from bursar.model.money import Money
from bursar.model.time import Time
from bursar.state.events import PlanChosen, Status
from bursar.state.failures import FailedAlike, FailureGroups
from bursar.state.state import RunState
from bursar.state.work_plans import FIRST_WORK, NO_PLANS

NO_OUTPUTS: Final = "none"
"""Said instead of a directory by runs that keep no outputs."""


class Promise(msgspec.Struct, frozen=True):
    """What the plan of a run predicted, and what its sample had cost before."""

    name: str
    makespan_p50: Time
    makespan_upper: Time
    cost_p50: Money
    cost_upper: Money
    committed_before: Money


class IntervalMoney(msgspec.Struct, frozen=True):
    """How a budget for each interval stands, in that of the last event."""

    every: Time
    committed: Money
    """in this interval"""


class Digest(msgspec.Struct, frozen=True, omit_defaults=True):
    """A run as of one of its events; all that `bursar status` shows of it."""

    run: str
    began: float
    """seconds since 1970"""
    now: Time
    """of the last event"""
    elapsed: Time
    """from the beginning, the sample included, to the last event; pauses do not count"""
    makespan: Time
    """from the beginning, or the choice of the plan, to the last settled task, without pauses"""
    total: int
    done: int
    currency: str
    committed: Money
    budget: Money | None = None
    """of all accounts, for the whole run or for each interval; None: there is none, or there are
    several accounts with intervals, of which the budgets have no sum"""
    interval: IntervalMoney | None = None
    """None: the budget is for the whole run, or there are several accounts"""
    accounts: int = 1
    refill_awaited: Time | None = None
    """nothing is rented and tasks wait for the money of the interval that begins then"""
    failed: int = 0
    failures: tuple[FailedAlike, ...] = ()
    """the groups of the most tasks; none in journals of earlier versions"""
    blocked: int = 0
    cancelled: int = 0
    cancelled_works: int = 0
    is_free: bool = False
    """nothing in the market costs money"""
    was_paused: bool = False
    """nobody executed the run for a part of the time since it began"""
    makespan_was_paused: bool = False
    status: Status | None = None
    """None: it has not ended"""
    why: str = ""
    promise: Promise | None = None
    """of a run with one work"""
    replanned: tuple[Time, str] | None = None
    """when the rest of a workflow was last replanned, and why"""
    outputs: str = NO_OUTPUTS
    arrivals_open: bool = False
    """more work may come"""
    is_of_calls: bool = False
    """its tasks are Python calls: it cannot be resumed"""
    fleet: dict[str, int] = {}
    """by offer, machines that boot or are up"""
    machines: int = 0
    """not down"""
    attempts: int = 0
    """that live"""
    chance: float | None = None
    """of keeping budget and deadline, by the last forecast; None: there is none, or it has ended"""

    @property
    def settled(self) -> int:
        return self.done + self.failed + self.blocked + self.cancelled


def digest_of(state: RunState, failures: FailureGroups | None = None) -> Digest:
    """Its cost does not grow with the run, if it is given the groups that it was given before."""
    created, ended = state.created, state.ended
    # Figures of a whole run tell nothing of a plan that was for one of its works.
    plans = state.plans_of(FIRST_WORK) if len(state.work) <= 1 else NO_PLANS
    begun, settled, pauses = state.begun, state.last_settled, state.pauses
    paused = paused_within(pauses, 0, state.now) if pauses else 0
    unsettled = paused_within(pauses, begun, settled) if pauses else 0
    return Digest(
        run=state.run,
        began=0.0 if created is None else created.began,
        now=state.now,
        elapsed=state.now - paused,
        makespan=max(0, settled - begun - unsettled),
        total=state.total,
        done=state.done,
        currency=state.market.currency,
        committed=state.ledger.committed,
        budget=_budget(state),
        interval=interval_money(state),
        accounts=len(state.ledger.accounts),
        refill_awaited=refill_awaited(state),
        failed=state.failed,
        failures=(failures or FailureGroups()).look(state),
        blocked=state.blocked,
        cancelled=state.cancelled,
        cancelled_works=len(state.cancelled_works) if state.cancelled else 0,
        is_free=state.market.is_free,
        was_paused=paused > 0,
        makespan_was_paused=unsettled > 0,
        status=None if ended is None else ended.status,
        why="" if ended is None else ended.why,
        promise=None if plans.chosen is None else _promise(plans.chosen, plans.committed_before),
        replanned=None if plans.assignment is None else (plans.assignment.at, plans.assignment.why),
        outputs=(created.made_with.outputs if created is not None else "") or NO_OUTPUTS,
        arrivals_open=state.arrivals_open,
        is_of_calls=state.is_of_calls,
        fleet=state.fleet,
        machines=len(state.machines),
        attempts=len(state.attempts),
        chance=_chance(state),
    )


def _chance(state: RunState) -> float | None:
    """By a forecast that was made since the run was last taken up."""
    last = state.forecasts[-1] if state.forecasts else None
    if last is None or state.ended is not None or state.stopping is not None:
        return None
    since = state.periods[-1][0] if state.periods else 0
    return last.chance if last.at >= since else None


def _budget(state: RunState) -> Money | None:
    budgets = state.goal.budgets().values()
    is_renewed = any(one is not None and one.every is not None for one in budgets)
    return None if is_renewed and len(budgets) > 1 else state.ledger.budget


def interval_money(state: RunState) -> IntervalMoney | None:
    """How the one account of a run stands; None: its budget is for the whole run."""
    ledger = state.ledger
    if len(ledger.accounts) != 1:
        return None
    (account,) = ledger.accounts
    budget = ledger.budget_of(account)
    if budget is None or budget.every is None:
        return None
    interval = budget.interval(state.now)
    return IntervalMoney(budget.every, ledger.committed_in(account, interval))


def refill_awaited(state: RunState) -> Time | None:
    """When a run goes on that sleeps until the next interval of a budget; None: it does not."""
    if state.machines or not state.ready or state.stopping is not None or state.ended is not None:
        return None
    ledger = state.ledger
    refills = []
    for account in ledger.accounts:
        budget, left = ledger.budget_of(account), ledger.left_of(account, state.now)
        refill = ledger.next_refill(account, state.now)
        if budget is not None and left is not None and refill is not None:
            refills += [refill] if left < budget.amount else []
    return min(refills, default=None)


def paused_within(pauses: list[tuple[Time, Time]], begin: Time, end: Time) -> Time:
    """How much of a stretch of time nobody executed the run."""
    return sum(max(0, min(to, end) - max(since, begin)) for since, to in pauses)


def _promise(plan: PlanChosen, before: Money) -> Promise:
    return Promise(
        plan.name,
        plan.makespan_p50,
        plan.makespan_upper,
        plan.cost_p50,
        plan.cost_upper,
        before,
    )
