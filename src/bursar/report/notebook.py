"""Workflows show themselves: importing this gives them `svg`, and `_repr_html_` for notebooks.

What a workflow is made of knows nothing of pictures, so that its classes get the methods from here.
Lists of plans, runs and executors have theirs in their own classes.
"""

from __future__ import annotations

from typing import Any

from bursar.model.dag import Dag
from bursar.model.workflow import Workflow
from bursar.model.workflow_builder import WorkflowBuilder


def _of_builder(workflow: WorkflowBuilder) -> str:
    return _of_dag(workflow.build())


def _of_dag(dag: Dag) -> str:
    return _of_workflow(Workflow.of(dag))


def _of_workflow(flow: Workflow) -> str:
    from bursar.report.pictures import workflow_svg  # late: it brings much of the page

    return workflow_svg(flow)


_SHOWN: tuple[tuple[Any, Any], ...] = (
    (WorkflowBuilder, _of_builder),
    (Dag, _of_dag),
    (Workflow, _of_workflow),
)
for _kind, _method in _SHOWN:
    _kind._repr_html_ = _kind.svg = _method
