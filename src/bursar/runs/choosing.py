"""From a sampled run to its plans, and from a choice to the event that records it."""

from __future__ import annotations

import msgspec
from msgspec import structs

from bursar.beliefs.pool import PoolObserver
from bursar.beliefs.samples import SampleLog
from bursar.beliefs.sampling import missing_caution, sample_size, size_caution
from bursar.journal.replay import load_state
from bursar.journal.runs import RunDir
from bursar.model.amount import money_in
from bursar.model.errors import InputError, shown
from bursar.model.goal import Goal
from bursar.model.money import ZERO, Money, format_money
from bursar.model.numbers import is_position
from bursar.model.reading import read_duration
from bursar.model.strategy import read_strategy
from bursar.model.time import seconds
from bursar.plan.bag.plans import (
    CONFIDENCE,
    BudgetTooSmallError,
    Candidate,
    Plan,
    PlanList,
    Samples,
    make_plans,
)
from bursar.plan.pools.plans import (
    PoolKnowledge,
    known_unreliable,
    mixed_candidates,
    pooled_runtimes,
)
from bursar.runs.request import check_sabotage
from bursar.runs.session import load_run
from bursar.state.events import PlanChosen
from bursar.state.state import RunState


def plans_of(
    found: RunDir,
    goal: Goal,
    *,
    between: int = 0,
    confidence: float = CONFIDENCE,
    faithful: bool = False,
) -> PlanList:
    """The plans for what is left of a sampled run; the same run, the same plans.

    The budget of the goal is for all of the run: what the sample has cost counts against it.
    """
    book, pool = SampleLog(), PoolObserver()
    state = load_state(found.journal, [book, pool])
    left = state.total - state.settled
    created = state.created
    if created is None or not left:
        raise InputError(f"run {found.name} has no task left to plan for")
    samples = book.samples(state.market.offers)
    if not samples:
        raise InputError(
            f"run {found.name} has no successful task to plan from;"
            " give another sample more money with --sample-budget"
        )
    rest = _for_the_rest(goal, state)
    try:
        found_plans = make_plans(
            state.market,
            samples,
            left,
            rest,
            between=between,
            confidence=confidence,
            faithful=faithful,
            seed=created.seed,
            mixed=_mixed_of(state, samples, pool, left, between),
            known_cautions=[
                *book.cautions(state.market.offers),
                *_size_cautions(state.total, book.seen()),
            ],
        )
    except BudgetTooSmallError as error:
        assert goal.budget is not None  # noqa: S101
        spent, currency = state.ledger.committed, state.market.currency
        cost = f", of which the sample has cost {format_money(spent, currency)}"
        raise BudgetTooSmallError(goal.budget, spent + error.least, currency, cost) from None
    capped = [
        structs.replace(plan, cap=str(cap_of(plan, state).total)) for plan in found_plans.plans
    ]
    return structs.replace(found_plans, plans=capped)


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


def choose_plan(
    found: RunDir,
    choice: str,
    budget: str | None,
    deadline: str | None,
    sabotage: str | None = None,
) -> tuple[PlanChosen, Goal, Cap]:
    """The plan chosen, and the goal of the whole run with it.

    The budget is that of `cap_of`; one that is given holds for the whole run instead.
    """
    state, _ = load_run(found)
    plans = plans_of(found, Goal()).plans
    plan = _pick(plans, choice)
    cap = cap_of(plan, state)
    goal = Goal(
        budget=cap.total if budget is None else money_in(state.market.currency, budget),
        deadline=None if deadline is None else read_duration(deadline, least=1),
    )
    chosen = PlanChosen(
        at=0,
        name=plan.name,
        fleet=plan.fleet,
        makespan_p50=seconds(plan.makespan_s.p50),
        makespan_upper=seconds(plan.makespan_s.upper),
        cost_p50=Money.recall(plan.cost_p50),
        cost_upper=cap.bound,
        strategy=read_strategy(plan.strategy) if plan.strategy else None,
        sabotage=None if sabotage is None else read_duration(sabotage, least=1),
    )
    if chosen.sabotage is not None:
        check_sabotage(state.market)
    return chosen, goal, cap


class Cap(msgspec.Struct, frozen=True):
    """What a run that follows a plan may commit, its sample included."""

    sample: Money
    """what was committed before the plan is chosen"""
    bound: Money
    """the plan's cost-upper"""
    reserve: Money
    """for the last tasks, since a bound does not always hold: the plan's cushion, and one unit of
    the fleet's cheapest offer for each machine"""

    @property
    def total(self) -> Money:
        return self.sample + self.bound + self.reserve

    def told(self, currency: str) -> str:
        """`$0.40 of the sample + $1.20 bound + $0.10 reserve`."""
        sample, bound, reserve = (
            format_money(amount, currency) for amount in (self.sample, self.bound, self.reserve)
        )
        return f"{sample} of the sample + {bound} bound + {reserve} reserve"


def cap_of(plan: Plan, state: RunState) -> Cap:
    cheapest = min(state.market[name].entry_charge for name in plan.fleet)
    return Cap(
        sample=state.ledger.committed,
        bound=max(Money.recall(plan.cost_upper), Money.recall(plan.cost)),
        reserve=Money.recall(plan.cushion) + cheapest * sum(plan.fleet.values()),
    )


def _pick(plans: list[Plan], choice: str) -> Plan:
    if is_position(choice, len(plans)):
        return plans[int(choice) - 1]
    for plan in plans:
        if choice == plan.name or (choice == "knee" and plan.is_knee):
            return plan
    names = [plan.name for plan in plans if " " not in plan.name]
    raise InputError(
        f"no choice {shown(choice)}; write {', '.join(names)}, knee or a number up to {len(plans)}"
    )
