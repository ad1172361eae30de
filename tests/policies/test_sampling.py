"""The sampling phase, in the simulated world."""

from random import Random

import numpy as np
import pytest

from bursar.beliefs.samples import REPLICATED, SampleLog
from bursar.beliefs.sampling import sample_size
from bursar.engine.roles import Policy
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag
from bursar.policies.place.sample import SamplePlacer
from bursar.policies.provision.sample import Sample
from bursar.policies.replicate.none import NoReplicas
from bursar.simulate.faults import ModelledBehaviour, given
from bursar.simulate.run import simulate

HOURLY = Market(
    "USD",
    "x",
    (
        Offer("small", Money.parse("0.08"), HOUR, limit=10),
        Offer("medium", Money.parse("0.16"), HOUR, limit=10, speed=2.0),
        Offer("large", Money.parse("0.32"), HOUR, limit=10, speed=4.0),
    ),
)


def sample(market=HOURLY, tasks=500, budget="100", workers=1, behaviour=None, seed=1):
    book, size = SampleLog(), sample_size(tasks)
    rng = Random(seed)
    runtimes = [round(rng.gauss(2 * MINUTE, 20 * SECOND)) for _ in range(tasks)]
    policy = Policy(Sample(book, size, workers), SamplePlacer(book, size), NoReplicas())
    behaviour = behaviour or ModelledBehaviour(given(runtimes))
    goal = Goal(Money.parse(budget))
    return simulate(market, goal, Bag(count=tasks), policy, behaviour, observers=[book]), book


@pytest.mark.parametrize(("tasks", "size"), [(1000, 30), (5000, 31), (10**6, 31), (5, 5), (1, 1)])
def test_the_sample_size_is_that_of_the_thesis(tasks, size):
    assert sample_size(tasks) == size


def test_a_sample_stops_for_a_plan_and_its_work_counts():
    state, book = sample()
    assert state.ended.status == "planned"
    assert state.done > sample_size(500), "paid time is used to its end"
    assert state.ledger.committed == Money.parse("0.56"), "one hour of one machine of each offer"
    assert book.is_complete(HOURLY.offers, sample_size(500), 500)


def test_some_tasks_run_on_every_offer():
    _, book = sample()
    assert len(book.replicated) == REPLICATED
    for offer in HOURLY.offers:
        assert set(book.replicated) <= set(book.runtimes[offer.name])


def test_run_times_are_converted_between_offers():
    _, book = sample()
    samples = book.samples(HOURLY.offers)
    assert len({len(values) for values in samples.values()}) == 1
    assert np.mean(samples["small"]) / np.mean(samples["large"]) == pytest.approx(4, rel=0.01)


def test_with_fine_billing_the_sample_ends_when_it_is_complete():
    market = Market(
        "USD", "x", tuple(Offer(o.name, Money.parse("0.001"), SECOND, limit=9, speed=o.speed)
                          for o in HOURLY.offers)
    )  # fmt: skip
    state, _ = sample(market)
    assert state.ended.status == "planned"
    assert state.done < 60


def test_a_bag_smaller_than_its_sample_is_simply_done():
    state, _ = sample(tasks=5)
    assert state.ended.status == "done"


def test_an_offer_on_which_every_task_fails_is_given_up():
    class Picky(ModelledBehaviour):
        def attempt(self, task, attempt, machine, now):
            runtime, _ = super().attempt(task, attempt, machine, now)
            return runtime, "failed" if machine.offer.name == "large" else "success"

    state, book = sample(behaviour=Picky(given([2 * MINUTE] * 500)))
    assert state.ended.status == "planned"
    assert book.is_hopeless("large")
    assert set(book.samples(HOURLY.offers)) == {"small", "medium"}


def test_a_sample_without_money_stops_and_tells_what_it_saw():
    state, book = sample(budget="0.16", tasks=400)
    assert state.ended.status == "planned"
    assert state.ledger.committed <= Money.parse("0.16")
    assert book.seen() > 0


def test_run_times_that_get_shorter_where_they_should_get_longer_fit_no_line():
    book = SampleLog()
    book.replicated = [1, 2, 3]
    book.runtimes = {"a": {1: 10, 2: 20, 3: 30, 4: 40}, "b": {1: 9, 2: 6, 3: 3}}
    offers = (Offer("a", Money.parse(1)), Offer("b", Money.parse(1)))
    assert book.samples(offers)["b"][3] == round(40 * 18 / 60)


def test_once_offers_are_compared_one_machine_of_the_most_profitable_does_the_rest():
    """Both cost the same, so the faster is the better value."""
    market = Market(
        "USD",
        "x",
        (
            Offer("small", Money.parse("0.08"), HOUR, limit=10),
            Offer("large", Money.parse("0.08"), HOUR, limit=10, speed=1.2),
        ),
    )
    behaviour = ModelledBehaviour(given([30 * MINUTE] * 200))
    state, book = sample(market, tasks=200, behaviour=behaviour, workers=2)
    assert state.ended.status == "planned"
    assert book.is_complete(market.offers, sample_size(200), 200)
    hours = {charge.machine: (charge.offer.name, charge.units) for charge in state.ledger.charges()}
    small = [units for name, units in hours.values() if name == "small"]
    large = sorted(units for name, units in hours.values() if name == "large")
    assert max(small) == 2, "seven tasks of half an hour on two machines"
    assert large[-1] > large[0], "one of them goes on alone"
