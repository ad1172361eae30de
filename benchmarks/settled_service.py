"""A service that has settled a million tasks: the memory of all of it.

Engine, guard, an autoscaler, a placer that learns run times, a journal in a file and those who
watch it are those of `bursar serve`; the machines are simulated. Two users send workflows of a
hundred tasks, one after the other, each within a budget for every hour.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from benchmarks.measure import Goal, Line, Result

if TYPE_CHECKING:
    from bursar.model.goal import Goal as RunGoal
    from bursar.model.market import Market
    from bursar.model.work import Work
    from bursar.simulate.world import SimulatedWorld
    from bursar.state.events import AnyEvent
    from bursar.state.state import RunState

TASKS = 1_000_000
WORKS = 10_000
USERS = ("ann", "bob")
MOST_MB = 500.0


def measure(rounds: int) -> Result:
    del rounds  # memory does not vary
    with TemporaryDirectory(prefix="bursar-") as directory:
        words = [sys.executable, "-m", __name__, directory]
        shown = subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout
    found = {name: float(value) for name, value in json.loads(shown).items()}
    return Result(
        title=f"a service that has settled {TASKS:,} tasks of {WORKS:,} workflows",
        lines=[
            Line(
                "at the most", found["megabytes"], "MB", f"{found['first']:,.0f} MB after a tenth"
            ),
            Line("its journal", found["journal"], "MB", f"{found['events']:,.0f} events"),
        ],
        goals=[Goal("at the most", found["megabytes"], "<=", MOST_MB, "MB")],
    )


class Senders:
    """Observes the service; when a workflow has arrived, the next is on its way."""

    def __init__(self, world: SimulatedWorld) -> None:
        self._world = world
        self._sent = 0
        self.first = 0.0
        """memory in use at the most, when a tenth of the workflows had arrived"""

    def send(self, now: int) -> None:
        from bursar.model.time import SECOND
        from bursar.state import events as ev

        if self._sent == WORKS:
            self._world.schedule(ev.ArrivalsEnded(now))
            return
        self._sent += 1
        self._world.schedule(ev.WorkArrived(now + 20 * SECOND, _workflow(self._sent)))
        if self._sent == WORKS // 10:
            self.first = _megabytes()

    def saw(self, event: AnyEvent, state: RunState) -> None:
        from bursar.state import events as ev

        if isinstance(event, ev.WorkArrived):
            self.send(event.at)


def _workflow(number: int) -> Work:
    from bursar.model.work import Work
    from bursar.model.workflow import Workflow

    size = TASKS // WORKS
    flow = Workflow(
        name=f"flow-{number}",
        names=tuple(f"task_{number}_{task}" for task in range(size)),
        parents=((), *((task // 2,) for task in range(size - 1))),
        kind_names=("fit",),
        kinds=(0,) * size,
        commands=tuple(("./fit", "--alpha", f"{number}.{task}") for task in range(size)),
        runtimes=(10.0,) * size,
    )
    return Work(flow, owner=USERS[number % len(USERS)])


def _market() -> Market:
    from bursar.model.market import Market, Offer
    from bursar.model.money import Money
    from bursar.model.time import SECOND

    offers = (
        Offer("small", Money.parse("0.10"), boot=30 * SECOND, limit=200),
        Offer("large", Money.parse("0.40"), boot=30 * SECOND, limit=50, slots=4),
    )
    return Market("USD", "2026-01-01", offers)


def _run_goal() -> RunGoal:
    from bursar.model.goal import Account, Budget
    from bursar.model.goal import Goal as RunGoal
    from bursar.model.money import Money
    from bursar.model.time import HOUR

    budget = Budget(Money.parse("50"), HOUR)
    return RunGoal(accounts=tuple(Account(name, budget) for name in USERS))


def _serve(directory: Path) -> dict[str, float]:
    from bursar.engine.loop import Engine
    from bursar.engine.roles import Policy
    from bursar.journal.recorder import Recorder
    from bursar.journal.writer import JournalWriter
    from bursar.model.goal import Limits
    from bursar.model.time import SECOND
    from bursar.policies.registry import make_entry, make_placer
    from bursar.simulate.faults import ModelledBehaviour, drawn
    from bursar.simulate.world import SimulatedWorld
    from bursar.state import events as ev
    from bursar.state.state import RunState
    from bursar.web.service.feed import Feed

    market, goal, journal = _market(), _run_goal(), directory / "journal.db"
    runtimes = drawn(lambda rng: round(rng.expovariate(0.1) * SECOND), 1)
    provisioner = make_entry("provisioner", "react", {"market": market, "goal": goal})
    placer = make_placer("stretch", {"provisioner": provisioner}, len(USERS))
    policy = Policy(provisioner, placer, make_entry("replicator", "none", {}))
    state = RunState()
    with JournalWriter.create(journal, "service") as writer:
        recorder, feed = Recorder(writer, state), Feed()
        feed.begins(state, journal)
        recorder.tell(feed)
        world = SimulatedWorld(state, ModelledBehaviour(runtimes))
        senders = Senders(world)
        engine = Engine(state, policy, world, recorder, Random(1), [senders])
        engine.record(ev.RunCreated(0, "service", market, goal, Limits(), 1, {}, {}, 0.0))
        senders.send(0)
        engine.run()
        recorder.close()
    if state.done != TASKS:
        raise SystemExit(f"only {state.done:,} tasks are done")
    return {
        "megabytes": _megabytes(),
        "first": senders.first,
        "journal": journal.stat().st_size / 1e6,
        "events": state.events,
    }


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    print(json.dumps(_serve(Path(sys.argv[1]))))
