import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.model.errors import InputError
from bursar.model.money import Money
from bursar.model.strategy import Kind, Strategy
from bursar.plan.pools.strategies import FINE, sampled_ratios, sampled_strategies, static_strategies

MEAN = 2_066_000_000


def test_the_static_strategies_are_those_of_the_paper():
    found = {one.name: one for one in static_strategies(MEAN, 0.1, 150)}
    assert list(found) == ["AR", "TRR", "TR", "AUR", "B=7.5", "CN-inf", "CN1T0"]
    assert all(one.deadline == 4 * MEAN and one.ratio == 0.1 for one in found.values())
    shape = {name: (one.copies, one.timeout // MEAN) for name, one in found.items()}
    assert shape == {
        "AR": (0, 0), "TRR": (0, 0), "TR": (0, 4), "AUR": (None, 4), "B=7.5": (None, 4),
        "CN-inf": (None, 4), "CN1T0": (1, 0),
    }  # fmt: skip
    assert found["B=7.5"].budget == Money.parse("7.50")
    assert static_strategies(MEAN, 0.1, 300)[4].budget == Money.parse("15.00")


def test_the_sampled_space_holds_the_papers_recommendation_and_each_strategy_once():
    found = sampled_strategies(MEAN, 0.1, 50)
    assert Strategy(3, MEAN, 2 * MEAN, 0.02) in found
    assert len(found) == len(set(found)) == 5 * (10 + 3 * 20)
    assert {one.copies for one in found} == {0, 1, 2, 3}
    assert max(one.deadline for one in found) == 4 * MEAN
    assert {(one.timeout, one.deadline) for one in found if one.copies} == {
        (part * times * MEAN // 4, times * MEAN) for times in range(1, 5) for part in range(5)
    }


@given(st.integers(1, 10**12), st.floats(0.02, 1), st.integers(1, 100))
def test_the_fine_grid_has_every_strategy_of_the_papers(mean, ratio, unreliable):
    fine = sampled_strategies(mean, ratio, unreliable, FINE)
    assert set(sampled_strategies(mean, ratio, unreliable)) <= set(fine)


@given(st.floats(0.001, 1), st.integers(1, 5000))
def test_ratios_rise_from_the_least_to_the_most_each_with_other_machines(most, unreliable):
    found = sampled_ratios(most, unreliable)
    counts = [Strategy(0, 1, 1, ratio).reliable_machines(unreliable) for ratio in found]
    assert 1 <= len(found) <= 7
    assert counts == sorted(set(counts))
    assert counts[0] >= 1
    assert counts[-1] == Strategy(0, 1, 1, most).reliable_machines(unreliable)


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        ({"copies": -1}, "-1 copies"),
        ({"timeout": 11}, "between 0 and its deadline"),
        ({"timeout": 0, "deadline": 0}, "between 0 and its deadline"),
        ({"ratio": 1.2}, "ratio of 1.2"),
        ({"ratio": 0.0}, "needs a ratio above 0"),
        ({"kind": Kind.BUDGET}, "has a budget"),
        ({"budget": Money(1)}, "has a budget"),
    ],
)
def test_a_strategy_that_cannot_be_is_reported_in_one_line(words, reported):
    with pytest.raises(InputError, match=reported):
        Strategy(**{"copies": 1, "timeout": 5, "deadline": 10, "ratio": 0.1, **words})


def test_pools_that_cannot_be_are_reported_in_one_line():
    with pytest.raises(InputError, match="no unreliable machine"):
        sampled_ratios(0.1, 0)
    with pytest.raises(InputError, match="ratio of 0 reliable"):
        sampled_ratios(0.0, 5)
