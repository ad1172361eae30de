import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.beliefs.incidence import current_reliability
from bursar.beliefs.reliability import (
    History,
    Instance,
    Reliability,
    effective_size,
    is_tail,
    offline_reliability,
    online_reliability,
    tail_start,
)
from bursar.model.errors import InputError

DEADLINE = 100


def sets(*shares, size=20, gap=1, turnaround=10, first=0):
    """Instances sent one after another; of each set the first return, the others are silent."""
    made = []
    for share in shares:
        for place in range(size):
            sent = first + gap * len(made)
            made.append(Instance(sent, turnaround if place < share * size else None))
    return made


@st.composite
def instances(draw, most=60):
    made, sent = [], 0
    for _ in range(draw(st.integers(1, most))):
        sent += draw(st.integers(0, 8))
        kind = draw(st.sampled_from(["result", "result", "silent", "lost", "withdrawn"]))
        took = draw(st.integers(1, DEADLINE - 1))
        if kind == "result":
            made.append(Instance(sent, turnaround=took))
        elif kind == "silent":
            made.append(Instance(sent))
        else:
            made.append(Instance(sent, until=sent + took, is_withdrawn=kind == "withdrawn"))
    return made


def test_gamma_is_the_share_of_results_in_sets_of_instances_sent_one_after_another():
    gamma = offline_reliability(History.of(sets(1.0, 0.5, 0.75)))
    assert gamma.boundaries == (20, 40, 60)
    assert gamma.values == (1.0, 0.5, 0.75)
    assert [gamma.at(time) for time in (-5, 0, 19, 20, 39, 40, 59)] == [
        1,
        1,
        1,
        0.5,
        0.5,
        0.75,
        0.75,
    ]
    assert gamma.at(60) == gamma.after == 0.75


def test_a_short_last_set_belongs_to_the_one_before_it():
    short = [*sets(1.0, 0.5), *(Instance(40 + n) for n in range(10))]
    gamma = offline_reliability(History.of(short))
    assert gamma.values == (1.0, pytest.approx(10 / 30))
    assert gamma.boundaries == (20, 50)
    assert offline_reliability(History.of(short[:7])).values == (1.0,)


def test_a_set_may_have_another_size():
    assert len(offline_reliability(History.of(sets(1.0, 0.5)), size=5).values) == 8


def test_what_was_sent_long_ago_is_known_as_well_as_offline():
    history = History.of(sets(0.9, 0.4, 0.7, 0.8))
    online, offline = (
        online_reliability(history, 60 + DEADLINE + 1, DEADLINE),
        offline_reliability(history),
    )
    assert [online.at(time) for time in range(60)] == [offline.at(time) for time in range(60)]


@given(instances(), st.integers(1, 400))
def test_full_knowledge_is_that_of_the_offline_model(made, tail):
    history, size = History.of(made), 5
    online = online_reliability(history, tail, DEADLINE, size)
    offline = offline_reliability(history, size)
    sent = [one.sent for one in made if not one.is_withdrawn and one.sent < tail]
    for begin in range(0, len(sent) - 2 * size, size):  # the last set may be cut short at the tail
        following = sent[begin + size]
        if sent[begin + size - 1] < tail - DEADLINE and sent[begin] < following:
            assert online.at(sent[begin]) == offline.at(sent[begin])


def test_recent_results_are_compared_with_what_could_have_come_by_now():
    # Results take 10 or 50; of what was sent at 1000, only the quick ones are back at 1030.
    old = [Instance(n, (10, 50, None, None)[n % 4]) for n in range(40)]
    recent = [Instance(1000, 10 if n < 8 else 50) for n in range(16)] + [Instance(1000)] * 4
    gamma = online_reliability(History.of([*old, *recent]), 1030, DEADLINE)
    share_within_30 = (10 + 8) / (20 + 8)
    assert gamma.at(1000) == pytest.approx(8 / (20 * share_within_30))
    assert gamma.at(0) == 0.5


def test_recent_gamma_is_limited_by_the_worst_of_old_and_by_one():
    old = sets(0.5, 0.7)
    nothing_yet = [Instance(1000)] * 20
    gamma = online_reliability(History.of([*old, *nothing_yet]), 1050, DEADLINE)
    assert gamma.at(1000) == 0.5
    lucky = [Instance(1000, 5)] * 20
    slow = [Instance(n, 40) for n in range(40)]
    gamma = online_reliability(History.of([*slow, *lucky, *([Instance(1000)] * 5)]), 1010, DEADLINE)
    assert gamma.at(1000) == 1


def test_of_what_is_sent_from_now_on_gamma_is_halfway_between_old_and_recent_means():
    old, recent = sets(0.5, 0.7), sets(0.9, first=1000)
    history = History.of([*old, *recent])
    gamma = online_reliability(history, 1050, DEADLINE)
    assert gamma.at(1000) == pytest.approx(0.9)
    assert gamma.after == gamma.at(1050) == gamma.at(10**9) == pytest.approx((0.6 + 0.9) / 2)
    assert online_reliability(history, 10**6, DEADLINE).after == pytest.approx(0.7), "all is old"
    assert online_reliability(History.of(recent), 1050, DEADLINE).after == pytest.approx(0.9)


@pytest.mark.parametrize("reliability", [online_reliability, current_reliability])
@pytest.mark.parametrize(("age", "is_old"), [(DEADLINE, False), (DEADLINE + 1, True)])
def test_the_first_epoch_ends_before_the_tail_less_the_deadline(reliability, age, is_old):
    """Full knowledge is of what was sent at t' < T_tail - D (ExPERT, section 4.3)."""
    tail = 1000

    def known(sent, results):
        return [
            Instance(sent, 10) if n < results else Instance(sent, until=sent + 10)
            for n in range(20)
        ]

    made = [*known(0, 20), *known(tail - age, 10), *known(tail - 50, 16)]
    gamma = reliability(History.of(made), tail, DEADLINE)
    first, second = (0.75, 0.8) if is_old else (1.0, 0.65)
    assert gamma.after == pytest.approx((first + second) / 2)


