"""What is asked for is completed with what suits it, and kept in the journal."""

import pytest
from msgspec.structs import replace

from bursar.model.errors import InputError
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO, Money
from bursar.model.option_words import COMMAND_LINE, HTTP, PYTHON
from bursar.model.options import RunOptions
from bursar.model.strategy import read_strategy
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag
from bursar.policies.presets import EXPERT, FAITHFUL, FRONTIER
from bursar.runs.request import Request
from bursar.runs.session import check_budget
from bursar.testing import Scene

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


def test_known_run_times_are_kept_and_reach_the_policy():
    offer = replace(SURE, billing=SECOND)
    known = request(offer, runtime=3 * MINUTE, deviation=40 * SECOND)
    assert known.options().runtime == 3 * MINUTE
    assert known.options().deviation == 40 * SECOND
    assert known.all_policies() == FRONTIER
    with pytest.raises(InputError, match="is for the tasks of a bag"):
        replace(known, bag=None).check()


MIXED = Market("USD", "undated", (SPOT, SURE))
HOUR_ONLY = Goal(deadline=HOUR)
NO_ADVICE = {"advisor": "none"}
HEDGED = {"provisioner": "hedged"}
MISTAKES = [
    ({"fleet": {"sure": 0}}, "write for example {}", "fleet"),
    ({"fleet": {"sure": -1}}, "write for example {}", "fleet"),
    ({"goal": Goal()}, "set a limit with {}", "budget"),
    ({"goal": Goal(Money.parse("0.0001"))}, "raise {}", "budget"),
    ({"strategy": "AUR"}, "or leave out {}", "strategy"),
    ({"prefer": "cost"}, "or leave out {}", "prefer"),
    ({"market": MIXED, "goal": HOUR_ONLY, "prefer": "within-budget"}, "give {}, too", "budget"),
    ({"market": MIXED, "prefer": "within-deadline"}, "give {}, too", "deadline"),
    ({"market": MIXED, "prefer": "cost", "policies": NO_ADVICE}, "{} is for the advisor", "prefer"),
    ({"market": MIXED, "prefer": "cost", "policies": HEDGED}, "{} does not go with", "prefer"),
    ({"goal": Goal(Money.parse("1"), every=HOUR), "faithful": True}, "leave out {}", "faithful"),
    ({"deviation": 5}, "{} needs", "deviation"),
    ({"sabotage": 5}, "or leave out {}", "sabotage"),
    ({"faithful": True, "fleet": {"sure": 1}}, "use {} without", "faithful"),
]


@pytest.mark.parametrize(("mistake", "reported", "option"), MISTAKES)
@pytest.mark.parametrize(
    ("asked", "written"),
    [(COMMAND_LINE, "--{}"), (PYTHON, "{}="), (HTTP, '"{}"')],
    ids=["command line", "Python", "HTTP"],
)
def test_a_mistake_is_reported_in_the_words_of_those_who_asked(
    mistake, reported, option, asked, written
):
    market = Market("USD", "undated", (SURE,))
    options = {"market": market, "goal": Goal(Money.parse("1")), **mistake}
    with pytest.raises(InputError) as refused:
        Request(bag=Bag(3), asked=asked, **options).check()
    example = asked.fleet if option == "fleet" else written.format(option)
    assert reported.format(example) in str(refused.value)
    for other in {"--{}", "{}=", '"{}"'} - {written}:
        assert other.format(option) not in str(refused.value)


def test_an_option_is_written_with_its_value_as_those_who_asked_write_it():
    assert COMMAND_LINE.given("files", "copied") == "--files copied"
    assert PYTHON.given("files", "copied") == 'files="copied"'
    assert HTTP.given("files", "copied") == '"files": "copied"'
    assert COMMAND_LINE.option("max_workers") == "--max-workers"
    assert HTTP.option("max_workers") == '"max_workers"'
    assert COMMAND_LINE.number("reliability", "0.9") == "--reliability 0.9"
    assert PYTHON.number("reliability", "0.9") == "reliability=0.9"
    assert HTTP.number("reliability", "0.9") == '"reliability": 0.9'


def test_a_new_budget_is_refused_in_the_words_of_those_who_asked():
    state = Scene(SURE, budget="1").state
    for asked, written in ((COMMAND_LINE, "--budget"), (PYTHON, "budget="), (HTTP, '"budget"')):
        with pytest.raises(InputError) as refused:
            check_budget(state, Goal(deadline=HOUR), asked)
        assert str(refused.value) == f"this market costs money: set a limit with {written}"


def test_the_tasks_of_a_free_bag_start_in_order():
    free = Market("USD", "undated", (Offer("here", ZERO),))
    assert Request(market=free, bag=Bag(3)).all_policies()["placer"] == "fifo"
    paid = Market("USD", "undated", (Offer("there", Money(1)),))
    chosen = Request(market=paid, bag=Bag(3), fleet={"there": 1}).all_policies()
    assert chosen["placer"] == "random"


def test_a_budget_for_a_bag_is_spent_by_frontier_whatever_the_units():
    def provisioner(unit, **goal):
        offer = Offer("a", Money.parse("0.01"), unit, limit=3)
        market = Market("USD", "2026", (offer,))
        return Request(market=market, goal=Goal(**goal), bag=Bag(10)).all_policies()

    money = Money.parse("100")
    for unit in (SECOND, MINUTE, HOUR):
        assert provisioner(unit, budget=money)["provisioner"] == "frontier"
        assert provisioner(unit, budget=money)["placer"] == "kept"
    assert provisioner(SECOND, budget=money, every=HOUR)["provisioner"] == "bats"
    assert provisioner(SECOND, budget=money, deadline=HOUR)["provisioner"] == "bats"
