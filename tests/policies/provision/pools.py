"""Runs of `mixed` on two small pools."""

import msgspec

from bursar.engine.roles import Policy
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.strategy import Strategy
from bursar.model.time import MINUTE, SECOND
from bursar.model.work import Bag
from bursar.policies.advise.tail import TailAdvisor
from bursar.policies.place.pooled import PooledPlacer
from bursar.policies.provision.mixed import Mixed
from bursar.policies.replicate.ntdmr import Ntdmr
from bursar.simulate.faults import ModelledBehaviour, given
from bursar.simulate.run import simulate
from bursar.simulate.unreliable import UnreliablePool
from bursar.state import events as ev

SPOT = Offer("spot", Money.parse("0.01"), billing=SECOND, limit=8, pool="unreliable")
SURE = Offer("sure", Money.parse("0.10"), billing=SECOND, limit=4)
MARKET = Market("USD", "undated", (SPOT, SURE))
CALM = ModelledBehaviour(given([10 * MINUTE + number * SECOND for number in range(60)]))
STRATEGY = Strategy(2, 12 * MINUTE, 20 * MINUTE, 0.25)


def fleet_of(market):
    return {offer.name: 3 if offer.limit is None else offer.limit for offer in market.offers}


def policy_for(market, strategy=None):
    guide = Mixed(market, fleet_of(market), strategy)
    return Policy(guide, PooledPlacer(), Ntdmr(guide))


def run(behaviour=CALM, strategy=STRATEGY, *, tasks=40, market=MARKET, budget=None, observers=()):
    goal = Goal(None if budget is None else Money.parse(budget))
    return simulate(
        market, goal, Bag(tasks), policy_for(market, strategy), behaviour, observers=observers
    )


class Choices:
    def __init__(self):
        self.events = []

    def saw(self, event, state):
        if isinstance(event, ev.StrategyChosen):
            self.events.append((event, state.total - state.done))


def decide(wish=None, budget=None, behaviour=None, market=MARKET, ask=None, asked=None):
    policy, choices = policy_for(market, asked), Choices()
    advisor = TailAdvisor(policy.provisioner, wish, ask)
    policy = msgspec.structs.replace(policy, advisors=(advisor,))
    behaviour = behaviour or UnreliablePool(CALM, reliability=0.7)
    goal = Goal(None if budget is None else Money.parse(budget))
    state = simulate(market, goal, Bag(40), policy, behaviour, observers=[choices])
    return state, choices.events
