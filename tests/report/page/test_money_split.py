"""Where the money went: the parts are exact, and sum to what is committed."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from tests.properties.test_conservation import cases, fixed

from bursar.engine.roles import Policy
from bursar.model.market import Offer
from bursar.model.money import NANOS, Money
from bursar.model.time import HOUR, MINUTE
from bursar.report.page.machine_log import MachineLog
from bursar.report.page.money_split import USES, split_money
from bursar.report.page.series import AttemptColumns
from bursar.testing import Hostile, Scene, play

SMALL = Offer("small", Money.parse("0.60"), boot=6 * MINUTE, slots=2)


def split_of(state, log, now):
    split = split_money(AttemptColumns.of(state), log, now)
    sums = [sum((one.parts[place] for one in split), Fraction(0)) for place in range(len(USES))]
    return dict(zip(USES, sums, strict=True))


def parts_of(scene, now=None):
    log = MachineLog()
    for event in scene.events:
        log.saw(event)
    return split_of(scene.state, log, scene.at if now is None else now)


class Checked:
    """Splits the money after every event that changes it, and now and then between."""

    def __init__(self):
        self.log, self.looked = MachineLog(), 0

    def saw(self, event, state):
        self.log.saw(event)
        assert self.log.committed[-1] == state.ledger.committed.nanos
        self.looked += 1
        if self.looked % 7 == 0:
            parts = split_of(state, self.log, state.now)
            assert all(part >= 0 for part in parts.values())
            assert sum(parts.values()) == Fraction(state.ledger.committed.nanos, NANOS)


@settings(max_examples=60)
@given(cases())
def test_parts_sum_to_what_is_committed_whatever_policy_and_faults(case):
    hostile = Hostile(case.seed)
    play(case, Policy(hostile, hostile, hostile), most_steps=60, observers=[Checked()])


@settings(max_examples=40)
@given(cases())
def test_parts_sum_to_what_is_committed_to_the_end_of_a_run(case):
    play(case, fixed(case), most_steps=2_000, observers=[Checked()])


def test_every_use_of_a_machine_has_its_part():
    scene = Scene(SMALL, tasks=5, budget="9")
    machine = scene.rent(stay=HOUR)
    scene.pass_time(6 * MINUTE)
    scene.up(machine)
    won, slow = scene.start(1, machine), scene.start(2, machine)
    scene.pass_time(10 * MINUTE)
    scene.end(won)
    failing = scene.start(3, machine)
    scene.pass_time(5 * MINUTE)
    scene.end(failing, "failed")
    scene.cancel(slow)
    scene.end(slow, "cancelled")
    scene.start(4, machine)
    scene.pass_time(9 * MINUTE)
    minute = Fraction(60, 100) / 60 / 2  # of one of two slots
    assert parts_of(scene) == {
        "useful": 10 * minute,
        "running": 9 * minute,
        "replica": 0,
        "off": 15 * minute,
        "failed": 5 * minute,
        "lost": 0,
        "booting": 2 * 6 * minute,
        "idle": 9 * minute,
        "rounded": 0,
        "ahead": 2 * 30 * minute,
    }


def test_what_a_lost_machine_had_paid_is_rounded_up_and_its_attempt_lost():
    scene = Scene(Offer("spot", Money.parse("0.60")), tasks=2, budget="9")
    machine = scene.machine(stay=HOUR)
    scene.start(1, machine)
    scene.pass_time(20 * MINUTE)
    scene.down(machine, "lost")
    parts = parts_of(scene)
    assert (parts["lost"], parts["rounded"]) == (Fraction(20, 100), Fraction(40, 100))


def test_a_released_machine_has_lost_nothing():
    scene = Scene(Offer("spot", Money.parse("0.60")), tasks=2, budget="9")
    machine = scene.machine(stay=HOUR)
    scene.start(1, machine)
    scene.pass_time(20 * MINUTE)
    scene.down(machine, "released")
    parts = parts_of(scene)
    assert (parts["lost"], parts["off"]) == (0, Fraction(20, 100))


def test_a_refused_machine_costs_nothing():
    scene = Scene(Offer("spot", Money.parse("0.60")), tasks=2, budget="9")
    machine = scene.rent(stay=HOUR)
    scene.pass_time(MINUTE)
    scene.down(machine, "refused")
    assert not any(parts_of(scene).values())
