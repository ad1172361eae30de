"""What a run has shown of run times, of many attempts at once."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bursar.beliefs.progress import Progress


@given(st.lists(st.integers(1, 10**9), min_size=1), st.lists(st.integers(0, 10**9)))
def test_expected_times_of_many_are_those_of_each(seen, elapsed):
    progress = Progress()
    progress.learn_sample("any", seen)
    wanted = [progress.expected("any", one) for one in elapsed]
    ages, tasks = np.array(elapsed, dtype=np.int64), np.arange(len(elapsed))
    assert progress.expected_each("any", ages, tasks).tolist() == wanted
    assert progress.expected_each("other", np.array([1]), np.array([1])) is None
