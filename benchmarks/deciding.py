"""Every preset on 100, 1,000 and 10,000 simulated machines: processor time per task.

What an entry does at an event must not grow with the machines or tasks that there are: the time per
task on 10,000 machines is at most twice that on 100. The default policy of a bag must be fast
enough to be tried a thousand times while somebody waits. Each case runs in a process of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import product
from random import Random
from typing import TYPE_CHECKING

from benchmarks.measure import Goal, Line, Result

if TYPE_CHECKING:
    from bursar.engine.roles import Policy
    from bursar.model.goal import Goal as Wish
    from bursar.model.market import Market
    from bursar.model.workflow import Workflow
    from bursar.state.state import RunState

MACHINES = (100, 1_000, 10_000)
TASKS_EACH = 5
"""Tasks for each machine."""
MOST_GROWTH = 2.0
PRESETS = ("bats", "planned", "frontier", "hedged", "calls", "mixed", "prob", "fixed")
GROWING = PRESETS[:-1]
"""Those that have a goal; `fixed` is what the others are compared with."""
DEFAULT = {(500, 300, 20): 0.1, (5_000, 600, 80): 0.4}
"""By tasks, machines and budget of a run of the default policy, its seconds at most."""
DEFAULTS = {"frontier": 60, "hedged": 1}
"""What a bag with a budget is run by, and billing units in minutes: `hedged` is that of a market
which has unreliable machines, too."""


def measure(rounds: int) -> Result:
    lines, goals = [], []
    for (case, most), policy in product(DEFAULT.items(), DEFAULTS):
        tasks, machines, _ = case
        seconds = min(_elsewhere("default", policy, *case) for _ in range(rounds))
        what = f"{policy}: {tasks:,} tasks, {machines} machines"
        lines.append(Line(what, seconds, "s", "a run of the default policy"))
        goals.append(Goal(what, seconds, "<=", most, "s"))
    for preset in PRESETS:
        times = {}
        for machines in MACHINES:
            turns = rounds if machines < MACHINES[-1] else 1
            best = min(_elsewhere(preset, machines) for _ in range(turns))
            times[machines] = best / (TASKS_EACH * machines) * 1e6
            lines.append(Line(f"{preset}, {machines:,}", times[machines], "us", "per task"))
        if preset in GROWING:
            growth = times[MACHINES[-1]] / times[MACHINES[0]]
            goals.append(Goal(f"{preset}: 10,000 beside 100", growth, "<=", MOST_GROWTH, "times"))
    return Result("Deciding, simulated: processor time", lines, goals)


def _elsewhere(*words: object) -> float:
    command = [sys.executable, "-m", __name__, *map(str, words)]
    found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return float(found)


def _timed(run: Callable[[], RunState]) -> float:
    began = time.process_time()
    state = run()
    seconds = time.process_time() - began
    if state.done != state.total:
        raise SystemExit(f"only {state.done:,} of {state.total:,} tasks are done")
    return seconds


def _market(machines: int, *, spot: bool = False, unit_minutes: int = 60) -> Market:
    from bursar.model.market import Market, Offer, Pool
    from bursar.model.money import Money
    from bursar.model.time import MINUTE, SECOND

    pool: Pool = "unreliable" if spot else "reliable"
    small, large, unit = machines * 3 // 5, machines * 2 // 5, unit_minutes * MINUTE
    cheap, dear = (Money(price * unit_minutes // 60) for price in (80_000_000, 240_000_000))
    return Market("USD", "undated", (
        Offer("small", cheap, unit, limit=small, pool=pool),
        Offer("large", dear, unit, limit=large, boot=90 * SECOND, speed=2.5),
    ))  # fmt: skip


def _policy(preset: str, market: Market, wish: Wish, tasks: int) -> Policy:
    from bursar.engine.roles import Policy, Provisioner
    from bursar.model.strategy import read_strategy
    from bursar.policies.place.assigned import AssignedPlacer
    from bursar.policies.place.fifo import FifoPlacer
    from bursar.policies.place.fitting import FittingPlacer
    from bursar.policies.place.kept import KeptPlacer
    from bursar.policies.place.pooled import PooledPlacer
    from bursar.policies.place.random import RandomPlacer
    from bursar.policies.provision.bats import Bats
    from bursar.policies.provision.calls import CallFleet
    from bursar.policies.provision.fixed import Fixed
    from bursar.policies.provision.frontier import Frontier
    from bursar.policies.provision.hedged import Hedged
    from bursar.policies.provision.mixed import Mixed
    from bursar.policies.provision.planned import Planned
    from bursar.policies.provision.prob import Prob
    from bursar.policies.replicate.at_risk import AtRisk
    from bursar.policies.replicate.none import NoReplicas
    from bursar.policies.replicate.ntdmr import Ntdmr
    from bursar.policies.replicate.silent import Silent

    fleet = {offer.name: offer.limit or 0 for offer in market.offers}
    if preset == "mixed":
        mixed = Mixed(market, fleet, read_strategy("N=1,T=15m,D=40m,Mr=0.2"))
        return Policy(mixed, PooledPlacer(), Ntdmr(mixed))
    if preset == "prob":
        prob = Prob()
        return Policy(prob, AssignedPlacer(prob), NoReplicas())
    if preset == "fixed":
        return Policy(Fixed(fleet), RandomPlacer(), NoReplicas())
    if preset == "frontier":
        frontier = Frontier()
        return Policy(frontier, KeptPlacer(frontier), AtRisk(frontier))
    if preset == "hedged":
        hedged = Hedged(market, wish)
        return Policy(hedged, KeptPlacer(hedged), Silent(hedged))
    if preset == "calls":
        return Policy(CallFleet(), FifoPlacer(), NoReplicas())
    bats: Provisioner = Planned(fleet) if preset == "planned" else Bats()
    return Policy(bats, FittingPlacer(bats), AtRisk(bats))


def _layers(width: int) -> Workflow:
    """A workflow of as many layers as there are tasks for a machine."""
    from bursar.model.workflow import Workflow

    count = TASKS_EACH * width
    return Workflow(
        name="layers",
        names=tuple(f"t{task}" for task in range(count)),
        parents=tuple((task - width,) if task >= width else () for task in range(count)),
        kind_names=("any",),
        kinds=(0,) * count,
        runtimes=(1.0,) * count,
    )


def _preset(preset: str, machines: int) -> float:
    from bursar.model.assigned import Assigned
    from bursar.model.goal import Goal as Wish
    from bursar.model.money import ZERO, Money
    from bursar.model.time import MINUTE
    from bursar.model.work import Bag, Work
    from bursar.simulate.faults import ModelledBehaviour, given
    from bursar.simulate.run import simulate
    from bursar.state import events as ev

    rng = Random(0)
    unit = 1 if preset in ("frontier", "hedged") else 60
    market = _market(machines, spot=preset in ("mixed", "hedged"), unit_minutes=unit)
    tasks = TASKS_EACH * machines
    runtimes = [rng.randrange(MINUTE, 10 * MINUTE) for _ in range(tasks)]
    arrivals: list[ev.AnyEvent] = [ev.WorkArrived(0, Work(Bag(tasks)))]
    if preset == "prob":
        names = ("small", "large")
        assigned = Assigned(names, tuple(rng.choice((0, 0, 0, 1, 1)) for _ in range(tasks)))
        fleet = {offer.name: offer.limit or 0 for offer in market.offers}
        plan = ev.PlanChosen(0, "fast", fleet, 0, 0, ZERO, ZERO, assigned=assigned)
        arrivals = [ev.WorkArrived(0, Work(_layers(machines))), plan]
    wish = Wish(budget=Money.parse(f"{machines * 0.4:.2f}"))
    policy = _policy(preset, market, wish, tasks)
    behaviour = ModelledBehaviour(given(runtimes))
    return _timed(lambda: simulate(market, wish, arrivals, policy, behaviour))


def _default(policy: str, tasks: int, machines: int, budget: int) -> float:
    from bursar.model.goal import Goal as Wish
    from bursar.model.market import Market, Offer
    from bursar.model.money import Money
    from bursar.model.time import MINUTE, SECOND
    from bursar.model.work import Bag
    from bursar.simulate.faults import ModelledBehaviour, given
    from bursar.simulate.run import simulate

    rng, limit, minutes = Random(1), machines // 3, DEFAULTS[policy]
    unit = minutes * MINUTE
    spot, small, mid, large = (Money(price * minutes * 10**7 // 60) for price in (3, 8, 15, 24))
    offers = [
        Offer("small", small, unit, limit=limit),
        Offer("mid", mid, unit, limit=limit, boot=40 * SECOND, speed=1.7),
        Offer("large", large, unit, limit=limit, boot=90 * SECOND, speed=2.5),
    ]
    if policy == "hedged":
        cheap = Offer("spot", spot, unit, limit=limit, boot=40 * SECOND, pool="unreliable")
        offers.append(cheap)
    market = Market("USD", "undated", tuple(offers))
    wish = Wish(budget=Money.parse(budget))

    def run(count: int) -> RunState:
        times = [int(rng.lognormvariate(0, 0.6) * 5 * MINUTE) + 1 for _ in range(count)]
        behaviour = ModelledBehaviour(given(times))
        entries = _policy(policy, market, wish, count)
        return simulate(market, wish, Bag(count), entries, behaviour, seed=1)

    run(50)  # which imports what is imported late
    return _timed(lambda: run(tasks))


if __name__ == "__main__":
    what, *numbers = sys.argv[1:]
    if what == "default":
        print(json.dumps(_default(numbers[0], *map(int, numbers[1:]))))
    else:
        print(json.dumps(_preset(what, int(numbers[0]))))
