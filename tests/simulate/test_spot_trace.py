from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import force_setattr

from bursar.engine.roles import Policy
from bursar.formats.spot_trace import read_spot_trace
from bursar.model.errors import InputError
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag
from bursar.policies.place.random import RandomPlacer
from bursar.policies.provision.fixed import Fixed
from bursar.policies.replicate.none import NoReplicas
from bursar.simulate.faults import ModelledBehaviour, given
from bursar.simulate.run import simulate
from bursar.simulate.spot_trace import SpotTrace, TracedMachines
from bursar.state import events as ev
from bursar.state.view import Machine
from bursar.testing import Auditor

SPOT = Offer("spot", Money.parse("0.01"), MINUTE, boot=7 * SECOND, pool="unreliable")
SURE = Offer("sure", Money.parse("0.05"), MINUTE, limit=1)
CALM = ModelledBehaviour(given([5 * MINUTE] * 100))
SHARED = sorted((Path(__file__).parents[3] / "shared/data/spot").glob("*.json"))


def written(path, data, gap=300):
    path.write_text(json.dumps({"metadata": {"gap_seconds": gap}, "data": data}))
    return path


def machine(number, rented, offer=SPOT):
    return Machine(number, offer, rented, rented + HOUR)


def seats(*values, gap=MINUTE, **options):
    return TracedMachines(CALM, {"spot": [SpotTrace(gap, values)]}, **options)


# --- reading -------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [None, *SHARED], ids=lambda path: path and path.stem)
def test_a_trace_is_read_as_its_publishers_write_it(path, tmp_path):
    trace = read_spot_trace(path or written(tmp_path / "made.json", [0, 3, 1], 2.5))
    assert trace.seats >= 1
    assert trace.length == trace.gap * len(trace.available)
    if path is None:
        assert trace == SpotTrace(2_500_000, (0, 3, 1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid JSON"),
        ('{"a": ' * 100_000, "not valid JSON"),
        ("[]", "not a spot trace"),
        ('{"data": [1]}', "not a spot trace"),
        ('{"metadata": {"gap_seconds": 1}}', "not a spot trace"),
        ('{"metadata": {"gap_seconds": "1"}, "data": [1]}', "not a spot trace"),
        ('{"metadata": {"gap_seconds": 1}, "data": [1, 0.5]}', "not a spot trace"),
        ('{"metadata": {"gap_seconds": 1}, "data": [true]}', "not a spot trace"),
        ('{"metadata": {"gap_seconds": 0}, "data": [1]}', "gap_seconds is 0"),
        ('{"metadata": {"gap_seconds": 1e300}, "data": [1]}', "gap_seconds is 1e+300"),
        ('{"metadata": {"gap_seconds": 1}, "data": []}', "data is empty"),
        ('{"metadata": {"gap_seconds": 1}, "data": [2, -1]}', "value 2 of data is '-1'"),
        ('{"metadata": {"gap_seconds": 1}, "data": [1000000]}', "from 0 to 100,000"),
        ('{"metadata": {"gap_seconds": 1}, "data": [0, 0]}', "no instance is ever available"),
    ],
)
def test_what_is_no_trace_is_reported_in_one_line(text, message, tmp_path):
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_spot_trace(path)
    reported = str(error.value)
    assert message in reported
    assert reported.startswith(f"{path}: ")
    assert "\n" not in reported


def test_a_trace_that_is_not_there_is_reported_in_one_line(tmp_path):
    with pytest.raises(InputError, match="cannot read the spot trace: No such file"):
        read_spot_trace(tmp_path / "none.json")


# --- seats ---------------------------------------------------------------------------------------


def test_a_seat_stays_while_the_value_is_above_it():
    trace = SpotTrace(MINUTE, (2, 2, 1, 0))
    assert [trace.has(0, at * MINUTE) for at in range(4)] == [True, True, True, False]
    assert [trace.has(1, at * MINUTE) for at in range(4)] == [True, True, False, False]
    assert trace.stays(0, 10) == 3 * MINUTE - 10
    assert trace.stays(1, MINUTE) == MINUTE


