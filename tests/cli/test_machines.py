"""`bursar run --on ...`: whole runs on machines elsewhere, while parts of them are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="dask.distributed is not installed: bursar[dask]")

from tests import slurm_cluster, ssh_server
from tests.dask_cluster import DaskCluster, eventually

BURSAR = Path(sys.executable).parent / "bursar"
MARKET = """
[[offer]]
name = "lab"
price = "0.01"
billing = "{billing}"
slots = 2
limit = {limit}
{more}
"""


class Desk:
    """A directory in which bursar is called, and all processes that come of it."""

    def __init__(self, directory, **environment):
        self.directory = directory
        self._sign = f"MACHINES_TEST={uuid.uuid4().hex}"
        name, _, value = self._sign.partition("=")
        self.environment = {
            **os.environ,
            name: value,
            "BURSAR_MACHINE_DIR": str(directory / "m"),
            **environment,
        }
        (directory / "task.sh").write_text('#!/bin/sh\nsleep "$1"; cat input; echo "task $2"\n')
        (directory / "task.sh").chmod(0o755)
        (directory / "input").write_text("sent along\n")

    def market(self, more="", *, billing="40s", limit=3, budget="5"):
        text = MARKET.format(more=more, billing=billing, limit=limit)
        (self.directory / "market.toml").write_text(text)
        return ("--market", "market.toml", "--budget", budget)

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
        told, _ = process.communicate(timeout=200)
        assert process.returncode == 0, told
        return told

    def outputs(self, run):
        place = self.directory / ".bursar" / run / "outputs"
        return {
            int(one.name): (one / "stdout").read_text()
            for one in place.iterdir()
            if one.name.isdecimal()
        }

    def processes(self, part=""):
        """Numbers of the living ones whose command has this in it."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal() and int(entry.name) != os.getpid():
                try:
                    is_ours = self._sign.encode() in (entry / "environ").read_bytes()
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                except (OSError, UnicodeDecodeError):
                    continue
                if part and str(BURSAR) in command:
                    continue  # its own words name what is started
                if is_ours and command and part in command:
                    found.append(int(entry.name))
        return found

    def all_end(self, seconds=60):
        return eventually(lambda: not self.processes(), seconds)


@pytest.fixture
def desk(tmp_path):
    made = Desk(tmp_path)
    yield made
    for number in made.processes():
        os.kill(number, signal.SIGKILL)


def expected(tasks):
    return {task: f"sent along\ntask {task}\n" for task in range(1, tasks + 1)}


TASKS = [str(number) for number in range(1, 31)]


def test_a_dask_cluster_of_its_own_and_nothing_is_left(desk):
    desk.call("run", "--on", "dask", "-j", "1", "--name", "own", "./task.sh 0 {}", ":::", *TASKS)
    assert desk.outputs("own") == expected(30)
    assert desk.all_end(10), "a process survived"
    assert not list((desk.directory / "m").iterdir())


def test_killed_and_resumed_on_a_cluster_nothing_is_lost_and_nothing_left(desk, tmp_path_factory):
    cluster = DaskCluster(tmp_path_factory.mktemp("dask"), workers=2)
    try:
        assert eventually(cluster.is_up, 60)
        where = ("--on", "dask", "--scheduler", cluster.address)
        run = desk.start("run", *where, "--name", "c", "./task.sh 0.5 {}", ":::", *TASKS)
        agents = cluster.directory / "m"
        assert eventually((desk.directory / ".bursar/c/outputs/1").exists, 60)
        run.kill()
        run.communicate()
        assert list(agents.iterdir()), "the machines ended with bursar"
        desk.call("resume", "c")
        assert eventually(lambda: not list(agents.iterdir()), 10)
    finally:
        cluster.close()
    assert desk.outputs("c") == expected(30)


def test_killed_and_not_resumed_every_process_ends_with_its_lease(desk):
    run = desk.start(
        "run",
        "--on",
        "dask",
        *desk.market(limit=1, billing="20s", budget="0.02"),
        "--name",
        "k",
        "sleep 200",
        ":::",
        "1",
        "2",
    )
    assert eventually(lambda: len(desk.processes("sleep 200")) == 2, 60)
    run.kill()
    run.communicate()
    assert len(desk.processes("sleep 200")) == 2, "they ended before their leases"
    assert desk.all_end(90), "a process outlives its lease"
    assert not list((desk.directory / "m").iterdir())


def test_killed_and_resumed_nothing_is_lost_and_nothing_left(desk):
    words = ("--name", "k", "./task.sh 0.5 {}", ":::", *TASKS)
    run = desk.start("run", "--on", "dask", *desk.market(limit=1, billing="1m"), *words)
    assert eventually(lambda: len(desk.processes("task.sh")) >= 2, 60)
    run.kill()
    run.communicate()
    desk.call("resume", "k")
    assert desk.outputs("k") == expected(30)
    assert "adopt lab-1" in desk.call("why", "k")
    assert desk.all_end(15), "a process survived"


