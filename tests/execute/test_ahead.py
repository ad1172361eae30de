"""Very short commands begin one after the other where they wait, without asking in between."""

from __future__ import annotations

import time

from bursar.model.time import SECOND
from bursar.state import events as ev


def test_a_command_that_waits_begins_when_the_slot_is_free(lab, tmp_path):
    gate = tmp_path / "gate"
    wait = ("/bin/sh", "-c", f"while [ ! -e {gate} ]; do sleep 0.01; done")
    run = lab([wait, ("sleep", "0.2")])
    machine = run.rent()
    first, second = run.start(1, machine), run.start(2, machine)
    time.sleep(0.3)
    gate.touch()
    assert run.await_one(ev.AttemptEnded).attempt == first
    last = run.await_one(ev.AttemptEnded)
    assert (last.attempt, last.outcome) == (second, "success")
    assert 0.19 * SECOND <= last.runtime < 0.45 * SECOND, "waiting is not a run time"


def test_one_that_waits_can_be_cancelled_before_it_begins(lab, tmp_path):
    made = tmp_path / "made"
    run = lab([("sleep", "100"), ("touch", str(made))])
    machine = run.rent()
    first, second = run.start(1, machine), run.start(2, machine)
    run.cancel(second)
    assert run.await_one(ev.AttemptEnded) == ev.AttemptEnded(
        run.state.now, second, "cancelled", why="cancelled"
    )
    run.cancel(first)
    run.await_one(ev.AttemptEnded)
    assert not made.exists()


def test_those_that_wait_go_with_their_machine(lab, tmp_path):
    made = tmp_path / "made"
    run = lab([("sleep", "100"), ("touch", str(made))])
    machine = run.rent()
    run.start(1, machine)
    run.start(2, machine)
    run.release(machine)
    assert run.await_one(ev.MachineDown).cause == "released"
    assert not made.exists()
    assert sorted(run.state.ready) == [1, 2]


def test_very_short_commands_are_sent_ahead(lab):
    run = lab([("true",)] * 120, slots=2)
    assert run.world.ahead == 0
    assert run.run(2).status == "done"
    assert run.world.ahead > 0
    assert run.state.done == 120


def test_longer_commands_are_not(lab):
    run = lab([("sleep", "0.05")] * 20)
    assert run.run(3).status == "done"
    assert run.world.ahead == 0
