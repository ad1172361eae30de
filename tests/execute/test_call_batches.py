"""Very short calls are sent ahead, and taken back when one of them turns out to be long."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bursar.execute.calls import Calls
from bursar.execute.workers import MOST_AT_WORKER
from bursar.model.goal import Limits
from bursar.model.time import SECOND
from bursar.state import events as ev


@pytest.fixture
def calls():
    return Calls()


def nap(seconds):
    """A call that takes so long."""

    def call():
        import time

        time.sleep(seconds)
        return seconds

    return call


def warm(run, machine, task):
    """Let the machine have workers that have answered."""
    run.start(task, machine)
    run.await_one(ev.AttemptEnded)
    run.world.settle(task, len(run.state.log), "keep")


@pytest.fixture
def hear(monkeypatch):
    """Every event that a laboratory gets, in order."""
    heard = []

    def of(run):
        tell = run._tell
        monkeypatch.setattr(run, "_tell", lambda event: (heard.append(event), tell(event)))
        return heard

    return of


def until(run, heard, count):
    """Wait for so many attempts to end; returns them by attempt."""
    while True:
        found = {one.attempt: one for one in heard if isinstance(one, ev.AttemptEnded)}
        if len(found) >= count:
            return found
        run.await_one(ev.AttemptEnded)


def test_many_short_calls_are_sent_ahead(lab, calls):
    futures = [calls.add(n, abs, (-n,)) for n in range(1, 1001)]
    run = lab(1000, calls=calls)
    assert run.run(machines=2).status == "done"
    assert run.world.ahead > 8
    assert [future.result() for future in futures] == list(range(1, 1001))
    assert run.state.done == 1000


def test_calls_that_wait_behind_a_long_one_are_given_back_before_long(lab, calls, hear):
    calls.add(1, abs, (-1,))
    calls.add(2, nap(1.5))
    for n in range(3, 9):
        calls.add(n, abs, (-n,))
    run = lab(8, calls=calls)
    heard = hear(run)
    machine = run.rent()
    warm(run, machine, 1)
    for task in range(2, 9):
        run.start(task, machine)
    began = time.monotonic()
    found = until(run, heard, 7)
    assert time.monotonic() - began < 1
    assert {found[attempt].outcome for attempt in range(3, 9)} == {"cancelled"}
    assert sorted(run.state.ready) == list(range(3, 9))
    assert run.world.stalled == {machine}
    assert until(run, heard, 8)[2].outcome == "success"
    assert run.world.stalled == set()


def test_another_worker_of_the_machine_takes_what_waits_behind_a_long_call(lab, calls, hear):
    for n in (1, 2):
        calls.add(n, nap(0.3))
    calls.add(3, nap(1.5))
    others = [calls.add(n, os.getpid) for n in range(4, 10)]
    run = lab(9, calls=calls, slots=2)
    heard = hear(run)
    machine = run.rent()
    run.start(1, machine)
    run.start(2, machine)
    until(run, heard, 2)
    for task in range(3, 10):
        run.start(task, machine)
    began = time.monotonic()
    found = until(run, heard, 8)
    assert time.monotonic() - began < 1.4
    assert {found[attempt].outcome for attempt in range(4, 10)} == {"success"}
    for attempt in range(4, 10):
        run.world.settle(attempt, attempt, "keep")
    assert len({future.result() for future in others}) == 1


def test_a_function_that_was_taken_back_on_its_way_is_sent_again(lab, calls, hear):
    calls.add(1, abs, (-1,))
    calls.add(2, nap(0.2))
    for n in range(3, 9):
        calls.add(n, nap(n / 10_000))
    run = lab(8, calls=calls)
    heard = hear(run)
    machine = run.rent()
    warm(run, machine, 1)
    for task in range(2, 9):
        run.start(task, machine)
    until(run, heard, 8)
    for task in range(3, 9):
        run.start(task, machine)
    found = until(run, heard, 14)
    assert {found[attempt].outcome for attempt in range(9, 15)} <= {"success", "cancelled"}
    assert any(found[attempt].outcome == "success" for attempt in range(9, 15))


def test_calls_that_wait_for_each_other_do_not_block(lab, calls, tmp_path):
    """One sets what another waits for, and stands behind it in a row of short ones."""
    flag = tmp_path / "flag"

    def wait_for_flag():
        end = time.monotonic() + 20
        while not flag.exists() and time.monotonic() < end:
            time.sleep(0.001)
        return flag.exists()

    for n in range(1, 301):
        calls.add(n, abs, (-n,))
    waits = calls.add(301, wait_for_flag)
    for n in range(302, 1001):
        calls.add(n, flag.touch if n == 320 else abs, () if n == 320 else (-n,))
    from bursar.policies.registry import make_policy

    policy = make_policy(placer="fifo", options={"provisioner": {"fleet": {"desk": 2}}})
    began = time.monotonic()
    assert lab(1000, calls=calls).run(policy=policy).status == "done"
    assert waits.result() is True
    assert time.monotonic() - began < 15


def test_what_waits_at_a_worker_that_dies_is_not_lost_nor_blamed(lab, calls, hear):
    calls.add(1, abs, (-1,))
    killer = calls.add(2, os._exit, (3,))
    others = [calls.add(n, abs, (-n,)) for n in range(3, 9)]
    run = lab(8, calls=calls)
    heard = hear(run)
    machine = run.rent()
    warm(run, machine, 1)
    for task in range(2, 9):
        run.start(task, machine)
    found = until(run, heard, 8)
    assert found[2].why == "the worker process ended: exit code 3"
    assert {found[attempt].outcome for attempt in range(3, 9)} <= {"success", "cancelled"}
    for attempt, ended in found.items():
        if attempt > 1 and ended.outcome != "cancelled":
            run.world.settle(attempt, attempt, "failure" if attempt == 2 else "keep")
    assert killer.exception() is not None
    assert all(
        future.done() is (found[n].outcome == "success") for n, future in enumerate(others, 3)
    )


def test_one_that_waits_can_be_cancelled_and_the_others_go_on(lab, calls, hear):
    calls.add(1, abs, (-1,))
    for n in range(2, 6):
        calls.add(n, nap(0.015 if n == 2 else 0.001))
    run = lab(5, calls=calls)
    heard = hear(run)
    machine = run.rent()
    warm(run, machine, 1)
    attempts = [run.start(task, machine) for task in (2, 3, 4, 5)]
    run.cancel(attempts[2])
    found = until(run, heard, 5)
    assert found[attempts[2]].outcome == "cancelled"
    assert {found[one].outcome for one in (*attempts[:2], attempts[3])} <= {"success", "cancelled"}


def test_a_time_limit_counts_from_the_beginning_of_a_call(lab, calls, hear):
    for n in range(1, 41):
        calls.add(n, nap(0.01))
    run = lab(40, calls=calls, limits=Limits(timeout=SECOND * 3 // 10))
    heard = hear(run)
    machine = run.rent()
    warm(run, machine, 1)
    for task in range(2, 41):
        run.start(task, machine)
    outcomes = {one.outcome for one in until(run, heard, 40).values()}
    assert outcomes <= {"success", "cancelled"}, "together they take longer, each of them does not"


def test_a_cancelled_future_that_waits_is_not_run(lab, calls, hear, tmp_path):
    calls.add(1, abs, (-1,))
    futures = [calls.add(n, nap(0.002)) for n in range(2, MOST_AT_WORKER + 20)]
    last = calls.add(MOST_AT_WORKER + 20, (tmp_path / "ran").touch)
    run = lab(MOST_AT_WORKER + 20, calls=calls)
    heard = hear(run)
    machine = run.rent()
    warm(run, machine, 1)
    for task in range(2, MOST_AT_WORKER + 21):
        run.start(task, machine)
    assert last.cancel(), "it is not at the worker yet"
    assert not futures[0].cancel()
    until(run, heard, MOST_AT_WORKER + 20)
    assert not (tmp_path / "ran").exists()


def test_a_machine_that_gives_calls_back_gets_none_ahead_until_it_answers(lab, calls):
    """Else they would go to and fro for as long as the long call takes."""
    for n in range(1, 3001):
        calls.add(n, nap(1.0) if n == 200 else abs, () if n == 200 else (-n,))
    run = lab(3000, calls=calls)
    assert run.run(machines=2).status == "done"
    assert len(run.state.log) < 3000 + 3 * MOST_AT_WORKER


def test_a_call_that_forks_is_answered_once(lab, calls):
    def fork():
        child = os.fork()
        if child:
            os.waitpid(child, 0)
        return os.getpid()

    forks = [calls.add(n, fork) for n in (1, 2, 3)]
    assert lab(3, calls=calls).run().status == "done"
    assert len({future.result() for future in forks}) == 1


def test_a_worker_that_was_killed_while_a_large_call_waited_for_it_costs_no_call(lab, calls):
    pid = calls.add(1, os.getpid)
    large = calls.add(2, len, (bytes(1_000_000),))
    run = lab(2, calls=calls)
    machine = run.rent()
    warm(run, machine, 1)
    os.kill(pid.result(), signal.SIGKILL)
    while Path(f"/proc/{pid.result()}").exists():
        time.sleep(0.001)
    run.start(2, machine)
    assert run.await_one(ev.AttemptEnded).outcome == "success"
    run.world.settle(2, 2, "keep")
    assert large.result() == 1_000_000


MEMORY = """
import os, resource, sys
from functools import partial
from concurrent.futures import ProcessPoolExecutor
import numpy as np
from bursar import BudgetExecutor

def peak(whose=resource.RUSAGE_SELF):
    return resource.getrusage(whose).ru_maxrss // 1024

def worker_peak(array, n):
    return peak()

if __name__ == "__main__":
    pool = BudgetExecutor(max_workers=1) if sys.argv[1] == "ours" else ProcessPoolExecutor(1)
    with pool:
        small = pool.submit(worker_peak, None, 0).result()
        before = peak()
        functions = [partial(worker_peak, np.full(1_250_000, n)) for n in range(4)] * 15
        futures = [pool.submit(function, n) for n, function in enumerate(functions)]
        last = max(future.result() for future in futures)
        print(peak() - before, last - small)
"""


def test_sixty_calls_over_arrays_of_ten_megabytes_take_no_more_memory_than_elsewhere(tmp_path):
    script = tmp_path / "memory.py"
    script.write_text(MEMORY)

    def measure(who):
        environment = {**os.environ, "BURSAR_HOME": str(tmp_path / "home")}
        done = subprocess.run(
            [sys.executable, str(script), who],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        return [int(word) for word in done.stdout.split()]

    ours, theirs = measure("ours"), measure("theirs")
    assert ours[0] <= theirs[0] + 30
    assert ours[1] <= theirs[1] + 30