def test_the_scheduler_is_killed_and_no_attempt_is_lost(desk):
    words = ("--name", "s", "./task.sh 1 {}", ":::", *TASKS[:12])
    run = desk.start("run", "--on", "dask", *desk.market(limit=1, billing="2m"), *words)
    assert eventually(lambda: len(desk.processes("task.sh")) >= 2, 60)
    (scheduler,) = desk.processes("dask_scheduler")
    os.kill(scheduler, signal.SIGKILL)
    told, _ = run.communicate(timeout=120)
    assert run.returncode == 0, told
    assert desk.outputs("s") == expected(12)
    attempts = desk.call("export", "s", "--joblog", "-").splitlines()[1:]
    assert len(attempts) == 12, "some were executed twice"
    assert desk.all_end(15), "a process survived"


def test_a_frozen_carrier_is_replaced_and_no_attempt_is_lost(desk):
    words = ("--name", "f", "./task.sh 2 {}", ":::", *TASKS[:6])
    run = desk.start("run", "--on", "dask", *desk.market(limit=1, billing="3m"), *words)
    assert eventually(lambda: len(desk.processes("task.sh")) >= 1, 60)
    (carrier,) = desk.processes("dask_worker")
    os.kill(carrier, signal.SIGSTOP)
    told, _ = run.communicate(timeout=180)
    assert run.returncode == 0, told
    assert desk.outputs("f") == expected(6)
    attempts = desk.call("export", "f", "--joblog", "-").splitlines()[1:]
    assert len(attempts) == 6
    assert desk.all_end(15)


def test_an_agent_is_killed_and_its_tasks_run_elsewhere(desk):
    words = ("--name", "a", "./task.sh 1 {}", ":::", *TASKS[:12])
    both = ("--fleet", "lab=2")
    run = desk.start("run", "--on", "dask", *desk.market(limit=2, billing="2m"), *both, *words)
    assert eventually(lambda: len(desk.processes("task.sh")) >= 3, 60)
    agents = [
        int((place / "lock").read_text()) for place in sorted((desk.directory / "m").iterdir())
    ]
    os.kill(agents[0], signal.SIGKILL)
    told, _ = run.communicate(timeout=120)
    assert run.returncode == 0, told
    assert desk.outputs("a") == expected(12)
    assert desk.all_end(15)


FLOW = """
name: parts
tasks:
  make:
    run: ./make.sh
    files: {{in: input, out: [all]}}
{middle}
  join:
    run: cat {parts} > joined
    files: {{in: [{commas}], out: joined}}
"""
MIDDLE = """  part-{n}:
    run: ./task.sh 0.3 {n} > part-{n}; sed -n {n}p all/numbers >> part-{n}
    files: {{in: [all, input], out: part-{n}}}
"""


def test_a_workflow_whose_files_travel_and_a_machine_that_dies(desk):
    """Scripts come with the working directory, files with the tasks, and a directory is a file."""
    numbers = range(1, 13)
    parts = [f"part-{n}" for n in numbers]
    middle = "".join(MIDDLE.format(n=n) for n in numbers)
    text = FLOW.format(middle=middle, parts=" ".join(parts), commas=", ".join(parts))
    (desk.directory / "flow.yaml").write_text(text)
    (desk.directory / "make.sh").write_text("#!/bin/sh\nmkdir -p all; seq 100 > all/numbers\n")
    (desk.directory / "make.sh").chmod(0o755)
    both = (*desk.market(limit=2, billing="2m"), "--fleet", "lab=2", "--name", "w")
    before = {path.name for path in desk.directory.iterdir()}
    run = desk.start("run", "--on", "dask", *both, "flow.yaml")
    assert eventually(lambda: len(desk.processes("task.sh")) >= 2, 60)
    agents = [
        int((place / "lock").read_text()) for place in sorted((desk.directory / "m").iterdir())
    ]
    os.kill(agents[0], signal.SIGKILL)
    printed, _ = run.communicate(timeout=120)
    assert run.returncode == 0, printed
    files = desk.directory / ".bursar/w/outputs/files"
    lines = [line for n in numbers for line in ("sent along", f"task {n}", str(n))]
    assert (files / "joined").read_text().splitlines() == lines
    assert (files / "all/numbers").read_text().splitlines()[-1] == "100"
    after = {path.name for path in desk.directory.iterdir()}
    assert after - before <= {".bursar", "m"}, "files of the user were touched"
    assert desk.all_end(15)


def test_hosts_by_ssh(tmp_path, tmp_path_factory):
    if ssh_server.WHY_NOT:
        pytest.skip(ssh_server.WHY_NOT)
    server = ssh_server.SshServer(tmp_path_factory.mktemp("ssh"))
    try:
        desk = Desk(tmp_path, BURSAR_SSH=server.command)
        hosts = desk.market('hosts = ["ada", "grace", "edsger"]', billing="1m")
        where = ("--on", "ssh", "--listen", "127.0.0.1")
        desk.call("run", *where, *hosts, "--name", "h", "./task.sh 0 {}", ":::", *TASKS)
        assert desk.outputs("h") == expected(30)
        assert not [one for host in server.hosts for one in server.machine_dir(host).glob("*")]
        keys = _key_lines(desk.directory / ".bursar" / "h" / "scheduler.json")
        assert keys
        journal = (desk.directory / ".bursar" / "h" / "journal.db").read_bytes()
        assert not any(key.encode() in journal for key in keys), "the journal holds the key"
    finally:
        server.stop()


