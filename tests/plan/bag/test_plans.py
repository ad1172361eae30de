import numpy as np
import pytest

from bursar.beliefs.bounds import Confidence, published_bound
from bursar.beliefs.prediction import Prediction
from bursar.model.errors import InputError
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO, Money
from bursar.model.strategy import Strategy, read_strategy
from bursar.model.time import HOUR, MINUTE, SECOND, parse_duration
from bursar.plan.bag.candidate import Candidate
from bursar.plan.bag.choices import Choice, list_choices
from bursar.plan.bag.plans import known_runtimes, make_plans

MARKET = Market(
    "USD",
    "2012-09-21",
    (
        Offer("small", Money.parse("0.08"), HOUR, limit=10),
        Offer("large", Money.parse("0.32"), HOUR, limit=10),
    ),
)
SAMPLES = {
    "small": known_runtimes(2 * MINUTE, MINUTE // 2),
    "large": known_runtimes(MINUTE, MINUTE // 4),
}


def test_bounds_are_ordered_and_beside_the_estimate():
    found = make_plans(MARKET, SAMPLES, 1000, Goal(), confidence=0.95)
    assert found.assumed.tasks == 1000
    for plan in found.plans:
        span = plan.makespan_s
        assert span.p50 <= span.p90 <= span.upper
        assert span.estimate * 0.9 < span.p50 < span.estimate * 1.5
        assert plan.cost_p50 <= plan.cost_p90
        assert plan.cost_p90 <= plan.cost_upper
    assert sum(plan.is_knee for plan in found.plans) == 1


def test_a_budget_and_a_deadline_mark_what_fits_and_add_a_plan_each():
    goal = Goal(Money.parse("4.00"), 3 * HOUR)
    found = make_plans(MARKET, SAMPLES, 1000, goal)
    [affordable] = [plan for plan in found.plans if "budget" in plan.names]
    [timely] = [plan for plan in found.plans if "deadline" in plan.names]
    assert affordable.cost_upper <= Money.parse("4.00")
    assert timely.makespan_s.upper <= 3 * 3600
    cheaper = [plan for plan in found.plans if plan.cost_upper <= Money.parse("4.00")]
    assert min(cheaper, key=lambda plan: plan.makespan_s.upper) is affordable
    for plan in found.plans:
        fits = plan.cost_upper <= Money.parse("4.00") and (plan.makespan_s.upper <= 3 * 3600)
        assert plan.fits is fits


def test_a_budget_below_the_cheapest_plan_tells_the_smallest_that_would_do():
    with pytest.raises(InputError, match=r"give at least \$2\.72"):
        make_plans(MARKET, SAMPLES, 1000, Goal(Money.parse("1.00")))


def test_a_deadline_no_fleet_can_meet_tells_the_earliest():
    with pytest.raises(InputError, match=r"the earliest is about 69\."):
        make_plans(MARKET, SAMPLES, 1000, Goal(deadline=MINUTE))


def test_the_smallest_budget_reported_does_and_less_does_not():
    """One machine of the most profitable offer would pay for a further hour of its own."""
    market = Market(
        "USD",
        "-",
        (
            Offer("small", Money.parse("0.08"), HOUR, limit=1),
            Offer("tiny", Money.parse("0.03"), HOUR, limit=1),
        ),
    )
    samples = {"small": known_runtimes(MINUTE), "tiny": known_runtimes(3 * MINUTE)}
    with pytest.raises(InputError, match=r"give at least \$0\.11$"):
        make_plans(market, samples, 75, Goal(Money.parse("0.10")))
    found = make_plans(market, samples, 75, Goal(Money.parse("0.11")))
    assert found.plans[-1].fleet == {"small": 1, "tiny": 1}


@pytest.mark.parametrize("runtime", [8 * HOUR + 7, 17 * MINUTE + 1, 3 * SECOND + 1, 1_234])
def test_the_earliest_deadline_reported_can_be_met(runtime):
    samples = {"small": known_runtimes(runtime), "large": known_runtimes(runtime)}
    with pytest.raises(InputError, match="the earliest is about") as reported:
        make_plans(MARKET, samples, 100, Goal(deadline=1))
    earliest = str(reported.value).split("about ")[1]
    found = make_plans(MARKET, samples, 100, Goal(deadline=parse_duration(earliest)))
    assert found.plans[-1].fits
    assert found.plans[-1].names[-1] == "deadline"


def test_a_market_of_one_offer_is_planned_for():
    market = Market("USD", "-", MARKET.offers[:1])
    found = make_plans(market, {"small": SAMPLES["small"]}, 1000, Goal())
    assert (found.plans[0].name, found.plans[-1].fleet) == ("cheapest", {"small": 10})
    assert found.assumed.cautions == ()


def test_more_fleets_than_are_shown_do_not_hide_the_cheapest_and_the_fastest():
    boot, price = 45 * SECOND, Money.parse("0.0000236")
    offer = Offer("two", price, SECOND, minimum=MINUTE, boot=boot, slots=2, limit=64)
    samples = {"two": known_runtimes(90 * SECOND, 20 * SECOND)}
    found = make_plans(Market("USD", "2026-11-01", (offer,)), samples, 5000, Goal())
    assert (found.plans[0].fleet, found.plans[-1].fleet) == ({"two": 1}, {"two": 64})


def test_tasks_that_are_all_alike_have_bounds_equal_to_what_is_likely():
    samples = {"small": known_runtimes(2 * MINUTE), "large": known_runtimes(MINUTE)}
    found = make_plans(MARKET, samples, 1000, Goal())
    for plan in found.plans:
        assert plan.makespan_s.p50 == plan.makespan_s.upper == plan.makespan_s.estimate
        assert plan.cost_p50 == plan.cost_upper
    assert found.assumed.cautions == ()


def test_an_offer_of_which_nothing_is_known_is_left_out_and_reported():
    found = make_plans(MARKET, {"small": SAMPLES["small"]}, 1000, Goal())
    assert all(set(plan.fleet) == {"small"} for plan in found.plans)
    assert any("nothing is known of large" in caution for caution in found.assumed.cautions)


@pytest.mark.parametrize("sample", [[60], [60] * 40, [1, 10**6], list(range(1, 40))])
def test_any_sample_gives_plans(sample):
    runtimes = np.array(sample, dtype=np.int64) * 1_000_000
    found = make_plans(MARKET, {"small": runtimes}, 500, Goal())
    assert found.plans


def test_the_same_seed_gives_the_same_plans():
    assert make_plans(MARKET, SAMPLES, 100, Goal()) == make_plans(MARKET, SAMPLES, 100, Goal())


@pytest.mark.parametrize("hours", [1, 2, 5])
def test_the_plan_for_a_deadline_is_likely_to_meet_it(hours):
    """The cheapest whose upper bound does; its estimate alone would meet it half of the time."""
    market = Market("USD", "2026", (Offer("small", Money.parse("0.1"), HOUR, limit=100),))
    samples = {"small": np.array([8, 9, 10, 11, 12] * 6) * MINUTE}
    found = make_plans(market, samples, 300, Goal(deadline=hours * HOUR))
    [plan] = [plan for plan in found.plans if "deadline" in plan.names]
    assert plan.fits
    assert plan.makespan_s.upper <= hours * 3600
    assert Money.parse("5.00") <= Money.parse(plan.cost) <= Money.parse("7.00")


def test_a_deadline_that_no_fleet_meets_for_sure_gets_the_fastest_marked():
    market = Market("USD", "2026", (Offer("small", Money.parse("0.1"), HOUR, limit=10),))
    samples = {"small": np.array([2, 10, 30] * 10) * MINUTE}
    fastest = make_plans(market, samples, 60, Goal()).plans[-1]
    between = round((fastest.makespan_s.p50 + fastest.makespan_s.upper) / 2 * SECOND)
    found = make_plans(market, samples, 60, Goal(deadline=between))
    assert found.plans[-1].fleet == {"small": 10}
    assert not any(plan.fits for plan in found.plans)
    assert not any("deadline" in plan.names for plan in found.plans)


def test_a_faithful_plan_has_the_published_bounds():
    market = Market("USD", "2026", (Offer("small", Money.parse("0.1"), HOUR, limit=20),))
    sample = np.array([8, 9, 10, 11, 12] * 6) * MINUTE
    published = make_plans(market, {"small": sample}, 1000, Goal(), confidence=0.7, faithful=True)
    means = {"small": round(sample.mean())}
    choices = list_choices(market.offers, means, 1000)
    assert [plan.fleet for plan in published.plans] == [choice.fleet for choice in choices]
    count = published.plans[-1].fleet["small"]
    bound = published_bound([(market["small"], count, sample)], 1000, Confidence(0.9, 0.9, 0.9))
    assert published.plans[-1].makespan_s.upper * SECOND == pytest.approx(bound.makespan_bound)
    assert published.plans[-1].makespan_s.p50 * SECOND == pytest.approx(bound.makespan)
    assert published.plans[-1].cost_upper == bound.cost_bound
    assert published.plans[-1].makespan_s.upper < published.plans[-1].makespan_s.p90


# --- plans with unreliable machines --------------------------------------------------------------

SPOT = Offer("spot", Money.parse("0.01"), HOUR, limit=10, pool="unreliable")
MIXED = Market("USD", "2012-09-21", (*MARKET.offers, SPOT))
STRATEGY = Strategy(2, 123_456_789, 20 * MINUTE, 1 / 3)


def mixed(cost, makespan, name="mixed-knee"):
    amount = Money.parse(cost)
    fleet = {"spot": 10, "small": 1}
    choice = Choice(
        name=name, budget=amount, fleet=fleet, units={}, makespan=makespan, cost=amount,
        cushion=ZERO, risk=0,
    )  # fmt: skip
    return Candidate(choice, Prediction((makespan,), (amount.nanos,)), STRATEGY)


def test_a_machine_that_may_vanish_is_in_no_fleet_without_a_strategy():
    samples = {**SAMPLES, "spot": SAMPLES["small"]}
    found = make_plans(MIXED, samples, 1000, Goal())
    assert found.plans == make_plans(MARKET, SAMPLES, 1000, Goal()).plans


def test_plans_with_a_strategy_come_in_between_by_their_cost():
    others = [mixed("0.50", 9 * HOUR, "mixed-cheapest"), mixed("4.00", HOUR, "mixed-fastest")]
    found = make_plans(MIXED, SAMPLES, 1000, Goal(), mixed=others)
    costs = [plan.cost_p50 for plan in found.plans]
    assert costs == sorted(costs)
    assert found.plans[0].names == ("cheapest", "mixed-cheapest")
    assert read_strategy(found.plans[0].strategy) == STRATEGY
    assert found.plans[-1].names[::2] == ("fastest", "mixed-fastest"), "dearer ones are no faster"
    assert sum(plan.is_knee for plan in found.plans) == 1
    assert all(not plan.strategy for plan in found.plans if not plan.name.startswith("mixed"))


def test_what_only_a_plan_with_a_strategy_keeps_is_no_mistake():
    others = [mixed("0.50", 20 * MINUTE)]
    for goal in (Goal(Money.parse("1.00")), Goal(deadline=30 * MINUTE)):
        found = make_plans(MIXED, SAMPLES, 1000, goal, mixed=others)
        assert [plan.name for plan in found.plans if plan.fits] == ["mixed-knee"]
    with pytest.raises(InputError, match=r"give at least \$0\.50"):
        make_plans(MIXED, SAMPLES, 1000, Goal(Money.parse("0.40")), mixed=others)
    with pytest.raises(InputError, match=r"the earliest is about 20\.0 min"):
        make_plans(MIXED, SAMPLES, 1000, Goal(deadline=MINUTE), mixed=others)


def test_a_market_of_unreliable_offers_alone_has_plans_with_a_strategy_alone():
    market = Market("USD", "-", (SPOT,))
    others = [mixed("0.50", 20 * MINUTE)]
    goal = Goal(Money.parse("1.00"), HOUR)
    found = make_plans(market, {"spot": SAMPLES["small"]}, 100, goal, mixed=others)
    assert [(plan.name, plan.fits) for plan in found.plans] == [("mixed-knee", True)]
    with pytest.raises(InputError, match="give at least"):
        make_plans(market, {"spot": SAMPLES["small"]}, 9, Goal(Money.parse("0.1")), mixed=others)


def test_where_no_machine_can_be_rented_there_is_no_plan():
    offers = (Offer("spot", ZERO, limit=0, pool="unreliable"), Offer("sure", ZERO, limit=0))
    market = Market("USD", "-", offers)
    with pytest.raises(InputError, match="has the limit 0: no machine can be rented"):
        make_plans(market, {"spot": SAMPLES["small"], "sure": SAMPLES["small"]}, 9, Goal())
