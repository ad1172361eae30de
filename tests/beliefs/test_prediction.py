"""Predictions: exact where nothing is uncertain, as the engine executes, lawful and fast."""

from __future__ import annotations

import math
from time import perf_counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.beliefs.prediction import FleetPart, Prediction, predict
from bursar.model.errors import InputError
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import LARGEST, Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag
from bursar.policies.registry import make_policy
from bursar.simulate.distributions import BAGS
from bursar.simulate.faults import ModelledBehaviour, traced
from bursar.simulate.run import simulate

PRICES = {"A": "3", "B": "12", "C": "3"}
SPEEDS = {"A": 1, "B": 3, "C": 2}


def fleet(times, machines: dict[str, int], shared: str = "bag", **terms) -> list[FleetPart]:
    return [
        FleetPart(Offer(name, Money.parse(PRICES[name]), **terms), n, times // SPEEDS[name], shared)
        for name, n in machines.items()
    ]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize(
    "terms",
    [
        {},
        {"billing": SECOND},
        {"billing": MINUTE, "minimum": 2 * HOUR, "slots": 3},
        {"boot": 11 * MINUTE},
        {"billing": SECOND, "boot": 90 * SECOND, "slots": 2},
    ],
)
@pytest.mark.parametrize("machines", [{"A": 1}, {"A": 4, "B": 3, "C": 5}, {"B": 20, "C": 20}])
def test_a_bag_of_equal_tasks_is_predicted_as_the_engine_executes_it(terms, machines):
    """The run time divides by no speed, so no two offers want the last task at once."""
    parts = fleet(np.full(30, 2_222_222_221), machines, **terms)
    predicted = predict(parts, 100, rng(), draws=5)
    market = Market("USD", "-", tuple(part.offer for part in parts))
    runtimes = {part.offer.name: [int(part.runtimes[0])] * 100 for part in parts}
    policy = make_policy("fixed", options={"provisioner": {"fleet": machines}})
    behaviour = ModelledBehaviour(traced(runtimes))
    state = simulate(market, Goal(), Bag(100), policy, behaviour, seed=1)
    assert set(predicted.makespans) == {state.last_settled}
    if terms.get("slots", 1) == 1 or sum(machines.values()) == 1:
        # Elsewhere it is open whether the last tasks share a machine.
        assert predicted.cost(0.9) == state.ledger.spent


@given(
    st.integers(1, 400),
    st.dictionaries(st.sampled_from("ABC"), st.integers(0, 20), min_size=1),
    st.integers(1, 40),
    st.sampled_from([{}, {"billing": SECOND}, {"slots": 2, "boot": MINUTE}]),
)
def test_predictions_obey_their_laws(tasks, machines, size, terms):
    if not any(machines.values()):
        machines = {"A": 1}
    times = BAGS["levy"](rng(size), size)
    made = predict(fleet(times, machines, **terms), tasks, rng(), draws=40)
    assert len(made.makespans) == len(made.costs) == 40
    assert made.makespan(0.1) <= made.makespan(0.5) <= made.makespan(0.9) <= max(made.makespans)
    assert made.cost(0.1) <= made.cost(0.5) <= made.cost(0.9)
    parts = fleet(times, machines, **terms)
    least = min(part.offer.charge(part.offer.boot) for part in parts if part.machines)
    assert min(made.costs) >= least.nanos
    # Nobody finishes before all work is divided evenly among all slots.
    assert min(made.makespans) >= terms.get("boot", 0)


def test_the_chance_to_keep_limits_counts_outcomes_that_keep_both():
    made = Prediction((10, 20, 30, 40), (4, 3, 2, 1))
    assert made.chance() == 1
    assert made.chance(deadline=30) == 0.75
    assert made.chance(budget=Money(3)) == 0.75
    assert made.chance(budget=Money(3), deadline=30) == 0.5
    assert (made.makespan(0.5), made.makespan(0.51), made.cost(0.75)) == (20, 30, Money(3))


def test_independent_samples_err_less_together_than_a_shared_one():
    times = [BAGS["levy"](rng(seed), 30) for seed in range(3)]
    parts = [
        FleetPart(Offer(name, Money.parse("1")), 1, sample, "bag")
        for name, sample in zip("ABC", times, strict=True)
    ]
    own = [FleetPart(part.offer, 1, part.runtimes) for part in parts]
    shared, separate = (predict(each, 1000, rng()) for each in (parts, own))
    assert np.std(separate.makespans) < 0.8 * np.std(shared.makespans)


def test_more_machines_finish_earlier_and_a_larger_sample_promises_more():
    times = BAGS["levy"](rng(), 1000)
    few, many = (predict(fleet(times, {"A": n}), 500, rng()) for n in (5, 20))
    assert many.makespan(0.9) < few.makespan(0.9) / 3
    small, large = (predict(fleet(times[:n], {"A": 5}), 500, rng()) for n in (15, 1000))
    assert large.makespan(0.9) - large.makespan() < (small.makespan(0.9) - small.makespan()) / 2


def test_machines_that_no_task_is_left_for_are_not_rented():
    times = np.full(10, 30 * MINUTE)
    made = predict(fleet(times, {"A": 50, "B": 50}), 3, rng())
    assert made.cost(0.9) == Money.parse(3 + 12 + 3)


def test_exact_and_long_run_predictions_meet_where_one_gives_way_to_the_other():
    times = BAGS["multi-modal"](rng(3), 30)
    below, above = (predict(fleet(times, {"A": 8, "C": 8}), n, rng()) for n in (1500, 1501))
    for level in (0.5, 0.9):
        assert above.makespan(level) == pytest.approx(below.makespan(level), rel=0.04)
        assert float(above.cost(level)) == pytest.approx(float(below.cost(level)), rel=0.04)


def test_six_plans_for_a_million_tasks_take_less_than_two_seconds():
    times = BAGS["levy"](rng(), 31)
    fleets = [{"C": 24}, {"A": 5, "C": 24}, {"A": 24, "B": 9, "C": 24}, {"A": 24, "B": 24, "C": 24}]
    fleets += [{"A": 300, "B": 300, "C": 300}, {"A": 3000, "B": 3000, "C": 3000}]
    begun = perf_counter()
    for machines in fleets:
        predict(fleet(times, machines), 1_000_000, rng())
    assert perf_counter() - begun < 2


def test_a_large_fleet_is_charged_in_proportion_to_the_machines_that_stand_for_it():
    times = BAGS["normal"](rng(), 1000)
    made = predict(fleet(times, {"A": 5000}, billing=SECOND), 1_000_000, rng())
    price_of_task = 3 * times.mean() / SECOND
    assert float(made.cost()) == pytest.approx(1_000_000 * price_of_task, rel=0.02)


def test_people_are_reported_once_when_a_sample_cannot_carry_a_promise():
    def cautions(times, machines=None, tasks=10_000):
        return predict(fleet(times, machines or {"A": 2, "B": 2}), tasks, rng()).cautions

    normal = BAGS["normal"](rng(), 30)
    assert cautions(normal) == ()
    (few,) = cautions(normal[:4])
    assert few == "Only 4 tasks were timed on A: the bounds are based on very little."
    (one,) = cautions(normal[:1])
    assert one.startswith("Only one task was timed")
    (share,) = cautions(np.append(normal, 30 * normal.max()))
    assert "One of 31 tasks on A took" in share
    (long,) = cautions(np.append(np.tile(normal, 5), 15 * normal.max()))
    assert "times the median" in long


def test_people_are_reported_when_a_kind_of_long_tasks_may_be_missing():
    """Tasks that are like no other, all of them short, are of kinds of which more may exist."""
    odd = (np.append([1, 1.5, 2.2, 3.2, 4.6], np.linspace(7, 20, 25)) * MINUTE).astype(np.int64)
    (reported,) = predict(fleet(odd, {"A": 4}), 970, rng()).cautions
    assert "unlike each other, but none is much longer than the rest" in reported
    assert "rarer than one in 14, may be missing, and the bounds would not hold." in reported


def test_tasks_of_two_kinds_that_are_seen_often_need_no_caution():
    kinds = np.array([50, 55, 60, 52, 58, 57] * 4 + [400, 420, 390, 410, 405, 395]) * SECOND
    for sample in (kinds, BAGS["normal"](rng(), 30)):
        assert predict(fleet(sample, {"A": 4}), 970, rng()).cautions == ()


@pytest.mark.parametrize("confidence", [0, 1, -0.1, 90, math.nan])
def test_a_confidence_is_between_zero_and_one(confidence):
    with pytest.raises(InputError, match="between 0 and 1"):
        Prediction((1,), (1,)).makespan(confidence)


def test_predictions_of_nothing_are_refused():
    times = np.full(3, MINUTE)
    with pytest.raises(InputError, match="one task or more"):
        predict(fleet(times, {"A": 1}), 0, rng())
    with pytest.raises(InputError, match="without machines"):
        predict(fleet(times, {"A": 0}), 5, rng())
    with pytest.raises(InputError, match="same tasks"):
        predict(fleet(times[:0], {"A": 1}), 5, rng())


def test_the_same_generator_predicts_the_same():
    parts = fleet(BAGS["levy"](rng(), 30), {"A": 3, "B": 2})
    assert predict(parts, 200, rng(5)) == predict(parts, 200, rng(5))


def test_what_costs_more_than_64_bits_hold_is_predicted_exactly():
    dear = Offer("dear", Money(LARGEST), SECOND)
    part = FleetPart(dear, 4, np.full(30, 10 * SECOND, dtype=np.int64))
    found = predict([part], 40, np.random.default_rng(0))
    assert found.cost(0.5) == Money(LARGEST) * 400
    assert min(found.costs) > 2**63
