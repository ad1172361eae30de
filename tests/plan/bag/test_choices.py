import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.model.market import Offer
from bursar.model.money import ZERO, Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.plan.bag.choices import (
    choose,
    choose_by_deadline,
    delta_n,
    least_budget,
    list_choices,
    most_profitable,
    profitability,
)
from bursar.plan.bag.knapsack import fastest, fastest_within

OFFERS = (
    Offer("small", Money.parse("0.08"), HOUR, limit=10),
    Offer("large", Money.parse("0.32"), HOUR, limit=10),
)
RUNTIMES = {"small": 2 * MINUTE, "large": 1 * MINUTE}


def test_choices_go_from_the_least_budget_to_all_machines():
    choices = list_choices(OFFERS, RUNTIMES, 1000)
    assert choices[0].name == "cheapest"
    assert choices[0].budget == least_budget(OFFERS, RUNTIMES, 1000)
    assert choices[-1].name == "fastest"
    assert choices[-1].fleet == {"small": 10, "large": 10}
    budgets = [choice.budget for choice in choices]
    assert budgets == sorted(budgets)


def test_more_choices_lie_between():
    few, many = (list_choices(OFFERS, RUNTIMES, 1000, between=n) for n in (0, 5))
    assert len(many) == len(few) + 5


@settings(max_examples=60)
@given(
    st.integers(1, 3000),
    st.integers(1, 20).map(lambda n: n * 10 * SECOND),
    st.integers(1, 20).map(lambda n: n * 10 * SECOND),
)
def test_no_choice_costs_more_than_its_budget_and_cushion(tasks, small, large):
    runtimes = {"small": small, "large": large}
    for choice in list_choices(OFFERS, runtimes, tasks):
        assert choice.cost <= choice.budget + choice.cushion


def test_a_risky_plan_is_refined_by_steps_of_one_per_cent():
    """Tasks of 50 minutes: two hours do 2.4 of them, but only two whole ones.

    $102 buy 51 machines for two hours: 102 of 122 tasks, though 122.4 by the clock. Until 61
    machines do all of them the budget grows by a hundredth of $100 at a time.
    """
    offers = (Offer("only", Money.parse(1), HOUR, limit=100),)
    runtimes = {"only": 50 * MINUTE}
    first = fastest_within(offers, runtimes, 122, Money.parse(102))
    assert (first.fleet, first.units) == ({"only": 51}, {"only": 2})
    by_name = {"only": offers[0]}
    assert delta_n(first, by_name, runtimes, 122) == 20
    found = choose("x", offers, runtimes, 122, Money.parse(102))
    assert (found.risk, found.fleet) == (20, {"only": 51}), "ten per cent are not enough"
    assert found.cushion == ZERO

    found = choose("x", offers, runtimes, 122, Money.parse(100), 115)
    steps = [fastest_within(offers, runtimes, 122, Money.parse(115 + n)) for n in range(11)]
    risks = [delta_n(step, by_name, runtimes, 122) for step in steps]
    needed = next(n for n, risk in enumerate(risks) if risk <= 0)
    assert needed == 7, risks
    assert found.budget == Money.parse(115)
    assert found.cushion == Money.parse(needed)
    assert (found.fleet, found.units, found.risk) == ({"only": 61}, {"only": 2}, 0)
    assert found.cost == Money.parse(122)


def test_where_every_machine_is_in_use_a_cushion_pays_for_the_tasks_left_over():
    offers = (Offer("only", Money.parse(2), HOUR, limit=3),)
    runtimes = {"only": 50 * MINUTE}
    found = choose("x", offers, runtimes, 7, fastest(offers, runtimes, 7).cost)
    assert found.units == {"only": 2}
    assert found.risk == 1, "two whole tasks fit in two hours, and three machines do six"
    assert found.cushion == Money.parse(2)


def test_a_budget_that_finishes_nothing_gives_no_choice():
    assert choose("x", OFFERS, RUNTIMES, 1000, Money.parse("0.50")) is None


@pytest.mark.parametrize(("deadline", "possible"), [(3 * HOUR, True), (HOUR, False)])
def test_the_cheapest_by_a_deadline_keeps_it(deadline, possible):
    found = choose_by_deadline(OFFERS, RUNTIMES, 1000, deadline)
    assert (found is not None) is possible
    assert found is None or found.makespan <= deadline


