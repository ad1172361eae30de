"""Lists of plans: made of a sample, of a workflow or of known run times, and kept in the journal.

What is kept is what is chosen from later; see `choosing`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

import msgspec
from msgspec import structs

from bursar.beliefs.pool import PoolObserver
from bursar.beliefs.samples import SampleLog
from bursar.beliefs.sampling import missing_caution, sample_size, size_caution
from bursar.journal.recorder import Recorder
from bursar.journal.replay import load_state
from bursar.journal.runs import Home, RunDir
from bursar.journal.writer import JournalWriter
from bursar.model.errors import BursarError, InputError
from bursar.model.goal import Goal
from bursar.model.market import Market
from bursar.model.money import ZERO, Money, format_money
from bursar.model.option_words import PYTHON, OptionWords
from bursar.model.plan import Plan
from bursar.model.plan_options import CONFIDENCE, PlanOptions
from bursar.model.workflow import Workflow
from bursar.plan.bag.candidate import BudgetTooSmallError, Candidate, Samples
from bursar.plan.bag.plans import make_plans
from bursar.plan.pools.plans import (
    PoolKnowledge,
    known_unreliable,
    mixed_candidates,
    pooled_runtimes,
)
from bursar.plan.reserve import reserve_of
from bursar.rent.local import slots_caution
from bursar.runs.request import Request
from bursar.runs.session import Session
from bursar.state.digest import Digest, digest_of
from bursar.state.events import PlansOffered
from bursar.state.state import RunState
from bursar.state.work_plans import FIRST_WORK

SAMPLE_UNITS: Final = 4
"""Billing units (or minimum charges) of each sampling machine that the sample may cost."""


class Asked(msgspec.Struct, frozen=True):
    """What somebody wants of a list of plans."""

    goal: Goal = Goal()
    """of the whole run, its sample included"""
    between: int = 0
    """so many more choices"""
    confidence: float = CONFIDENCE
    """of the upper bounds"""
    faithful: bool = False
    """bounds as published"""
    words: OptionWords = PYTHON
    """in which options are written"""


class PlannedRun:
    """A run of which something is left to plan: its state, and what its tasks have shown."""

    def __init__(self, run: RunDir, why_read_only: str = "") -> None:
        self.run = run
        self.why_read_only = why_read_only
        """why nothing can be added to its journal; empty: it can"""
        self._sample_log, self._pool = SampleLog(), PoolObserver()
        self.state = load_state(run.journal, [self._sample_log, self._pool])

    def offer(self, asked: Asked | None = None) -> PlansOffered:
        """The plans for what is left, kept for a choice; unless asked for, those of before."""
        current = current_plans(self.state.plans_of(FIRST_WORK).offered, digest_of(self.state))
        if asked is None and current is not None:
            return current
        offered = plans_of(self.state, self._sample_log, self._pool, asked or Asked())
        if not self.why_read_only:
            self._keep(structs.replace(offered, at=self.state.now))
        return offered

    def _keep(self, offered: PlansOffered) -> None:
        with JournalWriter(self.run.journal) as writer:
            journal = Recorder(writer, self.state)
            journal.append(offered)
            self.state.apply(offered)
            journal.commit(safely=True)


@contextmanager
def open_planned(run: RunDir) -> Iterator[PlannedRun]:
    """Look at a run to plan what is left; one that is being executed can only be looked at."""
    with ExitStack() as resources:
        try:
            resources.enter_context(run.acquire())
            why = ""
        except BursarError as error:
            why = str(error)
        yield PlannedRun(run, why)


def current_plans(offered: PlansOffered | None, now: Digest) -> PlansOffered | None:
    """The list that was offered last, if it is for what is left now; None: there is none."""
    if offered is None or offered.assumed.tasks != now.total - now.settled:
        return None
    return offered if offered.assumed.spent == now.committed else None


def plans_of(
    state: RunState, sample_log: SampleLog, pool: PoolObserver, asked: Asked
) -> PlansOffered:
    """The plans for what is left of a run; the same run, the same plans."""
    for number, flow in state.workflows():
        return _workflow_again(state, number, flow, asked)
    return _with_crowding(_plans_of_sample(state, sample_log, pool, asked), state.market)


def _with_crowding(offered: PlansOffered, market: Market) -> PlansOffered:
    """With a caution where this computer is too small for the plans."""
    crowded = slots_caution((plan.fleet for plan in offered.plans), market)
    if crowded is None:
        return offered
    assumed = structs.replace(offered.assumed, cautions=(*offered.assumed.cautions, crowded))
    return structs.replace(offered, assumed=assumed)


# --- a bag, by its sample ------------------------------------------------------------------------


def _plans_of_sample(
    state: RunState, sample_log: SampleLog, pool: PoolObserver, asked: Asked
) -> PlansOffered:
    """The budget of the goal is for all of the run: what the sample has cost counts against it."""
    left, market, goal = state.total - state.settled, state.market, asked.goal
    created, spent = state.created, state.ledger.committed
    if created is None or not left:
        raise InputError(f"run {state.run} has no task left to plan for")
    samples = sample_log.samples(market.offers)
    if not samples:
        raise InputError(
            f"run {state.run} has no successful task to plan from; give another sample more money"
        )
    rest = _for_the_rest(goal, state)
    try:
        found = make_plans(
            market,
            samples,
            left,
            rest,
            between=asked.between,
            confidence=asked.confidence,
            faithful=asked.faithful,
            seed=created.seed,
            mixed=_mixed_of(state, samples, pool, left, asked.between),
            known_cautions=[
                *sample_log.cautions(market.offers),
                *_size_cautions(state.total, sample_log.seen()),
            ],
        )
    except BudgetTooSmallError as error:
        assert goal.budget is not None  # noqa: S101
        cost = f", of which the sample has cost {format_money(spent, market.currency)}"
        least = spent + error.least
        raise BudgetTooSmallError(goal.budget, least, market.currency, cost) from None
    return structs.replace(
        found,
        plans=tuple(_capped(plan, market, spent, goal.budget) for plan in found.plans),
        assumed=structs.replace(found.assumed, goal=goal, spent=spent),
    )


def _capped(plan: Plan, market: Market, spent: Money, budget: Money | None) -> Plan:
    """With what a run of it may commit: never more than the budget that was written."""
    reserve = plan.cushion + reserve_of(plan.fleet, market)
    cap = spent + plan.bound + reserve
    return structs.replace(plan, reserve=reserve, cap=cap if budget is None else min(cap, budget))


def _for_the_rest(goal: Goal, state: RunState) -> Goal:
    """The goal without what is committed."""
    if goal.budget is None:
        return goal
    left = goal.budget - state.ledger.committed
    if left <= ZERO:
        currency = state.market.currency
        spent, budget = format_money(state.ledger.committed, currency), goal.budget
        raise InputError(
            f"the sample has cost {spent}: nothing is left of a budget of"
            f" {format_money(budget, currency)}; give more"
        )
    return Goal(left, goal.deadline)


def _mixed_of(
    state: RunState, samples: Samples, pool: PoolObserver, left: int, between: int
) -> list[Candidate]:
    """Plans with unreliable machines, by how many attempts of the sample were lost there.

    Run times are those of all tasks of the sample, converted from where they ran: those that came
    back from machines which vanish are the shorter ones.
    """
    offers = known_unreliable(state.market, samples, left)
    if not offers:
        return []
    known = PoolKnowledge.learned(pool.history(), pooled_runtimes(offers, samples))
    seed = 0 if state.created is None else state.created.seed
    return mixed_candidates(state.market, samples, known, left, between=between, seed=seed)


def _size_cautions(tasks: int, seen: int) -> list[str]:
    size = sample_size(tasks)
    caution = missing_caution(size, seen) or size_caution(tasks, size)
    return [] if caution is None else [caution.rstrip(".")]


def sample_cap(market: Market, workers: int) -> Money:
    """The most a sample may cost unless the user says otherwise: some units of each machine."""
    machines = (
        offer.entry_charge * min(workers, workers if offer.limit is None else offer.limit)
        for offer in market.offers
    )
    return sum(machines, ZERO) * SAMPLE_UNITS


# --- a workflow ----------------------------------------------------------------------------------


def plans_of_workflow(
    flow: Workflow, market: Market, goal: Goal, planning: PlanOptions
) -> PlansOffered:
    """By what is known of its run times now."""
    from bursar.runs.known_workflow import KnownWorkflow  # late: it brings much of the planner

    return _with_crowding(KnownWorkflow.of(flow, market, goal, planning).offer_plans(), market)


def _workflow_again(state: RunState, number: int, flow: Workflow, asked: Asked) -> PlansOffered:
    plans = state.plans_of(number)
    if plans.chosen is not None:
        raise InputError(
            f"run {state.run} follows the plan '{plans.chosen.name}', and replans by itself where"
            f" it must; continue with: bursar resume {state.run}"
        )
    before = None if plans.offered is None else plans.offered.assumed.planning
    planning = structs.replace(before or PlanOptions(), confidence=asked.confidence)
    goal = state.work[number - 1][1].goal(asked.goal)
    offered = plans_of_workflow(flow, state.market, goal, planning)
    return structs.replace(offered, work=number)


def keep_workflow_plans(home: Home, request: Request, offered: PlansOffered) -> RunDir:
    """A run that waits for a choice among these plans."""
    with Session.begin(home, structs.replace(request, offered=offered)) as session:
        return session.run_dir
