"""What must hold after a run in which things failed: a yes or a no for each demand.

Nothing here asks the ledger what machines cost: that is summed up again, from when the journal says
that they were rented and when they ended.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from bursar.journal.reader import JournalReader
from bursar.journal.replay import load_state
from bursar.model.money import ZERO
from bursar.model.time import SECOND
from bursar.state import events as ev
from bursar.state.state import RunState

SLACK = 4.0
"""seconds that a machine has to end, on a busy computer, and to be seen"""
SHOWN = 10
"""what is wrong with tasks, one by one, up to so many"""


class Verdict(NamedTuple):
    demand: str
    wrong: list[str]
    """why not; empty: it holds"""

    @property
    def holds(self):
        return not self.wrong

    def __str__(self):
        if self.holds:
            return f"{self.demand}: yes"
        more = f"; and {len(self.wrong) - SHOWN} more" if len(self.wrong) > SHOWN else ""
        return f"{self.demand}: NO ({'; '.join(self.wrong[:SHOWN])}{more})"


class RunRecord:
    """The journal of a run, and what was seen from outside: work, lives of machines, faults."""

    def __init__(self, home, work, lives, *, may_repeat):
        """`lives`: by token, when an agent was first and last seen, by the wall clock."""
        self._home = home
        self._work = work
        self._lives = lives
        self._may_repeat = may_repeat
        self._state = load_state(home / "journal.db", verified=True)
        with JournalReader(home / "journal.db") as reader:
            self._events = list(reader.events())
        self._rented = {one.machine: one for one in self._of(ev.MachineRented)}
        self._downs = {one.machine: one for one in self._of(ev.MachineDown)}
        self._offers = {offer.name: offer for offer in self._state.market.offers}
        self._began = self._of(ev.RunCreated)[0].began

    def of_finished(self):
        """Demands on a run that came to its end."""
        found = [
            Verdict("every task ended once", self._tasks_wrong()),
            Verdict("outputs are as expected", self._outputs_wrong()),
            Verdict("committed is what the machines cost", self._sum_wrong()),
        ]
        if not self._may_repeat:
            found.append(Verdict("no work was lost: every task ran once", self._repeated()))
        return found

    def of_money(self):
        """Demands on any run, also one that nobody resumed."""
        return [
            Verdict("committed is within the budget", self._budget_wrong()),
            Verdict("no machine lived longer than was paid", self._lives_wrong()),
        ]

    def last_lease(self):
        """When the last lease of a machine that may live ends, by the wall clock."""
        living = self._rented.keys() - self._downs.keys()
        return max((self._paid_until(one) for one in living), default=0.0)

    def _of(self, kind):
        return [one for one in self._events if isinstance(one, kind)]

    # --- tasks -----------------------------------------------------------------------------------

    def _attempts(self):
        return Counter(one.task for one in self._of(ev.AttemptStarted))

    def _tasks_wrong(self):
        started = {one.attempt: one.task for one in self._of(ev.AttemptStarted)}
        ended = Counter(one.attempt for one in self._of(ev.AttemptEnded))
        done = Counter(
            started[one.attempt] for one in self._of(ev.AttemptEnded) if one.outcome == "success"
        )
        attempts = self._attempts()
        machines = {one.attempt: one.machine for one in self._of(ev.AttemptStarted)}
        found = [f"attempt {n} ended {times} times" for n, times in ended.items() if times > 1]
        found += [
            f"attempt {n} never ended, nor did its machine"
            for n in started
            if not ended[n] and machines[n] not in self._downs
        ]
        for task in range(1, self._work.count + 1):
            if done[task] != 1:
                found.append(f"task {task} was done {done[task]} times")
            began = self._work.marks(task, "began")
            if began > attempts[task]:
                found.append(f"task {task} was begun {began} times in {attempts[task]} attempts")
        return found

    def _outputs_wrong(self):
        wrong = self._work.wrong(self._home / "outputs")
        return [f"outputs of {len(wrong)} tasks are wrong: {wrong[:SHOWN]}"] if wrong else []

    def _repeated(self):
        attempts = self._attempts()
        seen = {
            task: (self._work.marks(task, "began"), self._work.marks(task, "ended"), attempts[task])
            for task in range(1, self._work.count + 1)
        }
        return [
            f"task {task}: begun {began}, ended {ended}, attempts {tried}"
            for task, (began, ended, tried) in seen.items()
            if (began, ended, tried) != (1, 1, 1)
        ]

    # --- money -----------------------------------------------------------------------------------

    def _sum_wrong(self):
        """The ledger by our own arithmetic; a machine that never ended has no sum."""
        self._state.ledger.check()
        found = [f"machine {n} never ended" for n in self._rented.keys() - self._downs.keys()]
        total = ZERO
        for machine, down in self._downs.items():
            if down.cause != "refused":
                offer = self._offers[self._rented[machine].offer]
                total += offer.price * self._units(machine)
        if total != self._state.ledger.committed:
            committed = self._state.ledger.committed
            found.append(f"the ledger has {committed}, the machines cost {total}")
        return found

    def _budget_wrong(self):
        """After every event, not only at the end."""
        state, most = RunState(), ZERO
        for event in self._events:
            state.apply(event)
            most = max(most, state.ledger.committed)
        budget = state.goal.budget
        return [f"{most} of {budget} were committed"] if most > budget else []

    def _units(self, machine):
        """Billing units that it entered; of one that did not end, those of its lease."""
        rented, down = self._rented[machine], self._downs.get(machine)
        offer = self._offers[rented.offer]
        if down is not None:
            end = down.at if down.ended is None else down.ended
        else:
            extended = [one.until for one in self._of(ev.LeaseExtended) if one.machine == machine]
            end = max([rented.until, *extended])
        return -(-max(end - rented.at, offer.minimum, 1) // offer.billing)

    def _paid_until(self, machine):
        """By the wall clock."""
        rented = self._rented[machine]
        offer = self._offers[rented.offer]
        return self._began + (rented.at + self._units(machine) * offer.billing) / SECOND

    def _lives_wrong(self):
        found = []
        for token, (_, last) in self._lives.items():
            machine = int(token.rpartition("/")[2])
            if machine not in self._rented:
                found.append(f"machine {machine} was never rented, and lived")
            elif last > self._paid_until(machine) + SLACK:
                late = last - self._paid_until(machine)
                found.append(f"machine {machine} lived {late:.1f} s longer than was paid")
        return found
