"""In which order the tasks of a workflow begin that are ready together.

Urgent is what has the higher priority; then what has the longer way to the end of its workflow, as
in HEFT, by the run times that were given; then what was given first.
"""

from __future__ import annotations

from collections.abc import Sequence

from bursar.model.flow import Flow


def urgency(flow: Flow) -> list[int]:
    """By task, its place in the order in which tasks that are ready together begin."""
    ranks = _upward_ranks(flow)
    urgent = flow.priorities or (0,) * flow.count
    ordered = sorted(range(flow.count), key=lambda task: (-urgent[task], -ranks[task], task))
    places = [0] * flow.count
    for place, task in enumerate(ordered):
        places[task] = place
    return places


def _upward_ranks(flow: Flow) -> list[float]:
    """The longest way from the begin of each task to the end, in run times that were given.

    Where one is not known, all count as one, since a sum over some would look like one over all.
    """
    known = [time for time in flow.runtimes if time is not None]
    times: Sequence[float] = known if len(known) == flow.count else [1.0] * flow.count
    missing = [0] * flow.count
    for parents in flow.parents:
        for parent in parents:
            missing[parent] += 1
    ranks = list(times)
    free = [task for task in range(flow.count) if not missing[task]]
    while free:
        task = free.pop()
        for parent in flow.parents[task]:
            ranks[parent] = max(ranks[parent], times[parent] + ranks[task])
            missing[parent] -= 1
            if not missing[parent]:
                free.append(parent)
    return ranks
