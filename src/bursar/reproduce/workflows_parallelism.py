"""The level of parallelism of a workflow: how many of its tasks can ever run at once.

Exact, it is the width of the order that precedence makes (Dilworth): as many tasks as there are,
less a largest matching of tasks with tasks that come after them. That takes a moment for thousands
of tasks; tokens (`bursar.kernels.tokens`) come near it at once, and can be kept while tasks run
(section 2.3.1 of the thesis on workloads of workflows).
"""

from __future__ import annotations

import numpy as np

from bursar.kernels.tokens import ENDLESS, READINGS, largest_generation
from bursar.model.dag import Dag


def exact_parallelism(dag: Dag) -> int:
    """The most tasks of which none needs another, not even through others."""
    if not len(dag):
        return 0
    from scipy.sparse import csr_array  # late: it takes a while
    from scipy.sparse.csgraph import maximum_bipartite_matching

    after = _after(dag)
    rows = [np.flatnonzero(np.unpackbits(one, count=len(dag), bitorder="little")) for one in after]
    starts = np.concatenate(([0], np.cumsum([len(row) for row in rows])))
    items = np.concatenate(rows)
    graph = csr_array((np.ones(len(items), np.int8), items, starts), shape=(len(dag), len(dag)))
    matched = maximum_bipartite_matching(graph, perm_type="column")
    return len(dag) - int(np.count_nonzero(matched >= 0))


def _after(dag: Dag) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    """By task, a bit for each task that comes after it."""
    found = np.zeros((len(dag), (len(dag) + 7) // 8), np.uint8)
    for task in dag.order[::-1].tolist():
        for child in dag.children.of(task).tolist():
            found[task] |= found[child]
            found[task, child // 8] |= np.uint8(1 << (child % 8))
    return found


def token_parallelism(dag: Dag, tokens: str = "gen", depth: int = ENDLESS) -> int:
    """The largest set of tokens of a workflow that has not begun, in a reading of tokens."""
    scratch = [[0] * (len(dag) + 1) for _ in range(4)]
    starts, children = dag.children.starts.tolist(), dag.children.items.tolist()
    missing = dag.parents.counts().tolist()
    return largest_generation(
        0, len(dag), missing, starts, children, READINGS[tokens], depth, scratch
    )
