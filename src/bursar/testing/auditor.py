"""The auditor: the laws of every run, verified after every event with sums of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from bursar.model.goal import Budget
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import Time
from bursar.state import events as ev
from bursar.state.state import RunState
from bursar.testing.broken import expect


class _Lease:
    """What the auditor knows of a machine."""

    def __init__(self, offer: Offer, rented: Time, until: Time, account: str) -> None:
        self.offer = offer
        self.account = account
        self.rented = rented
        self.until = until
        self.is_up = False
        self.is_released = False
        self.is_doomed = False
        self.live: dict[int, int] = {}
        """attempts on it, and their tasks"""

    def cost(self, end: Time) -> int:
        """By the rule, spelt out: whole units, one at least, and at least the minimum."""
        return self.offer.price.nanos * self._units(end)

    def entries(self, end: Time) -> Iterator[Time]:
        """When each unit is entered, one by one; those of the minimum are owed at once."""
        owed = self._units(self.rented)
        for unit in range(self._units(end)):
            yield self.rented + (unit * self.offer.billing if unit >= owed else 0)

    def _units(self, end: Time) -> int:
        stay = max(end - self.rented, self.offer.minimum)
        units, rest = divmod(stay, self.offer.billing)
        return max(1, units + (1 if rest else 0))


class Auditor:
    """An observer that raises `ContractBroken` when a law does not hold.

    Money: what is committed is the price of the units entered or leased; the units that an account
    enters in an interval cost no more than its budget. A machine runs its account's work only.
    Machines: within the limit of their offer; no lease gets shorter or is revived; each goes down
    once, and none outlives its lease; one that was refused costs nothing. Attempts: only where a
    machine has room and will not be taken away; each ends once, and a task is won once. Time never
    runs back.
    """

    def __init__(self) -> None:
        self.events: list[ev.AnyEvent] = []
        self._now: Time = 0
        self._budgets: dict[str, Budget | None] = {}
        self._owners: list[str] = []
        """by task, less one"""
        self._market = Market("USD", "undated", ())
        self._machines: dict[int, _Lease] = {}
        """those that are not down"""
        self._rented = 0
        self._spent = 0
        """billionths, for machines that are down"""
        self._gone: list[tuple[_Lease, Time]] = []
        """machines that are down and were charged, and when they ended"""
        self._sums: dict[str, Counter[int]] = {}
        """by account and interval, billionths for the machines that are down"""
        self._started = 0
        self._attempts: dict[int, _Lease] = {}
        """those that live"""
        self._won: dict[int, int] = {}
        self._rules: dict[type, Callable[[Any, RunState], None]] = {
            ev.RunCreated: self._created,
            ev.GoalChanged: self._goal_changed,
            ev.WorkArrived: self._work_arrived,
            ev.MachineRented: self._machine_rented,
            ev.LeaseExtended: self._lease_extended,
            ev.ReleaseOrdered: self._release_ordered,
            ev.MachineUp: self._machine_up,
            ev.MachineAdopted: self._machine_adopted,
            ev.LossAnnounced: self._loss_announced,
            ev.MachineDown: self._machine_down,
            ev.AttemptStarted: self._attempt_started,
            ev.CancelOrdered: self._cancel_ordered,
            ev.AttemptEnded: self._attempt_ended,
        }

    def saw(self, event: ev.AnyEvent, state: RunState) -> None:
        self.events.append(event)
        expect(self._now <= event.at == state.now, f"time ran back from {self._now}: {event}")
        self._now = event.at
        rule = self._rules.get(type(event))
        if rule is not None:
            rule(event, state)
        self._check_money(state)
        self._check_tasks(state)

    def _check_money(self, state: RunState) -> None:
        leased = sum(lease.cost(lease.until) for lease in self._machines.values())
        committed = Money(self._spent + leased)
        found = state.ledger.committed
        expect(found == committed, f"{found} is said to be committed, it is {committed}")
        if any(budget is not None for budget in self._budgets.values()):
            self._check_intervals(state)

    def _check_intervals(self, state: RunState) -> None:
        sums = {account: Counter(closed) for account, closed in self._sums.items()}
        for lease in self._machines.values():
            self._charge(lease, lease.until, sums)
        for account, by_interval in sums.items():
            budget = self._budgets[account]
            for interval, nanos in by_interval.items():
                most = nanos if budget is None else budget.amount.nanos
                limit = f"of a budget of {Money(most)} (account {account!r}, interval {interval})"
                expect(nanos <= most, f"{Money(nanos)} is committed {limit}")
                known = state.ledger.committed_in(account, interval)
                expect(known == Money(nanos), f"{known} is said to be committed {limit}")

    def _charge(self, lease: _Lease, end: Time, sums: dict[str, Counter[int]]) -> None:
        budget = self._budgets[lease.account]
        every = None if budget is None else budget.every
        by_interval = sums.setdefault(lease.account, Counter())
        if every is None:
            by_interval[0] += lease.cost(end)
            return
        for entered in lease.entries(end):
            by_interval[entered // every] += lease.offer.price.nanos

    def _check_tasks(self, state: RunState) -> None:
        running = {task for lease in self._machines.values() for task in lease.live.values()}
        settled = {*self._won, *state.failed_tasks}
        expect(state.done == len(self._won), f"{state.done} done, {len(self._won)} were won")
        count = len(state.ready) + len(running - settled) + state.settled + state.waiting
        expect(count == state.total, f"of {state.total} tasks {count} are accounted for")

    # --- what each event may do ------------------------------------------------------------------

    def _created(self, event: ev.RunCreated, state: RunState) -> None:
        self._market = event.market
        self._budgets = event.goal.budgets()

    def _goal_changed(self, event: ev.GoalChanged, state: RunState) -> None:
        self._budgets |= event.goal.budgets()
        self._sums = {}
        for lease, end in self._gone:
            self._charge(lease, end, self._sums)

    def _work_arrived(self, event: ev.WorkArrived, state: RunState) -> None:
        self._owners += [event.work.owner] * event.work.count

    def _machine_rented(self, event: ev.MachineRented, state: RunState) -> None:
        self._rented += 1
        expect(event.machine == self._rented, f"machine {event.machine} is not the next one")
        expect(state.stopping is None, "a machine was rented while the run was stopping")
        offer = self._market[event.offer]
        there = sum(lease.offer.name == offer.name for lease in self._machines.values())
        room = offer.limit is None or there < offer.limit
        expect(room, f"more than {offer.limit} {offer.name} were rented")
        known = event.account in self._budgets
        expect(known, f"machine {event.machine} was rented for nobody: {event.account!r}")
        self._machines[event.machine] = _Lease(offer, event.at, event.until, event.account)

    def _lease_extended(self, event: ev.LeaseExtended, state: RunState) -> None:
        lease = self._machine(event.machine)
        expect(event.until > lease.until, f"the lease of machine {event.machine} got shorter")
        expect(event.at <= lease.until, f"the lease of machine {event.machine} was over before")
        lease.until = event.until

    def _release_ordered(self, event: ev.ReleaseOrdered, state: RunState) -> None:
        lease = self._machine(event.machine)
        expect(not lease.is_released, f"machine {event.machine} was released twice")
        lease.is_released = True

    def _machine_up(self, event: ev.MachineUp, state: RunState) -> None:
        lease = self._machine(event.machine)
        expect(not lease.is_up, f"machine {event.machine} came up twice")
        lease.is_up = True

    def _machine_adopted(self, event: ev.MachineAdopted, state: RunState) -> None:
        lease = self._machine(event.machine)
        expect(event.at <= lease.until, f"machine {event.machine} was adopted without a lease")
        expect(not lease.live, f"machine {event.machine} was adopted with what ran on it")
        lease.is_up = False

    def _loss_announced(self, event: ev.LossAnnounced, state: RunState) -> None:
        lease = self._machine(event.machine)
        expect(not lease.is_doomed, f"the loss of machine {event.machine} was announced twice")
        lease.is_doomed = True

    def _machine_down(self, event: ev.MachineDown, state: RunState) -> None:
        lease = self._machine(event.machine)
        ended = event.at if event.ended is None else event.ended
        expect(ended <= lease.until, f"machine {event.machine} outlived its lease")
        if event.cause == "refused":
            expect(not lease.is_up, f"machine {event.machine} came up, and was refused then")
        else:
            self._spent += lease.cost(ended)
            self._gone.append((lease, ended))
            self._charge(lease, ended, self._sums)
        del self._machines[event.machine]
        for attempt in lease.live:
            del self._attempts[attempt]

    def _attempt_started(self, event: ev.AttemptStarted, state: RunState) -> None:
        self._started += 1
        expect(event.attempt == self._started, f"attempt {event.attempt} is not the next one")
        expect(state.stopping is None, "an attempt was started while the run was stopping")
        lease = self._machine(event.machine)
        stays = not (lease.is_released or lease.is_doomed) and event.at <= lease.until
        usable = lease.is_up and stays
        expect(usable, f"attempt {event.attempt} was started on a machine that is not there")
        expect(
            len(lease.live) < lease.offer.slots,
            f"attempt {event.attempt} was started on a machine that had no free slot",
        )
        own = "" in self._budgets or lease.account == self._owners[event.task - 1]
        expect(own, f"attempt {event.attempt} was started on a machine of another account")
        settled = event.task in self._won or event.task in state.failed_tasks
        expect(event.measure or not settled, f"task {event.task} was settled, but started again")
        lease.live[event.attempt] = event.task
        self._attempts[event.attempt] = lease

    def _cancel_ordered(self, event: ev.CancelOrdered, state: RunState) -> None:
        task = self._attempt(event.attempt).live[event.attempt]
        others = any(
            task == other and number != event.attempt
            for lease in self._machines.values()
            for number, other in lease.live.items()
        )
        allowed = others or task in self._won or event.give_up
        expect(allowed, f"the only attempt of task {task} was cancelled")

    def _attempt_ended(self, event: ev.AttemptEnded, state: RunState) -> None:
        task = self._attempt(event.attempt).live.pop(event.attempt)
        del self._attempts[event.attempt]
        if event.outcome == "success" and task not in state.failed_tasks:
            self._won.setdefault(task, event.attempt)
            winner = state.winners[task]
            expect(winner == self._won[task], f"attempt {winner} did not win task {task} first")

    def _machine(self, number: int) -> _Lease:
        expect(number in self._machines, f"there is no machine {number}, or none any more")
        return self._machines[number]

    def _attempt(self, number: int) -> _Lease:
        expect(number in self._attempts, f"attempt {number} does not live, or no more")
        return self._attempts[number]
