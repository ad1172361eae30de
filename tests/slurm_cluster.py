"""A real Slurm on this computer: a controller and three nodes of two kinds, without cgroups."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

from tests.dask_cluster import eventually

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "squeue", "scancel", "munged")
MISSING = [name for name in PROGRAMS if shutil.which(name) is None]
WHY_NOT = None
if MISSING:
    WHY_NOT = f"no {', '.join(MISSING)}: apt-get install slurmctld slurmd slurm-client munge"
elif os.geteuid() != 0:
    WHY_NOT = "Slurm's daemons need root here"
NODES = ("small-1", "small-2", "large-1")
CONFIGURATION = """\
ClusterName=bursar
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={place}/munge/socket,cred_expire=5
StateSaveLocation={place}/state
SlurmctldPidFile={place}/run/slurmctld.pid
SlurmdPidFile={place}/run/slurmd.%n.pid
SlurmdSpoolDir={place}/run/spool.%n
SlurmctldLogFile={place}/log/slurmctld.log
SlurmdLogFile={place}/log/slurmd.%n.log
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=100000,bf_interval=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillWait=2
CompleteWait=0
SlurmctldTimeout=30
SlurmdTimeout=20
MessageTimeout=10
TCPTimeout=5
NodeName=small-[1-2] NodeHostname={host} NodeAddr=127.0.0.1 Port={one}-{two} CPUs=2 Feature=small
NodeName=large-1 NodeHostname={host} NodeAddr=127.0.0.1 Port={three} CPUs=4 Feature=large
PartitionName=spot Nodes=ALL Default=YES MaxTime=60 State=UP PriorityTier=1 PreemptMode=REQUEUE
PartitionName=main Nodes=ALL MaxTime=60 State=UP PriorityTier=10 PreemptMode=OFF
"""


def _four_free_ports():
    """In a row; tests that run at the same time look at others."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    for first in range(17_000 + 1_000 * worker, 18_000 + 1_000 * worker, 10):
        taken = False
        for port in range(first, first + 4):
            with socket.socket() as probe:
                taken |= probe.connect_ex(("127.0.0.1", port)) == 0
        if not taken:
            return first
    raise AssertionError("no four free ports")


class SlurmCluster:
    """`environment` is what Slurm's commands need."""

    def __init__(self, directory):
        self.directory = place = Path(directory)
        for name in ("state", "log", "run", "munge", *(f"run/spool.{node}" for node in NODES)):
            (place / name).mkdir()
        (place / "munge").chmod(0o700)
        (place / "munge" / "key").write_bytes(secrets.token_bytes(1024))
        (place / "munge" / "key").chmod(0o600)
        port = _four_free_ports()
        (place / "slurm.conf").write_text(
            CONFIGURATION.format(
                host=socket.gethostname().partition(".")[0],
                place=place,
                port=port,
                one=port + 1,
                two=port + 2,
                three=port + 3,
            )
        )
        self.environment = {"SLURM_CONF": str(place / "slurm.conf")}
        munge = [f"--{name}-file={place}/munge/{name}" for name in ("key", "pid", "seed", "log")]
        self._run("munged", "--force", f"--socket={place}/munge/socket", *munge)
        self.start_controller("-c")
        for node in NODES:
            self._run("slurmd", "-N", node)
        if not eventually(lambda: self.idle() == set(NODES), 30):
            self.close()
            raise AssertionError("Slurm did not start")

    def start_controller(self, *words):
        self._run("slurmctld", *words)
        assert eventually(lambda: not self._call("sinfo", "-h").returncode, 60), "no controller"

    def idle(self):
        done = self._call("sinfo", "-h", "-N", "-t", "idle", "-o", "%N")
        return set(done.stdout.split())

    def jobs(self):
        """All that there are; a controller that does not answer is asked again."""
        done = eventually(self._queue, 60)
        assert done, "squeue gets no answer"
        return done.stdout.split()

    def _queue(self):
        done = self._call("squeue", "-h", "-o", "%i")
        return None if done.returncode else done

    def pid(self, name):
        return int((self.directory / "run" / f"{name}.pid").read_text())

    def stop_controller(self):
        """As for a restart: it keeps its state, which one that is killed may not have written."""
        pid = self.pid("slurmctld")
        os.kill(pid, signal.SIGTERM)
        assert eventually(lambda: not Path(f"/proc/{pid}").exists(), 30)

    def kill_controller(self):
        """At once: what it has not written yet is forgotten."""
        pid = self.pid("slurmctld")
        os.kill(pid, signal.SIGKILL)
        assert eventually(lambda: not Path(f"/proc/{pid}").exists(), 30)

    def kill_node(self, node):
        """The daemon of a node, and those of its jobs."""
        os.kill(self.pid(f"slurmd.{node}"), signal.SIGKILL)
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                try:
                    command = (entry / "cmdline").read_bytes()
                    place = (entry / "cwd").readlink()
                except OSError:
                    continue
                if command.startswith(b"slurmstepd:") and node in str(place):
                    os.kill(int(entry.name), signal.SIGKILL)

    def close(self):
        self._call("scancel", "-u", "root")
        files = [*(self.directory / "run").glob("*.pid"), self.directory / "munge" / "pid"]
        pids = [int(file.read_text()) for file in files if file.exists()]
        eventually(lambda: (done := self._queue()) and not done.stdout.split(), 10)
        for pid in pids:
            try:
                os.kill(pid, signal.SIGTERM)
            except ProcessLookupError:
                continue
        end = time.monotonic() + 10
        while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < end:
            time.sleep(0.05)

    def _run(self, *words):
        subprocess.run(words, env={**os.environ, **self.environment}, check=True)

    def _call(self, *words):
        environment = {**os.environ, **self.environment}
        return subprocess.run(words, env=environment, check=False, capture_output=True, text=True)
