"""The world of a real run: which renter gets its machines, which runner executes attempts."""

from __future__ import annotations

from pathlib import Path

from bursar.execute.calls import Calls
from bursar.execute.clock import RunClock
from bursar.execute.local import GRACE, LocalRunner
from bursar.execute.marks import mark_of
from bursar.execute.staging import Staging
from bursar.execute.world import RealWorld
from bursar.model.time import Time
from bursar.rent.emulated import EmulatedRenter, Losses
from bursar.state.state import RunState


def local_world(
    state: RunState,
    outputs: Path,
    *,
    clock: RunClock | None = None,
    mark: str | None = None,
    calls: Calls | None = None,
    grace: Time = GRACE,
    losses: Losses | None = None,
    staging: Staging | None = None,
) -> RealWorld:
    """This computer: an emulated market, and processes under a warden.

    Without a clock, time goes on from the state's; `mark` is what the processes of the run carry.
    """
    clock = clock or RunClock(state.now, None)
    mark = mark or mark_of(state)
    runner = LocalRunner(
        state.run,
        outputs,
        clock,
        mark,
        calls=calls,
        timeout=state.limits.timeout,
        grace=grace,
        staging=staging,
    )
    return RealWorld(state, EmulatedRenter(clock.now, losses), runner, clock, mark)
