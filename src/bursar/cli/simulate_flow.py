"""`bursar simulate FLOW`: a workflow, its plan, and the run times of its tasks."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from bursar.flow_target import FlowTarget
from bursar.formats.workflow import read_workflow
from bursar.model.errors import InputError
from bursar.model.flow import Flow
from bursar.model.time import SECOND, Time
from bursar.request import Request
from bursar.simulate.fortune import Runtimes
from bursar.view import Machine


def prepared(
    path: str, number: int | None, request: Request, choose: str | None
) -> tuple[Request, FlowTarget]:
    """The request with the workflow and its plan, and what they were made of."""
    flow = Flow.of(read_workflow(path, number))
    target = FlowTarget.of(flow, request.market, request.goal, request.wish)
    request = msgspec.structs.replace(request, flow=flow, goal=target.goal)
    if request.is_to_be_planned:
        request = msgspec.structs.replace(request, plan=target.chosen(choose))
    elif choose is not None:
        raise InputError("--choose is for machines that cost money, and that bursar chooses")
    return request, target


def target_runtimes(target: FlowTarget) -> Callable[[int], Runtimes]:
    """With a seed, every task has its luck, which is the same on every offer."""
    table, rows = target.times.table, target.times.rows
    column = {offer.name: number for number, offer in enumerate(target.offers)}

    def drawn(seed: int) -> Runtimes:
        luck = np.random.default_rng(seed).integers(0, table.shape[1], len(rows)).tolist()

        def runtime(task: int, machine: Machine) -> Time:
            row = rows[task - 1, column[machine.offer.name]]
            return max(1, round(float(table[row, luck[task - 1]]) * SECOND))

        return runtime

    return drawn
