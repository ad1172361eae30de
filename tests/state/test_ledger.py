from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bursar.model.errors import InvariantError
from bursar.model.goal import Budget
from bursar.model.market import Offer
from bursar.model.money import ZERO, Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.state.charges import Charge, ClosedCharges
from bursar.state.ledger import Ledger

HOURLY = Offer("hourly", Money.parse("0.10"))
PER_SECOND = Offer("fine", Money.parse("0.001"), SECOND, minimum=MINUTE)


def money(text):
    return Money.parse(text)


@pytest.fixture
def ledger():
    return Ledger({"": Budget(money("1.00"))})


def test_a_lease_is_committed_when_it_begins(ledger):
    ledger.commit(1, HOURLY, 0, 2 * HOUR)
    assert ledger.committed == money("0.20")
    assert ledger.left == money("0.80")
    assert ledger.spent == ZERO
    assert ledger.amount_of(1) == money("0.20")


def test_an_extension_commits_only_what_it_adds(ledger):
    ledger.commit(1, HOURLY, 5, 5 + HOUR)
    ledger.extend(1, 5 + 3 * HOUR)
    assert ledger.committed == ledger.amount_of(1) == money("0.30")


def test_units_that_were_not_entered_are_given_back(ledger):
    ledger.commit(1, HOURLY, 0, 3 * HOUR)
    assert ledger.close(1, 90 * MINUTE) == money("0.10")
    assert ledger.committed == ledger.spent == money("0.20")


@pytest.mark.parametrize(
    ("stay", "cost"),
    [(0, "0.10"), (1, "0.10"), (HOUR, "0.10"), (HOUR + 1, "0.20"), (2 * HOUR, "0.20")],
)
def test_a_unit_is_charged_whole_when_it_is_entered(ledger, stay, cost):
    ledger.commit(1, HOURLY, 7, 7 + 4 * HOUR)
    ledger.close(1, 7 + stay)
    assert ledger.spent == money(cost)


@pytest.mark.parametrize(
    ("stay", "cost"), [(1, "0.060"), (60 * SECOND, "0.060"), (60 * SECOND + 1, "0.061")]
)
def test_a_short_stay_costs_the_minimum(ledger, stay, cost):
    ledger.commit(1, PER_SECOND, 0, 70 * SECOND)
    assert ledger.committed == money("0.070")
    ledger.close(1, stay)
    assert ledger.spent == money(cost)


def test_nothing_is_charged_beyond_a_lease_however_late_the_news(ledger):
    ledger.commit(1, HOURLY, 0, HOUR)
    ledger.close(1, 5 * HOUR)
    assert ledger.committed == money("0.10")
    (charge,) = ledger.charges()
    assert (charge.end, charge.units, charge.is_open) == (HOUR, 1, False)


def test_a_charge_keeps_the_price_it_was_made_at(ledger):
    ledger.commit(1, HOURLY, 0, HOUR)
    dearer = Offer("hourly", Money.parse("0.50"))
    ledger.commit(2, dearer, 0, HOUR)
    ledger.extend(1, 2 * HOUR)
    assert [str(charge.amount) for charge in ledger.charges()] == ["0.20", "0.50"]


def test_closed_charges_stay_in_the_ledger_before_the_open_ones(ledger):
    ledger.commit(1, HOURLY, 0, HOUR)
    ledger.commit(2, HOURLY, 0, HOUR)
    ledger.close(2, MINUTE)
    assert [(c.machine, c.is_open) for c in ledger.charges()] == [(2, False), (1, True)]


def test_an_amount_can_be_paid_up_to_the_last_cent(ledger):
    ledger.commit(1, HOURLY, 0, 9 * HOUR)
    assert ledger.can_pay(money("0.10"))
    assert not ledger.can_pay(money("0.100000001"))


def test_without_a_budget_everything_can_be_paid():
    ledger = Ledger({"": None})
    assert ledger.left is None
    assert ledger.can_pay(money("9000000"))
    ledger.commit(1, HOURLY, 0, HOUR)
    ledger.check()


def test_a_ledger_that_exceeds_its_budget_is_caught(ledger):
    ledger.commit(1, HOURLY, 0, 11 * HOUR)
    with pytest.raises(InvariantError, match=r"committed .*1100000000.* of a budget of .*1\.00"):
        ledger.check()


def test_a_ledger_whose_sum_is_wrong_is_caught(ledger):
    ledger.commit(1, HOURLY, 0, HOUR)
    ledger.committed += money("0.01")
    with pytest.raises(InvariantError, match=r"committed is 0\.11, the charges sum to 0\.10"):
        ledger.check()


def test_a_ledger_that_counts_other_units_than_were_paid_is_caught(ledger):
    ledger.commit(1, HOURLY, 0, HOUR)
    ledger._units[1] = 2
    with pytest.raises(InvariantError, match="units that are paid"):
        ledger.check()


steps = st.lists(
    st.tuples(st.sampled_from(["commit", "extend", "close"]), st.integers(0, 5), st.integers(0, 9)),
    max_size=40,
)


@given(steps, st.sampled_from([HOURLY, PER_SECOND]))
def test_committed_is_always_the_sum_of_all_charges(steps, offer):
    ledger, until = Ledger({"": None}), {}
    for step, machine, units in steps:
        time = units * 37 * MINUTE + units
        if step == "commit" and machine not in until:
            until[machine] = time
            ledger.commit(machine, offer, 0, time)
        elif step == "extend" and machine in until:
            until[machine] += time
            ledger.extend(machine, until[machine])
        elif step == "close" and machine in until:
            before = ledger.committed
            given_back = ledger.close(machine, time)
            assert given_back >= ZERO
            assert ledger.committed == before - given_back
            del until[machine]
        ledger.check()
        closed = sum((c.amount for c in ledger.charges() if not c.is_open), ZERO)
        assert ledger.spent == closed <= ledger.committed


def test_a_charge_that_is_void_never_was(ledger):
    ledger.commit(1, HOURLY, 0, 2 * HOUR)
    ledger.commit(2, HOURLY, 0, HOUR)
    assert ledger.void(1) == money("0.20")
    assert ledger.committed == money("0.10")
    assert [charge.machine for charge in ledger.charges()] == [2]
    ledger.check()


def test_closed_charges_are_kept_exactly_in_little_room():
    spot = replace(HOURLY, name="spot", price=Money(7))
    offers, accounts = (HOURLY, PER_SECOND, spot), ("", "ann", "bob")
    charges = [
        Charge(n, offers[n % 3], n * MINUTE, n * HOUR, is_open=False, account=accounts[n % 2])
        for n in range(1, 50_000)
    ]
    began = tracemalloc.start() or tracemalloc.get_traced_memory()[0]
    closed = ClosedCharges(charges)
    taken = tracemalloc.get_traced_memory()[0] - began
    tracemalloc.stop()
    assert taken / len(charges) < 40
    assert len(closed) == len(charges)
    assert list(closed) == charges
