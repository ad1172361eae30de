"""One run at a site while things fail, and the verdict on it.

What must hold: every task ends once, outputs are right, the ledger is exact, no machine lived
beyond what was paid, nothing is left. Where nothing but lines was cut, every task was executed
once.
"""

from __future__ import annotations

import shutil
import signal
import tempfile
import time
from collections import Counter
from pathlib import Path
from threading import Thread

from bursar.journal.reader import JournalReader
from bursar.journal.replay import load_state
from bursar.model.money import ZERO
from bursar.model.time import SECOND
from bursar.state import events as ev

LONGEST = 600.0
"""seconds for a run; then it counts as stuck"""
SLACK = 4.0
"""seconds that a machine has to end, on a busy computer, and to be seen"""


class Soak:
    """`resumes`: bursar is killed once, and resumed."""

    def __init__(self, site, work, faults, *, name="soak", resumes=False):
        self._site = site
        self._work = work
        self._faults = faults
        self._name = name
        self._resumes = resumes
        self._lives = {}
        """by token: when an agent was first and last seen, by the wall clock"""
        self._was_killed = False
        self.printed = ""
        self.seconds = 0.0

    def run(self):
        """What is wrong; empty: nothing is."""
        begin = time.monotonic()
        workplace = self._site.workplace
        words = (*self._site.words, "--name", self._name)
        is_over = self._watch(workplace.start("run", *words, *self._work.words), begin)
        if self._was_killed:
            self._faults.reported.append("bursar is killed, and resumed")
            is_over = self._watch(workplace.start("resume", self._name), begin)
        self._faults.end()
        self.seconds = time.monotonic() - begin
        return [f"bursar: {self.printed[-1500:]}"] if not is_over else self._verdict()

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
            if self._resumes and self._work.done() > self._work.count // 3:
                self._resumes, self._was_killed = False, True
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

    # --- the verdict -----------------------------------------------------------------------------

    def _verdict(self):
        home = self._site.workplace.directory / ".bursar" / self._name
        state = load_state(home / "journal.db", verified=True)
        with JournalReader(home / "journal.db") as reader:
            events = list(reader.events())
        wrong = self._work.wrong(home / "outputs")
        found = [f"outputs of {wrong} are wrong"] if wrong else []
        found += [f"{what} is left" for what in self._site.left_over(self._faults.killed)]
        found += self._tasks_wrong(events)
        found += self._money_wrong(state, events)
        return found

    def _tasks_wrong(self, events):
        started = {one.attempt: one for one in events if isinstance(one, ev.AttemptStarted)}
        ended = Counter(one.attempt for one in events if isinstance(one, ev.AttemptEnded))
        done = Counter(
            started[one.attempt].task
            for one in events
            if isinstance(one, ev.AttemptEnded) and one.outcome == "success"
        )
        found = [f"attempt {n} ended {times} times" for n, times in ended.items() if times > 1]
        for task in range(1, self._work.count + 1):
            began, ends = self._work.marks(task, "began"), self._work.marks(task, "ended")
            attempts = sum(1 for one in started.values() if one.task == task)
            if done[task] != 1:
                found.append(f"task {task} was done {done[task]} times")
            if began > attempts:
                found.append(f"task {task} was begun {began} times in {attempts} attempts")
            if not self._may_repeat and (began, ends, attempts) != (1, 1, 1):
                found.append(f"task {task}: begun {began}, ended {ends}, attempts {attempts}")
        return found

    @property
    def _may_repeat(self):
        return bool(self._faults.killed) or any("bursar" in one for one in self._faults.reported)

    def _money_wrong(self, state, events):
        """The ledger by our own arithmetic, and beside the lives of machines as they were seen."""
        state.ledger.check()
        offers = {offer.name: offer for offer in state.market.offers}
        rented = {one.machine: one for one in events if isinstance(one, ev.MachineRented)}
        downs = {one.machine: one for one in events if isinstance(one, ev.MachineDown)}
        began = next(one.began for one in events if isinstance(one, ev.RunCreated))
        found = [f"machine {n} never ended" for n in rented.keys() - downs.keys()]
        total = ZERO
        for machine, down in downs.items():
            if down.cause == "refused":
                continue
            start, offer = rented[machine], offers[rented[machine].offer]
            end = down.at if down.ended is None else down.ended
            units = -(-max(end - start.at, offer.minimum, 1) // offer.billing)
            total += offer.price * units
            found += self._life_wrong(machine, began + (start.at + units * offer.billing) / SECOND)
        if total != state.ledger.committed:
            found.append(f"the ledger has {state.ledger.committed}, the machines cost {total}")
        return found

    def _life_wrong(self, machine, paid):
        """No agent lives beyond what was paid; `paid` is by the wall clock."""
        lives = [life for token, life in self._lives.items() if token.endswith(f"/{machine}")]
        late = [last - paid for _, last in lives if last > paid + SLACK]
        return [f"machine {machine} lived {one:.1f} s longer than was paid" for one in late]


def soak_once(site_class, work_class, seed, *, kills, resumes=False, count=None, **faults):
    """Run and judge one; tells what is wrong, and the soak."""
    from tests.soak.faults import Faults

    site = site_class(billing="1m" if kills else "10m")
    try:
        sizes = {} if count is None else {"count": count}
        work = work_class(site.workplace.directory, seed, **sizes)
        planned = Faults(site, seed, kills=kills, **faults)
        soak = Soak(site, work, planned, resumes=resumes)
        wrong = soak.run()
        if wrong:
            kept = Path(tempfile.mkdtemp(prefix="soak-failed-"))
            shutil.copytree(site.workplace.directory, kept / "work", symlinks=True)
            (kept / "printed").write_text(soak.printed)
            planned.reported.append(f"kept in {kept}")
        return wrong, soak, planned
    finally:
        site.close()
