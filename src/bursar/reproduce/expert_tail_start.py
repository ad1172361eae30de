"""`expert-tail-start`: when the tail begins, in a real run and in estimates (ExPERT, section 6.3).

The fourth cause of deviations: the unreliable pool of a real run varies in size. So its tail is
taken to begin when there are more free hosts than remaining tasks, perhaps for a while only.
The simulated pool is fixed, and its tail begins when as many tasks remain as in the real run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Final

import msgspec

from bursar.model.time import SECOND, Time
from bursar.reproduce.expert_reality import EXPERIMENTS, Experiment, RealRun, execute
from bursar.reproduce.expert_table_5 import ASSUMED, OTHER_WAYS, PUBLISHED, Seer, Way, history_of
from bursar.reproduce.result import Reproduction, Row, between, checked, judged, same, shown_only
from bursar.state import events as ev
from bursar.state.state import RunState

COUNTED: Final = PUBLISHED[0]
BY_MACHINES: Final = OTHER_WAYS[0]
"""the same, but for the tail, which begins when fewer tasks remain than there are machines"""


class PoolWatch:
    """Follows the unreliable pool: its size, its free hosts, and the tasks without a result.

    A host is part of the pool from when it is up until it is taken away.
    """

    def __init__(self) -> None:
        self.sizes: list[int] = []
        """from when the pool was first full until the tail might begin"""
        self.first: Time | None = None
        """when there were first more free hosts than remaining tasks"""
        self.tail_tasks = 0
        self.is_transient = False
        """it was otherwise again before the last task had its result"""
        self._hosts: set[int] = set()
        self._most = 0

    def saw(self, event: ev.AnyEvent, state: RunState) -> None:
        match event:
            case ev.MachineUp():
                if state.machines[event.machine].offer.pool == "unreliable":
                    self._hosts.add(event.machine)
            case ev.MachineDown():
                if event.cause != "lost":
                    return  # given back: it could be had again
                self._hosts.discard(event.machine)
            case ev.AttemptStarted() | ev.AttemptEnded():
                pass
            case _:
                return
        self._look(state, event.at)

    def _look(self, state: RunState, now: Time) -> None:
        machines = (state.machines.get(host) for host in self._hosts)
        busy = sum(machine is not None and bool(machine.attempts) for machine in machines)
        remaining, free = state.total - state.done, len(self._hosts) - busy
        if self.first is None:
            if len(self._hosts) < self._most or self.sizes:
                self.sizes.append(len(self._hosts))
            self._most = max(self._most, len(self._hosts))
            if free > remaining:
                self.first, self.tail_tasks = now, remaining
        elif free <= remaining and remaining:
            self.is_transient = True


class Begun(msgspec.Struct, frozen=True):
    """How the tail of an experiment began; times in seconds."""

    experiment: Experiment
    run: RealRun
    watch: PoolWatch
    counted: float
    """by as many tasks as remained in the real run"""
    by_machines: float

    @property
    def real(self) -> float:
        return self.run.tail_start / SECOND


def begun(experiment: Experiment) -> Begun:
    """The seed is the experiment's number, as in `expert-table-5`."""
    watch = PoolWatch()
    run = execute(experiment, experiment.number, (watch,))
    seer = Seer(experiment, run, history_of(run, experiment.strategy), experiment.number)
    return Begun(experiment, run, watch, seer.tail_begins(COUNTED), seer.tail_begins(BY_MACHINES))


def reproduce(name: str, experiments: Sequence[Experiment] = EXPERIMENTS) -> Reproduction:
    found = [begun(one) for one in experiments]
    return Reproduction(
        name=name,
        title="When the tail begins: real runs beside estimates",
        source="ExPERT, section 6.3, cause 4",
        rows=(*summary_rows(found), *(row for one in found for row in _rows(one))),
        assumed=(
            *ASSUMED[:4],
            "real runs here take the tail to begin when fewer tasks remain than there are machines"
            " in the pool that was asked for (section 2.1); when free hosts are first more than"
            " remaining tasks is in the note",
            "offline, as published; deviations of tails by these estimates are in expert-table-5",
        ),
    )


def summary_rows(found: Sequence[Begun]) -> Iterator[Row]:
    every = len(found)
    varied = sum(len(set(one.watch.sizes)) > 1 for one in found)
    steady = [one.experiment.number for one in found if len(set(one.watch.sizes)) <= 1]
    yield same(
        "experiments in which the size of the pool varies",
        every,
        varied,
        why=f"none was taken away in {_listed(steady)}: OSG does not preempt (table 4), and in"
        " experiment 1 hardly anything fails",
    )
    transient = sum(one.watch.is_transient for one in found)
    yield judged(
        "experiments in which it is a transient state",
        "may be",
        transient,
        between(1, every, "said that it may be: in at least one"),
        why="hosts are never lost as fast as tasks end here",
    )
    counted, plain = (_mean_off(found, way) for way in (COUNTED, BY_MACHINES))
    yield checked(
        "begin of the tail: deviation by that with the number of machines",
        counted / plain,
        between(0, 1, "to count tail tasks is meant to lessen it"),
        note=f"means of {counted:.1f} and {plain:.1f} % of the real one",
        why="the effective size is that of the whole throughput phase, the real one at its end",
    )


def _listed(numbers: Sequence[int]) -> str:
    return f"experiments {', '.join(map(str, numbers))}"


def _mean_off(found: Sequence[Begun], way: Way) -> float:
    def begin(one: Begun) -> float:
        return one.counted if way == COUNTED else one.by_machines

    return fmean(abs(100 * (begin(one) / one.real - 1)) for one in found)


def _rows(one: Begun) -> Iterator[Row]:
    title, watch = f"experiment {one.experiment.number}", one.watch
    there = f"{min(watch.sizes)} to {max(watch.sizes)} there before" if watch.sizes else "all stay"
    note = f"{one.experiment.machines} machines asked for; {there}"
    yield shown_only(f"{title}: tail tasks", None, one.run.tail_tasks, note)
    free = "never" if watch.first is None else f"{watch.first / SECOND:,.0f} s"
    note = f"free hosts are more than remaining tasks from {free} on, {watch.tail_tasks} tasks"
    yield shown_only(f"{title}: the tail begins, real, s", None, round(one.real), note)
    note = f"{one.by_machines:,.0f} s with fewer tasks than machines"
    yield shown_only(f"{title}: the tail begins, estimated, s", None, round(one.counted), note)
