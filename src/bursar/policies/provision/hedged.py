"""`hedged`: unreliable machines where they help, and never at the cost of the goal.

The fleet is that of `frontier` or `bats`, whichever suits the goal without unreliable machines.
Those are offers like others to it, with some differences:

- their price is what they prove to cost, with what was wasted on those that were taken away
  (`beliefs.spot_value`). While a task costs more there than on the cheapest reliable machine, none
  is rented, so that they never raise the cost of a run;
- what was refused is not counted on before one of it is up, nor what often falls silent;
- where units are long, or the money is limited, few are tried first, and more as they prove to
  last, so that the money left pays reliable machines for the rest whatever is lost. Where it would
  not pay them anyway, there is nothing to keep for them;
- with a deadline, reliable machines wait for them while that costs no more (`policies.spot_wait`);
- a plan that counts on them ends earlier than the deadline, by the time in which what is lost can
  be done again. From the last moment at which reliable machines can do all that is left
  (`policies.deadline_help`), those do, and others only work beside them, until enough is gained.

So a goal that reliable machines alone would reach stays within reach: the same entry goes on
without the others. This is the safety net of "Can't Be Late" (Wu et al., NSDI 2024, section 4) for
a bag, and for money as well as for time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from math import ceil, inf
from random import Random
from typing import Final

import msgspec

from bursar.beliefs.spot_value import LEARNS_FROM as VALUE_LEARNS_FROM
from bursar.beliefs.spot_value import SpotValue
from bursar.engine.roles import Provisioner, kinds_learned
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO, Money
from bursar.model.past_runtimes import PastRuntimes
from bursar.model.release import is_long
from bursar.model.time import Time
from bursar.policies.deadline_help import CHANGEOVERS, LastMoment
from bursar.policies.deadline_help import LEARNS_FROM as LAST_LEARNS_FROM
from bursar.policies.provision.bats import Bats
from bursar.policies.provision.frontier import Frontier
from bursar.policies.reconcile import Refunding, Target, is_refused, reconcile
from bursar.policies.spot_wait import SpotWait
from bursar.policies.suited import follows_frontier
from bursar.state import events as ev
from bursar.state.actions import Extend, Release, Rent, Stop, Wake
from bursar.state.read_only import ReadOnlyView, seen_with
from bursar.state.run_times import RunTimes
from bursar.state.view import Machine, View

Terms = Mapping[str, tuple[int, int | None]]
"""By offer, its price in billionths, and its limit."""
Learner = Callable[[ev.AnyEvent, View], None]
"""Sees an event."""

SAVING: Final = 0.1
"""What unreliable machines must save of the price of work, to be worth their risk."""

WAITING: Final = "unreliable machines may do its work for less; there is time to wait for them"
LATE: Final = "the deadline needs it: unreliable machines may be gone at any time"
SILENT: Final = "machines of this kind often return nothing"
AGAIN: Final = "to see whether there are such machines again"
WASTED: Final = 1.3
"""What work costs on reliable machines with long units, by its price: some are not used up."""
TRIED, MORE = 1, 2
"""Where a whole hour is lost with a machine, so many are rented at first, and so many more for each
hour that one has stayed; one less for each that was taken away."""
FIRST_TRIED: Final = 2
"""The same where units are short and the money is limited: so many at first, and so many more for
each task that one has done in each slot, less for each that was taken away."""
MARGIN: Final = 6
"""The time kept for what is lost last is at most one part in so many of the whole."""


class Hedged(Provisioner):
    """`runtime` and `deviation` are what somebody knows of tasks at speed 1; `history` are some."""

    def __init__(
        self,
        market: Market,
        goal: Goal,
        runtime: Time | None = None,
        deviation: Time | None = None,
        *,
        history: PastRuntimes | None = None,
        best_effort: bool = False,
    ) -> None:
        by_frontier = follows_frontier(market, goal)
        self.inner: Frontier | Bats = (
            Frontier(runtime, deviation, history=history, best_effort=best_effort)
            if by_frontier
            else Bats()
        )
        self._reliable = [one for one in market.offers if one.pool == "reliable" and one.limit != 0]
        self._spot = [one for one in market.offers if one.pool == "unreliable"]
        if isinstance(self.inner, Frontier):  # few are shown to it at first
            self.inner.later = [one for one in self._spot if one.limit != 0]
        self._value = SpotValue()
        self._last = LastMoment()
        self._wait = SpotWait(self._reliable, self._last)
        self._woken: Time = -1
        self._refunding = Refunding()
        self._was_late = False
        """whether reliable machines had to do all that was left, when somebody last asked"""
        self._asked: set[int] = set()
        """machines that no plan counts on before they are up"""
        self._least = min((one.price_of_work for one in self._reliable), default=None)
        self._least_charge = min((one.entry_charge for one in self._reliable), default=ZERO)
        """of reliable machines"""
        self._made: tuple[Market, Terms, Market] | None = None
        """the last market that was made, and what it was made of"""
        self._shown: tuple[View, Goal, ReadOnlyView] | None = None
        """the last view that was made, and what it was made of"""
        self._asked_at: tuple[View, Time] | None = None
        """what the market of that view is made of when somebody looks at it"""
        self._market_shown: Market | None = None
        """that market, once somebody has looked at it"""
        self._learners = self._learners_by_kind()

    def _learners_by_kind(self) -> dict[type, list[Learner]]:
        """Who learns from each kind of events, in order; most kinds tell nobody anything."""
        kinds = kinds_learned(self.inner)
        found: defaultdict[type, list[Learner]] = defaultdict(list)
        for learner, learned in (
            (self.inner.saw, ev.KINDS if kinds is None else kinds),
            (self._last.saw, LAST_LEARNS_FROM),
            (self._value.saw, VALUE_LEARNS_FROM),
            (self._asked_again, (ev.MachineRented,)),
            (self._left, (ev.MachineDown,)),
        ):
            for kind in learned:
                found[kind].append(learner)
        return dict(found)

    def learns_from(self) -> Collection[type]:
        return self._learners.keys()

    def saw(self, event: ev.AnyEvent, state: View) -> None:
        for tell in self._learners.get(type(event), ()):
            tell(event, state)

    def saw_before(self, view: View) -> None:
        """Which machines were asked for again is not known: should one be refused, there is one
        more plan.
        """
        self._value.saw_before(view)
        self._last.saw_before(view)
        self.inner.saw_before(view)

    def _asked_again(self, event: ev.AnyEvent, state: View) -> None:
        if isinstance(event, ev.MachineRented) and event.reason == AGAIN:
            self._asked.add(event.machine)

    def _left(self, event: ev.AnyEvent, state: View) -> None:
        if not isinstance(event, ev.MachineDown) or event.machine in self._asked:
            return
        if event.cause == "refused":
            self.inner.look_again()  # a plan counted on it

    # --- the role --------------------------------------------------------------------------------

    def provision(
        self, view: View, now: Time, rng: Random
    ) -> Iterable[Rent | Release | Wake | Stop]:
        whole = view.goal
        goal = self._goal(whole, view)
        actions = list(self.inner.provision(self._seen(view, now, goal), now, rng))
        if goal is not whole and any(isinstance(action, Stop) for action in actions):
            # Too late for a deadline that leaves time for losses; not for the one that counts.
            actions = list(self.inner.provision(self._seen(view, now, whole), now, rng))
        is_timed = whole.deadline is not None
        if is_timed or view.refusals:
            actions += self._ask_again(view, now)
        if self.is_silent:
            actions += self._leave(view, now)
        if not is_timed:
            return actions
        if self.is_late(view, now) and _slots(view, self._spot):
            return self._kept_to_the_end(actions, view, now)
        begin = self._waits_until(view, now)
        return actions if begin is None else self._waiting(actions, begin, view, now)

    def _kept_to_the_end(
        self, actions: list[Rent | Release | Wake | Stop], view: View, now: Time
    ) -> list[Rent | Release | Wake | Stop]:
        """No reliable machine leaves that the rest needs: the others may be gone at any time."""
        found: list[Rent | Release | Wake | Stop] = []
        spare = _slots(view, self._reliable) - self._needed(view, now)
        for one in actions:
            offer = view.machines[one.machine].offer if isinstance(one, Release) else None
            if offer is not None and offer.pool == "reliable":
                spare -= offer.slots
                if spare < 0:
                    continue
            found.append(one)
        return found

    def _needed(self, view: View, now: Time) -> int:
        """Reliable slots that do all that is left by the deadline."""
        deadline = view.goal.deadline
        if deadline is None or not view.ready:
            return 0
        left = max(1.0, deadline - now - self._last.longest)
        slowest = min(one.speed for one in self._reliable)
        return min(len(view.ready), ceil(self._last.work_left(view) / slowest / left))

    def _waits_until(self, view: View, now: Time) -> Time | None:
        """When reliable machines are needed, where others may do their work until then."""
        if view.goal.deadline is None:
            return None
        is_wanted = any(self._may_rent(o, self._value.premium(o), view, now) for o in self._spot)
        if not (is_wanted and view.ready):
            return None
        return self._wait.look(view, now, sum(map(self._value.losses, self._spot)))

    def _waiting(
        self,
        actions: list[Rent | Release | Wake | Stop],
        begin: Time,
        view: View,
        now: Time,
    ) -> list[Rent | Release | Wake | Stop]:
        """Without reliable machines; those that are there leave as soon as that saves money."""
        names = {offer.name for offer in self._reliable}
        kept = [one for one in actions if not (isinstance(one, Rent) and one.offer in names)]
        leaving = {one.machine for one in kept if isinstance(one, Release)}

        def is_spare(machine: Machine) -> bool:
            return machine.offer.name in names and machine.id not in leaving

        moments = [begin, *(one.over for one in view.refusals.values())]
        soon = min((moment for moment in moments if moment > now), default=begin)
        wakes = []
        if not now < self._woken <= soon:
            self._woken = soon
            wakes = [Wake(soon)]
        return [*kept, *self._refunding.give_back(view, now, WAITING, is_spare), *wakes]

    def _leave(self, view: View, now: Time) -> list[Release]:
        """Machines without a task that fall silent too often to get another one."""
        if not self._shuns_unreliable(view):
            return []
        return self._refunding.give_back(
            view, now, SILENT, lambda machine: machine.offer.pool == "unreliable"
        )

    def _ask_again(self, view: View, now: Time) -> list[Rent | Release]:
        """Now and then one machine of an offer that was refused; plans count on it once it is up.

        Never more than tasks that wait.
        """
        is_late = self.is_late(view, now)
        if not (is_late or view.refusals):
            return []
        if is_late and _slots(view, self._spot) >= _slots(view, self._reliable):
            return []
        asked = [
            offer
            for offer in self._spot
            if (is_late or offer.name in view.refusals)
            and not is_refused(view, offer.name, now)
            and self._is_worth(offer, self._premium(offer, view, now))
            and not self._shuns_unreliable(view)
        ]
        fleet = {offer.name: view.fleet.get(offer.name, 0) + 1 for offer in asked}
        slots = len(view.ready)
        return reconcile(view, Target(fleet=fleet, rent=AGAIN, slots=slots), now) if asked else []

    def renew(self, machine: Machine, view: View, now: Time) -> Extend | Release:
        is_reliable = machine.offer.pool == "reliable"
        if not (is_reliable or machine.attempts) and self._shuns_unreliable(view):
            return Release(machine.id, reason=SILENT)
        if is_reliable and self.is_late(view, now) and _slots(view, self._spot):
            others = _slots(view, self._reliable) - machine.offer.slots
            if others < self._needed(view, now):
                return Extend(machine.id, reason=LATE)
        if isinstance(self.inner, Frontier):  # which looks at neither market nor goal for this
            return self.inner.renew(machine, view, now)
        goal = self._goal(view.goal, view)
        return self.inner.renew(machine, self._seen(view, now, goal), now)

    @property
    def is_silent(self) -> bool:
        """Whether unreliable machines often return nothing."""
        return self._value.is_silent

    @property
    def plans(self) -> int:
        return self.inner.plans

    def stays_until(self, machine: Machine) -> Time:
        return self.inner.stays_until(machine)

    @property
    def runtimes(self) -> RunTimes:
        return self.inner.runtimes

    # --- what the entry within is shown ----------------------------------------------------------

    def _seen(self, view: View, now: Time, goal: Goal) -> View:
        """Its market is made when somebody looks at it: at most events nobody plans anything."""
        self._asked_at, self._market_shown = (view, now), None
        shown = self._shown
        if shown is None or shown[0] is not view or shown[1] != goal:
            shown = self._shown = view, goal, seen_with(view, self._market_now, goal)
        return shown[2]

    def _market_now(self) -> Market:
        if self._market_shown is None:
            assert self._asked_at is not None  # noqa: S101
            self._market_shown = self._market(*self._asked_at)
        return self._market_shown

    def _market(self, view: View, now: Time) -> Market:
        """With unreliable offers as they prove to be; the same one until they prove otherwise."""
        terms = {offer.name: self._terms(offer, view, now) for offer in self._spot}
        made = self._made
        if made is None or made[0] is not view.market or made[1] != terms:
            made = self._made = view.market, terms, _with_terms(view.market, terms)
        return made[2]

    def _terms(self, offer: Offer, view: View, now: Time) -> tuple[int, int | None]:
        """The price of an unreliable offer, in billionths, and its limit."""
        # What is wasted now and then costs nothing where all money left is for this one.
        premium = 1.0 if self._is_last_hope(view) else self._value.premium(offer)
        limit = offer.limit if self._may_rent(offer, premium, view, now) else 0
        is_limited = view.ledger.left is not None or is_long(offer)
        if limit != 0 and is_limited and self._least is not None:
            trusted = self._trusted(offer, view, now)
            limit = trusted if limit is None else min(limit, trusted)
        if limit != 0 and offer.name in view.refusals:  # there are no more, as far as is known
            limit = view.fleet.get(offer.name, 0)
        return ceil(offer.price.nanos * premium), limit

    def _may_rent(self, offer: Offer, premium: float, view: View, now: Time) -> bool:
        if self._is_last_hope(view):
            return True
        is_worth = self._is_worth(offer, premium) and not self.is_silent
        return is_worth and not self.is_late(view, now)

    def _trusted(self, offer: Offer, view: View, now: Time) -> int:
        """Machines of an offer that may be lost all at once, by how they have proved so far."""
        losses = self._value.losses(offer)
        if is_long(offer):
            lasted = self._value.units_lasted(offer, now)
            trusted = TRIED + MORE * lasted - losses
        else:
            done = self._value.successes(offer) // offer.slots
            trusted = FIRST_TRIED + MORE * (done - losses)
        return max(0, min(trusted, self._may_be_lost(offer, view)))

    def _may_be_lost(self, offer: Offer, view: View) -> int:
        """Machines that may be paid in vain, and reliable ones still do all that is left.

        What is lost with one is its unit, or its boot and its task where that is longer.
        """
        left, is_short = view.ledger.left, not is_long(offer)
        if not self._last.is_known:
            return FIRST_TRIED if is_short else 0
        if left is None:
            return view.total
        needed = (self._least or 0.0) * self._last.work_left(view)
        if left.nanos < needed or self._is_last_hope(view):
            return view.total  # reliable machines would not do it: there is nothing to keep
        spare = left.nanos - WASTED * needed
        lost = offer.entry_charge.nanos
        if is_short:
            time = view.boot_time(offer, view.now) + self._last.mean / offer.speed
            lost = max(lost, round(offer.price.nanos * time / offer.billing))
        return max(0, int(spare / max(1, lost)))

    def _is_worth(self, offer: Offer, premium: float) -> bool:
        """Whether work costs enough less there than on the cheapest reliable machine."""
        least = self._least
        return least is None or premium * offer.price_of_work <= (1 - SAVING) * least

    def _is_last_hope(self, view: View) -> bool:
        """Whether the money left buys no reliable machine, and none is there."""
        left = view.ledger.left
        if left is None or left >= self._least_charge:
            return False
        return not _slots(view, self._reliable)

    def _shuns_unreliable(self, view: View) -> bool:
        """Whether such machines often return nothing, and others may do the rest."""
        return self.is_silent and not self._is_last_hope(view)

    def _premium(self, offer: Offer, view: View, now: Time) -> float:
        """The premium of one that is rented now, with its boot and what is paid beyond the end."""
        premium, deadline = self._value.premium(offer), view.goal.deadline
        if not self._last.is_known:
            return premium
        slots = offer.slots + len(view.attempts) + len(view.idle)
        left = self._last.work_left(view) / slots / offer.speed
        left = left if deadline is None else min(left, deadline - now)
        used = left - view.boot_time(offer, now) - self._last.mean / offer.speed / 2
        if used <= 0:
            return inf
        paid = offer.charge(ceil(left)).nanos / offer.price.nanos * offer.billing
        return premium * paid / used

    def is_late(self, view: View, now: Time) -> bool:
        """Whether reliable machines must do all that is left."""
        if view.goal.deadline is None:
            return False
        fleet = {one.name: view.total if one.limit is None else one.limit for one in self._reliable}
        last = self._last.at(view, fleet)
        if last is None:
            return False
        if self._was_late:  # until the work has gained enough on that moment again
            last -= CHANGEOVERS * max(view.boot_time(one, now) for one in self._reliable)
        self._was_late = now >= last
        return self._was_late

    def _goal(self, goal: Goal, view: View) -> Goal:
        """With a deadline that leaves time to do again what is lost last."""
        deadline = goal.deadline
        if deadline is None or not self._reliable:
            return goal
        if not (_slots(view, self._spot) or self._value.has_lost):
            return goal
        boot = max(view.boot_time(one, view.now) for one in self._reliable)
        again = self._last.longest / min(one.speed for one in self._reliable)
        margin = min(boot + round(again), deadline // MARGIN)
        return goal.until(deadline - margin)


def _with_terms(market: Market, terms: Terms) -> Market:
    """A market with other prices and limits; the same one where they are not other."""
    offers = [
        msgspec.structs.replace(
            offer, price=Money(terms[offer.name][0]), limit=terms[offer.name][1]
        )
        if offer.name in terms
        else offer
        for offer in market.offers
    ]
    made = msgspec.structs.replace(market, offers=tuple(offers))
    return market if made == market else made


def _slots(view: View, offers: Iterable[Offer]) -> int:
    return sum(view.fleet.get(offer.name, 0) * offer.slots for offer in offers)
