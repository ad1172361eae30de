"""The one place that makes the policy of a run, from what its journal tells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from bursar.beliefs.samples import SampleLog
from bursar.beliefs.sampling import sample_size
from bursar.engine.roles import Advisor, Policy, Provisioner
from bursar.model.strategy import Strategy
from bursar.policies.presets import EXPERT, PLANNED, advisor_for
from bursar.policies.registry import make_entry
from bursar.runs.request import ASK
from bursar.state import events as ev
from bursar.state.state import RunState

if TYPE_CHECKING:
    from bursar.policies.advise.tail import Advice


def policy_of(
    state: RunState,
    book: SampleLog,
    ask: Callable[[Advice], int] | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Policy:
    """The policy a run was made with, or that of the plan chosen since.

    `ask` lets somebody choose a strategy, if that is preferred; `extra` is what only a simulation
    has for entries, such as true run times.
    """
    created, plan = state.created, state.plan
    assert created is not None  # noqa: S101
    policies = created.policies
    if plan is not None:
        policies = {**policies, **_suited(plan, policies)}
    offered: dict[str, Any] = {"book": book, **(extra or {})}
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
            "strategy": strategy_of(state),
        },
    )
    offered["provisioner"] = provisioner
    return Policy(
        provisioner,
        make_entry("placer", policies["placer"], offered),
        make_entry("replicator", policies["replicator"], offered),
        _advisors(policies, state, provisioner, ask),
    )


def _suited(plan: ev.PlanChosen, policies: Mapping[str, str]) -> Mapping[str, str]:
    """What carries a plan out; of a workflow, unless the run was made with something else."""
    if plan.assigned is not None:
        return policies
    return PLANNED if plan.strategy is None else EXPERT


def strategy_of(state: RunState) -> Strategy | None:
    """The strategy that a run on two pools has to follow, as far as it is known yet."""
    created = state.created
    if state.plan is not None and state.plan.strategy is not None:
        return state.plan.strategy
    if state.strategy is not None:
        return state.strategy.strategy
    return None if created is None else created.made_with.strategy


def _advisors(
    policies: Mapping[str, str],
    state: RunState,
    provisioner: Provisioner,
    ask: Callable[[Advice], int] | None,
) -> tuple[Advisor, ...]:
    """Those of a run: none where its strategy is known, one for each workflow that has a plan."""
    created = state.created
    assert created is not None  # noqa: S101
    name = policies.get("advisor", advisor_for(policies["provisioner"]))
    if name == "tail":
        strategy = strategy_of(state)
        if strategy is not None and strategy.is_timed:
            return ()
        wish = created.made_with.prefer
        by_hand = wish == ASK
        offered = {
            "provisioner": provisioner,
            "prefer": None if by_hand else wish,
            "ask": ask if by_hand else None,
            "seed": created.seed,
        }
        return (make_entry("advisor", name, offered),)
    if name == "replan" and state.plan is not None:
        return _workflow_advisors(state)
    return ()


def _workflow_advisors(state: RunState) -> tuple[Advisor, ...]:
    """Those that replan the workflows of a run, by what was known when it was planned."""
    from bursar.runs.known_workflow import KnownWorkflow  # late: it brings numpy and more

    return tuple(
        KnownWorkflow.recalled(flow, state).advisor(before) for before, flow in state.workflows()
    )
