"""The bounded knapsack in all its forms: the same answers, which are those of trying everything."""

from __future__ import annotations

from itertools import product
from operator import mul

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.plan.bag import knapsack_form
from bursar.plan.bag.knapsack_bounded import Bounded
from bursar.plan.bag.knapsack_form import SAFE, Form, GaveUpError, KnapsackGoal
from bursar.plan.bag.knapsack_ties import preferred


def total(counts, each):
    return sum(map(mul, counts, each))


@st.composite
def knapsacks(draw):
    """Value, weight and limit of up to five kinds: unrelated, nearly or exactly proportional."""
    number = draw(st.integers(1, 5))
    largest = draw(st.sampled_from([5, 20, 1000, 10**9]))
    weights = draw(st.lists(st.integers(1, largest), min_size=number, max_size=number))
    noise = draw(st.sampled_from([0, 2, largest]))
    values = [max(1, 10 * weight + draw(st.integers(-noise, noise))) for weight in weights]
    limits = [draw(st.integers(1, 5 if number > 3 else 9)) for _ in weights]
    return values, weights, limits


def try_all(knapsack):
    values, weights, limits = knapsack
    counts = product(*(range(limit + 1) for limit in limits))
    return [(total(each, values), total(each, weights), sum(each), each) for each in counts]


def preference(choice):
    value, weight, pieces, counts = choice
    return value, -weight, -pieces, counts


FORMS = {
    "plain": Form,
    "compiled": Form.compact,
    "rounded": lambda value, weight, limit: Form.compact(
        value, weight, limit, largest=max(value) << 57
    ),
}
"""Rounded: values keep some five bits."""


