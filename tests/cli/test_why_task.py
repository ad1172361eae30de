"""Which task `bursar why --task` means."""

import pytest

from bursar.model.errors import InputError
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO
from bursar.model.work import Bag, Work
from bursar.model.workflow import Workflow
from bursar.model.workflow_builder import WorkflowBuilder
from bursar.runs.task_logs import task_number
from bursar.state import events as ev
from bursar.state.state import RunState


@pytest.fixture
def state():
    work = WorkflowBuilder("flow")
    for name in ("make", "use"):
        work.task(name, run="true")
    market = Market("USD", "undated", (Offer("any", ZERO),))
    state = RunState()
    state.apply(ev.RunCreated(0, "r", market, Goal(), Limits(), 0, {}, {}, 0.0))
    state.apply(ev.WorkArrived(0, Work(Bag(count=3))))
    state.apply(ev.WorkArrived(0, Work(Workflow.of(work.build()))))
    return state


def test_a_task_is_found_by_its_number_or_its_name(state):
    assert [task_number(task, state) for task in ("2", "5", "make", "use")] == [2, 5, 4, 5]
    with pytest.raises(InputError, match="no task 'nothing': the run has tasks 1 to 5"):
        task_number("nothing", state)


def test_a_number_needs_no_work_that_is_in_the_journal_alone(state):
    state.work.recall = lambda event: pytest.fail(f"event {event} was read")
    state.apply(ev.MachineRented(0, 1, "any", 9))
    state.apply(ev.MachineUp(0, 1))
    for task in (1, 2, 3):
        state.apply(ev.AttemptStarted(0, task, task, 1))
        state.apply(ev.AttemptEnded(0, task, "success"))
    state.work._latest = None
    assert task_number("2", state) == 2
