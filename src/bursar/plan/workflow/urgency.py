"""In which order the tasks of a workflow begin that are ready together.

Urgent is what has the higher priority; then what has the longer way to the end of its workflow, as
in HEFT, by the run times that were given; then what was given first.
"""

from __future__ import annotations

from bursar.model.workflow import Workflow
from bursar.plan.workflow.shape import upward_ranks


def urgency(flow: Workflow) -> list[int]:
    """By task, its place in the order in which tasks that are ready together begin."""
    ranks = upward_ranks(flow.dag).tolist()
    urgent = flow.priorities or (0,) * flow.count
    ordered = sorted(range(flow.count), key=lambda task: (-urgent[task], -ranks[task], task))
    places = [0] * flow.count
    for place, task in enumerate(ordered):
        places[task] = place
    return places
