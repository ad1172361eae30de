"""A scene in which anything may happen: works of several owners, machines of several accounts."""

from __future__ import annotations

from bursar.model.goal import Account, Goal
from bursar.model.market import Offer
from bursar.model.money import ZERO
from bursar.model.time import SECOND
from bursar.model.work import Bag, Work
from bursar.model.workflow import Workflow
from bursar.state import checkpoint
from bursar.state import events as ev
from bursar.testing import Scene

OFFERS = (Offer("one", ZERO), Offer("two", ZERO, slots=2))
OWNERS = ("ann", "bob")
SHAPES = (((), (0,), (0,), (1, 2)), ((), (), (0, 1)), ((), (0,), (1,)))


class Anything:
    """Each call of `happen` tells one event, whatever it is."""

    def __init__(self, rng, accounts=True):
        self.rng, self.works = rng, {}
        self.scene = Scene(*OFFERS, retries=1, arrivals_open=True)
        if accounts:
            goal = Goal(accounts=tuple(Account(owner, None) for owner in OWNERS))
            self.scene.tell(ev.GoalChanged(0, goal))
        self.accounts = OWNERS if accounts else ("",)
        self.arrive()

    @property
    def state(self):
        return self.scene.state

    def happen(self):
        if self.rng.random() < 0.5:
            self.scene.pass_time(self.rng.choice((1, SECOND, 3 * SECOND, 100 * SECOND)))
        self.rng.choice(
            (*3 * (self.arrive, self.rent), *6 * (self.up, self.start, self.end),
             self.cancel, self.release, self.down, self.adopt, self.retry, self.reorder,
             *((self.drop,) if self.rng.random() < 0.3 else ()))
        )()  # fmt: skip

    def arrive(self):
        shape = self.rng.choice((None, None, *SHAPES))
        tasks = Bag(self.rng.randint(1, 4)) if shape is None else workflow(shape)
        work = Work(
            tasks, self.rng.choice(OWNERS), self.rng.randint(0, 3), self.rng.choice((None, 50))
        )
        self.works[self.state.events + 1] = work
        self.scene.tell(ev.WorkArrived(self.scene.at, work))

    def drop(self):
        """Cancel a whole work, as its owner may."""
        self._some(self._standing())(
            lambda work: self.scene.tell(ev.WorkCancelled(self.scene.at, work, "not wanted"))
        )

    def reorder(self):
        self._some(self._standing())(
            lambda work: self.scene.tell(
                ev.PriorityChanged(self.scene.at, work, self.rng.randint(0, 9))
            )
        )

    def _standing(self):
        works = range(1, len(self.state.work) + 1)
        return [one for one in works if self.state.expects(ev.WorkCancelled(0, one))]

    def rent(self):
        number = self.state.machines_rented + 1
        account, at = self.rng.choice(self.accounts), self.scene.at
        offer = self.rng.choice(OFFERS).name
        self.scene.tell(ev.MachineRented(at, number, offer, at + 10**12, account=account))

    def up(self):
        self._some(m.id for m in self.state.machines.values() if m.up is None)(self.scene.up)

    def adopt(self):
        """What a resumed run does: it has to see whether a machine is there."""
        empty = (m for m in self.state.machines.values() if not (m.attempts or m.waiting))
        self._some(m.id for m in empty)(
            lambda number: self.scene.tell(ev.MachineAdopted(self.scene.at, number))
        )

    def start(self):
        if self.state.idle and self.state.ready:
            task = self.rng.choice(list(self.state.ready))
            self.scene.start(task, self.rng.choice(list(self.state.idle)))

    def end(self):
        outcome = self.rng.choice(("success", "success", "success", "failed", "cancelled"))
        self._some(self.state.attempts)(lambda attempt: self.scene.end(attempt, outcome))

    def cancel(self):
        self._some(a.id for a in self.state.attempts.values() if not a.cancelling)(
            self.scene.cancel
        )

    def release(self):
        self._some(m.id for m in self.state.machines.values() if not m.leaving)(self.scene.release)

    def down(self):
        self._some(self.state.machines)(lambda number: self.scene.down(number, "lost"))

    def retry(self):
        some = [task for task in self.state.failed_tasks if self.rng.random() < 0.5]
        if some:
            self.scene.tell(ev.RetryRequested(self.scene.at, tuple(some)))

    def resume(self):
        """Go on with what a checkpoint tells."""
        stored = checkpoint.to_bytes(self.state)
        self.scene.state = checkpoint.from_bytes(stored, self.works.__getitem__)

    def _some(self, numbers):
        found = list(numbers)
        return lambda act: act(self.rng.choice(found)) if found else None


def workflow(parents):
    count = len(parents)
    return Workflow(
        name="flow",
        names=tuple("abcdefgh"[:count]),
        parents=parents,
        kind_names=("k",),
        kinds=(0,) * count,
        runtimes=(1.0,) * count,
    )
