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
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from bursar.engine.renter import FoundMachine, RentOrder, Survey, Up
from bursar.execute.local import GRACE
from bursar.execute.remote.clusters import OwnCluster
from bursar.execute.remote.messages import encode
from bursar.execute.remote.places import name_of
from bursar.model.errors import BursarError
from bursar.model.market import Offer, Place
from bursar.model.time import SECOND, Time
from bursar.rent.hosts import MODULE
from bursar.rent.leased import Leased, LeasingRenter
from bursar.rent.silence import Silence

LEAD: Final[Time] = 15 * SECOND
"""to cancel a job and see it gone, while the controller is busy"""
TIMEOUT: Final = 60.0
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


class NoSlurmError(SlurmError):
    """Slurm is not installed here."""


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
            words, input=text, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
    except FileNotFoundError:
        raise NoSlurmError(
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


def _job_named(name: str) -> str:
    """The number of the living job of this name; empty: there is none."""
    return next((job.id for job in queued_jobs() if job.name == name), "")


class _RentedJob(Leased):
    def __init__(self, offer: Offer | None, until: Time, job: str = "") -> None:
        super().__init__(offer, until)
        self.job = job
        """its number; empty: it is being submitted"""
        self.is_up = False


class SlurmRenter(LeasingRenter[_RentedJob]):
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
        super().__init__(run, mark, now, cluster, timeout=timeout, grace=grace)
        self._home = home / "machines"
        self._pool = ThreadPoolExecutor(4, "bursar-slurm")
        self._look_now = threading.Event()
        self._silence = Silence("Slurm")
        self._watcher: threading.Thread | None = None
        self._may_have_strays = False
        """a submission failed, or was under way when an earlier process was killed: Slurm may have
        taken the job, or take it later"""

    def lead(self, offer: Offer) -> Time:
        return LEAD

    def rent(self, orders: Sequence[RentOrder]) -> None:
        self._watch()
        for order in orders:
            if order.machine not in self._machines:
                rented = self._machines[order.machine] = _RentedJob(order.offer, order.until)
                self._pool.submit(self._submit, order, rented)

    def release(self, machines: Sequence[int]) -> None:
        for machine in machines:
            rented = self._machines.get(machine)
            if rented is not None and not rented.is_leaving:
                rented.is_leaving = True
                if rented.job:
                    self._pool.submit(self._cancel, rented.job)

    def survey(self) -> Survey:
        """Jobs of the run that live, running or waiting."""
        found = []
        prefix = job_prefix(self._mark)
        self._may_have_strays = True
        for job in queued_jobs():
            if job.name.startswith(prefix):
                machine = int(job.name.removeprefix(prefix))
                rented = self._machines[machine] = _RentedJob(None, 0, job.id)
                rented.is_up = job.state in RUNNING
                found.append(FoundMachine(machine, rented.is_up))
        self._watch()
        return Survey(found)

    def close(self) -> None:
        """Cancel what is left, and wait until it is gone from the queue."""
        self.release(list(self._machines))
        end = threading.Event()
        waited = 0.0
        while self._machines and waited < CLOSING:
            self._look_now.set()
            end.wait(0.1)
            waited += 0.1
        if self._may_have_strays:
            with suppress(SlurmError):  # what it takes later finds no configuration, and ends
                self._end_strays(queued_jobs())
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
            job = _job_named(name) or self._sbatch(order, name)
        except (SlurmError, OSError) as error:
            self._may_have_strays = True
            job = self._taken_all_the_same(name, order.until)
            if not job:
                self._refuse(order.machine, rented, str(error))
                return
        with self._lock:
            rented.job = job
        if rented.is_leaving or self._machines.get(order.machine) is not rented:
            self._cancel(job)
        self._look_now.set()

    def _taken_all_the_same(self, name: str, until: Time) -> str:
        """The job of this name after `sbatch` failed: perhaps only its answer was lost.

        While the controller does not answer, nobody knows; it is asked to the end of the lease, at
        which the job would end by itself.
        """
        while not self._closing.is_set() and self._now() < until:
            try:
                return _job_named(name)
            except NoSlurmError:
                break
            except SlurmError:
                self._closing.wait(LOOK_EVERY)
        return ""

    def _sbatch(self, order: RentOrder, name: str) -> str:
        place = order.offer.place or _NOWHERE
        script = f"#!/bin/sh\nexec {shlex.quote(place.python or sys.executable)} -P -m {MODULE}"
        script += f" {shlex.quote(str(self._config_file(order)))}\n"
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

    def _config_file(self, order: RentOrder) -> Path:
        """A file that only this user can read, since it holds the key of the run."""
        config = self._config_of(order.machine, order.offer, order.until)
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
            if known or self._may_have_strays:
                try:
                    jobs = queued_jobs()
                except SlurmError as error:  # it may be starting again: nothing is known
                    self._silence.failed(error)
                else:
                    self._silence.answered()
                    self._look(known, {job.id: job.state for job in jobs})
                    if self._may_have_strays:
                        self._end_strays(jobs)
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
                self._down(machine, rented, "released", self._now())
            elif not state:
                self._down(machine, rented, "lost", self._now(), _ending(rented.job))

    def _end_strays(self, jobs: Sequence[SlurmJob]) -> None:
        """Cancel jobs of the run that are not one of its machines."""
        prefix = job_prefix(self._mark)
        for job in jobs:
            if job.name.startswith(prefix):
                rented = self._machines.get(int(job.name.removeprefix(prefix)))
                if rented is None or rented.job not in ("", job.id):
                    self._cancel(job.id)

    def _expired(self, rented: _RentedJob) -> None:
        """Its job may still wait in the queue."""
        rented.is_leaving = True
        if rented.job:
            self._pool.submit(self._cancel, rented.job)

    def _forgotten(self, machine: int, rented: _RentedJob) -> None:
        (self._home / f"{machine}.config").unlink(missing_ok=True)


def _ending(job: str) -> str:
    """How Slurm says that a job ended, while it remembers; it may take a moment to know."""
    tries = 6
    for left in reversed(range(tries)):
        try:
            words = run_slurm("scontrol", "show", "job", "--oneliner", job).split()
        except SlurmError:
            return "its job is gone"
        field = next((word for word in words if word.startswith("JobState=")), "JobState=gone")
        state = field.partition("=")[2].lower()
        if state != "completing" or not left:
            break
        time.sleep(LOOK_EVERY / 2)
    return f"its job was {state}"
