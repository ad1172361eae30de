"""Budgets per interval, and accounts that pay for their own work only."""

from __future__ import annotations

from collections import Counter

import pytest

from bursar.engine.guard import FAR_HORIZON, Guard
from bursar.engine.roles import Policy
from bursar.model.errors import InputError
from bursar.model.goal import Account, Budget, Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO, Money
from bursar.model.time import DAY, HOUR, MINUTE, SECOND
from bursar.model.work import Bag, Work
from bursar.policies.place.random import RandomPlacer
from bursar.policies.provision.fixed import Fixed
from bursar.policies.replicate.none import NoReplicas
from bursar.simulate.faults import ModelledBehaviour, given
from bursar.simulate.run import simulate
from bursar.state import actions as act
from bursar.state import events as ev
from bursar.state.state import RunState
from bursar.testing import Auditor

HOURLY = Offer("hourly", Money.parse("1"))
FINE = Offer("fine", Money.parse("0.001"), SECOND)
TWO = (
    Account("ann", Budget(Money.parse("2"), HOUR)),
    Account("bob", Budget(Money.parse("1"))),
)


def run(goal, runtimes, fleet, *offers, arrivals=None):
    auditor = Auditor()
    state = simulate(
        Market("USD", "undated", offers),
        goal,
        arrivals or Bag(len(runtimes)),
        Policy(Fixed(fleet), RandomPlacer(), NoReplicas()),
        ModelledBehaviour(given(runtimes)),
        observers=[auditor],
    )
    state.check()
    return state, auditor.events


def guarded(goal, *offers, works=()):
    state = RunState()
    market = Market("USD", "undated", offers)
    state.apply(ev.RunCreated(0, "r", market, goal, Limits(), 0, {}, {}, 0.0))
    for work in works:
        state.apply(ev.WorkArrived(0, work))
    return state, Guard(state)


# --- sleeping until there is money ---------------------------------------------------------------


def test_a_run_whose_money_is_gone_sleeps_until_the_next_interval():
    # A machine an hour for a dollar, one dollar every two hours: one task every two hours.
    goal = Goal(Money.parse("1"), every=2 * HOUR)
    state, events = run(goal, [50 * MINUTE] * 3, {"hourly": 3}, HOURLY)
    assert state.ended.status == "done"
    rented = [event.at for event in events if isinstance(event, ev.MachineRented)]
    assert rented == [0, 2 * HOUR, 4 * HOUR]
    refills = [event.at for event in events if isinstance(event, ev.BudgetRefilled)]
    assert refills == [2 * HOUR, 4 * HOUR]


def test_a_budget_for_the_whole_run_ends_it_as_before():
    state, _ = run(Goal(Money.parse("1")), [50 * MINUTE] * 3, {"hourly": 3}, HOURLY)
    assert (state.ended.status, state.done) == ("budget", 1)


def test_an_interval_that_can_never_pay_a_machine_is_not_waited_for():
    state, _ = run(Goal(Money.parse("0.99"), every=HOUR), [MINUTE], {"hourly": 1}, HOURLY)
    assert (state.ended.status, state.ended.at) == ("budget", 0)


def test_a_sleeping_run_ends_with_its_deadline():
    goal = Goal(Money.parse("1"), 90 * MINUTE, every=DAY)
    state, _ = run(goal, [50 * MINUTE] * 3, {"hourly": 1}, HOURLY)
    assert (state.ended.status, state.ended.at) == ("deadline", 90 * MINUTE)


def test_a_policy_that_gives_up_for_lack_of_money_is_reported_to_wait():
    state, guard = guarded(Goal(Money.parse("1"), every=HOUR), HOURLY, works=[Work(Bag(2))])
    assert isinstance(guard.review(act.Stop("hopeless"), 0), ev.StopRequested)
    state.apply(guard.review(act.Rent("hourly"), 0))
    assert "next interval" in guard.review(act.Stop("hopeless"), 0).why
    assert isinstance(guard.review(act.Stop("late", "deadline"), 0), ev.StopRequested)


# --- leases and intervals ------------------------------------------------------------------------


def test_a_lease_reaches_into_the_next_interval_only_where_that_can_pay():
    state, guard = guarded(Goal(Money.parse("0.010"), every=8 * SECOND), FINE)
    first = guard.review(act.Rent("fine"), 6 * SECOND)
    state.apply(first)
    assert first.until == 11 * SECOND  # two units of this interval, three of the next
    assert state.ledger.committed_in("", 0) == Money.parse("0.002")
    assert state.ledger.committed_in("", 1) == Money.parse("0.003")
    for _ in range(2):
        state.apply(guard.review(act.Rent("fine"), 6 * SECOND))
    short = guard.review(act.Rent("fine"), 6 * SECOND)
    state.apply(short)
    assert short.until == 9 * SECOND  # the tenth unit of the next interval was its last
    assert state.ledger.left_of("", 8 * SECOND) == ZERO
    assert state.ledger.left_of("", 6 * SECOND) == Money.parse("0.002")


