"""bursar runs bags of tasks and workflows on rented machines; you stay in charge of the money."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

from bursar import plan as _planners

__version__ = "0.1.0"
__all__ = [
    "BudgetExecutor",
    "BursarError",
    "CallError",
    "Market",
    "Money",
    "RunOver",
    "Service",
    "WorkflowBuilder",
    "__version__",
    "find_frontier",
    "output_dir",
    "parse_market",
    "plan_work",
    "read_market",
    "run_workflow",
]

if TYPE_CHECKING:
    from bursar.execute.calls import CallError
    from bursar.execute.worker import output_dir
    from bursar.formats.market import parse_market, read_market
    from bursar.model.errors import BursarError
    from bursar.model.market import Market
    from bursar.model.money import Money
    from bursar.model.workflow_builder import WorkflowBuilder
    from bursar.runs.executor import BudgetExecutor, RunOver
    from bursar.runs.find_frontier import find_frontier
    from bursar.runs.plan_work import plan_work
    from bursar.runs.run_workflow import run_workflow
    from bursar.runs.service import Service

_HOMES = {
    "BudgetExecutor": "bursar.runs.executor",
    "BursarError": "bursar.model.errors",
    "CallError": "bursar.execute.calls",
    "Market": "bursar.model.market",
    "Money": "bursar.model.money",
    "RunOver": "bursar.runs.executor",
    "Service": "bursar.runs.service",
    "WorkflowBuilder": "bursar.model.workflow_builder",
    "find_frontier": "bursar.runs.find_frontier",
    "output_dir": "bursar.execute.worker",
    "parse_market": "bursar.formats.market",
    "plan_work": "bursar.runs.plan_work",
    "read_market": "bursar.formats.market",
    "run_workflow": "bursar.runs.run_workflow",
}


class _CallablePackage(ModuleType):
    """`bursar.plan` has the planners, and people call it: that is `plan_work`."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        from bursar.runs.plan_work import plan_work

        return plan_work(*args, **options)


_planners.__class__ = _CallablePackage


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: importing bursar stays light."""
    if name in _HOMES:
        from importlib import import_module

        if name == "WorkflowBuilder":
            import_module("bursar.report.notebook")  # so that it shows itself there
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'bursar' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
