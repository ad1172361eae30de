"""A scene: a run whose events a test writes by hand, for tests of what reads a state."""

from __future__ import annotations

from bursar.model.goal import Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, Time
from bursar.model.work import Bag, Work
from bursar.state import events as ev
from bursar.state.state import RunState


class Scene:
    """A state and the events that led to it; every invariant is verified after each of them.

    Events happen at `at`, which a test moves with `pass_time`.
    """

    def __init__(
        self,
        *offers: Offer,
        tasks: int | Bag = 0,
        budget: str | None = None,
        deadline: Time | None = None,
        retries: int = 0,
        timeout: Time | None = None,
        arrivals_open: bool = False,
        run: str = "scene",
    ) -> None:
        self.state = RunState()
        self.events: list[ev.AnyEvent] = []
        self.at: Time = 0
        goal = Goal(None if budget is None else Money.parse(budget), deadline)
        market = Market("USD", "undated", offers)
        self.tell(ev.RunCreated(0, run, market, goal, Limits(retries, timeout), 0, {}, {}, 0.0))
        bag = Bag(tasks) if isinstance(tasks, int) else tasks
        if bag.count:
            self.tell(ev.WorkArrived(0, Work(bag)))
        if not arrivals_open:
            self.tell(ev.ArrivalsEnded(0))

    def tell(self, event: ev.AnyEvent) -> None:
        self.state.apply(event)
        self.state.check()
        self.events.append(event)

    def pass_time(self, time: Time) -> None:
        self.at += time

    # --- machines --------------------------------------------------------------------------------

    def rent(self, offer: str | None = None, stay: Time = HOUR) -> int:
        """A machine that boots; without a name, of the first offer."""
        number = self.state.machines_rented + 1
        name = self.state.market.offers[0].name if offer is None else offer
        self.tell(ev.MachineRented(self.at, number, name, self.at + stay))
        return number

    def up(self, machine: int) -> int:
        self.tell(ev.MachineUp(self.at, machine))
        return machine

    def machine(self, offer: str | None = None, stay: Time = HOUR) -> int:
        """A machine that is up."""
        return self.up(self.rent(offer, stay))

    def extend(self, machine: int, stay: Time) -> None:
        """Let the machine stay so much longer than it may now."""
        until = self.state.machines[machine].until + stay
        self.tell(ev.LeaseExtended(self.at, machine, until))

    def mark(self, machine: int) -> None:
        self.tell(ev.ReleaseMarked(self.at, machine))

    def release(self, machine: int) -> None:
        """Order it; the machine is there until it is `down`."""
        self.tell(ev.ReleaseOrdered(self.at, machine))

    def announce_loss(self, machine: int, notice: Time) -> None:
        """A notice that the machine will be gone so long from now."""
        self.tell(ev.LossAnnounced(self.at, machine, self.at + notice))

    def down(
        self, machine: int, cause: ev.DownCause = "released", ended: Time | None = None
    ) -> None:
        self.tell(ev.MachineDown(self.at, machine, cause, ended))

    # --- attempts --------------------------------------------------------------------------------

    def start(self, task: int, machine: int, *, measure: bool = False) -> int:
        attempt = len(self.state.log) + 1
        self.tell(ev.AttemptStarted(self.at, attempt, task, machine, measure=measure))
        return attempt

    def cancel(self, attempt: int) -> None:
        """Order it; the attempt lives until its `end`."""
        self.tell(ev.CancelOrdered(self.at, attempt))

    def end(
        self,
        attempt: int,
        outcome: ev.Outcome = "success",
        exit_code: int | None = None,
        why: str = "",
    ) -> None:
        runtime = self.at - self.state.attempts[attempt].started
        self.tell(ev.AttemptEnded(self.at, attempt, outcome, runtime, exit_code, why=why))
