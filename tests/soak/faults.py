"""What goes wrong during a run, by the draws of a seed."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from contextlib import suppress
from random import Random

CUT = 10.0
"""seconds that a line is cut"""
SELDOM = (6.0, 14.0)
OFTEN = (5.0, 10.0)
"""seconds between two faults"""


class Faults:
    """`step` is called again and again; it does what is due. Only cuts, if nothing is killed.

    Every kind comes once before any comes again; the scheduler is killed once.
    """

    def __init__(self, site, seed, *, kills, cut=CUT, every=None, most=None, most_agents=2):
        self._site = site
        self._rng = Random(f"faults/{seed}")
        self._kills = kills
        self._cut = cut
        self._every = every or (OFTEN if kills else SELDOM)
        self._most = most
        """how many faults there are; None: as many as there is time for"""
        self._most_agents = most_agents
        self.reported = []
        """what was done, in order"""
        self.counts = Counter()
        """of what was done, by kind"""
        self.killed = {}
        """tokens of machines whose agents were killed, and when"""
        self.is_scheduler_due = kills
        self._begin = time.monotonic()
        self._next = self._begin + self._rng.uniform(*self._every)
        self._done = 0
        self._deck = []
        """what comes next, from its end"""
        self._cut_off = {}
        """machines whose lines are cut, and until when"""

    def step(self):
        now = time.monotonic()
        for machine, until in list(self._cut_off.items()):
            if until <= now:
                self._site.links.mend(machine)
                del self._cut_off[machine]
        if now < self._next or (self._most is not None and self._done >= self._most):
            return
        self._done += 1
        self._next = now + self._rng.uniform(*self._every)
        if not self._deck:
            self._deck = self._kinds()
            self._rng.shuffle(self._deck)
        self._deck.pop()()

    def _kinds(self):
        kinds = [self._cut_line, self._cut_line, self._cut_all]
        if self._kills:
            kinds += [self._kill_carrier, self._freeze_carrier, self._kill_agent]
        if self.is_scheduler_due:
            kinds.append(self._kill_scheduler)
        return kinds

    def __str__(self):
        return ", ".join(f"{kind} {count}" for kind, count in self.counts.items()) or "no fault"

    def missing(self):
        """What should have happened by now, and did not."""
        wanted = ["line"]
        if self._kills:
            wanted += ["Dask worker killed", "Dask worker frozen", "scheduler killed"]
        return [f"no fault of the kind: {kind}" for kind in wanted if not self.counts[kind]]

    def end(self):
        for machine in self._cut_off:
            self._site.links.mend(machine)
        self._cut_off.clear()

    def note(self, kind, what):
        self.counts[kind] += 1
        self.reported.append(f"{time.monotonic() - self._begin:.1f} s: {what}")

    def _cut_line(self):
        whole = [one for one in self._site.links.machines() if one not in self._cut_off]
        if whole:
            self._cut_one(self._rng.choice(whole), breaks=self._rng.random() < 0.5)

    def _cut_all(self):
        breaks = self._rng.random() < 0.5
        for machine in self._site.links.machines():
            if machine not in self._cut_off:
                self._cut_one(machine, breaks=breaks)

    def _cut_one(self, machine, *, breaks):
        self.note("line", f"the line of {machine} is {'broken' if breaks else 'held'}")
        self._site.links.cut(machine, breaks=breaks)
        self._cut_off[machine] = time.monotonic() + self._cut

    def _kill_carrier(self):
        for number in self._one_of(self._site.carriers()):
            self.note("Dask worker killed", f"Dask worker {number} is killed")
            self._site.kill_carrier(number)

    def _freeze_carrier(self):
        for number in self._one_of(self._site.carriers()):
            self.note("Dask worker frozen", f"Dask worker {number} is frozen")
            self._site.freeze_carrier(number)

    def _kill_agent(self):
        if len(self.killed) >= self._most_agents:
            return
        for token, number in self._one_of(self._site.agents()):
            self.note("agent killed", f"agent {number} of {token} is killed")
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
            self.killed[token] = time.time()

    def _kill_scheduler(self):
        self.note("scheduler killed", "the Dask scheduler is killed")
        self._site.kill_scheduler()
        self.is_scheduler_due = False

    def _one_of(self, things):
        return [self._rng.choice(things)] if things else []
