"""How executors end, and what they say then.

Functions are made inside the tests, so that they travel by value.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError, wait

import pytest
from tests.runs.executor_gate import PAID, SINGLE, Gate

from bursar import BudgetExecutor, RunOver
from bursar.journal.replay import load_state
from bursar.journal.runs import Home
from bursar.model.errors import PolicyError


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("BURSAR_HOME", str(tmp_path / "home"))
    return Home(tmp_path / "home")


@pytest.fixture
def gate(tmp_path):
    """Calls that tell that they have begun, and go on when the test lets them."""
    return Gate(tmp_path)


# --- ending --------------------------------------------------------------------------------------


def test_a_call_that_waits_can_be_cancelled_and_one_that_runs_cannot(gate, tmp_path):
    with BudgetExecutor(SINGLE, "1") as pool:
        running = pool.submit(gate.call())
        gate.await_begun()
        waiting = pool.submit((tmp_path / "ran").touch)
        assert not running.cancel()
        assert waiting.cancel()
        gate.open()
        assert running.result(30) == "through"
    assert not (tmp_path / "ran").exists()
    with pytest.raises(CancelledError):
        waiting.result()


def test_shutdown_waits_for_what_was_submitted():
    pool = BudgetExecutor(PAID, "1")
    futures = [pool.submit(time.sleep, 0.1) for _ in range(5)]
    pool.shutdown()
    assert all(future.done() for future in futures)
    pool.shutdown()


def test_shutdown_may_cancel_what_waits_and_lets_finish_what_runs(gate, tmp_path):
    pool = BudgetExecutor(SINGLE, "1")
    running = pool.submit(gate.call())
    gate.await_begun()
    waiting = [pool.submit((tmp_path / "ran").touch) for _ in range(20)]
    threading.Timer(0.2, gate.open).start()
    pool.shutdown(cancel_futures=True)
    assert running.result() == "through"
    assert all(future.cancelled() for future in waiting)
    assert not wait(waiting, timeout=5).not_done
    assert not (tmp_path / "ran").exists()


def test_shutdown_need_not_wait(gate):
    pool = BudgetExecutor(PAID, "1")
    future = pool.submit(gate.call())
    gate.await_begun()
    pool.shutdown(wait=False)
    assert not future.done()
    gate.open()
    assert future.result(30) == "through"
    pool.shutdown()


def test_nothing_can_be_submitted_after_shutdown():
    pool = BudgetExecutor()
    pool.shutdown()
    with pytest.raises(RuntimeError, match=f"run {pool.run} is over"):
        pool.submit(abs, -1)


def test_a_callback_may_shut_the_executor_down():
    pool = BudgetExecutor()
    future = pool.submit(abs, -1)
    future.add_done_callback(lambda _: pool.shutdown())
    assert future.result(30) == 1
    pool.shutdown()
    assert pool.summary().status == "done"


@pytest.fixture
def faulty(tmp_path, monkeypatch):
    """A placer of another package, with a bug."""
    script = (
        "from bursar.engine.roles import Placer\n"
        "class Faulty(Placer):\n    def place(self, view, now, rng):\n        return 1 / 0\n"
    )
    (tmp_path / "faulty_policies.py").write_text(script)
    about = tmp_path / "faulty_policies-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: faulty-policies\nVersion: 1.0")
    (about / "entry_points.txt").write_text("[bursar.placer]\nfaulty = faulty_policies:Faulty")
    monkeypatch.syspath_prepend(tmp_path)
    yield {"placer": "faulty"}
    sys.modules.pop("faulty_policies", None)


def test_a_bug_in_a_policy_reaches_the_calls_and_those_who_shut_down(home, faulty):
    pool = BudgetExecutor(PAID, "1", name="amber", policies=faulty)
    future = pool.submit(abs, -2)
    reported = str(future.exception(30))
    assert reported.startswith("run amber ended before this call: the placer Faulty is faulty:")
    assert "division by zero" in reported
    with pytest.raises(RunOver, match="division by zero"):
        pool.submit(abs, -3)
    with pytest.raises(PolicyError, match="division by zero"):
        pool.shutdown()
    assert home.find("amber").owner() is None


FORGETFUL = """
import time
from bursar import BudgetExecutor
pool = BudgetExecutor()
futures = [pool.submit(abs, -n) for n in range(5)]
late = pool.submit(time.sleep, 0.3)
late.add_done_callback(lambda future: print("late", future.exception()))
print(sum(future.result() for future in futures))
"""


def test_a_forgotten_shutdown_does_not_hang_the_program(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FORGETFUL],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.splitlines() == ["10", "late None"]
    assert done.stderr == ""
    (run,) = Home(tmp_path / "home").list()
    assert load_state(run.journal).ended.status == "done"


def test_a_program_that_ends_with_an_error_does_not_hang(tmp_path):
    program = [sys.executable, "-c", FORGETFUL + "raise SystemExit(7)"]
    assert subprocess.run(program, capture_output=True, timeout=60, check=False).returncode == 7


# --- words ---------------------------------------------------------------------------------------


def _status(name):
    program = [sys.executable, "-m", "bursar", "status", name]
    return subprocess.run(program, capture_output=True, text=True, timeout=60, check=True).stdout


def test_nobody_is_advised_to_resume_calls():
    with BudgetExecutor(SINGLE, "0.01", name="amber") as pool:
        pool.submit(divmod, 1, 0)
        wait([pool.submit(time.sleep, 60)], timeout=30)
    reported = _status("amber")
    assert "buys no machine" in reported
    assert "bursar resume" not in reported
    assert "retry" not in reported


KILLED = """
import os, signal
from bursar import BudgetExecutor
pool = BudgetExecutor(name="amber")
pool.submit(abs, -1).result()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_nobody_is_advised_to_resume_calls_of_a_program_that_was_killed():
    subprocess.run([sys.executable, "-c", KILLED], timeout=60, check=False)
    reported = _status("amber")
    assert "its Python calls are not in the journal: run your program again" in reported
    assert "bursar resume" not in reported


def test_a_journal_that_cannot_be_written_gives_advice_that_works(monkeypatch):
    from bursar.journal.writer import JournalWriter
    from bursar.model.errors import JournalError

    pool = BudgetExecutor(SINGLE, "1")

    def fail(self, *, safely, digest=None):
        raise JournalError("the disk is full: free some space, then continue with bursar resume")

    monkeypatch.setattr(JournalWriter, "commit", fail)
    error = pool.submit(abs, -1).exception(30)
    assert "then run your program again" in str(error)
    with pytest.raises(JournalError, match="then run your program again"):
        pool.shutdown()
