"""What is believed of the tasks of a bag, from nothing to many results."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr

from bursar.beliefs.bag_times import EndedWork, WorkPrior, learn, learn_speeds
from bursar.beliefs.normal import below, log_below


def ended(times):
    found = EndedWork()
    for time in times:
        found.add(time)
    return found


def test_the_normal_distribution_is_scipys():
    z = np.linspace(-12, 6, 200)
    assert below(z) == pytest.approx(ndtr(z), abs=2e-7)
    assert log_below(z) == pytest.approx(log_ndtr(z), rel=0.01, abs=1e-3)


def test_before_anything_is_known_the_budget_tells():
    times = learn(WorkPrior.of_budget(100.0), {}, {}, {})
    assert 60 < times.mean < 105
    assert times.doubt > 0.3, "tasks may be much shorter"


def test_attempts_that_go_on_tell_that_tasks_are_long():
    prior = WorkPrior.of_budget(100.0)
    young = learn(prior, {}, {"a": [5.0] * 10}, {"a": 1.0})
    old = learn(prior, {}, {"a": [150.0] * 10}, {"a": 1.0})
    assert old.mean > 1.5 * young.mean


@pytest.mark.parametrize("spread", [0.2, 0.6, 1.0])
def test_the_first_to_end_do_not_make_tasks_seem_short(spread):
    """Of 60 begun at once, those that ended first are the short ones; what runs on tells that."""
    off = []
    for seed in range(30):
        rng = Random(f"times/{seed}")
        sigma = np.sqrt(np.log1p(spread**2))
        tasks = [rng.lognormvariate(np.log(100) - sigma**2 / 2, sigma) for _ in range(60)]
        now = sorted(tasks)[19]
        done = [task for task in tasks if task <= now]
        running = [now] * (60 - len(done))
        times = learn(WorkPrior.of_budget(150.0), {"a": ended(done)}, {"a": running}, {"a": 1.0})
        assert times.count == 20
        off.append(np.log(times.mean / 100) / times.doubt)
    assert abs(np.mean(off)) < 1.0
    assert np.mean(np.abs(off) < 2) > 0.8, "the doubt tells how far it is off"


@pytest.mark.parametrize("at", [1.1, 1.4, 2.0])
def test_while_long_tasks_run_on_the_short_ones_do_not_tell_all(at):
    """One task in five takes three times as long as the others, all of which have ended."""
    tasks = [100.0, 95.0, 105.0, 98.0] * 20
    running = [100.0 * at] * 20
    times = learn(WorkPrior.of_budget(200.0), {"a": ended(tasks)}, {"a": running}, {"a": 1.0})
    true = (80 * 99.5 + 20 * 300.0) / 100
    assert times.mean * (1 + 2.5 * times.doubt) > true
    assert times.unseen == pytest.approx(0.2, abs=0.06)
    assert times.longer > 40


def test_many_results_tell_the_mean_whatever_their_form():
    rng = Random("two kinds")
    tasks = [rng.choice([20.0, 200.0]) for _ in range(2000)]
    times = learn(WorkPrior.of_budget(300.0), {"a": ended(tasks)}, {}, {"a": 1.0})
    assert times.mean == pytest.approx(np.mean(tasks), rel=0.01)
    assert times.doubt < 0.05


def test_a_known_mean_is_kept_until_much_speaks_against_it():
    known = WorkPrior.known(100.0, 30.0)
    few = learn(known, {"a": ended([150.0, 160.0])}, {}, {"a": 1.0})
    assert few.mean == pytest.approx(100.0, rel=0.05)
    many = learn(known, {"a": ended([150.0 + n % 7 for n in range(500)])}, {}, {"a": 1.0})
    assert many.mean > 120


def test_what_is_left_of_an_attempt_is_what_the_form_says():
    times = learn(WorkPrior.known(100.0, 50.0), {}, {}, {})
    rng = Random("rest")
    sigma = np.sqrt(np.log1p(times.spread**2))
    drawn = np.array(
        [rng.lognormvariate(np.log(times.mean) - sigma**2 / 2, sigma) for _ in range(40000)]
    )
    for age in (0.0, 60.0):
        rest = (drawn[drawn > age] - age).mean()
        assert times.rest(np.array([age]))[0] == pytest.approx(rest, rel=0.06)
    late = (drawn[drawn > 150.0] - 150.0).mean()
    assert late < times.rest(np.array([150.0]))[0] < 1.4 * late, "an old one may be of another form"


def test_a_few_short_ones_do_not_hide_that_others_may_be_long():
    """One task in five takes three times as long, and none of these has ended yet."""
    prior = WorkPrior.of_budget(150.0)
    off = []
    for seed in range(30):
        rng = Random(f"kinds/{seed}")
        tasks = [rng.choice([50.0] * 4 + [150.0]) * rng.gauss(1, 0.1) for _ in range(40)]
        done, running = [t for t in tasks if t < 80], [80.0 for t in tasks if t >= 80]
        times = learn(prior, {"a": ended(done)}, {"a": running}, {"a": 1.0})
        off.append((70.0 / times.mean - 1) / times.doubt)
    assert np.mean(off) < 3, "the doubt tells that the mean may be far too short"


def test_an_offer_whose_short_tasks_have_ended_does_not_seem_fast():
    reported = {"old": 1.0, "new": 1.0}
    seen = {"old": ended([100.0, 140.0, 60.0] * 20), "new": ended([60.0] * 10)}
    hasty, _ = learn_speeds(reported, seen, 0.35, given=False)
    fair, _ = learn_speeds(
        reported, seen, 0.35, given=False, under_way={"new": np.array([100.0, 140.0] * 10)}
    )
    assert hasty["new"] / hasty["old"] > 1.3
    assert fair["new"] / fair["old"] == pytest.approx(1.0, abs=0.05)


def test_speeds_that_nobody_reported_are_learned_and_given_ones_hold():
    seen = {"slow": ended([100.0 + n % 5 for n in range(40)]), "fast": ended([50.0] * 40)}
    reported = {"slow": 1.0, "fast": 1.0, "other": 1.0}
    speeds, doubts = learn_speeds(reported, seen, 0.3, given=False)
    assert speeds["fast"] / speeds["slow"] == pytest.approx(2.0, rel=0.1)
    assert doubts["other"] > 3 * doubts["fast"]
    given, _ = learn_speeds(reported, seen, 0.3, given=True)
    assert given["fast"] / given["slow"] < 1.1
