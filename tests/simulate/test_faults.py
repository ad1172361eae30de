from __future__ import annotations

import random

import pytest

from bursar.model.market import Offer
from bursar.model.money import ZERO
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.simulate.faults import ModelledBehaviour, drawn, given, traced
from bursar.state.view import Machine

SLOW = Machine(1, Offer("slow", ZERO, boot=90 * SECOND), 0, HOUR)
FAST = Machine(2, Offer("fast", ZERO, speed=4.0), 0, HOUR)


def minutes(rng):
    return round(rng.expovariate(1 / MINUTE))


def test_given_run_times_are_shorter_on_faster_machines():
    runtimes = given([8 * SECOND, 10 * SECOND])
    assert runtimes(1, SLOW) == 8 * SECOND
    assert runtimes(2, FAST) == 10 * SECOND // 4


def test_traced_run_times_are_as_they_were_measured_on_each_offer():
    runtimes = traced({"slow": [8, 9], "fast": [7, 30]})
    assert [runtimes(task, SLOW) for task in (1, 2)] == [8, 9]
    assert [runtimes(task, FAST) for task in (1, 2)] == [7, 30]


def test_drawn_run_times_depend_on_the_seed_and_the_task_but_not_on_the_order():
    forward = drawn(minutes, seed=1)
    tasks = list(range(1, 50))
    once = {task: forward(task, SLOW) for task in tasks}
    again = {task: drawn(minutes, seed=1)(task, SLOW) for task in reversed(tasks)}
    assert once == again
    assert len(set(once.values())) > 40
    assert once != {task: drawn(minutes, seed=2)(task, SLOW) for task in tasks}


def test_a_task_drawn_for_two_machines_is_the_same_task():
    runtimes = drawn(minutes, seed=5)
    assert runtimes(3, FAST) == pytest.approx(runtimes(3, SLOW) / 4, abs=1)


def test_a_run_time_takes_some_time():
    assert drawn(lambda rng: 0, seed=1)(1, SLOW) == 1


def test_machines_boot_as_they_are_offered_and_last_unless_reported_otherwise():
    behaviour = ModelledBehaviour(given([MINUTE]))
    assert behaviour.boot(SLOW) == 90 * SECOND
    assert behaviour.boot(FAST) == 0
    assert behaviour.life(SLOW) is None
    assert behaviour.attempt(1, 1, SLOW) == (MINUTE, "success")


def test_a_share_of_attempts_fails_at_the_end_of_its_run_time():
    behaviour = ModelledBehaviour(given([MINUTE]), failing=0.25, seed=3)
    ends = [behaviour.attempt(1, number, SLOW) for number in range(2000)]
    assert {runtime for runtime, _ in ends} == {MINUTE}
    assert [outcome for _, outcome in ends].count("failed") == pytest.approx(500, abs=80)


def test_machines_of_an_offer_live_as_long_as_it_says_on_average():
    behaviour = ModelledBehaviour(given([MINUTE]), mean_life={"slow": HOUR}, seed=3)
    lives = [behaviour.life(SLOW) for _ in range(2000)]
    assert min(lives) > 0
    assert sum(lives) / len(lives) == pytest.approx(HOUR, rel=0.1)
    assert behaviour.life(FAST) is None


def test_the_same_seed_is_the_same_behaviour():
    def lives(seed):
        behaviour = ModelledBehaviour(given([1]), failing=0.5, mean_life={"slow": HOUR}, seed=seed)
        return [(behaviour.life(SLOW), behaviour.attempt(1, 1, SLOW)) for _ in range(20)]

    assert lives(1) == lives(1)
    assert lives(1) != lives(2)


def test_the_generator_of_the_program_plays_no_part():
    runtimes = drawn(minutes, seed=1)
    random.seed(5)
    first = runtimes(1, SLOW)
    random.seed(6)
    assert runtimes(1, SLOW) == first
