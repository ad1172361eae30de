"""What every executor of `concurrent.futures` promises, and BudgetExecutor with them.

These are the statements of CPython's ExecutorTest, WaitTests, AsCompletedTests and
ExecutorShutdownTest, in our words; `tests/test_cpython_suite.py` runs the originals where they are
installed. Functions are made inside the tests, so that they travel by value.
"""

from __future__ import annotations

import gc
import itertools
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import (
    ALL_COMPLETED,
    FIRST_COMPLETED,
    FIRST_EXCEPTION,
    Future,
    as_completed,
    wait,
)

import pytest

from bursar import BudgetExecutor, RunOver
from bursar.formats.market import parse_market


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("BURSAR_HOME", str(tmp_path / "home"))


@pytest.fixture
def pool():
    with BudgetExecutor(max_workers=3) as made:
        yield made


def sleep_and_raise(length):
    def call():
        import time

        time.sleep(length)
        raise LookupError("this is an exception")

    return call


def cancelled():
    future = Future()
    future.cancel()
    return future


def settled(result=None, error=None):
    future = Future()
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
    return future


# --- submit and map ------------------------------------------------------------------------------


def test_submit_passes_all_arguments_on(pool):
    def capture(*args, **kwargs):
        return args, kwargs

    assert pool.submit(pow, 2, 8).result(30) == 256
    assert pool.submit(capture, 1, self=2, fn=3).result(30) == ((1,), {"self": 2, "fn": 3})
    with pytest.raises(TypeError):
        pool.submit(fn=capture, arg=1)
    with pytest.raises(TypeError):
        pool.submit(arg=1)


def test_what_cannot_be_called_fails_its_future(pool):
    assert isinstance(pool.submit(5).exception(30), TypeError)


@pytest.mark.parametrize("chunksize", [1, 3, 10, 50])
def test_map_gives_results_in_order_in_chunks_of_any_size(pool, chunksize):
    found = pool.map(pow, range(10), range(10), chunksize=chunksize)
    assert list(found) == list(map(pow, range(10), range(10)))


def test_a_chunk_is_one_task(pool):
    assert list(pool.map(abs, range(100), chunksize=30)) == list(range(100))
    assert pool.summary().tasks.total == 4


@pytest.mark.parametrize("chunksize", [0, -1])
def test_chunks_have_a_size(pool, chunksize):
    with pytest.raises(ValueError, match="chunksize must be >= 1"):
        pool.map(abs, [1], chunksize=chunksize)


def test_map_raises_where_the_exception_is(pool):
    found = pool.map(divmod, [1, 1, 1, 1], [2, 3, 0, 5])
    assert [next(found), next(found)] == [(0, 1), (0, 1)]
    with pytest.raises(ZeroDivisionError):
        next(found)


def test_map_gives_up_after_its_timeout(pool):
    found = []
    with pytest.raises(TimeoutError):
        for result in pool.map(time.sleep, [0, 0, 2], timeout=1.2):
            found.append(result)
    assert found == [None, None]


def test_map_submits_at_once(pool, tmp_path):
    pool.map(lambda name: (tmp_path / name).touch(), "abc")
    pool.shutdown()
    assert sorted(entry.name for entry in tmp_path.glob("?")) == ["a", "b", "c"]


# --- references ----------------------------------------------------------------------------------


def test_an_executor_holds_on_to_no_call_that_is_done(pool):
    class Thing:
        def method(self):
            pass

    thing, gone = Thing(), threading.Event()
    weakref.finalize(thing, gone.set)
    pool.submit(thing.method)
    del thing
    end = time.monotonic() + 20
    while not gone.wait(0.05):
        gc.collect()
        assert time.monotonic() < end, "a stale reference"


def test_map_holds_on_to_no_result_that_was_handed_on(pool):
    for chunksize in (1, 3):
        for thing in pool.map(lambda _: {1, 2}.__class__(), range(6), chunksize=chunksize):
            reference = weakref.ref(thing)
            del thing
            gc.collect()
            assert reference() is None


