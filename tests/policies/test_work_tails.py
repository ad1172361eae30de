"""The tails of works, each its own."""

from __future__ import annotations

from bursar.model.market import Offer
from bursar.model.money import ZERO
from bursar.model.strategy import Strategy
from bursar.model.time import MINUTE
from bursar.model.work import Bag, Work
from bursar.policies.pool_queues import PoolQueues
from bursar.policies.work_strategies import WorkStrategies
from bursar.policies.work_tails import WorkTails
from bursar.state import events as ev
from bursar.testing import Scene

ONCE = Strategy(1, 10 * MINUTE, 20 * MINUTE, 0.5)


class Tails(Scene):
    """Works that have arrived, all of whose tasks wait for the unreliable pool."""

    def __init__(self, *counts, strategy=ONCE):
        super().__init__(Offer("small", ZERO), tasks=0, arrivals_open=True)
        self.strategies = WorkStrategies(strategy)
        self.queues = PoolQueues(bytearray(1 + sum(counts)), self.strategies.work_of)
        self.tails = WorkTails(self.strategies, self.queues)
        for number, count in enumerate(counts, 1):
            event = ev.WorkArrived(0, Work(Bag(count)))
            self.tell(event)
            self.strategies.saw(event, self.state)
            self.tails.arrived(number, count)
        for task in range(1, sum(counts) + 1):
            self.queues.add(task)

    def send(self, count):
        return {self.queues.take(): 0 for _ in range(count)}

    def queued(self):
        return list(self.queues.unreliable), list(self.queues.reliable)


def test_a_tail_begins_when_fewer_tasks_remain_than_there_are_slots_and_all_were_sent():
    scene = Tails(3, 3)
    assert not scene.tails.begins(1, slots=4), "nothing was sent"
    scene.send(3)
    assert scene.tails.begins(1, slots=4)
    assert not scene.tails.begins(1, slots=3)
    assert not scene.tails.begins(2, slots=4)
    scene.tails.settle(1)
    scene.tails.settle(1)
    assert scene.tails.begins(1, slots=3)
    assert not scene.tails.begins(1, slots=2), "a task is settled once"


def test_what_a_tail_sends_again_goes_before_what_was_never_sent_and_then_to_reliable_machines():
    scene = Tails(2, 3)
    sent = scene.send(2)
    scene.tails.open(3, sent, now=0)
    assert scene.tails.opened == {1: 0}
    assert not scene.tails.are_open
    scene.tails.take_dues(9 * MINUTE, paid_all=False)
    assert scene.queued() == ([3, 4, 5], [])
    scene.tails.take_dues(10 * MINUTE, paid_all=False)
    assert scene.queued() == ([1, 2, 3, 4, 5], [])
    for task in (1, 2):
        assert scene.queues.take() == task
        scene.tails.sent(task, 10 * MINUTE)
    assert scene.tails.due_by(20 * MINUTE, reliable=True) == 2
    scene.tails.settle(2)
    scene.tails.take_dues(20 * MINUTE, paid_all=False)
    assert scene.queued() == ([3, 4, 5], [1])


def test_a_tail_waits_for_its_strategy_and_a_new_one_opens_it_again():
    scene = Tails(1, strategy=None)
    sent = scene.send(1)
    scene.tails.open(2, sent, now=0)
    assert not scene.tails.opened
    chosen = ev.StrategyChosen(0, ONCE, work=1)
    scene.strategies.saw(chosen, scene.state)
    scene.tails.open(2, sent, now=MINUTE)
    assert scene.tails.opened == {1: MINUTE}
    scene.tails.strategy_chosen(1)
    scene.tails.open(2, sent, now=2 * MINUTE)
    assert scene.tails.opened == {1: 2 * MINUTE}
    scene.tails.settle(1)
    assert scene.tails.are_open
    assert (scene.tails.opened, scene.tails.last_opened) == ({}, 2 * MINUTE)
