"""Several works on two pools: each has its own strategy, and its own tail."""

import msgspec
import pytest
from tests.policies.provision.pools import (
    CALM,
    MARKET,
    SPOT,
    SURE,
    policy_for,
)

from bursar.model.goal import Goal
from bursar.model.money import Money
from bursar.model.strategy import Strategy
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag, Work
from bursar.policies.advise.tail import TailAdvisor
from bursar.simulate.faults import ModelledBehaviour, given
from bursar.simulate.run import simulate
from bursar.simulate.unreliable import UnreliablePool
from bursar.state import events as ev
from bursar.testing import Scene


class OfTail:
    """By work, the offers of what was started once its strategy asks for more than one attempt."""

    def __init__(self):
        self.replicas = {1: set(), 2: set()}
        self.advised = []

    def saw(self, event, state):
        if isinstance(event, ev.StrategyChosen):
            self.advised.append(event.work)
        if isinstance(event, ev.AttemptStarted) and "of the tail" in event.reason:
            self.replicas[state.work_of(event.task)].add("spot")
        elif isinstance(event, ev.AttemptStarted) and "reliable machine" in event.reason:
            self.replicas[state.work_of(event.task)].add("sure")


PATIENT = Strategy(None, 12 * MINUTE, 40 * MINUTE, 0.25)
"""no task of it ever goes to a reliable machine"""
HASTY = Strategy(0, 11 * MINUTE, 40 * MINUTE, 0.5)
"""each task gets a single unreliable instance, then a reliable one"""


def two_works(first, second, seed=0, advisor=None):
    """Two bags that arrive together; their plans have these strategies."""
    watch, fleet = OfTail(), {"spot": 4, "sure": 2}
    chosen = [
        ev.PlanChosen(0, "mixed", fleet, 0, 0, Money(0), Money(0), strategy, work=number)
        for number, strategy in enumerate((first, second), 1)
        if strategy is not None
    ]
    arrivals = [ev.WorkArrived(0, Work(Bag(20))), ev.WorkArrived(0, Work(Bag(20))), *chosen]
    policy = policy_for(MARKET)
    if advisor is not None:
        policy = msgspec.structs.replace(policy, advisors=(advisor(policy.provisioner),))
    pool = UnreliablePool(CALM, reliability=0.6)
    state = simulate(MARKET, Goal(), arrivals, policy, pool, seed=seed, observers=[watch])
    assert (state.ended.status, state.done) == ("done", 40)
    return watch.advised, watch.replicas


@pytest.mark.parametrize("seed", range(3))
def test_in_the_tail_each_task_follows_the_strategy_of_its_own_work(seed):
    _, replicas = two_works(PATIENT, HASTY, seed)
    assert replicas == {1: {"spot"}, 2: {"sure"}}
    _, replicas = two_works(HASTY, PATIENT, seed)
    assert replicas == {1: {"sure"}, 2: {"spot"}}


def test_the_pools_are_as_large_as_the_fleets_of_all_works_that_are_not_done():
    policy = policy_for(MARKET)
    scene = Scene(SPOT, SURE, tasks=1, arrivals_open=True)

    def tell(event):
        scene.tell(event)
        policy.provisioner.saw(event, scene.state)

    tell(ev.WorkArrived(0, Work(Bag(1))))
    for work, spot in ((1, 3), (2, 4)):
        fleet = {"spot": spot, "sure": 1}
        tell(ev.PlanChosen(0, "mixed", fleet, 0, 0, Money(0), Money(0), HASTY, work=work))
    assert policy.provisioner.pools.unreliable == 7
    attempt = scene.start(1, scene.machine())
    tell(ev.AttemptEnded(0, attempt, "success"))
    assert policy.provisioner.pools.unreliable == 4


def test_the_advisor_asks_for_each_work_that_has_no_strategy_and_for_no_other():
    advised, _ = two_works(None, None, advisor=TailAdvisor)
    assert sorted(advised) == [1, 2]
    advised, replicas = two_works(PATIENT, None, advisor=TailAdvisor)
    assert advised == [2]
    assert "sure" not in replicas[1]


LONG_CALM = ModelledBehaviour(given([10 * MINUTE + number % 60 * SECOND for number in range(300)]))


