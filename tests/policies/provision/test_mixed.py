"""`mixed`, `pooled` and `ntdmr` together keep the laws in worlds of every kind, and finish."""

import msgspec
import numpy as np
import pytest

from bursar.engine.roles import Policy
from bursar.model.errors import InputError
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.strategy import INTERIM, STATIC, Strategy, read_strategy
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag, Work
from bursar.plan.pools.estimator import Conditions, Price
from bursar.policies.advise.tail import Advice, Situation, TailAdvisor, choose
from bursar.policies.place.pooled import PooledPlacer
from bursar.policies.pool_timeout import ENOUGH, FIRST
from bursar.policies.provision.mixed import FORSAKEN, Mixed
from bursar.policies.replicate.ntdmr import Ntdmr
from bursar.simulate.faults import ModelledBehaviour, given
from bursar.simulate.run import simulate
from bursar.simulate.unreliable import MortalMachines, Overlay, UnreliablePool, exponential
from bursar.state import events as ev
from bursar.testing import Scene
from bursar.testing.cases import hard_cases, play

SPOT = Offer("spot", Money.parse("0.01"), billing=SECOND, limit=8, pool="unreliable")
SURE = Offer("sure", Money.parse("0.10"), billing=SECOND, limit=4)
MARKET = Market("USD", "undated", (SPOT, SURE))
CALM = ModelledBehaviour(given([10 * MINUTE + number * SECOND for number in range(60)]))
STRATEGY = Strategy(2, 12 * MINUTE, 20 * MINUTE, 0.25)


def fleet_of(market):
    return {offer.name: 3 if offer.limit is None else offer.limit for offer in market.offers}


def policy_for(market, strategy=None):
    guide = Mixed(market, fleet_of(market), strategy)
    return Policy(guide, PooledPlacer(), Ntdmr(guide))


def run(behaviour=CALM, strategy=STRATEGY, *, tasks=40, market=MARKET, budget=None, observers=()):
    goal = Goal(None if budget is None else Money.parse(budget))
    return simulate(
        market, goal, Bag(tasks), policy_for(market, strategy), behaviour, observers=observers
    )


@pytest.mark.parametrize("strategy", [None, STRATEGY, Strategy(0, 0, MINUTE, 1.0)])
def test_hard_worlds_break_no_law_and_leave_no_machine(strategy):
    for case in hard_cases(60):
        state = play(case, policy_for(case.market, strategy), most_steps=50_000)
        assert state.ended is not None
        assert not state.machines


@pytest.mark.parametrize("name", [*STATIC, "B=9"])
def test_every_static_strategy_finishes_a_bag_on_machines_that_fall_silent(name):
    strategy = read_strategy(name).timed(45 * MINUTE)
    state = run(UnreliablePool(CALM, reliability=0.7), strategy)
    assert (state.ended.status, state.done) == ("done", 40)


def test_lost_machines_are_replaced_and_their_tasks_sent_again():
    lives = MortalMachines(CALM, {"spot": exponential(20 * MINUTE)})
    state = run(lives)
    assert state.done == 40
    assert state.machines_rented > 12


def test_a_pool_that_loses_every_machine_for_good_leaves_the_rest_to_reliable_ones():
    class Vanishing(Overlay):
        def boot(self, machine):
            is_late = machine.rented > 15 * MINUTE
            return None if machine.offer.name == "spot" and is_late else super().boot(machine)

    state = run(MortalMachines(Vanishing(CALM), {"spot": lambda rng: 25 * MINUTE}))
    assert (state.ended.status, state.done) == ("done", 40)
    assert state.last_settled > FORSAKEN


def test_unreliable_machines_alone_finish_too():
    alone = Market("USD", "undated", (SPOT,))
    state = run(UnreliablePool(CALM, reliability=0.6), None, market=alone)
    assert state.done == 40


