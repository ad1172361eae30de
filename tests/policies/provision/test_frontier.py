"""The provisioner `frontier` on markets like today's: by the second, with a minimum and a boot."""

from __future__ import annotations

import re
from collections import Counter
from random import Random

import msgspec
import numpy as np
import pytest

from bursar.engine.roles import Policy
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO, Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag
from bursar.plan.bag.live_plan import plan_live
from bursar.policies.place.kept import KeptPlacer
from bursar.policies.provision import frontier
from bursar.policies.provision.frontier import Frontier
from bursar.policies.registry import find
from bursar.policies.replicate.at_risk import AtRisk
from bursar.simulate.faults import ModelledBehaviour, given
from bursar.simulate.run import simulate
from bursar.state.events import AttemptStarted, MachineRented, ReleaseOrdered
from bursar.state.facts import RunFacts
from bursar.testing import check_placer


def per_second(name, per_hour, slots, speed=1.0, boot=45):
    price = Money(round(Money.parse(per_hour).nanos / 3600))
    return Offer(name, price, SECOND, MINUTE, 50, boot * SECOND, slots, speed)


EC2 = (
    per_second("c.large", "0.0857", 2),
    per_second("c.xlarge", "0.1713", 4),
    per_second("c.2xlarge", "0.3426", 8),
    per_second("c.4xlarge", "0.72", 16, speed=1.1),
)
LEAST = 0.72 / 3600 / 16 / 1.1
"""What a second of work costs at least."""


def run(
    factor,
    tasks=200,
    mean=180.0,
    varies=40.0,
    seed=0,
    offers=EC2,
    observers=(),
    frontier=None,
    mean_life=None,
    runtimes=None,
    **known,
):
    """A run with so many times the least money that could do."""
    rng = Random(f"frontier/{seed}")
    if runtimes is None:
        runtimes = [max(1, round(rng.gauss(mean, varies) * SECOND)) for _ in range(tasks)]
    else:
        tasks, mean = len(runtimes), sum(runtimes) / len(runtimes) / SECOND
    frontier = frontier or Frontier(**known)
    state = simulate(
        Market("USD", "2026", offers),
        Goal(Money(round(factor * tasks * mean * LEAST * 1e9))),
        Bag(tasks),
        Policy(frontier, KeptPlacer(frontier), AtRisk(frontier)),
        ModelledBehaviour(given(runtimes), seed=seed, mean_life=mean_life),
        seed=seed,
        observers=observers,
    )
    state.check()
    assert state.ledger.committed <= state.goal.budget
    return state


def test_the_placer_keeps_its_contract():
    check_placer(lambda: KeptPlacer(Frontier()), worlds=20)


def test_they_are_found_by_name():
    assert find("provisioner", "frontier") is Frontier
    assert find("placer", "kept") is KeptPlacer


@pytest.mark.parametrize("seed", range(3))
def test_a_bag_is_done_within_a_budget_of_a_quarter_above_the_least(seed):
    assert run(1.25, seed=seed).ended.status == "done"


def test_the_same_seed_gives_the_same_run():
    assert run(1.6).now == run(1.6).now


@pytest.mark.parametrize("seed", range(3))
def test_a_hopeless_budget_ends_early_with_an_account_of_what_would_do(seed):
    state = run(0.7, seed=seed)
    assert state.ended.status == "budget"
    figures = re.findall(r"\$([\d.]+)", state.ended.why)
    need, left, lacking = map(Money.parse, figures)
    assert need - left == lacking > ZERO
    assert state.ended.why == (
        f"{len(state.ready)} tasks not started need about ${figures[0]}, ${figures[1]} is left;"
        f" ${figures[2]} more would probably do"
    )
    assert state.ledger.committed.nanos < 0.4 * state.goal.budget.nanos


