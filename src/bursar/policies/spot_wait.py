"""Until when reliable machines may wait, because unreliable ones may do their work for less.

With a deadline and machines billed by the second, work costs the same whether it is done now or
later. So where no unreliable machine is available, nothing is lost by waiting for one, as long as
reliable machines can still do all that is left at no more cost: a few of them, since each one pays
for its boot and for its last unit. "Can't Be Late" (Wu et al., NSDI 2024, section 4) spreads the
waiting evenly over the time to the deadline, as each return to on-demand machines loses a
changeover. Here what those will lose is estimated from the losses so far, and is the only time that
is not waited for: reliable machines go on while an unreliable one boots, so that returning to those
loses nothing, and the rest of the slack is worth most at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, exp, log, sqrt
from typing import Final

from bursar.model.fleet import Fleet
from bursar.model.market import Offer
from bursar.model.time import Time
from bursar.policies.deadline_help import CHANGEOVERS, LastMoment
from bursar.state.view import View

NO_MORE: Final = 0.01
"""What costs more by this share costs no more."""
ENOUGH: Final = 10
"""Results without which nobody waits: the first to end are the shortest tasks."""
SURE: Final = 2.0
"""Standard errors by which tasks may prove longer than those so far."""


class SpotWait:
    """Tells until when the reliable machines of a run need not work."""

    def __init__(self, reliable: Sequence[Offer], last: LastMoment) -> None:
        self._offers = sorted(reliable, key=lambda one: one.price_of_work)
        self._last = last
        """which knows run times"""
        self.is_on = False
        """whether they wait now"""

    def look(self, view: View, now: Time, losses: int) -> Time | None:
        """When they begin; None: now. `losses` is how many machines were taken away so far."""
        until = self._until(view, now, losses)
        if until is not None and not self.is_on:
            until -= CHANGEOVERS * max(offer.boot for offer in self._offers)  # not for a moment
        self.is_on = until is not None and now < until
        return until if self.is_on else None

    def _until(self, view: View, now: Time, losses: int) -> Time | None:
        last = self._last
        if view.goal.deadline is None or last.results < ENOUGH or not self._offers:
            return None
        mean = last.mean * (1 + SURE * last.deviation / sqrt(last.results))
        begin = last.at(view, self._fleet(view), mean=mean, longest=self._longest(view))
        return None if begin is None else begin - self._changeovers(view, now, losses)

    def _fleet(self, view: View) -> Fleet:
        """As many machines as cost no more than one does all that is left."""
        work = self._last.work_left(view)
        least = self._offers[0].price_of_work
        spare = NO_MORE * work * least
        fleet: dict[str, int] = {}
        for offer in self._offers:
            more = offer.price_of_work / least - 1
            waste = offer.price.nanos / offer.billing * self._wasted(offer)
            if more > NO_MORE:
                break
            limit = view.total if offer.limit is None else offer.limit
            count = min(limit, int(spare / waste) if waste else limit)
            if not fleet:
                count = max(1, count)
            if count <= 0:
                break
            fleet[offer.name] = count
            spare -= count * waste
        return fleet

    def _longest(self, view: View) -> float:
        """What the longest task left takes, were run times lognormal: those seen are but a few."""
        last, left = self._last, view.total - view.done - view.failed
        sigma = sqrt(log(1 + last.deviation**2))
        among = sqrt(2 * log(max(1, left)))
        return max(last.longest, last.mean * exp(sigma * among - sigma**2 / 2))

    def _wasted(self, offer: Offer) -> float:
        """The time that one more machine is paid for and does nothing."""
        return offer.boot + max(offer.billing, self._last.mean / offer.speed) / 2

    def _changeovers(self, view: View, now: Time, losses: int) -> Time:
        """What will be lost with unreliable machines, if they are lost as often as so far."""
        deadline = view.goal.deadline
        if deadline is None or not now:
            return 0
        each = max(offer.boot for offer in self._offers) + self._last.mean / 2
        return ceil(each * losses * max(0, deadline - now) / now)
