"""How a rolling plan of BaTS begins: the first machines, and when they have shown enough.

With long billing units the first machines are as many as a share of the budget pays for: what they
do is kept, and their units are paid anyhow. With fine units they cost what they do, so they get a
share of the tasks: the less they do, the less is lost on offers that prove a poor value.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from bursar.beliefs.progress import Progress
from bursar.model.market import Offer
from bursar.model.money import ZERO, Money
from bursar.model.time import MINUTE, Time
from bursar.policies.reconcile import Target, reconcile
from bursar.state.actions import Release, Rent
from bursar.state.view import View

FIRST_SHARE: Final = 4
"""The first unit of the first machines costs at most one part in so many of the budget."""
FINE: Final = MINUTE
"""Units are fine up to here: a machine can leave when its task has ended."""
SAMPLE_SHARE: Final = 50
"""First machines with fine units do about one part in so many of the tasks ..."""
FEWEST, ENOUGH = 3, 30
"""... but have so many slots of each offer, from the fewest to enough."""
FEW: Final = 5
"""Results without which no fleet is chosen for a deadline ..."""
EARLY: Final = 8
"""... unless one part in so many of the time has passed."""


def first_rents(view: View, now: Time) -> list[Rent | Release]:
    """Equal numbers of every offer, for a share of the budget and not more than the tasks.

    Where a deadline is the goal and money is to be saved, one of each.
    """
    offers = [offer for offer in view.market.offers if offer.limit != 0]
    budget = view.ledger.budget
    share = None if budget is None else Money(budget.nanos // FIRST_SHARE)
    if view.goal.deadline is not None:
        share = ZERO
    slots = len(view.ready)
    sample = _sample(view)
    counts = dict.fromkeys((offer.name for offer in view.market.offers), 0)
    spent = view.ledger.committed
    for machine in view.machines.values():
        counts[machine.offer.name] += 1
        slots -= machine.offer.slots - len(machine.attempts)
    while offers and slots > 0:
        fewest = min(counts[offer.name] for offer in offers)
        offer = next(offer for offer in offers if counts[offer.name] == fewest)
        price = offer.entry_charge
        is_first = fewest == 0 and view.ledger.can_pay(price)
        is_full = offer.limit is not None and fewest >= offer.limit
        if budget is not None and is_fine(offer):
            is_full = is_full or fewest * offer.slots >= sample
        if is_full or not (share is None or spent + price <= share or is_first):
            offers.remove(offer)
            continue
        counts[offer.name] += 1
        slots -= offer.slots
        spent += price
    first = Target(fleet=counts, rent="to learn how long tasks take", in_turn=True)
    return reconcile(view, first, now)


def offers_known(view: View, progress: Progress, now: Time) -> frozenset[str]:
    """Offers of which enough is known to plan with them.

    One result is enough, unless there is time to wait for more before a deadline, or units are
    fine. Then waiting costs little, and the first to end are the shortest tasks: half of those
    begun must have ended.
    """
    counts = {
        offer.name: progress.of(offer.name).count
        for offer in view.market.offers
        if offer.limit != 0
    }
    deadline = view.goal.deadline
    if deadline is not None and now * EARLY < deadline and sum(counts.values()) < FEW:
        return frozenset()
    known = {name for name, count in counts.items() if count}
    if deadline is None and view.ledger.budget is not None:
        running = Counter(attempt.machine.offer.name for attempt in view.attempts.values())
        most = _sample(view)
        known -= {
            name
            for name in known
            if is_fine(view.market[name]) and counts[name] < min(running[name], most)
        }
    return frozenset(known)


def is_fine(offer: Offer) -> bool:
    return offer.billing <= FINE


def _sample(view: View) -> int:
    """Slots of each offer that get a first task."""
    share = view.total // (SAMPLE_SHARE * len(view.market.offers))
    return min(ENOUGH, max(FEWEST, share))