def test_units_that_were_not_entered_are_given_back_to_their_interval():
    state, guard = guarded(Goal(Money.parse("1"), every=8 * SECOND), FINE)
    state.apply(guard.review(act.Rent("fine"), 6 * SECOND))
    state.apply(ev.MachineDown(7 * SECOND, 1, "lost"))
    state.check()
    assert state.ledger.committed_in("", 0) == Money.parse("0.001")
    assert state.ledger.committed_in("", 1) == ZERO


@pytest.mark.parametrize("every", [None, HOUR, 7 * MINUTE])
def test_ten_thousand_machines_do_not_renew_every_five_seconds(every):
    """Money for two hours, or for each interval a tenth more than it takes."""
    count, price = 10_000, FINE.price.nanos
    seconds = 2 * 3600 if every is None else round(1.1 * every / SECOND)
    goal = Goal(Money(count * price * seconds), every=every)
    state, guard = guarded(goal, FINE, works=[Work(Bag(1))])
    for _ in range(count):
        state.apply(guard.review(act.Rent("fine"), 0))
    renewals = Counter()
    while (due := guard.next_due()) < HOUR:
        for machine in guard.due(due):
            verdict = guard.review(act.Extend(machine), due)
            assert isinstance(verdict, ev.LeaseExtended)
            state.apply(verdict)
            renewals[machine] += 1
    assert sum(renewals.values()) <= count * HOUR / MINUTE
    state.ledger.check()


def test_where_there_is_plenty_leases_are_long_across_intervals():
    state, guard = guarded(Goal(Money.parse("1000"), every=MINUTE), FINE)
    state.apply(guard.review(act.Rent("fine"), 0))
    extended = guard.review(act.Extend(1), 5 * SECOND)
    assert extended.until == 5 * SECOND + FAR_HORIZON


# --- accounts ------------------------------------------------------------------------------------


def test_a_machine_runs_the_work_of_its_account_only():
    works = [Work(Bag(1), "ann"), Work(Bag(1), "bob")]
    state, guard = guarded(Goal(accounts=TWO), HOURLY, works=works)
    state.apply(guard.review(act.Rent("hourly", account="ann"), 0))
    state.apply(ev.MachineUp(0, 1))
    assert guard.review(act.Start(2, 1), 0).why == "the machine belongs to another account"
    assert isinstance(guard.review(act.Start(1, 1), 0), ev.AttemptStarted)


def test_each_account_pays_from_its_own_budget():
    state, guard = guarded(Goal(accounts=TWO), HOURLY)
    for account in ("ann", "ann", "bob"):
        state.apply(guard.review(act.Rent("hourly", account=account), 0))
    assert guard.review(act.Rent("hourly", account="bob"), 0).why == (
        "only $0.00 of the budget is left"
    )
    assert guard.review(act.Rent("hourly"), 0).why == "there is no account ''"
    assert guard.review(act.Rent("hourly", account="eve"), 0).why == "there is no account 'eve'"
    assert state.ledger.left_of("ann", HOUR) == Money.parse("2")
    assert state.ledger.left_of("bob", HOUR) == ZERO
    assert state.ledger.next_refill("ann", HOUR) == 2 * HOUR
    assert state.ledger.next_refill("bob", HOUR) is None


def test_machines_asked_for_at_once_are_rented_one_by_one_until_the_money_ends():
    class Many(Fixed):
        def provision(self, view, now, rng):
            return [] if view.machines else [act.Rent("hourly", 5)]

    state = simulate(
        Market("USD", "undated", (HOURLY,)),
        Goal(Money.parse("3")),
        Bag(9),
        Policy(Many({}), RandomPlacer(), NoReplicas()),
        ModelledBehaviour(given([MINUTE] * 9)),
        observers=[Auditor()],
    )
    assert state.machines_rented == 3
    assert state.ledger.committed == Money.parse("3")


@pytest.mark.parametrize("count", [0, -1, 10**9])
def test_a_strange_number_of_machines_is_refused(count):
    _, guard = guarded(Goal(Money.parse("3")), HOURLY)
    assert "its count must be 1 to" in guard.review(act.Rent("hourly", count), 0).why


@pytest.mark.parametrize(
    "wrong",
    [
        {"budget": Money(1), "accounts": TWO},
        {"accounts": (*TWO, TWO[0])},
        {"every": HOUR},
        {"budget": Money(1), "every": 0},
    ],
)
def test_a_goal_that_contradicts_itself_is_refused(wrong):
    with pytest.raises(InputError):
        Goal(**wrong).budgets()


def test_when_the_budget_changes_its_intervals_the_charges_stay():
    state, guard = guarded(Goal(Money.parse("3")), HOURLY)
    state.apply(guard.review(act.Rent("hourly"), 0))
    state.apply(ev.GoalChanged(MINUTE, Goal(Money.parse("2"), every=30 * MINUTE)))
    state.check()
    assert state.ledger.committed_in("", 0) == Money.parse("1")
    assert state.ledger.left == Money.parse("1")