def test_reliable_machines_are_rented_in_the_tail_only_and_no_more_than_the_ratio():
    seen = []

    class Watch:
        def saw(self, event, state):
            if isinstance(event, ev.MachineRented) and event.offer == "sure":
                seen.append((state.total - state.done, state.fleet["sure"]))

    run(UnreliablePool(CALM, reliability=0.5), observers=[Watch()])
    assert seen
    assert max(left for left, _ in seen) < SPOT.limit
    assert max(rented for _, rented in seen) <= 2


def test_the_budget_holds_however_many_attempts_are_lost():
    state = run(UnreliablePool(CALM, reliability=0.5), budget="150")
    assert state.ledger.committed <= Money.parse("150")
    assert state.ended.status == "budget"


# --- the decision at the start of the tail -------------------------------------------------------


class Choices:
    def __init__(self):
        self.events = []

    def saw(self, event, state):
        if isinstance(event, ev.StrategyChosen):
            self.events.append((event, state.total - state.done))


def decide(wish=None, budget=None, behaviour=None, market=MARKET, ask=None, asked=None):
    policy, choices = policy_for(market, asked), Choices()
    advisor = TailAdvisor(policy.provisioner, wish, ask)
    policy = msgspec.structs.replace(policy, advisors=(advisor,))
    behaviour = behaviour or UnreliablePool(CALM, reliability=0.7)
    goal = Goal(None if budget is None else Money.parse(budget))
    state = simulate(market, goal, Bag(40), policy, behaviour, observers=[choices])
    return state, choices.events


def test_the_strategy_is_chosen_once_when_the_tail_begins_and_told_with_its_reason():
    state, events = decide("makespan*cost")
    [(event, left)] = [one for one in events if not one[0].strategy.is_interim]
    assert left < SPOT.limit
    assert event.why.startswith("makespan*cost, of ")
    assert event.makespan > 0
    assert event.cost > 0
    assert state.done == 40


def test_a_choice_by_hand_is_followed():
    seen = []

    def ask(advice):
        seen.append(advice)
        return len(advice.points) - 1

    _, events = decide(ask=ask)
    [advice] = seen
    assert events[0][0].strategy == advice.strategies[-1]
    assert "chosen by hand" in events[0][0].why


def test_the_cheapest_costs_less_and_the_fastest_takes_less_time():
    cheap, fast = (decide(wish)[0] for wish in ("cheapest", "fastest"))
    assert cheap.ledger.committed < fast.ledger.committed
    assert cheap.last_settled > fast.last_settled


