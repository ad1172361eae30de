"""Which forms run times may have, given what ended and what runs."""

from __future__ import annotations

import numpy as np
import pytest

from bursar.beliefs.work_curve import BINS, EDGES, bin_of
from bursar.beliefs.work_forms import WorkForms


def binned(times):
    found = np.zeros(BINS)
    for time in times:
        found[bin_of(time)] += 1
    return found


def begun_at_once(times, share):
    """What ended and what runs, once this share of tasks that began together has ended."""
    now = float(np.quantile(times, share))
    ended = times[times <= now]
    return binned(ended), np.full(len(times) - len(ended), now)


def lognormal(rng, spread, count=60):
    sigma = np.sqrt(np.log1p(spread**2))
    return 100 * rng.lognormal(-(sigma**2) / 2, sigma, count)


def weibull(rng, spread, count=60):
    return 100 * rng.weibull(0.8, count) / 1.133


def two_kinds(rng, spread, count=60):
    long = rng.random(count) < 0.2
    return np.where(long, 214.0, 71.4) * rng.normal(1, spread, count)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.6, 0.9])
@pytest.mark.parametrize(
    ("draw", "spread"),
    [(lognormal, 0.15), (lognormal, 0.6), (lognormal, 1.2), (weibull, 1.26), (two_kinds, 0.1)],
)
def test_the_doubt_tells_how_far_the_mean_is_off_whatever_the_form(draw, spread, share):
    forms = WorkForms(150.0, 0.8, 0.3)
    off = []
    for seed in range(40):
        ended, running = begun_at_once(draw(np.random.default_rng(seed), spread), share)
        found = forms.believe(ended, running)
        off.append(np.log(100 / found.mean) / max(found.doubt, 0.02))
    assert np.mean(np.array(off) < 2) >= 0.85, "tasks hardly ever prove much longer than believed"
    assert abs(np.mean(off)) < 1.5


def test_the_curve_has_the_mean_and_falls():
    rng = np.random.default_rng(1)
    found = WorkForms(150.0, 0.8, 0.3).believe(*begun_at_once(lognormal(rng, 0.4), 0.5))
    assert (np.diff(found.alive) <= 1e-12).all()
    area = float(np.sum((found.alive[1:] + found.alive[:-1]) / 2 * np.diff(EDGES)))
    assert area == pytest.approx(found.mean, rel=0.03)
    first, last = found.reach
    assert 0 < first < last <= BINS


def test_before_anything_ended_attempts_that_go_on_move_the_mean():
    forms = WorkForms(100.0, 0.8, 0.3)
    young, old = (forms.believe(np.zeros(BINS), np.full(10, age)) for age in (5.0, 150.0))
    assert old.mean > 1.5 * young.mean


def test_many_results_leave_little_doubt():
    rng = np.random.default_rng(2)
    found = WorkForms(400.0, 0.8, 0.3).believe(binned(lognormal(rng, 0.3, 2000)), np.zeros(0))
    assert found.mean == pytest.approx(100, rel=0.05)
    assert found.doubt < 0.04


def test_results_beyond_all_that_was_thought_possible_are_no_error():
    forms = WorkForms(100.0, 0.8, 0.3)
    for work in (1e-3, 1e9):
        found = forms.believe(binned([work] * 100), np.array([work]))
        assert np.isfinite(found.mean)
        assert np.isfinite(found.doubt)


@pytest.mark.parametrize("spread", [0.08, 0.11, 0.16])
def test_what_is_believed_does_not_jump_while_tasks_that_began_together_grow_older(spread):
    """Half of the tasks have ended, and nothing happens for a while but that time goes on.

    Where in its bin of lengths the age of all the others is must not matter.
    """
    times = 380 * np.random.default_rng(2).normal(1, spread, 128)
    ended = np.sort(times)[:60]
    forms = WorkForms(500.0, 0.8, 0.3)
    ages = np.linspace(ended[-1], 1.03 * ended[-1], 121)
    means = [forms.believe(binned(ended), np.full(68, age)).mean for age in ages]
    assert max(abs(np.diff(np.log(means)))) < 0.02
    assert means[-1] > means[0]
