from __future__ import annotations

import re
from itertools import pairwise
from random import Random

import pytest
from msgspec import structs
from tests.policies.wishes import rented_offers

from bursar.beliefs.progress import Progress
from bursar.engine.roles import Policy
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO, Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag
from bursar.policies.place.fitting import FittingPlacer
from bursar.policies.place.random import RandomPlacer
from bursar.policies.provision.bats import Bats
from bursar.policies.registry import find
from bursar.policies.replicate.at_risk import AtRisk
from bursar.policies.replicate.none import NoReplicas
from bursar.simulate.faults import ModelledBehaviour, given
from bursar.simulate.run import simulate
from bursar.state import events as ev
from bursar.state.actions import Wake
from bursar.state.attempts import OUTCOMES
from bursar.testing import Scene, check_provisioner

SLOW = Offer("slow", Money.parse(1), HOUR, limit=10)
FAST = Offer("fast", Money.parse(2), HOUR, limit=10, speed=4.0)
DEAR = Offer("dear", Money.parse(6), HOUR, limit=10, speed=2.0)
BY_THE_SECOND = Offer("seconds", Money.parse("0.0005"), SECOND, minimum=MINUTE, limit=10)


def run(*offers, budget, tasks=200, minutes=10.0, faithful=False, seed=0, **faults):
    """A simulated run of tasks whose run times vary by a fifth either way."""
    rng = Random(seed)
    runtimes = [round(rng.uniform(0.8, 1.2) * minutes * MINUTE) for _ in range(tasks)]
    bats = Bats(faithful=faithful)
    placer = RandomPlacer() if faithful else FittingPlacer(bats)
    state = simulate(
        Market("USD", "2026", offers),
        Goal(None if budget is None else Money.parse(budget)),
        Bag(tasks),
        Policy(bats, placer, NoReplicas()),
        ModelledBehaviour(given(runtimes), seed=seed, **faults),
        seed=seed,
    )
    state.check()
    return state


def test_as_published_it_keeps_the_contract_of_a_provisioner():
    check_provisioner(lambda market: Bats(faithful=True), worlds=20)


def test_it_is_found_by_its_name():
    assert find("provisioner", "bats") is Bats
    assert find("placer", "fitting") is FittingPlacer


@pytest.mark.parametrize("faithful", [False, True])
def test_a_run_without_a_budget_uses_all_machines(faithful):
    state = run(SLOW, FAST, budget=None, faithful=faithful)
    assert state.done == 200
    assert state.machines_rented == 20


@pytest.mark.parametrize("faithful", [False, True])
@pytest.mark.parametrize("budget", ["0", "3", "14", "22", "40"])
def test_no_budget_is_ever_exceeded(faithful, budget):
    state = run(SLOW, FAST, budget=budget, faithful=faithful)
    assert state.ledger.committed <= Money.parse(budget)


@pytest.mark.parametrize("faithful", [False, True])
def test_a_budget_that_cannot_do_ends_with_an_account_of_it(faithful):
    state = run(SLOW, FAST, budget="40", tasks=1000, faithful=faithful)
    assert state.ended.status == "budget"
    assert "that is left" in state.ended.why or "is left" in state.ended.why
    if not faithful:
        need, left, lacking = map(Money.parse, re.findall(r"\$([\d.]+)", state.ended.why))
        assert need - left == lacking > ZERO
    assert "tasks" not in state.ended.why, "some more may be done until the run has ended"
    assert state.ledger.committed < Money.parse(40)


def test_the_first_machines_cost_a_quarter_of_the_budget():
    scene = Scene(SLOW, FAST, tasks=500, budget="24")
    wishes = list(Bats().provision(scene.state, scene.at, Random(0)))
    rents = rented_offers(wishes)
    assert sorted(rents) == ["fast", "fast", "slow", "slow"]


def test_the_published_sample_has_a_tenth_of_the_bag_on_every_offer():
    scene = Scene(SLOW, FAST, tasks=60, budget="100")
    wishes = list(Bats(faithful=True).provision(scene.state, scene.at, Random(0)))
    rents = rented_offers(wishes)
    assert sorted(rents) == ["fast"] * 6 + ["slow"] * 6


