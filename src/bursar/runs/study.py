"""A study: many simulated runs of one request, by the engine or by a compiled simulation.

Which of the two does a run is decided here and nowhere else. The compiled one does what it does as
the engine would, run by run with the same seed; what it does not know is left to the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from bursar.beliefs.samples import SampleLog
from bursar.engine.roles import Policy
from bursar.engine.world import Journal
from bursar.model.past_runtimes import PastRuntimes
from bursar.model.time import Time
from bursar.model.work import Bag, Work
from bursar.report.summary import Summary, summarise
from bursar.runs.faults import Faults
from bursar.runs.policy import policy_of
from bursar.runs.request import Request
from bursar.simulate.faults import Runtimes, drawn
from bursar.simulate.run import simulate
from bursar.state import events as ev
from bursar.state.state import RunState

if TYPE_CHECKING:
    from bursar.runs.known_workflow import KnownWorkflow


class RunQuantiles(msgspec.Struct, frozen=True):
    """A figure over many simulated runs."""

    p50: float
    p90: float
    most: float

    @classmethod
    def of(cls, figures: Iterable[float]) -> RunQuantiles:
        ordered = sorted(figures)

        def quantile(share: float) -> float:
            return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

        return cls(quantile(0.5), quantile(0.9), ordered[-1])


class Study(msgspec.Struct, frozen=True):
    """What many runs took and cost."""

    fleet: dict[str, int]
    runs: list[Summary]
    makespan_s: RunQuantiles
    cost: RunQuantiles


class Subject(msgspec.Struct, frozen=True):
    """What is simulated: a request, with the run times of its tasks."""

    request: Request
    runtimes: Callable[[int], Runtimes]
    """by the seed of a run"""
    workflow: KnownWorkflow | None = None
    """what its plan assumed; None: a bag"""
    slower: float = 1.0
    """run times by those that were planned for"""


def bag_subject(request: Request, tasks: int, mean: Time, deviation: Time) -> Subject:
    """A bag whose run times are normal around a mean."""

    def draw(rng: Random) -> Time:
        return max(1, round(rng.gauss(mean, deviation)))

    request = structs.replace(request, bag=Bag(count=tasks))
    return Subject(request, lambda seed: drawn(draw, seed))


def earlier_subject(request: Request, tasks: int, past: PastRuntimes) -> Subject:
    """A bag whose tasks take as long as earlier ones did, drawn from these."""

    def draw(rng: Random) -> Time:
        return rng.choice(past.times)

    request = structs.replace(request, bag=Bag(count=tasks))
    return Subject(request, lambda seed: drawn(draw, seed))


def workflow_subject(request: Request, work: Work, choice: str | None, slower: float) -> Subject:
    """A workflow with its plan; tasks take so many times longer than was planned for."""
    from bursar.runs.simulated_workflow import prepared, runtimes_of  # late: they bring numpy

    request, known = prepared(request, work, choice)
    return Subject(request, runtimes_of(known, slower), known, slower)


def study(
    subject: Subject,
    faults: Faults,
    seeds: Sequence[int],
    watched: Callable[[Sequence[int]], Iterable[int]] = iter,
) -> Study:
    """A run for each seed; `watched` gives the seeds one by one, and sees how it goes."""
    request = subject.request
    request.check(simulated=True)
    faults.check(request)
    known = _by_kernel(subject, faults, seeds)
    runs = [known.get(seed) or by_engine(subject, faults, seed) for seed in watched(seeds)]
    return Study(
        fleet=dict(request.full_fleet() if request.plan is None else request.plan.fleet),
        runs=runs,
        makespan_s=RunQuantiles.of(one.makespan_s for one in runs),
        cost=RunQuantiles.of(float(one.money.committed) for one in runs),
    )


def _by_kernel(subject: Subject, faults: Faults, seeds: Sequence[int]) -> dict[int, Summary]:
    """The runs, by seed, that need no engine."""
    if subject.workflow is None or subject.slower != 1 or not faults.is_none:
        return {}
    from bursar.runs.simulated_workflow import by_kernel

    return by_kernel(subject.request, subject.workflow, seeds)


def by_engine(
    subject: Subject, faults: Faults, seed: int, journal: Journal | None = None
) -> Summary:
    """One run, by the engine; a journal keeps its events."""
    request, runtimes, sample_log = subject.request, subject.runtimes(seed), SampleLog()
    state = simulate(
        request.market,
        request.goal,
        request.arrivals(),
        _policy(subject, runtimes, sample_log, seed),
        faults.behaviour(request.market, runtimes, seed),
        limits=request.limits,
        seed=seed,
        journal=journal,
        observers=[sample_log],
    )
    return summarise(state)


def _policy(subject: Subject, runtimes: Runtimes, sample_log: SampleLog, seed: int) -> Policy:
    """The policy that a real run would have; `perfect` knows run times."""
    request = subject.request
    policies = request.all_policies()
    replans = policies.get("advisor") == "replan"
    if replans:  # only where run times are not as planned for
        policies = {**policies, "advisor": "none"}
    state = RunState()
    state.apply(
        ev.RunCreated(
            at=0,
            run="simulated",
            market=request.market,
            goal=request.goal,
            limits=request.limits,
            seed=seed,
            policies=policies,
            settings={},
            began=0.0,
            options=request.options(),
        )
    )
    for event in request.arrivals():
        state.apply(event)
    policy = policy_of(state, sample_log, extra={"runtimes": runtimes})
    known = subject.workflow
    if known is not None and replans and subject.slower != 1 and request.plan is not None:
        policy = structs.replace(policy, advisors=(known.advisor(),))
    return policy
