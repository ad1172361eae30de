"""The fleet that a budget buys by throughput: the hand example, and what must always hold."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bursar.model.money import Money
from bursar.plan.feedback_fleet import corrected, profile

PRICES = {"small": Money.parse("1"), "large": Money.parse("5")}
BUDGET = Money.parse("100")
EQUAL = {"small": 0.5, "large": 0.5}


def test_the_hand_example_comes_out():
    bought = profile(BUDGET, PRICES, EQUAL)
    assert bought == {"small": 16, "large": 16}
    assert corrected(bought, 10, BUDGET, PRICES) == {"small": 5, "large": 5}
    assert corrected(bought, 40, BUDGET, PRICES) == {"small": 25, "large": 15}


@given(
    st.integers(1, 500),
    st.lists(st.tuples(st.integers(1, 40), st.integers(1, 99)), min_size=1, max_size=4),
    st.integers(0, 600),
)
def test_no_fleet_costs_more_than_the_budget(budget, offers, wanted):
    prices = {str(n): Money.parse(price) for n, (price, _) in enumerate(offers)}
    whole = sum(share for _, share in offers)
    shares = {str(n): share / whole for n, (_, share) in enumerate(offers)}
    money = Money.parse(budget)
    bought = profile(money, prices, shares)
    fleet = corrected(bought, wanted, money, prices)
    cost = sum(prices[name].nanos * count for name, count in fleet.items())
    if sum(bought.values()) > wanted:
        assert all(fleet[name] <= bought[name] for name in bought)
        assert sum(fleet.values()) < wanted + len(fleet)
    assert cost <= money.nanos
    assert all(count >= 0 for count in fleet.values())
    if sum(fleet.values()) < wanted and len({price.nanos for price in prices.values()}) > 1:
        costly = [n for n in fleet if prices[n].nanos >= 2 * min(p.nanos for p in prices.values())]
        second = sorted(prices, key=lambda name: (prices[name].nanos, name))[1:2]
        assert not any(fleet[name] for name in second if name in costly), "it could be exchanged"


def test_without_a_share_nothing_is_bought():
    assert profile(BUDGET, PRICES, {"small": 0.0, "large": 0.0}) == {"small": 0, "large": 0}


def test_machines_that_do_least_for_their_money_go_first_where_that_is_wanted():
    prices = {"small": Money.parse("1"), "large": Money.parse("5")}
    bought = {"small": 16, "large": 16}
    alike = {"small": 0.5, "large": 0.5}
    given_up = corrected(bought, 20, Money.parse("100"), prices, worth=alike)
    assert given_up == {"small": 16, "large": 4}, "equally fast, and five times as dear"
    faster = {"small": 0.1, "large": 0.9}
    assert corrected(bought, 20, Money.parse("100"), prices, worth=faster) == {
        "small": 4,
        "large": 16,
    }
    assert corrected(bought, 40, Money.parse("100"), prices, worth=alike) == corrected(
        bought, 40, Money.parse("100"), prices
    )