def test_where_money_is_short_a_cheaper_one_is_chosen_and_that_is_said():
    rich, before = decide("fastest")
    budget = Money(rich.ledger.committed.nanos // 2)
    state, after = decide("fastest", budget=str(budget))
    assert all("within the budget" in event.why for event, _ in after)
    assert after[0][0].strategy.ratio < before[0][0].strategy.ratio, "already before the tail"
    assert state.ledger.committed <= budget


def test_a_static_strategy_gets_its_times_from_the_run():
    _, events = decide(asked=read_strategy("AUR"))
    strategy = events[0][0].strategy
    assert strategy.name == "AUR"
    assert 30 * MINUTE < strategy.deadline < HOUR


def test_without_reliable_machines_a_strategy_without_them_is_chosen():
    _, events = decide(market=Market("USD", "undated", (SPOT,)))
    assert events[0][0].strategy.copies is None


# --- machines that come and go -------------------------------------------------------------------


def test_a_machine_that_boots_for_longer_than_its_lease_is_waited_for():
    spot, sure = (msgspec.structs.replace(one, boot=2 * MINUTE) for one in (SPOT, SURE))
    market = Market("USD", "undated", (spot, sure))
    state = run(market=market)
    assert state.done == 40
    assert state.machines_rented <= SPOT.limit + SURE.limit


class Gone(Overlay):
    """No spot machine is available from some moment on."""

    def __init__(self, below, since, offer="spot"):
        super().__init__(below)
        self.since, self.offer = since, offer

    def boot(self, machine):
        is_late = machine.offer.name == self.offer and machine.rented >= self.since
        return None if is_late else super().boot(machine)


def test_where_no_unreliable_machine_is_to_be_had_each_task_runs_once_on_reliable_ones():
    state = run(Gone(CALM, 0), None)
    assert state.done == len(state.log) == 40
    assert state.last_settled < FORSAKEN + 40 / SURE.limit * 11 * MINUTE + HOUR


def test_both_pools_are_combined_while_losses_are_announced():
    lives = MortalMachines(CALM, {"spot": exponential(15 * MINUTE)}, notice=2 * MINUTE)
    state = run(lives, read_strategy("CN-inf").timed(HOUR))
    assert state.done == 40
    assert state.machines_rented < 100


def test_a_tail_goes_to_reliable_machines_where_no_other_is_to_be_had():
    lives = MortalMachines(Gone(CALM, MINUTE), {"spot": lambda rng: 62 * MINUTE})
    state = run(lives, Strategy(3, 12 * MINUTE, 20 * MINUTE, 0.5), tasks=41)
    assert state.done == 41
    assert state.last_settled < 62 * MINUTE + FORSAKEN


def test_a_task_longer_than_the_learned_deadline_is_not_given_up_for_ever():
    long = ModelledBehaviour(given([3 * HOUR] + [10 * MINUTE] * 299))
    alone = Market("USD", "undated", (SPOT,))
    state = run(long, None, tasks=300, market=alone)
    assert state.done == 300
    assert len(state.log) <= 310


# --- pools from which nothing comes back ---------------------------------------------------------

ALONE = Market("USD", "undated", (SPOT,))
SILENT = UnreliablePool(CALM, reliability=0.0)
SILENT_AT_FIRST = UnreliablePool(CALM, reliability=lambda at: float(at >= 10 * MINUTE))


class Watch:
    """Starts of a run: when, of which task, on which offer."""

    def __init__(self):
        self.starts = []

    def saw(self, event, state):
        if isinstance(event, ev.AttemptStarted):
            offer = state.machines[event.machine].offer.name
            self.starts.append((event.at, event.task, offer))

    def on(self, offer):
        return [(at, task) for at, task, name in self.starts if name == offer]


@pytest.mark.parametrize("tasks", [1, 2, 7, 40])
@pytest.mark.parametrize("strategy", [None, STRATEGY])
def test_where_all_hosts_are_silent_reliable_machines_do_the_work(tasks, strategy):
    state = run(SILENT, strategy, tasks=tasks)
    assert (state.ended.status, state.done) == ("done", tasks)
    assert state.last_settled < 6 * HOUR


def test_where_all_hosts_are_silent_a_few_tasks_are_tried_on_reliable_machines_first():
    watch = Watch()
    run(SILENT, None, observers=[watch])
    first = [at for at, _ in watch.on("sure") if at < FIRST + 9 * MINUTE]
    assert first == [FIRST] * ENOUGH


@pytest.mark.parametrize("strategy", [None, read_strategy("AUR")])
def test_where_all_hosts_are_silent_and_no_other_is_wanted_others_are_tried_until_money_ends(
    strategy,
):
    watch = Watch()
    market = ALONE if strategy is None else MARKET
    state = run(SILENT, strategy, market=market, budget="2000", observers=[watch])
    assert (state.ended.status, state.done) == ("budget", 0)
    assert not watch.on("sure")
    assert len({at for at, _ in watch.on("spot")}) > 5


@pytest.mark.parametrize("name", [*STATIC, "B=9"])
def test_a_static_strategy_whose_times_are_not_known_hangs_nowhere(name):
    state = run(SILENT, read_strategy(name), tasks=5, budget="5000")
    has_no_end = read_strategy(name).copies is None
    assert state.ended.status == ("budget" if has_no_end else "done")


@pytest.mark.parametrize("market", [MARKET, ALONE])
@pytest.mark.parametrize("tasks", [1, 2, 40])
def test_hosts_that_are_silent_for_the_first_ten_minutes_delay_a_run_and_no_more(market, tasks):
    state = run(SILENT_AT_FIRST, None, market=market, tasks=tasks)
    assert (state.ended.status, state.done) == ("done", tasks)
    assert state.last_settled < FIRST + 2 * HOUR


@pytest.mark.parametrize("budget", [None, "3000"])
def test_reliable_machines_that_are_not_to_be_had_are_not_waited_for(budget):
    dear = msgspec.structs.replace(SURE, price=Money.parse("10000"))
    behaviour, market = SILENT_AT_FIRST, Market("USD", "undated", (SPOT, dear))
    if budget is None:
        behaviour, market = Gone(SILENT_AT_FIRST, 0, "sure"), MARKET
    state = run(behaviour, None, market=market, budget=budget)
    assert (state.ended.status, state.done) == ("done", 40)
    assert state.last_settled < FIRST + 2 * HOUR


def test_a_pool_that_falls_silent_for_good_leaves_the_rest_to_reliable_machines():
    state = run(UnreliablePool(CALM, reliability=lambda at: float(at < 15 * MINUTE)), None)
    assert (state.ended.status, state.done) == ("done", 40)
    assert state.last_settled < 4 * HOUR


def test_tasks_that_are_longer_than_the_first_limit_are_done():
    long = ModelledBehaviour(given([5 * HOUR + number * SECOND for number in range(40)]))
    helped, alone = (run(long, None, market=market) for market in (MARKET, ALONE))
    assert helped.done == len(helped.log) == 40
    assert alone.done == 40
    assert alone.last_settled < 1.3 * 40 / SPOT.limit * 5 * HOUR
    assert run(long, None, market=ALONE, tasks=1).done == 1


# --- losses that are announced -------------------------------------------------------------------


class Doomed(Overlay):
    """The first spot machine is taken away at a moment that is announced."""

    def __init__(self, below, gone, notice):
        super().__init__(below)
        self.gone, self.early = gone, notice

    def life(self, machine):
        return self.gone if machine.id == 1 else None

    def notice(self, machine):
        return self.early


def starts_of_doomed(gone, notice=2 * MINUTE, tasks=9, strategy=None):
    """When the task on the machine that is taken away was started, and where, if it was twice."""
    watch = Watch()
    alike = ModelledBehaviour(given([10 * MINUTE] * tasks))
    state = run(Doomed(alike, gone, notice), strategy, tasks=tasks, observers=[watch])
    assert state.done == tasks
    by_task = {}
    for at, task, name in watch.starts:
        by_task.setdefault(task, []).append((at, name))
    return [starts for starts in by_task.values() if len(starts) > 1]


def test_a_task_whose_machine_will_be_taken_away_is_started_at_once_on_one_that_stays():
    for notice in (0, 2 * MINUTE):
        [[_, again]] = starts_of_doomed(18 * MINUTE, notice)
        assert again == (18 * MINUTE - notice, "spot")


def test_a_task_that_likely_ends_before_its_machine_is_taken_away_is_not_sent_again():
    assert starts_of_doomed(21 * MINUTE, 5 * MINUTE, tasks=9) == []


def test_in_the_tail_an_announced_loss_brings_the_next_instance_of_the_strategy_just_once():
    later = Strategy(1, 19 * MINUTE, 20 * MINUTE, 0.25)
    [starts] = starts_of_doomed(15 * MINUTE, strategy=later)
    assert starts[1:] == [(13 * MINUTE, "spot")]
    sure = Strategy(0, 19 * MINUTE, 20 * MINUTE, 0.25)
    [starts] = starts_of_doomed(15 * MINUTE, strategy=sure)
    assert starts[1:] == [(13 * MINUTE, "sure")]


# --- the decision before the tail ----------------------------------------------------------------


def test_with_a_wish_reliable_machines_help_a_scarce_pool_before_the_tail():
    class Few(Overlay):
        def boot(self, machine):
            is_more = machine.offer.name == "spot" and machine.id > 1
            return None if is_more else super().boot(machine)

    near = msgspec.structs.replace(SURE, price=Money.parse("0.03"))
    market = Market("USD", "undated", (SPOT, near))
    state, events = decide("makespan*cost", behaviour=Few(CALM), market=market)
    assert events[0][0].strategy.name == INTERIM
    assert "4 reliable slots beside 8 unreliable slots until the tail" in events[0][0].why
    assert "scarce" in events[0][0].why
    assert events[0][1] > 30
    assert state.done == 40
    _, undecided = decide(None, behaviour=Few(CALM), market=market)
    assert all(event.strategy.name != INTERIM for event, _ in undecided)


class Reliable:
    """When reliable machines were rented, why, and how many tasks were left."""

    def __init__(self):
        self.rented = []

    def saw(self, event, state):
        if isinstance(event, ev.MachineRented) and event.offer == "sure":
            self.rented.append((state.total - state.done, event.reason))


def rented_with(wish, budget=None):
    """Reliable machines beside a calm pool with machines for all who ask."""
    policy, seen = policy_for(MARKET), Reliable()
    advisors = (TailAdvisor(policy.provisioner, wish),)
    policy = msgspec.structs.replace(policy, advisors=advisors)
    goal = Goal(None if budget is None else Money.parse(budget))
    state = simulate(MARKET, goal, Bag(40), policy, CALM, observers=[seen])
    assert state.done == 40
    return state.last_settled, state.ledger.committed, seen.rented


def test_a_preference_counts_before_the_tail_and_reliable_machines_say_so():
    slow, cheap, none = rented_with("cheapest")
    quick, dear, all_of_them = rented_with("fastest")
    assert not [left for left, _ in none if left >= SPOT.limit]
    assert [left for left, _ in all_of_them[:4]] == [40] * 4, "from the beginning"
    assert {why for _, why in all_of_them[:4]} == {
        "fastest: 4 reliable slots beside 8 unreliable slots until the tail"
    }
    assert quick < 0.8 * slow
    assert dear > cheap
    _, paid, some = rented_with("fastest", budget=str(Money(dear.nanos * 3 // 4)))
    assert paid <= Money(dear.nanos * 3 // 4)
    assert 0 < sum(left >= SPOT.limit for left, _ in some) < 4
    assert "fastest within the budget" in some[0][1]


def test_a_preference_for_no_reliable_machine_is_told_too():
    _, events = decide("cheapest", behaviour=CALM)
    assert events[0][0].why == (
        "cheapest: no reliable machine beside 8 unreliable slots until the tail"
    )
    assert events[0][0].strategy.is_interim


def test_as_published_reliable_machines_wait_for_the_tail_whatever_is_preferred():
    guide = Mixed(MARKET, fleet_of(MARKET), faithful=True)
    seen = Reliable()
    policy = Policy(guide, PooledPlacer(), Ntdmr(guide), (TailAdvisor(guide, "fastest"),))
    simulate(MARKET, Goal(), Bag(40), policy, CALM, observers=[seen])
    assert all(left < SPOT.limit for left, _ in seen.rented)


def test_a_wish_is_about_the_whole_run():
    conditions = Conditions(
        tasks=2,
        unreliable=4,
        reliability=0.9,
        turnarounds=np.array([SECOND], dtype=np.int64),
        reliable_time=SECOND,
        unreliable_price=Price(Money.parse("1")),
        reliable_price=Price(Money.parse("1")),
    )
    points = [(100.0, 1.0), (50.0, 3.0)]
    for spent, best in ((0.0, 0), (1_000.0, 1)):
        situation = Situation(conditions, 1.0, None, None, "USD", 0.0, spent, 10)
        advice = Advice(situation, [STRATEGY, STRATEGY], points, 2)
        assert choose(advice, "makespan*cost")[0] == best


@pytest.mark.parametrize("market", [MARKET, Market("USD", "undated", (SPOT,))])
def test_where_no_frontier_can_be_made_that_is_told_and_the_run_goes_on(market, monkeypatch):
    def fail(situation, seed):
        raise InputError("no estimate")

    monkeypatch.setattr("bursar.policies.advise.tail.advise", fail)
    state, [(event, _)] = decide(market=market)
    assert "no frontier could be made (no estimate)" in event.why
    assert state.done == 40


# --- several works -------------------------------------------------------------------------------


class OfTail:
    """By work, the offers of what was started once its strategy asks for more than one attempt."""

    def __init__(self):
        self.replicas = {1: set(), 2: set()}
        self.advised = []

    def saw(self, event, state):
        if isinstance(event, ev.StrategyChosen):
            self.advised.append(event.work)
        if isinstance(event, ev.AttemptStarted) and "of the tail" in event.reason:
            self.replicas[state.work_of(event.task)].add("spot")
        elif isinstance(event, ev.AttemptStarted) and "reliable machine" in event.reason:
            self.replicas[state.work_of(event.task)].add("sure")


PATIENT = Strategy(None, 12 * MINUTE, 40 * MINUTE, 0.25)
"""no task of it ever goes to a reliable machine"""
HASTY = Strategy(0, 11 * MINUTE, 40 * MINUTE, 0.5)
"""each task gets a single unreliable instance, then a reliable one"""


def two_works(first, second, seed=0, advisor=None):
    """Two bags that arrive together; their plans have these strategies."""
    watch, fleet = OfTail(), {"spot": 4, "sure": 2}
    chosen = [
        ev.PlanChosen(0, "mixed", fleet, 0, 0, Money(0), Money(0), strategy, work=number)
        for number, strategy in enumerate((first, second), 1)
        if strategy is not None
    ]
    arrivals = [ev.WorkArrived(0, Work(Bag(20))), ev.WorkArrived(0, Work(Bag(20))), *chosen]
    policy = policy_for(MARKET)
    if advisor is not None:
        policy = msgspec.structs.replace(policy, advisors=(advisor(policy.provisioner),))
    pool = UnreliablePool(CALM, reliability=0.6)
    state = simulate(MARKET, Goal(), arrivals, policy, pool, seed=seed, observers=[watch])
    assert (state.ended.status, state.done) == ("done", 40)
    return watch.advised, watch.replicas


@pytest.mark.parametrize("seed", range(3))
def test_in_the_tail_each_task_follows_the_strategy_of_its_own_work(seed):
    _, replicas = two_works(PATIENT, HASTY, seed)
    assert replicas == {1: {"spot"}, 2: {"sure"}}
    _, replicas = two_works(HASTY, PATIENT, seed)
    assert replicas == {1: {"sure"}, 2: {"spot"}}


def test_the_pools_are_as_large_as_the_fleets_of_all_works_that_are_not_done():
    policy = policy_for(MARKET)
    scene = Scene(SPOT, SURE, tasks=1, arrivals_open=True)

    def tell(event):
        scene.tell(event)
        policy.provisioner.saw(event, scene.state)

    tell(ev.WorkArrived(0, Work(Bag(1))))
    for work, spot in ((1, 3), (2, 4)):
        fleet = {"spot": spot, "sure": 1}
        tell(ev.PlanChosen(0, "mixed", fleet, 0, 0, Money(0), Money(0), HASTY, work=work))
    assert policy.provisioner.pools.unreliable == 7
    attempt = scene.start(1, scene.machine())
    tell(ev.AttemptEnded(0, attempt, "success"))
    assert policy.provisioner.pools.unreliable == 4


def test_the_advisor_asks_for_each_work_that_has_no_strategy_and_for_no_other():
    advised, _ = two_works(None, None, advisor=TailAdvisor)
    assert sorted(advised) == [1, 2]
    advised, replicas = two_works(PATIENT, None, advisor=TailAdvisor)
    assert advised == [2]
    assert "sure" not in replicas[1]
