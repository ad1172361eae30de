"""What an entry does at an event does not grow with the machines that are there."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from tests.policies.provision.pools import policy_for

from bursar.beliefs.unified import UnifiedRuntimes
from bursar.engine.roles import Policy
from bursar.model.goal import Account, Budget, Goal
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO, Money
from bursar.model.strategy import Strategy
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag
from bursar.policies.idle_machines import IdleByAge
from bursar.policies.place.kept import KeptPlacer
from bursar.policies.place.wheft import WheftPlacer
from bursar.policies.pool_machines import is_unreliable
from bursar.policies.provision.frontier import Frontier
from bursar.policies.reconcile import Target, reconcile
from bursar.policies.replicate.at_risk import AtRisk
from bursar.policies.replicate.none import NoReplicas
from bursar.policies.replicate.stochastic import Stochastic
from bursar.policies.running_attempts import RunningAttempts
from bursar.simulate.faults import ModelledBehaviour, given
from bursar.simulate.run import simulate
from bursar.state import events as ev
from bursar.state.fleet_counts import FleetCounts
from bursar.state.view import Machine
from bursar.testing import Scene

ONE = Offer("one", ZERO)


class Counted(dict):
    """Counts how often somebody looks at a machine."""

    looks = 0

    def __getitem__(self, number):
        self.looks += 1
        return super().__getitem__(number)

    def get(self, number, default=None):
        self.looks += 1
        return super().get(number, default)

    def values(self):
        self.looks += len(self)
        return super().values()


def watched(state):
    state.machines = Counted(state.machines)
    return state.machines


@pytest.mark.parametrize("fleet", [{"one": 2}, {"one": 500}])
def test_with_several_accounts_no_machine_is_looked_at_to_find_what_is_lacking(fleet):
    scene, counts = Scene(ONE, tasks=9), FleetCounts()
    accounts = tuple(Account(name, Budget(Money.parse("9"))) for name in ("ann", "bob"))
    scene.tell(ev.GoalChanged(0, Goal(accounts=accounts)))
    for number in range(1, 301):
        account = "ann" if number % 3 else "bob"
        scene.tell(ev.MachineRented(0, number, "one", HOUR, "", account))
    scene.mark(1)
    scene.release(2)
    counts.look(scene.state)
    target = Target(fleet=fleet, rent="wanted")
    plain = reconcile(scene.state, target, scene.at, "ann")
    machines = watched(scene.state)
    assert reconcile(scene.state, target, scene.at, "ann", counts) == plain
    assert machines.looks == 0
    assert sum(action.count for action in plain) == max(0, fleet["one"] - 198)


def looks_of_wheft(idle):
    """While one machine does task after task and the others have none that is ready."""
    scene, placer = Scene(ONE, tasks=idle + 9), WheftPlacer()
    scene.machine()
    for _ in range(idle):
        scene.machine()

    def place():
        return list(placer.place(scene.state, scene.at, Random(0)))

    for start in place():
        scene.start(start.task, start.machine)
    for attempt in list(scene.state.attempts)[1:]:
        scene.end(attempt)
    first, looks = next(iter(scene.state.attempts)), []
    for start in place():
        scene.start(start.task, start.machine)
    while scene.state.attempts:
        machines = watched(scene.state)
        scene.end(first)
        machines.looks = 0
        starts = place()
        looks.append(machines.looks)
        for start in starts:
            scene.start(start.task, start.machine)
        first = next(iter(scene.state.attempts), None)
    assert not scene.state.ready
    return max(looks)


def test_wheft_looks_at_machines_that_changed_only():
    assert looks_of_wheft(300) == looks_of_wheft(20) < 12


class CountedByAge(IdleByAge):
    """Counts the machines that somebody has walked past."""

    walked = 0

    def __iter__(self):
        for number in super().__iter__():
            self.walked += 1
            yield number


def test_mixed_walks_past_the_idle_machines_that_it_keeps_and_no_others():
    spot = Offer("spot", Money.parse("0.01"), billing=MINUTE, limit=200, pool="unreliable")
    sure = Offer("sure", Money.parse("0.10"), billing=SECOND, limit=2)
    policy = policy_for(Market("USD", "undated", (spot, sure)), Strategy(0, 30 * MINUTE, HOUR, 0.1))
    mixed, walks = policy.provisioner, []
    idle = mixed._idle[True] = CountedByAge(is_unreliable)
    decide = mixed._wanted

    def counted(view, now):
        idle.walked = 0
        is_wanted, walked = decide(view, now), idle.walked
        kept = sum(is_wanted(view.machines[number]) for number in idle)
        walks.append((walked, kept, len(idle)))
        return is_wanted

    mixed._wanted = counted
    times = ModelledBehaviour(given([(1 + task % 40) * MINUTE for task in range(300)]))
    state = simulate(mixed._market, Goal(), Bag(300), policy, times)
    assert state.done == 300
    in_tail = [one for one in walks if one[2]]
    assert all(walked <= kept + 1 for walked, kept, _ in in_tail)
    assert max(idle - walked for walked, _, idle in in_tail) > 5


def test_a_dropped_machine_that_gives_nothing_back_is_not_asked_again(monkeypatch):
    """Only with another lease might it."""
    asked, plain = Counter(), Machine.refunds

    def refunds(machine, now):
        found = plain(machine, now)
        asked[machine.id, machine.until] += not found
        return found

    monkeypatch.setattr(Machine, "refunds", refunds)
    rng, unit, frontier = Random(1), 10 * MINUTE, Frontier()
    offers = (
        Offer("small", Money.parse("0.08"), unit, limit=60),
        Offer("large", Money.parse("0.24"), unit, limit=40, boot=90 * SECOND, speed=2.5),
    )
    times = [int(rng.lognormvariate(0, 1.0) * 5 * MINUTE) + 1 for _ in range(400)]
    policy = Policy(frontier, KeptPlacer(frontier), NoReplicas())
    behaviour, goal = ModelledBehaviour(given(times)), Goal(Money.parse("60"))
    state = simulate(Market("USD", "undated", offers), goal, Bag(400), policy, behaviour, seed=1)
    assert state.done == 400
    assert max(asked.values()) <= 2  # once by the plan, and once when nothing was left to start


SLOW, FAST = Offer("slow", Money.parse(1), HOUR), Offer("fast", Money.parse(4), HOUR, speed=3.0)


@pytest.mark.parametrize(("idle", "looks"), [(SLOW, 0), (FAST, 1)])
@pytest.mark.parametrize("kind", [Stochastic, AtRisk])
def test_attempts_are_followed_only_where_an_idle_machine_may_be_faster(
    kind, idle, looks, monkeypatch
):
    scene, counted = Scene(SLOW, FAST, tasks=2), []
    scene.start(1, scene.machine("slow"))
    scene.start(2, scene.machine("fast"))
    scene.machine(idle.name)
    scene.state.runtimes = UnifiedRuntimes({"slow": 1_000_000, "fast": 3_000_000})
    scene.state.runtimes.learn("slow", 9 * MINUTE)
    look = RunningAttempts.look
    monkeypatch.setattr(
        RunningAttempts, "look", lambda *given: counted.append(given) or look(*given)
    )
    entry = Stochastic() if kind is Stochastic else AtRisk(Frontier())
    replicas = list(entry.replicate(scene.state, scene.at, Random(0)))
    assert [one.task for one in replicas] == [1] * looks
    assert len(counted) == looks
