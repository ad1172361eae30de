"""Commands that do nothing, on two slots: what it costs to start, watch and record each of them.

bursar writes a journal, a directory with stdout and stderr for each task, and the ledger. GNU
parallel keeps the output apart too; xargs does nothing but start processes.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory, mkdtemp

from benchmarks.measure import Line, Result, Taken, least_of, run_timed, times_as_fast

TASKS = 5_000
SLOTS = 2
MARKET = f'[[offer]]\nname = "slot"\nbilling = "free"\nlimit = {SLOTS}\n'
RIVALS = {
    "GNU parallel": ["parallel", "--will-cite", f"-j{SLOTS}", "true"],
    "xargs": ["xargs", f"-P{SLOTS}", "-n1", "true"],
}
LEAST = {"GNU parallel": 3.0, "xargs": 0.75}
PACKAGES = {"parallel": "parallel", "xargs": "findutils"}


def measure(rounds: int) -> Result:
    numbers = "".join(f"{number}\n" for number in range(TASKS))
    with TemporaryDirectory() as directory:
        contenders = {"bursar run": partial(_bursar, directory, numbers)}
        missing = []
        for name, words in RIVALS.items():
            program = which(words[0])
            if program is None:
                missing.append(f"{name} (Debian and Ubuntu: package {PACKAGES[words[0]]})")
            else:
                contenders[name] = partial(run_timed, [program, *words[1:]], directory, numbers)
        best = least_of(contenders, rounds)
    return Result(
        title=f"{TASKS:,} commands (true) on {SLOTS} slots",
        lines=[Line(name, taken.clock, "s", taken.at(TASKS)) for name, taken in best.items()],
        goals=[
            times_as_fast(name, best, least, "bursar run")
            for name, least in LEAST.items()
            if name in best
        ],
        missing=missing,
    )


def _bursar(directory: str, numbers: str) -> Taken:
    """Each run has a directory of its own, which stays.

    For some seconds ext4 steps around each file that was deleted: the next run would pay for it.
    """
    program = str(Path(sys.executable).with_name("bursar"))
    home = mkdtemp(dir=directory)
    Path(home, "market.toml").write_text(MARKET)
    options = ["--quiet", "--market", "market.toml"]
    return run_timed([program, "run", *options, "true", "::::", "-"], home, numbers)
