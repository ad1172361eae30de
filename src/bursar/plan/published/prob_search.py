"""The search for an assignment, one for Prob and for what it is compared to (section 3.2).

A state gives each group of tasks an offer. The search begins with the lowest price for all; a step
moves one group to the next higher price. As published a group is one task; with ten thousand tasks
that is hopeless, so tasks of one level and kind may move together: the caller chooses.

The generic search goes breadth first. A* takes the most promising state first. What a state
promises is the least that may be behind it: by the expected times of nodes, and with each group
moved as far as the budget would bear it alone. No expected makespan behind it is shorter, so where
the best so far is not longer than the promise, a state is left out. The order goes by the promise
and the state's own length together: many states promise the same, those that have spent nothing
most of all, and by promises alone a search of limited length would not get beyond them.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator
from enum import Enum
from typing import Final, Generic

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bursar.model.errors import InputError
from bursar.plan.published.prob_evaluation import Evaluation, State
from bursar.plan.published.prob_operations import PUBLISHED, Tally, Techniques
from bursar.plan.published.prob_paths import Paths, preprocess
from bursar.plan.published.prob_problem import Problem, Solution, by_level_and_kind, checked_groups
from bursar.plan.published.prob_times import T, Times

Floats = NDArray[np.float64]

ITERATIONS: Final = 200
"""states that are looked at, by default"""
ROUNDING: Final = 1e-9
"""so much may sums differ that should be the same"""


class Method(Enum):
    GENERIC = "generic"
    A_STAR = "a-star"


def search(
    problem: Problem,
    times: Times[T],
    *,
    paths: Paths | None = None,
    groups: ArrayLike | None = None,
    method: Method = Method.A_STAR,
    techniques: Techniques = PUBLISHED,
    iterations: int = ITERATIONS,
) -> Solution | None:
    """The best assignment that was found within the budget; None: none was found.

    Cost and time are what `times` takes them for, right or wrong. Paths are those of `preprocess`,
    which can be made once for a workflow; groups are of `by_level_and_kind` unless given.
    """
    if iterations < 1:
        raise InputError(f"a search of {iterations} steps; give it at least 1")
    times.tally = Tally()
    chosen = by_level_and_kind(problem) if groups is None else groups
    known = preprocess(problem.dag) if paths is None else paths
    evaluation = Evaluation(
        problem, times, known, checked_groups(chosen, problem.tasks), techniques
    )
    space = _Space(problem, evaluation)
    best = space.best(method, iterations)
    if best is None:
        return None
    makespan = evaluation.makespan(best)
    return Solution(
        offers=np.array(best, dtype=np.int64)[evaluation.groups],
        expected_time=times.mean(makespan),
        expected_cost=evaluation.cost(best),
        distribution=times.distribution(makespan),
        tally=times.tally,
    )


class _Space(Generic[T]):
    """The states of a problem, and the ways through them."""

    def __init__(self, problem: Problem, evaluation: Evaluation[T]) -> None:
        self.evaluation = evaluation
        self.budget = problem.budget
        order = np.argsort(problem.prices_per_second, kind="stable")
        self.begin: State = (int(order[0]),) * len(evaluation.costs)
        self._next = dict(zip(order[:-1].tolist(), order[1:].tolist(), strict=True))
        self._place = np.empty(problem.offers, dtype=np.int64)
        self._place[order] = np.arange(problem.offers)

    def best(self, method: Method, iterations: int) -> State | None:
        """Algorithm 1: each state within the budget is compared with the best one so far."""
        best: State | None = None
        tally = self.evaluation.times.tally
        walk = _Breadth(self) if method is Method.GENERIC else _Promise(self)
        for state in walk:
            tally.states += 1
            if self.evaluation.cost(state) <= self.budget and (
                best is None or self.evaluation.is_longer(best, state)
            ):
                best = state
                walk.found(state)
            if tally.states == iterations:
                break
        return best

    def steps(self, state: State) -> Iterator[State]:
        """One group moved to the next offer by price."""
        for group, offer in enumerate(state):
            if offer in self._next:
                yield (*state[:group], self._next[offer], *state[group + 1 :])

    def reachable(self, states: list[State]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """[state]: whether the budget may bear it or any behind it; and [state, group, offer].

        An offer counts where the budget bears it, were all other groups as cheap as they can be.
        """
        costs = self.evaluation.costs
        ahead = self._place >= self._place[np.array(states)][:, :, None]
        least = np.where(ahead, costs, np.inf).min(axis=2)
        total = least.sum(axis=1) + self.evaluation.network_cost
        others = total[:, None] - least
        bearable = ahead & (others[:, :, None] + costs <= self.budget * (1 + ROUNDING))
        return bearable.any(axis=2).all(axis=1), bearable

    def makespan_mean(self, state: State) -> float:
        return self.evaluation.times.mean(self.evaluation.makespan(state))


class _Breadth(Generic[T]):
    """All states, those with fewer steps first."""

    def __init__(self, space: _Space[T]) -> None:
        self._space = space

    def __iter__(self) -> Iterator[State]:
        seen = {self._space.begin}
        waiting = deque(seen)
        while waiting:
            state = waiting.popleft()
            yield state
            for step in self._space.steps(state):
                if step not in seen:
                    seen.add(step)
                    waiting.append(step)

    def found(self, state: State) -> None:
        """A better one changes nothing."""


class _Promise(Generic[T]):
    """The state first whose promise and own length are least together."""

    def __init__(self, space: _Space[T]) -> None:
        self._space = space
        self._bound = space.evaluation.bound()
        self._least = np.inf

    def __iter__(self) -> Iterator[State]:
        waiting = self._judged([self._space.begin])
        seen = {self._space.begin}
        while waiting:
            _, promise, state = heapq.heappop(waiting)
            if promise >= self._least:
                continue
            yield state
            steps = [step for step in self._space.steps(state) if step not in seen]
            seen.update(steps)
            for entry in self._judged(steps):
                heapq.heappush(waiting, entry)

    def found(self, state: State) -> None:
        """What cannot become shorter than the best is not worth a look."""
        mean = self._space.makespan_mean(state)
        self._least = min(self._least, mean * (1 - ROUNDING))

    def _judged(self, states: list[State]) -> list[tuple[float, float, State]]:
        """The order, the promise and the state, of those that the budget may bear."""
        if not states:
            return []
        can_be_borne, bearable = self._space.reachable(states)
        kept = [state for state, is_one in zip(states, can_be_borne, strict=True) if is_one]
        if not kept:
            return []
        as_is = np.array(kept)[:, :, None] == np.arange(bearable.shape[2])
        promised = self._bound.lengths(bearable[can_be_borne])
        own = self._bound.lengths(as_is)
        return list(zip((promised + own).tolist(), promised.tolist(), kept, strict=True))
