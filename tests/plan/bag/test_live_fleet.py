"""The closed form against simulated executions of the same fleets."""

from __future__ import annotations

from heapq import heapify, heapreplace
from math import ceil, inf, log, log1p, sqrt
from random import Random

import msgspec
import numpy as np
import pytest

from bursar.beliefs.bag_times import BagTimes
from bursar.plan.bag.live_fleet import LiveFleetJudge, MachineGroups, WorkLeft
from bursar.plan.bag.live_plan import plan_live

SLOTS, SPEEDS, PRICES, BOOT = (2, 8, 16), (1.0, 1.0, 1.1), (2.0, 7.9, 16.9), 45.0
"""Three offers, billed by the second with a minimum of a minute."""
FOUR = np.array([[0.0, 4.0, 0.0]])


def groups(begin=BOOT):
    count = len(SLOTS)
    return MachineGroups(
        offer=np.arange(count),
        is_new=np.ones(count, dtype=bool),
        room=np.full(count, 50.0),
        slots=np.array(SLOTS, dtype=float),
        speed=np.array(SPEEDS),
        begin=np.full(count, begin),
        price=np.array(PRICES),
        unit=np.ones(count),
        paid=np.full(count, 60.0),
        held=np.zeros(count),
        running=np.zeros(count),
    )


def left(tasks, money=inf):
    return WorkLeft(
        ready=tasks, running=0.0, attempts=0, money=money, deadline=inf, elapsed=0.0, spent=0.0
    )


def executed(fleet, tasks, mean, spread, seed):
    """One execution: when it ends and what it costs."""
    rng = Random(f"live/{seed}")
    sigma = sqrt(log1p(spread**2))
    machines = [offer for offer, count in enumerate(fleet) for _ in range(count)]
    slots = [(BOOT, number) for number, offer in enumerate(machines) for _ in range(SLOTS[offer])]
    heapify(slots)
    ends = [BOOT] * len(machines)
    for _ in range(tasks):
        free, number = slots[0]
        work = rng.lognormvariate(log(mean) - sigma * sigma / 2, sigma)
        end = free + work / SPEEDS[machines[number]]
        ends[number] = max(ends[number], end)
        heapreplace(slots, (end, number))
    cost = sum(
        PRICES[offer] * ceil(max(60.0, end)) for offer, end in zip(machines, ends, strict=True)
    )
    return max(ends), cost


@pytest.mark.parametrize("spread", [0.1, 0.3, 0.7])
@pytest.mark.parametrize("fleet", [(5, 0, 0), (20, 0, 0), (0, 4, 0), (0, 0, 3), (6, 2, 0)])
def test_it_is_near_what_executions_take_and_cost(fleet, spread):
    tasks, mean = 400, 120.0
    runs = [executed(fleet, tasks, mean, spread, seed) for seed in range(40)]
    judge = LiveFleetJudge(
        groups(), left(tasks), BagTimes.lognormal(mean, 0.0, spread, 99), np.zeros(3)
    )
    verdict = judge.judge(np.array([fleet], dtype=float))
    times = sorted(time for time, _ in runs)
    assert verdict.time[0] == pytest.approx(times[36], rel=0.1)
    assert verdict.middle[0] == pytest.approx(times[20], rel=0.1)
    assert verdict.cost[0] == pytest.approx(sum(cost for _, cost in runs) / 40, rel=0.025)


@pytest.mark.parametrize("spread", [0.1, 0.3])
@pytest.mark.parametrize("fleet", [(0, 33, 0), (0, 40, 0), (0, 0, 20), (0, 50, 0), (0, 0, 25)])
def test_it_knows_fleets_that_do_a_task_or_two_in_each_slot(fleet, spread):
    """Some slots have a second task, and hold machines of many slots; or all begin at once."""
    tasks, mean = 400, 120.0
    runs = [executed(fleet, tasks, mean, spread, seed) for seed in range(30)]
    times = BagTimes.lognormal(mean, 0.0, spread, 99)
    verdict = LiveFleetJudge(groups(), left(tasks), times, np.zeros(3)).judge(
        np.array([fleet], dtype=float)
    )
    assert verdict.middle[0] == pytest.approx(np.median([time for time, _ in runs]), rel=0.1)
    assert verdict.cost[0] == pytest.approx(np.mean([cost for _, cost in runs]), rel=0.04)


def test_where_nothing_may_be_dropped_the_best_fleet_that_drops_nothing_is_planned():
    """Machines that are there are dear: without them the money does, with them more are rented."""
    new = groups()
    old = {"offer": 2, "is_new": False, "room": 4.0, "slots": 16.0, "speed": 1.0, "begin": 0.0}
    old |= {"price": 60.0, "unit": 1.0, "paid": 0.0, "held": 60.0, "running": 600.0}
    columns = {name: np.append(old[name], getattr(new, name)) for name in old}
    dear = MachineGroups(**{**columns, "offer": columns["offer"].astype(np.int64)})
    now = msgspec.structs.replace(left(400, 9e4), running=2400.0, attempts=64, elapsed=60.0)
    times = BagTimes.lognormal(120.0, 0.03, 0.3, 99)
    free = plan_live(dear, now, times, np.zeros(4))
    kept = plan_live(dear, now, times, np.zeros(4), may_drop=False)
    assert free.wants_less
    assert free.fleet[0] < 4
    assert kept.wants_less
    assert kept.fleet[0] == 4


