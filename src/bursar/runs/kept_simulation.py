"""A simulated run that is kept as a run: its journal can be looked at like that of a real one."""

from __future__ import annotations

import time

from msgspec.structs import replace

from bursar.journal.recorder import Recorder
from bursar.journal.runs import Home, RunDir
from bursar.journal.writer import JournalWriter
from bursar.runs.faults import Faults
from bursar.runs.study import Subject, by_engine
from bursar.state import events as ev
from bursar.state.state import RunState


class KeptJournal:
    """Writes what a simulated run records, under the name of a run of this home.

    The simulation has a state of its own; this one is for the digest and for checkpoints.
    """

    def __init__(self, writer: JournalWriter, run: str, policies: dict[str, str]) -> None:
        self._state = RunState()
        self._recorder = Recorder(writer, self._state)
        self._run, self._policies = run, policies

    def append(self, event: ev.AnyEvent) -> None:
        if isinstance(event, ev.RunCreated):
            event = replace(event, run=self._run, policies=self._policies, began=time.time())
        self._recorder.append(event)
        self._state.apply(event)

    def commit(self, *, safely: bool) -> None:
        self._recorder.commit(safely=False)  # no money moves here

    def close(self) -> None:
        self._recorder.close()


def keep_simulation(home: Home, name: str, subject: Subject, faults: Faults, seed: int) -> RunDir:
    """Simulate the run of a seed once more, and keep its journal."""
    run = home.create(name)
    with run.acquire(), JournalWriter.create(run.journal, name) as writer:
        journal = KeptJournal(writer, name, dict(subject.request.all_policies()))
        by_engine(subject, faults, seed, journal)
        journal.commit(safely=False)
        journal.close()
    return run
