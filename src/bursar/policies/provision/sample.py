"""`sample`: rent a few machines of every offer until the sample is there, then stop for a plan.

The decoupled sampling phase of the BaTS thesis (sections 3.1.3 and 3.2.2, figure 3.2). Paid time is
used to its end: the machines go on with tasks of the bag, and are released when their lease ends,
or at once where that gives money back. Once all offers are compared, what the sample still lacks is
run on one machine of the offer that is the most profitable so far.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random

from bursar.beliefs.samples import SampleLog
from bursar.engine.roles import Provisioner
from bursar.model.fleet import Fleet
from bursar.model.market import Offer
from bursar.model.time import Time
from bursar.plan.bag.choices import most_profitable
from bursar.policies.reconcile import Target, reconcile
from bursar.state.actions import Extend, Release, Rent, Stop, Wake
from bursar.state.view import Machine, View


class Sample(Provisioner):
    """Samples with `workers` machines of each offer until the log has `size` tasks."""

    def __init__(self, sample_log: SampleLog, size: int, workers: int = 1) -> None:
        self.sample_log = sample_log
        self.size = size
        self.workers = workers

    def provision(
        self, view: View, now: Time, rng: Random
    ) -> Iterable[Rent | Release | Wake | Stop]:
        if not view.total:
            return ()
        if self.is_complete(view):
            return self._finish(view, now)
        fleet = self._fleet(view)
        if not fleet and not view.machines:
            return (Stop(self._why_not(view), "planned"),)
        return reconcile(view, Target(fleet=fleet, rent="to sample"), now)

    def renew(self, machine: Machine, view: View, now: Time) -> Extend | Release:
        if self.is_complete(view):
            return Release(machine.id, reason="the sample is complete")
        if self.sample_log.is_hopeless(machine.offer.name):
            return Release(machine.id, reason="every task fails on this offer")
        if machine.offer not in self._sampled(view):
            return Release(
                machine.id, reason="compared; the rest is sampled where tasks cost least"
            )
        if self._is_compared(view) and self._is_second(machine, view):
            return Release(machine.id, reason="compared; one machine does the rest of the sample")
        return Extend(machine.id, reason="the sample is not complete")

    def is_complete(self, view: View) -> bool:
        return self.sample_log.is_complete(view.market.offers, self.size, view.total)

    def _is_compared(self, view: View) -> bool:
        return self.sample_log.is_compared(view.market.offers, view.total)

    def _sampled(self, view: View) -> Sequence[Offer]:
        """Offers that the sample still needs: all, or the most profitable so far."""
        if not self._is_compared(view):
            return view.market.offers
        runtimes = {offer.name: self.sample_log.mean(offer.name) for offer in view.market.offers}
        if not any(runtimes.values()):
            return ()
        return (most_profitable(view.market.offers, runtimes),)

    def _is_second(self, machine: Machine, view: View) -> bool:
        """Whether another machine of the offer was there before it and stays."""
        return any(
            other.offer == machine.offer
            and other.id < machine.id
            and not (other.leaving or other.marked)
            for other in view.machines.values()
        )

    def _fleet(self, view: View) -> Fleet:
        """What the sample still needs, as far as a machine of it can be paid and tasks succeed."""
        workers = 1 if self._is_compared(view) else self.workers
        return {
            offer.name: workers if offer.limit is None else min(workers, offer.limit)
            for offer in self._sampled(view)
            if offer.limit != 0
            and not self.sample_log.is_hopeless(offer.name)
            and view.ledger.can_pay(offer.entry_charge)
        }

    def _why_not(self, view: View) -> str:
        offers = (offer for offer in view.market.offers if offer.limit != 0)
        if all(self.sample_log.is_hopeless(offer.name) for offer in offers):
            return "every task fails on every offer"
        return "the money for the sample is used up"

    def _finish(self, view: View, now: Time) -> Iterable[Release | Stop]:
        if not view.machines:
            return (Stop("the sample is complete", "planned"),)
        return [
            Release(number, at_once=True, reason="the sample is complete")
            for number in view.idle
            if _is_spent(view.machines[number], self.sample_log, now)
        ]


def _is_spent(machine: Machine, sample_log: SampleLog, now: Time) -> bool:
    """Idle, and either leaving gives money back, or no task would end in the time that is left."""
    if machine.attempts:
        return False
    mean = sample_log.mean(machine.offer.name)
    return machine.refunds(now) or mean is None or now + mean > machine.until
