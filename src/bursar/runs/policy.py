"""The one place that makes the policy of a run, from what its journal tells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from bursar.beliefs.samples import SampleLog
from bursar.beliefs.sampling import sample_size
from bursar.engine.roles import Advisor, Policy, Provisioner
from bursar.model.strategy import Strategy
from bursar.policies.presets import EXPERT, PLANNED, SAMPLING, advisor_for
from bursar.policies.registry import make_entry, make_placer, with_retries
from bursar.runs.request import ASK
from bursar.state import events as ev
from bursar.state.run_times import RunTimes
from bursar.state.state import RunState
from bursar.state.work_plans import FIRST_WORK

if TYPE_CHECKING:
    from bursar.policies.advise.tail import Advice

MADE_OF: Final = (
    ev.RunCreated,
    ev.WorkArrived,
    ev.GoalChanged,
    ev.PlansOffered,
    ev.PlanChosen,
    ev.StrategyChosen,
)
"""The events that a policy depends on: the state that they alone fold into gives the same one."""


class ByHand:
    """Lets somebody choose a strategy; who that is may be said after the policy was made."""

    def __init__(self) -> None:
        self.ask: Callable[[Advice], int] | None = None

    def __call__(self, advice: Advice) -> int | None:
        """A place on the frontier; None: nobody is there to choose."""
        return None if self.ask is None else self.ask(advice)


def takes_sample(state: RunState) -> bool:
    """Whether its policy is the one that samples."""
    created = state.created
    is_sampling = created is not None and SAMPLING["placer"] in created.policies.values()
    return is_sampling and state.plans_of(FIRST_WORK).chosen is None


def policy_of(
    state: RunState,
    sample_log: SampleLog,
    ask: Callable[[Advice], int | None] | None = None,
    extra: Mapping[str, Any] | None = None,
    runtimes: RunTimes | None = None,
) -> Policy:
    """The policy a run was made with, or that of the plan chosen since.

    `ask` lets somebody choose a strategy, if that is preferred; `extra` is what only a simulation
    has for entries, such as true run times; `runtimes` is what the view tells of run times, if not
    what the entries learn.
    """
    created, plan = state.created, state.plans_of(FIRST_WORK).chosen
    assert created is not None  # noqa: S101
    policies = created.policies
    if plan is not None:
        policies = {**policies, **_suited(plan, policies)}
    offered: dict[str, Any] = {"sample_log": sample_log, **(extra or {})}
    if policies["provisioner"] == "sample":
        offered["size"] = sample_size(state.total)
    options = created.made_with
    provisioner: Provisioner = make_entry(
        "provisioner",
        policies["provisioner"],
        {
            **offered,
            "fleet": options.fleet if plan is None else plan.fleet,
            "workers": options.workers,
            "faithful": options.faithful,
            "market": created.market,
            "goal": state.goal,
            "tasks": state.total,
            "runtime": options.runtime,
            "deviation": options.deviation,
            "history": options.history,
            "best_effort": options.best_effort,
            "strategy": strategy_of(state) if len(state.work) <= 1 else options.strategy,
        },
    )
    offered["provisioner"] = provisioner
    placer = make_placer(policies["placer"], offered, len(state.goal.accounts))
    return Policy(
        provisioner,
        with_retries(placer, provisioner, created.market),
        make_entry("replicator", policies["replicator"], offered),
        _advisors(policies, state, provisioner, ask),
        runtimes,
    )


def _suited(plan: ev.PlanChosen, policies: Mapping[str, str]) -> Mapping[str, str]:
    """What carries a plan out; of a workflow, unless the run was made with something else."""
    if plan.assigned is not None:
        return policies
    return PLANNED if plan.strategy is None else EXPERT


def strategy_of(state: RunState, work: int = FIRST_WORK) -> Strategy | None:
    """The strategy that a work has to follow on two pools, as far as it is known yet."""
    found = state.plans_of(work).strategy_to_follow
    if found is not None or state.created is None:
        return found
    return state.created.made_with.strategy


def _is_undecided(state: RunState) -> bool:
    """Whether a work lacks a strategy, or what instances of it wait for."""
    strategies = [strategy_of(state, work) for work in range(1, max(1, len(state.work)) + 1)]
    return any(one is None or not one.is_timed for one in strategies)


def _advisors(
    policies: Mapping[str, str],
    state: RunState,
    provisioner: Provisioner,
    ask: Callable[[Advice], int | None] | None,
) -> tuple[Advisor, ...]:
    """Those of a run: `tail` has nothing to ask where the strategy is known, and there is one
    `replan` for each workflow that has a plan.
    """
    created = state.created
    assert created is not None  # noqa: S101
    name = policies.get("advisor", advisor_for(policies["provisioner"]))
    if name == "tail":
        if not _is_undecided(state):
            return ()
        preference = created.made_with.prefer
        by_hand = preference == ASK
        offered = {
            "provisioner": provisioner,
            "prefer": None if by_hand else preference,
            "ask": ask if by_hand else None,
            "seed": created.seed,
        }
        return (make_entry("advisor", name, offered),)
    if name == "replan":
        return _workflow_advisors(state)
    if name is None:
        return ()
    return (make_entry("advisor", name, {"provisioner": provisioner}),)


def _workflow_advisors(state: RunState) -> tuple[Advisor, ...]:
    """One for each workflow that follows a plan, by what was known when that was made."""
    planned = [
        (number, flow)
        for number, flow in state.workflows()
        if state.plans_of(number).chosen is not None and state.work.left(number - 1)
    ]
    if not planned:
        return ()
    from bursar.runs.known_workflow import KnownWorkflow  # late: it brings numpy and more

    return tuple(
        KnownWorkflow.recalled(flow, state, number).advisor(number, state.work.before(number - 1))
        for number, flow in planned
    )
