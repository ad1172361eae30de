"""The auditor finds what no guard has kept away."""

from __future__ import annotations

import pytest

from bursar.model.goal import Account, Budget, Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag, Work
from bursar.state import events as ev
from bursar.state.state import RunState
from bursar.testing import Auditor, ContractBroken

HOURLY = Offer("hourly", Money.parse("0.10"), limit=2)
FINE = Offer("fine", Money.parse("0.001"), SECOND, minimum=MINUTE, slots=2)


class Books:
    """A run without a guard, and an auditor beside it."""

    def __init__(self):
        self.state, self.auditor = RunState(), Auditor()
        market = Market("USD", "undated", (HOURLY, FINE))
        goal = Goal(Money.parse("0.35"))
        self.tell(
            ev.RunCreated(0, "r", market, goal, Limits(), 0, {}, {}, 0.0),
            ev.WorkArrived(0, Work(Bag(3))),
            ev.MachineRented(0, 1, "hourly", HOUR),
            ev.MachineUp(0, 1),
            ev.MachineRented(0, 2, "fine", MINUTE),
            ev.MachineUp(0, 2),
            ev.AttemptStarted(0, 1, 1, 1),
        )

    def tell(self, *events):
        for event in events:
            self.state.apply(event)
            self.auditor.saw(event, self.state)


@pytest.fixture
def books():
    return Books()


def test_a_lawful_run_is_not_complained_of(books):
    books.tell(
        ev.AttemptStarted(SECOND, 2, 1, 2),
        ev.AttemptEnded(2 * SECOND, 2, "success"),
        ev.CancelOrdered(2 * SECOND, 1),
        ev.AttemptEnded(3 * SECOND, 1, "cancelled"),
        ev.LeaseExtended(MINUTE, 2, 2 * MINUTE),
        ev.ReleaseOrdered(70 * SECOND, 2),
        ev.MachineDown(70 * SECOND, 2, "released"),
        ev.GoalChanged(HOUR, Goal(Money.parse("5"))),
        ev.LeaseExtended(HOUR, 1, 2 * HOUR),
        ev.MachineDown(2 * HOUR, 1, "expired", ended=2 * HOUR),
    )
    assert books.state.ledger.committed == Money.parse("0.27")
    assert len(books.auditor.events) == 17


def test_units_are_counted_in_the_interval_in_which_they_are_entered():
    state, auditor = RunState(), Auditor()
    market = Market("USD", "undated", (FINE,))
    accounts = (Account("ann", Budget(Money.parse("0.060"), MINUTE)), Account("bob"))
    created = ev.RunCreated(0, "r", market, Goal(accounts=accounts), Limits(), 0, {}, {}, 0.0)
    lawful = [
        created,
        ev.MachineRented(0, 1, "fine", MINUTE, account="ann"),
        ev.LeaseExtended(MINUTE, 1, 2 * MINUTE),
        ev.MachineRented(MINUTE, 2, "fine", 2 * MINUTE, account="bob"),
    ]
    for event in lawful:
        state.apply(event)
        auditor.saw(event, state)
    last = ev.MachineRented(MINUTE, 3, "fine", 2 * MINUTE, account="ann")
    state.apply(last)
    with pytest.raises(ContractBroken, match=r"committed of a budget of 0\.06 .*'ann', interval 1"):
        auditor.saw(last, state)


@pytest.mark.parametrize(
    ("complaint", "events"),
    [
        ("committed of a budget", [ev.LeaseExtended(HOUR, 1, 4 * HOUR)]),
        ("the next one", [ev.MachineRented(0, 9, "fine", MINUTE)]),
        (
            "more than 2 hourly",
            [ev.MachineRented(0, 3, "hourly", HOUR), ev.MachineRented(0, 4, "hourly", HOUR)],
        ),
        ("got shorter", [ev.LeaseExtended(0, 1, HOUR - 1)]),
        ("was over before", [ev.LeaseExtended(MINUTE + 1, 2, 3 * MINUTE)]),
        ("released twice", [ev.ReleaseOrdered(0, 1), ev.ReleaseOrdered(0, 1)]),
        ("came up twice", [ev.MachineUp(0, 1)]),
        ("outlived its lease", [ev.MachineDown(MINUTE + 1, 2, "lost")]),
        ("outlived its lease", [ev.MachineDown(HOUR, 2, "lost", ended=MINUTE + 1)]),
        ("announced twice", [ev.LossAnnounced(0, 2, MINUTE), ev.LossAnnounced(0, 2, MINUTE)]),
        ("that is not there", [ev.LossAnnounced(0, 2, MINUTE), ev.AttemptStarted(0, 2, 2, 2)]),
        ("came up, and was refused", [ev.MachineDown(0, 2, "refused")]),
        ("attempt 5 is not the next one", [ev.AttemptStarted(0, 5, 2, 2)]),
        ("had no free slot", [ev.AttemptStarted(0, 2, 2, 1)]),
        (
            "on a machine that is not there",
            [ev.MachineRented(0, 3, "fine", MINUTE), ev.AttemptStarted(0, 2, 2, 3)],
        ),
        ("that is not there", [ev.ReleaseOrdered(0, 2), ev.AttemptStarted(0, 2, 2, 2)]),
        ("that is not there", [ev.AttemptStarted(MINUTE + 1, 2, 2, 2)]),
        ("the only attempt of task 1", [ev.CancelOrdered(0, 1)]),
        (
            "settled, but started again",
            [ev.AttemptEnded(0, 1, "success"), ev.AttemptStarted(0, 2, 1, 2)],
        ),
        (
            "while the run was stopping",
            [ev.StopRequested(0, "done", "enough"), ev.AttemptStarted(0, 2, 2, 2)],
        ),
        (
            "while the run was stopping",
            [ev.StopRequested(0, "done", "enough"), ev.MachineRented(0, 3, "fine", MINUTE)],
        ),
    ],
)
def test_what_breaks_a_law_is_reported(books, complaint, events):
    *before, last = events
    books.tell(*before)
    with pytest.raises(ContractBroken, match=complaint):
        books.tell(last)


def test_an_attempt_that_measures_may_run_again(books):
    books.tell(ev.AttemptEnded(0, 1, "success"), ev.AttemptStarted(0, 2, 1, 2, measure=True))


@pytest.mark.parametrize(
    ("complaint", "falsify"),
    [
        ("is said to be committed", lambda state: setattr(state.ledger, "committed", Money(1))),
        ("tasks 2 are accounted for", lambda state: state.ready.discard(3)),
        ("1 done, 0 were won", lambda state: setattr(state, "done", 1)),
        ("time ran back", lambda state: setattr(state, "now", 5)),
    ],
)
def test_a_state_that_tells_something_else_is_found_out(books, complaint, falsify):
    falsify(books.state)
    with pytest.raises(ContractBroken, match=complaint):
        books.auditor.saw(ev.ArrivalsEnded(0), books.state)


def test_a_task_is_won_by_the_first_success(books):
    books.tell(ev.AttemptStarted(0, 2, 1, 2), ev.AttemptEnded(0, 1, "success"))
    books.state.apply(ev.AttemptEnded(0, 2, "success"))
    books.state.winners[1] = 2
    with pytest.raises(ContractBroken, match="attempt 2 did not win task 1 first"):
        books.auditor.saw(ev.AttemptEnded(0, 2, "success"), books.state)