def test_a_tight_budget_keeps_the_better_value():
    state = run(SLOW, FAST, budget="30", tasks=200, minutes=15)
    assert state.done == 200
    units = {"slow": 0, "fast": 0}
    for charge in state.ledger.charges():
        units[charge.offer.name] += charge.units
    assert units["fast"] >= 2 * units["slow"]


def test_more_money_is_never_much_slower():
    times = [run(SLOW, FAST, budget=budget).last_settled for budget in ("20", "28", "40", "60")]
    assert all(later <= 1.05 * sooner for sooner, later in pairwise(times))


@pytest.mark.parametrize("faithful", [False, True])
def test_machines_that_are_lost_are_replaced(faithful):
    lives = {"slow": 90 * MINUTE, "fast": 45 * MINUTE}
    state = run(SLOW, FAST, budget="80", tasks=300, faithful=faithful, mean_life=lives)
    assert state.done == 300


def test_fine_billing_units_are_planned_for_as_well():
    state = run(BY_THE_SECOND, budget="3", tasks=100, minutes=0.5)
    assert state.done == 100
    assert state.ledger.committed <= Money.parse("1.9")


def test_the_last_tasks_are_not_started_on_slow_machines():
    both = run(SLOW, FAST, budget="60", tasks=120, minutes=20)
    bats = Bats()
    rng = Random(0)
    runtimes = [round(rng.uniform(0.8, 1.2) * 20 * MINUTE) for _ in range(120)]
    plain = simulate(
        Market("USD", "2026", (SLOW, FAST)),
        Goal(Money.parse("60")),
        Bag(120),
        Policy(bats, RandomPlacer(), NoReplicas()),
        ModelledBehaviour(given(runtimes)),
    )
    assert both.last_settled < plain.last_settled


def test_it_stops_only_where_even_luck_would_not_do():
    stops = [run(SLOW, FAST, budget="12", seed=seed).ended for seed in range(3)]
    assert all(ended.status == "budget" for ended in stops)
    assert run(SLOW, FAST, budget="30").ended.status == "done"


# --- billing by the second ------------------------------------------------------------------------

CHEAP = Offer("cheap", Money.parse("0.00001"), SECOND, minimum=MINUTE, limit=100)
MIDDLE = Offer("middle", Money.parse("0.000015"), SECOND, minimum=MINUTE, limit=100, speed=1.2)
SWIFT = Offer("swift", Money.parse("0.00006"), SECOND, minimum=MINUTE, limit=100, speed=3.0)


def by_the_second(share, *offers, seed=0, tasks=1000):
    """Two-minute tasks, deviation a third, for a share of what they cost on the best value."""
    rng = Random(seed)
    runtimes = [max(SECOND, round(rng.gauss(120, 40) * SECOND)) for _ in range(tasks)]
    least = min(float(offer.price) / offer.speed for offer in offers) * sum(runtimes) / SECOND
    bats = Bats()
    state = simulate(
        Market("USD", "2026", offers),
        Goal(Money.parse(f"{share * least:.9f}")),
        Bag(tasks),
        Policy(bats, FittingPlacer(bats), AtRisk(bats)),
        ModelledBehaviour(given(runtimes)),
        seed=seed,
    )
    state.check()
    return state


@pytest.mark.parametrize("limit", [25, 100])
def test_with_fine_units_little_more_than_the_least_cost_is_enough(limit):
    state = by_the_second(1.15, structs.replace(CHEAP, limit=limit), MIDDLE, SWIFT)
    assert state.ended.status == "done", state.ended.why


def test_with_fine_units_boot_times_are_not_paid_in_vain():
    offers = [structs.replace(offer, boot=MINUTE) for offer in (CHEAP, MIDDLE, SWIFT)]
    assert by_the_second(1.2, *offers).ended.status == "done"


def test_with_fine_units_little_work_is_lost():
    """Only where a dear machine would take longer to end it than a cheap one to do it again."""
    state = by_the_second(1.15, CHEAP, MIDDLE, SWIFT)
    lost = [n for n in range(1, len(state.log) + 1) if OUTCOMES[state.log.outcome[n]] == "released"]
    assert len(lost) <= 0.04 * state.total


