"""The best schedule by constraint programming (OR-tools CP-SAT), with a bound that is proved.

Each task has an optional interval on each offer. For each offer, tasks at one time never exceed the
machines that are active then, and those cost at most the budget of each interval. The search begins
with a schedule by annealing. The bound is the better one of CP-SAT's and of a relaxation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bursar.model.errors import InputError, InvariantError
from bursar.plan.optimum.annealed import annealed
from bursar.plan.optimum.greedy import greedy
from bursar.plan.optimum.relaxation import relaxed_bound
from bursar.plan.optimum.slotted import (
    Aim,
    Placed,
    SlottedSchedule,
    SlottedWorkload,
    cost_of,
    problems,
)

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel

SECONDS: Final = 120.0
"""How long the search may take."""
FIRST: Final = 0.05
"""The part of the time that the first search may take."""
BRIEFLY: Final = 0.02
LONGER: Final = 0.05
"""The parts of it in which lists are changed at random, before and after the relaxation."""
ANOTHER_SEED: Final = 100
RELAXING: Final = 0.6
"""The part of it that the relaxation may take."""
SPARE: Final = 0.01
"""The part of it that no search is given: solvers look at their clocks now and then only."""
WORKERS: Final = 2
INSTALL: Final = "the optimum needs OR-tools; install it: pip install 'bursar[optimum]'"


class Optimum(msgspec.Struct, frozen=True):
    """The best schedule found, and what no schedule can be better than."""

    schedule: SlottedSchedule
    cost: int
    """what was minimised: see `cost_of`"""
    bound: int
    is_optimal: bool

    @property
    def gap(self) -> float:
        """How much better the best could be, at the most, as a share of what was found."""
        return 0.0 if not self.cost else (self.cost - self.bound) / self.cost


def optimum(
    instance: SlottedWorkload,
    aim: Aim = "lateness",
    *,
    seconds: float = SECONDS,
    clock: Callable[[], float],
    begun: float | None = None,
    within: float = 0.0,
    workers: int = WORKERS,
    start: SlottedSchedule | None = None,
) -> Optimum:
    """Search for so long at most, by a clock that counts seconds; end once the gap is `within`.

    The time is up by the clock, however busy the computer is: each part gets its share or what is
    left, whichever is less. `begun` is when the time began, if that is not now.

    A short search comes first, from `start` or a greedy schedule; small workloads end with it. Then
    lists of tasks are changed at random, and a relaxation bounds the best from below. What is left
    of the time goes into more such lists, and a search that knows all this.
    """
    end = (clock() if begun is None else begun) + (1 - SPARE) * seconds

    def left() -> float:
        return max(0.0, end - clock())

    known = _best_start(instance, aim, start)
    found = _searched(instance, aim, known, 0, min(FIRST * seconds, left()), workers, within)
    best = _checked(instance, aim, found, known)
    if best is not None and best.gap > within:
        best = _annealed(instance, aim, best, BRIEFLY * seconds, left, seed=0)
    if (best is None or best.gap > within) and left():
        cost = None if best is None else best.cost
        relaxing = RELAXING * seconds
        relaxed = relaxed_bound(instance, aim, seconds=relaxing, left=left, known=cost) or 0
        found = _Found(None if best is None else best.schedule, max(relaxed, found.bound), False)
        best = _checked(instance, aim, found)
    if best is not None and best.gap > within:
        best = _annealed(instance, aim, best, LONGER * seconds, left, seed=ANOTHER_SEED)
    if (best is None or best.gap > within) and left():
        known = None if best is None else best.schedule
        last = _searched(instance, aim, known, found.bound, left(), workers, within)
        found = _Found(last.schedule, max(last.bound, found.bound), last.is_optimal)
        best = _checked(instance, aim, found, known)
    if best is None:
        raise InputError(
            "no schedule was found within the intervals there are; give more of them, more time,"
            " or a larger budget"
        )
    return best


def _annealed(
    instance: SlottedWorkload,
    aim: Aim,
    best: Optimum,
    seconds: float,
    left: Callable[[], float],
    seed: int,
) -> Optimum:
    """The same bound, and a schedule that is no worse."""
    better = annealed(instance, aim, best.schedule, seconds=seconds, left=left, seed=seed)
    cost = cost_of(instance, better, aim)
    return Optimum(better, cost, best.bound, best.bound == cost)


class _Found(msgspec.Struct, frozen=True):
    """What a search came to."""

    schedule: SlottedSchedule | None
    bound: int
    is_optimal: bool


def _searched(
    instance: SlottedWorkload,
    aim: Aim,
    begin: SlottedSchedule | None,
    bound: int,
    seconds: float,
    workers: int,
    within: float,
) -> _Found:
    """One search, from a schedule if there is one; the cost is known to be at least the bound."""
    cp_model = _cp_model()
    model, variables, objective = _model(instance, aim, begin)
    model.add(objective >= bound)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = workers
    solver.parameters.relative_gap_limit = within
    status = solver.solve(model)
    schedule: SlottedSchedule | None = None
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        schedule = [
            Placed(
                next(o for o, present in enumerate(row) if solver.boolean_value(present)),
                solver.value(start_of),
            )
            for start_of, row in variables
        ]
    proved = max(0, round(solver.best_objective_bound)) if schedule is not None else 0
    is_optimal = status == cp_model.OPTIMAL and within == 0
    return _Found(schedule, proved, is_optimal)


def _checked(
    instance: SlottedWorkload, aim: Aim, found: _Found, known: SlottedSchedule | None = None
) -> Optimum | None:
    """What was found, or what was known before, if every constraint holds; None: nothing was."""
    schedule = found.schedule or known
    if schedule is None:
        return None
    broken = problems(instance, schedule)
    if broken:
        raise InvariantError(f"the schedule that was found is none: {broken[0]}")
    cost = cost_of(instance, schedule, aim)
    bound = cost if found.is_optimal else min(cost, found.bound)
    return Optimum(schedule, cost, bound, bound == cost)


def _best_start(
    instance: SlottedWorkload, aim: Aim, given: SlottedSchedule | None
) -> SlottedSchedule | None:
    known = [one for one in (given, greedy(instance, aim)) if one is not None]
    usable = [one for one in known if not problems(instance, one)]
    return min(usable, key=lambda one: cost_of(instance, one, aim), default=None)


def _model(
    instance: SlottedWorkload, aim: Aim, begin: SlottedSchedule | None
) -> tuple[CpModel, list[tuple[Any, list[Any]]], Any]:
    """The model, by task its start and on which offer it is, and what is minimised."""
    model = _cp_model().CpModel()
    variables, ends, by_offer = _tasks(model, instance)
    for number, task in enumerate(instance.tasks):
        for parent in task.parents:
            model.add(ends[parent] <= variables[number][0])
    _machines(model, instance, by_offer)
    objective = _objective(model, instance, aim, ends)
    model.minimize(objective)
    for placed, (start, row) in zip(begin or (), variables, strict=begin is not None):
        model.add_hint(start, placed.start)
        for offer, present in enumerate(row):
            model.add_hint(present, offer == placed.offer)
    return model, variables, objective


def _tasks(
    model: CpModel, instance: SlottedWorkload
) -> tuple[list[tuple[Any, list[Any]]], list[Any], list[list[Any]]]:
    """By task its start and offers, by task its end, and by offer all its intervals."""
    by_offer: list[list[Any]] = [[] for _ in instance.offers]
    variables: list[tuple[Any, list[Any]]] = []
    ends: list[Any] = []
    for number, task in enumerate(instance.tasks):
        latest = instance.horizon - instance.tails[number]
        start = model.new_int_var(instance.earliest[number], latest, f"s{number}")
        end = model.new_int_var(
            instance.earliest[number] + min(task.takes), instance.horizon, f"e{number}"
        )
        row = [model.new_bool_var(f"p{number}.{offer}") for offer in range(len(instance.offers))]
        model.add_exactly_one(row)
        for offer, takes in enumerate(task.takes):
            by_offer[offer].append(
                model.new_optional_interval_var(start, takes, end, row[offer], f"i{number}.{offer}")
            )
        variables.append((start, row))
        ends.append(end)
    return variables, ends, by_offer


def _machines(model: CpModel, instance: SlottedWorkload, by_offer: list[list[Any]]) -> None:
    """Machines that are not active in an interval are as if something else ran there."""
    counts: list[list[Any]] = []
    for number, (offer, tasks) in enumerate(zip(instance.offers, by_offer, strict=True)):
        blocked, demands, row = [], [], []
        for interval in range(instance.intervals):
            active = model.new_int_var(0, offer.limit, f"y{number}.{interval}")
            begin = interval * instance.interval
            blocked.append(
                model.new_fixed_size_interval_var(begin, instance.interval, f"b{number}.{interval}")
            )
            demands.append(offer.limit - active)
            row.append(active)
        model.add_cumulative([*tasks, *blocked], [*[1] * len(tasks), *demands], offer.limit)
        counts.append(row)
    for interval in range(instance.intervals):
        model.add(
            sum(
                row[interval] * offer.price
                for row, offer in zip(counts, instance.offers, strict=True)
            )
            <= instance.budget
        )


def _objective(model: CpModel, instance: SlottedWorkload, aim: Aim, ends: list[Any]) -> Any:
    parts: list[Any] = []
    for work, arrival in enumerate(instance.arrivals):
        own = [e for e, task in zip(ends, instance.tasks, strict=True) if task.work == work]
        last = model.new_int_var(instance.ends[work], instance.horizon, f"c{work}")
        for end in own:
            model.add(last >= end)
        if aim == "response":
            parts.append(last - arrival)
            continue
        late = model.new_bool_var(f"l{work}")
        model.add(last <= instance.ends[work]).only_enforce_if(late.negated())
        parts += [last - instance.ends[work], late]
    return sum(parts)


def _cp_model() -> Any:
    try:
        from ortools.sat.python import cp_model  # late: it is an extra
    except ImportError:
        raise InputError(INSTALL) from None
    return cp_model
