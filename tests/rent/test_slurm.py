"""Machines that are jobs of a real Slurm."""

from __future__ import annotations

import os
import shutil
import time

import pytest

pytest.importorskip("distributed", reason="dask.distributed is not installed: bursar[dask]")

from tests import slurm_cluster
from tests.dask_cluster import eventually

from bursar.engine.renter import Down, Refused, RentOrder, Up
from bursar.execute.clock import RunClock
from bursar.execute.remote.places import found_agents
from bursar.model.market import Offer, Place
from bursar.model.money import Money
from bursar.model.time import MINUTE, SECOND
from bursar.rent.slurm import SlurmRenter
from bursar.testing import RenterContract

PRICE = Money.parse("0.01")
OFFER = Offer("small", PRICE, MINUTE, limit=3, place=Place(partition="main"))
SPOT = Offer("spot", PRICE, MINUTE, slots=4, place=Place(partition="spot", feature="large"))
URGENT = Offer("urgent", PRICE, MINUTE, slots=4, place=Place(partition="main", feature="large"))


class NoCluster:
    """Agents without a Dask worker: here nobody speaks to them."""

    def carrier(self, token):
        return None


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    if slurm_cluster.WHY_NOT:
        pytest.skip(slurm_cluster.WHY_NOT)
    made = slurm_cluster.SlurmCluster(tmp_path_factory.mktemp("slurm"))
    yield made
    made.close()


@pytest.fixture(autouse=True)
def environment(slurm, monkeypatch, tmp_path):
    monkeypatch.setenv("SLURM_CONF", slurm.environment["SLURM_CONF"])
    monkeypatch.setenv("BURSAR_MACHINE_DIR", str(tmp_path / "m"))


class TestJobsOfSlurm(RenterContract):
    offer = OFFER
    stay = 6 * SECOND
    outlives = True

    @pytest.fixture(autouse=True)
    def place(self, tmp_path):
        self.home = tmp_path

    def make_renter(self, mark, now):
        return SlurmRenter("contract", mark, now, NoCluster(), self.home)


class SlurmJobs:
    def __init__(self, home, mark):
        clock = RunClock(0, None)
        self.now, self.mark = clock.now, mark
        self.renter = SlurmRenter("desk", mark, self.now, NoCluster(), home)
        self.news = []

    def rent(self, machine, offer, stay=MINUTE):
        order = RentOrder(machine, offer, self.now() + stay, f"{self.mark}/{machine}")
        self.renter.rent([order])

    def hear(self, kind, machine, seconds=30):
        def heard():
            self.news += self.renter.poll()
            found = [x for x in self.news if isinstance(x, kind) and x.machine == machine]
            return found[0] if found else None

        found = eventually(heard, seconds)
        assert found, f"{kind} of {machine} is not among {self.news}"
        return found


@pytest.fixture
def rented(tmp_path):
    made = SlurmJobs(tmp_path, f"desk@{tmp_path.name}")
    yield made
    made.renter.close()


def test_a_preempted_job_is_a_lost_machine_and_is_not_requeued(rented, slurm):
    rented.rent(1, SPOT)
    rented.hear(Up, 1)
    rented.rent(2, URGENT)
    lost = rented.hear(Down, 1)
    assert lost.cause == "lost"
    assert "preempted" in lost.why
    rented.hear(Up, 2)
    assert len(slurm.jobs()) == 1


def test_a_job_that_waits_in_the_queue_is_cancelled_with_its_lease(rented, slurm):
    rented.rent(1, URGENT)
    rented.hear(Up, 1)
    rented.rent(2, URGENT, 3 * SECOND)
    assert rented.hear(Down, 2).cause == "expired"
    assert eventually(lambda: len(slurm.jobs()) == 1)


def test_machines_outlive_a_restart_of_the_controller(rented, slurm):
    rented.rent(1, OFFER)
    rented.hear(Up, 1)
    slurm.stop_controller()
    time.sleep(1.5)
    rented.news += rented.renter.poll()
    slurm.start_controller()
    rented.rent(2, OFFER)
    rented.hear(Up, 2, 60)
    assert not [one for one in rented.news if isinstance(one, Down)]