def test_hosts_that_ssh_cannot_reach_any_more_go_on_and_end_with_their_leases(
    tmp_path, tmp_path_factory
):
    if ssh_server.WHY_NOT:
        pytest.skip(ssh_server.WHY_NOT)
    server = ssh_server.SshServer(tmp_path_factory.mktemp("ssh"))
    try:
        desk = Desk(tmp_path, BURSAR_SSH=server.command)
        hosts = desk.market('hosts = ["ada"]', billing="25s", limit=1)
        where = ("--on", "ssh", "--listen", "127.0.0.1")
        words = ("--name", "h", "./task.sh 0.5 {}", ":::", *TASKS[:8])
        run = desk.start("run", *where, *hosts, *words)
        assert eventually((desk.directory / ".bursar/h/outputs/1").exists, 60)
    finally:
        server.stop()
    told, _ = run.communicate(timeout=120)
    assert run.returncode == 0, told
    assert desk.outputs("h") == expected(8)
    assert not [one for host in server.hosts for one in server.machine_dir(host).glob("*")]


def _key_lines(path):
    """Parts of the private key that would be found wherever it is."""
    import json

    return json.loads(path.read_text())["credentials"]["key"].splitlines()[1:3]


@pytest.fixture
def slurm(tmp_path_factory):
    if slurm_cluster.WHY_NOT:
        pytest.skip(slurm_cluster.WHY_NOT)
    made = slurm_cluster.SlurmCluster(tmp_path_factory.mktemp("slurm"))
    yield made
    made.close()


ON_SLURM = ("--on", "slurm", "--listen", "127.0.0.1", "--shared")


def test_jobs_of_slurm_outlive_bursar_and_are_adopted(slurm, tmp_path):
    desk = Desk(tmp_path, **slurm.environment)
    market = desk.market('partition = "main"', billing="2m", limit=1)
    words = ("--name", "j", "./task.sh 0.5 {}", ":::", *TASKS)
    run = desk.start("run", *ON_SLURM, *market, *words)
    assert eventually(lambda: len(desk.processes("task.sh")) >= 2, 60)
    run.kill()
    run.communicate()
    jobs = slurm.jobs()
    assert jobs
    desk.call("resume", "j")
    assert desk.outputs("j") == expected(30)
    assert "adopt lab-1" in desk.call("why", "j")
    assert not slurm.jobs()
    assert desk.all_end(15)


def test_jobs_of_slurm_end_with_their_leases_if_nobody_resumes(slurm, tmp_path):
    desk = Desk(tmp_path, **slurm.environment)
    market = desk.market('partition = "main"', billing="20s", limit=1, budget="0.02")
    run = desk.start("run", *ON_SLURM, *market, "--name", "j", "sleep 100", ":::", "1", "2")
    assert eventually(lambda: len(desk.processes("sleep 100")) == 2, 60)
    run.kill()
    run.communicate()
    assert slurm.jobs()
    assert eventually(lambda: not slurm.jobs(), 90)
    assert desk.all_end(10)


def test_a_node_whose_daemons_were_killed_leaves_nothing_behind(slurm, tmp_path):
    """Without slurmd and slurmstepd, Slurm cannot end the job's processes: bursar does."""
    desk = Desk(tmp_path, **slurm.environment)
    market = desk.market('partition = "main"\nfeature = "small"', billing="5m", limit=2)
    words = ("--fleet", "lab=2", "--name", "n", "./task.sh 1 {}", ":::", *TASKS)
    run = desk.start("run", *ON_SLURM, *market, *words)
    assert eventually(lambda: len(desk.processes("task.sh")) >= 4, 60)
    slurm.kill_node("small-1")
    told, _ = run.communicate(timeout=200)
    assert run.returncode == 0, told
    assert desk.outputs("n") == expected(30)
    assert desk.all_end(15)


def test_clean_releases_what_a_killed_run_left_and_nothing_of_a_live_one(desk):
    hours = ("--on", "dask", *desk.market(limit=1, billing="1h"))
    dead = desk.start("run", *hours, "--name", "dead", "sleep 100", ":::", "1")
    live = desk.start("run", *hours, "--name", "live", "sleep 101", ":::", "1")
    assert eventually(lambda: desk.processes("sleep 100") and desk.processes("sleep 101"), 60)
    dead.kill()
    dead.communicate()
    told = desk.call("clean", "--dry-run")
    assert "dead" in told
    assert "1 machine found" in told
    assert desk.processes("sleep 100"), "it only had to list them"
    assert "1 machine released" in desk.call("clean")
    assert not desk.processes("sleep 100")
    assert desk.processes("sleep 101")
    assert "no machine was left behind" in desk.call("clean")
    live.send_signal(signal.SIGINT)
    time.sleep(0.5)  # two signals at once are one
    live.send_signal(signal.SIGINT)
    live.communicate(timeout=60)
    assert desk.all_end(15)