def test_the_chance_is_the_share_of_executions_within_the_money():
    tasks, mean, fleet = 400, 120.0, (0, 4, 0)
    runs = sorted(executed(fleet, tasks, mean, 0.4, seed)[1] for seed in range(60))
    for share in (0.2, 0.5, 0.8):
        money = runs[int(share * 60)]
        times = BagTimes.lognormal(mean, 0.0, 0.4, 99)
        judge = LiveFleetJudge(groups(), left(tasks, money), times, np.zeros(3))
        chance = np.exp(judge.judge(np.array([fleet], dtype=float)).log_chance[0])
        assert chance == pytest.approx(share, abs=0.25)


def test_the_more_rounds_of_tasks_the_surer_is_what_they_cost_once_results_tell_run_times():
    """Hardly more money than all costs: before the first results it may not do."""
    chances = []
    for results in (0, 99):
        times = BagTimes.lognormal(120.0, 0.001, 0.05, results)
        for tasks in (400, 40_000):
            cost = LiveFleetJudge(groups(), left(tasks), times, np.zeros(3)).judge(FOUR).cost[0]
            judge = LiveFleetJudge(groups(), left(tasks, 1.01 * cost), times, np.zeros(3))
            chances.append(float(np.exp(judge.judge(FOUR).log_chance[0])))
    before, before_many, after, after_many = chances
    assert before_many < 0.9
    assert after_many > 0.99
    assert after >= before


def test_more_money_buys_a_faster_fleet_and_little_money_a_cheap_one():
    times, work = BagTimes.lognormal(120.0, 0.01, 0.3, 99), 400 * 120.0
    least = work * min(p / (s * v) for p, s, v in zip(PRICES, SLOTS, SPEEDS, strict=True))
    ends = [
        plan_live(groups(), left(400, factor * least), times, np.zeros(3)).time
        for factor in (1.1, 1.25, 1.6, 3.0)
    ]
    assert ends == sorted(ends, reverse=True)
    assert ends[0] > 2 * ends[2]


def test_a_plan_that_is_followed_stays_within_the_money():
    times = BagTimes.lognormal(120.0, 0.01, 0.3, 99)
    least = 400 * 120.0 * min(p / (s * v) for p, s, v in zip(PRICES, SLOTS, SPEEDS, strict=True))
    for factor in (1.1, 1.25, 1.6):
        plan = plan_live(groups(), left(400, factor * least), times, np.zeros(3))
        fleet = [round(count) for count in plan.fleet]
        costs = [executed(fleet, 400, 120.0, 0.3, seed)[1] for seed in range(20)]
        assert sum(cost <= factor * least for cost in costs) >= 18, fleet


def hourly(*, there=0, paid=0.0):
    """One offer of an hour, and machines of it that are there with some paid time."""
    count = 2 if there else 1
    column = np.ones(count)
    return MachineGroups(
        offer=np.zeros(count, np.int64),
        is_new=np.array([False, True][-count:]),
        room=np.array([float(there), 40.0][-count:]),
        slots=4 * column,
        speed=column,
        begin=0 * column,
        price=1e9 * column,
        unit=3600 * column,
        paid=np.array([paid, 3600.0][-count:]),
        held=0 * column,
        running=0 * column,
    )


def test_a_fleet_that_enters_another_long_unit_costs_it_whole():
    """Ten machines need 62 minutes for the tasks, eleven need 57: money for one hour each."""
    times = BagTimes.lognormal(120.0, 0.005, 0.2, 999)
    judge = LiveFleetJudge(hourly(), left(1200, 12e9), times, np.zeros(1))
    found = judge.judge(np.array([[10.0], [11.0]]))
    assert np.exp(found.log_chance[0]) < 0.2
    assert np.exp(found.log_chance[1]) > 0.9
    assert found.cost[0] > 1.5 * found.cost[1]


def test_a_machine_with_paid_time_for_another_task_is_not_dropped():
    """Tasks are done soon with fewer machines; what is paid is used all the same."""
    times = BagTimes.lognormal(120.0, 0.02, 0.3, 99)
    for paid, least in ((3000.0, 10.0), (20.0, 0.0)):
        plan = plan_live(hourly(there=10, paid=paid), left(400, 6e9), times, np.zeros(2))
        assert plan.fleet[0] >= least
    assert plan.fleet[0] < 10, "a decision at the end of the unit"


