"""The model of section 5.6 of the workload thesis as it is printed: with an index for each machine.

It shares no code with `bursar.plan.optimum`. Slots, intervals, tasks, machines and works count from
0 here, where the thesis counts from 1. `x[j, k, t]`: task j begins on machine k in slot t.
`u[w, t]`: work w is complete in slot t, its last busy one.
"""

from __future__ import annotations

import numpy as np


class LiteralModel:
    """`times[j][k]` slots of task j on machine k, `needs` as pairs (i, j): i needs j."""

    def __init__(self, *, works, times, needs, arrivals, prices, budget, interval, slots):
        self.works, self.times, self.needs = works, np.array(times), needs
        self.arrivals, self.prices, self.budget = arrivals, np.array(prices), budget
        self.interval, self.slots = interval, slots

    def chosen(self, placed):
        """X of a schedule: by task its machine and its slot."""
        x = np.zeros((len(self.works), len(self.prices), self.slots), int)
        for task, (machine, slot) in enumerate(placed):
            x[task, machine, slot] = 1
        return x

    def completed(self, x):
        """u: each work is complete when its last task is."""
        u = np.zeros((len(self.arrivals), self.slots), int)
        for work in range(len(self.arrivals)):
            tasks = [j for j, one in enumerate(self.works) if one == work]
            last = max(self._last_slot(x, j) for j in tasks)
            if last < self.slots:
                u[work, last] = 1
        return u

    def _last_slot(self, x, task):
        return sum(
            (t + self.times[task, k] - 1) * x[task, k, t]
            for k in range(len(self.prices))
            for t in range(self.slots)
        )

    def _begin(self, x, task):
        return sum(t * x[task, k, t] for k in range(len(self.prices)) for t in range(self.slots))

    def running(self, x, machine, slot):
        """Tasks that run on a machine in a slot: the inner sum of (5.16) and (5.18)."""
        return sum(
            x[j, machine, r]
            for j in range(len(self.works))
            for r in range(max(0, slot - self.times[j, machine] + 1), slot + 1)
        )

    def broken(self, x):
        """The numbers of the equations that do not hold."""
        u, found = self.completed(x), set()
        machines, tasks = range(len(self.prices)), range(len(self.works))
        if any(x[j].sum() != 1 for j in tasks):
            found.add("5.15")
        busy = np.array([[self.running(x, k, t) for t in range(self.slots)] for k in machines])
        z = busy.reshape(len(self.prices), -1, self.interval).sum(axis=2)  # (5.16)
        y = np.minimum(1, z)  # (5.17)
        if (busy > 1).any():
            found.add("5.18")
        for i, j in self.needs:
            if self._begin(x, i) < self._last_slot(x, j) + 1:
                found.add("5.19")
        if any(self._begin(x, j) < self.arrivals[self.works[j]] for j in tasks):
            found.add("5.20")
        if (u.sum(axis=1) != 1).any():
            found.add("5.22")
        ends = (u * np.arange(self.slots)).sum(axis=1)
        if any(self._last_slot(x, j) > ends[self.works[j]] for j in tasks):
            found.add("5.23")
        if (self.prices @ y > self.budget).any():
            found.add("5.24")
        return found

    def profit(self, x):
        """What (5.25) maximises."""
        u = self.completed(x)
        return sum(
            self._value(w, t) * u[w, t]
            for w in range(len(self.arrivals))
            for t in range(self.slots)
        )

    def _value(self, work, slot):
        """(5.21), with the critical path on the offers that are fastest for each task."""
        free = self.arrivals[work] + self._critical_path(work) - 1
        return 1 if slot <= free else free - slot

    def _critical_path(self, work):
        longest = {}
        for task in range(len(self.works)):  # parents have smaller numbers
            before = [longest[j] for i, j in self.needs if i == task]
            longest[task] = min(self.times[task]) + max(before, default=0)
        return max(longest[j] for j, one in enumerate(self.works) if one == work)