def test_nothing_that_happens_later_is_known():
    early = sets(0.5, 0.75)
    later = [*early, *sets(0.1, first=200, turnaround=90)]
    assert online_reliability(History.of(later), 200, DEADLINE) == online_reliability(
        History.of(early), 200, DEADLINE
    )


def test_losses_that_are_known_are_not_waited_for():
    old = [Instance(n, 50) for n in range(40)]
    recent = [Instance(1000, 10)] * 5 + [Instance(1000, until=1005)] * 10 + [Instance(1000)] * 5
    assert online_reliability(History.of([*old, *recent]), 1020, DEADLINE).at(1000) == 0.5
    all_known = [Instance(1000, 10)] * 5 + [Instance(1000, until=1005)] * 15
    assert online_reliability(History.of([*old, *all_known]), 1020, DEADLINE).at(1000) == 0.25


def test_a_set_too_young_to_say_anything_has_the_gamma_of_the_time_to_come():
    young = [Instance(1000)] * 20
    gamma = online_reliability(History.of([*sets(0.5, 0.7), *young]), 1005, DEADLINE)
    assert gamma.at(1000) == gamma.after == pytest.approx(0.6)


def test_without_data_gamma_is_prudent():
    results, losses = [Instance(n, 5) for n in range(9)], [Instance(n, until=n) for n in range(9)]
    for made, expected in (([], 0.5), (results, 9.5 / 10), (losses, 0.5 / 10)):
        history = History.of(made)
        assert online_reliability(history, 20, DEADLINE).after == pytest.approx(expected)
        assert offline_reliability(history).after == pytest.approx(expected)
    assert offline_reliability(History.of(results)).values == (1.0,), (
        "but what was is told as it was"
    )


def test_what_was_withdrawn_says_nothing_of_reliability():
    called_back = [Instance(5, until=6, is_withdrawn=True)] * 50
    assert online_reliability(History.of([*sets(0.8), *called_back]), 500, DEADLINE).after == 0.8


@given(instances(), st.integers(0, 1200))
def test_gamma_is_a_probability_and_its_pieces_are_in_order(made, tail):
    for gamma in (
        online_reliability(History.of(made), tail, DEADLINE),
        offline_reliability(History.of(made)),
    ):
        assert len(gamma.boundaries) == len(gamma.values)
        assert list(gamma.boundaries) == sorted(gamma.boundaries)
        assert all(0 <= value <= 1 for value in gamma.values)
        assert 0 < gamma.after < 1 or (gamma.after == 1 and any(v < 1 for v in gamma.values))


def test_gamma_of_no_pieces_is_what_comes_after():
    assert Reliability((), (), 0.5).at(7) == 0.5


def test_gamma_can_be_reported_from_another_moment_on_and_kept_above_a_limit():
    gamma = Reliability((20, 40), (0.0, 0.5), 0.7)
    later = gamma.since(30)
    assert [later.at(time - 30) for time in range(60)] == [gamma.at(time) for time in range(60)]
    assert gamma.at_least(0.6) == Reliability((20, 40), (0.6, 0.6), 0.7)


@pytest.mark.parametrize(
    "wrong",
    [
        Instance(-1),
        Instance(5, until=4),
        Instance(0, turnaround=10**19),
        Instance(5, turnaround=-1),
    ],
)
def test_impossible_times_are_reported_in_one_line(wrong):
    with pytest.raises(InputError, match="check its times"):
        History.of([wrong])


# --- the size of the pool, and the tail ----------------------------------------------------------


def test_the_size_of_a_pool_is_its_rate_times_the_stay():
    busy = [Instance(10 * step, 10) for step in range(10) for _ in range(7)]
    assert effective_size(History.of(busy), DEADLINE, 100) == 7
    assert effective_size(History.of(busy), DEADLINE, 100, requested=5) == 5


def test_a_silent_instance_keeps_its_machine_until_its_deadline_and_a_lost_one_until_then():
    silent = [Instance(0)] * 4
    assert effective_size(History.of(silent), 50, 100) == 2
    assert effective_size(History.of(silent), 50, 50) == 4
    assert effective_size(History.of([Instance(0, until=25)] * 4), 50, 100) == 1


def test_a_pool_met_at_its_first_moment_is_what_was_sent_then():
    assert effective_size(History.of([Instance(3, 5)] * 6), DEADLINE, 3) == 6


def test_the_size_of_nothing_is_not_known():
    with pytest.raises(InputError, match="nothing was sent"):
        effective_size(History.of([]), DEADLINE, 10)


def test_the_tail_begins_when_fewer_tasks_remain_than_machines():
    assert is_tail(9, 10)
    assert not is_tail(10, 10)
    ends = [5, 1, 4, 2, 3]
    assert tail_start(ends, tasks=6, machines=3) == 4
    assert tail_start(ends[:3], tasks=6, machines=3) is None
    assert tail_start(ends, tasks=6, machines=7) == 0


@given(st.lists(st.integers(0, 50), max_size=30), st.integers(0, 10), st.integers(1, 40))
def test_at_the_start_of_the_tail_its_condition_holds_and_not_before(ends, open_tasks, machines):
    tasks = len(ends) + open_tasks
    start = tail_start(ends, tasks, machines)
    for moment in range(51):
        remaining = tasks - sum(end <= moment for end in ends)
        assert is_tail(remaining, machines) == (start is not None and moment >= start)
