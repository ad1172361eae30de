"""The guard: the money rules, between every policy and every world.

Whatever a policy asks for becomes here a decision, or a refusal with its reason. The guard alone
decides whether money may be committed:

- a machine is paid for ahead, by whole billing units, never beyond the budget of its account, nor
  of the interval in which a unit is entered (`Rent`, `Extend`);
- a machine runs the work of its account only (`Start`);
- its lease ends before anything unpaid begins, and the world lets no machine outlive its lease;
- a machine whose next unit can't be paid is released before it enters it, by the
  lead of its offer.

It also looks at what actions are made of (`bursar.engine.checking`), so that whatever passes can be
journaled and read again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import Any, Final

from bursar.engine.checking import Wrong, as_asked, kind_of, subject_of
from bursar.engine.proposals import checked
from bursar.model.errors import shown
from bursar.model.market import Offer
from bursar.model.money import format_money
from bursar.model.text import counted
from bursar.model.time import LONGEST, MINUTE, SECOND, Time
from bursar.state import actions as act
from bursar.state import events as ev
from bursar.state.state import RunState
from bursar.state.task_status import BLOCKED, CANCELLED, DONE, FAILED, READY, WAITING
from bursar.state.view import Machine, money_left

HORIZON: Final[Time] = 5 * SECOND
"""With fine billing units, how far ahead a lease is paid; an extension by so much more than a
lead that is as long. What is not used is given back."""
FAR_HORIZON: Final[Time] = 10 * MINUTE
"""The same for an extension, where money is plentiful: fewer extensions to journal."""
PLENTIFUL: Final = 10
"""Extending every machine of an account as far takes at most one part in so many of its money:
the less there is, the shorter the leases, down to `HORIZON`."""
MOST_RENTED: Final = 1_000_000
"""Machines that one action may ask for."""
MOST_RECORDED: Final = 1_000
"""Recorded refusals of one kind and for one reason, so that no policy can fill a journal."""

Answer = ev.Decision | ev.StopRequested | ev.ScaleDecided | act.Wake
"""What an action becomes that passes: a decision, a stop, what is wanted, or a time to look
again."""

Lead = Callable[[Offer], Time]
"""How long before the end of its lease the world must hear of a machine of this offer; it may
change at any time."""


def _no_lead(offer: Offer) -> Time:
    return 0


class Guard:
    """Reviews actions against the state, which it never changes."""

    def __init__(self, state: RunState, lead: Lead = _no_lead) -> None:
        self._state = state
        self.lead = lead
        self._leases: dict[str, list[tuple[Time, int]]] = {}
        """by offer, a heap of (end of a lease, machine); outdated entries are dropped when met"""
        self._first: list[tuple[Time, Offer]] = []
        """by offer, the end of its first lease; as of `_seen`"""
        self._seen = -1
        """the place in what changed of machines up to which `_first` is right"""
        self._soonest: Time | None = None
        """when a lease must next be looked at, by the leads of the last time somebody asked"""
        self.lacks_money = False
        """whether the last machine asked for could not be paid"""
        self._refused: dict[tuple[str, str], str] = {}
        """the last refusal by action and subject: the same one is not recorded again and again"""
        self._recorded: Counter[tuple[str, str]] = Counter()
        """how often each reason was recorded, by action"""
        self._reviews: dict[type, Callable[[Any, Time], Answer | str | None]] = {
            act.Start: self._start,
            act.Rent: self._rent,
            act.Extend: self._extend,
            act.Release: self._release,
            act.Cancel: self._cancel,
            act.Wake: self._wake,
            act.Stop: self._stop,
            act.Scale: self._scale,
        }
        for machine in state.machines.values():
            self._watch(machine.offer, machine.id, machine.until)

    # --- leases ----------------------------------------------------------------------------------

    def next_due(self) -> Time | None:
        """When a lease must next be looked at."""
        if self._seen != self._state.changes.machines.end:
            self._look()
        self._soonest = None
        for until, offer in self._first:
            due = until - self.lead(offer)
            if self._soonest is None or due < self._soonest:
                self._soonest = due
        return self._soonest

    def due(self, now: Time) -> list[int]:
        """Machines whose lease must be extended now, or ends; the most urgent first."""
        if self._seen != self._state.changes.machines.end:
            self.next_due()
        if self._soonest is None or now < self._soonest:
            return []
        found: list[tuple[Time, int]] = []
        for first, offer in self._first:
            end: Time | None = first
            lead, leases = self.lead(offer), self._leases[offer.name]
            while end is not None and end - lead <= now:
                found.append((end - lead, heappop(leases)[1]))
                end = self._first_end(leases)
        self._seen = -1  # those that were found are watched again once they are extended
        return [number for _, number in sorted(found)]

    def _look(self) -> None:
        """Find the first lease of each offer, after something changed."""
        self._seen = self._state.changes.machines.end
        self._first = []
        for name, leases in self._leases.items():
            end = self._first_end(leases)
            if end is not None:
                self._first.append((end, self._state.market[name]))

    def _first_end(self, leases: list[tuple[Time, int]]) -> Time | None:
        """When the first lease of an offer's machines ends."""
        machines = self._state.machines
        while leases:
            until, number = leases[0]
            machine = machines.get(number)
            if machine is not None and not machine.releasing and until == machine.until:
                return until
            heappop(leases)
        return None

    def _watch(self, offer: Offer, machine: int, until: Time) -> None:
        heappush(self._leases.setdefault(offer.name, []), (until, machine))

    # --- money that work waits for ---------------------------------------------------------------

    def can_rent(self, now: Time) -> bool:
        """Whether the money left to the accounts of ready tasks buys a machine of any offer."""
        offers = [offer for offer in self._state.market.offers if offer.limit != 0]
        return any(
            self._first_stay(offer, account, now) is not None
            for account in self._waiting_accounts()
            for offer in offers
        )

    def awaits_refill(self, now: Time) -> bool:
        """Whether ready tasks get more money with the next interval than there is now."""
        ledger = self._state.ledger
        for account in self._waiting_accounts():
            refill = ledger.next_refill(account, now)
            if refill is not None:
                left, later = ledger.left_of(account, now), ledger.left_of(account, refill)
                if left is not None and later is not None and left < later:
                    return True
        return False

    def _waiting_accounts(self) -> Iterable[str]:
        """The accounts of ready tasks; an owner without an account has no money."""
        state = self._state
        if not state.goal.accounts:
            return ("",)
        found: set[str] = set()
        for task in state.ready:
            found.add(state.account_of(task))
            if len(found) > len(state.goal.accounts):
                break
        return found.intersection(state.ledger.accounts)

    # --- reviewing -------------------------------------------------------------------------------

    def review(self, action: act.AnyAction, now: Time) -> Answer | ev.ActionRefused | None:
        """A decision, a refusal, or None for a refusal that was recorded before."""
        review = self._reviews.get(type(action))
        if review is None:
            return self._refuse(action, "this is not an action", now)
        asked = as_asked(action)
        answer = asked.why if isinstance(asked, Wrong) else review(asked, now)
        return self._refuse(action, answer, now) if isinstance(answer, str) else answer

    def review_proposal(self, proposal: object, now: Time) -> ev.Proposal | ev.ActionRefused | None:
        """What an advisor proposes, as an event of now; or a refusal; None: refused before."""
        answer = checked(proposal, self._state, now)
        return self._refuse(proposal, answer, now) if isinstance(answer, str) else answer

    def _refuse(self, action: object, why: str, now: Time) -> ev.ActionRefused | None:
        kind, about = kind_of(action), subject_of(action)
        if self._refused.get((kind, about)) == why or self._recorded[kind, why] >= MOST_RECORDED:
            return None
        self._recorded[kind, why] += 1
        self._refused[kind, about] = why
        return ev.ActionRefused(now, kind, about, why)

    def _start(self, action: act.Start, now: Time) -> ev.Decision | str | None:
        state = self._state
        if state.stopping is not None:
            return "the run is stopping"
        if action.machine not in state.idle and not (action.ahead and self._may_wait(action)):
            return "the machine has no free slot"
        if not 0 < action.task < len(state.status):
            return "there is no such task"
        status = state.status[action.task]
        if status != READY and (why := self._not_ready(action, status)):
            return why
        if state.goal.accounts and not self._is_of_account(action):
            return "the machine belongs to another account"
        return ev.AttemptStarted(
            now, len(state.log) + 1, action.task, action.machine, action.reason, action.measure
        )

    def _not_ready(self, action: act.Start, status: int) -> str:
        """Why a task that is not ready cannot be started; empty: a replica of it can."""
        if status == CANCELLED:
            return "the task was cancelled"
        if status in (WAITING, BLOCKED):
            return "the task needs others that are not done"
        if action.measure:
            return ""
        if status >= DONE:
            return "the task is " + ("done" if status == DONE else "failed")
        if self._state.may_replicate(action.task):
            return ""
        return "the task has failed, and its retries are under way or used up"

    def _is_of_account(self, action: act.Start) -> bool:
        machine = self._state.machines[action.machine]
        return machine.account == self._state.account_of(action.task)

    def _may_wait(self, action: act.Start) -> bool:
        machine = self._state.machines.get(action.machine)
        return machine is not None and machine.is_open and machine.is_full

    def _rent(self, action: act.Rent, now: Time) -> ev.Decision | str | None:
        state = self._state
        if state.stopping is not None:
            return "the run is stopping"
        if action.offer not in state.market:
            return "the market has no such offer"
        if action.account not in state.ledger.accounts:
            return f"there is no account {shown(action.account)}"
        if not 1 <= action.count <= MOST_RENTED:
            return f"its count must be 1 to {MOST_RENTED:,}"
        offer = state.market[action.offer]
        present = state.fleet.get(offer.name, 0) + state.leaving.get(offer.name, 0)
        if offer.limit is not None and present >= offer.limit:
            return f"the limit of {counted(offer.limit, 'machine')} is reached"
        refusal = state.refusals.get(offer.name)
        if refusal is not None and now < refusal.over:
            return "none was available lately; bursar tries again after a pause"
        stay = self._first_stay(offer, action.account, now)
        self.lacks_money = stay is None
        if stay is None:
            return f"only {money_left(state, action.account, now)} of the budget is left"
        number = state.machines_rented + 1
        self._watch(offer, number, now + stay)
        return ev.MachineRented(now, number, offer.name, now + stay, action.reason, action.account)

    def _extend(self, action: act.Extend, now: Time) -> ev.Decision | str | None:
        machine = self._state.machines.get(action.machine)
        if machine is None or machine.releasing:
            return "the machine is gone"
        if machine.marked:
            return ev.ReleaseOrdered(now, machine.id, "its paid time ends, as decided before")
        if machine.until - self.lead(machine.offer) > now:
            return "its paid time does not end yet"
        if machine.until < now:
            return ev.ReleaseOrdered(
                now, machine.id, "its paid time ran out before it was extended"
            )
        stay = self._extended_stay(machine, now)
        if stay is None:
            price = format_money(machine.offer.price, self._state.market.currency)
            left = money_left(self._state, machine.account, machine.until)
            return ev.ReleaseOrdered(
                now, machine.id, f"its next unit costs {price}, {left} is left"
            )
        self._watch(machine.offer, machine.id, machine.rented + stay)
        return ev.LeaseExtended(now, machine.id, machine.rented + stay, action.reason)

    def _release(self, action: act.Release, now: Time) -> ev.Decision | str | None:
        machine = self._state.machines.get(action.machine)
        if machine is None or machine.releasing:
            return "the machine is gone"
        if action.at_once or machine.until - self.lead(machine.offer) <= now:
            return ev.ReleaseOrdered(now, machine.id, action.reason)
        if machine.marked:
            return "it was marked for release before"
        return ev.ReleaseMarked(now, machine.id, action.reason)

    def _cancel(self, action: act.Cancel, now: Time) -> ev.Decision | str | None:
        state = self._state
        attempt = state.attempts.get(action.attempt)
        if attempt is None or attempt.cancelling:
            return "the attempt has ended"
        others = [a for a in state.attempts_of(attempt.task) if not state.attempts[a].cancelling]
        is_needed = len(others) == 1 and state.status[attempt.task] not in (DONE, FAILED, CANCELLED)
        if is_needed and not action.give_up:
            return "it is the only attempt of its task"
        return ev.CancelOrdered(now, action.attempt, action.reason, action.give_up)

    def _wake(self, action: act.Wake, now: Time) -> act.Wake | str:
        if action.at <= now:
            return "that time has come already"
        return action if action.at <= now + LONGEST else "that time is too far away"

    def _stop(self, action: act.Stop, now: Time) -> ev.StopRequested | str | None:
        """One stop is enough."""
        if self._state.stopping is not None:
            return None
        if action.status == "budget" and self._state.ready and self.awaits_refill(now):
            return "the next interval of the budget brings more money"
        return ev.StopRequested(now, action.status, action.reason)

    def _scale(self, action: act.Scale, now: Time) -> ev.ScaleDecided | str:
        """Nothing but the truth of the journal depends on it."""
        state = self._state
        if action.account not in state.ledger.accounts:
            return f"there is no account {shown(action.account)}"
        if any(name not in state.market or count < 0 for name, count in action.fleet.items()):
            return "its fleet must have offers of the market, and no count below 0"
        return ev.ScaleDecided(
            now,
            action.fleet,
            action.demand,
            action.supply,
            action.account,
            action.inputs,
            action.reason,
            action.lines,
        )

    def _first_stay(self, offer: Offer, account: str, now: Time) -> Time | None:
        """How long to pay for a machine that is rented now."""
        least = self.lead(offer) + 1
        units = offer.units(max(least, HORIZON))
        paid = self._state.ledger.payable(account, offer, now, (0, units))
        return paid * offer.billing if paid >= offer.units(least) else None

    def _extended_stay(self, machine: Machine, now: Time) -> Time | None:
        """How long, since it was rented, to pay for a machine whose lease ends.

        It is as long as the money lasts; None where it does not even reach the next look.
        """
        ledger, offer, age = self._state.ledger, machine.offer, now - machine.rented
        account, begin, paid = machine.account, machine.rented, ledger.units_of(machine.id)
        lead = self.lead(offer)
        least = age + lead + 1
        far = (paid, offer.units(max(least, age + FAR_HORIZON)))
        near = (paid, offer.units(age + HORIZON + (lead if lead >= HORIZON else 0)))
        machines = ledger.open_of(account)
        more = ledger.payable(account, offer, begin, far, machines, PLENTIFUL)
        if paid + more < near[1]:
            more = max(more, ledger.payable(account, offer, begin, near))
        return (paid + more) * offer.billing if paid + more >= offer.units(least) else None
