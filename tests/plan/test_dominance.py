from hypothesis import given
from hypothesis import strategies as st

from bursar.plan.dominance import beaten_by, knee

points = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=12)


@given(points)
def test_a_plan_is_beaten_exactly_if_another_is_no_worse_in_both(found):
    for index, beater in enumerate(beaten_by(found)):
        others = [p for i, p in enumerate(found) if i != index]
        worse = [p for p in others if p[0] <= found[index][0] and p[1] <= found[index][1]]
        if beater is None:
            assert all(p == found[index] for p in worse)
        else:
            assert found[beater] in worse


@given(points)
def test_the_knee_is_never_beaten(found):
    assert beaten_by(found)[knee(found)] is None


def test_the_knee_saves_most_of_the_time_for_little_of_the_money():
    assert knee([(100, 10), (20, 12), (15, 30), (10, 50)]) == 1


def test_of_two_ends_the_knee_is_the_one_that_gives_more_for_the_money():
    assert knee([(66, 1.12), (5, 1.44)]) == 1
    assert knee([(6, 1), (5, 100)]) == 0
