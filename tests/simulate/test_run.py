from __future__ import annotations

import pytest

from bursar.model.goal import Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag, Work
from bursar.policies.registry import make_policy
from bursar.simulate.faults import ModelledBehaviour, drawn, given
from bursar.simulate.run import simulate
from bursar.state import events as ev

MARKET = Market(
    "USD",
    "undated",
    (
        Offer("small", Money.parse("0.10"), limit=3, boot=MINUTE),
        Offer("spot", Money.parse("0.0001"), SECOND, limit=2, speed=2.0, pool="unreliable"),
    ),
)
FLEET = {"provisioner": {"fleet": {"small": 3, "spot": 2}}}


class Notes:
    def __init__(self):
        self.events = []

    def saw(self, event, state):
        self.events.append(event)

    def append(self, event):
        self.events.append(event)

    def commit(self, *, safely):
        pass


def run(seed=1, *, budget="5", tasks=40, failing=0.1, limits=None, **options):
    behaviour = ModelledBehaviour(
        drawn(lambda rng: round(rng.expovariate(1 / (10 * MINUTE))), seed),
        failing=failing,
        mean_life={"spot": 20 * MINUTE},
        seed=seed,
    )
    goal = Goal(Money.parse(budget))
    policy = make_policy(options=FLEET)
    limits = limits or Limits(retries=3)
    work = options.pop("work", Bag(tasks))
    return simulate(MARKET, goal, work, policy, behaviour, seed=seed, limits=limits, **options)


def test_the_same_seed_is_the_same_run_event_by_event():
    first, again, other = Notes(), Notes(), Notes()
    for seed, notes in ((1, first), (1, again), (2, other)):
        run(seed, observers=[notes])
    assert first.events == again.events
    assert first.events != other.events


def test_a_simulated_run_ends_and_tells_how():
    state = run()
    state.check()
    assert state.ended.status == "done"
    assert state.done == 40
    assert not state.machines


@pytest.mark.parametrize("seed", range(5))
def test_no_simulated_run_exceeds_its_budget(seed):
    state = run(seed, budget="0.25")
    assert state.ledger.committed <= Money.parse("0.25")
    assert state.ended.status == "budget"


def test_a_run_of_no_retries_fails_as_a_real_one_does():
    state = run(failing=0.5, limits=Limits())
    assert state.ended.status == "failed"
    assert state.done + state.failed == 40


def test_work_may_arrive_over_time():
    work = [ev.WorkArrived(0, Work(Bag(2))), ev.WorkArrived(10 * HOUR, Work(Bag(3)))]
    state = run(work=work)
    assert state.done == 5
    assert state.last_settled > 10 * HOUR


def test_no_work_is_done_at_once():
    assert run(work=[]).ended == ev.RunEnded(0, "done")


def test_a_simulated_run_can_be_journaled():
    journal, observer = Notes(), Notes()
    run(journal=journal, observers=[observer])
    assert journal.events == observer.events
    assert isinstance(journal.events[0], ev.RunCreated)
    assert isinstance(journal.events[-1], ev.RunEnded)


def test_a_simulation_takes_as_long_as_its_tasks_say():
    market = Market("USD", "undated", (Offer("one", Money.parse("0.10"), limit=1),))
    policy = make_policy(options={"provisioner": {"fleet": {"one": 1}}})
    behaviour = ModelledBehaviour(given([10 * MINUTE, 20 * MINUTE, 45 * MINUTE]))
    state = simulate(market, Goal(Money.parse("1")), Bag(3), policy, behaviour)
    assert state.last_settled == 75 * MINUTE
    assert state.ledger.committed == Money.parse("0.20")
