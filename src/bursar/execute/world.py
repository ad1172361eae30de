"""The real world: a renter and a runner, composed, and the clock of the computer.

    decisions --> renter: machines come and go      --+--> events
              --> runner: attempts start and end    --+

A machine is up when both say so: the renter that it has booted, the runner that it has joined. It
is down when both say so, too: as soon as one has, the other is asked to end it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from bursar.engine.renter import Announced, Down, Refused, Renter, RentOrder, Survey, Up
from bursar.engine.runner import Ended, Gone, Joined, LineChanged, Runner
from bursar.engine.world import External, Fate, happening
from bursar.execute.clock import RunClock
from bursar.execute.lateness import Lateness
from bursar.model.market import Offer
from bursar.model.time import Time
from bursar.state import events as ev
from bursar.state.state import RunState
from bursar.state.view import Machine


class _Rented:
    """What renter and runner have said of a machine."""

    __slots__ = ("down", "gone", "has_joined", "is_up")

    def __init__(self, *, is_up: bool = False) -> None:
        self.is_up = is_up
        self.has_joined = False
        self.down: Down | None = None
        self.gone: Gone | None = None


class RealWorld:
    """Carries decisions out through a renter and a runner, which it opens and closes."""

    def __init__(
        self, state: RunState, renter: Renter, runner: Runner, clock: RunClock, mark: str
    ) -> None:
        self._state = state
        self._renter = renter
        self._runner = runner
        self._clock = clock
        self._mark = mark
        """of the run; the tokens of its machines are made from it"""
        self._machines: dict[int, _Rented] = {}
        """those that are not down"""
        self._lateness = Lateness()
        self._late: Time = 0
        """how late this process may be, by what was seen"""
        self._awake: Time | None = None
        """since when the engine should have been at work, and is"""
        self._happened: list[ev.AnyEvent] = []
        self._posted: deque[External] = deque()
        self._closed = False
        self._performers: dict[type, Callable[[Any], None]] = {
            ev.MachineRented: self._rent,
            ev.LeaseExtended: self._extend,
            ev.ReleaseOrdered: self._release,
            ev.AttemptStarted: self._start,
            ev.CancelOrdered: self._cancel,
        }
        self._hearers: dict[type, Callable[[Any, Time], None]] = {
            Up: self._heard_up,
            Refused: self._heard_refused,
            Announced: self._heard_announced,
            Down: self._heard_down,
            Joined: self._heard_joined,
            Ended: self._heard_ended,
            Gone: self._heard_gone,
            LineChanged: self._heard_line,
        }
        renter.open(runner.wake)

    # --- what the engine asks --------------------------------------------------------------------

    @property
    def ahead(self) -> int:
        return self._runner.ahead

    @property
    def stalled(self) -> AbstractSet[int]:
        return self._runner.stalled

    def lead(self, offer: Offer) -> Time:
        """Longer while this process is late, as on a computer that is busy with the tasks."""
        return self._renter.lead(offer) + self._late

    def now(self) -> Time:
        return self._clock.now()

    def post(self, event: External) -> None:
        self._posted.append(event)
        self._runner.wake()

    @property
    def has_news(self) -> bool:
        """Whether something has happened that the engine was not given yet."""
        return bool(self._happened)

    def wait(self, until: Time | None) -> Sequence[ev.AnyEvent]:
        """Late is what was not carried out before the engine waits again, since it was due."""
        entered = self.now()
        if self._awake is not None:
            self._lateness.learn(entered - self._awake, entered)
        if until is None and not self._machines and not self._state.arrivals_open:
            until = entered
        while not self._happened:
            self._listen(until)
            if until is not None and self.now() >= until:
                break
        now = self.now()
        self._awake = now if until is None else min(now, max(entered, until))
        self._late = self._lateness.expected()
        happened, self._happened = self._happened, []
        return happened

    def perform(self, decisions: Sequence[ev.Decision]) -> None:
        for decision in decisions:
            performer = self._performers.get(type(decision))
            if performer is not None:
                performer(decision)
        self._runner.flush()

    def settle(self, task: int, attempt: int, fate: Fate) -> None:
        self._runner.settle(task, attempt, fate)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            try:
                self._renter.close()
            finally:
                self._runner.close()

    # --- a run that goes on ----------------------------------------------------------------------

    def take_over(self) -> list[ev.AnyEvent]:
        """What becomes of the machines of a process that crashed; to be recorded before all else.

        One that lives is adopted with its lease, unless it was to go or that ends at once. All
        others are down, and what lives of them is ended. Nothing that ran is known to run.
        """
        now, events = self.now(), list[ev.AnyEvent]()
        survey = self._renter.survey()
        found = {one.machine: one for one in survey.found}
        for machine in list(self._state.machines.values()):
            one = found.get(machine.id)
            if one is None or not self._can_keep(machine, now):
                doubt = _doubt(survey, machine)
                events.append(self._gone(machine, now, doubt, is_found=one is not None))
                continue
            del found[machine.id]
            why = "the run was resumed"
            for attempt in sorted((*machine.attempts, *machine.waiting)):
                events.append(ev.AttemptEnded(now, attempt, "lost", why=why))
            events.append(ev.MachineAdopted(now, machine.id))
            self._machines[machine.id] = _Rented(is_up=one.is_up)
            self._renter.extend(machine.id, machine.until)
            self._runner.join(machine.id, machine.offer, machine.until)
        if found:
            self._renter.release(list(found))
        return events

    def _can_keep(self, machine: Machine, now: Time) -> bool:
        stays = now + self.lead(machine.offer) < machine.until
        return stays and not machine.leaving and not self._clock.is_doubtful

    def _gone(self, machine: Machine, now: Time, doubt: str, *, is_found: bool) -> ev.MachineDown:
        """It is charged for what it may have cost: all that is paid, if nobody knows.

        One that was being released is not lost: it went as ordered.
        """
        ended, why = min(now, machine.until), "gone before the run was resumed"
        if is_found:
            ended, why = machine.until, "ended when the run was resumed"
        elif doubt and now < machine.until:
            ended, why = machine.until, doubt
        elif self._clock.is_doubtful:
            ended, why = machine.until, f"{why}, at an unknown time: the clock was set back"
        cause: ev.DownCause = "released" if machine.releasing else "lost"
        return ev.MachineDown(now, machine.id, cause, ended, why)

    # --- decisions -------------------------------------------------------------------------------

    def _rent(self, decision: ev.MachineRented) -> None:
        number, until = decision.machine, decision.until
        offer = self._state.market[decision.offer]
        self._machines[number] = _Rented()
        self._runner.join(number, offer, until)
        self._renter.rent([RentOrder(number, offer, until, f"{self._mark}/{number}")])

    def _extend(self, decision: ev.LeaseExtended) -> None:
        if decision.machine in self._machines:
            self._renter.extend(decision.machine, decision.until)
            self._runner.lease(decision.machine, decision.until)

    def _release(self, decision: ev.ReleaseOrdered) -> None:
        if decision.machine in self._machines:
            self._renter.release([decision.machine])
            self._runner.leave(decision.machine, "released")

    def _start(self, decision: ev.AttemptStarted) -> None:
        if decision.machine in self._machines:
            command = self._state.command(decision.task)
            self._runner.start(decision.attempt, decision.task, decision.machine, command)

    def _cancel(self, decision: ev.CancelOrdered) -> None:
        self._runner.stop(decision.attempt)

    # --- news ------------------------------------------------------------------------------------

    def _listen(self, until: Time | None) -> None:
        """Turn what was reported or posted into events, all of one time."""
        news = self._renter.next_poll()
        end = until if news is None or (until is not None and until < news) else news
        reports = self._runner.poll(end)
        now, hearers, machines = self.now(), self._hearers, self._machines
        for report in reports:
            hearers[type(report)](report, now)
        for change in self._renter.poll():
            if change.machine in machines:
                hearers[type(change)](change, now)
        while self._posted:
            self._happened += happening(self._posted.popleft(), now)

    def _heard_ended(self, news: Ended, now: Time) -> None:
        self._happened.append(
            ev.AttemptEnded(
                now,
                news.attempt,
                news.outcome,
                news.runtime,
                news.exit_code,
                news.cpu,
                news.memory,
                news.why,
                news.unwanted,
            )
        )

    def _heard_up(self, news: Up, now: Time) -> None:
        rented = self._machines[news.machine]
        rented.is_up = True
        if rented.has_joined:
            self._happened.append(ev.MachineUp(now, news.machine))

    def _heard_joined(self, news: Joined, now: Time) -> None:
        rented = self._machines.get(news.machine)
        if rented is not None:
            rented.has_joined = True
            if rented.is_up:
                self._happened.append(ev.MachineUp(now, news.machine))

    def _heard_announced(self, news: Announced, now: Time) -> None:
        self._happened.append(ev.LossAnnounced(now, news.machine, news.gone))

    def _heard_refused(self, news: Refused, now: Time) -> None:
        del self._machines[news.machine]
        self._runner.leave(news.machine, "refused")
        self._happened.append(ev.MachineDown(now, news.machine, "refused", why=news.why))

    def _heard_down(self, news: Down, now: Time) -> None:
        rented = self._machines[news.machine]
        rented.down = news
        if rented.gone is None:
            self._runner.leave(news.machine, news.cause)
        else:
            self._both_down(rented.gone, news, now)

    def _heard_line(self, news: LineChanged, now: Time) -> None:
        if news.machine and news.machine not in self._machines:
            return
        if news.is_cut:
            self._happened.append(ev.ConnectionLost(now, news.machine, news.why))
        else:
            self._happened.append(ev.ConnectionRestored(now, news.machine))

    def _heard_gone(self, news: Gone, now: Time) -> None:
        rented = self._machines.get(news.machine)
        if rented is None:
            return
        rented.gone = news
        if rented.down is None:
            self._renter.release([news.machine])
        else:
            self._both_down(news, rented.down, now)

    def _both_down(self, gone: Gone, down: Down, now: Time) -> None:
        """The runner tells the cause, since it knows its orders and what came before.

        The machine cost money until the later of both times, which its lease bounds.
        """
        del self._machines[gone.machine]
        until = self._state.machines[gone.machine].until
        why = gone.why or (down.why if down.cause == gone.cause else "")
        ended = min(now, until, max(gone.at, down.at))
        self._happened.append(ev.MachineDown(now, gone.machine, gone.cause, ended, why))


def _doubt(survey: Survey, machine: Machine) -> str:
    """Why a machine that was not found may live; empty: it does not."""
    if unasked := survey.unasked.get(machine.offer.name):
        return f"it may run on: {unasked} could not be reached when the run was resumed"
    if survey.may_start and machine.up is None:
        return "it may come up yet: it was being started when the run was killed"
    return ""
