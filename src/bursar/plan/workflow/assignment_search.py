"""The search behind `assignment`: which tasks deserve the faster offers, on a fixed set of samples.

With the luck of every task fixed, the mean makespan is convex in the times of the tasks. So the
choice is relaxed first: a task may take a blend of offers. Frank and Wolfe's method finds a good
blend: it follows what each task's time adds to the makespan, and picks, step by step, the offers
that take the least from it for the money. What it finds is rounded, and then improved: raise some
tasks beyond the budget, then lower those whose loss is least for the money that they free, where
the loss of each is known exactly from the longest ways to and from it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.kernels import assignment as assignment_kernel
from bursar.kernels import bag as bag_kernel
from bursar.kernels import makespan as makespan_kernel
from bursar.kernels.compiling import compile_kept, let_kernels_call, stamp_of
from bursar.plan.workflow.makespan import WorkflowTimes

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

STEPS: Final = 8
"""of each relaxation"""
SHARP: Final = (0.1, 0.01)
BROAD: Final = (0.4, 0.1)
"""how near to the last a parent must end to share the burden, as a share of the makespan: in the
first step and in the last. Sharp suits times that vary; where they hardly do, only broad converges,
and only if what was learned in earlier steps still counts."""
NEAR: Final = 0.02
"""the same, where whole assignments are improved"""
FAINT: Final = 1e-6
"""what a second of a task that never matters counts, so that the faster of equals is taken"""
AT_ONCE: Final = 0.5
"""of the money that is to be saved, before losses are judged again"""
FIRST_SUM: Final = 0.5
LAST_SUM: Final = 1e-3
"""what is spent beyond the budget, as a share of what it leaves above the least cost"""
CLIMBING: Final = 10
"""one of so many passes is for spending the budget step by step"""
KICKS: Final = 16
KICKED: Final = 3
"""how often so many tasks are moved at random, once nothing else helps, to search on from there"""
LESS: Final = 1 - 1e-9
"""a value must be so much better to count as better"""
TINY: Final = 1e-12


class FoundAssignment(msgspec.Struct, frozen=True, eq=False):
    """An assignment within its budget."""

    offers: Integers
    value: float
    cost: float


class Search:
    """A workflow in so many lanes, a multiple of four; `share` of them, the longest, are looked at.

    `costs[task, offer]` may be replaced between searches.
    """

    def __init__(
        self, workflow: WorkflowTimes, costs: Floats, share: float, lanes: int, seed: int
    ) -> None:
        self.workflow, self.costs = workflow, costs
        self.whole = 0
        """times that the workflow was run in all lanes"""
        self.partial = 0
        """changes of one task that were judged without running it"""
        tasks, dag = len(workflow.dag), workflow.dag
        self.means: Floats = workflow.table.mean(axis=1)[workflow.rows]
        self._all = np.arange(tasks)
        self._floor = 0.0
        self._edges = (dag.parents.starts, dag.parents.items, workflow.moves, dag.order)
        self._kernels = compiled()
        self._drawn = np.empty((tasks, workflow.offers, lanes))
        self._kernels.draw_times(workflow.table, workflow.rows, np.uint64(seed), self._drawn)
        self._times = np.empty((tasks, lanes))
        self._ends = np.empty((tasks, lanes))
        self._scratch = np.empty((tasks, lanes))
        self._makespans = np.empty(lanes)
        self.look_at(share)

    def look_at(self, share: float) -> None:
        """Look at this share of the lanes from now on, those with the longest makespans."""
        self._top = max(1, round(share * len(self._makespans)))

    def best(self, budget: float, passes: int, *starts: Integers) -> FoundAssignment:
        """A good assignment within the budget, which the cheapest one must be.

        Whatever starts are given, it is at least as good as each, lowered into the budget.
        """
        last = self.whole + passes
        rounded = [*self._relaxed(budget, SHARP, 1.0), *self._relaxed(budget, BROAD, 0.5)]
        climbed = [self._climbed(start, budget, passes // CLIMBING) for start in starts[:1]]
        found = [self.lowered(offers, budget) for offers in (*starts, *climbed, *rounded)]
        best = min(found, key=lambda one: one.value)
        best = self._polished(self._improved(best, budget, last), budget, last)
        rng = np.random.default_rng(0)
        for _ in range(KICKS):
            if self.whole >= last:
                break
            kicked = self._mended(self._kicked(best.offers, rng), budget)
            best = min(best, self._polished(kicked, budget, last), key=lambda one: one.value)
        return best

    # --- one assignment --------------------------------------------------------------------------

    def cost(self, offers: Integers) -> float:
        return float(self.costs[self._all, offers].sum())

    def least_cost(self) -> float:
        return self.cost(self.costs.argmin(axis=1))

    def value(self, offers: Integers) -> float:
        """The mean of the longest makespans, of as great a share as is to be looked at."""
        self._blend(offers, 1.0)
        return self._run()

    def chance_by(self, offers: Integers, deadline: float) -> float:
        self.value(offers)
        return float(np.mean(self._makespans <= deadline))

    def makespan_at(self, offers: Integers, share: float) -> float:
        """What the makespan does not pass in this share of the lanes."""
        self.value(offers)
        return float(np.quantile(self._makespans, share))

    def _blend(self, offers: Integers, share: float) -> None:
        self._kernels.blend(self._drawn, offers, share, self._times)

    def _run(self) -> float:
        self._kernels.run_forward(
            *self._edges, self.workflow.is_last, self._times, self._ends, self._makespans
        )
        self.whole += 1
        ascending = np.sort(self._makespans)
        self._floor = float(ascending[-self._top])
        return float(ascending[-self._top :].mean())

    def _burden(self, value: float, near: float) -> Floats:
        """[task, offer]: what it adds to the value, for the times that were run last."""
        burden = np.empty(self.costs.shape)
        self._kernels.price_times(
            *self._edges,
            self.workflow.is_last,
            self._drawn,
            self._times,
            self._ends,
            self._makespans,
            (self._makespans >= self._floor) / self._top,
            max(near * value, TINY),
            self._scratch,
            burden,
        )
        result: Floats = burden + FAINT * self.means
        return result

    # --- the relaxed choice ----------------------------------------------------------------------

    def _relaxed(self, budget: float, near: tuple[float, float], newest: float) -> list[Integers]:
        """Assignments near a good blend of offers within the budget; some cost more than it.

        The newest burden counts by this share beside those of earlier steps.
        """
        offers = self._within(self.means, budget)
        self._blend(offers, 1.0)
        blend = self._as_blend(offers)
        burden = np.zeros(self.costs.shape)
        best, least = blend.copy(), np.inf
        for step in range(STEPS):
            value = self._run()
            if value < least:
                best, least = blend.copy(), value
            width = near[0] * (near[1] / near[0]) ** (step / (STEPS - 1))
            burden += (self._burden(value, width) - burden) * max(newest, 1 / (step + 1))
            offers, share = self._within(burden, budget), 2 / (step + 3)
            self._blend(offers, share)
            blend += share * (self._as_blend(offers) - blend)
        if self._run() < least:
            best = blend
        wanted = (best * self.means).sum(axis=1, keepdims=True) / LESS
        as_fast = np.where(self.means <= wanted, self.costs, np.inf).argmin(axis=1)
        return [as_fast, best.argmax(axis=1), self._within(burden, budget)]

    def _within(self, burden: Floats, budget: float) -> Integers:
        offers = np.empty(len(burden), dtype=np.int64)
        self._kernels.pick_within(burden, self.costs, budget, offers)
        return offers

    def _as_blend(self, offers: Integers) -> Floats:
        blend = np.zeros(self.costs.shape)
        blend[self._all, offers] = 1.0
        return blend

    # --- whole assignments -----------------------------------------------------------------------

    def lowered(
        self, offers: Integers, budget: float, pinned: int | None = None
    ) -> FoundAssignment:
        """Move tasks to cheaper offers until the budget is kept, the least loss for money first.

        The pinned task stays where it is, as long as another can be moved.
        """
        value = self.value(offers)
        while (excess := self.cost(offers) - budget) > 0:
            tasks, to = self._savings(offers, value, self._floor, excess, pinned)
            offers = _changed(offers, tasks, to)
            value = self.value(offers)
        return FoundAssignment(offers, value, self.cost(offers))

    def trimmed(self, offers: Integers, deadline: float, chance: float) -> Integers:
        """Save money as long as the deadline is met with this chance; it must be at first."""
        most = above = self.cost(offers) - self.least_cost()
        while most > LAST_SUM * above:
            value = self.value(offers)
            tasks, to = self._savings(offers, value, deadline, most, None)
            if len(tasks) == 0:
                break
            cheaper = _changed(offers, tasks, to)
            if self.chance_by(cheaper, deadline) >= chance:
                offers = cheaper
            elif len(tasks) == 1:
                break
            else:
                most /= 3
        return offers

    def _savings(
        self, offers: Integers, value: float, floor: float, excess: float, pinned: int | None
    ) -> tuple[Integers, Integers]:
        """Tasks and their cheaper offers, to save a part of the excess; the times were just run."""
        losses = np.empty(self.costs.shape)
        self._kernels.run_backward(*self._edges, self._times, self._scratch)
        self.partial += self._kernels.judge_changes(
            self._drawn,
            offers,
            self.costs,
            self._times,
            self._ends,
            self._scratch,
            np.maximum(self._makespans, floor),
            losses,
        )
        saved = self.costs[self._all, offers][:, None] - self.costs
        is_less = saved > 0
        if pinned is not None and is_less.any(axis=1).sum() > is_less[pinned].any():
            is_less[pinned] = False
        rates = np.full(saved.shape, np.inf)
        rates[is_less] = (losses[is_less] + TINY * value) / np.minimum(saved[is_less], excess)
        to = rates.argmin(axis=1)
        tasks = np.argsort(rates[self._all, to], kind="stable")[: int(is_less.any(axis=1).sum())]
        before = np.cumsum(saved[tasks, to[tasks]]) - saved[tasks, to[tasks]]
        taken = tasks[before < AT_ONCE * excess]
        return taken, to[taken]

    def _raised(self, offers: Integers, money: float) -> Integers:
        """Spend so much more, or a little beyond, on what shortens the makespan most for it."""
        burden = self._burden(self.value(offers), NEAR)
        gain = burden[self._all, offers][:, None] - burden
        extra = np.maximum(self.costs - self.costs[self._all, offers][:, None], 0.0)
        rates = np.where(gain > 0, gain / np.maximum(extra, TINY * TINY), 0.0)
        to = rates.argmax(axis=1)
        rate = rates[self._all, to]
        tasks = np.argsort(-rate, kind="stable")[: int((rate > 0).sum())]
        before = np.cumsum(extra[tasks, to[tasks]]) - extra[tasks, to[tasks]]
        taken = tasks[before < money]
        return _changed(offers, taken, to[taken])

    def _climbed(self, offers: Integers, budget: float, steps: int) -> Integers:
        """Spend what is left in so many equal parts, each where it then shortens most."""
        for step in range(steps):
            left = budget - self.cost(offers)
            if left <= 0:
                break
            offers = self._raised(offers, left / (steps - step))
        return offers

    def _improved(self, best: FoundAssignment, budget: float, last: int) -> FoundAssignment:
        """Spend beyond the budget and save again, by ever smaller sums."""
        above = budget - self.least_cost()
        share = FIRST_SUM
        while share > LAST_SUM and self.whole < last:
            found = self.lowered(self._raised(best.offers, share * above), budget)
            if found.value < best.value * LESS:
                best = found
            else:
                share /= 3
        return best

    def _polished(self, best: FoundAssignment, budget: float, last: int) -> FoundAssignment:
        """Move one task after the other, those that matter most first, and repair what it costs."""
        is_better = True
        while is_better:
            is_better = False
            burden = self._burden(self.value(best.offers), NEAR)
            matters = burden[self._all, best.offers] - burden.min(axis=1)
            for task in np.argsort(-matters, kind="stable").tolist():
                for offer in range(self.workflow.offers):
                    if self.whole >= last:
                        return best
                    found = self._with_one_moved(best, task, offer, budget)
                    if found.value < best.value * LESS:
                        best, is_better = found, True
        return best

    def _with_one_moved(
        self, best: FoundAssignment, task: int, offer: int, budget: float
    ) -> FoundAssignment:
        if offer == best.offers[task]:
            return best
        return self._mended(_changed(best.offers, task, offer), budget, task)

    def _kicked(self, offers: Integers, rng: np.random.Generator) -> Integers:
        """A few tasks on offers at random."""
        tasks = rng.choice(len(offers), min(KICKED, len(offers)), replace=False)
        return _changed(offers, tasks, rng.integers(0, self.workflow.offers, len(tasks)))

    def _mended(
        self, offers: Integers, budget: float, pinned: int | None = None
    ) -> FoundAssignment:
        """Save what is too much, elsewhere than at the pinned task; or spend what is left."""
        left = budget - self.cost(offers)
        if left < 0:
            return self.lowered(offers, budget, pinned)
        plain = self.lowered(offers, budget)
        richer = self.lowered(self._raised(offers, left), budget, pinned)
        return min(plain, richer, key=lambda one: one.value)


def _changed(offers: Integers, tasks: Integers | int, to: Integers | int) -> Integers:
    changed = offers.copy()
    changed[tasks] = to
    return changed


class AssignmentKernels(msgspec.Struct, frozen=True):
    draw_times: Callable[..., None]
    blend: Callable[..., None]
    run_forward: Callable[..., None]
    run_backward: Callable[..., None]
    price_times: Callable[..., None]
    judge_changes: Callable[..., int]
    pick_within: Callable[..., float]
    sample_costs: Callable[..., None]


@cache
def compiled() -> AssignmentKernels:
    """The kernels; the first call imports numba and, once on a computer, compiles."""
    let_kernels_call(*assignment_kernel.PARTS)
    stamp = stamp_of(map(inspect.getsource, (bag_kernel, makespan_kernel, assignment_kernel)))
    return AssignmentKernels(
        *(
            compile_kept(getattr(assignment_kernel, name), stamp)
            for name in AssignmentKernels.__struct_fields__
        )
    )