@pytest.mark.parametrize("share", [0.01, 0.05])
def test_money_that_pays_for_a_part_of_a_task_is_not_spent_in_silence(share):
    state = run(share)
    assert state.ended.status == "budget"
    assert "has ended within" in state.ended.why
    assert state.ledger.committed.nanos < 0.6 * state.goal.budget.nanos


def test_the_longest_tasks_may_come_first():
    work = np.sort(np.random.default_rng(3).lognormal(0.0, 1.2, 300))[::-1]
    state = run(1.6, runtimes=[round(one * 60 * SECOND) for one in work.tolist()])
    assert "has ended within" not in state.ended.why


def test_as_many_tasks_as_the_money_buys_are_done_where_that_is_wanted():
    assert run(0.7, best_effort=True).done > 2.5 * run(0.7).done


def test_known_run_times_are_used_from_the_first_machine_on():
    known = run(1.25, runtime=180 * SECOND, deviation=40 * SECOND)
    assert known.ended.status == "done"
    assert known.now < run(1.25).now


KNOWN = {"runtime": 180 * SECOND, "deviation": 40 * SECOND}


def rented(**options):
    """When machines were rented, in a run with known run times, and its end."""
    seen = []

    class Heard:
        def saw(self, event, state):
            if isinstance(event, MachineRented):
                seen.append(event.at)

    state = run(1.25, observers=[Heard()], **KNOWN, **options)
    return seen, state


@pytest.mark.parametrize("seed", range(3))
def test_with_known_run_times_the_fleet_is_rented_at_once_and_kept(seed):
    seen, state = rented(seed=seed)
    assert set(seen) == {0}
    assert state.ended.status == "done"


def test_tasks_that_prove_longer_than_was_said_make_it_plan_again():
    as_said, longer = Frontier(**KNOWN), Frontier(**KNOWN)
    run(1.1, frontier=as_said)
    run(1.1, mean=240.0, frontier=longer)
    assert as_said.plans == 1
    assert longer.plans > 1


def test_a_machine_that_is_lost_makes_it_plan_again():
    frontier = Frontier(**KNOWN)
    state = run(
        1.6, frontier=frontier, mean_life=dict.fromkeys((offer.name for offer in EC2), 30 * MINUTE)
    )
    assert frontier.plans > 1
    assert state.done > 150


def test_nothing_is_rented_where_known_run_times_leave_no_chance():
    state = run(0.85, **KNOWN)
    assert state.ended.status == "budget"
    assert state.ledger.committed == ZERO
    assert "as run times are known" in state.ended.why
    assert run(0.85, best_effort=True, **KNOWN).done > 100


def test_more_money_makes_it_faster():
    ends = [sum(run(factor, seed=seed).now for seed in range(3)) for factor in (1.25, 1.6, 3.0)]
    assert ends == sorted(ends, reverse=True)


def test_every_decision_has_a_reason():
    frontier = Frontier()
    seen = []

    class Heard:
        def saw(self, event, state):
            if isinstance(event, MachineRented | ReleaseOrdered):
                seen.append(event.reason)

    simulate(
        Market("USD", "2026", EC2),
        Goal(Money.parse("0.5")),
        Bag(200),
        Policy(frontier, KeptPlacer(frontier), AtRisk(frontier)),
        ModelledBehaviour(given([180 * SECOND] * 200)),
        observers=[Heard()],
    )
    assert seen
    assert all(seen)


def test_what_still_boots_leaves_when_nothing_is_ready_any_more():
    """Machines that boot for ten minutes are no use for the last tasks."""
    slow = per_second("slow", "0.0857", 2, boot=600)
    state = run(2.0, offers=(EC2[2], slow))
    assert state.ended.status == "done"
    assert state.now < 3 * run(2.0, offers=(EC2[2],)).now


class FirstIsLost(ModelledBehaviour):
    def life(self, machine):
        return 20 * SECOND if machine.id == 1 else None


