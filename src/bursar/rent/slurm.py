"""Machines of a Slurm cluster: each is a job whose only program is bursar's agent.

Slurm knows no idempotency, so a job's name and comment carry the machine's token, and it is looked
for before it is submitted. The time that it waits in the queue is the machine's boot time. A job
that is preempted is not requeued: bursar replaces it. The lease on the machine ends it, not Slurm's
limit, which counts whole minutes. The run's directory must be one that all nodes see.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, NamedTuple

from bursar.engine.renter import Down, FoundMachine, Refused, RenterNews, RentOrder, Up
from bursar.execute.local import GRACE
from bursar.execute.remote.clusters import OwnCluster
from bursar.execute.remote.dispatch import agent_config
from bursar.execute.remote.messages import encode
from bursar.execute.remote.places import name_of
from bursar.model.errors import BursarError
from bursar.model.market import Offer, Place
from bursar.model.time import SECOND, Time
from bursar.rent.hosts import MODULE

LEAD: Final[Time] = 15 * SECOND
"""to cancel a job and see it gone, while the controller is busy"""
PATIENCE: Final = 60.0
"""seconds for a command of Slurm, which tries for long to reach its controller"""
LOOK_EVERY: Final = 1.0
"""seconds between looks at the queue"""
CLOSING: Final = 30.0
"""seconds that jobs have to end"""
FORMAT: Final = "%i|%j|%T|%k"
ALIVE: Final = (
    "PENDING",
    "CONFIGURING",
    "RUNNING",
    "SUSPENDED",
    "STOPPED",
    "RESIZING",
    "SIGNALING",
)
RUNNING: Final = ("RUNNING", "SUSPENDED", "RESIZING", "SIGNALING")
_NOWHERE: Final = Place()


class SlurmError(BursarError):
    """A command of Slurm that failed, with what it said."""

    exit_code = 1


class SlurmJob(NamedTuple):
    """A job of ours, as the queue shows it."""

    id: str
    name: str
    state: str
    token: str


def job_name(mark: str, machine: int) -> str:
    return f"{job_prefix(mark)}{machine}"


def job_prefix(mark: str) -> str:
    return f"bursar-{name_of(mark)}-"


def run_slurm(*words: str, text: str = "") -> str:
    """What a command prints; SlurmError if it fails."""
    try:
        done = subprocess.run(
            words, input=text, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except FileNotFoundError:
        raise SlurmError(
            f"there is no {words[0]} here: run this where Slurm is installed"
        ) from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SlurmError(f"{words[0]}: {error}") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise SlurmError(lines[-1] if lines else f"{words[0]}: exit code {done.returncode}")
    return done.stdout


def queued_jobs() -> list[SlurmJob]:
    """All living jobs of this user that bursar submitted."""
    jobs = []
    for line in run_slurm("squeue", "--me", "--noheader", f"--format={FORMAT}").splitlines():
        id_, name, state, comment = line.split("|", 3)
        if name.startswith("bursar-") and state in ALIVE:
            jobs.append(SlurmJob(id_, name, state, comment))
    return jobs


class _RentedJob:
    """A machine that is not down."""

    def __init__(self, offer: Offer | None, until: Time, job: str = "") -> None:
        self.offer = offer
        self.until = until
        """0: of a machine that was found, and is not adopted yet"""
        self.job = job
        """its number; empty: it is being submitted"""
        self.is_up = False
        self.is_leaving = False


class SlurmRenter:
    """Slurm's commands run in threads, one of which looks at the queue; `poll` tells the news."""

    def __init__(
        self,
        run: str,
        mark: str,
        now: Callable[[], Time],
        cluster: OwnCluster,
        home: Path,
        *,
        timeout: Time | None = None,
        grace: Time = GRACE,
    ) -> None:
        self._run = run
        self._mark = mark
        self._now = now
        self._cluster = cluster
        self._home = home / "machines"
        self._timeout = timeout
        self._grace = grace
        self._machines: dict[int, _RentedJob] = {}
        self._lock = threading.RLock()
        """of these"""
        self._news: deque[RenterNews] = deque()
        self._wake: Callable[[], None] = lambda: None
        self._pool = ThreadPoolExecutor(4, "bursar-slurm")
        self._closing = threading.Event()
        self._look_now = threading.Event()
        self._watcher: threading.Thread | None = None

    def open(self, wake: Callable[[], None]) -> None:
        self._wake = wake

    def lead(self, offer: Offer) -> Time:
        return LEAD

    def rent(self, orders: Sequence[RentOrder]) -> None:
        self._watch()
        for order in orders:
            if order.machine not in self._machines:
                rented = self._machines[order.machine] = _RentedJob(order.offer, order.until)
                self._pool.submit(self._submit, order, rented)

    def extend(self, machine: int, until: Time) -> None:
        """The runner tells the machine; here it is only known when the lease ends."""
        rented = self._machines.get(machine)
        if rented is not None and (not rented.until or self._now() <= rented.until):
            rented.until = until

    def release(self, machines: Sequence[int]) -> None:
        for machine in machines:
            rented = self._machines.get(machine)
            if rented is not None and not rented.is_leaving:
                rented.is_leaving = True
                if rented.job:
                    self._pool.submit(self._cancel, rented.job)

    def survey(self) -> Sequence[FoundMachine]:
        """Jobs of the run that live, running or waiting."""
        found = []
        prefix = job_prefix(self._mark)
        for job in queued_jobs():
            if job.name.startswith(prefix):
                machine = int(job.name.removeprefix(prefix))
                rented = self._machines[machine] = _RentedJob(None, 0, job.id)
                rented.is_up = job.state in RUNNING
                found.append(FoundMachine(machine, rented.is_up))
        self._watch()
        return found

    def poll(self) -> Sequence[RenterNews]:
        now = self._now()
        for machine, rented in list(self._machines.items()):
            if rented.until and rented.until <= now:
                self._down(machine, "expired", rented.until)
                if rented.job:  # it may still wait in the queue
                    self._pool.submit(self._cancel, rented.job)
                rented.is_leaving = True
        news: list[RenterNews] = []
        while self._news:
            news.append(self._news.popleft())
        return news

    def next_poll(self) -> Time | None:
        if self._news:
            return 0
        return min((one.until for one in list(self._machines.values()) if one.until), default=None)

    def close(self) -> None:
        """Cancel what is left, and wait until it is gone from the queue."""
        self.release(list(self._machines))
        end = threading.Event()
        waited = 0.0
        while self._machines and waited < CLOSING:
            self._look_now.set()
            end.wait(0.1)
            waited += 0.1
        self._closing.set()
        self._look_now.set()
        self._pool.shutdown(wait=True)
        if self._watcher is not None:
            self._watcher.join()

    # --- in threads ------------------------------------------------------------------------------

    def _submit(self, order: RentOrder, rented: _RentedJob) -> None:
        """A job that is there already, of a process that crashed, is this one."""
        name = job_name(self._mark, order.machine)
        try:
            job = next((one.id for one in queued_jobs() if one.name == name), "")
            if not job:
                job = self._sbatch(order, name)
        except (SlurmError, OSError) as error:
            with self._lock:
                if self._machines.pop(order.machine, None) is not None:
                    self._tell(Refused(order.machine, str(error)))
            return
        with self._lock:
            rented.job = job
        if rented.is_leaving or self._machines.get(order.machine) is not rented:
            self._cancel(job)
        self._look_now.set()

    def _sbatch(self, order: RentOrder, name: str) -> str:
        place = order.offer.place or _NOWHERE
        script = f"#!/bin/sh\nexec {shlex.quote(place.python or sys.executable)} -P -m {MODULE}"
        script += f" {shlex.quote(str(self._config(order)))}\n"
        words = [
            "sbatch",
            "--parsable",
            "--no-requeue",
            f"--job-name={name}",
            f"--comment={order.token}",
            "--nodes=1",
            "--ntasks=1",
            f"--cpus-per-task={order.offer.slots}",
            f"--output={self._home}/{order.machine}.log",
            "--open-mode=append",
        ]
        words += [f"--partition={place.partition}"] if place.partition else []
        words += [f"--constraint={place.feature}"] if place.feature else []
        return run_slurm(*words, text=script).strip().partition(";")[0]

    def _config(self, order: RentOrder) -> Path:
        """A file that only this user can read, since it holds the key of the run."""
        config = agent_config(
            self._run,
            order.token,
            order.machine,
            order.offer,
            order.until - self._now(),
            timeout=self._timeout,
            grace=self._grace,
            carrier=self._cluster.carrier(order.token),
        )
        self._home.mkdir(mode=0o700, exist_ok=True)
        path = self._home / f"{order.machine}.config"
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(encode(config))
        return path

    def _cancel(self, job: str) -> None:
        """Until the controller has heard it; what is gone already is no error."""
        while not self._closing.is_set():
            try:
                run_slurm("scancel", job)
            except SlurmError as error:
                if "Invalid job id" in str(error):
                    break
                self._closing.wait(LOOK_EVERY)
            else:
                break
        self._look_now.set()

    def _watch(self) -> None:
        if self._watcher is None:
            self._watcher = threading.Thread(target=self._look_often, daemon=True)
            self._watcher.start()

    def _look_often(self) -> None:
        while not self._closing.is_set():
            known = {rented.job for rented in list(self._machines.values()) if rented.job}
            if known:
                with suppress(SlurmError):  # it may be starting again: nothing is known
                    self._look(known, {job.id: job.state for job in queued_jobs()})
            self._look_now.wait(LOOK_EVERY)
            self._look_now.clear()

    def _look(self, known: set[str], states: dict[str, str]) -> None:
        """`known` are the jobs that there were before the queue was asked."""
        for machine, rented in list(self._machines.items()):
            if rented.job not in known:
                continue
            state = states.get(rented.job, "")
            if state in RUNNING and not rented.is_up:
                rented.is_up = True
                self._tell(Up(machine))
            elif not state and rented.is_leaving:
                self._down(machine, "released", self._now())
            elif not state:
                self._down(machine, "lost", self._now(), _ending(rented.job))

    # --- from any thread -------------------------------------------------------------------------

    def _tell(self, news: RenterNews) -> None:
        self._news.append(news)
        self._wake()

    def _down(
        self,
        machine: int,
        cause: Literal["released", "lost", "expired"],
        at: Time,
        why: str = "",
    ) -> None:
        """Only one of several threads tells it. Where its lease is over, that is why it ended."""
        with self._lock:
            rented = self._machines.pop(machine, None)
        if rented is None:
            return
        if rented.until and at >= rented.until:
            cause, at, why = "expired", rented.until, ""
        (self._home / f"{machine}.config").unlink(missing_ok=True)
        self._tell(Down(machine, cause, at, why))


def _ending(job: str) -> str:
    """How Slurm says that a job ended, while it remembers."""
    try:
        words = run_slurm("scontrol", "show", "job", "--oneliner", job).split()
    except SlurmError:
        return "its job is gone"
    told = next((word for word in words if word.startswith("JobState=")), "JobState=gone")
    return f"its job was {told.partition('=')[2].lower()}"
