"""How near the chosen assignment is to the best there is: all are tried, by drawn executions.

The luck that all assignments are tried with is also what the chosen one is judged by. So the best
of all has been picked for its luck, too, and a ratio to it is rather too high than too low.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bursar.model.dag import Dag
from bursar.model.errors import InvariantError
from bursar.model.workflow_builder import WorkflowBuilder
from bursar.plan.published.prob_problem import by_level_and_kind
from bursar.plan.workflow.makespan import WorkflowTimes
from bursar.reproduce.prob_execution import WorkflowExecutions
from bursar.reproduce.prob_methods import Methods
from bursar.reproduce.prob_queries import MapReduceJob, query
from bursar.reproduce.prob_setting import BUDGETS, PRICES, TYPES, ProbCase
from bursar.reproduce.result import Row, between, checked

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

NEAR: Final = 1.05
"""no more than so much by the best"""
NEAR_BEST: Final = between(0, NEAR, "no more than 5 % above the best of all")
DRAWN: Final = 1000
"""executions, of each assignment of a small workflow"""
AT_ONCE: Final = 512
"""assignments of a small workflow that are run together"""
MOST_TRIED: Final = 2000
"""assignments by group"""


# --- small workflows, task by task ---------------------------------------------------------------


def small_cases() -> list[ProbCase]:
    """Six tasks each: side by side, one behind the other, and all-to-all."""
    parts = [
        {"cpu": 20.0, "io": 5.0, "network": 0.0},
        {"cpu": 60.0, "io": 8.0, "network": 2.0},
        {"cpu": 30.0, "io": 20.0, "network": 6.0},
        {"cpu": 10.0, "io": 12.0, "network": 18.0},
        {"cpu": 45.0, "io": 2.0, "network": 9.0},
        {"cpu": 15.0, "io": 25.0, "network": 25.0},
    ]
    fork = [[], [0], [0], [0], [0], [1, 2, 3, 4]]
    chains = [[], [0], [1], [], [3], [4]]
    jobs = (MapReduceJob(2, 4, 1, 3, 1), MapReduceJob(2, 3, 1, 2, 1))
    return [
        ProbCase("fork and join", _flow("fork", fork, parts)),
        ProbCase("two chains", _flow("chains", chains, parts)),
        ProbCase("small query", query("query", jobs)),
    ]


def _flow(name: str, parents: Sequence[Sequence[int]], parts: Sequence[dict[str, float]]) -> Dag:
    flow = WorkflowBuilder(name)
    for number, (needs, runtime) in enumerate(zip(parents, parts, strict=True)):
        needed = [f"task_{one}" for one in needs]
        flow.task(f"task_{number}", needs=needed, runtime=runtime, kind=f"kind{number}")
    return flow.build()


def least_of_all(case: ProbCase, budget: float, executions: WorkflowExecutions) -> float:
    """The least mean makespan of all assignments whose expected cost is within the budget."""
    tasks = len(case.dag)
    every = np.array(list(product(range(len(TYPES)), repeat=tasks)))
    costs = (case.expected * PRICES)[np.arange(tasks), every].sum(axis=1)
    affordable = every[costs <= budget]
    drawn = [executions.task_times(np.full(tasks, offer)) for offer in range(len(TYPES))]
    times = np.array(drawn)
    blocks = np.array_split(affordable, -(-len(affordable) // AT_ONCE))
    return min(float(_makespans(case, times, block).min()) for block in blocks)


def _makespans(case: ProbCase, times: Floats, assignments: Integers) -> Floats:
    """[assignment]: the means, of `times[offer, task, execution]`."""
    dag = case.dag
    ends: dict[int, Floats] = {}
    for task in dag.order.tolist():
        parents = dag.parents.items[dag.parents.starts[task] : dag.parents.starts[task + 1]]
        ends[task] = times[assignments[:, task], task]
        if len(parents):
            ends[task] = ends[task] + np.max([ends[one] for one in parents.tolist()], axis=0)
    longest: Floats = np.max(list(ends.values()), axis=0).mean(axis=1)
    return longest


def small_rows(drawn: int = DRAWN) -> Iterator[Row]:
    for case in small_cases():
        methods, executions = Methods(case), WorkflowExecutions(case, drawn)
        for label, share in BUDGETS.items():
            budget = case.budget(share)
            chosen = methods.prob(budget)
            if chosen is None:
                raise InvariantError(f"{case.name}, {label}: nothing was found within the budget")
            ratio = executions.run(chosen.offers).time / least_of_all(case, budget, executions)
            what = f"{case.name}, {label}: time by the best of all {len(TYPES) ** 6:,} assignments"
            yield checked(what, ratio, NEAR_BEST)


# --- large workflows, group by group -------------------------------------------------------------


def least_by_group(
    case: ProbCase, budget: float, samples: int, seed: int
) -> tuple[float, int] | None:
    """The least mean makespan where tasks of one level and kind share an offer; and how many ways.

    None: there are too many ways to try.
    """
    groups = by_level_and_kind(case.problem(budget))
    count = int(groups.max()) + 1
    if len(TYPES) ** count > MOST_TRIED:
        return None
    costs = np.zeros((count, len(TYPES)))
    np.add.at(costs, groups, case.expected * PRICES)
    ways = [
        state
        for state in product(range(len(TYPES)), repeat=count)
        if costs[np.arange(count), state].sum() <= budget
    ]
    means = (mean_makespan(case.times, np.array(one)[groups], samples, seed) for one in ways)
    return min(means), len(TYPES) ** count


def mean_makespan(times: WorkflowTimes, offers: Integers, samples: int, seed: int) -> float:
    return float(times.sample(offers, samples, seed=seed).mean())
