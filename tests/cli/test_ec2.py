"""`bursar run --on ec2`: whole runs on machines that moto keeps and processes here play."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("boto3", reason="boto3 is not installed: bursar[aws]")
pytest.importorskip("moto", reason="moto is not installed: bursar[dev]")

from tests.dask_cluster import eventually
from tests.ec2_cloud import IMAGE, SECRET, Moto, Player
from tests.fault_proxy import FaultProxy

BURSAR = Path(sys.executable).with_name("bursar")
MARKET = f"""
[[offer]]
name = "small"
price = "0.085/h"
billing = "1s"
minimum = "60s"
slots = 2
limit = 2
instance_type = "c5.large"
image = "{IMAGE}"
"""
ON_EC2 = ("--on", "ec2", "--listen", "127.0.0.1", "--market", "ec2.toml", "--budget", "5")
FLOW = """
defaults: {runtime: 1s}
tasks:
  split: {run: "seq 12 > all", files: {out: all}}
  odd: {run: "grep '[13579]$' all > odd", files: {in: all, out: odd}}
  even: {run: "grep '[02468]$' all > even", files: {in: all, out: even}}
  join: {run: "cat odd even > both", files: {in: [odd, even], out: both}}
"""


@pytest.fixture(scope="module")
def moto(tmp_path_factory):
    made = Moto(tmp_path_factory.mktemp("moto"))
    yield made
    made.close()


class Cloud:
    """A directory in which bursar is called, and the machines that it rents."""

    def __init__(self, moto, directory):
        self.moto = moto
        self.proxy = FaultProxy(moto.port)
        self.player = Player(moto, directory / "machines")
        self.directory = directory / "work"
        self.directory.mkdir()
        (self.directory / "ec2.toml").write_text(MARKET)
        (self.directory / "task.sh").write_text('sleep "$1"; cat input; echo "task $2"\n')
        (self.directory / "input").write_text("sent along\n")
        self.environment = {**os.environ, **moto.environment(self.proxy.url)}

    def start(self, *words):
        return subprocess.Popen(
            [BURSAR, *words],
            cwd=self.directory,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def call(self, *words):
        process = self.start(*words)
        told, _ = process.communicate(timeout=150)
        assert process.returncode == 0, told
        return told

    def tasks(self):
        """Processes of tasks on all machines."""
        found = [n for one in list(self.player.machines.values()) for n in one.processes()]
        return [n for n in found if "task.sh" in _read(n, "cmdline")]

    def processes_with(self, text):
        """Of machines: those that have it on their command line, or in their environment."""
        numbers = [n for one in list(self.player.machines.values()) for n in one.processes()]
        return [n for n in numbers for what in ("cmdline", "environ") if text in _read(n, what)]

    def files_with(self, text):
        """Of the run and of its machines."""
        machines = [Path(place) for one in self.player.played for place in (one.place, one.agents)]
        places = (self.directory, *machines)
        files = [file for place in places for file in place.rglob("*") if file.is_file()]
        return [file for file in files if text.encode() in file.read_bytes()]


def _read(number, what):
    try:
        return Path(f"/proc/{number}/{what}").read_text(errors="replace")
    except OSError:
        return ""


@pytest.fixture
def cloud(moto, tmp_path):
    made = Cloud(moto, tmp_path)
    yield made
    made.player.close()
    made.proxy.close()


def test_a_killed_run_is_resumed_on_its_machines_and_nothing_leaks(cloud):
    words = ("sh task.sh 0.3 {}", ":::", *map(str, range(1, 31)))
    run = cloud.start("run", *ON_EC2, "--name", "bag", "--fleet", "small=2", *words)
    assert eventually(lambda: len(cloud.tasks()) >= 4, 60)
    run.kill()
    run.communicate()
    assert len(cloud.moto.living()) == 2
    assert not cloud.processes_with(SECRET)
    told = cloud.call("resume", "bag")
    assert "30 of 30 tasks done" in told
    outputs = cloud.directory / ".bursar" / "bag" / "outputs"
    for task in range(1, 31):
        assert (outputs / str(task) / "stdout").read_text() == f"sent along\ntask {task}\n"
    assert not cloud.moto.living()
    assert len(cloud.player.played) == 2, "machines were adopted"
    # Nobody can find what opens the account, or the machines, but in a file of the user alone.
    assert not cloud.files_with(SECRET)
    assert not [file for file in cloud.files_with("PRIVATE KEY") if file.stat().st_mode & 0o077]
    for machine in cloud.player.played:
        assert "PRIVATE KEY" not in (machine.place / "user-data").read_text()


def test_machines_of_a_killed_run_end_by_their_leases_if_nobody_resumes(cloud):
    run = cloud.start("run", *ON_EC2, "--name", "dead", "sh task.sh 900 {}", ":::", "1", "2", "3")
    assert eventually(lambda: len(cloud.tasks()) >= 2, 60)
    run.kill()
    run.communicate()
    assert "instance i-" in cloud.call("clean", "--dry-run")
    assert cloud.moto.living()
    for machine in cloud.player.played:
        assert machine.orders, "its switch is set"
        assert all(1 <= int(order.removeprefix("+")) <= 10 for order in machine.orders)
    cloud.player.rate = 300.0
    assert eventually(lambda: not cloud.moto.living(), 60)
    assert eventually(lambda: not cloud.tasks(), 10)
    assert "no machine was left behind" in cloud.call("clean")


def test_the_files_of_a_workflow_travel_with_its_tasks(cloud):
    (cloud.directory / "flow.yaml").write_text(FLOW)
    told = cloud.call("run", *ON_EC2, "--name", "flow", "flow.yaml")
    assert "4 of 4 tasks done" in told
    both = (cloud.directory / ".bursar/flow/outputs/files/both").read_text().split()
    assert sorted(map(int, both)) == list(range(1, 13))
    assert not cloud.moto.living()