class Progress:
    """When tasks of the tail were started, when works were done, and what was not started then."""

    def __init__(self):
        self.tails, self.done, self.unsent = {}, {}, {}

    def saw(self, event, state):
        if isinstance(event, ev.AttemptStarted) and event.reason.startswith("no result so far"):
            work = state.work_of(event.task)
            self.tails.setdefault(work, event.at)
        elif isinstance(event, ev.AttemptEnded):
            work = state.work_of(state.log.task[event.attempt])
            if not state.work.left(work - 1) and work not in self.done:
                self.done[work], self.unsent[work] = event.at, len(state.ready)


def arriving(*works, strategy=HASTY, behaviour=None, advisor=None):
    """Bags that arrive over time: when, and how many tasks."""
    progress, policy = Progress(), policy_for(MARKET, strategy)
    if advisor is not None:
        policy = msgspec.structs.replace(policy, advisors=(advisor(policy.provisioner),))
    arrivals = [ev.WorkArrived(at, Work(Bag(count))) for at, count in works]
    behaviour = behaviour or UnreliablePool(LONG_CALM, reliability=0.6)
    state = simulate(MARKET, Goal(), arrivals, policy, behaviour, observers=[progress])
    assert (state.ended.status, state.done) == ("done", sum(count for _, count in works))
    return progress, state


def test_each_work_has_its_own_tail_while_others_begin_and_more_may_arrive():
    progress, _ = arriving((0, 12), (MINUTE, 150), (30 * HOUR, 4))
    assert progress.tails[1] < progress.tails[2] < progress.tails[3]
    assert progress.unsent[1] > 50, "work 1 did not wait for the tail of work 2"
    assert progress.done[1] < progress.done[2] < 30 * HOUR, "nor for what arrives later"


def test_a_work_is_done_as_early_as_if_it_were_alone_whatever_arrives_after_it():
    alone, _ = arriving((0, 12))
    followed, _ = arriving((0, 12), (MINUTE, 150))
    assert followed.done[1] <= alone.done[1] + 25 * MINUTE


def test_between_works_idle_machines_are_given_back():
    progress, state = arriving((0, 12), (30 * HOUR, 4), behaviour=LONG_CALM)
    assert progress.done[1] < 2 * HOUR
    stays = [charge.end - charge.begin for charge in state.ledger.charges()]
    assert max(stays) < 3 * HOUR


def test_the_advisor_decides_for_each_work_when_its_own_tail_begins():
    class Times:
        def __init__(self):
            self.chosen = {}

        def saw(self, event, state):
            if isinstance(event, ev.StrategyChosen):
                self.chosen[event.work] = event.at, state.work.left(event.work - 1)

    times, policy = Times(), policy_for(MARKET)
    policy = msgspec.structs.replace(policy, advisors=(TailAdvisor(policy.provisioner),))
    arrivals = [ev.WorkArrived(at, Work(Bag(40))) for at in (0, 5 * HOUR)]
    pool = UnreliablePool(LONG_CALM, reliability=0.7)
    state = simulate(MARKET, Goal(), arrivals, policy, pool, observers=[times])
    assert state.done == 80
    (first, left), (second, left_then) = times.chosen[1], times.chosen[2]
    assert first < 5 * HOUR < second
    assert max(left, left_then) < SPOT.limit


def test_tasks_of_a_work_that_is_cancelled_are_not_sent_again():
    policy, pool = policy_for(MARKET, HASTY), UnreliablePool(LONG_CALM, reliability=0.6)
    events = [
        ev.WorkArrived(0, Work(Bag(100))),
        ev.WorkArrived(0, Work(Bag(12))),
        ev.WorkCancelled(30 * MINUTE, 1, "not wanted"),
    ]
    refused = Refused()
    state = simulate(MARKET, Goal(), events, policy, pool, observers=[refused])
    assert state.cancelled + state.done == 112
    assert state.done >= 12
    assert not refused.starts


class Refused:
    def __init__(self):
        self.starts = []

    def saw(self, event, state):
        if isinstance(event, ev.ActionRefused) and event.action == "Start":
            self.starts.append(event)