def test_a_worker_holds_on_to_no_argument_when_the_call_is_done(pool):
    from multiprocessing import Manager

    class Telling:
        def __init__(self, event):
            self.event = event

        def __del__(self):
            self.event.set()

    with Manager() as manager:
        thing = Telling(manager.Event())
        pool.submit(id, thing).result(30)
        assert thing.event.wait(10)
        del thing
        gc.collect()


# --- wait and as_completed -----------------------------------------------------------------------


def test_wait_knows_a_future_that_is_given_twice(pool):
    future = pool.submit(time.sleep, 0.2)
    done, not_done = wait([future, future], return_when=ALL_COMPLETED)
    assert (done, not_done) == ({future}, set())


def test_wait_for_the_first(pool):
    quick, slow = pool.submit(pow, 2, 5), pool.submit(time.sleep, 1)
    unnoticed = cancelled()
    found = wait([unnoticed, quick, slow], return_when=FIRST_COMPLETED)
    assert found == ({quick}, {unnoticed, slow})
    fine = settled(42)
    assert wait([fine, slow], return_when=FIRST_COMPLETED) == ({fine}, {slow})


def test_wait_for_the_first_exception(pool):
    quick = pool.submit(pow, 2, 5)
    bad, slow = pool.submit(sleep_and_raise(0.5)), pool.submit(time.sleep, 2)
    assert wait([quick, bad, slow], return_when=FIRST_EXCEPTION) == ({quick, bad}, {slow})
    before = settled(error=OSError())
    assert wait([before, slow], return_when=FIRST_EXCEPTION) == ({before}, {slow})


def test_wait_for_all(pool):
    futures = [
        pool.submit(divmod, 2, 0),
        pool.submit(pow, 2, 5),
        settled(1),
        settled(error=OSError()),
    ]
    assert wait(futures, return_when=ALL_COMPLETED) == (set(futures), set())


def test_wait_no_longer_than_reported(pool):
    quick, slow = pool.submit(pow, 6, 2), pool.submit(time.sleep, 3)
    assert wait([quick, slow], timeout=1.5) == ({quick}, {slow})


def test_as_completed_gives_each_future_once(pool):
    futures = [pool.submit(pow, 2, 5), pool.submit(pow, 7, 6), settled(1)]
    assert set(as_completed(futures)) == set(futures)
    repeated = pool.submit(time.sleep, 0.2)
    assert list(as_completed(itertools.repeat(repeated, 3))) == [repeated]


def test_as_completed_without_patience_gives_what_is_done(pool):
    slow, done = pool.submit(time.sleep, 1), settled(1)
    found = set()
    with pytest.raises(TimeoutError, match=r"1 \(of 2\) futures unfinished"):
        for future in as_completed([slow, done], timeout=0):
            found.add(future)
    assert found == {done}


def test_futures_of_two_executors_can_be_awaited_together(pool):
    with BudgetExecutor(max_workers=1) as other:
        futures = [one.submit(pow, 2, n) for n in range(5) for one in (pool, other)]
        assert wait(futures, timeout=30).not_done == set()
        assert sorted(one.result() for one in as_completed(futures)) == sorted(
            [2**n for n in range(5)] * 2
        )


# --- workers -------------------------------------------------------------------------------------


def test_so_many_calls_run_at_once_as_there_are_workers(tmp_path):
    def meet(number):
        import time
        from pathlib import Path

        (Path(tmp_path) / f"met-{number}").touch()
        end = time.monotonic() + 20
        while len(list(Path(tmp_path).glob("met-*"))) < 3 and time.monotonic() < end:
            time.sleep(0.01)
        return len(list(Path(tmp_path).glob("met-*")))

    with BudgetExecutor(max_workers=3) as pool:
        assert pool._max_workers == 3
        assert list(pool.map(meet, range(3))) == [3, 3, 3]


