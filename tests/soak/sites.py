"""Where a soak runs: each site starts its services, and knows where machines keep their agents."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from tests import slurm_cluster, ssh_server
from tests.dask_cluster import DaskCluster, eventually, free_port
from tests.soak.links import Links
from tests.workplace import Workplace, command_of

from bursar.execute.remote.places import name_of

HEAD = Path(__file__).with_name("head.py")
MARKET = """
[[offer]]
name = "lab"
price = "0.01"
billing = "{billing}"
slots = 2
limit = {machines}
{more}
"""
MACHINES = 3


class Site:
    """A workplace, lines to machines, and machines. To be `close`d."""

    on = ()
    more = ""

    def __init__(self, *, billing="10m", **environment):
        self.home = Path(tempfile.mkdtemp(prefix="soak-"))
        (self.home / "work").mkdir()
        self.links = Links(self.home)
        environment = {"BURSAR_MACHINE_DIR": str(self.home / "m"), **environment}
        self.workplace = Workplace(self.home / "work", **environment)
        self.workplace.program = [sys.executable, str(HEAD), str(self.links.path)]
        text = MARKET.format(billing=billing, machines=MACHINES, more=self.more)
        self.write_market(text)

    def write_market(self, text):
        (self.workplace.directory / "market.toml").write_text(text)

    @property
    def words(self):
        market = ("--market", "market.toml", "--budget", "50", "--fleet", f"lab={MACHINES}")
        return ("--on", *self.on, *market)

    def places(self):
        """Directories in which agents may be."""
        return [self.home / "m"]

    def agents(self):
        """Living ones: (token, process)."""
        found = []
        for root in self.places():
            for place in root.iterdir() if root.is_dir() else ():
                try:
                    token, pid = (place / "token").read_text(), (place / "lock").read_text()
                except OSError:
                    continue
                if pid.strip() and Path(f"/proc/{pid.strip()}").exists():
                    found.append((token, int(pid)))
        return sorted(found)

    def carriers(self):
        """Processes of Dask workers."""
        return self.workplace.processes("dask_worker")

    def kill_carrier(self, number):
        _kill(number, signal.SIGKILL)

    def freeze_carrier(self, number):
        """Its agent ends it after a while."""
        _kill(number, signal.SIGSTOP)

    def has_machines(self):
        """Whether something that was rented may still live."""
        return bool(self.agents())

    def look(self):
        """To be called now and then."""

    def kill_scheduler(self):
        """Bursar starts it again."""
        for number in self.workplace.processes("dask_scheduler"):
            _kill(number, signal.SIGKILL)

    def left_over(self, killed):
        """What must not be there after a run; these agents were killed and could not tidy up."""
        killed = {name_of(token) for token in killed}
        places = [one for root in self.places() if root.is_dir() for one in root.iterdir()]
        eventually(lambda: not self._processes_left(), 20)
        return [*(one for one in places if one.name not in killed), *self._processes_left()]

    def _processes_left(self):
        """Of bursar, of agents and of what they started, also without our environment."""
        roots = [str(root) for root in (*self.places(), self.workplace.directory)]
        found = {n: command_of(n) for n in _all_processes()}
        found = {n: said for n, said in found.items() if any(root in said for root in roots)}
        found |= {n: command_of(n) for n in self.workplace.processes()}
        return [f"process {n} ({said[-200:]})" for n, said in found.items()]

    def close(self):
        for number in self.workplace.processes():
            _kill(number, signal.SIGKILL)
        self.links.close()
        shutil.rmtree(self.home, ignore_errors=True)


class SshSite(Site):
    on = ("ssh", "--listen", "127.0.0.1")
    more = 'hosts = ["ada", "grace", "edsger"]'
    why_not = ssh_server.WHY_NOT

    def __init__(self, **options):
        self._place = Path(tempfile.mkdtemp(prefix="soak-ssh-"))
        self.server = ssh_server.SshServer(self._place)
        super().__init__(BURSAR_SSH=self.server.command, **options)

    def places(self):
        return [self.server.machine_dir(host) for host in self.server.hosts]

    def carriers(self):
        """A host does not have our environment: its agents are found by their parents."""
        agents = {pid for _, pid in self.agents()}
        return [
            n for n in _all_processes() if _parent(n) in agents and "dask_worker" in command_of(n)
        ]

    def close(self):
        for _, pid in self.agents():
            _kill(pid, signal.SIGKILL)
        super().close()
        self.server.stop()
        shutil.rmtree(self._place, ignore_errors=True)


class SlurmSite(Site):
    on = ("slurm", "--listen", "127.0.0.1")
    more = 'partition = "main"'
    why_not = slurm_cluster.WHY_NOT

    def __init__(self, **options):
        self._place = Path(tempfile.mkdtemp(prefix="soak-slurm-"))
        self.slurm = slurm_cluster.SlurmCluster(self._place)
        super().__init__(**self.slurm.environment, **options)

    def has_machines(self):
        return bool(self.agents() or self.slurm.jobs())

    def left_over(self, killed):
        eventually(lambda: not self.slurm.jobs(), 10)
        return [*super().left_over(killed), *(f"job {one}" for one in self.slurm.jobs())]

    def close(self):
        super().close()
        self.slurm.close()
        shutil.rmtree(self._place, ignore_errors=True)


class LinkedDask(DaskCluster):
    """Workers reach the scheduler, and are reached, through lines."""

    def __init__(self, directory, links, workers):
        self._links = links
        super().__init__(directory, workers)

    def start_worker(self, name):
        port = free_port()
        scheduler = self._links.port(name, f"127.0.0.1:{self.port}")
        reached = self._links.port(name, f"127.0.0.1:{port}")
        contact = ("--contact-address", f"tcp://127.0.0.1:{reached}")
        contact += ("--listen-address", f"tcp://127.0.0.1:{port}")
        words = ("--name", name, "--nthreads", "2", "--no-nanny")
        place = ("--local-directory", str(self.directory / name))
        return self._start(name, "worker", f"tcp://127.0.0.1:{scheduler}", *words, *contact, *place)


class DaskSite(Site):
    """Somebody's cluster, which starts what ended again, as a nanny does."""

    why_not = None

    def __init__(self, **options):
        super().__init__(**options)
        self._place = Path(tempfile.mkdtemp(prefix="soak-dask-"))
        self.cluster = LinkedDask(self._place, self.links, MACHINES)
        self.on = ("dask", "--scheduler", self.cluster.address)
        self._thaw = []
        if not eventually(self.cluster.is_up, 180):
            self.close()
            raise AssertionError("the Dask cluster does not start")

    def places(self):
        return [self._place / "m"]

    def carriers(self):
        return [one.pid for one in self.cluster.workers.values() if one.poll() is None]

    def freeze_carrier(self, number):
        """Nobody ends it: it wakes up after a while."""
        _kill(number, signal.SIGSTOP)
        self._thaw.append((time.monotonic() + 10, number))

    def kill_scheduler(self):
        self.cluster.scheduler.kill()
        self.cluster.scheduler.wait()
        self.cluster.scheduler = self.cluster.start_scheduler()

    def look(self):
        """Start what ended; to be called now and then."""
        now = time.monotonic()
        for due, number in list(self._thaw):
            if due < now:
                _kill(number, signal.SIGCONT)
                self._thaw.remove((due, number))
        for name, process in self.cluster.workers.items():
            if process.poll() is not None:
                self.cluster.workers[name] = self.cluster.start_worker(name)

    def close(self):
        for _, pid in self.agents():
            _kill(pid, signal.SIGKILL)
        self.cluster.close()
        super().close()
        shutil.rmtree(self._place, ignore_errors=True)


