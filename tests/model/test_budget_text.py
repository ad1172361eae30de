"""Budgets as people write them, for a run or for each interval."""

from decimal import Decimal

import pytest

from bursar.model.budget_text import budget_in, format_budget, read_budget
from bursar.model.errors import InputError
from bursar.model.goal import Budget, Goal
from bursar.model.money import Money
from bursar.model.time import DAY, HOUR, MINUTE, SECOND


@pytest.mark.parametrize(
    ("text", "amount", "every"),
    [
        ("5", "5", None),
        ("$5", "5", None),
        (5, "5", None),
        (Decimal("2.50"), "2.50", None),
        ("5/h", "5", HOUR),
        ("5/day", "5", DAY),
        ("100/min", "100", MINUTE),
        ("5 USD/h", "5", HOUR),
        ("$5 per hour", "5", HOUR),
        ("2.50/30m", "2.50", 30 * MINUTE),
        ("2.50 / 1h30m", "2.50", 90 * MINUTE),
        ("0/s", "0", SECOND),
    ],
)
def test_a_budget_is_read_with_its_interval(text, amount, every):
    assert budget_in("USD", text) == Budget(Money.parse(amount), every)


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("5/", "an empty duration"),
        ("/h", "''"),
        ("5/h/h", "two intervals"),
        ("5/fortnight", "'fortnight' is not a duration"),
        ("5/1ms", "at least 1.0 s"),
        ("-5/h", "negative"),
        ("5 EUR/h", "the prices are in 'USD'"),
        (True, "must be an amount"),
    ],
)
def test_what_is_no_budget_is_refused_in_one_line(text, reported):
    with pytest.raises(InputError) as refusal:
        budget_in("USD", text)
    assert reported in str(refusal.value)
    assert str(refusal.value).isprintable()


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("5", "$5.00"),
        ("5/h", "$5.00/h"),
        ("5/day", "$5.00/day"),
        ("100/min", "$100.00/min"),
        ("2.5/30m", "$2.50/30 min"),
        ("1/90m", "$1.00/90 min"),
        ("1/5s", "$1.00/5 s"),
    ],
)
def test_a_budget_is_printed_so_that_it_can_be_read_again(text, printed):
    budget = budget_in("USD", text)
    assert format_budget(budget, "USD") == printed
    assert budget_in("USD", printed) == budget


def test_a_budget_for_an_interval_limits_no_run_as_a_whole():
    hourly = Goal.within(read_budget("5/h").within("USD"), 2 * HOUR)
    assert hourly == Goal(Money.parse("5"), 2 * HOUR, HOUR)
    assert hourly.total_budget is None
    assert Goal.within(Budget(Money.parse("5"))).total_budget == Money.parse("5")
    assert Goal.within(None, HOUR) == Goal(deadline=HOUR)
