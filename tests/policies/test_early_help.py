"""When reliable machines help, and what rules them out."""

from types import SimpleNamespace

import pytest

from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.strategy import Strategy, read_strategy
from bursar.model.time import MINUTE
from bursar.policies.early_help import ROUNDS, EarlyHelp
from bursar.policies.pool_timeout import ENOUGH, FIRST, PoolTimeout
from bursar.state.fleet_counts import OfferCounts
from bursar.state.view import Attempt, Machine, Refusal

SPOT = Offer("spot", Money.parse("0.01"), limit=2, pool="unreliable")
SURE = Offer("sure", Money.parse("1"), limit=2)
FLEET = {"spot": 2, "sure": 2}


def view(**changes):
    known = {
        "market": Market("USD", "undated", (SPOT, SURE)),
        "ledger": SimpleNamespace(left=None),
        "refusals": {},
        "fleet": {},
        "attempts": {1: Attempt(1, 1, Machine(1, SPOT, 0, FIRST), 0)},
        "total": 40,
        "done": 0,
        "failed": 0,
    }
    return SimpleNamespace(**{**known, **changes})


class Counts:
    """Attempts by offer."""

    def __init__(self):
        self.attempts = {}

    def of(self, offer):
        return OfferCounts(attempts=self.attempts.get(offer, 0))


def rescue(timeout=None, fleet=FLEET, counts=None):
    timeout = timeout or PoolTimeout()
    timeout.watch(1, 0)
    return EarlyHelp(fleet, 2, timeout, counts or Counts())


def test_a_few_tasks_are_tried_on_reliable_machines_when_the_first_limit_has_passed_in_vain():
    one = rescue()
    assert not one.tests(view(), FIRST - 1)
    assert one.limit == 0
    assert one.tests(view(), FIRST)
    assert one.limit == ENOUGH
    assert not one.tests(view(), FIRST + MINUTE)


def test_nothing_is_given_up_while_a_reliable_machine_is_about_to_tell():
    counts = Counts()
    one = rescue(counts=counts)
    one.tests(view(), FIRST)
    assert one.is_testing(view(), FIRST, waiting=True)
    assert not one.is_testing(view(), FIRST, waiting=False)
    assert not one.is_testing(view(), 2 * FIRST, waiting=True)
    counts.attempts["sure"] = 1
    assert one.is_testing(view(), 9 * FIRST, waiting=False)
    assert not one.tests(view(), 9 * FIRST)


def test_where_the_time_of_tasks_is_known_no_test_is_made():
    known = PoolTimeout()
    known.returned_surely(MINUTE)
    for timeout in (known, PoolTimeout(given=MINUTE)):
        assert not rescue(timeout).tests(view(), 9 * FIRST)


def test_a_pool_is_barren_after_two_rounds_without_a_result():
    timeout = PoolTimeout()
    one = rescue(timeout)
    for _ in range(ROUNDS * 2):
        one.look(view(), FIRST, [None])
        assert not one.is_barren
        timeout.gave_up(1)
    one.look(view(), FIRST, [None])
    assert one.is_barren
    assert one.limit == 2
    timeout.returned(MINUTE)
    one.look(view(), FIRST, [None])
    assert not one.is_barren


@pytest.mark.parametrize(
    ("strategy", "helps"),
    [
        (None, True),
        (Strategy(2, MINUTE, MINUTE, 0.1), True),
        (read_strategy("CN-inf"), True),
        (read_strategy("AUR"), False),
    ],
)
def test_a_strategy_of_unreliable_machines_alone_rules_help_out(strategy, helps):
    assert rescue().may_help(view(), 0, [strategy]) is helps


def test_what_cannot_be_rented_is_of_no_help():
    poor = SimpleNamespace(left=Money.parse("0.50"))
    refused = {"sure": Refusal(0, 0)}
    for changes in ({"ledger": poor}, {"refusals": refused}):
        assert not rescue().may_help(view(**changes), 1, [None])
        assert rescue().may_help(view(**changes, fleet={"sure": 1}), 1, [None])
    assert rescue().may_help(view(refusals=refused), refused["sure"].over, [None])
    assert not rescue(fleet={"spot": 2}).may_help(view(), 0, [None])