@pytest.mark.parametrize("minutes", [(1.66, 0.86, 0.97), (0.29, 0.15, 0.08)])
def test_the_smallest_machine_is_the_most_profitable_for_the_bags_on_ec2(minutes):
    """Tables 6.2 and 6.3."""
    prices = {"small": "0.08", "medium": "0.16", "large": "0.32"}
    offers = [Offer(name, Money.parse(price), HOUR) for name, price in prices.items()]
    runtimes = {name: round(mean * MINUTE) for name, mean in zip(prices, minutes, strict=True)}
    assert most_profitable(offers, runtimes).name == "small"


def test_profits_compare_prices_per_time_and_run_times_per_slot():
    hourly = Offer("hourly", Money.parse("3.6"))
    fine = Offer("fine", Money.parse("0.0009"), billing=SECOND)
    wide = Offer("wide", Money.parse("3.6"), slots=4)
    none_left = Offer("none", Money.parse("0.1"), limit=0)
    runtimes = dict.fromkeys(("hourly", "fine", "wide", "none"), MINUTE)
    assert most_profitable([hourly, fine, none_left], runtimes) is fine
    assert most_profitable([hourly, fine, wide, none_left], runtimes) is wide


def test_slots_count_in_the_least_budget_and_in_what_is_left_over():
    """Four slots: 100 tasks of half an hour take 12.5 hours; in an hour a machine does eight."""
    offers = (Offer("wide", Money.parse(2), HOUR, limit=20, slots=4),)
    runtimes = {"wide": 30 * MINUTE}
    assert least_budget(offers, runtimes, 100) == Money.parse(2 * 13)
    choice = fastest_within(offers, runtimes, 100, Money.parse(26))
    assert (choice.fleet, choice.units) == ({"wide": 13}, {"wide": 1})
    assert delta_n(choice, {"wide": offers[0]}, runtimes, 100) == 100 - 13 * 8


def test_the_cushion_is_paid_at_the_price_of_the_most_profitable_offer():
    offers = (
        Offer("dear", Money.parse(7), HOUR, limit=1),
        Offer("cheap", Money.parse(2), HOUR, limit=3),
    )
    runtimes = {"dear": 50 * MINUTE, "cheap": 50 * MINUTE}
    found = choose("x", offers, runtimes, 9, fastest(offers, runtimes, 9).cost)
    assert found.risk == 1
    assert found.cushion == Money.parse(2)


def test_choices_between_have_budgets_evenly_between_the_ends():
    choices = {c.name: c.budget for c in list_choices(OFFERS, RUNTIMES, 1000, between=3)}
    low, high = choices["cheapest"].nanos, choices["fastest"].nanos
    evenly = [low + (high - low) * part // 4 for part in (1, 2, 3)]
    found = [choices[f"between {share} %"].nanos for share in (25, 50, 75)]
    assert found == evenly


def test_no_choice_has_less_than_the_least_budget():
    """A fifth less than both machines cost buys the slow one; it is not the most profitable."""
    offers = (
        Offer("quick", Money.parse(10), HOUR, limit=1),
        Offer("slow", Money.parse(1), HOUR, limit=1),
    )
    runtimes = {"quick": MINUTE, "slow": 11 * MINUTE}
    assert least_budget(offers, runtimes, 1) == Money.parse(10)
    assert fastest_within(offers, runtimes, 1, Money.parse("8.8")).fleet == {"slow": 1}
    budgets = {choice.name: choice.budget for choice in list_choices(offers, runtimes, 1)}
    assert "fastest -20 %" not in budgets
    assert min(budgets.values()) == Money.parse(10)


def test_the_risk_of_a_choice_by_a_deadline_is_reported():
    offers = (Offer("only", Money.parse(1), HOUR, limit=100),)
    found = choose_by_deadline(offers, {"only": 50 * MINUTE}, 122, 2 * HOUR)
    assert (found.fleet, found.units) == ({"only": 51}, {"only": 2})
    assert found.risk == 20


def test_profitability_is_the_gain_in_speed_by_the_increase_in_price():
    """Section 2.3.3: four times as fast for three times the price."""
    base, better = Offer("base", Money.parse(3)), Offer("better", Money.parse(9))
    runtimes = {"base": 16 * MINUTE, "better": 4 * MINUTE}
    assert profitability(better, base, runtimes) == pytest.approx(4 / 3)
    assert profitability(base, base, runtimes) == 1
