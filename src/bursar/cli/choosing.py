"""From a sampled run to its plans, and from a choice to the event that records it."""

from __future__ import annotations

from bursar.beliefs.book import SampleBook
from bursar.beliefs.pool import PoolBook
from bursar.beliefs.sampling import missing_caution, sample_size, size_caution
from bursar.events import PlanChosen
from bursar.journal.replay import load_state
from bursar.journal.runs import RunDir
from bursar.model.amount import money_in
from bursar.model.errors import InputError, shown
from bursar.model.goal import Goal
from bursar.model.money import Money
from bursar.model.strategy import read_strategy
from bursar.model.time import parse_duration, seconds
from bursar.plan.plans import CONFIDENCE, Candidate, Plan, PlanList, Samples, make_plans
from bursar.session import load_run
from bursar.simulate.mixed_plans import (
    PoolKnowledge,
    known_unreliable,
    mixed_candidates,
    pooled_runtimes,
)
from bursar.state import RunState


def plans_of(
    found: RunDir,
    goal: Goal,
    *,
    between: int = 0,
    confidence: float = CONFIDENCE,
    faithful: bool = False,
) -> PlanList:
    """The plans for what is left of a sampled run; the same run, the same plans.

    The goal is for the rest: what the sample has cost does not count against it.
    """
    book, pool = SampleBook(), PoolBook()
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
    return make_plans(
        state.market,
        samples,
        left,
        goal,
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


def _mixed_of(
    state: RunState, samples: Samples, pool: PoolBook, left: int, between: int
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
    found: RunDir, choice: str, budget: str | None, deadline: str | None
) -> tuple[PlanChosen, Goal]:
    """The plan chosen, and the goal of the whole run with it.

    The budget is what was committed before, what the plan may cost at most, and a reserve for the
    last tasks: one unit of the fleet's cheapest offer for each machine, since the bounds do not
    hold always. A budget that is given holds for the whole run instead.
    """
    state, _ = load_run(found)
    plans = plans_of(found, Goal()).plans
    plan = _pick(plans, choice)
    spent = state.ledger.committed
    dearest = max(Money.parse(plan.cost_upper), Money.parse(plan.cost)) + Money.parse(plan.cushion)
    cheapest = min(state.market[name].entry_charge for name in plan.fleet)
    reserve = cheapest * sum(plan.fleet.values())
    goal = Goal(
        budget=spent + dearest + reserve
        if budget is None
        else money_in(state.market.currency, budget),
        deadline=None if deadline is None else parse_duration(deadline),
    )
    chosen = PlanChosen(
        at=0,
        name=plan.name,
        fleet=plan.fleet,
        makespan_p50=seconds(plan.makespan_s.p50),
        makespan_upper=seconds(plan.makespan_s.upper),
        cost_p50=Money.parse(plan.cost_p50),
        cost_upper=dearest,
        strategy=read_strategy(plan.strategy) if plan.strategy else None,
    )
    return chosen, goal


def _pick(plans: list[Plan], choice: str) -> Plan:
    if choice.isdecimal() and 1 <= int(choice) <= len(plans):
        return plans[int(choice) - 1]
    for plan in plans:
        if choice == plan.name or (choice == "knee" and plan.is_knee):
            return plan
    names = [plan.name for plan in plans if " " not in plan.name]
    raise InputError(
        f"no choice {shown(choice)}; write {', '.join(names)}, knee or a number up to {len(plans)}"
    )
