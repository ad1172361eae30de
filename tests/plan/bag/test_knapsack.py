"""The fleet for a bag, a budget, a deadline: what BaTS published, and the edges of it all."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import pytest

from bursar.model.errors import InputError
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND, parse_duration
from bursar.plan.bag.knapsack import cheapest, cheapest_within, fastest, fastest_within


def offer(name, price, *, limit=10, billing=HOUR, minimum=0, slots=1):
    return Offer(name, Money.parse(price), billing, minimum, limit, slots=slots)


EC2 = [
    offer("small", "0.08"),
    offer("medium", "0.16"),
    offer("large", "0.32"),
]
"""Table 6.1; at most ten machines of each."""


def minutes(*runtimes):
    names = [each.name for each in EC2]
    return {name: parse_duration(f"{time}m") for name, time in zip(names, runtimes, strict=True)}


KOHONEN = minutes("1.66", "0.86", "0.97"), 5000 - 159
SARSA = minutes("0.29", "0.15", "0.08"), 9000 - 1115
"""Section 6.2: run times of the sampling phase; tasks less those unique in it."""


def hours(choice):
    (units,) = set(choice.units.values())
    return tuple(choice.fleet.get(each.name, 0) for each in EC2), units


@pytest.mark.parametrize(
    ("budget", "fleet", "time"),
    [
        ("10.72", (2, 0, 0), 67),
        ("11.792", (9, 10, 0), 5),
        ("12.864", (10, 10, 0), 5),
        ("13.44", (10, 10, 3), 4),
        ("15.12", (10, 10, 4), 4),
        ("16.80", (10, 10, 10), 3),
    ],
)
def test_the_kohonen_bag_gets_the_six_fleets_of_the_thesis(budget, fleet, time):
    choice = fastest_within(EC2, *KOHONEN, Money.parse(budget))
    assert hours(choice) == (fleet, time)
    assert choice.cost <= Money.parse(budget)


@pytest.mark.parametrize(
    ("budget", "fleet", "time"),
    [
        ("3.432", (10, 10, 3), 1),
        ("3.744", (10, 10, 4), 1),
        ("4.48", (10, 9, 7), 1),
        ("5.04", (9, 9, 9), 1),
        ("5.60", (10, 10, 10), 1),
    ],
)
def test_the_sarsa_bag_gets_the_five_dearer_fleets_of_the_thesis(budget, fleet, time):
    assert hours(fastest_within(EC2, *SARSA, Money.parse(budget))) == (fleet, time)


def test_for_sarsas_cheapest_budget_there_is_a_faster_fleet_than_the_published_one():
    """Three small machines take 13 hours; for the same money eleven machines take three."""
    choice = fastest_within(EC2, *SARSA, Money.parse("3.12"))
    assert hours(choice) == ((9, 2, 0), 3)
    assert choice.cost == Money.parse("3.12")
    assert 3 * offer("small", "0.08").charge(13 * HOUR) == choice.cost


@pytest.mark.parametrize("bag", [KOHONEN, SARSA])
def test_the_ends_of_the_list_are_the_cheapest_and_the_fastest_fleet(bag):
    least, most = cheapest(EC2, *bag), fastest(EC2, *bag)
    assert least == fastest_within(EC2, *bag, least.cost)
    assert most == fastest_within(EC2, *bag, most.cost)
    assert hours(most)[0] == (10, 10, 10)
    assert fastest_within(EC2, *bag, Money(least.cost.nanos - 1)) is None
    assert cheapest_within(EC2, *bag, most.makespan - 1) is None


def two_clusters(price, faster):
    slow = parse_duration("15.2m")
    offers = [offer("cluster1", "3", limit=32), offer("cluster2", price, limit=32)]
    return offers, {"cluster1": slow, "cluster2": slow // faster}


@pytest.mark.parametrize(
    ("price", "faster", "tasks", "budget", "fleet", "time"),
    [
        ("9", 4, 889, "513", (1, 28), 2),
        ("9", 4, 889, "524", (0, 29), 2),
        ("9", 4, 889, "615", (6, 32), 2),
        ("9", 4, 889, "768", (32, 32), 2),
        ("12", 1, 963, "732", (4, 0), 61),
        ("12", 1, 963, "872", (32, 1), 8),
        ("12", 1, 963, "1536", (32, 17), 5),
        ("12", 1, 963, "1633", (32, 19), 5),
        ("12", 1, 963, "1920", (32, 32), 4),
    ],
)
def test_table_3_2_and_the_steps_that_led_there(price, faster, tasks, budget, fleet, time):
    """Tasks and run times follow from the Delta-N the text gives for these fleets."""
    offers, runtimes = two_clusters(price, faster)
    choice = fastest_within(offers, runtimes, tasks, Money.parse(budget))
    assert tuple(choice.fleet.get(each.name, 0) for each in offers) == fleet
    assert set(choice.units.values()) == {time}


# --- boundaries -----------------------------------------------------------------------------------


def test_work_that_ends_with_the_unit_does_not_enter_the_next():
    offers, runtimes = [offer("a", "1", limit=1)], {"a": 6 * MINUTE}
    whole = cheapest(offers, runtimes, 10)
    assert (whole.makespan, whole.units, whole.cost) == (HOUR, {"a": 1}, Money.parse("1"))
    more = cheapest(offers, {"a": 6 * MINUTE + 1}, 10)
    assert (more.units, more.cost) == ({"a": 2}, Money.parse("2"))


def test_thirds_of_an_hour_add_up_to_an_hour():
    """Three machines of speed 1/3: no float says so."""
    offers, runtimes = [offer("a", "1", limit=3)], {"a": 3 * HOUR}
    choice = fastest_within(offers, runtimes, 7, Money.parse("21"))
    assert (choice.fleet, choice.makespan, choice.cost) == ({"a": 3}, 7 * HOUR, Money.parse("21"))


def test_a_budget_is_met_to_the_last_billionth():
    offers, runtimes = [offer("a", "0.333333333", limit=5)], {"a": HOUR}
    cost = fastest(offers, runtimes, 5).cost
    assert cost == Money.parse("1.666666665")
    assert fastest_within(offers, runtimes, 5, cost).fleet == {"a": 5}
    assert fastest_within(offers, runtimes, 5, Money(cost.nanos - 1)) is None


def test_equally_fast_fleets_are_reported_apart_by_cost_then_machines_then_order():
    runtimes = {"a": HOUR, "b": HOUR, "double": HOUR // 2}
    dear_and_cheap = [offer("a", "2", limit=1), offer("b", "1", limit=1)]
    assert fastest_within(dear_and_cheap, runtimes, 1, Money.parse("2")).fleet == {"b": 1}
    single_and_double = [offer("a", "1", limit=2), offer("double", "2", limit=1)]
    assert fastest_within(single_and_double, runtimes, 2, Money.parse("2")).fleet == {"double": 1}
    twins = [offer("b", "1", limit=2), offer("a", "1", limit=2)]
    assert fastest_within(twins, runtimes, 3, Money.parse("3")).fleet == {"b": 2, "a": 1}


def test_the_minimum_charge_can_make_a_coarser_billing_cheaper():
    offers = [
        offer("seconds", "0.001", billing=SECOND, minimum=HOUR, limit=1),
        offer("hours", "3.5", limit=1),
    ]
    runtimes = {"seconds": MINUTE, "hours": MINUTE}
    assert cheapest(offers, runtimes, 10).fleet == {"hours": 1}
    assert cheapest(offers, runtimes, 100).fleet == {"seconds": 1}


def test_billing_by_the_second_pays_for_what_is_used():
    offers = [
        offer("a", "0.000027", billing=SECOND, minimum=MINUTE, limit=100),
        offer("b", "0.000054", billing=SECOND, minimum=MINUTE, limit=100),
    ]
    runtimes = {"a": 700 * SECOND, "b": 365 * SECOND}
    budget = Money.parse("1900")
    choice = fastest_within(offers, runtimes, 100_000, budget)
    assert choice.fleet["a"] == 100
    assert choice.units["a"] == -(-choice.makespan // SECOND)
    assert choice.cost <= budget
    more = {"a": 100, "b": choice.fleet["b"] + 1}
    speed = sum(Fraction(count, runtimes[name]) for name, count in more.items())
    stay = ceil(100_000 / speed)
    assert offers[0].charge(stay) * more["a"] + offers[1].charge(stay) * more["b"] > budget


# --- what counts ----------------------------------------------------------------------------------


def test_machines_that_cost_nothing_are_always_taken():
    offers = [offer("own", "0", limit=2), offer("rented", "1")]
    runtimes = {"own": HOUR, "rented": HOUR}
    assert cheapest(offers, runtimes, 10).fleet == {"own": 2}
    assert cheapest(offers, runtimes, 10).cost == Money(0)
    assert fastest_within(offers, runtimes, 10, Money.parse("4")).fleet == {"own": 2, "rented": 1}
    assert fastest_within(offers, runtimes, 10, Money.parse("6")).fleet == {"own": 2, "rented": 3}
    assert cheapest_within(offers, runtimes, 10, 2 * HOUR).fleet == {"own": 2, "rented": 3}


def test_where_everything_is_free_no_budget_is_too_small():
    offers, runtimes = [offer("own", "0", limit=3)], {"own": HOUR}
    assert fastest_within(offers, runtimes, 6, Money(0)).fleet == {"own": 3}
    assert cheapest_within(offers, runtimes, 6, 2 * HOUR).makespan == 2 * HOUR
    assert cheapest_within(offers, runtimes, 6, 2 * HOUR - 1) is None
    assert fastest_within(offers, runtimes, 6, Money(-1)) is None


def test_slots_make_a_machine_faster_without_making_it_dearer():
    offers, runtimes = [offer("wide", "1", slots=8, limit=4)], {"wide": HOUR}
    choice = fastest_within(offers, runtimes, 64, Money.parse("8"))
    assert (choice.fleet, choice.makespan) == ({"wide": 4}, 2 * HOUR)


def test_an_offer_without_a_known_run_time_is_left_out():
    offers = [offer("known", "1"), offer("sampled", "1"), offer("new", "1")]
    choice = fastest(offers, {"known": HOUR, "sampled": None}, 20)
    assert choice.fleet == {"known": 10}


def test_an_offer_without_a_limit_has_as_many_machines_as_tasks_can_fill():
    offers, runtimes = [offer("wide", "1", slots=4, limit=None)], {"wide": HOUR}
    assert fastest(offers, runtimes, 10).fleet == {"wide": 3}


def test_the_fleet_is_reported_in_the_markets_order():
    offers = [offer("z", "1", limit=1), offer("own", "0", limit=1), offer("a", "1", limit=1)]
    choice = fastest(offers, {"z": HOUR, "own": HOUR, "a": HOUR}, 9)
    assert list(choice.fleet) == list(choice.units) == ["z", "own", "a"]


@pytest.mark.parametrize(
    ("offers", "runtimes", "tasks", "words"),
    [
        ([offer("a", "1")], {"a": HOUR}, 0, "one task or more"),
        ([offer("a", "1")], {}, 5, "known run time"),
        ([offer("a", "1", limit=0)], {"a": HOUR}, 5, "limit above zero"),
        ([offer("a", "1")], {"a": 0}, 5, "above zero"),
    ],
)
def test_a_question_without_an_answer_is_refused_in_one_line(offers, runtimes, tasks, words):
    for question in (cheapest, fastest):
        with pytest.raises(InputError, match=words):
            question(offers, runtimes, tasks)
