"""`mixed`, `pooled` and `ntdmr` together keep the laws in worlds of every kind, and finish."""

import msgspec
import pytest
from tests.policies.provision.pools import (
    CALM,
    MARKET,
    SPOT,
    STRATEGY,
    SURE,
    policy_for,
    run,
)

from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.strategy import STATIC, Strategy, read_strategy
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag
from bursar.policies.pool_timeout import ENOUGH, FIRST
from bursar.policies.provision.mixed import AWAITED_FOR
from bursar.runs.faults import Faults
from bursar.runs.request import Request
from bursar.runs.study import bag_subject, study
from bursar.simulate.faults import ModelledBehaviour, given
from bursar.simulate.unreliable import MortalMachines, Overlay, UnreliablePool, exponential
from bursar.state import events as ev
from bursar.testing.cases import hard_cases, play


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
    assert state.last_settled > AWAITED_FOR


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


def test_where_no_unreliable_machine_is_available_each_task_runs_once_on_reliable_ones():
    state = run(Gone(CALM, 0), None)
    assert state.done == len(state.log) == 40
    assert state.last_settled < AWAITED_FOR + 40 / SURE.limit * 11 * MINUTE + HOUR


def test_both_pools_are_combined_while_losses_are_announced():
    lives = MortalMachines(CALM, {"spot": exponential(15 * MINUTE)}, notice=2 * MINUTE)
    state = run(lives, read_strategy("CN-inf").timed(HOUR))
    assert state.done == 40
    assert state.machines_rented < 100


def test_a_tail_goes_to_reliable_machines_where_no_other_is_available():
    lives = MortalMachines(Gone(CALM, MINUTE), {"spot": lambda rng: 62 * MINUTE})
    state = run(lives, Strategy(3, 12 * MINUTE, 20 * MINUTE, 0.5), tasks=41)
    assert state.done == 41
    assert state.last_settled < 62 * MINUTE + AWAITED_FOR


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
def test_reliable_machines_that_are_not_available_are_not_waited_for(budget):
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


def test_reliable_machines_do_it_where_the_money_buys_no_unreliable_one():
    dear = Offer("spot", Money.parse("0.01"), SECOND, MINUTE, pool="unreliable")
    sure = Offer("sure", Money.parse("0.012"), SECOND)
    market = Market("USD", "undated", (sure, dear))
    request = Request(
        market=market, goal=Goal(budget=Money.parse("0.5")), bag=Bag(count=10), prefer="cheapest"
    )
    subject = bag_subject(request, 10, SECOND, SECOND // 10)
    runs = study(subject, Faults(0.0, 1.0, None, 0, ()), range(2)).runs
    assert [one.status for one in runs] == ["done"] * 2