def test_machines_that_are_lost_before_the_first_result_are_rented_again():
    spot = Offer("spot", Money(66_667), SECOND, MINUTE, 16, 45 * SECOND, 16, pool="unreliable")
    frontier = Frontier()
    state = simulate(
        Market("USD", "2026", (spot,)),
        Goal(Money.parse("0.10")),
        Bag(16),
        Policy(frontier, KeptPlacer(frontier), AtRisk(frontier)),
        FirstIsLost(given([10 * SECOND] * 16)),
        seed=0,
    )
    assert (state.done, state.ended.status) == (16, "done")
    assert state.machines_rented > 1


HOURLY = tuple(
    Offer(name, Money.parse(price), 60 * MINUTE, 0, 20, 30 * SECOND, slots)
    for name, price, slots in (("small", "0.05", 1), ("large", "0.21", 4))
)


@pytest.mark.parametrize("seed", range(3))
def test_a_bag_on_machines_billed_by_the_hour_is_done_within_a_quarter_above_the_least(seed):
    rng = Random(f"hourly/{seed}")
    runtimes = [round(rng.gauss(400, 100) * SECOND) for _ in range(400)]
    frontier = Frontier()
    state = simulate(
        Market("USD", "2026", HOURLY),
        Goal(Money(round(1.25 * 400 * 400 / 3600 * 0.05 * 1e9))),
        Bag(400),
        Policy(frontier, KeptPlacer(frontier), AtRisk(frontier)),
        ModelledBehaviour(given([max(SECOND, one) for one in runtimes]), seed=seed),
        seed=seed,
    )
    assert state.ended.status == "done"


@pytest.mark.parametrize("seed", range(3))
def test_long_tasks_that_are_seen_late_do_not_use_up_the_money(seed):
    """One task in five takes three times as long: the first results show none of them."""
    rng = Random(f"kinds/{seed}")
    tasks = [rng.choice((100, 100, 100, 100, 300)) * rng.gauss(1, 0.1) for _ in range(600)]
    frontier = Frontier()
    state = simulate(
        Market("USD", "2026", EC2),
        Goal(Money(round(1.6 * sum(tasks) * LEAST * 1e9))),
        Bag(600),
        Policy(frontier, KeptPlacer(frontier), AtRisk(frontier)),
        ModelledBehaviour(given([round(one * SECOND) for one in tasks]), seed=seed),
        seed=seed,
    )
    assert state.ended.status == "done"


LARGE_AND_SMALL = (
    per_second("large", "4.85", 64, speed=1.43, boot=30),
    msgspec.structs.replace(per_second("small", "0.165", 4, speed=1.05, boot=0), limit=6),
    msgspec.structs.replace(per_second("quick", "0.135", 2, speed=1.55, boot=90), limit=6),
)


@pytest.mark.parametrize("budget", ["1.00", "1.20"])
def test_long_tasks_that_hold_large_machines_begin_again_on_small_ones(budget):
    """A few of the tasks take ten times as long as others: one holds a machine of 64 slots."""
    seed = 3
    rng = Random(f"Pareto/{seed}")
    tasks = [74 * rng.paretovariate(2.5) for _ in range(450)]
    frontier = Frontier()
    reasons = []

    class Heard:
        def saw(self, event, state):
            if isinstance(event, ReleaseOrdered):
                reasons.append(event.reason)

    state = simulate(
        Market("USD", "2026", LARGE_AND_SMALL),
        Goal(Money.parse(budget)),
        Bag(450),
        Policy(frontier, KeptPlacer(frontier), AtRisk(frontier)),
        ModelledBehaviour(given([round(one * SECOND) for one in tasks]), seed=seed),
        seed=seed,
        observers=[Heard()],
    )
    assert state.ended.status == "done"
    assert any("begin again" in reason for reason in reasons)


