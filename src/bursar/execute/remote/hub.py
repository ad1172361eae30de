"""Speaks to all machines of a run at once: an event loop in a thread of its own.

The runner's thread gives orders and takes reports; nothing else crosses.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from bursar.execute.processes import boottime
from bursar.execute.remote import messages as m
from bursar.execute.remote.clusters import Cluster, FoundWorker
from bursar.execute.remote.machine_link import AnySent, MachineError, MachineLink
from bursar.execute.reports import AttemptReport, JoinedReport, LineReport, MachineReport
from bursar.model.errors import BursarError
from bursar.model.time import SECOND

LOOK_EVERY: Final = 0.3
"""seconds between questions to the scheduler while somebody looks for its worker"""
LOOK_PATIENCE: Final = 30
"""seconds for the scheduler to answer, and to be started again where it was killed"""
RETRY: Final = 0.3
"""seconds before a line is opened again"""
LOST_AFTER: Final = 60 * SECOND
"""A machine that does not answer for so long is lost."""
LEAVE_PATIENCE: Final = 10 * SECOND
"""for a machine that is to end, and does not answer"""
CONFIRM_PATIENCE: Final = 2.0
"""seconds to tell a machine that its end was heard"""

Told = m.AttemptOver | MachineReport | JoinedReport | AttemptReport | LineReport | BaseException
"""what the runner's thread gets: of an attempt, as the machine why it"""


