"""Several workflows become one dag."""

from __future__ import annotations

import numpy as np
import pytest

from bursar.model.dag import dag_of
from bursar.model.errors import InputError
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR
from bursar.plan.published.ensemble import Ensemble, Member, joined

OFFER = Offer("small", Money.parse("1"))


def test_tasks_are_numbered_on_from_workflow_to_workflow():
    dag, first = joined([dag_of([[], [0]]), dag_of([]), dag_of([[1], [], [0, 1]])])
    assert first.tolist() == [0, 2, 2, 5]
    assert dag.parents.starts.tolist() == [0, 0, 1, 2, 2, 4]
    assert dag.parents.items.tolist() == [0, 3, 2, 3]
    assert dag.order.tolist() == [0, 1, 3, 2, 4]


def test_no_workflow_is_an_empty_graph():
    dag, first = joined([])
    assert (len(dag), first.tolist()) == (0, [0])


def test_the_most_urgent_workflow_is_first_and_of_equals_the_first():
    members = [Member(dag_of([[]]), np.ones(1), priority) for priority in (1, 5, 1, 5)]
    assert Ensemble.of(members, OFFER, Money(1), HOUR).turns == (1, 3, 0, 2)


@pytest.mark.parametrize(
    ("runtimes", "budget", "deadline", "message"),
    [
        (np.ones(2), 1, HOUR, "run time of shape"),
        (np.full(1, np.inf), 1, HOUR, "every run time must be finite"),
        (np.ones(1), -1, HOUR, "cannot be below zero"),
        (np.ones(1), 1, -1, "cannot be below zero"),
    ],
)
def test_what_cannot_be_planned_is_refused(runtimes, budget, deadline, message):
    with pytest.raises(InputError, match=message):
        Ensemble.of([Member(dag_of([[]]), runtimes)], OFFER, Money(budget), deadline)
