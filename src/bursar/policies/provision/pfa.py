"""`pfa`: performance feedback, within a budget per interval and without estimates (5.3.3).

Every interval, for each account: (1) the shares of offers from the tasks that their machines did,
(2) the fleet that the budget buys in these shares, (3) the demand of works by tokens, over what a
machine does in an interval, (4) the fleet scaled down to the demand, or inflated towards it with
cheaper machines, (5) what is missing is rented and (6) idle machines beyond it are released.

Not in the thesis: with `fewer="dearest"` a fleet is not scaled down alike in step 4, but loses
machines first that do least for their money.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from math import ceil
from random import Random
from typing import Final, Literal

from bursar.beliefs.throughput import (
    LOOK_BACK,
    SMOOTHING,
    Ewma,
    MovingAverage,
    Throughput,
    rates_of,
)
from bursar.model.fleet import Fleet
from bursar.model.market import Market
from bursar.model.text import counted
from bursar.model.time import MINUTE, Time
from bursar.plan.feedback_fleet import corrected, profile
from bursar.policies.autoscaling import LEARNS_FROM, Autoscaler, Leaving, WantedFleet
from bursar.state import events as ev
from bursar.state.generations import Generations
from bursar.state.view import Machine, View

INTERVAL: Final[Time] = MINUTE
"""As in chapter 5, where it is the billing interval, too."""
RATE: Final = "rate of "
"""How the throughput of an offer is called among the inputs of a decision."""


class Pfa(Autoscaler):
    """Follows the throughput of offers, and the waves of tasks to come."""

    def __init__(
        self,
        market: Market,
        fleet: Fleet | None = None,
        interval: Time = INTERVAL,
        *,
        smooth: Literal["ma", "ewma"] = "ma",
        m: int = LOOK_BACK,
        alpha: float = SMOOTHING,
        fewer: Literal["alike", "dearest"] = "alike",
        release: Leaving = "paid",
    ) -> None:
        super().__init__(market, fleet, interval, release=release)
        self._offers = [offer.name for offer in market.offers]
        self._mean_slots = sum(offer.slots for offer in market.offers) / len(market.offers)
        self._smooth, self._look_back, self._alpha = smooth, m, alpha
        self._fewer = fewer
        self._throughput: dict[str, Throughput] = {}
        """by account"""
        self._done: dict[str, Counter[str]] = {}
        """by account, tasks done since its last decision, by offer"""
        self._generations = Generations()

    # --- learning --------------------------------------------------------------------------------

    def learns_from(self) -> Collection[type]:
        return LEARNS_FROM | {ev.AttemptEnded}

    def saw(self, event: ev.AnyEvent, state: View) -> None:
        super().saw(event, state)
        if isinstance(event, ev.AttemptEnded) and event.outcome == "success":
            machine = state.log.machine[event.attempt]
            account = state.account_of(state.log.task[event.attempt])
            self._done.setdefault(account, Counter())[state.offer_of(machine)] += 1
        elif isinstance(event, ev.ScaleDecided):
            rates = {name: event.inputs.get(RATE + name, 0.0) for name in self._offers}
            self._of(event.account).saw(rates)
            self._done.pop(event.account, None)

    def _of(self, account: str) -> Throughput:
        found = self._throughput.get(account)
        if found is None:
            found = (
                Ewma(self._offers, self._alpha)
                if self._smooth == "ewma"
                else MovingAverage(self._offers, self._look_back)
            )
            self._throughput[account] = found
        return found

    # --- deciding --------------------------------------------------------------------------------

    def wanted(self, view: View, now: Time, account: str, rng: Random) -> WantedFleet:
        rates = self._rates(account)
        believed = self._of(account).after(rates)  # the interval that ends now is in no event yet
        self._generations.look(view)
        largest, tasks = self._generations.joint(account, believed.depth)
        each = believed.mean
        machines = ceil(tasks / each) if each > 0 else ceil(largest / self._mean_slots)
        budget = view.goal.budgets().get(account)
        if budget is None or budget.every is None:  # no interval to spend it in: the guard limits
            fleet = self.fleet_of(ceil(machines * self._mean_slots), account)
        else:
            stays = {o.name: o.charge(budget.every or 0) for o in self.market.offers}
            bought = profile(budget.amount, stays, believed.shares)
            most = {o.name: self.most(o, account) for o in self.market.offers}
            worth = believed.shares if self._fewer == "dearest" else None
            fleet = corrected(bought, machines, budget.amount, stays, most, worth)
        inputs = {"wanted": float(machines), "tasks in sight": float(tasks)}
        throughput = {RATE + name: rate for name, rate in rates.items()}
        reason = f"the tasks in sight keep {counted(machines, 'machine')} busy for an interval"
        return WantedFleet(fleet, reason, {**inputs, **throughput})

    def leaving_order(self, machine: Machine) -> tuple[Time, int]:
        """Those whose paid time ends first."""
        return machine.until, machine.id

    def _rates(self, account: str) -> dict[str, float]:
        """Tasks done for each machine since the last decision, by offer (5.1)."""
        machines = {o.name: float(self.machines(o, account)) for o in self.market.offers}
        return rates_of(self._done.get(account, Counter()), machines)
