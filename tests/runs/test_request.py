"""What is asked for is completed with what suits it, and kept in the journal."""

from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO, Money
from bursar.model.work import Bag
from bursar.policies.presets import EXPERT, FAITHFUL
from bursar.runs.request import Request

SPOT = Offer("spot", Money.parse("0.01"), limit=2, pool="unreliable")
SURE = Offer("sure", Money.parse("0.01"), limit=2)


def request(offer, **more):
    market = Market("USD", "undated", (offer,))
    return Request(market=market, goal=Goal(Money.parse("1")), bag=Bag(3), **more)


def test_a_faithful_run_has_the_published_algorithm_of_its_kind():
    assert request(SPOT, faithful=True).all_policies() == EXPERT
    assert request(SURE, faithful=True).all_policies() == FAITHFUL


def test_the_journal_keeps_what_a_policy_is_made_of_and_nothing_that_was_not_asked_for():
    plain = {"fleet": "sure=2", "workers": "1", "faithful": "no"}
    assert request(SURE).settings() == plain
    asked = request(SPOT, prefer="makespan*cost", faithful=True).settings()
    assert asked == {**plain, "fleet": "spot=2", "faithful": "yes", "prefer": "makespan*cost"}


def test_the_tasks_of_a_free_bag_start_in_order():
    free = Market("USD", "undated", (Offer("here", ZERO),))
    assert Request(market=free, bag=Bag(3)).all_policies()["placer"] == "fifo"
    paid = Market("USD", "undated", (Offer("there", Money(1)),))
    chosen = Request(market=paid, bag=Bag(3), fleet={"there": 1}).all_policies()
    assert chosen["placer"] == "random"
