"""Workflows and ensembles that several tests of planners use."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st


def montage(side):
    """The parents and kinds of a mosaic of so many pictures a side, each beside its neighbours."""
    pictures = side * side
    fits = [[at, at + 1] for at in range(pictures) if (at + 1) % side]
    fits += [[at, at + side] for at in range(side * (side - 1))]
    last = pictures + len(fits)
    parents = [[] for _ in range(pictures)] + fits
    parents += [list(range(pictures, last)), [last]]
    parents += [[last + 1, picture] for picture in range(pictures)]
    parents += [list(range(last + 2, last + 2 + pictures))]
    kinds = [0] * pictures + [1] * len(fits) + [2, 3] + [4] * pictures + [5]
    return parents, kinds


@st.composite
def random_members(draw, workflow):
    """Workflows of an ensemble, each made by `workflow(parents, minutes, priority)`."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    members = []
    for _ in range(draw(st.integers(1, 5))):
        tasks = draw(st.integers(1, 12))
        degree = draw(st.sampled_from([0, 1, 3]))
        parents = [
            rng.choice(task, min(task, rng.poisson(degree)), replace=False).tolist()
            for task in range(tasks)
        ]
        minutes = rng.lognormal(2.5, 1, tasks) * (rng.random(tasks) > 0.1)
        members.append(workflow(parents, minutes, int(rng.integers(0, 3))))
    return members