def test_replicas_are_no_work_of_their_own():
    """The last tasks are replicated on idle slots: what is left to do does not grow by that."""
    frontier = Frontier()
    most = []

    class Heard:
        def saw(self, event, state):
            if frontier.plan is not None and frontier.plans > len(most):
                now = frontier._now.left
                most.append(now.ready + now.attempts + frontier._planned_for[0])

    run(1.6, frontier=frontier, observers=[Heard()], varies=90.0)
    assert max(most) <= 200


def test_a_fleet_for_known_run_times_is_given_up_where_they_vary_far_more_than_was_said():
    """Half of the tasks are short and half long: the mean is as said, the money does not do."""
    frontier = Frontier(runtime=180 * SECOND, deviation=2 * SECOND)
    run(1.12, frontier=frontier, mean=195.0, varies=120.0, tasks=600)
    assert frontier.plans > 1


def test_a_large_offer_of_unknown_speed_is_tried_once_the_money_is_known_to_do():
    """It seems a little dearer, and a machine of it is too much to lose in the beginning.

    Without that trial, all tasks would wait for twelve slots.
    """
    small, large = per_second("small", "0.074", 2), per_second("large", "2.96", 64)
    small, large = (msgspec.structs.replace(one, boot=0, limit=6) for one in (small, large))
    speeds = {"small": 0.7, "large": 0.95}
    rng = Random("untried")
    tasks = [rng.gauss(370, 60) for _ in range(900)]
    rented = Counter()

    class Heard:
        def saw(self, event, state):
            if isinstance(event, MachineRented):
                rented[event.offer, event.at] += 1

    frontier = Frontier()
    state = simulate(
        Market("USD", "2026", (small, large)),
        Goal(Money(round(1.5 * sum(tasks) * 2.96 / 3600 / 64 / 0.95 * 1e9))),
        Bag(900),
        Policy(frontier, KeptPlacer(frontier), AtRisk(frontier)),
        ModelledBehaviour(
            lambda task, machine: round(tasks[task - 1] / speeds[machine.offer.name] * SECOND)
        ),
        observers=[Heard()],
    )
    assert state.ended.status == "done"
    first = min(at for offer, at in rented if offer == "large")
    assert rented["large", first] == 1, "one tells how fast they are"
    assert state.last_settled < 2 * HOUR


def test_where_nobody_tells_speeds_several_offers_are_tried_at_once():
    """The one with the cheapest slots is slow: work costs least on another."""
    kinds = (("slow", "0.08", 0.6), ("quick", "0.10", 1.0), ("fast", "0.11", 1.3))
    offers = tuple(per_second(name, price, 2) for name, price, _ in kinds)
    speeds = {name: speed for name, _, speed in kinds}
    rng = Random("untold")
    tasks = [rng.gauss(120, 20) for _ in range(300)]
    frontier = Frontier()
    state = simulate(
        Market("USD", "2026", offers),
        Goal(Money(round(1.4 * sum(tasks) * 0.11 / 3600 / 2 / 1.3 * 1e9))),
        Bag(300),
        Policy(frontier, KeptPlacer(frontier), AtRisk(frontier)),
        ModelledBehaviour(
            lambda task, machine: round(tasks[task - 1] / speeds[machine.offer.name] * SECOND)
        ),
    )
    assert state.ended.status == "done"
    found = frontier.belief.speeds
    assert found["fast"] / found["slow"] == pytest.approx(1.3 / 0.6, rel=0.15)


def plans_that_drop(monkeypatch, *numbers):
    """Let some of the plans of a run, by their number, want no machine that is there."""
    made = []

    def planned(groups, *args, may_drop=True, **options):
        plan = plan_live(groups, *args, may_drop=may_drop, **options)
        made.append(plan)
        if len(made) not in numbers:
            return msgspec.structs.replace(plan, is_change=False, wants_less=False)
        fleet = 0 * plan.fleet if may_drop else plan.fleet
        return msgspec.structs.replace(plan, fleet=fleet, is_change=may_drop, wants_less=True)

    monkeypatch.setattr(frontier, "plan_live", planned)
    released = []

    class Heard:
        def saw(self, event, state):
            if isinstance(event, ReleaseOrdered) and event.reason == "it is not in the plan":
                released.append(event.machine)

    run(1.6, observers=[Heard()])
    assert len(made) > max(numbers)
    return released


