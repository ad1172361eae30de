"""How likely forms of run times are, by the compiled kernel, against the same in numpy's arrays."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from bursar.beliefs.work_curve import BINS, SHORTEST, WIDTH, bin_of
from bursar.beliefs.work_forms import SLICES, FormBelief, WorkForms, _between_edges, _tables

SURELY, DEVIATIONS, LEAST, NEGLIGIBLE = 0.95, 1.645, 1e-9, 1e-4


def plain_belief(forms, ended, running):
    tables, which = _tables(), forms._possible(ended)
    means, first = forms._means[which], forms._first + which.start
    logs = forms._before[:, which] + log_chances(ended, tables.log_ends, first, len(means))
    logs = logs + log_chances(_between_edges(running), tables.log_alive, first, len(means))
    chances = np.exp(logs - logs.max())
    chances /= chances.sum()
    by_mean = chances.sum(axis=0)
    mean = float(by_mean @ means)
    doubt = sqrt(float(by_mean @ np.square(means / mean - 1)))
    longest = means[min(by_mean.cumsum().searchsorted(SURELY), len(means) - 1)]
    doubt = max(doubt, (longest / mean - 1) / DEVIATIONS)
    return FormBelief(mean, doubt, sliced(by_mean, means) / mean, curve(chances, means))


def log_chances(counts, table, first, means):
    """Each task moves the table of logarithms by its bin."""
    found = np.zeros((len(table), means))
    for place in counts.nonzero()[0]:
        begin = BINS + first - place
        found += counts[place] * table[:, begin : begin + means]
    return found


def sliced(chances, means):
    reached, sums = np.zeros((2, len(chances) + 1))
    reached[1:], sums[1:] = chances.cumsum(), (chances * means).cumsum()
    edges = np.array([0.0, *np.cumsum(SLICES)[:-1], 1.0])
    return np.diff(np.interp(edges, reached / reached[-1], sums)) / SLICES


def curve(chances, means):
    by_form = chances.sum(axis=1)
    likely = chances @ means / np.maximum(by_form, LEAST**2)
    found, shares = np.zeros(BINS + 1), 0.0
    for form in np.flatnonzero(by_form > NEGLIGIBLE):
        place = np.log(likely[form] / SHORTEST) / WIDTH
        whole, share = int(np.floor(place)), by_form[form]
        following, begin = (place - whole) * share, BINS - whole
        alive = _tables().alive[form]
        found += (share - following) * alive[begin : begin + BINS + 1]
        found += following * alive[begin - 1 : begin + BINS]
        shares += share
    return found / shares


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("ends", [0, 1, 7, 80, 3000])
def test_the_kernel_believes_what_arrays_do(seed, ends):
    rng = np.random.default_rng(seed)
    forms = WorkForms(float(rng.choice([0.02, 40.0, 9e4])), 0.8, 0.3)
    typical, spread = forms._means[len(forms._means) // 2], rng.choice([0.05, 0.5, 1.5])
    ended = np.zeros(BINS)
    for work in typical * rng.lognormal(0, spread, ends):
        ended[bin_of(work)] += rng.choice([1.0, 0.25])  # counts of other speeds are in parts
    running = typical * rng.lognormal(0, spread, int(rng.choice([0, 1, 40])))
    found, plain = forms.believe(ended, running), plain_belief(forms, ended, running)
    assert found.mean == pytest.approx(plain.mean, rel=1e-9)
    assert found.doubt == pytest.approx(plain.doubt, rel=1e-9)
    assert found.factors == pytest.approx(plain.factors, rel=1e-9)
    assert found.alive == pytest.approx(plain.alive, rel=1e-9, abs=1e-15)
    assert found.reach == plain.reach
