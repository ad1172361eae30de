"""The contract of a runner: what a real world relies on, wherever attempts are executed.

Make a subclass under a name that pytest collects, and say how to make the runner:

    class TestMyRunner(RunnerContract):
        def make_runner(self, mark, clock):
            return MyRunner(mark, clock)

Time is real: `clock` is that of a run that has just begun.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Final

from bursar.engine.runner import Ended, Gone, Joined, LineChanged, Runner, RunnerNews
from bursar.execute.clock import RunClock
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import SECOND, Time
from bursar.state.events import DownCause
from bursar.testing.broken import expect
from bursar.testing.worlds import FAILING, QUICK, SLOW

Command = tuple[str, ...]
COMMANDS: Final[dict[int, Command]] = {
    **dict.fromkeys(QUICK, ("true",)),
    **dict.fromkeys(SLOW, ("sleep", "60")),
    FAILING: ("false",),
}


class RunnerContract:
    """Each test makes a runner of its own and closes it."""

    offer: Offer = Offer("machine", Money.parse("0.01"), SECOND, slots=2)
    commands: dict[int, Command] = COMMANDS
    """by task: 1 to 4 soon succeed, 5 and 6 outlast `longest_wait`, 7 soon fails; empty: a call"""
    stay: Time = SECOND
    """a short lease, but longer than a machine takes to join"""
    longest_wait: Time = 20 * SECOND
    """for anything that must happen"""

    @property
    def ample(self) -> Time:
        """A lease that ends after anything that must happen."""
        return 3 * self.longest_wait

    def make_runner(self, mark: str, clock: RunClock) -> Runner:
        """The runner of the run with this mark."""
        raise NotImplementedError

    def test_a_machine_that_is_there_joins_once(self) -> None:
        with self._drill() as drill:
            drill.machine(self.ample)
            drill.machine(self.ample)

    def test_every_attempt_that_is_started_ends_once(self) -> None:
        with self._drill() as drill:
            first, second = drill.machine(self.ample), drill.machine(self.ample)
            attempts = [
                drill.start(QUICK[0], first),
                drill.start(QUICK[1], second),
                drill.start(FAILING, second),
            ]
            drill.until(lambda: not drill.live, "attempts did not end")
            outcomes = [drill.ended[attempt].outcome for attempt in attempts]
            expect(outcomes == ["success", "success", "failed"], f"they ended as {outcomes}")
            expect(drill.ended[attempts[2]].why != "", "nobody says why it failed")

    def test_an_attempt_for_which_there_is_no_slot_waits_or_is_given_back(self) -> None:
        with self._drill() as drill:
            machine = drill.machine(self.ample)
            for task in QUICK:
                drill.start(task, machine)
            drill.until(lambda: not drill.live, "attempts did not end")
            back = [ended for ended in drill.ended.values() if ended.outcome == "cancelled"]
            done = [ended for ended in drill.ended.values() if ended.outcome == "success"]
            expect(len(done) >= self.offer.slots, "not even those with a slot succeeded")
            expect(len(done) + len(back) == len(QUICK), f"they ended as {drill.ended}")
            expect(all(ended.why for ended in back), "one was given back, and nobody says why")

    def test_an_attempt_that_is_stopped_ends_and_its_machine_goes_on(self) -> None:
        with self._drill() as drill:
            machine = drill.machine(self.ample)
            attempt = drill.start(SLOW[0], machine)
            drill.look(drill.now() + self.stay // 4)
            drill.order(drill.runner.stop, attempt)
            drill.until(lambda: not drill.live, "the attempt did not end")
            outcome = drill.ended[attempt].outcome
            expect(outcome == "cancelled", f"it ended as {outcome}")
            after = drill.start(QUICK[0], machine)
            drill.until(lambda: not drill.live, "its machine does not go on")
            expect(drill.ended[after].outcome == "success", "its machine does not go on")

    def test_a_machine_that_is_to_leave_goes_with_what_runs_on_it(self) -> None:
        self._leave("released")

    def test_a_machine_that_is_lost_goes_with_what_runs_on_it(self) -> None:
        self._leave("lost")

    def _leave(self, cause: DownCause) -> None:
        with self._drill() as drill:
            machine = drill.machine(self.ample)
            drill.start(SLOW[0], machine)
            drill.order(drill.runner.leave, machine, cause)
            drill.until(lambda: machine in drill.gone, "the machine is not gone")
            reported = drill.gone[machine].cause
            expect(reported == cause, f"it was to leave as {cause}, and is reported as {reported}")

    def test_a_machine_may_leave_before_it_has_joined(self) -> None:
        with self._drill() as drill:
            machine = drill.join(self.ample)
            drill.order(drill.runner.leave, machine, "refused")
            drill.until(lambda: machine in drill.gone, "the machine is not gone")

    def test_nothing_outlives_a_lease_even_if_nobody_looks(self) -> None:
        with self._drill() as drill:
            machine = drill.machine(self.stay)
            attempt = drill.start(SLOW[0], machine)
            time.sleep(2 * self.stay / SECOND)
            drill.until(lambda: machine in drill.gone, "the machine stays without a lease")
            gone, until = drill.gone[machine], drill.leases[machine]
            expect(gone.cause == "expired", f"it is reported as {gone.cause}")
            expect(gone.at <= until, f"the lease ended at {until}, the machine at {gone.at}")
            expect(attempt not in drill.ended, "its attempt ended before it did")

    def test_a_machine_whose_lease_is_extended_stays(self) -> None:
        with self._drill() as drill:
            machine = drill.machine(self.stay)
            before = drill.leases[machine]
            attempt = drill.start(SLOW[0], machine)
            drill.lease(machine, self.ample)
            drill.until(lambda: drill.now() > before + self.stay // 2, "time does not pass")
            expect(attempt in drill.live, "it ended with the lease of before")

    def test_a_lease_that_is_over_is_not_extended(self) -> None:
        with self._drill() as drill:
            machine = drill.machine(self.stay)
            until = drill.leases[machine]
            time.sleep(2 * self.stay / SECOND)
            drill.lease(machine, self.ample)
            drill.until(lambda: machine in drill.gone, "the machine came back to life")
            expect(drill.gone[machine].at <= until, "it is reported as if it had lived on")

    def test_orders_about_what_is_gone_are_ignored(self) -> None:
        with self._drill() as drill:
            machine = drill.machine(self.ample)
            attempt = drill.start(QUICK[0], machine)
            drill.until(lambda: not drill.live, "the attempt did not end")
            drill.order(drill.runner.stop, attempt)
            drill.order(drill.runner.leave, machine, "released")
            drill.until(lambda: machine in drill.gone, "the machine is not gone")
            drill.order(drill.runner.lease, machine, drill.now() + self.longest_wait)
            drill.order(drill.runner.leave, machine, "released")
            drill.order(drill.runner.start, 99, QUICK[1], machine, self.commands[QUICK[1]])
            drill.look(drill.now() + self.stay // 2)

    def test_looking_ends_at_the_time_it_is_told(self) -> None:
        with self._drill() as drill:
            for _ in range(3):
                until = drill.now() + self.stay // 10
                while drill.now() < until:
                    expect(not drill.runner.poll(until), "something happened for no reason")

    def test_looking_ends_when_another_thread_wakes_it(self) -> None:
        with self._drill() as drill:
            timer = Timer(self.stay / SECOND / 4, drill.runner.wake)
            timer.start()
            began = drill.now()
            drill.runner.poll(began + self.longest_wait)
            expect(drill.now() - began < self.longest_wait // 2, "nothing woke it")
            timer.join()

    def test_outputs_are_settled_whatever_becomes_of_them(self) -> None:
        with self._drill() as drill:
            machine = drill.machine(self.ample)
            tasks = (QUICK[0], FAILING, QUICK[1])
            attempts = [drill.start(task, machine) for task in tasks]
            drill.until(lambda: not drill.live, "attempts did not end")
            drill.runner.settle(tasks[0], attempts[0], "keep")
            drill.runner.settle(tasks[1], attempts[1], "failure")
            drill.runner.settle(tasks[2], attempts[2], "drop")

    def test_a_runner_may_be_closed_while_attempts_run(self) -> None:
        with self._drill() as drill:
            drill.start(SLOW[0], drill.machine(self.ample))

    @contextmanager
    def _drill(self) -> Iterator[_RunnerDrill]:
        drill = _RunnerDrill(self)
        try:
            yield drill
        finally:
            drill.runner.close()


class _RunnerDrill:
    """A runner driven by hand; what it tells must be possible."""

    def __init__(self, contract: RunnerContract) -> None:
        self._contract = contract
        clock = RunClock(0, None)
        self.now = clock.now
        self.runner = contract.make_runner(f"contract@{uuid.uuid4().hex[:8]}", clock)
        self.leases: dict[int, Time] = {}
        self.joined: set[int] = set()
        self.gone: dict[int, Gone] = {}
        self.live: dict[int, int] = {}
        """attempts that were started and have not ended, and their machines"""
        self.ended: dict[int, Ended] = {}

    # --- ordering --------------------------------------------------------------------------------

    def order(self, give: Callable[..., object], *values: object) -> None:
        give(*values)
        self.runner.flush()

    def join(self, stay: Time) -> int:
        number = len(self.leases) + 1
        self.leases[number] = self.now() + stay
        self.order(self.runner.join, number, self._contract.offer, self.leases[number])
        return number

    def machine(self, stay: Time) -> int:
        """A machine that has joined."""
        number = self.join(stay)
        self.until(lambda: number in self.joined, "the machine did not join")
        return number

    def lease(self, machine: int, stay: Time) -> None:
        self.leases[machine] = self.now() + stay
        self.order(self.runner.lease, machine, self.leases[machine])

    def start(self, task: int, machine: int) -> int:
        attempt = len(self.live) + len(self.ended) + 1
        self.live[attempt] = machine
        self.order(self.runner.start, attempt, task, machine, self._contract.commands[task])
        return attempt

    # --- looking ---------------------------------------------------------------------------------

    def until(self, holds: Callable[[], bool], complaint: str) -> None:
        last = self.now() + self._contract.longest_wait
        while not holds():
            expect(self.now() < last, complaint)
            self.look(min(last, self.now() + self._contract.stay // 4))

    def look(self, until: Time) -> None:
        for news in self.runner.poll(until):
            self._hear(news)

    def _hear(self, news: RunnerNews) -> None:
        if isinstance(news, Ended):
            expect(news.attempt in self.live, f"the attempt does not live, or no more: {news}")
            del self.live[news.attempt]
            self.ended[news.attempt] = news
            return
        if isinstance(news, LineChanged):
            return
        machine = news.machine
        expect(machine in self.leases, f"nobody let this machine join: {news}")
        expect(machine not in self.gone, f"the machine was gone before: {news}")
        if isinstance(news, Joined):
            expect(machine not in self.joined, f"machine {machine} joined twice")
            self.joined.add(machine)
            return
        expect(news.at <= self.now(), f"it has not happened yet: {news}")
        self.gone[machine] = news
        self.live = {attempt: at for attempt, at in self.live.items() if at != machine}
