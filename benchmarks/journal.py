"""A journal of a million tasks: what a list of runs and a resumption take.

The events are those of a run on a hundred machines, in which one task in a thousand fails. Time is
that of the processor, which others at work do not change.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from unittest.mock import patch

from benchmarks.measure import Goal, Line, Result

if TYPE_CHECKING:
    from bursar.state.events import AnyEvent

TASKS = 1_000_000
MACHINES = 100
STOPPED_EARLY = 50
FAILING = 1_000
"""one task in this many fails"""
FAILED = (TASKS - STOPPED_EARLY) // FAILING
DONE = TASKS - STOPPED_EARLY - FAILED
OTHERS = ("placer", "replicator")
MOST_STATUS_S = 0.05
MOST_RESUME_S = 10.0
MOST_SHARE = 0.05
MOST_STALL_S = 0.1


def measure(rounds: int) -> Result:
    with TemporaryDirectory(prefix="bursar-") as directory:
        path = Path(directory) / "big" / "journal.db"
        path.parent.mkdir()
        written = _in_process("write", path)
        status = min(_in_process("status", path)["seconds"] for _ in range(rounds))
        resume = min(_in_process("resume", path)["seconds"] for _ in range(rounds))
        learn = min(_in_process("learn", path)["seconds"] for _ in range(rounds))
        replay = _in_process("replay", path)["seconds"]
    share = written["checkpoints"] / written["seconds"]
    return Result(
        title=f"a journal of {TASKS:,} tasks",
        lines=[
            Line("to write", written["seconds"], "s", f"{written['megabytes']:,.0f} MB"),
            Line("checkpoints", written["checkpoints"], "s", f"{written['count']:.0f} of them"),
            Line("the longest stall", 1000 * written["stall"], "ms", "of a run, by a checkpoint"),
            Line("bursar status RUN", 1000 * status, "ms", f"{FAILED:,} tasks failed"),
            Line("to resume", resume, "s", "the state, every event checked"),
            Line("to resume, learning", learn, "s", "the same, entries of bats included"),
            Line("from the first event", replay, "s", "without checkpoints"),
        ],
        goals=[
            Goal("bursar status RUN", status, "<=", MOST_STATUS_S, "s"),
            Goal("to resume", resume, "<=", MOST_RESUME_S, "s"),
            Goal("to resume, learning", learn, "<=", MOST_RESUME_S, "s"),
            Goal("the longest stall", written["stall"], "<=", MOST_STALL_S, "s"),
            Goal("checkpoints", share, "<=", MOST_SHARE, "of the time"),
        ],
    )


def _in_process(what: str, path: Path) -> dict[str, float]:
    words = [sys.executable, "-m", __name__, what, str(path)]
    found = subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout
    return {name: float(value) for name, value in json.loads(found).items()}


def _run() -> Iterator[AnyEvent]:
    """The events of a bag on machines that are never idle; at the end some tasks are left."""
    from heapq import heappop, heappush
    from random import Random

    from bursar.model.goal import Goal as RunGoal
    from bursar.model.goal import Limits
    from bursar.model.market import Market, Offer
    from bursar.model.money import Money
    from bursar.model.time import HOUR
    from bursar.model.work import Work, make_bag
    from bursar.state import events as ev

    rng = Random(1)
    market = Market("USD", "2026-01-01", (Offer("small", Money.parse("0.10")),))
    policies = {"provisioner": "fixed", "placer": "random", "replicator": "none"}
    yield ev.RunCreated(0, "big", market, RunGoal(), Limits(), 1, policies, {}, 0.0)
    rows = [[f"{number}.5"] for number in range(TASKS)]
    yield ev.WorkArrived(0, Work(make_bag(["fit", "--alpha", "{}"], rows)))
    yield ev.ArrivalsEnded(0)
    under_way: list[tuple[int, int, int]] = []
    for machine in range(1, MACHINES + 1):
        yield ev.MachineRented(0, machine, "small", 1_000_000 * HOUR, "to fill the fleet")
        yield ev.MachineUp(0, machine)
        heappush(under_way, (0, 0, machine))
    task = 0
    while under_way:
        now, attempt, machine = heappop(under_way)
        if attempt:
            failed = attempt % FAILING == 0
            yield ev.AttemptEnded(
                *(now, attempt, "failed" if failed else "success"),
                *(1_000_000, 1 if failed else 0, 900_000, 12_345_678),
                "fit: does not converge" if failed else "",
            )
        if task < TASKS - STOPPED_EARLY:
            task += 1
            yield ev.AttemptStarted(now, task, task, machine)
            heappush(under_way, (now + 1 + round(rng.expovariate(1e-7)), task, machine))


def _write(path: Path) -> dict[str, float]:
    from bursar.journal import recorder
    from bursar.journal.checkpoints import Checkpoint, checkpoint_of, write_checkpoint
    from bursar.journal.writer import JournalWriter
    from bursar.state.state import RunState

    stalls: list[float] = []
    writes: list[float] = []

    def stall(state: RunState, crc: int) -> Checkpoint:
        began = time.thread_time()
        made = checkpoint_of(state, crc)
        stalls.append(time.thread_time() - began)
        return made

    def write(journal: Path, made: Checkpoint) -> None:
        began = time.thread_time()
        write_checkpoint(journal, made)
        writes.append(time.thread_time() - began)

    began = time.process_time()
    with (
        patch.object(recorder, "checkpoint_of", stall),
        patch.object(recorder, "write_checkpoint", write),
        JournalWriter.create(path, "big") as writer,
    ):
        journal = recorder.Recorder(writer, state := RunState())
        for number, event in enumerate(_run(), 1):
            journal.append(event)
            state.apply(event)
            if not number % 20:
                journal.commit(safely=False)
        journal.commit(safely=True)
        journal.close()
    return {
        "seconds": time.process_time() - began,
        "megabytes": path.stat().st_size / 1e6,
        "checkpoints": sum(stalls) + sum(writes),
        "stall": max(stalls),
        "count": len(stalls),
    }


def _status(path: Path) -> dict[str, float]:
    """The whole command, but for starting Python and imports."""
    from click.testing import CliRunner

    from bursar.cli.status import command
    from bursar.journal.replay import load_digest

    environment = {"BURSAR_HOME": str(path.parent.parent)}
    began = time.process_time()
    shown = CliRunner().invoke(command, [path.parent.name], env=environment)
    seconds = time.process_time() - began
    digest = load_digest(path)
    if shown.exit_code or digest.done != DONE or "does not converge" not in shown.output:
        raise SystemExit(f"{digest.done:,} tasks are done, and this is shown:\n{shown.output}")
    return {"seconds": seconds}


def _resume(path: Path) -> dict[str, float]:
    from bursar.journal.replay import load_state

    began = time.process_time()
    state = load_state(path, verified=True)
    seconds = time.process_time() - began
    if len(state.ready) != STOPPED_EARLY:
        raise SystemExit(f"{len(state.ready):,} tasks are left")
    return {"seconds": seconds}


def _learn(path: Path) -> dict[str, float]:
    """The same, with a policy that learned from a million tasks before it was stopped."""
    from bursar.engine.learners import Learners
    from bursar.engine.roles import Policy
    from bursar.journal.replay import load_state
    from bursar.policies.presets import BATS
    from bursar.policies.registry import make_entry

    provisioner = make_entry("provisioner", BATS["provisioner"], {})
    others = (make_entry(role, BATS[role], {"provisioner": provisioner}) for role in OTHERS)
    learners = Learners(Policy(provisioner, *others))
    began = time.process_time()
    load_state(path, learners=learners, verified=True)
    seconds = time.process_time() - began
    learned = provisioner.progress.seen["small"].count
    if learned != DONE:
        raise SystemExit(f"learned from {learned:,} tasks only")
    return {"seconds": seconds}


def _replay(path: Path) -> dict[str, float]:
    for checkpoint in path.parent.glob("*.checkpoint*"):
        checkpoint.unlink()
    return _resume(path)


if __name__ == "__main__":
    parts = {
        "write": _write,
        "status": _status,
        "resume": _resume,
        "learn": _learn,
        "replay": _replay,
    }
    print(json.dumps(parts[sys.argv[1]](Path(sys.argv[2]))))
