"""A workflow is replanned when reality leaves the band that was predicted (Prob, section 5).

Finished tasks tell how far run times are from what was predicted, by kind and offer. As long as
they lie within the band, differences are chance. Once they do not, what is left of the workflow is
planned again: with run times as they were seen, with the money and the time that are left. Few
tasks have been seen by then, and few tell little: from there on, the plan is looked at again
whenever a part of what is left has finished, and made again if run times differ from what it
assumed. A run that is resumed with another goal is replanned for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.band_watch import BandWatch, bands
from bursar.beliefs.kind_times import Piggyback
from bursar.beliefs.past import SUCCESS, past_attempts
from bursar.beliefs.task_times import TaskTimes
from bursar.engine.roles import Advisor
from bursar.model.assigned import Assigned
from bursar.model.errors import BursarError, one_line
from bursar.model.goal import Goal
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.plan_options import PlanOptions
from bursar.model.text import counted
from bursar.model.time import SECOND, Time
from bursar.model.workflow import Workflow, WorkflowFiles
from bursar.plan.workflow.plans import WorkflowPlan, WorkflowPlanner, pick
from bursar.state import events as ev
from bursar.state.task_status import READY, RUNNING, WAITING
from bursar.state.view import View
from bursar.state.work_plans import FIRST_WORK

Integers = NDArray[np.int64]

TOLERANCE: Final = 0.05
"""Run times that differ by less from what a plan assumed are no reason to change it."""
PARTS: Final = 8
"""A new plan is looked at again when this part of what was left has finished, and ..."""
LEAST_SEEN: Final = 5
"""... not before so many tasks have."""
EFFORT: Final = 0.2
"""that replanning takes, by that of the first plan: it may be done often"""


class Rest(msgspec.Struct, frozen=True):
    """What is left of a workflow at some moment."""

    tasks: Sequence[int]
    """as the workflow numbers them"""
    goal: Goal
    """the money and the time that are left"""


class RestQuestion(msgspec.Struct, frozen=True):
    """Which plan is best for what is left of a workflow?"""

    rest: Rest
    assigned: Assigned
    """as it is"""
    fleet: dict[str, int]
    """as it is"""
    factors: dict[tuple[str, str], float]
    """by kind and offer, what tasks take by what was predicted"""
    why: str


class WorkflowAdvisor(Advisor):
    """Watches one workflow of a run, which follows a plan of its own."""

    def __init__(
        self,
        flow: Workflow,
        offers: Sequence[Offer],
        times: TaskTimes,
        planning: PlanOptions,
        *,
        work: int = FIRST_WORK,
        before: int = 0,
    ) -> None:
        self._flow, self._offers, self._times = flow, tuple(offers), times
        self._work = work
        """its number among the works"""
        self._before = before
        """the run's number before its first task"""
        self._planning = planning
        self._column = {offer.name: number for number, offer in enumerate(offers)}
        self._watch = BandWatch()
        self._seen = Piggyback()
        self._factors: dict[tuple[str, str], float] = {}
        """by kind and offer, by which predictions were corrected in the last plan"""
        self._assigned: Assigned | None = None
        self._fleet: dict[str, int] = {}
        self._is_hopeless = False
        """no plan could be made for what is left"""
        self._is_goal_new = False
        """it was changed since the last plan was made"""
        self._chosen_at: Time = -1
        """when the user chose the plan"""
        self._finished = 0
        self._side: str | None = None
        """which way reality has left the band"""
        self._looks_again: int | None = None
        """once so many tasks have finished; None while all is as predicted"""

    def saw(self, event: ev.AnyEvent, state: View) -> None:
        match event:
            case ev.PlanChosen() | ev.AssignmentChanged() if event.work == self._work:
                before = self._assigned, self._fleet
                self._assigned, self._fleet = event.assigned, event.fleet
                self._is_goal_new = False
                self._is_hopeless = before == (event.assigned, event.fleet)
                if isinstance(event, ev.PlanChosen):
                    self._chosen_at = event.at
            case ev.GoalChanged():  # not the one that comes with the choice of the plan
                self._is_goal_new = event.at != self._chosen_at
            case ev.RunResumed():
                self._is_hopeless = False
            case ev.AttemptEnded(outcome="success"):
                self._learn(event, state)

    def saw_before(self, view: View) -> None:
        plan = view.plan_of(self._work)
        if plan is not None:
            self._assigned, self._fleet = plan.assigned, dict(plan.fleet)
        self._learn_past(view)

    def question(self, view: View, now: Time) -> RestQuestion | None:
        assigned = self._assigned
        if assigned is None or self._is_hopeless or not self._is_in_doubt():
            return None
        rest = rest_of(view, self._flow, self._before)
        if not rest.tasks:
            return None
        why = self._reason(len(rest.tasks))
        self._factors, self._watch, self._is_goal_new = self._means(), BandWatch(), False
        self._looks_again = self._finished + max(LEAST_SEEN, len(rest.tasks) // PARTS)
        return RestQuestion(rest, assigned, self._fleet, self._factors, why)

    def answer(self, question: RestQuestion) -> ev.AssignmentChanged | None:
        """Another plan, or the same if none could be made, with the reason; None: it is as good."""
        assigned, fleet, why = question.assigned, question.fleet, question.why
        try:
            plan = self._best(question)
        except BursarError as error:
            lack = f"{why}, for which no plan could be made: {one_line(str(error))}"
            return ev.AssignmentChanged(0, assigned, fleet, lack, self._work)
        changed = self._with_rest(assigned, question.rest, plan)
        if (changed, plan.fleet) == (assigned, fleet):
            return None
        return ev.AssignmentChanged(0, changed, plan.fleet, f"{why} replanned", self._work)

    def _is_in_doubt(self) -> bool:
        if self._watch.is_outside_band() or self._is_goal_new:
            return True
        if self._looks_again is None or self._finished < self._looks_again:
            return False
        factors = len(self._flow.kind_names) * len(self._offers)
        self._looks_again = self._finished + max(LEAST_SEEN, factors // PARTS)
        used = self._factors
        return any(abs(one / used[key] - 1) > TOLERANCE for key, one in self._means().items())

    def _means(self) -> dict[tuple[str, str], float]:
        """By kind and offer, what tasks take by what was predicted."""
        return {
            (kind, offer.name): self._seen.factor(kind, offer.name).mean
            for kind in self._flow.kind_names
            for offer in self._offers
        }

    def _learn(self, event: ev.AttemptEnded, state: View) -> None:
        index = state.log.task[event.attempt] - self._before - 1
        machine = state.machines.get(state.log.machine[event.attempt])
        if not 0 <= index < self._flow.count or machine is None:
            return
        offer = machine.offer.name
        if offer not in self._column:
            return
        self._finished += 1
        kind = self._kind(index)
        predicted = self._times.of(index, self._column[offer])
        actual = event.runtime / SECOND
        self._seen.saw(kind, offer, predicted.mean, actual)
        self._watch.saw(predicted.scaled(self._factors.get((kind, offer), 1.0)), actual)

    def _learn_past(self, view: View) -> None:
        """As `_learn` of each task that has finished, with all bands found at once."""
        past = past_attempts(view)
        places = [self._column.get(offer.name, -1) for offer in view.market.offers]
        columns = np.array(places, dtype=np.int64)[past.offers]
        tasks = past.tasks - self._before - 1
        ours = (past.outcomes == SUCCESS) & (columns >= 0) & (tasks >= 0)
        ours &= tasks < self._flow.count
        tasks, columns = tasks[ours], columns[ours]
        rows, actual = self._times.rows[tasks, columns], past.runtimes[ours] / SECOND
        lows, highs = bands(self._times.table[rows])
        means = self._times.table.mean(axis=1)[rows]
        above, below = (actual > highs).tolist(), (actual < lows).tolist()
        names = [self._offers[column].name for column in columns.tolist()]
        kinds = map(self._kind, tasks.tolist())
        for kind, name, mean, one in zip(
            kinds, names, means.tolist(), actual.tolist(), strict=True
        ):
            self._seen.saw(kind, name, mean, one)
        for is_above, is_below in zip(above, below, strict=True):
            self._watch.judged(is_above=is_above, is_below=is_below)
        self._finished = len(tasks)

    def _kind(self, index: int) -> str:
        return self._flow.kind_names[self._flow.kinds[index]]

    # --- replanning ------------------------------------------------------------------------------

    def _reason(self, left: int) -> str:
        self._side = self._watch.side or self._side
        is_goal = self._is_goal_new or self._side is None
        cause = "the goal was changed" if is_goal else f"tasks are {self._side} than predicted"
        return f"{cause}: {counted(left, 'task')} that {'is' if left == 1 else 'are'} left"

    def _best(self, question: RestQuestion) -> WorkflowPlan:
        """What keeps the goal; else what keeps the budget, as fast as it can; else the cheapest."""
        rest = question.rest
        times = self._corrected(rest.tasks, question.factors)
        part = part_of(self._flow, rest.tasks)
        planner = WorkflowPlanner(part, self._offers, times, effort=EFFORT)
        plans = planner.plans()
        for goal in (rest.goal, Goal(budget=rest.goal.budget)):
            found = pick(plans, goal, self._planning)
            if found is not None:
                return found
        return plans[0]

    def _corrected(self, tasks: Sequence[int], factors: dict[tuple[str, str], float]) -> TaskTimes:
        """Run times of these tasks as those that finished let expect them."""
        chosen = np.asarray(tasks, dtype=np.int64)
        kinds = [self._kind(task) for task in tasks]
        table = [
            self._times.table[self._times.rows[chosen, column]]
            * np.array([[factors[kind, offer.name]] for kind in kinds])
            for column, offer in enumerate(self._offers)
        ]
        rows = np.arange(len(chosen) * len(table), dtype=np.int64).reshape(len(table), -1).T
        return TaskTimes(np.concatenate(table), np.ascontiguousarray(rows))

    def _with_rest(self, assigned: Assigned, rest: Rest, plan: WorkflowPlan) -> Assigned:
        """The new offers for what is left; the others stay as they were."""
        names = plan.assigned.offers
        of_task = [names.index(assigned.offers[one]) for one in assigned.tasks]
        for task, offer in zip(rest.tasks, plan.assigned.tasks, strict=True):
            of_task[task] = offer
        return Assigned(names, tuple(of_task))


def rest_of(state: View, flow: Workflow, before: int = 0) -> Rest:
    """What is not done and still can be; what runs counts as not begun.

    Time that is paid for and lies ahead is money that is left.
    """
    open_ones = (READY, RUNNING, WAITING)
    tasks = [n for n in range(flow.count) if state.status[before + n + 1] in open_ones]
    budget, deadline = state.ledger.left, state.goal.deadline
    if budget is not None:
        budget = Money(budget.nanos + sum(_unused(state)))
    left: Time | None = None if deadline is None else max(1, deadline - state.now)
    return Rest(tasks, Goal(budget, left))


def _unused(state: View) -> list[int]:
    """What was paid for time to come, machine by machine, in billionths."""
    return [
        machine.offer.price.nanos * max(0, machine.until - state.now) // machine.offer.billing
        for machine in state.machines.values()
        if not machine.leaving
    ]


def part_of(flow: Workflow, tasks: Sequence[int]) -> Workflow:
    """The workflow of some of the tasks; what they need beside is done."""
    number = {task: index for index, task in enumerate(tasks)}

    def some(values: tuple[int, ...] | None) -> tuple[int, ...] | None:
        return None if values is None else tuple(values[task] for task in tasks)

    return Workflow(
        name=flow.name,
        names=tuple(flow.names[task] for task in tasks),
        parents=tuple(
            tuple(number[parent] for parent in flow.parents[task] if parent in number)
            for task in tasks
        ),
        kind_names=flow.kind_names,
        kinds=some(flow.kinds) or (),
        runtimes=tuple(flow.runtimes[task] for task in tasks),
        priorities=some(flow.priorities),
        files=WorkflowFiles(),
    )
