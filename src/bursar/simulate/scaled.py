"""A workload whose fleet follows demand: who ran what, when and where.

The engine runs any autoscaler with any placer, several accounts, boots and billing units. Where
that is the same, tasks are placed by the compiled loop between the moments at which the autoscaler
is asked (`placing_world`). What is kept of a run is what metrics need, in arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.engine.roles import Policy
from bursar.model.goal import Goal
from bursar.model.market import Market
from bursar.model.time import Time
from bursar.model.workload import Workload
from bursar.model.workload_arrays import WorkloadArrays
from bursar.simulate.faults import ModelledBehaviour, Runtimes, given, with_transfers
from bursar.simulate.placing_world import MakeWorld, compiled_placing, why_not_compiled
from bursar.simulate.run import simulate
from bursar.simulate.workload_schedule import WorkloadSchedule
from bursar.simulate.world import Behaviour, SimulatedWorld
from bursar.state import events as ev
from bursar.state.state import RunState

Longs = NDArray[np.int64]
NEVER = 1 << 62


class MachineStay(msgspec.Struct, frozen=True):
    """A machine from when it was rented to when it was gone."""

    offer: str
    account: str
    rented: Time
    up: Time | None
    """when tasks could begin on it; None: it was gone before"""
    down: Time


class ScaledRun(msgspec.Struct, frozen=True, eq=False):
    """What became of every task, and which machines there were."""

    schedule: WorkloadSchedule
    """the attempt of each task that counts; machines are numbered as `stays` are"""
    eligible: Longs
    """by task, when it could have begun; NEVER: something that it needs was not done"""
    attempts: tuple[Longs, Longs]
    """begin and end of all attempts, also of those that were lost with their machines"""
    stays: tuple[MachineStay, ...]
    """by the number of the machine, from 0"""
    decisions: tuple[ev.ScaleDecided, ...]
    state: RunState
    """at the end of the run"""


class StayLog:
    """Observes when machines come and go, and what autoscalers decide."""

    def __init__(self) -> None:
        self.stays: dict[int, MachineStay] = {}
        """by machine"""
        self.decisions: list[ev.ScaleDecided] = []

    def saw(self, event: ev.AnyEvent, state: RunState) -> None:
        if type(event) is ev.MachineRented:
            stay = MachineStay(event.offer, event.account, event.at, None, NEVER)
            self.stays[event.machine] = stay
        elif type(event) is ev.MachineUp:
            self._change(event.machine, up=event.at)
        elif type(event) is ev.MachineDown:
            self._change(event.machine, down=event.at if event.ended is None else event.ended)
        elif type(event) is ev.ScaleDecided:
            self.decisions.append(event)

    def _change(self, machine: int, **times: Time) -> None:
        self.stays[machine] = msgspec.structs.replace(self.stays[machine], **times)


def run_scaled(
    workload: Workload,
    market: Market,
    goal: Goal,
    policy: Policy,
    *,
    runtimes: Runtimes | None = None,
    behaviour: Callable[[Runtimes], Behaviour] | None = None,
    seed: int = 0,
    by_engine: bool = False,
) -> ScaledRun:
    """Simulate a workload to its end; without `runtimes`, tasks take theirs by an offer's speed.

    Transfers of files, if the workload has a bandwidth, come on top. `behaviour` tells what may go
    wrong with attempts of such run times; without it nothing does. With `by_engine` nothing is
    compiled, though all comes out the same.
    """
    arrays, log = workload.arrays, StayLog()
    alone = runtimes or given(arrays.runtimes.tolist())
    is_plain = runtimes is None and behaviour is None and not by_engine
    make_world: MakeWorld = SimulatedWorld
    if is_plain and not why_not_compiled(workload, market, goal, policy):
        policy, make_world = compiled_placing(workload, market, policy)
    state = simulate(
        market,
        goal,
        [ev.WorkArrived(one.at, one.work) for one in workload.arrivals],
        policy,
        (behaviour or ModelledBehaviour)(with_transfers(alone, arrays.transfers.tolist())),
        seed=seed,
        observers=[log],
        make_world=make_world,
    )
    schedule = _schedule_of(state, len(arrays))
    return ScaledRun(
        schedule=schedule,
        eligible=eligible_times(arrays, schedule.end),
        attempts=_attempts_of(state),
        stays=tuple(log.stays[number] for number in sorted(log.stays)),
        decisions=tuple(log.decisions),
        state=state,
    )


def _schedule_of(state: RunState, tasks: int) -> WorkloadSchedule:
    winners = np.array(state.winners[1 : tasks + 1], np.int64)
    done = winners > 0
    columns = (state.log.started, state.log.ended, state.log.machine)
    start, end, machine = (np.array(one, np.int64)[winners] for one in columns)
    return WorkloadSchedule(
        np.where(done, start, -1),
        np.where(done, end, -1),
        np.where(done, machine - 1, -1).astype(np.int32),
        bool(done.all()),
    )


def _attempts_of(state: RunState) -> tuple[Longs, Longs]:
    """An attempt that waited at a busy machine, and never began, takes no time."""
    begin, end = (np.array(one[1:], np.int64) for one in (state.log.started, state.log.ended))
    return begin, np.maximum(begin, end)


def eligible_times(arrays: WorkloadArrays, ends: Longs) -> Longs:
    """By task, when the last of those that it needs was done; the arrival, if it needs none."""
    found: Longs = arrays.arrived[arrays.work].astype(np.int64)
    done = np.where(ends < 0, NEVER, ends)
    np.maximum.at(found, arrays.parents.rows(), done[arrays.parents.items])
    return found


def counted_at(moments: Longs, begins: Longs, ends: Longs) -> Longs:
    """How many spans, each from its begin up to its end, hold each of the moments."""
    begun = np.searchsorted(np.sort(begins), moments, side="right")
    over = np.searchsorted(np.sort(ends), moments, side="right")
    found: Longs = begun - over
    return found


def demand_at(moments: Longs, eligible: Longs, ends: Longs, counted: NDArray[np.bool_]) -> Longs:
    """Tasks that could use a machine at each moment: eligible and not done."""
    could = counted & (eligible < NEVER)
    return counted_at(moments, eligible[could], np.where(ends < 0, NEVER, ends)[could])


def supply_at(
    moments: Longs, stays: Sequence[MachineStay], market: Market, account: str | None = None
) -> Longs:
    """Slots of machines that are up at each moment, of all accounts or of one."""
    found: Longs = np.zeros(len(moments), np.int64)
    for offer in market.offers:
        spans = [
            (stay.up, stay.down)
            for stay in stays
            if stay.offer == offer.name
            and stay.up is not None
            and (account is None or stay.account == account)
        ]
        if spans:
            begins, ends = np.array(spans, np.int64).T
            found += offer.slots * counted_at(moments, begins, ends)
    return found
