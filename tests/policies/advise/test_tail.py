"""A decision in the tail is made by what is known of the machines that work then."""

import pytest

from bursar.beliefs.pool import PoolObserver
from bursar.engine.roles import Policy
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import MINUTE, SECOND
from bursar.model.work import Bag
from bursar.policies.advise.tail import TailAdvisor, TailQuestion, situation_of
from bursar.policies.place.pooled import PooledPlacer
from bursar.policies.provision.mixed import Mixed
from bursar.policies.replicate.ntdmr import Ntdmr
from bursar.simulate.faults import ModelledBehaviour, given
from bursar.simulate.run import simulate
from bursar.simulate.unreliable import Overlay
from bursar.testing import check_advisor

MARKET = Market(
    "USD",
    "undated",
    (
        Offer("spot", Money.parse("0.01"), billing=SECOND, limit=20, pool="unreliable"),
        Offer("sure", Money.parse("0.10"), billing=SECOND, limit=4),
    ),
)


class BadHosts(Overlay):
    """Every fifth machine of the unreliable pool never returns anything."""

    def attempt(self, task, attempt, machine, now):
        if machine.offer.pool == "unreliable" and machine.id % 5 == 0:
            return None, "lost"
        return super().attempt(task, attempt, machine, now)


class Snapshot:
    """What is known when the tail begins."""

    def __init__(self, pools):
        self.pools, self.book = pools, PoolObserver()
        self.situation, self.under_way = None, []

    def saw(self, event, state):
        self.book.saw(event, state)
        if self.situation is None and self.pools.begins_tail(1, state):
            self.situation = situation_of(1, state, self.pools, self.book)
            for one in state.attempts.values():
                self.under_way.append((one.started - state.now, one.machine.id % 5 == 0))


@pytest.fixture(scope="module")
def tail():
    mixed = Mixed(MARKET, {"spot": 20, "sure": 4})
    policy = Policy(mixed, PooledPlacer(), Ntdmr(mixed))
    below = ModelledBehaviour(given([MINUTE + number % 37 * SECOND for number in range(200)]))
    snapshot = Snapshot(mixed.pools)
    simulate(MARKET, Goal(), Bag(200), policy, BadHosts(below), observers=[snapshot])
    return snapshot


def test_machines_that_returned_results_are_trusted_and_those_that_never_did_are_not(tail):
    gamma = tail.situation.conditions.gamma
    bad = [gamma.at(sent) for sent, is_bad in tail.under_way if is_bad]
    good = [gamma.at(sent) for sent, is_bad in tail.under_way if not is_bad]
    assert len(bad) >= 2
    assert len(good) >= 10
    assert max(bad) < 0.6
    assert min(good) > 0.95


def test_what_is_sent_next_goes_to_machines_like_those_of_late(tail):
    assert tail.situation.conditions.gamma.after > 0.85


@pytest.mark.parametrize("wish", [None, "makespan*cost"])
def test_it_keeps_the_contract_of_an_advisor(wish):
    mixed = Mixed(MARKET, {"spot": 20, "sure": 4})
    below = ModelledBehaviour(given([MINUTE + number % 37 * SECOND for number in range(60)]))

    def drive(advisor):
        policy = Policy(mixed, PooledPlacer(), Ntdmr(mixed), (advisor,))
        return simulate(MARKET, Goal(), Bag(60), policy, BadHosts(below))

    asked = check_advisor(lambda: TailAdvisor(mixed, wish), drive)
    assert asked == 1 if wish is None else asked > 1, "a preference counts before the tail, too"


def test_what_is_asked_at_the_start_of_the_tail_is_answered_from_the_question_alone(tail):
    """An advisor without a run, in whatever thread, answers the same."""
    question = TailQuestion(tail.situation, None)
    first, second = (TailAdvisor(Mixed(MARKET, {"spot": 20})).answer(question) for _ in range(2))
    assert first == second
    assert "strategies" in first.why
