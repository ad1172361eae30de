"""A workload in the engine, on machines that are all there from the start."""

from __future__ import annotations

from bursar.beliefs.estimates import GivenRunTimes
from bursar.beliefs.learned import LearnedRunTimes
from bursar.engine.roles import Policy, Provisioner
from bursar.model.dag import dag_of, frozen
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO
from bursar.model.time import SECOND
from bursar.model.work import Work
from bursar.policies.replicate.none import NoReplicas
from bursar.simulate.faults import ModelledBehaviour, given, with_transfers
from bursar.simulate.run import simulate
from bursar.state import events as ev
from bursar.state.actions import Extend, Rent


class WholeFleet(Provisioner):
    """Rents machines in a given order, at once, and keeps them."""

    def __init__(self, offers):
        self._offers = offers

    def provision(self, view, now, rng):
        offers, self._offers = self._offers, []
        return [Rent(offer) for offer in offers]

    def renew(self, machine, view, now):
        return Extend(machine.id)


def market_of(speeds):
    offers = tuple(Offer(f"speed-{speed}", ZERO, speed=speed) for speed in sorted(set(speeds)))
    return Market("USD", "undated", offers)


def arriving(works):
    """`PlainWork`s as they arrive in a run."""
    return [ev.WorkArrived(work.arrived, Work.of_dag(_dag_of(work))) for work in works]


def _dag_of(work):
    import msgspec
    import numpy as np

    dag = dag_of([task.parents for task in work.tasks])
    seconds = np.array([task.runtime / SECOND for task in work.tasks])
    return msgspec.structs.replace(
        dag,
        runtimes=frozen(seconds, np.float64),
        kind_names=("a", "b", "c"),
        kinds=frozen(np.array([task.kind for task in work.tasks]), np.int32),
    )


def run_engine(works, speeds, placer, seed=0, *, learns=False):
    """The state at the end of the run; task and machine numbers are from 1."""
    market = market_of(speeds)
    tasks = [task for work in works for task in work.tasks]
    estimates = GivenRunTimes(
        [task.estimate for task in tasks], {offer.name: offer.speed for offer in market.offers}
    )
    fleet = WholeFleet([f"speed-{speed}" for speed in speeds])
    runtimes = LearnedRunTimes() if learns else estimates
    policy = Policy(fleet, placer, NoReplicas(), runtimes=runtimes)
    times = with_transfers(given([task.runtime for task in tasks]), [t.transfer for t in tasks])
    behaviour = ModelledBehaviour(times)
    return simulate(market, Goal(), arriving(works), policy, behaviour, seed=seed)
