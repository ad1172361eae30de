"""Two machines that Dask carries, beside the local runner and beside Dask itself.

Commands that do nothing: `bursar run --on dask`, which starts a Dask cluster of its own, beside the
same run on this computer. Calls that do nothing: `BudgetExecutor` on a cluster that is there,
beside `client.map` on the same cluster. Processor time counts all processes: those that ended
meanwhile, wherever they were started, and the cluster.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

from benchmarks.measure import Goal, Line, Result, Taken, least_of, run_timed, timed

COMMANDS = CALLS = 20_000
MACHINES = 2
MARKET = f'[[offer]]\nname = "slot"\nbilling = "free"\nlimit = {MACHINES}\n'
LEAST_OF_LOCAL = 0.6
LEAST_OF_MAP = 3.0
PR_SET_CHILD_SUBREAPER = 36
JIFFIES = os.sysconf("SC_CLK_TCK")


def measure(rounds: int) -> Result:
    if find_spec("distributed") is None:
        return Result("Machines of Dask", [], [], ["dask: pip install 'bursar[dask]'"])
    _adopt_orphans()
    with TemporaryDirectory() as home:
        commands = least_of(
            {
                "commands, local": partial(_commands, home),
                "commands, on dask": partial(_commands, home, "--on", "dask"),
            },
            rounds,
        )
        with _cluster(home) as cluster:
            calls = least_of(
                {
                    "calls, client.map": partial(_calls, cluster, "client", home),
                    "calls, BudgetExecutor": partial(_calls, cluster, "bursar", home),
                },
                rounds,
            )
    return Result(
        title=f"{COMMANDS:,} commands (true), {CALLS:,} Python calls on {MACHINES} Dask machines",
        lines=[
            Line(name, taken.clock, "s", taken.at(count))
            for count, best in ((COMMANDS, commands), (CALLS, calls))
            for name, taken in best.items()
        ],
        goals=[
            *_as_fast("commands, on dask", "commands, local", commands, LEAST_OF_LOCAL),
            *_as_fast("calls, BudgetExecutor", "calls, client.map", calls, LEAST_OF_MAP),
        ],
    )


def _as_fast(ours: str, other: str, best: dict[str, Taken], least: float) -> Iterator[Goal]:
    """By the clock; and, where others are at work on this computer, by processor time."""
    yield Goal(
        f"{ours} beside {other}",
        best[other].clock / best[ours].clock,
        ">=",
        least,
        "times as fast by the clock",
    )
    yield Goal(
        f"{ours} beside {other}",
        best[other].processor / best[ours].processor,
        ">=",
        least,
        "times as fast by processor time",
    )


# --- commands ------------------------------------------------------------------------------------


def _commands(directory: str, *options: str) -> Taken:
    """Each run has a directory of its own, which stays: see `commands.py`."""
    program = str(Path(sys.executable).with_name("bursar"))
    home = mkdtemp(dir=directory)
    Path(home, "market.toml").write_text(MARKET)
    words = ["run", "--quiet", "--market", "market.toml", *options, "true", "::::", "-"]
    numbers = "".join(f"{number}\n" for number in range(COMMANDS))
    with timed() as taken:
        clock = run_timed([program, *words], home, numbers).clock
        _reap_orphans()
    return Taken(clock, taken.processor)


# --- calls ---------------------------------------------------------------------------------------


class _Cluster:
    """A scheduler and its workers, as their users start them."""

    def __init__(self, address: str, processes: Sequence[subprocess.Popen[bytes]]) -> None:
        self.address = address
        self.pids = [process.pid for process in processes]

    def processor_time(self) -> float:
        """Of its processes and of their children that ended, in seconds."""
        return sum(map(_processor_time, self.pids))


@contextmanager
def _cluster(home: str) -> Iterator[_Cluster]:
    with TemporaryDirectory(dir=home) as place:
        file = Path(place, "scheduler.json")
        started = [_dask("scheduler", "--host", "127.0.0.1", "--port", "0", file=file)]
        started += [
            _dask("worker", "--nthreads", "1", "--no-nanny", "--host", "127.0.0.1", file=file)
            for _ in range(MACHINES)
        ]
        try:
            yield _Cluster(_address_with_workers(file), started)
        finally:
            for process in started:
                process.kill()
                process.wait()


def _dask(*words: str, file: Path) -> subprocess.Popen[bytes]:
    program = str(Path(sys.executable).with_name("dask"))
    return subprocess.Popen(
        [program, *words, "--no-dashboard", "--scheduler-file", str(file)],
        cwd=file.parent,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _address_with_workers(file: Path) -> str:
    from distributed import Client

    while not file.exists():
        time.sleep(0.05)
    with Client(scheduler_file=str(file), set_as_default=False) as client:
        client.wait_for_workers(MACHINES, timeout=120)
        return str(client.scheduler.address)


def _calls(cluster: _Cluster, name: str, home: str) -> Taken:
    """By the clock, what the pool takes from its start to its end."""
    used = cluster.processor_time()
    with timed() as taken:
        found = subprocess.run(
            [sys.executable, "-m", __name__, name, cluster.address],
            env={**os.environ, "BURSAR_HOME": home},
            stdout=subprocess.PIPE,
            check=True,
        )
        _reap_orphans(cluster.pids)
    return Taken(float(found.stdout), taken.processor + cluster.processor_time() - used)


def nothing(number: int) -> int:
    return number


def _called_by_dask(address: str) -> Iterable[int]:
    from distributed import Client

    with Client(address) as client:
        found: list[int] = client.gather(client.map(nothing, range(CALLS), pure=False))
        return found


def _called_by_bursar(address: str) -> Iterable[int]:
    from bursar import BudgetExecutor

    with BudgetExecutor(on="dask", scheduler=address) as pool:
        return list(pool.map(nothing, range(CALLS)))


# --- processor time of all processes -------------------------------------------------------------


def _adopt_orphans() -> None:
    """Agents outlive those who started them: let this process be their parent then."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "orphans cannot be adopted")


def _reap_orphans(known: Collection[int] = ()) -> None:
    """Wait until all but these children have ended, so that their processor time is known."""
    while orphans := {*_children()} - {*known}:
        for pid in orphans:
            os.waitpid(pid, 0)


def _children() -> Iterator[int]:
    for thread in Path("/proc/self/task").iterdir():
        yield from map(int, (thread / "children").read_text().split())


def _processor_time(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(one) for one in fields[11:15]) / JIFFIES


if __name__ == "__main__":
    began = time.perf_counter()
    run = {"client": _called_by_dask, "bursar": _called_by_bursar}[sys.argv[1]]
    if list(run(sys.argv[2])) != list(range(CALLS)):
        raise SystemExit("the calls did not return what they should")
    print(time.perf_counter() - began)
