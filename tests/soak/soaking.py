"""One run at a site while things fail, and the verdicts on it (`verdicts.py`)."""

from __future__ import annotations

import shutil
import signal
import tempfile
import time
from pathlib import Path
from threading import Thread
from typing import NamedTuple

from tests.soak.faults import Faults
from tests.soak.verdicts import SLACK, RunRecord, Verdict

LONGEST = 600.0
"""seconds for a run; then it counts as stuck"""


class Way(NamedTuple):
    """What happens during a run."""

    kills: bool = False
    """Dask workers, agents and the scheduler are killed or frozen; else only lines are cut"""
    end: str = ""
    """`resumed`: bursar is killed, too, and resumed; `abandoned`: it is killed, and is not"""


WAYS = {
    "cuts": Way(),
    "kills": Way(kills=True),
    "resumed": Way(kills=True, end="resumed"),
    "abandoned": Way(end="abandoned"),
}


class Soak:
    """One run; `verdicts` are what came of it."""

    def __init__(self, site, work, faults, way, *, name="soak"):
        self._site = site
        self._work = work
        self._faults = faults
        self._way = way
        self._name = name
        self._lives = {}
        """by token: when an agent was first and last seen, by the wall clock"""
        self._was_killed = False
        self.printed = ""
        self.seconds = 0.0
        self.verdicts = []

    def run(self):
        begin = time.monotonic()
        workplace = self._site.workplace
        words = (*self._site.words, "--name", self._name)
        is_over = self._watch(workplace.start("run", *words, *self._work.words), begin)
        if self._was_killed:
            self._faults.note("bursar killed", f"bursar is killed, and {self._way.end}")
        if self._was_killed and self._way.end == "resumed":
            is_over = self._watch(workplace.start("resume", self._name), begin)
        self._faults.end()
        record = RunRecord(
            workplace.directory / ".bursar" / self._name,
            self._work,
            self._lives,
            may_repeat=self._may_repeat,
        )
        if self._was_killed and self._way.end == "abandoned":
            self._wait_for_leases(record)
        else:
            wrong = [] if is_over else [f"it printed {self.printed[-1500:]}"]
            self.verdicts = [Verdict("bursar ended well", wrong), *record.of_finished()]
        self.verdicts.append(Verdict("there were faults", self._faults.missing()))
        left = [f"{what} is left" for what in self._site.left_over(self._faults.killed)]
        self.verdicts += [*record.of_money(), Verdict("nothing is left", left)]
        self.seconds = time.monotonic() - begin

    @property
    def wrong(self):
        """Demands that do not hold, with why."""
        return [str(one) for one in self.verdicts if not one.holds]

    @property
    def _may_repeat(self):
        return bool(self._faults.killed) or self._was_killed

    def _wait_for_leases(self, record):
        """Nobody helps: what bursar left ends by itself, and not before it must."""
        lived = [token for token, _ in self._site.agents()]
        wrong = [] if lived else ["all of it ended with bursar"]
        self.verdicts = [Verdict("machines outlive bursar", wrong)]
        end = record.last_lease() + SLACK
        while time.time() < end and self._site.has_machines():
            self._site.look()
            self._look()
            time.sleep(0.2)
        self._look()

    def _watch(self, process, begin):
        """Whether it ended well; a process that is to be killed is, once a third is done."""
        lines = []
        reader = Thread(target=lambda: lines.extend(process.stdout))
        reader.start()
        while process.poll() is None:
            self._site.look()
            if self._work.has_begun:
                self._faults.step()
            self._look()
            is_due = self._way.end and self._work.done() > self._work.count // 3
            if is_due and not self._was_killed:
                self._was_killed = True
                process.kill()
                break
            if time.monotonic() - begin > LONGEST:
                process.send_signal(signal.SIGABRT)
                break
            time.sleep(0.2)
        process.wait()
        reader.join()
        process.stdout.close()
        self.printed += "".join(lines)
        return process.returncode == 0

    def _look(self):
        now = time.time()
        for token, _ in self._site.agents():
            first, _ = self._lives.get(token, (now, now))
            self._lives[token] = (first, now)


def soak_once(site_class, work_class, seed, way, *, sizes=None, **faults):
    """Run and judge one; what is wrong is kept to be looked at. `sizes`: of the work."""
    site = site_class(billing="10m" if way == Way() else "1m")
    try:
        work = work_class(site.workplace.directory, seed, **(sizes or {}))
        planned = Faults(site, seed, kills=way.kills, **faults)
        soak = Soak(site, work, planned, way)
        soak.run()
        if soak.wrong:
            kept = Path(tempfile.mkdtemp(prefix="soak-failed-"))
            shutil.copytree(site.workplace.directory, kept / "work", symlinks=True)
            (kept / "printed").write_text(soak.printed)
            planned.reported.append(f"kept in {kept}")
        return soak, planned
    finally:
        site.close()