def test_machines_are_dropped_only_if_some_plans_in_a_row_want_it(monkeypatch):
    """The money may seem short for a moment; the boots of machines that leave are lost."""
    assert not plans_that_drop(monkeypatch, 6, 7, 9, 10)
    assert plans_that_drop(monkeypatch, 6, 7, 8)


def test_machines_that_end_their_tasks_take_others_again_before_any_is_rented(monkeypatch):
    """What was dropped a moment ago is paid until its last task ends."""
    made, rented, begun = [], [], []

    def planned(groups, *args, may_drop=True, **options):
        plan = plan_live(groups, *args, may_drop=may_drop, **options)
        made.append(plan)
        if len(made) in (6, 7, 8):
            fleet = 0 * plan.fleet if may_drop else plan.fleet
            return msgspec.structs.replace(plan, fleet=fleet, is_change=may_drop, wants_less=True)
        if len(made) == 9:
            return msgspec.structs.replace(plan, fleet=1.0 * groups.is_new, is_change=True)
        return msgspec.structs.replace(plan, is_change=False, wants_less=False)

    class Heard:
        def saw(self, event, state):
            if isinstance(event, MachineRented):
                rented.append(len(made))
            elif isinstance(event, AttemptStarted) and len(made) >= 9:
                begun.append(event.machine)

    monkeypatch.setattr(frontier, "plan_live", planned)
    state = run(1.6, offers=EC2[:1], observers=[Heard()])
    assert (state.ended.status, rented.count(9), len(set(begun))) == ("done", 0, 1)


@pytest.mark.parametrize("tasks", [60, 150])
def test_with_little_to_do_and_much_money_it_begins_with_more_than_one_machine(tasks):
    """With so few tasks no fleet does at a tenth above the least, so nothing is saved for that."""
    first = []

    class Heard:
        def saw(self, event, state):
            if isinstance(event, MachineRented) and event.at == 0:
                first.append(state.machines[event.machine].offer.slots)

    state = run(3.0, tasks=tasks, observers=[Heard()])
    assert state.ended.status == "done"
    assert sum(first) >= 8


class Queued(ModelledBehaviour):
    """Machines of one offer wait in a queue of which the market file says nothing."""

    def boot(self, machine):
        return 20 * MINUTE if machine.offer.name == "queued" else machine.offer.boot


def run_with_a_queue(seed):
    """What it costs to be done within an hour."""
    offers = (per_second("queued", "0.0857", 2), per_second("prompt", "0.13", 2))
    rng = Random(f"queue/{seed}")
    runtimes = [max(1, round(rng.gauss(180, 40) * SECOND)) for _ in range(200)]
    provisioner = Frontier()
    state = simulate(
        Market("USD", "2026", [msgspec.structs.replace(offer, limit=20) for offer in offers]),
        Goal(deadline=HOUR),
        Bag(200),
        Policy(provisioner, KeptPlacer(provisioner), AtRisk(provisioner)),
        Queued(given(runtimes), seed=seed),
        seed=seed,
    )
    assert state.ended.status == "done"
    assert state.now <= HOUR
    return state.ledger.committed


@pytest.mark.parametrize("seed", range(3))
def test_machines_that_take_longer_to_come_up_than_promised_are_not_waited_for(seed, monkeypatch):
    learned = run_with_a_queue(seed)
    monkeypatch.setattr(RunFacts, "boot_time", lambda state, offer, now: offer.boot)
    monkeypatch.setattr(
        RunFacts,
        "boot_left",
        lambda state, machine, now: max(0, machine.rented + machine.offer.boot - now),
    )
    assert learned < run_with_a_queue(seed)
