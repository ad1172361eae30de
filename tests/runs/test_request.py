"""What is asked for is completed with what suits it, and kept in the journal."""

import pytest

from bursar.model.errors import InputError
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO, Money
from bursar.model.option_words import COMMAND_LINE, PYTHON
from bursar.model.options import RunOptions
from bursar.model.strategy import read_strategy
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
    assert request(SURE).options() == RunOptions(fleet={"sure": 2})
    asked = request(SPOT, prefer="makespan*cost", strategy="AUR", faithful=True).options()
    assert asked == RunOptions(
        fleet={"spot": 2}, faithful=True, prefer="makespan*cost", strategy=read_strategy("AUR")
    )


MISTAKES = [
    ({"fleet": {"sure": 0}}, "write for example {}", "fleet"),
    ({"fleet": {"sure": -1}}, "write for example {}", "fleet"),
    ({"goal": Goal()}, "set a limit with {}", "budget"),
    ({"goal": Goal(Money.parse("0.0001"))}, "raise {}", "budget"),
    ({"strategy": "AUR"}, "or leave out {}", "strategy"),
    ({"prefer": "cost"}, "or leave out {}", "prefer"),
    ({"sabotage": 5}, "or leave out {}", "sabotage"),
    ({"faithful": True, "fleet": {"sure": 1}}, "use {} without", "faithful"),
]


@pytest.mark.parametrize(("mistake", "told", "option"), MISTAKES)
@pytest.mark.parametrize(
    ("asked", "written"), [(COMMAND_LINE, "--{}"), (PYTHON, "{}=")], ids=["command line", "Python"]
)
def test_a_mistake_is_told_in_the_words_of_those_who_asked(mistake, told, option, asked, written):
    market = Market("USD", "undated", (SURE,))
    options = {"goal": Goal(Money.parse("1")), **mistake}
    with pytest.raises(InputError) as refused:
        Request(market=market, bag=Bag(3), asked=asked, **options).check()
    assert told.format(written.format(option)) in str(refused.value)
    other = {"--{}": "{}=", "{}=": "--{}"}[written]
    assert other.format(option) not in str(refused.value)


def test_an_option_is_written_with_its_value_as_those_who_asked_write_it():
    assert COMMAND_LINE.given("files", "copied") == "--files copied"
    assert PYTHON.given("files", "copied") == 'files="copied"'
    assert COMMAND_LINE.option("max_workers") == "--max-workers"


def test_the_tasks_of_a_free_bag_start_in_order():
    free = Market("USD", "undated", (Offer("here", ZERO),))
    assert Request(market=free, bag=Bag(3)).all_policies()["placer"] == "fifo"
    paid = Market("USD", "undated", (Offer("there", Money(1)),))
    chosen = Request(market=paid, bag=Bag(3), fleet={"there": 1}).all_policies()
    assert chosen["placer"] == "random"