def test_early_nothing_is_dropped_and_more_is_rented_only_where_it_is_safe():
    vague = BagTimes.lognormal(120.0, 0.4, 0.5, 3)
    least = 400 * 120.0 * 1e9 / 3600 / 4
    for factor in (1.05, 1.5, 8.0):
        plan = plan_live(
            hourly(there=3), left(400, factor * least), vague, np.zeros(2), is_early=True
        )
        assert plan.fleet[0] == 3
        if plan.is_change:
            assert np.exp(plan.log_chance) >= 0.99


def test_no_fleet_is_judged_twice(monkeypatch):
    tables = []
    judge_new = LiveFleetJudge.judge_new

    def watched(self, fleets, tried, *others):
        count = judge_new(self, fleets, tried, *others)
        tables.append(tried[:count].tolist())
        return count

    monkeypatch.setattr(LiveFleetJudge, "judge_new", watched)
    plan_live(groups(), left(400, 8e4), BagTimes.lognormal(120.0, 0.1, 0.4, 99), np.zeros(3))
    assert len(tables) > 1
    judged = [tuple(fleet) for fleet in tables[-1]]
    assert len(judged) > 50
    assert len(set(judged)) == len(judged)
    assert judged[0] == (0.0, 0.0, 0.0)


def there(count):
    """The three offers, and machines of the first that are there and at work."""
    new = groups()
    old = {"offer": 0, "is_new": False, "room": count, "slots": 2.0, "speed": 1.0, "begin": 0.0}
    old |= {"price": 2.0, "unit": 1.0, "paid": 0.0, "held": 60.0, "running": 120.0}
    columns = {name: np.append(old[name], getattr(new, name)) for name in old}
    return MachineGroups(**{**columns, "offer": columns["offer"].astype(np.int64)})


def test_where_the_money_hardly_does_nothing_is_added_to_what_is_there():
    """What a machine more seems to gain then is noise, and each plan would add one."""
    times = BagTimes.lognormal(120.0, 0.03, 0.3, 99)
    most = 0.0
    for money in np.linspace(3.9e4, 6e4, 22):
        now = WorkLeft(
            ready=360,
            running=1200.0,
            attempts=20,
            money=money,
            deadline=inf,
            elapsed=300.0,
            spent=0.0,
        )
        plan = plan_live(there(10.0), now, times, np.zeros(4))
        is_more = plan.fleet[0] == 10.0 and plan.fleet.sum() > 10.0
        assert not is_more or np.exp(plan.log_chance) >= 0.9, money
        most = max(most, plan.fleet.sum())
    assert most > 10.0, "with enough money, more is rented"


def test_machines_of_many_slots_are_in_doubt_where_long_tasks_may_not_have_been_seen():
    times = BagTimes.lognormal(120.0, 0.05, 0.3, 99)
    doubtful = BagTimes(times.mean, times.doubt, times.spread, 99, times.curve, 0.2, 100.0)
    fleets = np.array([[32.0, 0.0, 0.0], [0.0, 0.0, 4.0]])
    money = 1.3 * 400 * 120.0
    sure, unsure = (
        LiveFleetJudge(groups(), left(400, money), one, np.zeros(3)).judge(fleets).log_chance
        for one in (times, doubtful)
    )
    assert (unsure < sure).all()
    assert unsure[1] - sure[1] < unsure[0] - sure[0]


def test_what_is_dropped_ends_its_tasks_before_all_is_done():
    """One task is ready, which a new machine does at once: those that run take longer."""
    times = BagTimes.lognormal(120.0, 0.03, 0.3, 99)
    some = msgspec.structs.replace(there(10.0), held=np.array([600.0, 0.0, 0.0, 0.0]))
    now = WorkLeft(
        ready=1, running=1200.0, attempts=20, money=inf, deadline=inf, elapsed=300.0, spent=0.0
    )
    judge = LiveFleetJudge(some, now, times, np.zeros(4))
    verdict = judge.judge(np.array([[0.0, 1.0, 0.0, 0.0]]))
    assert verdict.time[0] >= verdict.middle[0] >= 600.0


def test_a_machine_at_work_is_not_dropped_for_one_whose_speed_is_in_doubt():
    """A new machine seems to work for a fifth less; where that is sure, it takes its place."""
    times = BagTimes.lognormal(120.0, 0.1, 0.3, 99)
    cheaper = there(10.0).price * np.array([1.0, 0.8, 0.8, 0.8])
    some = msgspec.structs.replace(there(10.0), price=cheaper)
    now = WorkLeft(
        ready=360, running=1200.0, attempts=20, money=4.4e4, deadline=inf, elapsed=300.0, spent=0.0
    )
    kept = [
        plan_live(some, now, times, np.array([0.02, doubt, doubt, doubt])).fleet[0]
        for doubt in (0.3, 0.01)
    ]
    assert kept[0] == 10.0 > kept[1]
