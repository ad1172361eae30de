"""Every preset and some autoscalers on 100, 1,000 and 10,000 simulated machines: processor time
per task.

Where the time of the default policy goes, as samples of 500 tasks on 300 machines tell: plans take
10 % (half of that for the first fleet), what is believed of run times 16 %, replicas of the last
tasks 22 %, recording events 18 %. Fleets are listed, judged and searched by compiled kernels. Of
5,000 tasks on 600 machines: plans 2 %, beliefs 8 %, replicas 28 %, recording events 28 %. The rest
is spread over hundreds of functions. Processor time is that of all threads: products of matrices
that wake others cost more than half of all else (`bursar.beliefs.products`).

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
    from bursar.model.goal import Goal as RunGoal
    from bursar.model.market import Market
    from bursar.model.workflow import Workflow
    from bursar.state.state import RunState

MACHINES = (100, 1_000, 10_000)
TASKS_EACH = 5
"""Tasks for each machine."""
MOST_GROWTH = 2.0
PRESETS = (
    *(
        "round-robin",
        "in-order",
        "bats",
        "bats-published",
        "planned",
        "frontier",
        "hedged",
        "calls",
    ),
    *("expert", "uniform-progress", "prob", "workflow", "pfa", "plf", "scf"),
)
"""All but `sample`, which ends after some tasks."""
AUTOSCALERS = ("react", "plan", "token")
"""Those that look at the load, at the works that wait, and at their forms; with `fifo`."""
SPOT = ("expert", "hedged", "uniform-progress")
"""They get unreliable machines, too."""
SHORT_UNITS = ("frontier", "hedged")
"""Their units are minutes, as many plans are made then; those of others are hours."""
WORKFLOWS = ("prob", "workflow")
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
    for preset in (*PRESETS, *AUTOSCALERS):
        times = {}
        for machines in MACHINES:
            turns = rounds if machines < MACHINES[-1] else 1
            best = min(_elsewhere(preset, machines) for _ in range(turns))
            times[machines] = best / (TASKS_EACH * machines) * 1e6
            lines.append(Line(f"{preset}, {machines:,}", times[machines], "us", "per task"))
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


def _policy(preset: str, market: Market, goal: RunGoal, tasks: int) -> Policy:
    from bursar.engine.roles import Policy, Provisioner
    from bursar.model.strategy import read_strategy
    from bursar.policies.presets import IN_ORDER, PRESETS
    from bursar.policies.registry import make_entry

    scaled = {**IN_ORDER, "provisioner": preset}
    names = scaled if preset in AUTOSCALERS else PRESETS[preset]
    offered = {
        "market": market,
        "goal": goal,
        "tasks": tasks,
        "fleet": {offer.name: offer.limit or 0 for offer in market.offers},
        "strategy": read_strategy("N=1,T=15m,D=40m,Mr=0.2"),
        "faithful": preset == "bats-published",
    }
    provisioner: Provisioner = make_entry("provisioner", names["provisioner"], offered)
    known = {"provisioner": provisioner}
    placer = make_entry("placer", names["placer"], known)
    return Policy(provisioner, placer, make_entry("replicator", names["replicator"], known))


def _run_goal(preset: str, machines: int) -> RunGoal:
    from bursar.model.goal import Goal as RunGoal
    from bursar.model.money import Money
    from bursar.model.time import HOUR

    if preset == "uniform-progress":
        return RunGoal(deadline=2 * HOUR)
    budget = Money.parse(f"{machines * 0.4:.2f}")
    return RunGoal(budget=budget, every=HOUR if preset in ("pfa", "plf", "scf") else None)


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
    from bursar.model.money import ZERO
    from bursar.model.time import MINUTE
    from bursar.model.work import Bag, Work
    from bursar.simulate.faults import ModelledBehaviour, given
    from bursar.simulate.run import simulate
    from bursar.state import events as ev

    rng = Random(0)
    unit = 1 if preset in SHORT_UNITS else 60
    market = _market(machines, spot=preset in SPOT, unit_minutes=unit)
    tasks = TASKS_EACH * machines
    runtimes = [rng.randrange(MINUTE, 10 * MINUTE) for _ in range(tasks)]
    work = Work(_layers(machines) if preset in WORKFLOWS else Bag(tasks))
    arrivals: list[ev.AnyEvent] = [ev.WorkArrived(0, work)]
    if preset == "prob":
        names = ("small", "large")
        assigned = Assigned(names, tuple(rng.choice((0, 0, 0, 1, 1)) for _ in range(tasks)))
        fleet = {offer.name: offer.limit or 0 for offer in market.offers}
        arrivals.append(ev.PlanChosen(0, "fast", fleet, 0, 0, ZERO, ZERO, assigned=assigned))
    goal = _run_goal(preset, machines)
    policy = _policy(preset, market, goal, tasks)
    behaviour = ModelledBehaviour(given(runtimes))
    return _timed(lambda: simulate(market, goal, arrivals, policy, behaviour))


def _default(policy: str, tasks: int, machines: int, budget: int) -> float:
    from bursar.model.goal import Goal as RunGoal
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
    goal = RunGoal(budget=Money.parse(budget))

    def run(count: int) -> RunState:
        times = [int(rng.lognormvariate(0, 0.6) * 5 * MINUTE) + 1 for _ in range(count)]
        behaviour = ModelledBehaviour(given(times))
        entries = _policy(policy, market, goal, count)
        return simulate(market, goal, Bag(count), entries, behaviour, seed=1)

    run(50)  # which imports what is imported late
    return _timed(lambda: run(tasks))


if __name__ == "__main__":
    what, *numbers = sys.argv[1:]
    if what == "default":
        print(json.dumps(_default(numbers[0], *map(int, numbers[1:]))))
    else:
        print(json.dumps(_preset(what, int(numbers[0]))))
