"""`prob-arrivals`: jobs that arrive one after the other (Prob, section 6.1).

The paper submits 100 jobs of each workflow, by a Poisson process. Here the engine runs them with
the policies of a real run: `prob` rents and gives back, `assigned` places. There is no limit on
machines, so that jobs do not wait for each other; they share what another one has paid for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.engine.roles import Policy
from bursar.model.assigned import Assigned
from bursar.model.errors import InvariantError
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO, Money
from bursar.model.time import HOUR, MINUTE, SECOND, Time
from bursar.model.work import Work
from bursar.model.workflow import Workflow
from bursar.policies.place.assigned import AssignedPlacer
from bursar.policies.provision.prob import Prob
from bursar.policies.replicate.none import NoReplicas
from bursar.reproduce import prob_setting
from bursar.reproduce.prob_execution import EXECUTIONS, SEED, WorkflowExecutions
from bursar.reproduce.prob_fig_6 import FASTER
from bursar.reproduce.prob_fig_7 import WITHIN
from bursar.reproduce.prob_methods import AVERAGE, PROB, WORST, Methods
from bursar.reproduce.prob_setting import DATA, LOOSE, NAMES, PRICES, TYPES, ProbCase
from bursar.reproduce.result import Reproduction, Row, between, checked, judged, shown_only
from bursar.simulate.faults import ModelledBehaviour
from bursar.simulate.run import simulate
from bursar.state import events as ev
from bursar.state.state import RunState
from bursar.state.view import Machine

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

RATE: Final = 0.1
UNIT: Final[Time] = MINUTE
"""jobs arrive at this rate, by the minute"""
STABLE: Final = between(0, 1, "figures of section 6.2 are printed to 1 %")
AGREED: Final = between(0.999, 1.001, "the same draws, to a microsecond")
ROUNDED: Final = between(0, 1, "each task is charged to the end of a second")
ERRORS: Final = 2.0
ASSUMED: Final = (
    *prob_setting.ASSUMED,
    f"jobs arrive at a rate of {RATE:g} a minute; the paper has lambda = {RATE:g} without a unit",
    "the loose budget, for each job; assignments are those of the published search",
    "machines are there at once and without limit; a task has the bandwidths of its job's execution"
    " in prob-fig-6 and prob-fig-7",
)


class Stream(msgspec.Struct, frozen=True, eq=False):
    """What became of the jobs."""

    arrivals: tuple[Time, ...]
    times: Floats
    """[job] in seconds, from its arrival to its last result"""
    costs: Floats
    """[job] in dollars, by equation 2"""
    paid: float
    """dollars for all machines, as billed"""
    most: int
    """machines at once"""

    @property
    def time(self) -> float:
        return float(self.times.mean())

    @property
    def at_once(self) -> float:
        """Jobs under way, on average from the first arrival to the last."""
        begins = np.array(self.arrivals) / SECOND
        last = float(begins[-1])
        stays = np.minimum(begins + self.times, last) - begins
        return float(stays.sum() / (last - begins[0]))


class _DoneWatch:
    """When tasks were done, and how many machines there were."""

    def __init__(self) -> None:
        self.done: dict[int, Time] = {}
        self.most = 0

    def saw(self, event: ev.AnyEvent, state: RunState) -> None:
        if isinstance(event, ev.AttemptEnded):
            self.done[state.log.task[event.attempt]] = event.at
        elif isinstance(event, ev.MachineUp):
            self.most = max(self.most, len(state.machines))


def poisson(jobs: int, seed: int = SEED) -> tuple[Time, ...]:
    """So many arrivals, the first after a while."""
    rng, now, found = Random(f"{seed}/arrivals"), 0.0, []
    for _ in range(jobs):
        now += rng.expovariate(RATE) * UNIT
        found.append(round(now))
    return tuple(found)


def run_stream(
    case: ProbCase,
    offers: Integers,
    executions: WorkflowExecutions,
    jobs: int,
    billing: Time = SECOND,
) -> Stream:
    """All jobs with the same assignment, by the engine."""
    drawn, each, arrivals = executions.task_times(offers), len(case.dag), poisson(jobs)
    market = Market("USD", "2015-09-09", tuple(_offer(number, billing) for number in range(4)))
    assigned = Assigned(NAMES, tuple(offers.tolist()))
    flow, prob, watch = Workflow.of(case.dag), Prob(), _DoneWatch()

    def runtime(task: int, machine: Machine) -> Time:
        job, place = divmod(task - 1, each)
        return max(1, round(float(drawn[place, job]) * SECOND))

    work: list[ev.AnyEvent] = []
    for number, at in enumerate(arrivals, 1):
        plan = ev.PlanChosen(
            at, "plan", assigned.counts(), 0, 0, ZERO, ZERO, assigned=assigned, work=number
        )
        work += [plan, ev.WorkArrived(at, Work(flow))]
    policy = Policy(prob, AssignedPlacer(prob), NoReplicas())
    state = simulate(
        market, Goal(), work, policy, ModelledBehaviour(runtime), observers=(prob, watch)
    )
    if state.done < each * jobs:
        raise InvariantError(f"{case.name}: {state.done} of {each * jobs} tasks were done")
    ends = [max(watch.done[job * each + one] for one in range(1, each + 1)) for job in range(jobs)]
    times = (np.array(ends) - np.array(arrivals)) / SECOND
    paid = float(state.ledger.committed)
    return Stream(arrivals, times, executions.costs(offers)[:jobs], paid, watch.most)


def _offer(number: int, billing: Time) -> Offer:
    one = TYPES[number]
    price = Money(Money.parse(one.price).nanos * billing // HOUR)
    return Offer(one.name, price, billing, speed=one.speed)


def reproduce(
    name: str, folder: Path = DATA, given: Sequence[ProbCase] | None = None, jobs: int = EXECUTIONS
) -> Reproduction:
    cases = [prob_setting.cybershake(folder), prob_setting.q1()] if given is None else given
    return Reproduction(
        name=name,
        title=f"{jobs} jobs that arrive by a Poisson process, loose budget",
        source="Prob, section 6.1, figures from section 6.2",
        rows=tuple(row for case in cases for row in rows(case, jobs)),
        assumed=ASSUMED,
    )


def rows(case: ProbCase, jobs: int = EXECUTIONS) -> Iterator[Row]:
    budget, executions = case.budget(LOOSE), WorkflowExecutions(case, jobs)
    chosen = {
        method: choice.offers
        for method, choice in Methods(case).published(budget).items()
        if choice is not None
    }
    if PROB not in chosen:
        raise InvariantError(f"{case.name}: Prob found nothing within ${budget:.2f}")
    prob = run_stream(case, chosen[PROB], executions, jobs)
    yield judged(
        f"{case.name}: standard error of the mean time of {jobs} jobs, %",
        "stable",
        100 * float(prob.times.std(ddof=1)) / prob.time / jobs**0.5,
        STABLE,
        why="jobs vary more here; the histograms of the paper are not printed",
    )
    yield from _rows_of_figures(case, chosen, executions, prob, budget)
    yield from _rows_of_engine(case, prob, chosen[PROB], executions, jobs)


def _rows_of_figures(
    case: ProbCase,
    chosen: Mapping[str, Integers],
    executions: WorkflowExecutions,
    prob: Stream,
    budget: float,
) -> Iterator[Row]:
    """Figures that prob-fig-6 and prob-fig-7 judge, of the jobs here."""
    for method in (PROB, AVERAGE):
        if method not in chosen:
            continue
        kept = 100 * float(np.mean(executions.costs(chosen[method]) <= budget))
        paper = WITHIN[method] if case.name == "CyberShake" else None
        note = "" if paper is None else "judged in prob-fig-7"
        yield shown_only(f"{case.name}, {method}: jobs within the budget, %", paper, kept, note)
    if WORST in chosen:
        faster = 100 * (1 - prob.time / executions.run(chosen[WORST]).time)
        what = f"{case.name}: Prob is faster than Worst-case, %"
        yield shown_only(what, FASTER["loose"].get(case.name), faster, "judged in prob-fig-6")


def _rows_of_engine(
    case: ProbCase, prob: Stream, offers: Integers, executions: WorkflowExecutions, jobs: int
) -> Iterator[Row]:
    """What arrivals change: nothing in times, and what is paid where units are long."""
    what = f"{case.name}: mean time in the stream by that of jobs alone"
    yield checked(what, prob.time / executions.run(offers).time, AGREED)
    second = jobs * float(PRICES[offers].sum())
    what = f"{case.name}: paid beyond equation 2, seconds a task"
    yield checked(what, (prob.paid - float(prob.costs.sum())) / second, ROUNDED)
    expected = RATE * prob.time * SECOND / UNIT
    what = f"{case.name}: jobs at once, by rate * time"
    note = f"{prob.at_once:.2f} jobs, at most {prob.most} machines"
    reach = ERRORS / jobs**0.5
    band = between(1 - reach, 1 + reach, f"chance in {jobs} arrivals: {ERRORS:g} standard errors")
    yield checked(what, prob.at_once / expected, band, note=note)
    hourly = run_stream(case, offers, executions, jobs, HOUR)
    single = run_stream(case, offers, executions, 1, HOUR)
    note = f"{single.paid / float(single.costs.sum()):.1f} for the first job alone"
    what = f"{case.name}: paid by the hour, by equation 2"
    yield shown_only(what, None, hourly.paid / float(hourly.costs.sum()), note)
