"""`frontier`: the fleet that the rest of the bag is worth, planned again from what is there.

From the first moment a plan weighs the time of the whole run with the chance to be done within the
money (`plan.bag.live_plan`): by what is believed of run times (`beliefs.bag_times`), each machine's
paid time, boots under way, attempts with their ages, and machines that might be rented. Where the
budget alone tells run times, the first fleet is the best on average over all that it leaves
possible (`plan.bag.first_plan`). Only where nobody tells speeds, one machine of some offers is
rented to learn them (`plan.bag.first_fleet`). The plan is made again at each of the first results,
then as work gets done, and a fleet is changed only where another is better by enough, and if some
plans in a row want that. Before a part of the first tasks has ended, nothing
is dropped, and more is rented only where that is safe.

Where run times are known before, fleets are executed on many draws (`plan.bag.known_fleet`), and
the best is rented at once and kept, unless machines are lost or refused, tasks prove longer, or
results show that the money will probably not do.

Machines that the plan drops end their tasks and take no more, unless a later plan wants more of
their kind again. Once nothing is ready, whatever has
nothing to do leaves, also what still boots, and a large machine is not held by one long task for
longer than the money allows (`last_tasks`). Where no fleet has a chance any more, the run stops
while most of the money is left, unless as many tasks as possible are wanted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import ceil, exp, inf, isfinite, log
from random import Random
from typing import Final

import msgspec
import numpy as np

from bursar.beliefs.bag_times import ENOUGH
from bursar.engine.roles import Provisioner
from bursar.model.market import Offer
from bursar.model.money import ZERO, Money, format_money, format_shortfall
from bursar.model.past_runtimes import PastRuntimes
from bursar.model.text import counted
from bursar.model.time import FOREVER, MINUTE, SECOND, Time, format_duration, seconds
from bursar.plan.bag.first_fleet import with_late_trial, with_trials
from bursar.plan.bag.first_plan import Floats, PossibleMean, plan_first
from bursar.plan.bag.known_fleet import KnownFleet
from bursar.plan.bag.live_plan import HOPELESS, LivePlan, plan_live
from bursar.policies.live_attempts import deserves
from bursar.policies.provision.frontier_state import BagBelief, FleetNow
from bursar.policies.provision.last_tasks import LastTasks
from bursar.policies.provision.likely_speeds import are_in_doubt
from bursar.policies.reconcile import Target, reconcile
from bursar.state.actions import Extend, Release, Rent, Stop, Wake
from bursar.state.events import AnyEvent, AttemptEnded
from bursar.state.fleet_counts import ChangedMachines, IdleChanges
from bursar.state.view import Machine, View

STEP: Final = 0.08
"""Share of the tasks that get done between two plans, once some are known ..."""
GROWN: Final = 0.2
"""... or share of the results that come in, while there are few."""
TOLD: Final = 0.35
"""Share of the tasks begun that must have ended before more is rented: what comes in soon is worth
the wait."""
PLENTY: Final = 60
"""Results that are enough, however many tasks were begun."""
LOOKS: Final = 6
"""Looks in the time of a task, while few results are there ..."""
LATER_LOOKS: Final = 0.5
"""... and later."""
SHORTEST_LOOK: Final = 2 * SECOND
OFF: Final = log(0.1)
"""A fleet for known run times is kept while its chance is not below."""
CONFIRMED: Final = 3
"""Plans in a row that must want fewer machines before any is dropped."""
PATIENCE: Final = 3
"""Plans in a row that find no chance before a run is given up."""
SURELY: Final = 2.0
"""Deviations by which run times may prove shorter before a run is given up."""
AFFORDED, IN_VAIN = 4.0, 0.3
"""Where nothing has ended, a run is given up once all attempts are so many times as old as the
money allows a task on average, and have had so much of all the work that it allows."""
FEW: Final = 64
"""Dropped machines of which all are looked at as fast as at those that changed."""
MORE: Final = 1.1
"""By how much what would have done is more than what is expected."""


class Frontier(Provisioner):
    """`runtime` and `deviation` are what somebody knows of tasks at speed 1; `history` are some."""

    def __init__(
        self,
        runtime: Time | None = None,
        deviation: Time | None = None,
        *,
        history: PastRuntimes | None = None,
        best_effort: bool = False,
    ) -> None:
        self.belief = BagBelief(runtime, deviation, history)
        self.best_effort = best_effort
        self.plan: LivePlan | None = None
        self._now = FleetNow(self.belief)
        self._idle = IdleChanges()
        self.later: Sequence[Offer] = ()
        """offers of which few machines are offered before some of them last"""
        self._plans = 0
        self._is_first = True
        """whether the next plan is the first, or that one counted on what is not there"""
        self._planned_for: tuple[int, int] | None = None
        """results and tasks not begun, when the last plan was made"""
        self._first_plan: Time = 0
        self._watched: Time = 0
        """when it is next looked whether anything has ended, while nothing has"""
        self._next_look: Time = 0
        self._woken: Time = -1
        """the last look that was asked for: there is one chain of them"""
        self._dropped: dict[int, Machine] = {}
        """machines that end their tasks and take no more"""
        self._used_up: dict[int, Time] = {}
        """by such a machine that gives nothing back until its lease is extended, the lease's end"""
        self._newly_dropped: set[int] = set()
        """those of them that were dropped since what changed was last looked at"""
        self._changed = ChangedMachines()
        self._is_ending = False
        """whether nothing was ready at the last look"""
        self._kept: KnownFleet | None = None
        """the fleet that known run times ask for, while all is as expected"""
        self._checked = 0
        """results, when the kept fleet was last judged"""
        self._dropping = 0
        """plans in a row that wanted fewer machines"""
        self._wanted_more = False
        """whether the last plan wanted more machines than there were"""
        self._is_trial = False
        """whether it has a machine only to see how fast it is"""
        self._hopeless = 0
        """plans in a row that found no chance"""
        self._last_tasks = LastTasks(self.belief)

    def learns_from(self) -> Collection[type]:
        return (AttemptEnded,)

    def saw(self, event: AnyEvent, state: View) -> None:
        self.belief.saw(event, state)

    def saw_before(self, view: View) -> None:
        self.belief.saw_before(view)

    def look_again(self) -> None:
        """What the last plan counted on is not there: plan as soon as possible."""
        self._planned_for = None
        self._is_first = True

    # --- the role --------------------------------------------------------------------------------

    def provision(
        self, view: View, now: Time, rng: Random
    ) -> Iterable[Rent | Release | Wake | Stop]:
        if not view.ready:
            return () if view.arrivals_open else self._finish(view, now)
        self._is_ending = False
        if (restarted := self._last_tasks.begin_again(view, now)) is not None:
            return restarted
        if not self._plans and self._is_before(view) and (begun := self._begin(view, now)):
            return begun
        if self._kept is not None:
            if self._is_as_expected(view, now, self._kept):
                return ()
            self._kept = None
        if given_up := self._nothing_ends(view, now):
            return given_up
        if not self._is_due(view, now):
            return [*self._leave(view, now), *self._watch_first(view, now)]
        self._replan(view, now)
        if stop := self._give_up(view):
            return [stop]
        changes = self._changes(view, now)
        wakes = self._wakes(now) if view.machines or changes else []
        return [*changes, *self._leave(view, now), *wakes, *self._watch_first(view, now)]

    def renew(self, machine: Machine, view: View, now: Time) -> Extend | Release:
        if machine.id in self._dropped and not machine.attempts:
            return Release(machine.id, reason="it is not in the plan")
        if view.ready and machine.id not in self._dropped:
            return Extend(machine.id, reason="the plan keeps it")
        if deserves(machine, view):
            return Extend(machine.id, reason="its tasks are under way")
        if machine.up is None and view.ready:
            return Extend(machine.id, reason="it boots")
        return Release(machine.id, reason="nothing is left to do here")

    @property
    def plans(self) -> int:
        return self._plans

    def stays_until(self, machine: Machine) -> Time:
        """One that the plan dropped takes no more tasks; others stay for theirs."""
        return 0 if machine.id in self._dropped else FOREVER

    @property
    def runtimes(self) -> BagBelief:
        return self.belief

    # --- a fleet that is kept --------------------------------------------------------------------

    def _is_before(self, view: View) -> bool:
        """Whether run times are known, and nothing has happened yet."""
        goal, is_new = view.goal, not (view.machines or view.ledger.committed)
        whole = goal.budget is not None and goal.every is None and goal.deadline is None
        return self.belief.is_known and is_new and whole and not view.arrivals_open

    def _begin(self, view: View, now: Time) -> Sequence[Rent | Release | Stop]:
        """Rent the fleet that does it; stop where none would, unless it is to go on."""
        known = self.belief.first_fleet(view)
        self._plans += 1
        least = self._least_cost(known, view)
        budget, currency = view.goal.budget or ZERO, view.market.currency
        if known.chance == 0 and not self.best_effort and (least is known.cost or least > budget):
            return [
                Stop(
                    f"{counted(len(view.ready), 'task')} need about"
                    f" {format_money(least, currency, up=True)}, as run times are known;"
                    f" the budget is {format_money(budget, currency)}"
                )
            ]
        if known.chance == 0:
            return []
        self._kept = known
        end = format_duration(known.upper_time)
        cost = format_money(known.upper_cost, currency)
        why = f"known run times: done within {end}, for {cost} ({known.chance:.0%})"
        return reconcile(view, Target(fleet=known.fleet, rent=why), now)

    def _least_cost(self, known: KnownFleet, view: View) -> Money:
        """What all tasks cost at least, also on machines that may be offered later."""
        prices = [offer.price_of_work for offer in self.later]
        if not prices:
            return known.cost
        work = len(view.ready) * self.belief.times.mean * SECOND
        return min(known.cost, Money(ceil(work * min(prices))))

    def _is_as_expected(self, view: View, now: Time, kept: KnownFleet) -> bool:
        """Whether all machines are there, and the money does, as far as the results tell.

        What was said of run times counts for some of them only: their mean may be wrong, or how
        much they vary.
        """
        is_whole = all(view.fleet.get(name, 0) >= count for name, count in kept.fleet.items())
        if not is_whole or self.belief.is_longer:
            return False
        if self.belief.count - self._checked < max(ENOUGH, STEP * view.total):
            return True
        self._checked = self.belief.count
        self._now.look(view, now, self._dropped.keys())
        now_left, times = self._now.left, self.belief.times
        plan = plan_live(self._now.groups, now_left, times, self._now.speed_doubt)
        return plan.kept_log_chance >= OFF or plan.best_log_chance < HOPELESS

    # --- planning --------------------------------------------------------------------------------

    def _is_due(self, view: View, now: Time) -> bool:
        if self._planned_for is None:
            return True
        results, ready = self._planned_for
        if now >= self._next_look and self.belief.count:
            return True
        if self._wanted_more and self.belief.count > results:
            return True
        if len(view.ready) > ready or not any(view.fleet.values()):
            return True  # some were lost with their machines, or all that was rented is
        new = self.belief.count - results
        return new >= min(STEP * view.total, max(1.0, GROWN * results)) > 0 and bool(new)

    def _replan(self, view: View, now: Time) -> None:
        self._planned_for = self.belief.count, len(view.ready)
        self._plans += 1
        self._first_plan = self._first_plan or now
        self._is_trial = False
        self._now.look(view, now, self._dropped.keys())
        groups, left = self._now.groups, self._now.left
        if not len(groups.offer):  # nothing is there, and nothing is available
            self.plan = None
            return
        ended = self.belief.count
        begun = ended + left.attempts
        is_enough = not ended or self.belief.is_known or ended >= min(PLENTY, TOLD * begun)
        if possible := self._possible_means(view):
            rooms, in_doubt = self._later_rooms(view), are_in_doubt(view.market)
            self.plan = plan_first(groups, left, possible, rooms, are_speeds_in_doubt=in_doubt)
        else:
            self.plan = plan_live(
                groups,
                left,
                self.belief.times,
                self._now.speed_doubt,
                is_early=not is_enough,
                may_drop=self._dropping + 1 >= CONFIRMED,
            )
        # One long task may make the money seem short for a while; boots that were paid are lost.
        self._dropping = self._dropping + 1 if self.plan.wants_less else 0
        if not possible:
            self._confirm_more()
        if self._plans == 1 and isfinite(left.money) and not self.belief.are_speeds_given:
            more = with_trials(self.plan.fleet, groups, left, self.belief.times)
            self.plan = msgspec.structs.replace(self.plan, fleet=more)
        if not (self.plan.is_change or self.belief.are_speeds_given) and ended >= ENOUGH:
            self._try_another(view)
        is_none = self.plan.best_log_chance < HOPELESS and ended >= ENOUGH
        self._hopeless = self._hopeless + 1 if is_none else 0
        looks = LOOKS if ended < ENOUGH or is_none or self._wanted_more else LATER_LOOKS
        between = self.belief.times.mean / looks / min(self.belief.speeds.values())
        self._next_look = now + max(SHORTEST_LOOK, min(5 * MINUTE, seconds(between)))

    def _try_another(self, view: View) -> None:
        """Where the plan keeps what there is: one machine of an offer that nobody has tried."""
        groups, left = self._now.groups, self._now.left
        offers, belief = view.market.offers, self.belief
        if self._wanted_more or not isfinite(left.money) or isfinite(left.deadline):
            return
        tried = {name for name, seen in belief.seen.items() if seen.count}
        tried.update(name for name, count in view.fleet.items() if count)
        untried = np.array([offers[place].name not in tried for place in groups.offer])
        if not untried.any():
            return
        fleet = with_late_trial(groups, left, belief.times, self._now.speed_doubt, untried)
        if fleet is not None and self.plan is not None:
            self.plan = msgspec.structs.replace(self.plan, fleet=fleet, is_change=True)
            self._is_trial = True

    def _confirm_more(self) -> None:
        """More is rented only if two plans in a row want more than there is.

        The results so far may fit two beliefs about as well, and the next one may favour the other.
        """
        plan, groups = self.plan, self._now.groups
        assert plan is not None  # noqa: S101
        here = np.where(groups.is_new, 0.0, groups.room)
        wants_more = plan.is_change and bool(here.any() and (plan.fleet > here).any())
        if wants_more and not self._wanted_more:
            self.plan = msgspec.structs.replace(plan, is_change=False)
        self._wanted_more = wants_more

    def _possible_means(self, view: View) -> Sequence[PossibleMean]:
        """Means of run times, while nothing but the budget tells them."""
        is_first, self._is_first = self._is_first and not self.belief.count, False
        is_asked = isfinite(self._now.left.money) and not isfinite(self._now.left.deadline)
        return self.belief.possible() if is_first and is_asked else ()

    def _later_rooms(self, view: View) -> Floats:
        """The most machines of each group that there can be once others of them have lasted."""
        groups, names = self._now.groups, [offer.name for offer in view.market.offers]
        rooms = groups.room.copy()
        for offer in self.later:
            slots = -(-len(view.ready) // offer.slots)
            most = slots if offer.limit is None else min(slots, offer.limit)
            of_offer = groups.is_new & (groups.offer == names.index(offer.name))
            rooms[of_offer] = np.maximum(rooms[of_offer], most)
        return rooms

    def _changes(self, view: View, now: Time) -> list[Rent | Release]:
        """What the plan rents, and what it drops."""
        plan = self.plan
        if plan is None or not plan.is_change:
            return []
        wanted = self._taken_back(self._now.wanted(plan.fleet, view), view)
        dropped = self._now.dropped(plan.fleet, view)
        self._newly_dropped |= dropped
        self._dropped.update((number, view.machines[number]) for number in dropped)
        fleet = {name: view.fleet.get(name, 0) + count for name, count in wanted.items()}
        return reconcile(view, Target(fleet=fleet, rent=self._reason(plan, view)), now)

    def _taken_back(self, wanted: Mapping[str, int], view: View) -> Mapping[str, int]:
        """What is still to be rented once dropped machines that have tasks take others again.

        They cost nothing more until their last task ends, whether their other slots work or not.
        """
        lacking = Counter(wanted)
        for machine in list(self._dropped.values() if wanted else ())[::-1]:
            if lacking[machine.offer.name] > 0 and machine.attempts and not machine.leaving:
                lacking[machine.offer.name] -= 1
                del self._dropped[machine.id]
                self._newly_dropped.discard(machine.id)
        return +lacking

    def _reason(self, plan: LivePlan, view: View) -> str:
        if self._is_trial:
            return "nobody knows how fast it is, and the money does even if it proves slow"
        end = format_duration(seconds(plan.time))
        cost = format_money(Money(max(0, round(plan.cost))), view.market.currency)
        more = f"the plan has more: done within {end}, for {cost} more"
        return more if view.ledger.budget is None else f"{more} ({exp(plan.log_chance):.0%})"

    def _nothing_ends(self, view: View, now: Time) -> list[Release | Stop]:
        """Give all back and stop, where much of the money is gone and there is no result.

        Without a result no plan is made, and the money would be spent to the end in silence. What
        runs would spend it as well, as nobody knows how long it takes.
        """
        afforded = 0 if self.belief.count else self.belief.afforded(view)
        if not afforded or self.best_effort or now < self._first_plan + AFFORDED * afforded:
            return []
        ages = [now - one.started for one in view.attempts.values()]
        speeds = [self.belief.speeds[one.machine.offer.name] for one in view.attempts.values()]
        work = [age * speed for age, speed in zip(ages, speeds, strict=True)]
        is_long = bool(work) and min(work) >= AFFORDED * afforded
        if not is_long or sum(work) < IN_VAIN * afforded * view.total:
            return []
        why = (
            f"none of {counted(len(work), 'task')} has ended within {format_duration(min(ages))};"
            f" the budget allows {format_duration(afforded)} for one on average"
        )
        machines = [one.id for one in view.machines.values() if not one.leaving]
        return [*(Release(number, at_once=True, reason=why) for number in machines), Stop(why)]

    def _watch_first(self, view: View, now: Time) -> list[Wake]:
        """To look in time whether anything ends."""
        afforded = 0 if self.belief.count else self.belief.afforded(view)
        if not (afforded and view.machines) or self.best_effort or self._watched > now:
            return []
        least = self._first_plan + AFFORDED * afforded
        self._watched = max(round(least), now + max(SHORTEST_LOOK, afforded))
        return [Wake(self._watched)]

    def _give_up(self, view: View) -> Stop | None:
        """Why no fleet does what is left within the money or the time."""
        if self._hopeless < PATIENCE or self.best_effort or self.plan is None:
            return None
        left, currency = self._now.left, view.market.currency
        cheapest = self._now.cheapest()
        if cheapest * (1 - SURELY * self.belief.times.doubt) <= left.money < inf:
            return None
        if left.money == inf:
            return Stop(
                f"{counted(len(view.ready), 'task')} not started cannot end by the deadline",
                status="deadline",
            )
        money = round(left.money)
        cost = max(round(cheapest * MORE), money + 1)
        need, there, lacking = format_shortfall(Money(cost), Money(money), currency)
        return Stop(
            f"{counted(len(view.ready), 'task')} not started need about {need}, {there} is left;"
            f" {lacking} more would probably do"
        )

    # --- leaving ---------------------------------------------------------------------------------

    def _finish(self, view: View, now: Time) -> list[Release | Wake]:
        """Nothing is ready: whatever has nothing to do leaves, also what still boots."""
        found: list[Release | Wake] = [
            Release(number, at_once=True, reason="nothing is left to start, or replicas only")
            for number in self._idle.take(view)
            if not deserves(view.machines[number], view) and view.machines[number].refunds(now)
        ]
        if not self._is_ending:  # nothing is rented from here on, unless a task comes back
            self._is_ending = True
            found += [
                Release(machine.id, at_once=True, reason="nothing is left to start when it is up")
                for machine in view.machines.values()
                if machine.up is None and not machine.leaving and machine.refunds(now)
            ]
            self._last_tasks.look_now()
        return [*found, *self._last_tasks.hold(view, now)]

    def _leave(self, view: View, now: Time) -> list[Release]:
        """What the plan dropped and has ended its tasks, or is not up yet.

        Where they are many, one that would give nothing back is looked at again when it has
        changed.
        """
        if not self._dropped:
            return []
        some: Iterable[Machine] = self._dropped.values()
        if len(self._dropped) > FEW and (changed := self._changed.take(view)) is not None:
            numbers = self._dropped.keys() & {*changed, *self._newly_dropped}
            some = [self._dropped[number] for number in numbers]
            self._newly_dropped = set()
        free = [machine for machine in some if not machine.attempts]
        for machine in free:
            if machine.down:
                del self._dropped[machine.id]
                self._used_up.pop(machine.id, None)
        return [
            Release(number, at_once=True, reason="it is not in the plan")
            for number in sorted(one.id for one in free if self._may_leave(one, now))
        ]

    def _may_leave(self, machine: Machine, now: Time) -> bool:
        """Whether a machine without an attempt gives money back if it leaves now."""
        if machine.down or machine.leaving or self._used_up.get(machine.id) == machine.until:
            return False
        if machine.refunds(now):
            return True
        self._used_up[machine.id] = machine.until
        return False

    def _wakes(self, now: Time) -> list[Wake]:
        """To look again in time; not where nothing is there, as then nothing would ever end."""
        if self._next_look <= now or now < self._woken <= self._next_look:
            return []
        self._woken = self._next_look
        return [Wake(self._next_look)]