@pytest.mark.parametrize("number", [0, -1])
def test_there_is_at_least_one_worker(number):
    with pytest.raises(ValueError, match="max_workers must be greater than 0"):
        BudgetExecutor(max_workers=number)


# --- shutdown ------------------------------------------------------------------------------------


def test_after_shutdown_nothing_is_taken(pool):
    pool.shutdown()
    with pytest.raises(RuntimeError, match="cannot schedule new futures"):
        pool.submit(pow, 2, 5)
    with pytest.raises(RunOver):
        pool.map(abs, [1])


def test_shutdown_lets_everything_finish(pool):
    futures = [pool.submit(time.sleep, 0.02) for _ in range(50)]
    pool.shutdown()
    assert [future.result(0) for future in futures] == [None] * 50


def test_shutdown_may_cancel_what_has_not_begun(pool):
    first = pool.submit(time.sleep, 0.1)
    futures = [first, *(pool.submit(time.sleep, 0.1) for _ in range(49))]
    while not first.running() and not first.done():
        time.sleep(0.001)
    pool.shutdown(cancel_futures=True)
    kept = [future for future in futures if not future.cancelled()]
    assert 0 < len(kept) < 30
    assert all(future.done() and future.exception() is None for future in kept)


def test_no_machine_is_waited_for_when_all_calls_are_cancelled():
    offer = '[[offer]]\nname = "small"\nprice = "1"\nbilling = "1h"\nboot = "20s"\nlimit = 1\n'
    pool = BudgetExecutor(parse_market(offer), "9")
    futures = [pool.submit(abs, 1) for _ in range(3)]
    assert all(future.cancel() for future in futures)
    began = time.monotonic()
    pool.shutdown(cancel_futures=True)
    assert time.monotonic() - began < 10
    assert pool.summary().status == "interrupted"


def test_a_pool_that_nobody_holds_ends_when_its_calls_are_done():
    pool = BudgetExecutor(max_workers=2)
    thread = pool._run._thread
    results = pool.map(abs, range(-5, 5))
    del pool
    gc.collect()
    thread.join(30)
    assert not thread.is_alive()
    assert list(results) == [abs(n) for n in range(-5, 5)]


def program(*lines: str) -> subprocess.CompletedProcess[str]:
    head = "import os, time\nfrom bursar import BudgetExecutor\n"
    head += "def late(text):\n    time.sleep(0.5)\n    os.write(1, f'{text}\\n'.encode())\n"
    head += "pool = BudgetExecutor(max_workers=2)\n"
    return subprocess.run(
        [sys.executable, "-c", head + "\n".join(lines)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("end", ["", "pool.shutdown(wait=False)", "del pool"])
def test_at_the_end_of_a_program_pending_calls_are_finished(end):
    done = program("for n in range(6): pool.submit(late, n)", end)
    assert sorted(done.stdout.split()) == list("012345")
    assert (done.returncode, done.stderr) == (0, "")


def test_at_the_end_of_a_program_cancelled_calls_are_not_waited_for():
    done = program("pool.submit(late, 1)", "pool.shutdown(wait=False, cancel_futures=True)")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_what_is_submitted_after_the_end_of_a_program_is_refused():
    done = program("import atexit", "atexit.register(lambda: pool.submit(id, None))")
    assert "RunOver: cannot schedule new futures" in done.stderr
    assert "it was shut down" in done.stderr or "done" in done.stderr


def test_very_short_calls_are_cancelled_by_shutdown_as_others_are():
    with BudgetExecutor(max_workers=2) as pool:
        futures = [pool.submit(abs, -n) for n in range(20_000)]
        futures[2_000].result(30)
        pool.shutdown(wait=False, cancel_futures=True)
        assert not wait(futures, timeout=30).not_done
    kept = [n for n, future in enumerate(futures) if not future.cancelled()]
    assert 2_000 < len(kept) < 20_000
    assert [futures[n].result() for n in kept] == kept
