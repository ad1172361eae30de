"""How long an instance is waited for, before and after that is known."""

from types import SimpleNamespace

import pytest

from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.policies.pool_timeout import ENOUGH, FIRST, PoolTimeout


def view(*attempts):
    return SimpleNamespace(attempts=dict.fromkeys(attempts))


def limits(timeout, count):
    """When each of so many instances that are sent now is given up."""
    for attempt in range(1, count + 1):
        timeout.watch(attempt, 0)
    found, alive = {}, set(range(1, count + 1))
    while alive:
        now = timeout.next_end()
        for attempt in list(timeout.overdue(view(*alive), now)):
            found[attempt] = now
            alive.remove(attempt)
    return [found[attempt] for attempt in range(1, count + 1)]


def test_before_anything_is_known_half_are_waited_for_twice_as_long_and_so_on():
    assert limits(PoolTimeout(), 8) == [FIRST * one for one in (1, 2, 1, 4, 1, 2, 1, 8)]


def test_once_enough_results_are_known_all_are_given_up_after_four_mean_turnarounds():
    timeout = PoolTimeout()
    for _ in range(ENOUGH):
        assert timeout.known is None
        timeout.returned(MINUTE)
    assert timeout.known == 4 * MINUTE
    assert limits(timeout, 4) == [4 * MINUTE] * 4


def test_the_first_results_of_a_large_pool_are_those_of_its_shortest_tasks_and_tell_nothing():
    timeout = PoolTimeout()
    for attempt in range(1, 401):
        timeout.watch(attempt, 0)
    for _ in range(100):
        timeout.returned(SECOND)
    assert timeout.known is None
    for _ in range(20):
        timeout.returned(MINUTE)
    assert timeout.known == 4 * ((100 * SECOND + 20 * MINUTE) // 120)


def test_what_was_reported_is_kept_to():
    timeout = PoolTimeout(HOUR)
    timeout.returned(MINUTE)
    timeout.gave_up(1)
    assert limits(timeout, 4) == [HOUR] * 4
    assert timeout.in_vain == 0


@pytest.mark.parametrize(("time", "first"), [(SECOND, 4 * SECOND), (5 * HOUR, 20 * HOUR)])
def test_a_result_of_a_reliable_machine_tells_the_first_limit(time, first):
    timeout = PoolTimeout()
    timeout.returned_surely(time)
    assert timeout.known is None
    assert limits(timeout, 2) == [first, 2 * first]


def test_no_instance_is_given_up_before_the_time_of_the_longest_result():
    timeout = PoolTimeout()
    timeout.returned(3 * HOUR)
    assert timeout.shortest == 12 * HOUR


def test_instances_given_up_in_a_row_are_counted_until_a_result_comes():
    timeout = PoolTimeout()
    timeout.gave_up(1)
    timeout.gave_up(2)
    assert timeout.in_vain == 2
    timeout.returned(MINUTE)
    assert timeout.in_vain == 0


def test_an_end_is_likely_if_most_results_that_took_longer_had_come_by_then():
    timeout = PoolTimeout()
    assert not timeout.is_likely_over(0, HOUR)
    for minutes in (1, 10, 11, 12, 30):
        timeout.returned(minutes * MINUTE)
    assert timeout.is_likely_over(5 * MINUTE, 12 * MINUTE)
    assert not timeout.is_likely_over(5 * MINUTE, 11 * MINUTE)
    assert not timeout.is_likely_over(40 * MINUTE, HOUR)
