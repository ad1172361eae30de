"""How many reliable slots to have beside an unreliable pool before the tail."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.plan.pools.reserve import ReserveForecast, ReserveSlots, slots_beside

PRODUCT = "makespan*cost"


def forecast(machines, **more):
    """A bag of 100 tasks of 1,000 s, and so many unreliable machines at a third of the price."""
    shown = ReserveForecast(
        total=100,
        left=100,
        elapsed=0.0,
        spent=0.0,
        results=machines / 1_000,
        burn=machines * 1.0,
        tail=0.0,
        reliable=(ReserveSlots(count=8, time=1_000.0, burn=3.0),),
    )
    return msgspec.structs.replace(shown, **more)


def beside(shown, wish=PRODUCT, budget=None, deadline=None):
    return slots_beside(shown, wish, budget=budget, deadline=deadline)


def test_few_unreliable_machines_get_help_and_many_do_not():
    assert beside(forecast(2)) == 8
    assert beside(forecast(16)) == 0


def test_the_cheapest_waits_and_the_fastest_never_does():
    assert beside(forecast(1), "cheapest") == 0
    assert beside(forecast(16), "fastest") == 8


def test_a_pool_that_returned_nothing_is_not_waited_for():
    for wish in ("cheapest", "fastest", PRODUCT):
        assert beside(forecast(0), wish) == 8


def test_the_cheapest_number_that_meets_the_deadline_is_taken():
    assert beside(forecast(4), "cheapest", deadline=100_000 / 6) == 2


def test_the_fastest_number_that_keeps_the_budget_is_taken():
    shown = forecast(4)
    assert beside(shown, "fastest", budget=shown.point(3)[1]) == 3


def test_limits_that_cannot_be_kept_leave_the_nearest_to_them():
    assert beside(forecast(4), PRODUCT, deadline=1.0) == 8
    assert beside(forecast(4), PRODUCT, budget=1.0) == 0


def test_a_long_tail_makes_speed_worth_less():
    assert beside(forecast(7)) == 8
    assert beside(forecast(7, tail=20_000.0)) == 0


def test_slots_that_boot_longer_than_the_rest_takes_are_of_no_use():
    slow = ReserveSlots(count=8, time=1_000.0, burn=3.0, boot=2_000.0)
    shown = forecast(16, left=8, reliable=(slow,))
    assert beside(shown, "fastest") == 0
    assert beside(msgspec.structs.replace(shown, up=8), "fastest") == 8, "these are there"


def test_dearer_slots_come_last_and_are_counted_at_their_price():
    cheap = ReserveSlots(count=4, time=1_000.0, burn=2.0)
    dear = ReserveSlots(count=4, time=1_000.0, burn=9.0)
    shown = forecast(4, reliable=(cheap, dear))
    assert shown.most == 8
    [four, five] = [shown.point(slots)[1] for slots in (4, 5)]
    assert four == pytest.approx((4 * 1.0 + 4 * 2.0) * 1_000 / 8)
    assert five == pytest.approx((4 * 1.0 + 4 * 2.0 + 9.0) * 1_000 / 9)
    assert beside(shown, "fastest", budget=four) == 4


def test_what_was_decided_stays_unless_another_number_is_clearly_better():
    even = forecast(8)  # all reliable slots beside them cost as much more as they gain
    none, every = even.point(0), even.point(8)
    assert none[0] * none[1] == pytest.approx(every[0] * every[1])
    for standing in (0, 8):
        assert slots_beside(even, PRODUCT, standing=standing) == standing
        assert slots_beside(forecast(2), PRODUCT, standing=standing) == 8
    assert slots_beside(even, PRODUCT, standing=8, budget=none[1]) == 0, "a limit is broken"


@given(machines=st.integers(0, 20), elapsed=st.floats(0, 1e5), spent=st.floats(0, 1e5))
def test_no_other_number_has_a_better_product(machines, elapsed, spent):
    shown = forecast(machines, elapsed=elapsed, spent=spent)
    least = 1 if machines == 0 else 0
    products = {k: span * cost for k in range(least, 9) for span, cost in [shown.point(k)]}
    assert products[beside(shown)] == pytest.approx(min(products.values()))
