"""Python calls on workers. Functions are made inside the tests, so that they travel by value."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import traceback
from concurrent.futures import CancelledError, Future, wait
from pathlib import Path

import pytest

from bursar.execute.calls import CallError, Calls, RemoteTraceback
from bursar.model.goal import Limits
from bursar.model.time import SECOND
from bursar.state import events as ev


@pytest.fixture
def calls():
    return Calls()


def test_a_future_gets_what_its_call_returns(lab, calls):
    futures = [calls.add(n, divmod, (n, 7)) for n in range(1, 51)]
    assert lab(50, calls=calls).run(machines=2).status == "done"
    assert [future.result() for future in futures] == [divmod(n, 7) for n in range(1, 51)]
    assert len(calls) == 0


def test_lambdas_closures_and_keyword_arguments_travel(lab, calls):
    base = 5
    closure = calls.add(1, lambda x: x + base, (1,))
    keywords = calls.add(2, sorted, ([3, 1, 2],), {"reverse": True})
    argument = calls.add(3, lambda f: f(2), (lambda x: x * base,))
    result = calls.add(4, lambda: lambda x: x + base)
    assert lab(4, calls=calls).run().status == "done"
    assert (closure.result(), keywords.result(), argument.result()) == (6, [3, 2, 1], 10)
    assert result.result()(1) == 6


def test_what_lives_in_the_main_script_travels(tmp_path):
    script = Path(__file__).with_name("main_calls.py")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["42 True 7", "True mine"]
    assert done.stderr == ""


def test_an_exception_comes_back_with_its_traceback_as_cause(lab, calls):
    def inner():
        raise ValueError("bad luck")

    def outer():
        inner()

    future = calls.add(1, outer)
    run = lab(1, calls=calls)
    assert run.run().status == "failed"
    error = future.exception()
    assert isinstance(error, ValueError)
    assert isinstance(error.__cause__, RemoteTraceback)
    text = "".join(traceback.format_exception(error))
    assert "in inner" in text
    assert "worker.py" not in text
    assert run.state.failed_tasks[1].why.splitlines()[-1] == "ValueError: bad luck"


def test_a_call_that_fails_is_tried_again_and_only_the_last_word_counts(lab, calls):
    def flaky():
        if os.environ["BURSAR_ATTEMPT"] != "3":
            raise OSError("not yet")
        return "now"

    future = calls.add(1, flaky)
    assert lab(1, calls=calls, limits=Limits(retries=2)).run().status == "done"
    assert future.result() == "now"


def test_a_call_may_exit_or_be_interrupted(lab, calls):
    exits = calls.add(1, sys.exit, (3,))

    def interrupt():
        raise KeyboardInterrupt

    stops = calls.add(2, interrupt)
    assert lab(2, calls=calls).run().status == "failed"
    assert isinstance(exits.exception(), SystemExit)
    assert isinstance(stops.exception(), KeyboardInterrupt)


@pytest.mark.parametrize(
    ("end", "why"),
    [
        (lambda: os._exit(0), "the worker process ended: exit code 0"),
        (lambda: os._exit(3), "the worker process ended: exit code 3"),
        (
            lambda: os.kill(os.getpid(), signal.SIGSEGV),
            "the worker process ended: killed by SIGSEGV",
        ),
    ],
)
def test_a_call_that_kills_its_worker_fails_and_the_next_gets_a_new_one(lab, calls, end, why):
    first = calls.add(1, end)
    others = [calls.add(n, os.getpid) for n in (2, 3)]
    run = lab(3, calls=calls)
    assert run.run().status == "failed"
    assert isinstance(first.exception(), CallError)
    assert str(first.exception()) == why == run.state.failed_tasks[1].why
    assert others[0].result() == others[1].result() != os.getpid()


def test_a_worker_that_dies_while_idle_costs_no_call(lab, calls, census):
    futures = [calls.add(n, os.getpid) for n in (1, 2)]
    run = lab(2, calls=calls)
    machine = run.rent()
    run.start(1, machine)
    run.await_one(ev.AttemptEnded)
    run.world.settle(1, 1, "keep")
    os.kill(futures[0].result(), signal.SIGKILL)
    while Path(f"/proc/{futures[0].result()}").exists():
        time.sleep(0.001)
    run.start(2, machine)
    assert run.await_one(ev.AttemptEnded).outcome == "success"
    run.world.settle(2, 2, "keep")
    assert futures[1].result() != futures[0].result()


def test_a_worker_is_used_again_and_again(lab, calls):
    futures = [calls.add(n, os.getpid) for n in range(1, 41)]
    assert lab(40, calls=calls, slots=2).run().status == "done"
    assert len({future.result() for future in futures}) == 2


def test_a_result_that_cannot_be_pickled_is_a_failure_with_a_reason(lab, calls):
    future = calls.add(1, threading.Lock)
    run = lab(1, calls=calls)
    assert run.run().status == "failed"
    why = "the result, of type lock, cannot be pickled: cannot pickle '_thread.lock' object"
    assert run.state.failed_tasks[1].why == why == str(future.exception())


def test_a_call_that_cannot_be_pickled_is_a_failure_with_a_reason(lab, calls):
    future = calls.add(1, id, (threading.Lock(),))
    fine = calls.add(2, abs, (-1,))
    run = lab(2, calls=calls)
    assert run.run().status == "failed"
    why = "the call cannot be pickled: TypeError: cannot pickle '_thread.lock' object"
    assert run.state.failed_tasks[1].why == why
    assert isinstance(future.exception(), TypeError)
    assert fine.result() == 1


def test_an_exception_that_cannot_be_unpickled_is_reported_in_words(lab, calls):
    def fail():
        class OddError(Exception):
            def __init__(self, a, b):
                super().__init__(f"{a} and {b}")

        raise OddError(1, 2)

    future = calls.add(1, fail)
    assert lab(1, calls=calls).run().status == "failed"
    assert isinstance(future.exception(), CallError)
    assert str(future.exception()).splitlines()[-1].endswith("OddError: 1 and 2")


def test_a_result_that_cannot_be_unpickled_is_a_failure_with_a_reason(lab, calls):
    class Sour:
        def __reduce__(self):
            return pickle.loads, (b"junk",)

    future = calls.add(1, Sour)
    run = lab(1, calls=calls)
    assert run.run().status == "failed"
    assert str(future.exception()).startswith("the result cannot be unpickled: UnpicklingError")


def test_a_function_that_cannot_be_unpickled_fails_every_time(lab, calls):
    class Sour:
        def __reduce__(self):
            return pickle.loads, (b"junk",)

        def __call__(self):
            return 1

    sour = Sour()
    futures = [calls.add(n, sour) for n in (1, 2)]
    assert lab(2, calls=calls).run().status == "failed"
    assert [type(future.exception()) for future in futures] == [pickle.UnpicklingError] * 2


def test_a_call_that_takes_too_long_is_ended_with_its_worker(lab, calls, census):
    slow = calls.add(1, time.sleep, (60,))
    quick = calls.add(2, abs, (-1,))
    run = lab(2, calls=calls, limits=Limits(timeout=SECOND * 3 // 10))
    run.start(1, run.rent())
    ended = run.await_one(ev.AttemptEnded)
    assert (ended.outcome, ended.why) == ("timeout", "timed out after 300 ms")
    assert 0.3 * SECOND <= ended.runtime < 3 * SECOND
    run.world.settle(1, 1, "failure")
    assert isinstance(slow.exception(), TimeoutError)
    run.start(2, 1)
    assert run.await_one(ev.AttemptEnded).outcome == "success"
    run.world.settle(2, 2, "keep")
    assert quick.result() == 1
    assert len(census.others()) == 1


def test_a_cancelled_call_ends_with_its_worker(lab, calls):
    calls.add(1, time.sleep, (60,))
    run = lab(1, calls=calls)
    attempt = run.start(1, run.rent())
    time.sleep(0.1)
    run.cancel(attempt)
    assert run.await_one(ev.AttemptEnded).outcome == "cancelled"


def test_the_children_of_a_call_end_with_its_worker(lab, calls, census):
    calls.add(1, lambda: subprocess.Popen(["sleep", "60"], start_new_session=True).pid)
    run = lab(1, calls=calls)
    machine = run.rent()
    run.start(1, machine)
    assert run.await_one(ev.AttemptEnded).outcome == "success"
    assert census.settles(2)
    run.release(machine)
    run.await_one(ev.MachineDown)
    end = time.monotonic() + 2
    while census.others() and time.monotonic() < end:
        time.sleep(0.01)
    assert census.others() == []


def test_calls_on_a_lost_machine_run_again_elsewhere(lab, calls, census):
    def first_time_kills_the_warden():
        if os.environ["BURSAR_ATTEMPT"] == "1":
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(60)
        return os.environ["BURSAR_MACHINE"]

    future = calls.add(1, first_time_kills_the_warden)
    assert lab(1, calls=calls).run().status == "done"
    assert future.result() == "2"


def test_a_call_sees_its_environment_and_its_output_directory(lab, calls):
    def write(name):
        from bursar.execute.worker import output_dir

        (Path(output_dir()) / name).write_text("kept")
        return {key: value for key, value in os.environ.items() if key.startswith("BURSAR_")}

    futures = [calls.add(1, write, ("made",)), calls.add(2, lambda: None)]
    run = lab(2, calls=calls, name="amber-finch")
    assert run.run().status == "done"
    reported = futures[0].result()
    wanted = {"BURSAR_RUN": "amber-finch", "BURSAR_TASK": "1", "BURSAR_MACHINE": "1"}
    assert wanted.items() <= reported.items()
    assert {"BURSAR_ATTEMPT", "BURSAR_OFFER", "BURSAR_SPEED", "BURSAR_SLOT"} <= set(reported)
    assert [entry.name for entry in run.outputs.iterdir()] == ["1"]
    assert (run.outputs / "1/made").read_text() == "kept"


def test_a_worker_inherits_no_descriptor_but_its_own(lab, calls):
    futures = [calls.add(n, lambda: os.listdir("/proc/self/fd")) for n in range(1, 5)]  # noqa: PTH208
    assert lab(4, calls=calls, slots=4).run().status == "done"
    counts = [len(future.result()) for future in futures]
    assert counts == [6, 6, 6, 6]  # three streams, connection, lifeline, and the list itself


def test_what_a_call_prints_is_seen_at_once(lab, calls, capfd):
    calls.add(1, print, ("hello",))
    assert lab(1, calls=calls).run().status == "done"
    assert capfd.readouterr().out == "hello\n"


def test_large_arguments_and_results_travel_without_stopping_the_world(lab, calls):
    size = 20_000_000
    future = calls.add(1, lambda data: data[::-1], (b"a" + bytes(size),))
    assert lab(1, calls=calls).run().status == "done"
    assert future.result() == bytes(size) + b"a"


def test_a_future_that_was_cancelled_before_is_not_run(lab, calls, tmp_path):
    cancelled = calls.add(1, (tmp_path / "ran").touch)
    fine = calls.add(2, abs, (-2,))
    assert cancelled.cancel()
    run = lab(2, calls=calls)
    assert run.run().status == "done"
    assert fine.result() == 2
    assert not (tmp_path / "ran").exists()
    with pytest.raises(CancelledError):
        cancelled.result()


def test_calls_that_no_run_will_finish_are_abandoned(calls):
    started, waiting, mine = calls.add(1, abs, (1,)), calls.add(2, abs, (1,)), Future()
    assert calls.add(3, abs, (1,), future=mine) is mine
    assert calls.start(1) is not None
    assert mine.cancel()
    calls.abandon("the budget is spent")
    assert str(started.exception()) == str(waiting.exception()) == "the budget is spent"
    assert mine.cancelled()
    assert not wait([started, waiting, mine], timeout=0).not_done
    assert len(calls) == 0


def test_only_calls_that_were_not_started_can_be_cancelled(calls):
    started, waiting = calls.add(1, abs, (1,)), calls.add(2, abs, (1,))
    assert calls.start(1) is not None
    calls.cancel_waiting()
    assert (started.cancelled(), waiting.cancelled()) == (False, True)
    assert calls.start(2) is None
    assert calls.start(2) is None, "an attempt of it was lost, and started again"
