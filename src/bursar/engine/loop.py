"""The engine: one loop for every run, simulated or real.

    journal -> state.apply -> beliefs.learn -> policy.decide -> guard -> world

Events come in from the world and are journaled and applied; the three roles are asked in turn, each
seeing what the one before it achieved; what the guard lets pass is journaled, applied, and only
then carried out by the world. Advisors get their questions after that; their answers come back as
events.

Entries may be anybody's. They see a view that cannot be written, and what they ask for passes the
guard. One that raises, or answers with what is no list of actions, is not asked again: the run
stops, what runs may end within its paid time, and `PolicyError` tells it at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from heapq import heappop, heappush
from itertools import islice
from random import Random
from typing import Any, Final, get_args

import msgspec

from bursar.engine.checking import none_missed
from bursar.engine.guard import Guard
from bursar.engine.learners import (
    ROLES,
    Learner,
    LearnersByKind,
    fault_of,
    learning,
    own_copy,
    role_of,
)
from bursar.engine.roles import Entry, Placer, Policy
from bursar.engine.world import Fate, Journal, Observer, World
from bursar.model.errors import InvariantError, PolicyError
from bursar.model.text import counted
from bursar.model.time import Time, format_duration
from bursar.state import actions as act
from bursar.state import events as ev
from bursar.state.read_only import view_of
from bursar.state.state import RunState
from bursar.state.task_status import DONE, FAILED
from bursar.state.view import Machine, View, money_left

PLENTY: Final = 4
"""Machines get tasks ahead while there are so many times more of them: none idles for it later."""
MOST_ACTIONS: Final = 1_000_000
"""That an entry may ask for at once: an answer without end ends here."""
_FOR_WORLDS: Final = frozenset(get_args(ev.Decision))

Think = Callable[[Callable[[], None]], object]
"""Does something that takes its time."""

Question = Callable[[View, Time, Random], Iterable[act.AnyAction]]
"""What an entry is asked."""


def at_once(work: Callable[[], None]) -> None:
    """How a simulation thinks: no simulated time passes."""
    work()


class Engine:
    """Drives one run to its end."""

    def __init__(
        self,
        state: RunState,
        policy: Policy,
        world: World,
        journal: Journal | None = None,
        rng: Random | None = None,
        observers: Sequence[Observer] = (),
        think: Think = at_once,
    ) -> None:
        self.state = state
        self.guard = Guard(state, world.lead)
        self._policy = policy
        self._world = world
        self._journal = journal
        self._rng = rng or Random(0)
        self._view = view_of(state)
        state.runtimes = policy.known_runtimes
        learners = learning(policy)
        self._learners = LearnersByKind(learners)
        known = {id(entry) for entry in learners}
        others = {id(one): one for one in observers if id(one) not in known}
        self._observers: Sequence[Observer] = tuple(others.values())
        self._fault: tuple[str, Exception] | None = None
        """what an entry did, after which none is asked again"""
        self._provision = policy.provisioner.provision
        self._place = policy.placer.place
        self._on_arrival = policy.placer.on_arrival
        self._on_idle = policy.placer.on_idle
        self._works = 0
        """that had arrived when the placer was asked last"""
        self._replicate = policy.replicator.replicate
        self._before_placing = policy.replicator.before_placing
        self._always = policy.replicator.always
        self._think = think
        """does what takes its time; in a real run beside the loop"""
        self._awaited: set[int] = set()
        """places of the advisors that think"""
        self._wakes: list[Time] = []
        self._refills: list[tuple[Time, str]] = []
        """heap of (begin of the next interval of its budget, account)"""
        self._decisions: list[ev.Decision] = []
        self._fates: list[tuple[int, int, Fate]] = []
        self._money_moved = False
        self._dirty = False
        self._followers: dict[type, Callable[[Any], None]] = {
            ev.AttemptEnded: self._settle,
            ev.WorkCancelled: self._cancel_attempts,
            ev.RunCreated: self._expect_refills,
            ev.GoalChanged: self._expect_refills,
            ev.MachineDown: self._expect_after_refusal,
        }
        """what the engine itself does once an event was applied"""
        self._expect_refills()

    def run(self) -> ev.RunEnded:
        """Loop until the run has ended; whatever happens, no machine is left behind.

        Raises `PolicyError` if it ended because an entry is faulty.
        """
        try:
            self._heed_what_is_due(self._world.now())
            self.step(())
            while self.state.ended is None:
                look = self.next_look()
                happened = self._world.wait(look)
                if look is None and not happened:
                    raise InvariantError("nothing more can happen, but the run has not ended")
                self.step(happened)
            self.tell_fault()
            return self.state.ended
        finally:
            self._world.close()

    def step(self, happened: Iterable[ev.AnyEvent]) -> None:
        """One turn of the loop."""
        expects = self.state.expects
        for event in happened:
            if expects(event):
                self.record(event)
        now = self._world.now()
        if self._refills:
            self._watch_refills(now)
        self._decide(now)
        now = self._world.now()
        if self._policy.advisors:
            self._ask_advisors(now)
        self._carry_out()
        if not self.state.machines and self._may_end(now):
            self.record(self._ending(now))
            self._carry_out()

    # --- deciding --------------------------------------------------------------------------------

    def _decide(self, now: Time) -> None:
        state, ready, idle = self.state, self.state.ready, self.state.idle
        while self._wakes and self._wakes[0] <= now:
            heappop(self._wakes)
        if state.goal.deadline is not None:
            self._watch_deadline(state.goal.deadline, now)
        if (not ready or state.stopping is not None) and self._winding_down():
            self._release_all(now)
            return
        for number in self.guard.due(now):
            self._renew(number, now)
        self._consult("provisioner", self._provision, now)
        few = self._before_placing
        if few and idle and state.attempts and 0 < len(ready) <= few:
            self._consult("replicator", self._replicate, now)
        if state.stopping is None:
            has_arrived = self._on_arrival and self._works < len(state.work)
            if (ready and (idle or has_arrived)) or (self._on_idle and idle):
                self._works = len(state.work)
                self._consult("placer", self._place, now)
            if self._world.ahead:
                self._place_ahead(self._world.ahead, now)
        if self._always or (idle and state.attempts and not ready):
            self._consult("replicator", self._replicate, now)

    def _place_ahead(self, ahead: int, now: Time) -> None:
        """Give busy machines their next tasks, too, while there are more than enough of them."""
        state = self.state
        share = len(state.ready) // (PLENTY * max(1, len(state.machines)))
        for machine in state.machines.values():
            most = min(ahead * machine.offer.slots, share)
            if machine.id in self._world.stalled:
                continue
            while len(machine.waiting) < most and machine.is_full and machine.is_open:
                before = len(state.log)
                self._consult("placer", _one_ahead(self._policy.placer, machine.id), now)
                if len(state.log) == before:
                    return  # none may wait, or it was refused: not again before the next event

    def _consult(self, role: str, question: Question, now: Time) -> None:
        """Ask an entry, unless one was faulty before; all is asked before any of it is done.

        What it wants counts from its answer: where a kernel is compiled, nothing is rented before.
        """
        if self._fault is not None:
            return
        try:
            actions = question(self._view, now, self._rng)
            if type(actions) is not tuple:  # a list may be changed while it is carried out
                actions = tuple(islice(actions, MOST_ACTIONS + 1))
            if len(actions) > MOST_ACTIONS:
                raise ValueError(f"asks for more than {MOST_ACTIONS:,} actions at once")
        except Exception as error:
            self._found_fault(role, error, self._world.now())
            return
        if actions:
            answered = self._world.now()
            self._ask(none_missed(actions, now, answered), answered)

    def _found_fault(
        self, role: str, error: Exception, now: Time, entry: Learner | None = None
    ) -> None:
        """An entry failed: stop, and let what runs end within the time that is paid for."""
        fault, where = fault_of(role, entry or self._entry(role), error)
        self._fault = (f"{fault} ({where})", error)
        if self.state.stopping is None and self.state.ended is None:
            self.record(ev.StopRequested(now, "failed", fault))

    # --- advice ----------------------------------------------------------------------------------

    def _questions(self, now: Time) -> Iterator[tuple[int, object]]:
        """What advisors ask for now that do not think already, by their places."""
        for place, advisor in enumerate(self._policy.advisors):
            is_over = self.state.stopping is not None or self.state.ended is not None
            if place in self._awaited or is_over or self._fault is not None:
                continue
            try:
                question = advisor.question(self._view, now)
            except Exception as error:
                self._found_fault("advisor", error, now, advisor)
                return
            if question is not None:
                yield place, question

    def _ask_advisors(self, now: Time) -> None:
        for place, question in self._questions(now):
            self._awaited.add(place)
            self._think(partial(self._answer, place, question))

    def _heed_what_is_due(self, now: Time) -> None:
        """What the past of a resumed run calls for is answered before money is spent."""
        for place, question in self._questions(now):
            for event in self._heard(place, *self._thought(place, question), now):
                self.record(event)

    def _answer(self, place: int, question: object) -> None:
        """Perhaps in another thread: the question comes in, what was thought goes out."""
        proposal, error = self._thought(place, question)
        self._world.post(lambda now: self._heard(place, proposal, error, now))

    def _thought(self, place: int, question: object) -> tuple[object, Exception | None]:
        try:
            return self._policy.advisors[place].answer(question), None
        except Exception as error:
            return None, error

    def _heard(
        self, place: int, proposal: object, error: Exception | None, now: Time
    ) -> list[ev.AnyEvent]:
        """What an answer becomes, now that the loop gets it: an event, a refusal, or nothing."""
        self._awaited.discard(place)
        if error is not None:
            self._found_fault("advisor", error, now, self._policy.advisors[place])
        verdict = None if proposal is None else self.guard.review_proposal(proposal, now)
        return [] if verdict is None else [verdict]

    def _entry(self, role: str) -> Entry:
        return self._policy.entries[ROLES.index(role)]

    def tell_fault(self) -> None:
        """Raise `PolicyError` if an entry was faulty."""
        if self._fault is not None:
            why, error = self._fault
            raise PolicyError(
                f"{why}; what is done is kept; correct it or choose another"
            ) from error

    def _ask(self, actions: Iterable[act.AnyAction], now: Time) -> None:
        """Let the guard review what was asked for, one after the other."""
        review = self.guard.review
        for action in actions:
            verdict = review(action, now)
            if verdict is None:
                continue
            if type(verdict) is act.Wake:
                heappush(self._wakes, verdict.at)
                continue
            self.record(verdict)  # type: ignore[arg-type]
            if type(verdict) in _FOR_WORLDS:
                self._decisions.append(verdict)  # type: ignore[arg-type]
            if type(action) is act.Rent and type(verdict) is ev.MachineRented:
                self._rent_more(action, now)

    def _rent_more(self, action: act.Rent, now: Time) -> None:
        """The rest of machines that were asked for at once, until one is refused."""
        one = msgspec.structs.replace(action, count=1)
        for _ in range(int(action.count) - 1):
            before = self.state.machines_rented
            self._ask((one,), now)
            if self.state.machines_rented == before:
                return

    def _renew(self, number: int, now: Time) -> None:
        """The lease of a machine ends: extend it if the policy wants and money allows."""
        machine = self.state.machines[number]
        self._ask((self._renewal(machine, now),), now)
        if not machine.releasing and machine.until - self.guard.lead(machine.offer) <= now:
            self._ask((act.Release(number, at_once=True, reason="its paid time ends"),), now)

    def _renewal(self, machine: Machine, now: Time) -> act.AnyAction:
        if self._fault is not None:
            return act.Release(machine.id, reason="its paid time ends, and the policy is faulty")
        try:
            answer = self._policy.provisioner.renew(machine, self._view, now)
        except Exception as error:
            self._found_fault("provisioner", error, now)
            return self._renewal(machine, now)
        if type(answer) is act.Extend and not machine.attempts:
            if self.state.stopping is not None:
                return act.Release(machine.id, reason="the run is stopping")
            if machine.doomed is not None:
                return act.Release(machine.id, reason="it is idle, and will be taken away")
        return answer

    def _watch_deadline(self, deadline: Time, now: Time) -> None:
        if now >= deadline and self.state.stopping is None:
            self.record(ev.StopRequested(now, "deadline", "the deadline has passed", now=True))

    def _watch_refills(self, now: Time) -> None:
        """Tell that an interval of a budget has begun, if work waits."""
        while self._refills and self._refills[0][0] <= now:
            _, account = heappop(self._refills)
            if self.state.ready and self.state.stopping is None:
                self.record(ev.BudgetRefilled(now, account))
            self._expect_refill(account, now)

    def _expect_refill(self, account: str, now: Time) -> None:
        refill = self.state.ledger.next_refill(account, now)
        if refill is not None:
            heappush(self._refills, (refill, account))

    def _expect_refills(self, event: ev.AnyEvent | None = None) -> None:
        """The budgets are new."""
        self._refills.clear()
        for account in self.state.ledger.accounts:
            self._expect_refill(account, self.state.now)

    # --- ending ----------------------------------------------------------------------------------

    def _winding_down(self) -> bool:
        """All tasks are settled, or nothing may be started and nothing runs."""
        state = self.state
        if state.stopping is not None and (state.stopping.now or not state.attempts):
            return True
        return not (state.ready or state.arrivals_open) and state.settled == state.total

    def _release_all(self, now: Time) -> None:
        reason = "all tasks are settled" if self.state.stopping is None else "the run is stopping"
        for machine in list(self.state.machines.values()):
            if not machine.releasing:
                self._ask((act.Release(machine.id, at_once=True, reason=reason),), now)

    def _may_end(self, now: Time) -> bool:
        """Whether nothing more will happen, now that no machine is there."""
        return self._winding_down() or self._is_stuck(now)

    def _is_stuck(self, now: Time) -> bool:
        """Tasks are ready, no machine is left, and none will be rented, now or later."""
        if not self.state.ready or self.guard.awaits_refill(now):
            return False
        return not self._wakes or not self.guard.can_rent(now)

    def _ending(self, now: Time) -> ev.RunEnded:
        state = self.state
        if not state.arrivals_open and state.settled == state.total:
            return ev.RunEnded(now, "failed" if state.failed else "done")
        if state.stopping is not None:
            return ev.RunEnded(now, state.stopping.status, state.stopping.why)
        left = f"{counted(state.total - state.settled, 'task')} left"
        if not self.guard.can_rent(now):
            why = f"{left}, and {money_left(state)} buys no machine of any offer"
            return ev.RunEnded(now, "budget", why)
        if self.guard.lacks_money:
            why = f"{left}, and {money_left(state)} does not pay for what the policy wants"
            return ev.RunEnded(now, "budget", why)
        if state.refusals:
            since = format_duration(now - min(one.since for one in state.refusals.values()))
            return ev.RunEnded(
                now, "failed", f"{left}, and no machine has been available for {since}"
            )
        return ev.RunEnded(now, "failed", f"{left}, but the policy wants no machine")

    # --- recording and carrying out --------------------------------------------------------------

    def record(self, event: ev.AnyEvent) -> None:
        """Journal and apply an event; nothing leaves this process before the next commit."""
        if self._journal is not None:
            self._journal.append(event)
            self._dirty = True
            self._money_moved = self._money_moved or isinstance(event, ev.MONEY_EVENTS)
        self.state.apply(event)
        for observer in self._observers:
            observer.saw(event, self.state)
        if learners := self._learners[type(event)]:
            self._teach(event, learners)
        follow = self._followers.get(type(event))
        if follow is not None:
            follow(event)

    def _expect_after_refusal(self, event: ev.MachineDown) -> None:
        """Look again when a machine that was not available may be."""
        if event.cause == "refused":
            for refusal in self.state.refusals.values():
                if not refusal.is_final:
                    heappush(self._wakes, refusal.over)

    def _teach(self, event: ev.AnyEvent, learners: Iterable[Learner]) -> None:
        """Let entries learn; of what can be changed in an event they get a copy."""
        if self._fault is not None:
            return
        shown, view = own_copy(event), self._view
        for learner in learners:
            try:
                learner.saw(shown, view)
            except Exception as error:
                role = role_of(self._policy, learner)
                self._found_fault(role, error, event.at, learner)
                return

    def _settle(self, event: ev.AttemptEnded) -> None:
        """An attempt ended: decide its output's fate, and cancel its rivals if it won."""
        state = self.state
        task = state.log.task[event.attempt]
        status = state.status[task]
        if status == DONE and state.winners[task] == event.attempt:
            self._fates.append((task, event.attempt, "keep"))
            for rival in state.attempts_of(task):
                if state.attempts[rival].measure:
                    continue
                reason = f"attempt {event.attempt} finished first"
                self._ask((act.Cancel(rival, reason=reason),), event.at)
        elif status == FAILED and state.failed_tasks[task].attempt == event.attempt:
            self._fates.append((task, event.attempt, "failure"))
        else:
            self._fates.append((task, event.attempt, "drop"))

    def _cancel_attempts(self, event: ev.WorkCancelled) -> None:
        """End what runs of a work that is not wanted any more."""
        state = self.state
        reason = f"work {event.work} is cancelled"
        for attempt in list(state.attempts.values()):
            if state.work_of(attempt.task) == event.work and not attempt.cancelling:
                self._ask((act.Cancel(attempt.id, reason=reason),), event.at)

    def _carry_out(self) -> None:
        if self._journal is not None and self._dirty:
            self._journal.commit(safely=self._money_moved)
            self._dirty = self._money_moved = False
        for task, attempt, fate in self._fates:
            self._world.settle(task, attempt, fate)
        self._fates.clear()
        if self._decisions:
            self._world.perform(self._decisions)
            self._decisions = []

    def next_look(self) -> Time | None:
        """When to look again even if nothing happens."""
        state, soonest = self.state, self.guard.next_due()
        if self._wakes and (soonest is None or self._wakes[0] < soonest):
            soonest = self._wakes[0]
        if state.stopping is not None:
            return soonest
        deadline = state.goal.deadline
        if deadline is not None and (soonest is None or deadline < soonest):
            soonest = deadline
        if self._refills and state.ready and (soonest is None or self._refills[0][0] < soonest):
            soonest = self._refills[0][0]
        return soonest


def _one_ahead(placer: Placer, machine: int) -> Question:
    def ask(view: View, now: Time, rng: Random) -> Iterable[act.AnyAction]:
        task = placer.next_task(view, rng)
        return () if task is None else (act.Start(task, machine, ahead=True),)

    return ask
