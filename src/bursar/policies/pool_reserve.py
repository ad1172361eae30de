"""How many reliable machines work beside unreliable ones until the tail, by a user's preference.

`advise.tail` asks this; what is expected of each number is in `bursar.plan.pools.reserve`.
"""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np

from bursar.beliefs.pool import PoolObserver
from bursar.beliefs.reliability import InstanceEnd
from bursar.model.market import Pool
from bursar.model.text import counted
from bursar.model.time import MINUTE, SECOND, Time
from bursar.plan.pools.reserve import ReserveForecast, ReserveSlots, slots_beside
from bursar.plan.pools.split import by_price
from bursar.policies.pool_machines import interim, is_interim
from bursar.policies.pool_timeout import ENOUGH
from bursar.policies.two_pools import TwoPools
from bursar.state import events as ev
from bursar.state.view import View
from bursar.state.work_plans import FIRST_WORK

SOON: Final[Time] = MINUTE
"""Before this nothing is known of a pool that is asked for more machines than it has."""
FASTEST: Final = "fastest"


class ReserveQuestion(msgspec.Struct, frozen=True):
    """How many reliable slots are used until the tail?"""

    forecast: ReserveForecast | None
    """None: nothing is known yet, and nothing need be known"""
    preference: str
    unreliable: int
    """slots of the unreliable pool"""
    most: int
    """reliable slots that there are"""
    standing: int | None
    """those that may be used as it was decided before; None: nothing was decided yet"""
    budget: float | None = None
    """of the whole run, for each task"""
    deadline: float | None = None
    """seconds since the run began"""
    is_scarce: bool = False
    """unreliable machines are asked for in vain"""
    work: int = FIRST_WORK
    """whose strategy it will be"""


def reserve_question(
    work: int, preference: str, view: View, pools: TwoPools, observer: PoolObserver
) -> ReserveQuestion | None:
    """What is known now; None: too little, or there is nothing to decide."""
    strategy = pools.strategies.of_work(work)
    most = reliable_slots(view, pools)
    if not (strategy is None or is_interim(strategy)) or not most or view.settled == view.total:
        return None
    budget, deadline = view.goal.total_budget, view.goal.deadline
    is_scarce = any(view.market[name].pool == "unreliable" for name in view.refusals)
    is_known = pools.results >= ENOUGH or (is_scarce and view.now >= SOON)
    is_clear = preference.strip() == FASTEST and budget is None
    if not is_known and (strategy is not None or not is_clear):
        return None
    return ReserveQuestion(
        forecast=forecast_of(view, pools, observer) if is_known else None,
        preference=preference.strip(),
        unreliable=pools.unreliable,
        most=most,
        standing=None if strategy is None else strategy.reliable_machines(pools.unreliable),
        budget=None if budget is None else float(budget) / view.total,
        deadline=None if deadline is None else deadline / SECOND,
        is_scarce=is_scarce,
        work=work,
    )


def reliable_slots(view: View, pools: TwoPools) -> int:
    """Reliable slots that may be rented, and no more than there are tasks."""
    offers = (offer for offer in view.market.offers if offer.pool == "reliable")
    slots = sum(pools.fleet.get(offer.name, 0) * offer.slots for offer in offers)
    return min(slots, view.total - view.settled)


def forecast_of(view: View, pools: TwoPools, observer: PoolObserver) -> ReserveForecast:
    """What may be expected if the unreliable pool goes on as before."""
    history = observer.history()
    is_over = history.fates != InstanceEnd.SILENT
    ages = np.where(is_over, history.ended, view.now) - history.sent
    busy, over = float(ages.sum()) / SECOND, float(ages[is_over].sum()) / SECOND
    spent, elapsed = spent_by_pool(view), view.now / SECOND
    times = history.turnarounds()
    # Without a result, a task takes at least as long as the oldest that is under way.
    mean = float(times.mean() if len(times) else ages.max(initial=view.now)) / SECOND
    reliable = [offer for offer in view.market.offers if offer.pool == "reliable"]
    return ReserveForecast(
        total=view.total,
        left=view.total - view.settled,
        elapsed=elapsed,
        spent=sum(spent.values()),
        results=busy / elapsed * (len(times) / over if len(times) else 1 / mean),
        burn=spent["unreliable"] / elapsed,
        tail=float(times[-1]) / SECOND / 2 if len(times) else mean,
        reliable=_slots_in_order(view, pools, mean, observer.reliable_time),
        up=sum(pools.counts.of(offer.name).up * offer.slots for offer in reliable),
    )


def _slots_in_order(
    view: View, pools: TwoPools, mean: float, measured: Time | None
) -> tuple[ReserveSlots, ...]:
    """Reliable slots as `mixed` rents them: the cheapest first. `mean` is of unreliable ones."""
    usable = [offer for offer in view.market.offers if pools.fleet.get(offer.name)]
    spot = [offer for offer in usable if offer.pool == "unreliable"]
    sure = by_price(offer for offer in usable if offer.pool == "reliable")
    slots = sum(pools.fleet[offer.name] * offer.slots for offer in spot)
    speed = sum(pools.fleet[offer.name] * offer.slots * offer.speed for offer in spot) / slots
    work = mean * speed if measured is None else measured / SECOND * sure[0].speed
    return tuple(
        ReserveSlots(
            count=pools.fleet[offer.name] * offer.slots,
            time=work / offer.speed,
            burn=float(offer.price) * SECOND / (offer.billing * offer.slots),
            boot=offer.boot / SECOND,
        )
        for offer in sure
    )


def spent_by_pool(view: View) -> dict[Pool, float]:
    """What the machines of each pool have cost until now, not what is committed beyond."""
    spent: dict[Pool, float] = {"unreliable": 0.0, "reliable": 0.0}
    for charge in view.ledger.charges():
        stay = min(charge.end, view.now) - charge.begin
        spent[charge.offer.pool] += float(charge.offer.charge(stay))
    return spent


def reserved(question: ReserveQuestion) -> ev.StrategyChosen | None:
    """How many reliable slots are used until the tail; None: as many as before."""
    forecast, preference = question.forecast, question.preference
    if forecast is None:
        why = _reason(question, question.most)
        strategy = interim(question.most / question.unreliable)
        return ev.StrategyChosen(0, strategy, why, work=question.work)
    standing = question.standing
    slots = slots_beside(
        forecast,
        preference,
        budget=question.budget,
        deadline=question.deadline,
        standing=standing,
    )
    slots = min(slots, question.most)
    if slots == standing or (question.is_scarce and standing is not None and slots < standing):
        return None  # what works is not given back while nothing else is available
    span, cost = forecast.point(slots)
    return ev.StrategyChosen(
        0,
        interim(slots / question.unreliable),
        _reason(question, slots),
        makespan=round((span - forecast.elapsed) * SECOND),
        cost=cost * forecast.total - forecast.spent,
        work=question.work,
    )


def _reason(question: ReserveQuestion, slots: int) -> str:
    limits = [
        name
        for name, limit in (("budget", question.budget), ("deadline", question.deadline))
        if limit is not None
    ]
    kept = f" within the {' and the '.join(limits)}" if limits else ""
    reliable = f"{counted(slots, 'reliable slot')}" if slots else "no reliable machine"
    beside = f"{counted(question.unreliable, 'unreliable slot')}"
    why = f"{question.preference}{kept}: {reliable} beside {beside} until the tail"
    return f"{why}, as unreliable machines are scarce" if question.is_scarce else why