class Hub:
    """`tell` is called in the hub's thread."""

    def __init__(
        self,
        cluster: Cluster,
        session: str,
        outputs: Path,
        start: Callable[[MachineLink], bytes],
        opening: Sequence[AnySent],
        tell: Callable[[int, Told], None],
    ) -> None:
        self._cluster = cluster
        self._session = session
        self._outputs = outputs
        self._start = start
        """how to start the agent of a machine"""
        self._opening = opening
        self._tell = tell
        self._links: dict[int, MachineLink] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        """of machines that are not over"""
        self._ending: set[asyncio.Task[None]] = set()
        """of the others: they confirm that this was heard"""
        self._leaving: dict[int, int] = {}
        """machines that were to end, and since when"""
        self._workers: Sequence[FoundWorker] = ()
        self._taken: dict[str, int] = {}
        """addresses of workers that machines have, and how many: two may share one on their host"""
        self._looked = asyncio.Event()
        self._seekers = 0
        self._cut: set[int] = set()
        """machines that joined and do not answer; 0: the scheduler"""
        self._starts = 0
        """how many schedulers the cluster had when it was last asked"""
        self.scheduler_error = ""
        """why nobody could tell who is there, the last time it was asked"""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="bursar-hub", daemon=True)
        self._thread.start()

    def do(self, what: Callable[[], object]) -> None:
        """Let the loop do it; from any thread."""
        with suppress(RuntimeError):  # it is closed
            self._loop.call_soon_threadsafe(what)

    def close(self) -> None:
        """End the conversation; the machines were ended before, or end with their leases."""
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._shut(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._keepers = [self._loop.create_task(one) for one in (self._look(), self._watch())]
        self._loop.run_forever()

    async def _shut(self) -> None:
        if self._ending:
            await asyncio.wait(self._ending, timeout=CONFIRM_PATIENCE)
        tasks = [*self._tasks.values(), *self._ending, *self._keepers]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with suppress(Exception):
            await asyncio.wait_for(self._cluster.close(), 10)

    # --- orders, in the loop ---------------------------------------------------------------------

    def join(self, link: MachineLink) -> None:
        link.prepare(list(self._opening))
        self._links[link.machine] = link
        self._tasks[link.machine] = self._loop.create_task(self._serve(link))

    def order(self, machine: int, orders: Sequence[AnySent]) -> None:
        link = self._links.get(machine)
        if link is not None:
            for order in orders:
                link.push(order)

    def lease(self, machine: int, until: int) -> None:
        link = self._links.get(machine)
        if link is not None and boottime() <= link.until:
            link.lease(until)

    def leave(self, machine: int, *, at_once: bool) -> None:
        link = self._links.get(machine)
        if link is None:
            return
        if link.heard is None:
            self._over(link, "released", boottime(), "")
            return
        self._leaving.setdefault(machine, boottime())
        link.push(m.EndMachine(at_once))

    # --- lines -----------------------------------------------------------------------------------

    async def _serve(self, link: MachineLink) -> None:
        """Find the machine's worker, speak to it, and find it again when the line is cut."""
        why, seen = "", ""
        while not link.is_over:
            try:
                await self._speak(link)
            except MachineError as error:
                if str(error).startswith(m.NO_AGENT) and not link.has_joined:
                    why = str(error)  # it may be about to begin
                else:
                    cause = "released" if link.machine in self._leaving else "lost"
                    self._over(link, cause, boottime(), _plainly(str(error)))
            except BursarError as error:
                self._tell(link.machine, error)
                return
            except asyncio.CancelledError:
                raise
            except Exception as error:  # whatever a cut line looks like
                why = f"{type(error).__name__}: {error}"
                seen = "no answer in time" if isinstance(error, TimeoutError) else "its line broke"
            link.last_error = why
            if link.has_joined and not link.is_over:
                self._line_is_cut(link.machine, seen)
            await asyncio.sleep(RETRY)

    async def _speak(self, link: MachineLink) -> None:
        worker = await self._find(link)
        self._take(link, worker)
        line = self._cluster.connect(worker.address)
        start = self._start(link) if self._cluster.starts_agents and not link.has_joined else b""
        try:
            await link.converse(line, self._cluster.handler, start)
        finally:
            await line.close_rpc()

    def _take(self, link: MachineLink, worker: FoundWorker) -> None:
        """A machine that is not over has this worker now, and no other."""
        if not link.is_over:
            self._leave_worker(link)
            self._taken[worker.address] = self._taken.get(worker.address, 0) + 1
        link.worker = worker

    def _leave_worker(self, link: MachineLink) -> None:
        if link.worker is None:
            return
        address = link.worker.address
        self._taken[address] -= 1
        if not self._taken[address]:
            del self._taken[address]

    async def _find(self, link: MachineLink) -> FoundWorker:
        """Wait until the scheduler knows its worker."""
        self._seekers += 1
        try:
            while True:
                self._looked.clear()
                await self._looked.wait()
                wanted = link.wanted._replace(before=link.worker)
                found = self._cluster.choose(wanted, self._workers, self._taken)
                if found is not None:
                    return found
        finally:
            self._seekers -= 1

    async def _look(self) -> None:
        """Ask the scheduler who is there, while somebody wants to know."""
        while True:
            if self._seekers:
                try:
                    self._workers = await asyncio.wait_for(self._cluster.workers(), LOOK_PATIENCE)
                    self._scheduler_answered(self._cluster.starts)
                    self._looked.set()
                except BursarError as error:
                    self._tell(0, error)
                    return
                except Exception as error:  # the scheduler is not there, or no more
                    self.scheduler_error = f"{type(error).__name__}: {error}"
                    self._line_is_cut(0, self.scheduler_error)
                else:
                    self.scheduler_error = ""
            await asyncio.sleep(LOOK_EVERY)

    async def _watch(self) -> None:
        """Machines that do not answer are over when their lease is, or sooner."""
        while True:
            now = boottime()
            for link in list(self._links.values()):
                since = self._leaving.get(link.machine)
                if link.is_connected:
                    self._line_is_there(link.machine)
                if now > link.until + m.EXPIRY_SLACK:
                    why = "" if link.has_joined else self._silence(link)
                    self._over(link, "expired", link.until, why)
                elif since is not None and now - since > self._leave_patience(link):
                    self._over(link, "released", now, "")
                elif link.heard is not None and now - link.heard > LOST_AFTER:
                    self._over(link, "lost", now, self._silence(link))
            await asyncio.sleep(0.25)

    def _scheduler_answered(self, starts: int) -> None:
        """Tell also of one that was replaced before anybody missed it."""
        if self._starts and starts != self._starts:
            self._line_is_cut(0, "it ended, and another was started")
        self._starts = starts
        self._line_is_there(0)

    def _line_is_cut(self, machine: int, why: str) -> None:
        if machine not in self._cut:
            self._cut.add(machine)
            self._tell(machine, LineReport(machine, True, why))

    def _line_is_there(self, machine: int) -> None:
        if machine in self._cut:
            self._cut.discard(machine)
            self._tell(machine, LineReport(machine, False))

    def _silence(self, link: MachineLink) -> str:
        """Why nothing was heard of a machine, as far as that is known."""
        if self.scheduler_error:
            why = f"the Dask scheduler does not answer ({self.scheduler_error})"
        elif link.last_error:
            why = _plainly(link.last_error)
        else:
            why = "its Dask worker is gone" if link.has_joined else "it has no Dask worker"
        since = f"for {LOST_AFTER // SECOND} s" if link.has_joined else "at all"
        return f"it has not answered {since}: {why}"

    def _leave_patience(self, link: MachineLink) -> int:
        """Whose line is cut was perhaps ended by its renter, and will not answer."""
        return LEAVE_PATIENCE if link.is_connected else LEAVE_PATIENCE // 5

    # --- reports, in the loop --------------------------------------------------------------------

    def hear(self, link: MachineLink, report: m.AnyReport | None) -> None:
        if report is None:
            self._tell(link.machine, JoinedReport(link.machine))
        elif isinstance(report, m.MachineOver):
            at = min(link.their_time(report.at), link.until)
            self._over(link, report.cause, at, report.why)
        elif isinstance(report, m.FilesFailed):
            self._tell(link.machine, MachineFilesError(f"machine {link.machine}: {report.why}"))
        else:
            self._tell(link.machine, report)

    def _over(self, link: MachineLink, cause: Any, at: int, why: str) -> None:
        if link.is_over:
            return
        self._leave_worker(link)
        link.is_over = True
        del self._links[link.machine]
        self._cut.discard(link.machine)
        self._leaving.pop(link.machine, None)
        task = self._tasks.pop(link.machine)
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        self._loop.call_later(CONFIRM_PATIENCE, task.cancel)
        self._tell(link.machine, MachineReport(link.machine, cause, at, why))


class MachineFilesError(BursarError):
    """A machine that cannot get at the files of the run."""

    exit_code = 1


def _plainly(error: str) -> str:
    if error.startswith(m.NO_AGENT):
        return "its agent has ended"
    return error
