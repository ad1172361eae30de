"""A live run whose events a test writes by hand, and a server that has its page."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import contextmanager

from bursar.journal.recorder import Recorder
from bursar.journal.writer import JournalWriter
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, SECOND
from bursar.state import events as ev
from bursar.state.state import RunState
from bursar.web.listening import Listening
from bursar.web.page.app import Dashboard

SMALL = Offer("small", Money.parse("0.10"))
TOKEN = "a-token-of-tests"


class LiveRun:
    """A journal that is written while it is looked at; this process seems to execute the run."""

    def __init__(self, run, writer, began):
        self.run, self.state = run, RunState()
        self._began = began
        self._journal = Recorder(writer, self.state)

    @property
    def now(self):
        """The time of the run."""
        return max(self.state.now, round((time.time() - self._began) * SECOND))

    def tell(self, *events):
        for event in events:
            self._journal.append(event)
            self.state.apply(event)
        self._journal.commit(safely=False)

    def rent(self, offer="small", reason="to fill the fleet", account=""):
        """A machine that is up at once."""
        number, now = self.state.machines_rented + 1, self.now
        self.tell(
            ev.MachineRented(now, number, offer, now + HOUR, reason, account=account),
            ev.MachineUp(now, number),
        )
        return number

    def attempt(self, task, machine, outcome="success", why=""):
        """One that ends when it begins."""
        number, now = len(self.state.log) + 1, self.now
        code = 0 if outcome == "success" else 1
        self.tell(
            ev.AttemptStarted(now, number, task, machine),
            ev.AttemptEnded(now, number, outcome, SECOND, code, why=why),
        )

    def close(self):
        self._journal.close()


@contextmanager
def live_run(home, name="live", offers=(SMALL,), goal=None, began=None):
    """A new run that has not got any work yet."""
    run = home.create(name)
    began = time.time() if began is None else began
    with run.acquire(), JournalWriter.create(run.journal, name) as writer:
        live = LiveRun(run, writer, began)
        market, goal = Market("USD", "undated", offers), Goal() if goal is None else goal
        live.tell(ev.RunCreated(0, name, market, goal, Limits(0, None), 0, {}, {}, began))
        try:
            yield live
        finally:
            live.close()


@contextmanager
def served(home):
    """The dashboard of a home, in a thread of this process: its address."""
    listening = Listening()
    bound = listening.bind()
    server = listening.server(Dashboard(home, TOKEN).app(listening.allowed_hosts()))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[bound])))
    thread.start()
    try:
        yield listening.url(bound)
    finally:
        server.should_exit = server.force_exit = True
        thread.join()
