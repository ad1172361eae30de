import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.model.errors import InputError
from bursar.plan.dominance import beaten_by, knee
from bursar.plan.pools.frontier import frontier, knee_of, parse_preference, prefer

POINTS = [(100.0, 1.0), (50.0, 2.0), (40.0, 8.0), (60.0, 3.0), (100.0, 1.0), (20.0, 10.0)]
SOME = st.lists(
    st.tuples(st.integers(0, 9).map(float), st.integers(0, 9).map(float)), min_size=1, max_size=20
)


def test_the_frontier_goes_from_the_cheapest_to_the_fastest():
    assert frontier(POINTS) == [0, 1, 2, 5]


@given(SOME)
def test_every_point_is_on_the_frontier_or_beaten_by_one_that_is(points):
    front = frontier(points)
    for index, (time, cost) in enumerate(points):
        rivals = [points[one] for one in front if one != index]
        beaten = any(a <= time and b <= cost for a, b in rivals)
        assert beaten != (index in front)


@given(SOME)
def test_the_frontier_is_what_is_not_beaten(points):
    assert sorted(frontier(points)) == [i for i, by in enumerate(beaten_by(points)) if by is None]


def test_what_is_beaten_does_not_move_the_knee():
    assert knee_of(POINTS) == knee_of([*POINTS, (500.0, 9.0), (70.0, 70.0)]) == knee(POINTS)


@given(SOME, st.floats(0.1, 10), st.floats(0.1, 10))
def test_what_a_rising_preference_likes_best_is_on_the_frontier(points, weight, other):
    best = prefer(points, f"{weight}*makespan + {other}*cost")
    assert best in frontier(points)
    utility = [weight * a + other * b for a, b in points]
    assert utility[best] == pytest.approx(min(utility))


@pytest.mark.parametrize(
    ("wish", "best"),
    [
        ({"preference": "cheapest"}, 0),
        ({"preference": " fastest "}, 5),
        ({"preference": "makespan*cost"}, 0),
        ({"preference": "makespan * cost ** 0.5"}, 5),
        ({"preference": "max(makespan, 7 * cost)"}, 1),
        ({"preference": "-(min(60 - makespan, 8.5) - cost / 1e3)"}, 1),
        ({"budget": 8.0}, 2),
        ({"deadline": 60.0}, 1),
        ({"deadline": 45.0, "budget": 8.5}, 2),
        ({"deadline": 45.0, "preference": "fastest"}, 5),
        ({"budget": 8.0, "preference": "within-budget"}, 2),
        ({"deadline": 60.0, "preference": "within-deadline"}, 1),
        ({"deadline": 45.0, "budget": 8.5, "preference": "within-deadline"}, 2),
        ({"budget": 0.5}, None),
        ({}, 1),
    ],
)
def test_a_wish_finds_its_point(wish, best):
    assert prefer(POINTS, **wish) == best


@pytest.mark.parametrize(
    "text",
    [
        "", "soon", "makespan +", "cost if makespan else 1", "__import__('os').system('true')",
        "makespan.real", "min()", "min(cost, key=cost)", "abs(cost)", "'a' * 3", "cost == 1",
        "True", "1j", "cost // 2", "makespan @ cost", "[cost][0]", "(" * 150, "lambda: 1", "\0",
        "~makespan", "min(*[cost])", "cost\n\nmakespan", "1+" * 100 + "1", "max", "'\\d'",
        "1if cost else 2",
    ],
)  # fmt: skip
def test_what_is_no_arithmetic_is_refused_in_one_line(text):
    with pytest.raises(
        InputError, match="write cheapest, fastest, within-budget, within-deadline, or arithmetic"
    ) as reported:
        parse_preference(text)(2.0, 3.0)
    assert "\n" not in str(reported.value)


@pytest.mark.parametrize("text", ["makespan/(cost-3)", "9**9**9**9", "(-cost)**0.5", "1e400*cost"])
def test_arithmetic_without_a_value_is_reported_with_the_point(text):
    with pytest.raises(InputError, match="has no value at makespan 2 and cost 3"):
        parse_preference(text)(2.0, 3.0)


@pytest.mark.parametrize(
    ("preference", "given", "missing"),
    [("within-budget", {"deadline": 60.0}, "budget="), ("within-deadline", {}, "deadline=")],
)
def test_a_limit_that_is_preferred_must_be_reported(preference, given, missing):
    with pytest.raises(InputError, match=f"give {missing}, too"):
        prefer(POINTS, preference, **given)
