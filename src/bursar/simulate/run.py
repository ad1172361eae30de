"""Simulate a run from start to end: the engine and the policies of a real one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from bursar.engine.loop import Engine
from bursar.engine.roles import Policy
from bursar.engine.world import Journal, Observer
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market
from bursar.model.work import Bag, Work
from bursar.model.workflow import Workflow
from bursar.simulate.world import Behaviour, SimulatedWorld
from bursar.state import events as ev
from bursar.state.state import RunState


def simulate(
    market: Market,
    goal: Goal,
    arrivals: Bag | Workflow | Sequence[ev.AnyEvent],
    policy: Policy,
    behaviour: Behaviour,
    *,
    limits: Limits | None = None,
    seed: int = 0,
    journal: Journal | None = None,
    observers: Sequence[Observer] = (),
    make_world: Callable[[RunState, Behaviour], SimulatedWorld] = SimulatedWorld,
) -> RunState:
    """Run a bag, a workflow, or work that arrives over time, in a simulated world.

    The same seed gives the same run. The state that comes back has ended: `state.ended` tells how.
    """
    opening = ev.RunCreated(
        at=0,
        run="simulated",
        market=market,
        goal=goal,
        limits=limits or Limits(),
        seed=seed,
        policies={},
        settings={},
        began=0.0,
    )
    state = RunState()
    world = make_world(state, behaviour)
    engine = Engine(state, policy, world, journal, Random(seed), observers)
    work = _arriving(arrivals)
    engine.record(opening)
    for event in work:
        world.schedule(event)
    world.schedule(ev.ArrivalsEnded(work[-1].at if work else 0))
    engine.run()
    return state


def _arriving(
    arrivals: Bag | Workflow | Sequence[ev.AnyEvent],
) -> list[ev.AnyEvent]:
    if isinstance(arrivals, Bag | Workflow):
        return [ev.WorkArrived(0, Work(arrivals))]
    return list(arrivals)