@pytest.mark.parametrize("name", FORMS)
class TestForms:
    @settings(max_examples=300)
    @given(knapsacks(), st.data())
    def test_the_most_value_is_found_or_bounded(self, name, knapsack, data):
        form, choices = FORMS[name](*knapsack), try_all(knapsack)
        room = data.draw(st.sampled_from(choices))[1] + data.draw(st.integers(-1, 1))
        most = max(each[0] for each in choices if each[1] <= max(0, room))
        if room < 1 or most == 0:
            return
        margin = sum(form.limit) if form.shift else 0
        try:
            found = form.most(room, 1, margin, None)
        except GaveUpError:
            assert form.shift
            return
        assert found.value << form.shift >= most
        assert max(total(each, knapsack[0]) for each in found.choices) == most
        assert all(total(each, knapsack[1]) <= room for each in found.choices)

    @settings(max_examples=300)
    @given(knapsacks(), st.data())
    def test_the_least_weight_is_never_overestimated(self, name, knapsack, data):
        form, choices = FORMS[name](*knapsack), try_all(knapsack)
        wanted = max(1, data.draw(st.sampled_from(choices))[0] + data.draw(st.integers(-1, 0)))
        least = min(each[1:3] for each in choices if each[0] >= wanted)
        found = form.least(-(-wanted >> form.shift), (10**18, 0), 1, -1, None)
        assert (total(found, knapsack[1]), sum(found)) <= least
        if not form.shift:
            assert (total(found, knapsack[1]), sum(found)) == least

    @settings(max_examples=300)
    @given(knapsacks(), st.integers(1, 10**4), st.integers(1, 10**4), st.integers(0, 9), st.data())
    def test_no_step_that_can_be_paid_is_jumped_over(
        self, name, knapsack, money, work, given, data
    ):
        form, choices = FORMS[name](*knapsack), try_all(knapsack)
        money *= max(knapsack[1])
        work *= max(knapsack[0])
        last = data.draw(st.integers(1, 60))
        goal = KnapsackGoal(money, work, given, 1, -(-work // last))
        steps = {}
        for value, weight, _, _ in choices:
            if value + given >= goal.slowest:
                step = -(-work // (value + given))
                if weight * step <= money:
                    steps[step] = min(weight * step, steps.get(step, money))
        rounded = goal.rounded(form.shift)
        walked = form.first_step(rounded)
        direct = form.direct(rounded, 10**6, cheapest=False).answer
        cost = form.direct(rounded, 10**6, cheapest=True).answer
        if steps:
            assert walked <= min(steps)
            assert direct <= min(steps)
            assert cost <= min(steps.values())
        if not form.shift:
            assert direct == min(steps, default=None)
            assert cost == min(steps.values(), default=None)
            assert walked == direct or walked > goal.last

    @settings(max_examples=200)
    @given(knapsacks(), st.data())
    def test_all_choices_of_a_value_are_found(self, name, knapsack, data):
        form, choices = FORMS[name](*knapsack), try_all(knapsack)
        wanted, room, pieces, _ = data.draw(st.sampled_from(choices))
        true = [each[3] for each in choices if each[0] >= wanted and each[1] <= room]
        true = {each for each in true if sum(each) <= pieces}
        try:
            found = form.choices(-(-wanted >> form.shift), room, pieces, 10**6)
        except GaveUpError:
            assert form.shift or len(true) > knapsack_form.MOST_CHOICES
            return
        found = [tuple(each) for each in found if total(each, knapsack[0]) >= wanted]
        assert len(found) == len(true)
        assert set(found) == true


def test_a_search_that_is_interrupted_goes_on_where_it_was(monkeypatch):
    """With slices of three nodes, and tables that forget nearly everything."""
    knapsack = [7, 11, 13, 17], [5, 8, 9, 12], [9, 9, 9, 9]
    whole = Form(*knapsack)
    expected = [whole.most(room, 1, 0, None).value for room in range(5, 200)]
    for name, value in {"FIRST_NODES": 3, "MORE_NODES": 3, "FEW_PLACES": 1}.items():
        monkeypatch.setattr(knapsack_form, name, value)
    monkeypatch.setattr(knapsack_form, "MANY_PLACES", 2)
    sliced = Form(*knapsack)
    assert [sliced.most(room, 1, 0, None).value for room in range(5, 200)] == expected


@given(knapsacks(), st.data())
@settings(max_examples=400)
def test_the_preferred_choice_is_lightest_then_smallest_then_first(knapsack, data):
    choices = try_all(knapsack)
    room = max(0, data.draw(st.sampled_from(choices))[1] + data.draw(st.integers(-1, 1)))
    best = max((each for each in choices if each[1] <= room), key=preference)
    bounded = Bounded(*knapsack)
    assert bounded.most(room, best[0], 0) == best[0]
    assert best[0] <= bounded.most(room, best[0] + 1, 0) <= best[0]
    assert tuple(preferred(bounded, best[0], room)) == best[3]


@given(st.lists(st.integers(1, 6), min_size=2, max_size=4), st.data())
@settings(max_examples=300)
def test_of_too_many_equals_the_first_is_found_item_by_item(weights, data):
    """Prices proportional to speed, and twins, so that nearly everything is equal."""
    limits = [data.draw(st.integers(1, 6)) for _ in weights]
    alike = [3 * weight for weight in weights], weights, limits
    choices = try_all(alike)
    room = data.draw(st.sampled_from(choices))[1]
    best = max((each for each in choices if each[1] <= room), key=preference)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(knapsack_form, "MOST_CHOICES", 0)
        assert tuple(preferred(Bounded(*alike), best[0], room)) == best[3]


# --- size -----------------------------------------------------------------------------------------


def test_compiled_code_is_given_no_number_that_could_overflow():
    values, weights, limits = [3**90, 3**90 - 1, 3**89], [10**9, 10**9 - 7, 3 * 10**8], [900] * 3
    form = Form.compact(values, weights, limits)
    assert form.shift > 0
    assert max(form.value) * max(*weights, sum(limits)) < SAFE
    assert max(form.all_weight) < SAFE
    assert Form.compact([1], [SAFE], [1]) is None


@given(st.integers(1, 10**30), st.integers(0, 10**30))
def test_numbers_beyond_64_bits_are_no_reason_to_be_wrong(unit, room):
    """A knapsack times a number has the same answers, times that number."""
    values, weights, limits = [9, 7, 4], [8, 6, 3], [4, 5, 6]
    large = Bounded([unit * each for each in values], [unit * each for each in weights], limits)
    small = Bounded(values, weights, limits)
    assert large.most(room, 0, 0) == unit * small.most(room // unit, 0, 0)


def test_speeds_that_differ_beyond_64_bits_are_reported_apart():
    """Two kinds of one weight, whose values differ in the hundredth digit."""
    value = 10**100
    bounded = Bounded([value, value + 1], [5, 5], [2, 3])
    assert bounded.most(20, 1, 0) == 4 * value + 3
    assert preferred(bounded, 4 * value + 3, 20) == [1, 3]


@pytest.mark.parametrize(("machines", "first"), [(5, 10), (1, 10)])
def test_a_fleet_faster_than_the_first_step_is_charged_for_it(machines, first):
    """Work for five units on one machine; ten are the least that is charged."""
    goal = KnapsackGoal(money=100, work=50, given=0, step=first, slowest=1)
    cost, counts = Bounded([10], [1], [machines]).cheapest(goal)
    assert (cost, counts) == (10, [1])
    assert Bounded([10], [1], [machines]).first_step(goal) == first
