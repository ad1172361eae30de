"""Products are those of numpy, and no other thread is woken for them."""

from __future__ import annotations

from time import process_time, sleep, thread_time

import numpy as np
import pytest

from bursar.beliefs.products import product_of
from bursar.beliefs.work_curve import BINS, bins_of
from bursar.beliefs.work_forms import WorkForms


@pytest.mark.parametrize("rows", [1, 7, 8, 9, 57, 60])
@pytest.mark.parametrize("columns", [1, 31, 70, 422])
@pytest.mark.parametrize("inner", [1, 57, 230])
def test_a_product_is_that_of_numpy(rows, columns, inner):
    rng = np.random.default_rng(rows)
    left, right = rng.random((rows, inner)), rng.random((inner, columns))
    assert np.allclose(product_of(left, right), left @ right, rtol=1e-14)
    assert np.allclose(product_of(left[0], right), left[0] @ right, rtol=1e-14)


def test_nothing_of_no_rows_at_all():
    assert product_of(np.zeros((0, 3)), np.ones((3, 2))).shape == (0, 2)
    assert product_of(np.zeros(0), np.ones((0, 2))).tolist() == [0.0, 0.0]


def test_a_belief_takes_the_time_of_one_thread():
    """Threads of the library would wait for the next product in a busy loop."""
    rng = np.random.default_rng(1)
    ended = np.bincount(bins_of(rng.lognormal(5.0, 0.6, 40)), minlength=BINS)
    forms, ages = WorkForms(300.0, 0.8, 0.3), rng.uniform(0.5, 900.0, 200)
    forms.believe(ended, ages)
    sleep(0.3)  # threads that were woken by other tests fall asleep
    of_all, of_this = process_time(), thread_time()
    for _ in range(50):
        forms.believe(ended, ages)
    of_all, of_this = process_time() - of_all, thread_time() - of_this
    assert of_all < 1.3 * of_this
