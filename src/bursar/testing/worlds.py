"""The contract of a world: what the engine relies on in any world.

Make a subclass under a name that pytest collects, and say how to make the world:

    class TestMyWorld(WorldContract):
        def make_world(self, state):
            return MyWorld(state)

        bags = (quick tasks, slow tasks, a task that fails)
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Thread
from typing import Final

from bursar.engine.loop import Engine
from bursar.engine.roles import Policy
from bursar.engine.world import World
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import SECOND, Time
from bursar.model.work import Bag, Work
from bursar.policies.place.random import RandomPlacer
from bursar.policies.provision.fixed import Fixed
from bursar.policies.replicate.none import NoReplicas
from bursar.state import events as ev
from bursar.state.attempts import OUTCOMES
from bursar.state.state import RunState
from bursar.testing.auditor import Auditor
from bursar.testing.broken import expect
from bursar.testing.scene import Scene

QUICK: Final = (1, 2, 3, 4)
SLOW: Final = (5, 6)
FAILING: Final = 7


class WorldContract:
    """Each test opens a world of its own and closes it; all times are those of the world."""

    offer: Offer = Offer("machine", Money.parse("0.01"), SECOND, slots=2)
    bags: tuple[Bag, Bag, Bag] = (Bag(len(QUICK)), Bag(len(SLOW)), Bag(1))
    """tasks that soon succeed, tasks that outlast `longest_wait`, and one that soon fails"""
    stay: Time = SECOND
    """a short lease, but longer than a machine boots"""
    longest_wait: Time = 20 * SECOND
    """for anything that must happen"""
    is_reliable: bool = True
    """whether machines stay to the end of their leases, and events are seen when they happen"""

    def make_world(self, state: RunState) -> World:
        raise NotImplementedError

    def pass_unseen(self, duration: Time) -> None:
        """Let time pass while nobody looks; nothing to do where it only passes in `wait`."""
        time.sleep(duration / SECOND)

    def test_every_machine_that_is_rented_comes_up_or_goes_down(self) -> None:
        with self._drill() as drill:
            machines = [drill.rent(self.longest_wait) for _ in range(3)]
            drill.until(lambda: not drill.booting(), "machines neither came up nor went down")
            expect(
                sorted(drill.came_up | drill.went_down.keys()) == machines,
                "a machine was reported that was not rented, or one that was rented is missing",
            )

    def test_every_attempt_that_is_started_ends_once(self) -> None:
        with self._drill() as drill:
            first, second = drill.machine(self.longest_wait), drill.machine(self.longest_wait)
            drill.start(QUICK[0], first)
            drill.start(QUICK[1], second)
            drill.start(FAILING, second)
            drill.until(lambda: not drill.state.attempts, "attempts did not end")
            if self.is_reliable:
                outcomes = [drill.outcome(attempt) for attempt in (1, 2, 3)]
                expect(outcomes == ["success", "success", "failed"], f"they ended as {outcomes}")

    def test_an_attempt_may_be_started_where_another_has_ended(self) -> None:
        with self._drill() as drill:
            machine = drill.machine(self.longest_wait)
            for task in QUICK:
                drill.start(task, machine)
                drill.until(lambda: not drill.state.attempts, "an attempt did not end")
            if self.is_reliable:
                expect(drill.state.done == len(QUICK), "not all of them succeeded")

    def test_an_attempt_that_is_cancelled_ends_and_its_machine_goes_on(self) -> None:
        with self._drill() as drill:
            machine = drill.machine(self.longest_wait)
            attempt = drill.start(SLOW[0], machine)
            drill.cancel(attempt)
            drill.until(lambda: not drill.state.attempts, "the attempt did not end")
            if self.is_reliable:
                outcome = drill.outcome(attempt)
                expect(outcome == "cancelled", f"the attempt ended as {outcome}")
                expect(machine in drill.state.idle, "its machine is not idle")

    def test_a_machine_that_is_released_goes_down_with_what_runs_on_it(self) -> None:
        with self._drill() as drill:
            machine = drill.machine(self.longest_wait)
            drill.start(SLOW[0], machine)
            drill.start(SLOW[1], machine)
            drill.release(machine)
            drill.until(lambda: machine in drill.went_down, "the machine did not go down")
            if self.is_reliable:
                cause = drill.went_down[machine].cause
                expect(cause == "released", f"it went down because it was {cause}")

    def test_no_machine_outlives_its_lease(self) -> None:
        with self._drill() as drill:
            machine = drill.machine(self.stay)
            until = drill.lease_ends(machine)
            drill.start(SLOW[0], machine)
            drill.until(lambda: machine in drill.went_down, "the machine stays without a lease")
            down = drill.went_down[machine]
            ended = down.at if down.ended is None else down.ended
            expect(ended <= until, f"the lease ended at {until}, the machine at {ended}")
            if self.is_reliable:
                expect(down.cause == "expired", f"it went down because it was {down.cause}")

    def test_a_machine_whose_lease_is_extended_stays(self) -> None:
        with self._drill() as drill:
            machine = drill.machine(self.stay)
            before = drill.lease_ends(machine)
            attempt = drill.start(SLOW[0], machine)
            drill.extend(machine, self.longest_wait)
            drill.until(lambda: drill.tell_time() > before, "time does not pass", before + 1)
            if self.is_reliable:
                expect(attempt in drill.state.attempts, "it ended with the lease of before")

    def test_waiting_ends_at_the_time_it_is_told(self) -> None:
        with self._drill() as drill:
            for _ in range(3):
                until = drill.tell_time() + self.stay // 10
                expect(drill.look(until) == [], "something happened where nothing was under way")
                expect(drill.tell_time() >= until, "waiting ended too early")

    def test_nothing_comes_where_nothing_is_under_way(self) -> None:
        with self._drill() as drill:
            expect(drill.look(None) == [], "something happened where nothing was under way")

    def test_what_is_posted_happens_when_the_engine_next_looks(self) -> None:
        with self._drill() as drill:
            drill.world.post(ev.StopRequested(0, "interrupted", "an event"))
            drill.world.post(lambda now: ev.StopRequested(now, "interrupted", "made of the time"))
            drill.world.post(lambda now: [ev.StopRequested(now, "interrupted", "several")])
            happened = drill.look(drill.tell_time() + self.longest_wait)
            reasons = [event.why for event in happened if isinstance(event, ev.StopRequested)]
            expect(
                reasons == ["an event", "made of the time", "several"], f"what came was {reasons}"
            )

    def test_what_another_thread_posts_happens(self) -> None:
        with self._drill() as drill:
            stop = ev.StopRequested(0, "interrupted", "from a thread")
            other = Thread(target=drill.world.post, args=[stop])
            other.start()
            other.join()
            drill.look(drill.tell_time() + self.longest_wait)
            expect(drill.state.stopping is not None, "what was posted did not happen")

    def test_an_order_to_cancel_what_has_just_ended_is_ignored(self) -> None:
        with self._drill() as drill:
            machine = drill.machine(self.longest_wait)
            attempt = drill.start(QUICK[0], machine)
            drill.until(lambda: not drill.state.attempts, "the attempt did not end")
            drill.world.perform([ev.CancelOrdered(drill.tell_time(), attempt)])
            drill.look(drill.tell_time() + self.stay // 10)

    def test_orders_about_a_machine_that_is_gone_are_ignored(self) -> None:
        with self._drill() as drill:
            machine = drill.machine(self.stay)
            attempt = drill.start(SLOW[0], machine)
            self.pass_unseen(self.stay + self.stay // 2)
            drill.extend(machine, self.stay)
            drill.cancel(attempt)
            drill.start(QUICK[0], machine)
            drill.release(machine)
            drill.until(lambda: machine in drill.went_down, "the machine did not go down")
            expect(not drill.state.attempts, "attempts live on a machine that is gone")

    def test_outputs_are_settled_whatever_becomes_of_them(self) -> None:
        with self._drill() as drill:
            machine = drill.machine(self.longest_wait)
            for task in (QUICK[0], FAILING, QUICK[1]):
                drill.start(task, machine)
                drill.until(lambda: not drill.state.attempts, "an attempt did not end")
            drill.world.settle(QUICK[0], 1, "keep")
            drill.world.settle(FAILING, 2, "failure")
            drill.world.settle(QUICK[1], 3, "drop")

    def test_a_world_may_be_closed_at_any_time_and_twice(self) -> None:
        with self._drill() as drill:
            machine = drill.machine(self.longest_wait)
            drill.start(SLOW[0], machine)
            drill.world.close()

    def test_a_whole_run_ends_and_keeps_the_laws(self) -> None:
        scene = Scene(self.offer, tasks=self.bags[0], budget="100", run=_unique_name())
        policy = Policy(Fixed({self.offer.name: 2}), RandomPlacer(), NoReplicas())
        auditor = Auditor()
        for event in scene.events:
            auditor.saw(event, scene.state)
        world = self.make_world(scene.state)
        ended = Engine(scene.state, policy, world, observers=[auditor]).run()
        scene.state.check()
        expect(not scene.state.machines, "machines were left behind")
        expect(ended.status == "done", f"the run ended as {ended.status}: {ended.why}")

    @contextmanager
    def _drill(self) -> Iterator[_Drill]:
        scene = Scene(self.offer, run=_unique_name(), arrivals_open=True)
        for bag in self.bags:
            scene.tell(ev.WorkArrived(0, Work(bag)))
        scene.tell(ev.ArrivalsEnded(0))
        world = self.make_world(scene.state)
        try:
            yield _Drill(scene, world, self.longest_wait)
        finally:
            world.close()


def _unique_name() -> str:
    """Worlds mark what they start with the name of their run; no two may share it."""
    return f"contract-{uuid.uuid4().hex[:8]}"


class _Drill:
    """A world driven by hand; what it tells is treated as the engine does."""

    def __init__(self, scene: Scene, world: World, longest_wait: Time) -> None:
        self.scene = scene
        self.state = scene.state
        self.world = world
        self.came_up: set[int] = set()
        self.went_down: dict[int, ev.MachineDown] = {}
        self._longest_wait = longest_wait
        self._now = world.now()

    # --- looking ---------------------------------------------------------------------------------

    def look(self, until: Time | None) -> Sequence[ev.AnyEvent]:
        happened = [event for event in self.world.wait(until) if self._hear(event)]
        self.tell_time()
        return happened

    def until(self, holds: Callable[[], bool], complaint: str, end: Time | None = None) -> None:
        """Look on until something holds; complain if that takes longer than `longest_wait`."""
        last = self.tell_time() + self._longest_wait
        while not holds():
            expect(self.tell_time() < last, complaint)
            self.look(last if end is None else end)

    def tell_time(self) -> Time:
        now = self.world.now()
        expect(self._now <= now, f"time ran back from {self._now} to {now}")
        self._now = now
        return now

    def _hear(self, event: ev.AnyEvent) -> bool:
        """Whether the event was news; time and state verify that it can be true."""
        if not self.state.expects(event):
            return False
        expect(event.at <= self.world.now(), f"it has not happened yet: {event}")
        self.scene.tell(event)
        if isinstance(event, ev.MachineUp):
            self.came_up.add(event.machine)
        if isinstance(event, ev.MachineDown):
            self.went_down[event.machine] = event
        return True

    def booting(self) -> list[int]:
        return [machine.id for machine in self.state.machines.values() if machine.up is None]

    def outcome(self, attempt: int) -> str:
        return OUTCOMES[self.state.log.outcome[attempt]]

    def lease_ends(self, machine: int) -> Time:
        return next(
            event.until
            for event in reversed(self.scene.events)
            if isinstance(event, ev.MachineRented | ev.LeaseExtended) and event.machine == machine
        )

    # --- deciding; what is gone, as far as one knows, is not decided about -----------------------

    def rent(self, stay: Time) -> int:
        now, number = self.tell_time(), self.state.machines_rented + 1
        name = self.state.market.offers[0].name
        self._do(ev.MachineRented(now, number, name, now + stay))
        return number

    def machine(self, stay: Time) -> int:
        """A machine that is up, unless it is down already."""
        number = self.rent(stay)
        self.until(lambda: number not in self.booting(), "the machine did not come up")
        return number

    def extend(self, machine: int, stay: Time) -> None:
        if machine in self.state.machines:
            until = self.state.machines[machine].until + stay
            self._do(ev.LeaseExtended(self.tell_time(), machine, until))

    def release(self, machine: int) -> None:
        if machine in self.state.machines:
            self._do(ev.ReleaseOrdered(self.tell_time(), machine))

    def start(self, task: int, machine: int) -> int:
        attempt = len(self.state.log) + 1
        if machine in self.state.machines:
            self._do(ev.AttemptStarted(self.tell_time(), attempt, task, machine))
        return attempt

    def cancel(self, attempt: int) -> None:
        if attempt in self.state.attempts:
            self._do(ev.CancelOrdered(self.tell_time(), attempt))

    def _do(self, decision: ev.Decision) -> None:
        self.scene.tell(decision)
        self.world.perform([decision])
