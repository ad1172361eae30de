"""A simulated run that is kept as a run: its journal can be looked at like that of a real one."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence

from msgspec.structs import replace

from bursar.journal.recorder import Recorder
from bursar.journal.runs import Home, RunDir
from bursar.journal.writer import JournalWriter
from bursar.model.time import Time, seconds
from bursar.model.work import Work
from bursar.runs.faults import Faults
from bursar.runs.request import Request
from bursar.runs.study import Subject, by_engine
from bursar.state import events as ev
from bursar.state.state import RunState


class KeptJournal:
    """Writes what a simulated run records, under the name of a run of this home.

    The simulation has a state of its own; this one is for the digest and for checkpoints.
    """

    def __init__(
        self, writer: JournalWriter, run: str, request: Request, moments: Sequence[Time] = ()
    ) -> None:
        self._state = RunState()
        self._recorder = Recorder(writer, self._state)
        self._run, self._request = run, request
        self._moments = deque(moments)
        """ascending, at which a forecast is made"""
        self._works: list[Work] = []

    def append(self, event: ev.AnyEvent) -> None:
        while self._moments and self._moments[0] < event.at:
            self._forecast(self._moments.popleft())
        if isinstance(event, ev.RunCreated):
            event = replace(
                event,
                run=self._run,
                policies=dict(self._request.all_policies()),
                options=replace(self._request.options(), is_simulated=True),
                began=time.time(),
            )
        elif isinstance(event, ev.WorkArrived):
            self._works.append(event.work)
        self._record(event)

    def _forecast(self, now: Time) -> None:
        from bursar.runs.forecasting import forecast  # late: it brings numpy

        state = self._state
        works = dict(zip(state.work.events, self._works, strict=True))
        made = forecast(state, now, works.__getitem__)
        if made is not None:
            self._record(made)

    def _record(self, event: ev.AnyEvent) -> None:
        self._recorder.append(event)
        self._state.apply(event)

    def commit(self, *, safely: bool) -> None:
        self._recorder.commit(safely=False)  # no money moves here

    def close(self) -> None:
        self._recorder.close()


def keep_simulation(
    home: Home, name: str, subject: Subject, faults: Faults, seed: int, forecasts: int = 0
) -> RunDir:
    """Simulate the run of a seed once more, and keep its journal, with forecasts on the way."""
    end = by_engine(subject, faults, seed).makespan_s if forecasts else 0.0
    moments = [seconds(end * n / (forecasts + 1)) for n in range(1, forecasts + 1)]
    run = home.create(name)
    with run.acquire(), JournalWriter.create(run.journal, name) as writer:
        journal = KeptJournal(writer, name, subject.request, moments)
        by_engine(subject, faults, seed, journal)
        journal.commit(safely=False)
        journal.close()
    return run