class Ec2Site(Site):
    on = ("ec2", "--listen", "127.0.0.1")
    why_not = None

    def __init__(self, **options):
        from tests.ec2_cloud import Moto, Player

        self._place = Path(tempfile.mkdtemp(prefix="soak-ec2-"))
        self.moto = Moto(self._place)
        self.player = Player(self.moto, self._place / "machines")
        super().__init__(**self.moto.environment(), **options)

    def write_market(self, text):
        from tests.ec2_cloud import IMAGE

        super().write_market(
            f'[[offer]]\nname = "lab"\nprice = "0.085/h"\nbilling = "1s"\nminimum = "60s"\n'
            f'slots = 2\nlimit = {MACHINES}\ninstance_type = "c5.large"\nimage = "{IMAGE}"\n'
        )

    def places(self):
        return [Path(one.agents) for one in list(self.player.machines.values())]

    def carriers(self):
        machines = list(self.player.machines.values())
        return [n for one in machines for n in one.processes() if ".dask_worker" in command_of(n)]

    def has_machines(self):
        return bool(self.moto.living())

    def left_over(self, killed):
        eventually(lambda: not self.player.machines, 10)
        return [*super().left_over(killed), *self.moto.living()]

    def close(self):
        self.player.close()
        super().close()
        self.moto.close()
        shutil.rmtree(self._place, ignore_errors=True)


SITES = {"ssh": SshSite, "slurm": SlurmSite, "dask": DaskSite, "ec2": Ec2Site}


def _kill(number, what):
    with suppress(ProcessLookupError):
        os.kill(number, what)


def _all_processes():
    return [int(one.name) for one in Path("/proc").iterdir() if one.name.isdecimal()]


def _parent(number):
    try:
        return int(Path(f"/proc/{number}/stat").read_text().rpartition(") ")[2].split()[1])
    except (OSError, ValueError):
        return 0
