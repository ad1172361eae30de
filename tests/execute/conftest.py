"""A laboratory for the local world: real processes, decisions by hand or by the engine."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from bursar.engine.loop import Engine
from bursar.engine.roles import Policy
from bursar.execute.calls import Calls
from bursar.execute.processes import parent_of, ward_of
from bursar.execute.sentinel import NAME as SENTINEL
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO
from bursar.model.time import HOUR, SECOND, Time
from bursar.model.work import Bag, Work
from bursar.policies.registry import make_policy
from bursar.runs.worlds import local_world
from bursar.state import events as ev
from bursar.state.state import RunState

TIMEOUT = 20.0


class Census:
    """The living processes whose environment has an entry; this process is not meant."""

    def __init__(self, entry: str) -> None:
        self._entry = entry.encode()

    def all(self) -> list[int]:
        """All but sentinels."""
        return [pid for pid in self._found() if not _is_sentinel(pid)]

    def sentinels(self) -> list[int]:
        return [pid for pid in self._found() if _is_sentinel(pid)]

    def watchers(self) -> list[int]:
        """Wardens and their keepers."""
        return [pid for pid in self.all() if (ward_of(pid) or "").endswith("/warden")]

    def wardens(self) -> list[int]:
        watchers = self.watchers()
        return [pid for pid in watchers if parent_of(pid) in watchers]

    def keepers(self) -> list[int]:
        return sorted(set(self.watchers()) - set(self.wardens()))

    def others(self) -> list[int]:
        return sorted(set(self.all()) - set(self.watchers()))

    def settles(self, others: int) -> bool:
        """Whether there are so many before long: one that was just started is not seen at once."""
        return eventually(lambda: len(self.others()) == others)

    def _found(self) -> list[int]:
        numbers = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
        return [pid for pid in numbers if pid != os.getpid() and self._has(pid)]

    def _has(self, pid: int) -> bool:
        try:
            return self._entry in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            return False


def _is_sentinel(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/comm").read_bytes().strip() == SENTINEL
    except OSError:
        return False


def eventually(holds: Callable[[], bool], timeout: float = TIMEOUT) -> bool:
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.005)
    return holds()


@pytest.fixture(autouse=True)
def census(monkeypatch: pytest.MonkeyPatch) -> Iterator[Census]:
    """Of all that a test starts; nothing may survive the test."""
    value = uuid.uuid4().hex
    monkeypatch.setenv("BURSAR_TEST", value)
    taken = Census(f"BURSAR_TEST={value}")
    yield taken
    gone = eventually(lambda: not taken.all() and not taken.sentinels(), 3)
    assert gone, "a process survived"


class Lab:
    """A run whose decisions are made by a test, or by the engine."""

    def __init__(
        self,
        outputs: Path,
        tasks: Sequence[Sequence[str]] | int,
        *,
        calls: Calls | None = None,
        limits: Limits | None = None,
        grace: Time = SECOND // 2,
        boot: Time = 0,
        slots: int = 1,
        name: str = "lab",
        arrivals_end: bool = True,
    ) -> None:
        self.outputs = outputs
        self.state = RunState()
        offer = Offer("desk", ZERO, boot=boot, slots=slots, limit=4, speed=1.5)
        market = Market("USD", "undated", (offer,))
        limits = limits or Limits()
        self._tell(ev.RunCreated(0, name, market, Goal(), limits, 0, {}, {}, time.time()))
        if isinstance(tasks, int):
            self._tell(ev.WorkArrived(0, Work(Bag(tasks))))
        else:
            for task in tasks:
                self._tell(ev.WorkArrived(0, Work(Bag(1, tuple(task)))))
        if arrivals_end:
            self._tell(ev.ArrivalsEnded(0))
        self.world = local_world(self.state, outputs, calls=calls, grace=grace)

    def _tell(self, event: ev.AnyEvent) -> None:
        self.state.apply(event)

    # --- by the engine ---------------------------------------------------------------------------

    def run(self, machines: int = 1, policy: Policy | None = None) -> ev.RunEnded:
        fleet = {"provisioner": {"fleet": {"desk": machines}}}
        engine = Engine(self.state, policy or make_policy(options=fleet), self.world)
        ended = engine.run()
        self.state.check()
        return ended

    # --- by hand ---------------------------------------------------------------------------------

    def do(self, *decisions: ev.Decision) -> None:
        for decision in decisions:
            self._tell(decision)
        self.world.perform(decisions)

    def rent(self, stay: Time = HOUR) -> int:
        """A machine that is up."""
        number = self.state.machines_rented + 1
        now = self.world.now()
        self.do(ev.MachineRented(now, number, "desk", now + stay))
        self.await_one(ev.MachineUp)
        return number

    def start(self, task: int, machine: int) -> int:
        attempt = len(self.state.log) + 1
        self.do(ev.AttemptStarted(self.world.now(), attempt, task, machine))
        return attempt

    def cancel(self, attempt: int) -> None:
        self.do(ev.CancelOrdered(self.world.now(), attempt))

    def release(self, machine: int) -> None:
        self.do(ev.ReleaseOrdered(self.world.now(), machine))

    def await_one(self, kind: type[Any]) -> Any:
        """The next event of this kind; others before it are applied too."""
        end = self.world.now() + round(TIMEOUT * SECOND)
        while self.world.now() < end:
            happened = self.world.wait(end)
            for event in happened:
                self._tell(event)
            for event in happened:
                if isinstance(event, kind):
                    return event
        raise AssertionError(f"no {kind.__name__} came")


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Callable[..., Lab]]:
    """Makes laboratories, and closes them."""
    made: list[Lab] = []

    def make(tasks: Sequence[Sequence[str]] | int, **options: object) -> Lab:
        made.append(Lab(tmp_path / "out", tasks, **options))
        return made[-1]

    yield make
    for one in made:
        one.world.close()