def test_with_fine_units_money_buys_time():
    times = [by_the_second(share, CHEAP, MIDDLE, SWIFT).last_settled for share in (1.15, 1.5, 3)]
    assert times[0] > times[1] > times[2]


def test_with_fine_units_what_cannot_be_paid_is_given_up():
    state = by_the_second(0.8, CHEAP, MIDDLE, SWIFT)
    assert state.ended.status == "budget"
    assert state.ledger.committed < state.goal.budget


# --- deadlines ------------------------------------------------------------------------------------


def within(hours, *offers, budget=None, seed=0, tasks=200):
    """A run of ten-minute tasks that has a deadline."""
    rng = Random(seed)
    runtimes = [round(rng.uniform(0.8, 1.2) * 10 * MINUTE) for _ in range(tasks)]
    bats = Bats()
    return simulate(
        Market("USD", "2026", offers),
        Goal(None if budget is None else Money.parse(budget), round(hours * HOUR)),
        Bag(tasks),
        Policy(bats, FittingPlacer(bats), AtRisk(bats)),
        ModelledBehaviour(given(runtimes), seed=seed),
        seed=seed,
    )


def test_a_deadline_is_met_nine_times_in_ten():
    met = [within(hours, SLOW, FAST, seed=s).done == 200 for hours in (3, 4, 8) for s in range(8)]
    assert sum(met) >= 0.9 * len(met)


def test_the_more_time_there_is_the_less_it_costs():
    costs = [within(hours, SLOW, DEAR, tasks=150).ledger.committed for hours in (1.6, 2.5, 5, 20)]
    assert costs[0] > costs[1] > costs[2] >= costs[3]


def test_a_deadline_that_cannot_be_met_ends_the_run_with_an_account_of_it():
    state = within(2, SLOW, tasks=1000)
    assert state.ended.status == "deadline"
    assert "what is not started takes all machines" in state.ended.why
    assert state.ended.at < 1 * HOUR


def test_a_budget_holds_beside_a_deadline():
    state = within(2, SLOW, DEAR, budget="20")
    assert state.ledger.committed <= Money.parse(20)


# --- progress -------------------------------------------------------------------------------------


def test_attempts_under_way_are_estimated_from_the_longer_ones_seen():
    progress = Progress()
    seen = progress.of("slow")
    progress.learn_sample("slow", (10, 20, 40))
    assert seen.expected(5) == (10 + 20 + 40) // 3
    assert seen.expected(10) == (20 + 40) // 2
    assert seen.expected(39) == 40
    assert seen.expected(50) == 50
    assert progress.mean("slow") == 70 // 3
    assert progress.mean("slow", [15, 60]) == (70 + 30 + 60) // 5
    assert progress.mean("fast") is None


def test_an_attempt_that_fails_leaves_its_place_in_the_sample():
    progress = Progress(sample=2)
    scene = Scene(SLOW, tasks=10, budget="9")
    machine = scene.rent("slow")
    scene.up(machine)
    for attempt, outcome in enumerate(("success", "failed", "success"), 1):
        event = ev.AttemptStarted(scene.at, attempt, attempt, machine)
        scene.state.apply(event)
        progress.saw(event, scene.state)
        ended = ev.AttemptEnded(scene.at, attempt, outcome, MINUTE)
        scene.state.apply(ended)
        progress.saw(ended, scene.state)
        assert progress.is_sampled("slow", 10) == (attempt == 3)
    assert progress.mean("slow") == MINUTE


def test_monitoring_goes_on_while_machines_are_there():
    scene = Scene(SLOW, tasks=60, budget="9")
    bats = Bats()
    assert not [w for w in bats.provision(scene.state, scene.at, Random(0)) if isinstance(w, Wake)]
    scene.rent("slow")
    wishes = bats.provision(scene.state, scene.at, Random(0))
    assert [wish.at for wish in wishes if isinstance(wish, Wake)] == [5 * MINUTE]
