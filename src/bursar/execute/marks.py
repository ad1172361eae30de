"""The mark of a run, which its processes carry, so that what a crash left behind can be found."""

from __future__ import annotations

from pathlib import Path

from bursar.execute.processes import sweep as sweep_processes
from bursar.execute.processes import ward_of
from bursar.state.state import RunState


def mark_of(state: RunState, place: str = "") -> str:
    """What the processes of a run carry: its name, an id of its own, and where it lives.

    A copy of the run's directory has the same id, and another `place`.
    """
    created = state.created
    if created is None or not created.made_with.id:  # made by an earlier version
        return f"{state.run}@{0.0 if created is None else created.began!r}"
    return f"{state.run}@{created.made_with.id}@{place}"


def sweep(state: RunState, place: str = "") -> int:
    """Kill the processes that a crashed run left behind; to be called before it goes on."""
    return sweep_processes(mark_of(state, place))


def lives_elsewhere(state: RunState, place: str) -> bool:
    """Whether a copy of the run's directory, or its original, is being executed.

    Machines elsewhere that are on this computer carry the mark and their number.
    """
    created, mine = state.created, mark_of(state, place)
    if created is None or not created.made_with.id:
        return False
    others = f"{state.run}@{created.made_with.id}@"
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal())
    marks = ((ward_of(pid) or "").rpartition("/")[0] for pid in pids)
    return any(mark.startswith(others) and not f"{mark}/".startswith(f"{mine}/") for mark in marks)