def test_a_trace_that_ends_begins_again():
    trace = SpotTrace(MINUTE, (1, 0, 1))
    assert trace.has(0, 3 * MINUTE)
    assert trace.stays(0, 2 * MINUTE) == 2 * MINUTE
    assert SpotTrace(MINUTE, (1, 2)).stays(0, 5) is None


def test_a_machine_is_lost_when_its_seat_goes():
    pool = seats(2, 1, 0)
    first, second = machine(1, 0), machine(2, 0)
    assert pool.boot(first) == pool.boot(second) == 7 * SECOND
    assert pool.life(first) == 2 * MINUTE
    assert pool.life(second) == MINUTE


def test_where_no_seat_is_there_nobody_gets_one():
    assert seats(0, 1).boot(machine(1, 0)) is None
    assert seats(0, 1).boot(machine(1, MINUTE)) == 7 * SECOND
    assert seats(0, 1, offset=MINUTE).boot(machine(1, 0)) == 7 * SECOND


def test_a_seat_that_is_taken_is_free_again_when_its_machine_is_down():
    pool = seats(1, 1, 1)
    first = machine(1, 0)
    assert pool.boot(first) is not None
    assert pool.boot(machine(2, SECOND)) is None
    force_setattr(first, "down", True)
    assert pool.boot(machine(3, 2 * SECOND)) is not None


def test_a_machine_of_another_offer_needs_no_seat():
    pool = seats(0, 1, notice=MINUTE)
    other = machine(1, 0, SURE)
    assert pool.boot(other) == 0
    assert pool.life(other) is None
    assert pool.notice(other) == 0


def test_a_machine_that_dies_before_its_seat_goes_is_lost_then():
    mortal = ModelledBehaviour(given([1]), mean_life={"spot": SECOND})
    pool = TracedMachines(mortal, {"spot": [SpotTrace(HOUR, (1, 0))]}, notice=MINUTE)
    one = machine(1, 0)
    pool.boot(one)
    assert pool.life(one) < MINUTE
    assert pool.notice(one) == MINUTE


# --- whole runs ----------------------------------------------------------------------------------


def run(*values, fleet, tasks=30, gap=10 * MINUTE, notice=0, budget="50"):
    auditor = Auditor()
    state = simulate(
        Market("USD", "undated", (SPOT, SURE)),
        Goal(Money.parse(budget)),
        Bag(tasks),
        Policy(Fixed(fleet), RandomPlacer(), NoReplicas()),
        seats(*values, gap=gap, notice=notice),
        observers=[auditor],
    )
    return state, auditor.events


def test_a_run_waits_for_machines_that_are_not_available():
    state, events = run(0, 0, 0, 2, 2, 0, fleet={"spot": 4}, notice=2 * MINUTE)
    refused = [e for e in events if isinstance(e, ev.MachineDown) and e.cause == "refused"]
    up = next(e for e in events if isinstance(e, ev.MachineUp))
    assert state.ended.status == "done"
    assert up.at >= 30 * MINUTE
    assert refused[0].at == 0
    assert len({event.at for event in refused if event.at < up.at}) <= 10, "it asks too often"
    assert any(isinstance(event, ev.LossAnnounced) for event in events)
    assert state.ledger.committed == sum((c.amount for c in state.ledger.charges()), Money(0))


def test_machines_that_are_available_do_the_work_meanwhile():
    state, events = run(0, 0, 0, 0, 0, 1, fleet={"spot": 4, "sure": 1}, tasks=8)
    assert state.ended.status == "done"
    assert state.last_settled <= 45 * MINUTE
    assert events[-1].at == state.last_settled


def test_whoever_never_gets_a_machine_gives_up_and_has_paid_nothing():
    class Nothing(ModelledBehaviour):
        def boot(self, machine):
            return None

    state = simulate(
        Market("USD", "undated", (SPOT,)),
        Goal(Money.parse("1")),
        Bag(3),
        Policy(Fixed({"spot": 2}), RandomPlacer(), NoReplicas()),
        Nothing(given([MINUTE] * 3)),
    )
    assert state.ended.status == "failed"
    assert "no machine has been available for 168" in state.ended.why
    assert state.ledger.committed == Money(0)
    assert state.machines_rented < 5000