def test_a_controller_that_was_killed_leaves_no_job_and_no_agent_behind(rented, slurm):
    """What it forgets is lost, with whatever gets its number next; then it works as before."""
    rented.rent(1, OFFER)
    rented.hear(Up, 1)
    slurm.kill_controller()
    slurm.start_controller()
    rented.rent(2, OFFER)
    rented.hear(Up | Down, 2, 120)
    rented.rent(3, OFFER, 10 * MINUTE)  # which ends after anything that is waited for
    rented.hear(Up, 3, 120)
    rented.renter.release([1, 2, 3])
    for machine in (1, 2, 3):
        rented.hear(Down, machine, 120)
    assert eventually(lambda: not slurm.jobs(), 120)
    assert eventually(lambda: not list(found_agents()), 120)


def test_what_slurm_refuses_is_refused_in_its_words(rented):
    rented.rent(1, Offer("x", PRICE, MINUTE, place=Place(partition="nowhere")))
    assert "Invalid partition" in rented.hear(Refused, 1).why


def replace_sbatch(monkeypatch, directory, script):
    """Another `sbatch` comes before the real one, which the script knows as REAL."""
    (directory / "bin").mkdir()
    program = directory / "bin" / "sbatch"
    program.write_text(f"#!/bin/sh\nREAL={shutil.which('sbatch')}\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}/bin:{os.environ['PATH']}")


def test_a_job_that_slurm_took_although_sbatch_failed_is_the_machine(
    rented, slurm, tmp_path, monkeypatch
):
    failing = '"$REAL" "$@" >/dev/null; echo "Socket timed out" >&2; exit 1'
    replace_sbatch(monkeypatch, tmp_path, failing)
    rented.rent(1, OFFER)
    rented.hear(Up, 1)
    assert not [one for one in rented.news if isinstance(one, Refused)]
    assert len(slurm.jobs()) == 1


def test_a_job_that_slurm_takes_after_it_was_refused_is_cancelled(
    rented, slurm, tmp_path, monkeypatch
):
    late = (
        f"cat > {tmp_path}/script\n"
        f"(while [ ! -e {tmp_path}/go ]; do sleep 0.05; done\n"
        f'"$REAL" --hold "$@" < {tmp_path}/script > {tmp_path}/job) > /dev/null 2>&1 &\n'
        'echo "Socket timed out" >&2; exit 1'
    )
    replace_sbatch(monkeypatch, tmp_path, late)
    rented.rent(1, OFFER)
    assert "timed out" in rented.hear(Refused, 1).why
    (tmp_path / "go").touch()
    job = tmp_path / "job"
    number = eventually(lambda: job.exists() and job.read_text().strip())
    assert number
    assert eventually(lambda: number not in slurm.jobs())


def test_a_job_that_slurm_takes_after_the_run_was_resumed_is_cancelled(
    rented, slurm, tmp_path, monkeypatch
):
    """`sbatch` outlives a process of bursar that is killed."""
    slow = (
        f"cat > {tmp_path}/script\nwhile [ ! -e {tmp_path}/go ]; do sleep 0.05; done\n"
        f'exec "$REAL" "$@" < {tmp_path}/script'
    )
    replace_sbatch(monkeypatch, tmp_path, slow)
    before = set(slurm.jobs())
    rented.rent(1, OFFER)
    assert eventually((tmp_path / "script").exists)
    resumed = SlurmRenter("desk", rented.mark, rented.now, NoCluster(), tmp_path)
    assert not resumed.survey().found
    (tmp_path / "go").touch()
    rented.hear(Down, 1)
    assert eventually(lambda: set(slurm.jobs()) <= before)
    resumed.close()


def test_keys_are_in_no_script_of_slurm_and_in_no_file_that_others_can_read(rented, tmp_path):
    rented.rent(1, OFFER)
    rented.hear(Up, 1)
    (config,) = (tmp_path / "machines").glob("*.config")
    assert config.stat().st_mode & 0o077 == 0
    rented.renter.release([1])
    rented.hear(Down, 1)
    assert not config.exists()
